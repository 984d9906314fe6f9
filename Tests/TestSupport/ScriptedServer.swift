internal import Foundation
internal import Synchronization

/// A TCP server on loopback that says exactly the bytes it is told to: for what a proper server would never send.
public final class ScriptedServer: Sendable {
    /// One connection. `receive` gives up after `receiveLimit`.
    public struct Connection: Sendable {
        let socket: Int32

        /// Up to and with the first empty line.
        public func receiveHead() -> String {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while !bytes.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)), recv(socket, &byte, 1, 0) == 1 {
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        public func receive(_ count: Int) -> String {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while bytes.count < count, recv(socket, &byte, 1, 0) == 1 { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }
        @discardableResult
        public func send(_ text: String) -> Bool { send(Array(text.utf8)) }
        @discardableResult
        public func send(_ bytes: [UInt8]) -> Bool {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Foundation.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
        /// True once the far end has closed.
        public func isClosed() -> Bool {
            var byte: UInt8 = 0
            return recv(socket, &byte, 1, 0) <= 0
        }
    }

    /// Seconds. On a starved machine a client may wait unexpectedly long.
    private static let receiveLimit = 100

    public let port: UInt16
    private let listener: Int32
    private let count = Mutex(0)

    /// Connections so far.
    public var connections: Int { count.withLock { $0 } }

    /// `serve` runs for each connection on a thread of its own; the connection is closed when it returns.
    public init(_ serve: @escaping @Sendable (_ connection: Connection, _ number: Int) -> Void) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(listener, address, length) == 0, listen(listener, 16) == 0,
                    getsockname(listener, address, &length) == 0
                else { return 0 }
                return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
        }
        Thread.detachNewThread { [self] in
            while true {
                let accepted = accept(listener, nil, nil)
                guard accepted >= 0 else { return }
                var limit = timeval(tv_sec: Self.receiveLimit, tv_usec: 0)
                setsockopt(accepted, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                Thread.detachNewThread {
                    serve(Connection(socket: accepted), number)
                    close(accepted)
                }
            }
        }
    }

    public func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
    public var url: String { "http://127.0.0.1:\(port)" }
}
