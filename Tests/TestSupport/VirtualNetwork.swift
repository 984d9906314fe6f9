internal import Foundation
public import Net

/// UDP between the sockets of one manual loop: what is sent is there within the same virtual millisecond.
///
/// `@unchecked Sendable`: touched by the thread that drives the loop alone.
public final class VirtualNetwork: DatagramNetwork, @unchecked Sendable {
    private var ports: [SocketAddress: Port] = [:]

    public init() {}

    public func open(
        on loop: EventLoop, bind address: SocketAddress,
        onDatagram: @escaping (UnsafeRawBufferPointer, SocketAddress) -> Void
    ) throws(NetError) -> any DatagramPort {
        guard ports[address] == nil else { throw NetError(.addressInUse, "\(address) is taken") }
        let port = Port(self, loop, address, onDatagram)
        ports[address] = port
        return port
    }

    /// Sockets that are not closed.
    public var openPorts: Int { ports.count }

    private final class Port: DatagramPort {
        private let network: VirtualNetwork
        private let loop: EventLoop
        private let address: SocketAddress
        private let onDatagram: (UnsafeRawBufferPointer, SocketAddress) -> Void

        init(
            _ network: VirtualNetwork, _ loop: EventLoop, _ address: SocketAddress,
            _ onDatagram: @escaping (UnsafeRawBufferPointer, SocketAddress) -> Void
        ) {
            self.network = network
            self.loop = loop
            self.address = address
            self.onDatagram = onDatagram
        }

        func send(_ bytes: UnsafeRawBufferPointer, to target: SocketAddress) -> Bool {
            let datagram = [UInt8](bytes)
            loop.post { [network, address] in
                datagram.withUnsafeBytes { network.ports[target]?.onDatagram($0, address) }
            }
            return true
        }

        func close() { network.ports[address] = nil }
    }
}
