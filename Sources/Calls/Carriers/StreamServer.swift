public import Bridge
internal import Foundation
internal import Logging
public import Net
public import Realtime

/// `/media/twilio` and `/twilio/stream`: a carrier, or another Trunkline with `bridge.stream_url`, streams a call to us.
///
/// A stream is let in by a one-time token of `POST /twilio/voice`, by the signature of its upgrade (a TwiML Bin has no
/// token), or by the shared token of another Trunkline. No model is asked for anything before that has been checked.
public struct StreamServer: Sendable {
    public static let paths: Set<String> = ["/media/twilio", "/twilio/stream"]
    /// Milliseconds from the upgrade to a valid `start`.
    private static let startLimitMs: UInt64 = 5_000

    public struct Settings: Sendable {
        /// Twilio's auth token, and our address as Twilio sees it, e.g. `https://voice.example.com`.
        public var signature: TwilioSignature?
        public var publicURL: String?
        /// Shared with another Trunkline.
        public var sharedToken: String?
        /// Anybody is let in. For measuring, and refused beyond loopback.
        public var isOpen = false
        /// For calls that come without a brief of their own.
        public var brief = Brief(purpose: "Find out what the caller wants and help as far as you can.", questions: [])
        public init() {}
    }

    private let line: CallLine
    private let calls: CallSettings
    private let settings: Settings
    private let tickets: StreamTickets

    public init(line: CallLine, calls: CallSettings, settings: Settings, tickets: StreamTickets) {
        self.line = line
        self.calls = calls
        self.settings = settings
        self.tickets = tickets
    }

    /// 404 where nobody is meant to stream to us; 403 for a signature that is not Twilio's.
    public func refusal(of request: HTTPRequest) -> Int {
        if settings.isOpen || settings.sharedToken != nil, request.headers["x-twilio-signature"] == nil { return 0 }
        guard settings.signature != nil else { return settings.sharedToken == nil ? 404 : 403 }
        // Without a signature a one-time token may still follow in `start`.
        return request.headers["x-twilio-signature"] == nil || isSigned(request.path, request.headers) ? 0 : 403
    }

    private func isSigned(_ path: String, _ headers: [String: String]) -> Bool {
        guard let signature = settings.signature, let base = settings.publicURL, let given = headers["x-twilio-signature"] else { return false }
        return signature.isValid(given, url: base + path)
    }

    public func open(_ socket: WebSocket) -> Bool {
        let stream = WebSocketMediaStream(socket, dialect: TwilioDialect(role: .application))
        let loop = socket.loop
        let isSigned = isSigned(socket.handshake.path, socket.handshake.headers)
        let deadline = loop.timeMs + Self.startLimitMs
        var ticker: EventLoop.Ticker?
        ticker = loop.addTicker(every: .tenth) { now in
            guard now >= deadline else { return }
            ticker?.cancel()
            socket.close(code: 1008)
        }
        let server = self
        stream.onMessage = { [unowned stream] message in
            guard case .start(let start) = message else { return }
            ticker?.cancel()
            guard let call = server.admit(start, isSigned: isSigned) else {
                server.line.logger.warning("a media stream was refused: no valid token, signature or brief")
                return socket.close(code: 1008)
            }
            let streamed = StreamedCall(loop: loop, call: call, line: server.line, settings: server.calls)
            let box = Confined<any MediaStream>(stream, to: loop)
            streamed.assumeIsolated { $0.run(box) }
        }
        // The closure keeps the stream alive until a call has taken it over or the socket is gone.
        stream.onClose = { [stream] _ in
            ticker?.cancel()
            _ = stream
        }
        return true
    }

    /// The call that a stream belongs to; nil: it is not let in.
    private func admit(_ start: StreamStart, isSigned: Bool) -> Call? {
        let given = start.parameters["token"]
        if let shared = settings.sharedToken, let given, Self.isEqual(given, shared) { return Self.briefed(start) }
        if let given, let ticket = tickets.redeem(given, providerCallID: start.callID) {
            return call(start, from: ticket.from, to: ticket.to, requestedBy: "twilio")
        }
        // A wrong token is a wrong token, whoever signed the upgrade.
        guard given == nil, isSigned || settings.isOpen else { return nil }
        return call(
            start, from: start.parameters["from"] ?? "stream", to: start.parameters["to"] ?? "stream",
            requestedBy: isSigned ? "twilio" : "open stream")
    }

    private func call(_ start: StreamStart, from: String, to: String, requestedBy: String) -> Call {
        // The caller is the other party: what the dashboard calls the callee.
        var call = Call(
            callerNumber: String(to.prefix(256)), calleeNumber: String(from.prefix(256)), brief: settings.brief,
            maxDuration: calls.maxCallDuration, requestedBy: requestedBy, createdAt: Date())
        call.callID = String(start.callID.prefix(256))
        return call
    }

