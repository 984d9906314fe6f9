import ArgumentParser
import Bridge
import Foundation
import Pipeline

/// `trunkline bench pipeline`: cost of a frame, and the resampler's delay.
struct BenchPipeline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipeline", abstract: "ns and allocations a frame of the listen and speak paths; resampler delay.")

    @Option(help: "Frames a path.") var frames = 200_000

    func run() async throws {
        let count = max(1_000, frames)
        var speech = EncodedFrame()
        for index in speech.bytes.indices {
            speech.bytes[index] = MuLaw.encode(Int16(8_000 * sin(Double(index) * 0.6)))
        }

        let datagram = UnsafeMutableRawBufferPointer.allocate(
            byteCount: RTPPacket.headerLength + EncodedFrame.byteCount, alignment: 8)
        defer { datagram.deallocate() }
        _ = datagram.initializeMemory(as: UInt8.self, repeating: 0xFF)
        var jitter = JitterBuffer()
        var packets: [JitterBuffer.Output] = []
        var sequence: UInt16 = 0
        try measure("RTP in: parse, jitter buffer", count) {
            packets.removeAll(keepingCapacity: true)
            RTPPacket.writeHeader(
                into: datagram, payloadType: 0, marker: false, sequence: sequence, timestamp: 0, ssrc: 1)
            guard let packet = RTPPacket(parsing: UnsafeRawBufferPointer(datagram)) else { return }
            let payload = JitterBuffer.Payload(
                UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(datagram)[packet.payload]))
            jitter.insert(sequence: packet.sequence, payload: payload, now: 0, into: &packets)
            sequence &+= 1
        }

        var decoder = MuLawDecoder()
        var upsampler = try Resampler(from: 8_000, to: 16_000)
        var detector = VoiceActivityDetector()
        var decoded: [AudioFrame] = []
        var resampled: [AudioFrame] = []
        var speechFrames = 0
        func listen() throws {
            decoded.removeAll(keepingCapacity: true)
            resampled.removeAll(keepingCapacity: true)
            if detector.detect(speech).isSpeech { speechFrames += 1 }
            decoder.process(speech, into: &decoded)
            for frame in decoded { try upsampler.process(frame, into: &resampled) }
        }
        try measure("listen: VAD on μ-law, decode, resample 8→16 kHz", count, listen)

        var listenOnly = VoiceActivityDetector()
        try measure("listen: VAD on μ-law alone (pass-through calls)", count) {
            if listenOnly.detect(speech).isSpeech { speechFrames += 1 }
        }

        var downsampler = try Resampler(from: 16_000, to: 8_000)
        var framer = Framer(sampleRate: 8_000)
        var encoder = MuLawEncoder()
        var tone = AudioFrame(sampleRate: 16_000)
        tone.fill { buffer in
            for index in 0..<320 { buffer[index] = Int16(8_000 * sin(Double(index) * 0.3)) }
            return 320
        }
        var down: [AudioFrame] = []
        var framed: [AudioFrame] = []
        var encoded: [EncodedFrame] = []
        try measure("speak: resample 16→8 kHz, frame, encode μ-law", count) {
            down.removeAll(keepingCapacity: true)
            framed.removeAll(keepingCapacity: true)
            encoded.removeAll(keepingCapacity: true)
            try downsampler.process(tone, into: &down)
            for frame in down { framer.process(frame, into: &framed) }
            for frame in framed { encoder.process(frame, into: &encoded) }
        }

        print("")
        for (from, to) in [(8_000, 24_000), (24_000, 8_000), (8_000, 16_000), (16_000, 8_000)] as [(Int32, Int32)] {
            let delay = try Self.delay(from: from, to: to)
            print(
                "resampler \(from / 1_000)→\(to / 1_000) kHz: delay \(String(format: "%.1f", delay)) ms, "
                    + "limit 3 ms"
            )
        }
    }

    private func measure(_ name: String, _ count: Int, _ body: () throws -> Void) throws {
        for _ in 0..<1_000 { try body() }
        let before = Allocations.count()
        let start = ContinuousClock.now
        for _ in 0..<count { try body() }
        let elapsed = start.duration(to: .now) / .nanoseconds(1)
        let allocated = Allocations.count().map { after in before.map { Double(after - $0) / Double(count) } ?? 0 }
        let allocations =
            allocated.map { String(format: "%.3f", $0) }
            ?? "unknown (run with LD_PRELOAD of the counter: scripts/bench-allocations)"
        print("\(name): \(Int(elapsed / Double(count))) ns a frame, allocations a frame \(allocations)")
    }

    /// From the arrival of an impulse, in blocks of 1 ms, until its output appears.
    static func delay(from: Int32, to: Int32) throws -> Double {
        var resampler = try Resampler(from: from, to: to)
        let block = Int(from) / 1_000
        let at = 400
        var produced: [Int16] = []
        var availableAt: [Int] = []
        for ms in 0..<800 {
            var frame = AudioFrame(sampleRate: from)
            frame.fill { buffer in
                for index in 0..<block { buffer[index] = ms == at && index == 0 ? 30_000 : 0 }
                return block
            }
            var output: [AudioFrame] = []
            try resampler.process(frame, into: &output)
            for frame in output {
                frame.withSamples { produced.append(contentsOf: $0) }
                while availableAt.count < produced.count { availableAt.append(ms + 1) }
            }
        }
        guard let peak = produced.indices.max(by: { abs(Int(produced[$0])) < abs(Int(produced[$1])) }) else {
            return .infinity
        }
        return Double(availableAt[peak] - at)
    }
}

/// Allocations of this process, counted by a preloaded `malloc` (scripts/bench-allocations); nil without it.
enum Allocations {
    private typealias Counter = @convention(c) () -> UInt64
    private static let counter: Counter? = {
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "trunkline_allocations") else { return nil }
        return unsafeBitCast(symbol, to: Counter.self)
    }()
    static func count() -> UInt64? { counter?() }
}
