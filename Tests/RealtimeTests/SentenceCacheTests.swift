import Pipeline
import Testing

@testable import Realtime

struct SentenceCacheTests {
    private func key(_ text: String, voice: String = "kal16") -> SentenceCache.Key {
        SentenceCache.Key(voice: voice, language: "en", text: text)
    }

    private func sound(_ samples: [Int16], turn: Int32 = 1) -> [AudioFrame] {
        stride(from: 0, to: samples.count, by: 160).map { start in
            var frame = AudioFrame(sampleRate: 8_000, turn: turn)
            samples[start..<min(start + 160, samples.count)].withUnsafeBufferPointer { _ = frame.append($0) }
            return frame
        }
    }

    private func samples(_ frames: [AudioFrame]?) -> [Int16]? {
        frames.map { $0.flatMap { frame in frame.withSamples { Array($0) } } }
    }

    @Test func theSecondTimeASentenceIsKeptAsItSounded() {
        let cache = SentenceCache()
        let spoken = (0..<480).map { Int16($0) }
        cache.spoke(key("Pardon?"), sound(spoken))
        #expect(cache.frames(key("Pardon?"), turn: 2) == nil && cache.bytes == 0, "once: it is no more than a hash")
        cache.spoke(key("Pardon?"), sound(spoken))
        let known = cache.frames(key("Pardon?"), turn: 7)
        #expect(samples(known) == spoken)
        #expect(known?.count == 3 && known?.allSatisfy { $0.turn == 7 && $0.sampleRate == 8_000 } == true)
        #expect(cache.frames(key("Pardon?", voice: "rms"), turn: 7) == nil)
    }

    @Test func whatWasNotUsedForTheLongestTimeLeaves() {
        let cache = SentenceCache(limit: 4_000)
        for text in ["one", "two", "one", "two"] { cache.spoke(key(text), sound(Array(repeating: 1, count: 480))) }
        #expect(cache.frames(key("one"), turn: 1) != nil)
        for _ in 0..<2 { cache.spoke(key("three"), sound(Array(repeating: 1, count: 480))) }
        #expect(cache.frames(key("two"), turn: 1) == nil)
        #expect(cache.frames(key("one"), turn: 1) != nil && cache.frames(key("three"), turn: 1) != nil)
        #expect(cache.bytes <= 4_000)
    }

    @Test func aSentenceThatIsTooLongIsNotKept() {
        let cache = SentenceCache(limit: 4_000)
        for _ in 0..<2 { cache.spoke(key("long"), sound(Array(repeating: 1, count: 4_000))) }
        #expect(cache.frames(key("long"), turn: 1) == nil && cache.bytes == 0)
    }

    @Test func aCallHearsTheSameSoundAgain() async throws {
        let workers = WorkerPool(name: "test", threads: 1)
        defer { workers.stop() }
        let speech = EmbeddedSpeech(workers: workers)
        var heard: [[Int16]] = []
        for turn in Int32(1)...3 {
            let input = Edge<Sentence>("in", limit: 1, whenFull: .wait)
            let output = Edge<SynthesizedAudio>("out", limit: 1_000, whenFull: .dropOldest)
            input.offer(Sentence(utterance: 4, turn: turn, text: "Pardon?", language: "en"))
            input.finish()
            try await speech.run(from: input, to: output)
            output.finish()
            var frames: [AudioFrame] = []
            while case .data(let piece)? = await output.next() {
                if case .audio(let frame, utterance: 4) = piece { frames.append(frame) }
            }
            #expect(frames.allSatisfy { $0.turn == turn })
            heard.append(samples(frames) ?? [])
        }
        #expect(!heard[0].isEmpty && heard[0] == heard[1] && heard[1] == heard[2])
    }
}
