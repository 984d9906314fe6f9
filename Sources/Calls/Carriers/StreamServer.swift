public import Bridge
internal import Foundation
internal import Logging
public import Net
public import Realtime
internal import Store

/// The paths of `Dialects`: a carrier, or another Trunkline with `bridge.stream_url`, streams a call to us.
///
/// A stream is let in by a one-time token of its carrier's webhook, by the carrier's signature of its upgrade (where no
/// webhook of ours was asked there is no token), or by the shared token. Another Trunkline brings a brief with that;
/// without one the call is one that comes in. No model is asked for anything before that has been checked.
public struct StreamServer: Sendable {
    /// Where a page in a browser brings its microphone and speaker, with a one-time token of `POST
    /// /api/outbound/{id}/browser`.
    public static let browserPath = "/media/browser"
    public static let paths = Dialects.paths.union([browserPath])
    /// Milliseconds from the upgrade to a valid `start`.
    private static let startLimitMs: UInt64 = 5_000

    public struct Settings: Sendable {
        /// Shared with another Trunkline, or with who streams calls to us.
        public var sharedToken: String?
        /// Streams need no token. For measurements; refused beyond loopback.
        public var isOpen = false
        /// For open streams, which come without a brief of their own.
        public var brief = Brief(purpose: "Find out what the caller wants and help as far as you can.", questions: [])
        public init() {}
    }

    private let line: CallLine
    private let calls: CallSettings
    private let settings: Settings
    private let tickets: StreamTickets
    private let arrivals: ProviderArrivals
    /// Puts a person into a call in progress.
    private let takeOver:
        @Sendable (_ callID: String, _ name: String, Confined<any MediaStream>, EventLoop) async -> Bool

    public init(
        line: CallLine, calls: CallSettings, settings: Settings, tickets: StreamTickets, arrivals: ProviderArrivals,
        takeOver:
            @escaping @Sendable (_ callID: String, _ name: String, Confined<any MediaStream>, EventLoop) async ->
            Bool
    ) {
        self.takeOver = takeOver
        self.line = line
        self.calls = calls
        self.settings = settings
        self.tickets = tickets
        self.arrivals = arrivals
    }

    /// 404 where no stream is expected; 403 for a signature that is not the carrier's.
    public func refusal(of request: HTTPRequest) -> Int {
        // Its token follows in `start`.
        if request.path == Self.browserPath { return 0 }
        let dialect = Self.dialect(at: request.path)
        let isProved = dialect.traits.signatureHeader.map { request.headers[$0] != nil } ?? false
        if settings.isOpen || settings.sharedToken != nil, !isProved { return 0 }
        guard let carrier = line.carriers.speaking(dialect.traits.name) else {
            return settings.sharedToken == nil ? 404 : 403
        }
        // Without a signature a one-time token may still follow in `start`.
        return !isProved || carrier.isSigned(path: request.path, query: request.query, headers: request.headers)
            ? 0 : 403
    }

    /// Our own pages speak the standard one.
    private static func dialect(at path: String) -> any MediaStreamDialect.Type {
        Dialects.at(path) ?? Dialects.standard
    }

    /// The carrier that holds a call of this id, by its form; nil: another server or an unknown client does.
    private func holder(of callID: String, _ dialect: any MediaStreamDialect.Type) -> (any Carrier)? {
        guard let carrier = line.carriers.speaking(dialect.traits.name), type(of: carrier).owns(callID: callID) else {
            return nil
        }
        return carrier
    }

    /// The carrier that has signed the upgrade; nil: none has.
    private func signer(_ dialect: any MediaStreamDialect.Type, _ handshake: WebSocket.Handshake) -> (any Carrier)? {
        guard let carrier = line.carriers.speaking(dialect.traits.name),
            carrier.takes(path: handshake.path, query: handshake.query, headers: handshake.headers)
        else { return nil }
        return carrier
    }

    public func open(_ socket: WebSocket) -> Bool {
        let dialect = Self.dialect(at: socket.handshake.path)
        let stream: WebSocketMediaStream
        do throws(MediaStreamError) {
            stream = try WebSocketMediaStream(
                socket, dialect: dialect, DialectOptions(role: .application, handshake: socket.handshake))
        } catch {
            line.logger.warning("a media stream was refused: \(error.reason)")
            return false
        }
        StreamLog.watch(stream, line.logger)
        StreamLog.watch(socket, line.logger)
        let loop = socket.loop
        let signer = signer(dialect, socket.handshake)
        let server = self
        let deadline = loop.timeMs + Self.startLimitMs
        var ticker: EventLoop.Ticker?
        ticker = loop.addTicker(every: .tenth) { now in
            guard now >= deadline else { return }
            ticker?.cancel()
            server.line.logger.warning("a media stream was refused: it did not start")
            socket.close(code: 1008)
        }
        stream.onMessage = { [unowned stream] message in
            guard case .start(let start) = message else { return }
            ticker?.cancel()
            let box = Confined<any MediaStream>(stream, to: loop)
            guard let admission = server.admit(start, dialect, signer, socket.handshake) else {
                server.line.logger.warning("a media stream was refused: no valid token, signature or brief")
                return stream.refuse(.unauthorized)
            }
            socket.prove()
            // Where the dialect has a word for it.
            stream.send(message)
            switch admission {
            case .unasked(let call): server.hold(call, start.callID, dialect, box, loop)
            case .named(let call):
                let open = Confined(socket, to: loop)
                Task {
                    let call = await server.distinct(call)
                    loop.post {
                        guard open.value.isOpen else { return server.line.calls.remove(call.id) }
                        server.hold(call, start.callID, dialect, box, loop)
                    }
                }
            case .awaited(let callID, let user):
                if server.line.calls.deliver(box, on: loop, of: start.callID, to: callID, from: user) { return }
                guard let user else { return socket.close(code: 1008) }
                let refused = Confined(socket, to: loop)
                Task {
                    guard await server.takeOver(callID, user, box, loop) == false else { return }
                    loop.post { refused.value.close(code: 1008) }
                }
            }
        }
        // The closure keeps the stream alive until a call has taken it over or the socket is gone.
        stream.onClose = { [stream] _ in
            ticker?.cancel()
            _ = stream
        }
        return true
    }

