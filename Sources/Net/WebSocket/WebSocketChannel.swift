internal import Foundation
internal import Synchronization

/// A WebSocket of ours for code that waits: opened, read and closed from any task, while the socket stays on its loop.
///
/// The code that opens it also closes it. Messages wait for their reader in a bounded queue; while it
/// is half full the socket is not read, so that TCP slows the peer.
public final class WebSocketChannel: Sendable {
    public enum Message: Sendable, Equatable {
        case text([UInt8])
        case binary([UInt8])
    }

    /// Why there is no connection, or no more.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        public var message: String
        /// The HTTP status with which the upgrade was refused.
        public var status: Int?
        /// Of the close frame; 1006 where there was none.
        public var closeCode: Int?
        public var description: String { message }
    }

    /// Messages that wait for the reader.
    static let queueLimit = 1_024
    /// Milliseconds for name, connection, TLS and upgrade.
    public static let openLimitMs: UInt64 = 8_000

    private struct State {
        var queue: [Message] = []
        var head = 0
        var reader: CheckedContinuation<Message?, any Error>?
        var opener: CheckedContinuation<Void, any Error>?
        var isOpen = false
        var isPaused = false
        var end: Failure?
        var socket: Confined<WebSocket>?
        var ticker: Confined<EventLoop.Ticker>?
        var waiting: Int { queue.count - head }
    }

    private let loop: EventLoop
    private let state = Mutex(State())

    private init(loop: EventLoop) { self.loop = loop }

    /// - Throws: `Failure`, or `CancellationError`.
    public static func open(
        _ url: WebSocketURL, headers: [(String, String)] = [], resolver: HostResolver, on loop: EventLoop,
        configuration: WebSocket.Configuration = .init()
    ) async throws -> WebSocketChannel {
        let channel = WebSocketChannel(loop: loop)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (opener: CheckedContinuation<Void, any Error>) in
                let isOver = channel.state.withLock { state -> Bool in
                    if state.end == nil { state.opener = opener }
                    return state.end != nil
                }
                if isOver { return opener.resume(throwing: CancellationError()) }
                loop.post { channel.begin(url, headers, resolver, configuration) }
            }
        } onCancel: {
            channel.close()
        }
        return channel
    }

    // MARK: On the loop

    private func begin(
        _ url: WebSocketURL, _ headers: [(String, String)], _ resolver: HostResolver,
        _ configuration: WebSocket.Configuration
    ) {
        let deadline = loop.timeMs + Self.openLimitMs
        let ticker = loop.addTicker(every: .tenth) { [self] now in
            if now >= deadline { ended(Failure(message: "no connection within \(Self.openLimitMs / 1_000) s")) }
        }
        let isOver = state.withLock { state -> Bool in
            if state.end == nil { state.ticker = Confined(ticker, to: loop) }
            return state.end != nil
        }
        if isOver { return ticker.cancel() }
        resolver.resolve(url.host, port: url.port, on: loop) { [self] result in
            switch result {
            case .failure(let error): ended(Failure(message: error.message))
            case .success(let address): connect(url, address, headers, configuration)
            }
        }
    }

    private func connect(
        _ url: WebSocketURL, _ address: SocketAddress, _ headers: [(String, String)],
        _ configuration: WebSocket.Configuration
    ) {
        guard state.withLock({ $0.end == nil }) else { return }
        let socket = loop.connect(url, address: address, headers: headers, configuration: configuration)
        // The socket holds the channel until it is closed, and is closed by the channel's end.
        socket.onOpen = { [self] in opened() }
        socket.onMessage = { [self] bytes, kind in received(kind == .text ? .text(Array(bytes)) : .binary(Array(bytes)))
        }
        socket.onClose = { [self, unowned socket] code, reason in
            let words = reason.isEmpty ? "the connection closed with \(code)" : reason
            let refused = socket.refusedStatus.map { "the connection was refused with \($0)" }
            ended(Failure(message: refused ?? words, status: socket.refusedStatus, closeCode: code))
        }
        state.withLock { $0.socket = Confined(socket, to: loop) }
    }

    private func opened() {
        let (opener, ticker) = state.withLock { state in
            state.isOpen = true
            defer {
                state.opener = nil
                state.ticker = nil
            }
            return (state.opener, state.ticker)
        }
        ticker?.value.cancel()
        opener?.resume()
    }

    private func received(_ message: Message) {
        enum Step {
            case deliver(CheckedContinuation<Message?, any Error>), pause, none, overflow
        }
        let step = state.withLock { state -> Step in
            guard state.end == nil else { return .none }
            if let reader = state.reader {
                state.reader = nil
                return .deliver(reader)
            }
            guard state.waiting < Self.queueLimit else { return .overflow }
            state.queue.append(message)
            guard !state.isPaused, state.waiting >= Self.queueLimit / 2 else { return .none }
            state.isPaused = true
            return .pause
        }
        switch step {
        case .deliver(let reader): reader.resume(returning: message)
        case .pause: state.withLock { $0.socket }?.value.pauseReading()
        case .overflow: ended(Failure(message: "\(Self.queueLimit) messages wait to be read"))
        case .none: break
        }
    }

    private func ended(_ failure: Failure) {
        let (opener, reader, socket, ticker) = state.withLock { state in
            if state.end == nil { state.end = failure }
            defer {
                state.opener = nil
                state.socket = nil
                state.ticker = nil
                if state.waiting == 0 { state.reader = nil }
            }
            return (state.opener, state.waiting == 0 ? state.reader : nil, state.socket, state.ticker)
        }
        ticker?.value.cancel()
        socket?.value.close()
        opener?.resume(throwing: failure)
        reader?.resume(throwing: failure)
    }

    // MARK: From any task

    public var isOpen: Bool { state.withLock { $0.isOpen && $0.end == nil } }

    /// Sends in the order of the calls. What cannot be sent ends the connection, as the reader is told.
    public func send(_ text: String) {
        perform { $0.send(text: text) }
    }

    public func send(_ bytes: [UInt8]) {
        perform { socket in
            socket.send(.binary, capacity: bytes.count) { target in
                _ = target.update(fromContentsOf: bytes)
                return bytes.count
            }
        }
    }

    private func perform(_ body: @escaping @Sendable (WebSocket) -> Bool) {
        loop.post { [self] in
            guard let socket = state.withLock({ $0.socket })?.value, socket.isOpen else { return }
            if !body(socket) { ended(Failure(message: "the far end does not take what it is sent")) }
        }
    }

    /// The next message. For one reader.
    /// - Throws: `Failure` once the connection is over and all messages have been read; `CancellationError`.
    public func next() async throws -> Message {
        let message = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (reader: CheckedContinuation<Message?, any Error>) in
                enum Step {
                    case deliver(Message, resumes: Bool), fail(Failure), wait
                }
                let step = state.withLock { state -> Step in
                    if state.waiting > 0 {
                        let message = state.queue[state.head]
                        state.head += 1
                        if state.head == state.queue.count || state.head == Self.queueLimit {
                            state.queue.removeFirst(state.head)
                            state.head = 0
                        }
                        let resumes = state.isPaused && state.waiting < Self.queueLimit / 4
                        if resumes { state.isPaused = false }
                        return .deliver(message, resumes: resumes)
                    }
                    if let end = state.end { return .fail(end) }
                    state.reader = reader
                    return .wait
                }
                switch step {
                case .deliver(let message, let resumes):
                    if resumes { loop.post { [self] in state.withLock { $0.socket }?.value.resumeReading() } }
                    reader.resume(returning: message)
                case .fail(let failure): reader.resume(throwing: failure)
                case .wait: break
                }
            }
        } onCancel: {
            close()
        }
        try Task.checkCancellation()
        guard let message else { throw CancellationError() }
        return message
    }

    public func close() {
        let failure = Failure(message: "closed", closeCode: 1_000)
        let alreadyOver = state.withLock { state -> Bool in
            defer { if state.end == nil { state.end = failure } }
            return state.end != nil
        }
        if !alreadyOver { loop.post { [self] in ended(failure) } }
    }
}
