internal import Bridge
internal import Foundation
internal import Logging
public import Net
internal import Realtime

/// `/media/twilio` and `/twilio/stream`: a carrier, or another Trunkline with `bridge.stream_url`, streams a call to us.
///
/// The stream is trusted by the token in its `start` parameters; nothing is opened for it before that has been checked.
public struct StreamServer: Sendable {
    public static let paths: Set<String> = ["/media/twilio", "/twilio/stream"]
    /// Milliseconds from the upgrade to a valid `start`.
    private static let startLimitMs: UInt64 = 5_000

    private let line: CallLine
    private let settings: CallSettings

    public init(line: CallLine, settings: CallSettings) {
        self.line = line
        self.settings = settings
    }

    /// 404 unless a token is configured: then nobody is meant to stream to us.
    public func refusal(of request: HTTPRequest) -> Int { settings.streamToken == nil ? 404 : 0 }

    public func open(_ socket: WebSocket) -> Bool {
        guard let token = settings.streamToken else { return false }
        let stream = WebSocketMediaStream(socket, dialect: TwilioDialect(role: .application))
        let loop = socket.loop
        let box = Confined<any MediaStream>(stream, to: loop)
        let deadline = EventLoop.nowMs() + Self.startLimitMs
        var ticker: EventLoop.Ticker?
        ticker = loop.addTicker { now in
            guard now >= deadline else { return }
            ticker?.cancel()
            socket.close(code: 1008)
        }
        let line = line
        let settings = settings
        stream.onMessage = { message in
            guard case .start(let start) = message else { return }
            ticker?.cancel()
            guard let given = start.parameters["token"], Self.isEqual(given, token), let call = Self.call(start) else {
                line.logger.warning("a media stream was refused: wrong token or no brief")
                return socket.close(code: 1008)
            }
            let streamed = StreamedCall(loop: loop, call: call, line: line, settings: settings)
            streamed.assumeIsolated { $0.run(box) }
        }
        stream.onClose = { _ in ticker?.cancel() }
        return true
    }

    /// In constant time.
    private static func isEqual(_ a: String, _ b: String) -> Bool {
        let a = Array(a.utf8), b = Array(b.utf8)
        guard a.count == b.count else { return false }
        return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func call(_ start: StreamStart) -> Call? {
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
            loop: loop, stream: stream, engines: line.engines(call.brief.language), brief: call.brief, settings: conversation,
            recording: Confined(recording, to: loop)
        ) { event in
            continuation.yield(event)
            if case .ended = event { continuation.finish() }
        }
        self.graph = graph
        graph.assumeIsolated {
            $0.start()
            $0.streamStarted()
        }
        let call = call
        let store = line.store
        let logger = line.logger
        Task { [self] in
            do { try await Self.keep(call, recording: recording == nil ? nil : name, events: events, in: store) } catch {
                logger.error("cannot store a streamed call: \(error)", metadata: ["call": "\(call.outboundID)"])
            }
            close(stream)
        }
    }

    private func close(_ stream: Confined<any MediaStream>) {
        // The carrier plays what it has; the close ends the stream (and, at Twilio, goes on with the TwiML).
        stream.value.close()
        graph = nil
    }

    private static func keep(_ call: Call, recording: String?, events: AsyncStream<CallGraph.Event>, in store: CallStore) async throws {
        let id = call.outboundID
        let at = Date()
        try await store.insert(
            call,
            event: CallEvent(name: "outbound_queued", at: at, outboundID: id, payload: CallEvent.payload(["purpose": call.brief.purpose])))
        try await store.update(id) { call in
            try call.apply(.dial)
            try call.apply(.answered)
            call.startedAt = at
            call.answeredAt = at
            call.recording = recording
            call.attempts.append(.init(startedAt: at))
            return [
                CallEvent(
                    name: "outbound_connected", at: at, outboundID: id, payload: CallEvent.payload(["answered_at": CallEvent.time(at)]))
            ]
        }
        for await event in events {
            let now = Date()
            switch event {
            case .transcript(let entry, let position):
                try await store.append(
                    entry, at: position, to: id,
                    event: CallEvent(
                        name: "outbound_transcript", at: now, outboundID: id, payload: CallEvent.payload(["entry": TranscriptPayload(entry)])))
            case .progress(let tracker):
                try await store.update(id) { call in
                    call.answers = tracker.answers
                    return [
                        CallEvent(name: "outbound_progress", at: now, outboundID: id, payload: CallEvent.payload(ProgressPayload(tracker)))
                    ]
                }
            case .ended(let outcome):
                try await store.update(id) { call in
                    try call.apply(.conversationEnded(isFailure: outcome.endReason == .providerError))
                    call.take(outcome, at: now)
                    return [CallEvent.terminal(of: call, at: now)]
                }
            }
        }
    }
}