    private func hold(
        _ call: Call, _ providerCallID: String, _ dialect: any MediaStreamDialect.Type,
        _ stream: Confined<any MediaStream>, _ loop: EventLoop
    ) {
        let streamed = StreamedCall(
            loop: loop, call: call, providerCallID: providerCallID, carrier: holder(of: providerCallID, dialect),
            line: line, settings: calls, journal: nil)
        streamed.assumeIsolated { $0.run(stream) }
    }

    /// The call with an id of our own, where the told one is in use here: another Trunkline brings a call of several
    /// attempts several times, and one with our own address streams its calls to itself.
    private func distinct(_ call: Call) async -> Call {
        let isStored = (try? await line.store.call(call.id) != nil) ?? true
        if !isStored, line.calls.reserve(call.id) { return call }
        var call = call
        call.id = call.direction.newID()
        return call
    }

    private enum Admission {
        /// An open stream.
        case unasked(Call)
        /// Another Trunkline's call, whose id it has told.
        case named(Call)
        /// The stream of a call that we had placed, or that came in.
        case awaited(callID: String, user: String?)
    }

    /// The call that a stream belongs to; nil: it is not let in.
    private func admit(
        _ start: StreamStart, _ dialect: any MediaStreamDialect.Type, _ signer: (any Carrier)?,
        _ handshake: WebSocket.Handshake
    ) -> Admission? {
        let isBrowser = handshake.path == Self.browserPath
        let given = dialect.traits.token(in: start, of: handshake, isSigned: signer != nil)
        if let shared = settings.sharedToken, let given, !isBrowser, DigestText.isEqual(given, shared) {
            guard start.parameters["brief"] == nil else { return Self.briefed(start).map { .named($0) } }
            return arrival(start, by: nil)
        }
        if let given, let ticket = tickets.redeem(given, providerCallID: start.callID) {
            return .awaited(callID: ticket.callID, user: ticket.user)
        }
        // A signature does not make up for a wrong token, and a browser always needs a token.
        guard given == nil, !isBrowser else { return nil }
        if let signer { return arrival(start, by: signer) }
        guard settings.isOpen else { return nil }
        // A call came to the server that streams it to us.
        var call = Call(
            arrivalOf: start.callID, from: start.parameters["from"] ?? Carriers.stream,
            to: start.parameters["to"] ?? Carriers.stream, at: .init(brief: settings.brief),
            maxDuration: calls.maxCallDuration, createdAt: Date())
        call.requestedBy = "open stream"
        return .unasked(call)
    }

    /// No webhook of ours was asked: the call's numbers are known if the stream gives them.
    private func arrival(_ start: StreamStart, by carrier: (any Carrier)?) -> Admission? {
        let number = { (name: String) in start.parameters[name].flatMap { $0.isEmpty ? nil : $0 } }
        let verdict = arrivals.arrive(start.callID, by: carrier, from: number("from"), to: number("to"))
        guard case .taken(let id) = verdict else { return nil }
        return .awaited(callID: id, user: nil)
    }

    /// Another Trunkline tells the brief with the stream. Its call has the same id, direction and numbers here (but see
    /// `distinct`); without an id it is one that comes in.
    private static func briefed(_ start: StreamStart) -> Call? {
        guard let json = start.parameters["brief"],
            let brief = try? JSONDecoder().decode(Brief.self, from: Data(json.utf8)),
            (1...20).contains(brief.questions.count), brief.purpose.count <= 2_000
        else { return nil }
        let told = CallDirection.allCases.compactMap { direction in
            start.parameters[direction.idName].flatMap { CallDirection(id: $0) == direction ? (direction, $0) : nil }
        }.first
        let direction = told?.0 ?? .inbound
        let number = { (name: String) in String((start.parameters[name] ?? Carriers.stream).prefix(256)) }
        var call = Call(
            id: told?.1, direction: direction, localNumber: number(direction == .outbound ? "from" : "to"),
            remoteNumber: number(direction == .outbound ? "to" : "from"), brief: brief, requestedBy: "stream",
            createdAt: Date())
        call.providerCallID = String(start.callID.prefix(256))
        return call
    }
}
