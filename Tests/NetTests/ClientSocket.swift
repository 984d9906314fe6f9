import Foundation

/// Sends text to a port of this machine and reads nothing.
struct ClientSocket {
    private let descriptor: Int32

    init?(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else {
            Glibc.close(descriptor)
            return nil
        }
    }

    func send(_ text: String) { _ = text.withCString { write(descriptor, $0, strlen($0)) } }
    func close() { Glibc.close(descriptor) }
}
