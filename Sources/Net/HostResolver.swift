internal import Foundation

/// Host names → addresses, off the loops: `getaddrinfo` blocks.
public struct HostResolver: Sendable {
    private static let queue = DispatchQueue(label: "resolver", attributes: .concurrent)

    public init() {}

    /// Calls back on the loop; at once for a literal address. On the loop only.
    public func resolve(
        _ host: String, port: UInt16, on loop: EventLoop,
        _ completion: @escaping (Result<SocketAddress, NetError>) -> Void
    ) {
        loop.preconditionOnLoop()
        if let literal = SocketAddress(host, port: port) { return completion(.success(literal)) }
        let box = Confined(completion, to: loop)
        Self.queue.async {
            let result: Result<SocketAddress, NetError>
            do throws(NetError) { result = .success(try SocketAddress.resolve(host, port: port)) } catch {
                result = .failure(error)
            }
            loop.post { box.value(result) }
        }
    }
}
