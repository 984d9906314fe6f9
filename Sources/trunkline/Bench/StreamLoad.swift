import Bridge
import Foundation
import Net
import Pipeline

/// Nanoseconds of the monotonic clock.
func nowNs() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// A speech model for measuring: OpenAI Realtime (GA), a tone for a voice. Confined to its loop.
///
/// Speech for 40 ms starts a turn, 200 ms of silence end it; after 200 ms of thinking two seconds of tone follow, in
/// pieces of 100 ms at five times real time.
final class MockModelSession {
    static let startFrames = 2
    static let silenceFrames = 10
    static let thinkNs: Int64 = 200_000_000
    static let replyPieces = 20
    static let pieceEveryNs: Int64 = 20_000_000

    private let socket: WebSocket
    private var run = 0
    private var silent = 0
    private var isSpeech = false
    private var isMuLaw = true
    private var turn = 0
    private var piece = -1
    private var due: Int64 = 0
    private var pcmLevels: (sum: Double, count: Int) = (0, 0)

    /// 100 ms of a 500 Hz tone, in base64: μ-law at 8 kHz, and linear at 24 kHz.
    private static let pieces: (muLaw: String, pcm: String) = {
        func sample(_ index: Int, _ rate: Double) -> Int16 { Int16(8_000 * sin(2 * .pi * 500 * Double(index) / rate)) }
        let muLaw = (0..<800).map { MuLaw.encode(sample($0, 8_000)) }
        let pcm = (0..<2_400).flatMap { index -> [UInt8] in
            let value = UInt16(bitPattern: sample(index, 24_000))
            return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        }
        return (Data(muLaw).base64EncodedString(), Data(pcm).base64EncodedString())
    }()

    init(_ socket: WebSocket) {
        self.socket = socket
        socket.configuration.sendQueueLimit = 8 << 20
        socket.onMessage = { [unowned self] bytes, _ in self.received(bytes) }
    }

