import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// Both ends of a media stream over a socket in memory, in virtual time, and what each has heard.
class StreamLine {
    let loop: EventLoop
    let sockets: WebSocketPair
    let carrier: WebSocketMediaStream
    let application: WebSocketMediaStream
    var atCarrier: [MediaStreamMessage] = []
    var atApplication: [MediaStreamMessage] = []
    /// Called for each message that an end hears, before it is noted.
    var onCarrier: ((MediaStreamMessage) -> Void)?
    var onApplication: ((MediaStreamMessage) -> Void)?

    init(
        _ dialect: any MediaStreamDialect.Type, carrier carried: DialectOptions = DialectOptions(role: .carrier),
        application applied: DialectOptions = DialectOptions(role: .application)
    ) throws {
        let loop = try EventLoop.manual()
        self.loop = loop
        let sockets = loop.run { WebSocketPair(on: loop) }
        self.sockets = sockets
        carrier = try loop.run { try WebSocketMediaStream(sockets.carrier, dialect: dialect, carried) }
        application = try loop.run { try WebSocketMediaStream(sockets.application, dialect: dialect, applied) }
        carrier.onMessage = { [unowned self] in
            self.onCarrier?($0)
            self.atCarrier.append($0)
        }
        application.onMessage = { [unowned self] in
            self.onApplication?($0)
            self.atApplication.append($0)
        }
    }

    deinit {
        carrier.onMessage = nil
        application.onMessage = nil
        let (carrier, application) = (carrier, application)
        loop.run {
            carrier.close()
            application.close()
        }
        loop.advance(ms: 6_000)
        loop.stop()
    }

    /// Sends from the carrier's end.
    @discardableResult
    func tell(_ message: MediaStreamMessage) -> Bool { loop.run { carrier.send(message) } }
    /// Sends from the application's end.
    @discardableResult
    func say(_ message: MediaStreamMessage) -> Bool { loop.run { application.send(message) } }

    /// Messages that no carrier of ours would send, to the application.
    func inject(_ texts: String...) {
        for text in texts { sockets.carrier.send(text: text) }
        loop.advance(ms: 20)
    }
    func inject(binary: [UInt8]) {
        sockets.carrier.send(binary: binary)
        loop.advance(ms: 20)
    }
    /// The same to the carrier.
    func inject(toCarrier text: String) {
        sockets.application.send(text: text)
        loop.advance(ms: 20)
    }

    /// A tone of 1 kHz, a frame every 20 ms.
    ///
    /// - Parameters:
    ///   - silent: frames of silence that it begins with.
    ///   - restMs: time for what waits in resamplers and messages.
    func speak(_ frames: Int, silent: Int = 0, restMs: Int = 0, _ send: (MediaStreamMessage) -> Void) {
        for index in 0..<frames {
            send(.media(index < silent ? EncodedFrame() : Self.tone(index)))
            loop.advance(ms: 20)
        }
        if restMs > 0 { loop.advance(ms: restMs) }
    }

    static func tone(_ index: Int) -> EncodedFrame {
        var frame = EncodedFrame()
        for sample in 0..<EncodedFrame.byteCount {
            let at = Double(index * EncodedFrame.byteCount + sample) / 8_000
            frame.bytes[sample] = MuLaw.encode(Int16(8_000 * sin(2 * .pi * 1_000 * at)))
        }
        return frame
    }

    static func frames(_ messages: [MediaStreamMessage]) -> [EncodedFrame] {
        messages.compactMap { if case .media(let frame) = $0 { frame } else { nil } }
    }
    static func marks(_ messages: [MediaStreamMessage]) -> [String] {
        messages.compactMap { if case .mark(let name) = $0 { name } else { nil } }
    }
    static func start(_ messages: [MediaStreamMessage]) -> StreamStart? {
        messages.lazy.compactMap { if case .start(let start) = $0 { start } else { nil } }.first
    }
    /// Frames in which the tone is as loud as it was said.
    static func loud(_ messages: [MediaStreamMessage]) -> Int {
        frames(messages).count { (7_000...9_500).contains($0.peak) }
    }
    /// Bytes of sound in each message that this end has sent; `event` is its name for them.
    static func sizes(_ end: WebSocketPair.End, _ event: String) -> [Int] {
        end.texts.compactMap { text in
            guard let object = try? DialectBench.object(text), object["event"] as? String == event else { return nil }
            return (try? DialectBench.payload(text))?.count
        }
    }

    /// A tone goes through in full and as loud as it was, both ways.
    func expectSoundBothWays() {
        speak(40) { tell($0) }
        speak(40) { say($0) }
        for heard in [Self.frames(atApplication), Self.frames(atCarrier)] {
            #expect((36...40).contains(heard.count), "\(heard.count) of 40 frames")
            let peaks = heard.dropFirst(3).dropLast().map(\.peak)
            #expect(peaks.allSatisfy { (6_500...9_500).contains($0) }, "\(peaks)")
        }
    }

    /// All but a few of the frames of a tone, as loud as it was and of its pitch.
    static func expectTone(_ messages: [MediaStreamMessage], of sent: Int) {
        let frames = frames(messages)
        #expect((sent - 5...sent + 4).contains(frames.count), "\(frames.count) of \(sent) frames")
        let tone = frames.dropFirst(2).prefix(sent - 8)
        expectPitch(tone)
        #expect(tone.allSatisfy { (7_000...9_500).contains($0.peak) })
    }

    static func expectPitch(_ frames: some Sequence<EncodedFrame>) {
        let samples = frames.flatMap { frame in frame.withBytes { $0.map(MuLaw.decode) } }
        let crossings = zip(samples, samples.dropFirst()).count { ($0 < 0) != ($1 < 0) }
        let hertz = Double(crossings) / 2 / (Double(samples.count) / 8_000)
        #expect(abs(hertz - 1_000) < 20, "\(hertz) Hz")
    }
}
