import Foundation
import Net
import Pipeline
import TestSupport

@testable import Bridge

/// A server of media streams in memory that does all as it should, but for what a test changes in it. It answers speech
/// with speech, clears when it is interrupted, and closes when the carrier ends. Confined to its loop.
final class CheckServer {
    /// What is wrong with it.
    struct Fault {
        /// Changes a message on its way out; nil: it is not sent.
        var mangle: ((_ text: String) -> String?)?
        /// Sound on its way out, in the wire's format.
        var sound: (([UInt8]) -> [UInt8])?
        /// Sent as soon as the connection is open; when the stream has begun; when the server first speaks.
        var atOpen: ((CheckServer) -> Void)?
        var atStart: ((CheckServer) -> Void)?
        var atSpeech: ((CheckServer) -> Void)?
        var atDigit: ((CheckServer) -> Void)?
        var atUnknown: ((CheckServer) -> Void)?
        /// Every 20 ms, with the milliseconds since the start.
        var atTick: ((CheckServer, UInt64) -> Void)?
        var clears = true
        var answersStart = true
        /// Frames of an answer.
        var answerFrames = 150
    }

    /// An application's end whose messages may be changed.
    private final class Mouth: MessageSocket {
        let end: WebSocketPair.End
        let fault: Fault
        init(_ end: WebSocketPair.End, _ fault: Fault) {
            self.end = end
            self.fault = fault
        }
        var loop: EventLoop { end.loop }
        var configuration: WebSocket.Configuration {
            get { end.configuration }
            set { end.configuration = newValue }
        }
        var onMessage: ((UnsafeBufferPointer<UInt8>, WebSocket.Kind) -> Void)? {
            get { end.onMessage }
            set { end.onMessage = newValue }
        }
        var onClose: ((Int, String) -> Void)? {
            get { end.onClose }
            set { end.onClose = newValue }
        }
        func close(code: UInt16) { end.close(code: code) }

        func send(_ kind: WebSocket.Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool {
            guard fault.mangle != nil || fault.sound != nil else {
                return end.send(kind, capacity: capacity, fill)
            }
            var bytes = [UInt8](repeating: 0, count: capacity)
            let count = bytes.withUnsafeMutableBufferPointer { fill($0) }
            guard count >= 0 else { return false }
            bytes.removeLast(capacity - count)
            if kind == .binary {
                if let sound = fault.sound { bytes = sound(bytes) }
            } else if let mangle = fault.mangle {
                guard let text = mangle(String(decoding: bytes, as: UTF8.self)) else { return true }
                bytes = Array(text.utf8)
            }
            return end.send(kind, capacity: bytes.count) { $0.update(fromContentsOf: bytes) }
        }
    }

    let pair: WebSocketPair
    let dialect: any MediaStreamDialect.Type
    private(set) var streamID = ""
    private(set) var startedAt: UInt64?
    private let fault: Fault
    private let expected: ((String?) -> Bool)?
    private let handshake: WebSocket.Handshake
    private let stream: WebSocketMediaStream
    private var ticker: EventLoop.Ticker?
    private var answer: ArraySlice<EncodedFrame> = []
    private var loud = 0
    private var quiet = 0
    private var hasSpoken = false
    private var isOver = false

    /// - Parameter expected: whether a token lets in; nil: all are let in.
    init(
        _ dialect: any MediaStreamDialect.Type, on loop: EventLoop, _ fault: Fault, _ attempt: StreamAttempt,
        expected: ((String?) -> Bool)?
    ) throws {
        self.dialect = dialect
        self.fault = fault
        self.expected = expected
        pair = WebSocketPair(on: loop)
        handshake = WebSocket.Handshake(
            path: "/", query: attempt.query,
            headers: Dictionary(attempt.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }), peer: "")
        stream = try WebSocketMediaStream(
            Mouth(pair.application, fault), dialect: dialect,
            DialectOptions(role: .application, handshake: handshake))
        let decode = pair.application.onMessage
        pair.application.onMessage = { [unowned self] bytes, kind in
            if kind == .text, let unknown = self.dialect.conformance.unknown, bytes.elementsEqual(unknown.utf8) {
                self.fault.atUnknown?(self)
            }
            decode?(bytes, kind)
        }
        stream.onMessage = { [unowned self] in self.heard($0) }
        stream.onClose = { [self] _ in
            isOver = true
            ticker?.cancel()
        }
        ticker = loop.addTicker { [unowned self] now in self.tick(now) }
        fault.atOpen?(self)
    }

    /// Says what no codec of ours would.
    func say(_ text: String) { pair.application.send(text: text.replacing("ID", with: streamID)) }
    func say(sound: [UInt8]) { pair.application.send(binary: sound) }
    func close(_ code: UInt16) { pair.application.close(code: code) }

    /// Sound as a message of the dialect, whatever its chunks are.
    func say(payload sound: [UInt8]) {
        guard dialect.traits.soundKind == .text else { return say(sound: sound) }
        let speaker = dialect.init(DialectOptions(role: .application, streamID: streamID))
        var target = [UInt8](repeating: 0, count: speaker.capacity(forSound: sound.count))
        let count = target.withUnsafeMutableBufferPointer { target in
            sound.withUnsafeBufferPointer { speaker.encode(sound: $0, timestampMs: 0, into: target) }
        }
        say(String(decoding: target[..<max(0, count)], as: UTF8.self))
    }