    private func received(_ bytes: UnsafeBufferPointer<UInt8>) {
        var type: JSONMembers.Value?
        var audio: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "type") { type = value }
            if JSONMembers.equals(key, "audio") { audio = value }
        }
        guard let type else { return }
        let name = UnsafeBufferPointer(rebasing: bytes[type.range])
        if let audio, JSONMembers.equals(name, "input_audio_buffer.append") {
            hear(UnsafeBufferPointer(rebasing: bytes[audio.range]))
        } else if JSONMembers.equals(name, "session.update") {
            isMuLaw = String(decoding: bytes, as: UTF8.self).contains("pcmu")
            socket.send(text: #"{"type":"session.updated","session":{}}"#)
        } else if JSONMembers.equals(name, "response.cancel"), piece >= 0 {
            finish("cancelled")
        }
    }

    private func hear(_ text: UnsafeBufferPointer<UInt8>) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
            guard let count = Base64.decode(text, into: buffer) else { return }
            if isMuLaw {
                var sum = 0.0
                for index in 0..<count {
                    let value = Double(MuLaw.decodeTable[Int(buffer[index])])
                    sum += value * value
                }
                frame(isLoud: sum > 400 * 400 * Double(max(1, count)))
            } else {
                for index in stride(from: 0, to: count - 1, by: 2) {
                    let value = Double(Int16(bitPattern: UInt16(buffer[index]) | UInt16(buffer[index + 1]) << 8))
                    pcmLevels.sum += value * value
                    pcmLevels.count += 1
                    guard pcmLevels.count == 480 else { continue }
                    frame(isLoud: pcmLevels.sum > 400 * 400 * 480)
                    pcmLevels = (0, 0)
                }
            }
        }
    }

    private func frame(isLoud: Bool) {
        if isLoud {
            run += 1
            silent = 0
            if !isSpeech, run >= Self.startFrames {
                isSpeech = true
                turn += 1
                socket.send(
                    text: #"{"type":"input_audio_buffer.speech_started","audio_start_ms":0,"item_id":"in\#(turn)"}"#)
            }
        } else {
            run = 0
            silent += 1
            if isSpeech, silent >= Self.silenceFrames {
                isSpeech = false
                socket.send(
                    text: #"{"type":"input_audio_buffer.speech_stopped","audio_end_ms":0,"item_id":"in\#(turn)"}"#)
                socket.send(
                    text:
                        #"{"type":"conversation.item.input_audio_transcription.completed","item_id":"in\#(turn)","#
                        + #""transcript":"hello there"}"#
                )
                if piece < 0 {
                    socket.send(
                        text: #"{"type":"response.created","response":{"id":"r\#(turn)","status":"in_progress"}}"#)
                    piece = 0
                    due = nowNs() + Self.thinkNs
                }
            }
        }
    }

    /// To be called about every millisecond.
    func step(_ now: Int64) {
        while piece >= 0, now >= due {
            let sound = isMuLaw ? Self.pieces.muLaw : Self.pieces.pcm
            socket.send(
                text:
                    #"{"type":"response.output_audio.delta","response_id":"r\#(turn)","item_id":"out\#(turn)","#
                    + #""output_index":0,"content_index":0,"delta":"\#(sound)"}"#
            )
            piece += 1
            due += Self.pieceEveryNs
            if piece == Self.replyPieces {
                socket.send(
                    text: #"{"type":"response.output_audio.done","response_id":"r\#(turn)","item_id":"out\#(turn)"}"#)
                finish("completed")
            }
        }
    }

    private func finish(_ status: String) {
        piece = -1
        socket.send(text: #"{"type":"response.done","response":{"id":"r\#(turn)","status":"\#(status)"}}"#)
    }
}

/// One call of the load: the carrier's side of a media stream. Speaks a second, hears the answer, and talks over every
/// second one. Confined to its loop.
///
/// A carrier whose messages hold several frames sends a frame when the last of its message is there. How long the frame
/// waits that begins a turn for the model, or ends one, is the carrier's own time, and is taken off.
final class LoadCall {
    /// What the model itself takes: silence that ends a turn, and thinking, ns.
    static let modelNs = Int64(MockModelSession.silenceFrames) * 20_000_000 + MockModelSession.thinkNs
    static let frameNs: Int64 = 20_000_000
    /// Frames of a turn's speech, and of one that interrupts.
    static let speechFrames = 50
    static let bargeFrames = 40
    /// Our playout buffer, ns: a frame that comes after it ran dry is late.
    static let playoutNs: Int64 = 40_000_000

    struct Measured {
        var addedMs: [Double] = []
        var clearMs: [Double] = []
        var frames = 0
        var lateFrames = 0
        var lagMs: [Double] = []
        var missed = 0
        var stale = 0
    }

    private enum State { case lead, speech, waiting, listening }

    let index: Int
    private let stream: WebSocketMediaStream
    private var state = State.lead
    private var frame = 0
    private var turn = 0
    private var isBarging = false
    private var wasCleared = false
    private var speakAt: Int64
    private var speechBegan: Int64 = 0
    private var speechEnded: Int64 = 0
    private var replyBegan: Int64 = 0
    private var lastSound: Int64 = 0
    /// Frames that a message of this carrier holds, and those that were given to it.
    private let messageFrames: Int
    private var given = 0
    /// How long the frames wait that decide, ns.
    private var beginWait: Int64 = 0
    private var endWait: Int64 = 0
    private var playsUntil: Int64 = 0
    private var marks: [(name: String, at: Int64)] = []
    private var isOpen = false
    private(set) var isDead = false
    var isMeasuring = false
    var measured = Measured()

    private static let speech: [EncodedFrame] = (0..<speechFrames).map { number in
        var frame = EncodedFrame()
        for index in 0..<EncodedFrame.byteCount {
            let at = Double(number * EncodedFrame.byteCount + index) / 8_000
            let value = [1.0, 2, 3, 5].reduce(0) { $0 + sin(2 * .pi * 140 * $1 * at) / $1 }
            frame.bytes[index] = MuLaw.encode(Int16(6_000 * (0.6 + 0.4 * sin(2 * .pi * 4 * at)) * value))
        }
        return frame
    }

    static func start(_ index: Int) -> StreamStart { StreamStart(streamID: "MZ\(index)", callID: "CA\(index)") }

    /// - Throws: for a dialect whose sound cannot be converted.
    init(
        index: Int, socket: WebSocket, _ plan: BenchStreams.Plan, _ start: StreamStart, startsAt: Int64
    ) throws(MediaStreamError) {
        self.index = index
        let terms = plan.dialect.init(DialectOptions(role: .carrier, format: plan.format)).terms
        messageFrames = max(1, terms.chunks.minimum / terms.outgoing.bytes(ofMs: EncodedFrame.milliseconds))
        let handshake = WebSocket.Handshake(path: socket.handshake.path, query: [], headers: [:], peer: "")
        stream = try WebSocketMediaStream(
            socket, dialect: plan.dialect,
            DialectOptions(role: .carrier, streamID: start.streamID, format: plan.format, handshake: handshake))
        speakAt = startsAt
        socket.onOpen = { [unowned self] in
            self.isOpen = true
            self.send(.connected)
            self.send(.start(start))
        }
        stream.onMessage = { [unowned self] in self.received($0) }
        stream.onClose = { [unowned self] _ in self.isDead = true }
    }

    private func send(_ message: MediaStreamMessage) { stream.send(message) }

    /// Every 20 ms; `due` is when it should have been.
    func tick(due: Int64) {
        guard isOpen, !isDead else { return }
        let now = nowNs()
        if isMeasuring { measured.lagMs.append(Double(now - due) / 1e6) }
        while let first = marks.first, first.at <= now {
            marks.removeFirst()
            send(.mark(first.name))
        }
        switch state {
        case .lead where now >= speakAt: speak(isBarging: false)
        case .waiting where now > speechEnded + Self.modelNs + 4_000_000_000:
            if isMeasuring { measured.missed += 1 }
            rest(now)
        case .listening:
            if turn % 2 == 1, now > replyBegan + 700_000_000 {
                speak(isBarging: true)
            } else if now > lastSound + 300_000_000, now > playsUntil {
                rest(now)
            }
        default: break
        }
        given += 1
        guard state == .speech else { return send(.media(EncodedFrame())) }
        if frame == 0 {
            speechBegan = nowNs()
            beginWait = wait(MockModelSession.startFrames - 1)
        }
        send(.media(Self.speech[frame]))
        frame += 1
        endWait = wait(MockModelSession.silenceFrames)
        if frame == (isBarging ? Self.bargeFrames : Self.speechFrames) {
            speechEnded = nowNs()
            state = .waiting
        }
    }

    /// How long the frame waits for its message to be full that comes so many frames after this one, ns.
    private func wait(_ frames: Int) -> Int64 {
        let place = (given + frames) % messageFrames
        return place == 0 ? 0 : Int64(messageFrames - place) * Self.frameNs
    }

    private func speak(isBarging: Bool) {
        state = .speech
        frame = 0
        self.isBarging = isBarging
        wasCleared = false
    }

    private func rest(_ now: Int64) {
        state = .lead
        turn += 1
        speakAt = now + Int64.random(in: 400_000_000...1_000_000_000)
    }

    private func received(_ message: MediaStreamMessage) {
        let now = nowNs()
        switch message {
        case .media(let frame): heard(frame, now)
        case .mark(let name): marks.append((name, max(now, playsUntil)))
        case .clear: cleared(now)
        default: break
        }
    }

    private func cleared(_ now: Int64) {
        if isBarging, !wasCleared, state == .speech || state == .waiting {
            wasCleared = true
            if isMeasuring { measured.clearMs.append(Double(now - speechBegan - beginWait) / 1e6) }
        }
        playsUntil = now
        for mark in marks { send(.mark(mark.name)) }
        marks.removeAll()
    }

    private func heard(_ frame: EncodedFrame, _ now: Int64) {
        var isSound = false
        let table = frame.law == .muLaw ? MuLaw.decodeTable : ALaw.decodeTable
        for index in 0..<EncodedFrame.byteCount where abs(Int(table[Int(frame.bytes[index])])) > 1_000 {
            isSound = true
        }
        playsUntil = max(playsUntil, now) + Self.frameNs
        guard isSound else { return }
        if isBarging, wasCleared, state == .speech, isMeasuring { measured.stale += 1 }
        if state == .waiting, now > speechEnded {
            if isMeasuring { measured.addedMs.append(Double(now - speechEnded - endWait - Self.modelNs) / 1e6) }
            // The reply after an interruption is heard to its end.
            if isBarging { turn += 1 }
            isBarging = false
            state = .listening
            replyBegan = now
            playsUntil = now + Self.playoutNs + Self.frameNs
        } else if state == .listening, isMeasuring {
            measured.frames += 1
            if playsUntil == now + Self.frameNs { measured.lateFrames += 1 }
        }
        lastSound = now
    }
}