    /// In constant time.
    private static func isEqual(_ a: String, _ b: String) -> Bool {
        let a = Array(a.utf8), b = Array(b.utf8)
        guard a.count == b.count else { return false }
        return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Another Trunkline tells the brief with the stream.
    private static func briefed(_ start: StreamStart) -> Call? {
        guard let json = start.parameters["brief"], let brief = try? JSONDecoder().decode(Brief.self, from: Data(json.utf8)),
            (1...20).contains(brief.questions.count), brief.purpose.count <= 2_000
        else { return nil }
        let id = start.parameters["outbound_id"] ?? ""
        let isWellFormed = id.count == 11 && id.hasPrefix("ob-") && id.dropFirst(3).allSatisfy { $0.isHexDigit }
        var call = Call(
            outboundID: isWellFormed ? id : Call.newID(), callerNumber: "stream", calleeNumber: String(start.callID.prefix(256)), brief: brief,
            requestedBy: "stream", createdAt: Date())
        call.callID = String(start.callID.prefix(256))
        return call
    }
}

/// A conversation over somebody else's leg. Lives as long as its stream; an actor of the stream's loop.
actor StreamedCall {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    private var graph: CallGraph?

    init(loop: EventLoop, call: Call, line: CallLine, settings: CallSettings) {
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings
    }

    func run(_ stream: Confined<any MediaStream>) {
        let name = settings.savesRecording ? call.outboundID + "-1.wav" : nil
        let recording = name.flatMap { try? Recording(path: settings.recordingsFolder + "/" + $0) }
        var conversation = settings.conversation
        conversation.maxDurationMs = settings.maxCallDuration * 1_000
        let (events, continuation) = AsyncStream<CallGraph.Event>.makeStream(bufferingPolicy: .bufferingNewest(1_024))
        let graph = CallGraph(
            loop: loop, stream: stream.value, modes: line.modes(call.brief.language), brief: call.brief, settings: conversation,
            recording: recording
        ) { event in
            continuation.yield(event)
            if case .ended = event { continuation.finish() }
        }
        self.graph = graph
        graph.start()
        graph.streamStarted()
        let loop = loop
        line.streams.add(call.outboundID) { [weak self] reason in
            loop.post { [weak self] in self?.assumeIsolated { $0.graph?.finish(reason) } }
        }
        let call = call
        let store = line.store
        var logger = line.logger
        logger[metadataKey: "call"] = "\(call.outboundID)"
        let savesTranscript = settings.savesTranscript
        Task { [self, logger] in
            do {
                try await Self.keep(
                    call, recording: recording == nil ? nil : name, savesTranscript: savesTranscript, events: events, in: store, logger)
            } catch {
                logger.error("cannot store a streamed call: \(error)")
                for await event in events { if case .ended = event { break } }
            }
            close(stream)
        }
    }

    private func close(_ stream: Confined<any MediaStream>) {
        // The carrier plays what it has; the close ends the stream (and, at Twilio, goes on with the TwiML).
        stream.value.close()
        graph = nil
        line.streams.remove(call.outboundID)
    }

    private static func keep(
        _ call: Call, recording: String?, savesTranscript: Bool, events: AsyncStream<CallGraph.Event>, in store: CallStore, _ logger: Logger
    ) async throws {
        let id = call.outboundID
        let at = Date()
        var connected = call
        try connected.apply(.dial)
        try connected.apply(.answered)
        connected.startedAt = at
        connected.answeredAt = at
        connected.recording = recording
        connected.attempts.append(.init(startedAt: at))
        try await store.insert(
            connected,
            events: [
                CallEvent(name: "outbound_queued", at: at, outboundID: id, payload: CallEvent.payload(["purpose": call.brief.purpose])),
                CallEvent(name: "outbound_connected", at: at, outboundID: id, payload: CallEvent.payload(["answered_at": CallEvent.time(at)])),
            ])
        for await event in events { try await keep(event, of: id, savesTranscript: savesTranscript, in: store, logger) }
    }

    private static func keep(
        _ event: CallGraph.Event, of id: String, savesTranscript: Bool, in store: CallStore, _ logger: Logger
    ) async throws {
        let now = Date()
        switch event {
        case .warning(let text): logger.warning("\(text)")
        case .transcript(let entry, let position):
            guard savesTranscript else { return }
            try await store.append(
                entry, at: position, to: id,
                event: CallEvent(
                    name: "outbound_transcript", at: now, outboundID: id, payload: CallEvent.payload(["entry": TranscriptPayload(entry)])))
        case .progress(let tracker):
            try await store.update(id) { call in
                call.answers = tracker.answers
                return [CallEvent(name: "outbound_progress", at: now, outboundID: id, payload: CallEvent.payload(ProgressPayload(tracker)))]
            }
        case .ended(let outcome):
            try await store.update(id) { call in
                try call.apply(.conversationEnded(isFailure: [.providerError, .mediaTimeout].contains(outcome.endReason)))
                call.take(outcome, at: now)
                return [CallEvent.terminal(of: call, at: now)]
            }
        }
    }
}