    private func heard(_ message: MediaStreamMessage) {
        switch message {
        case .start(let start):
            streamID = start.streamID
            if let expected {
                let given = dialect.traits.tokens.lazy.compactMap { $0.token(in: start, of: self.handshake) }.first
                guard expected(given) else { return stream.refuse(.unauthorized) }
            }
            startedAt = pair.application.loop.timeMs
            if fault.answersStart { stream.send(message) }
            fault.atStart?(self)
        case .media(let frame): hear(frame)
        case .dtmf: fault.atDigit?(self)
        case .stop: if fault.atTick == nil { stream.close() }
        case .connected, .mark, .clear: break
        }
    }

    private func hear(_ frame: EncodedFrame) {
        if frame.peak > CarrierLine.loudPeak {
            (loud, quiet) = (loud + 1, 0)
        } else {
            quiet += 1
            if quiet == 10 {
                if loud >= 10, answer.isEmpty { speak() }
                loud = 0
            }
        }
        if loud == 3, !answer.isEmpty, fault.clears {
            answer = []
            stream.send(.clear)
        }
    }

    private func speak() {
        answer = CheckSpeech.frames(fault.answerFrames)[...]
        if !hasSpoken { fault.atSpeech?(self) }
        hasSpoken = true
    }

    private func tick(_ now: UInt64) {
        guard let startedAt, !isOver else { return }
        fault.atTick?(self, now - startedAt)
        guard let frame = answer.popFirst() else { return }
        stream.send(.media(frame))
        if answer.isEmpty || answer.count % 25 == 0 { stream.send(.mark("m\(answer.count)")) }
    }
}

/// What both ends say: a buzz with the melody of speech.
enum CheckSpeech {
    static func frames(_ count: Int) -> [EncodedFrame] {
        (0..<count).map { number in
            var frame = EncodedFrame()
            for index in 0..<EncodedFrame.byteCount {
                let at = Double(number * EncodedFrame.byteCount + index) / 8_000
                let value = [1.0, 2, 3, 5].reduce(0) { $0 + sin(2 * .pi * 140 * $1 * at) / $1 }
                frame.bytes[index] = MuLaw.encode(Int16(6_000 * (0.6 + 0.4 * sin(2 * .pi * 4 * at)) * value))
            }
            return frame
        }
    }
}

/// A check against a server in memory, in virtual time.
final class CheckRun: StreamDialer {
    var fault = CheckServer.Fault()
    /// Of the upgrade: what is answered in place of it, and the subprotocol; nil: the first that is offered.
    var answer: DialOutcome?
    var chosen: ((StreamAttempt) -> String?) = { $0.subprotocols.first }
    var pongs = 3
    /// Our close frame is not answered.
    var isDeaf = false
    var token: String?
    var secret: String?
    var expected: ((String?) -> Bool)?
    /// Whether an upgrade is signed as it should be; nil: nobody looks.
    var isSigned: ((StreamAttempt) -> Bool)?
    private(set) var servers: [CheckServer] = []
    private let dialect: any MediaStreamDialect.Type
    private let loop: EventLoop

    init(_ dialect: any MediaStreamDialect.Type) throws {
        self.dialect = dialect
        loop = try EventLoop.manual()
    }

    /// An end that does not close.
    private final class Deaf: MessageSocket {
        let end: WebSocketPair.End
        init(_ end: WebSocketPair.End) { self.end = end }
        var loop: EventLoop { end.loop }
        var configuration: WebSocket.Configuration {
            get { end.configuration }
            set { end.configuration = newValue }
        }
        var onMessage: ((UnsafeBufferPointer<UInt8>, WebSocket.Kind) -> Void)? {
            get { end.onMessage }
            set { end.onMessage = newValue }
        }
        var onClose: ((Int, String) -> Void)?
        func send(_ kind: WebSocket.Kind, capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> Bool {
            end.send(kind, capacity: capacity, fill)
        }
        func close(code: UInt16) {}
    }

    func dial(_ attempt: StreamAttempt, _ done: @escaping (DialOutcome) -> Void) {
        if let answer { return done(answer) }
        if let isSigned, !isSigned(attempt) { return done(.refused(status: 403)) }
        do {
            let server = try CheckServer(dialect, on: loop, fault, attempt, expected: expected)
            servers.append(server)
            let pongs = pongs
            let end: any MessageSocket = isDeaf ? Deaf(server.pair.carrier) : server.pair.carrier
            done(.open(end, subprotocol: chosen(attempt), pings: { (5, pongs) }))
        } catch { done(.failed("\(error)")) }
    }

    /// Runs to the end; at most two minutes of the conversation's time.
    func report(format: WireFormat? = nil) -> CheckReport? {
        var plan = CheckPlan(dialect, speech: CheckSpeech.frames(50))
        plan.format = format
        plan.token = token
        plan.secret = secret
        plan.url = WebSocketURL("wss://h/media")
        plan.parameters = ["colour": "red"]
        var report: CheckReport?
        loop.run { StreamCheck(plan, on: loop, dialer: self) { report = $0 }.run() }
        for _ in 0..<1_200 where report == nil { loop.advance(ms: 100) }
        loop.advance(ms: 6_000)
        return report
    }

    deinit { loop.stop() }

    /// Names of the rules that were found broken.
    static func failed(_ report: CheckReport?) -> [String] {
        report?.rows.filter { $0.finding.verdict == .fail }.map { "\($0.rule.name): \($0.finding.seen)" } ?? ["none"]
    }
    static func finding(_ name: String, _ report: CheckReport?) -> Finding? {
        report?.rows.first { $0.rule.name == name }?.finding
    }
}
