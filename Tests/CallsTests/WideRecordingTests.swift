import Foundation
import Net
import Pipeline
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// Recordings at 8 and at 16 kHz: rate, places, band, encryption.
@Suite(.serialized) struct WideRecordingTests {
    /// A recording that was read back: samples of one side, by milliseconds.
    private struct File {
        let rate: Int
        let sides: [[Int16]]

        init(_ bytes: [UInt8]) throws {
            try #require(bytes.count >= 44 && bytes.count % 4 == 0)
            rate = try #require(WaveFile.sampleRate(inHeader: bytes))
            #expect(
                Array(bytes[..<44]) == WaveFile.header(sampleRate: Int32(rate), channels: 2, bytes: bytes.count - 44))
            let samples = bytes[44...].withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
            sides = (0...1).map { side in stride(from: side, to: samples.count, by: 2).map { samples[$0] } }
        }
        init(path: String) throws { try self.init(Array(Data(contentsOf: URL(fileURLWithPath: path)))) }

        var ms: Int { sides[0].count * 1_000 / rate }
        func sound(_ side: Int, _ range: Range<Int>) -> ArraySlice<Int16> {
            sides[side][range.lowerBound * rate / 1_000..<range.upperBound * rate / 1_000]
        }
        func amplitude(_ hertz: Double, _ side: Int, _ range: Range<Int>) -> Double {
            Signals.amplitude(hertz: hertz, in: sound(side, range), rate: Int32(rate))
        }
        /// When a side is first heard, ms.
        func begin(_ side: Int) -> Double? {
            sides[side].firstIndex { abs(Int($0)) > 1_500 }.map { Double($0) * 1_000 / Double(rate) }
        }
    }

    private static func path() -> String { NSTemporaryDirectory() + "ob-" + UUID().uuidString + ".wav" }

    private static func finish(_ recording: Recording, now: Int) async {
        nonisolated(unsafe) let recording = recording  // used by this test alone
        await withCheckedContinuation { done in recording.finish(now: now) { done.resume() } }
    }

    private static func tone(_ hertz: Double, ms: Int, rate: Int32 = 8_000) -> [AudioFrame] {
        Signals.tone(hertz: hertz, amplitude: 6_000, ms: ms, rate: rate)
    }
    private static func wide(_ sound: AudioFrame) -> WideSound {
        var wide = WideSound()
        wide.set(sound)
        return wide
    }

    /// The recording of a call, once it is written.
    private func recorded(rate: Int32, vault: Vault = Vault(), _ read: (String) throws -> File) throws -> File {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let script = ScriptedCascade(sampleRate: 16_000)
        script.say("Hello, is that you?")
        script.hear("Yes.")
        let call = try PCMCall(.cascade(script.engines), rate: rate, recording: path, vault: vault)
        call.playTurn()
        try call.endAndWait()
        return try read(path)
    }

    @Test func theRecordingOfAWideStreamKeepsItsBand() throws {
        let narrow = try recorded(rate: 8_000) { try File(path: $0) }
        #expect(narrow.rate == 8_000 && (4_000...4_040).contains(narrow.ms))
        for rate in [16_000, 24_000] as [Int32] {
            let wide = try recorded(rate: rate) { try File(path: $0) }
            #expect(wide.rate == 16_000 && wide.ms == narrow.ms)
            #expect(wide.amplitude(1_000, 0, 1_800..<2_400) > 5_500)
            #expect(wide.amplitude(6_000, 0, 1_800..<2_400) > 5_000)
            // The AI's side has a telephone's band, at the same places.
            let left = try #require(wide.begin(0)), right = try #require(wide.begin(1))
            let narrowLeft = try #require(narrow.begin(0)), narrowRight = try #require(narrow.begin(1))
            #expect(abs(right - narrowRight) < 1.5, "\(right), not \(narrowRight) ms")
            #expect(abs(left - narrowLeft) < 21.5, "\(left), not \(narrowLeft) ms")
            #expect(wide.amplitude(1_000, 1, 100..<600) > 3_000)
            #expect(wide.amplitude(7_000, 1, 100..<600) < 60, "no image of it")
        }
    }

    @Test(arguments: [8_000, 16_000] as [Int32]) func anEncryptedRecordingKnowsItsRate(rate: Int32) throws {
        let vault = Vault(current: try Vault.Key(String(repeating: "5a", count: 32)))
        let file = try recorded(rate: rate, vault: vault) { path in
            let url = URL(fileURLWithPath: path)
            let folder = url.deletingLastPathComponent().path, name = url.lastPathComponent
            let source = try #require(EncryptedRecording(folder: folder, name: name, vault: vault))
            let whole = try source.read(0..<source.count)
            // Any range is that of the whole.
            for range in [0..<44, 20..<100, 8_000..<30_000, source.count - 10..<source.count] {
                #expect(try source.read(range) == Array(whole[range]))
            }
            let stranger = Vault(current: try Vault.Key(String(repeating: "77", count: 32)))
            let closed = try #require(EncryptedRecording(folder: folder, name: name, vault: stranger))
            #expect(throws: StoreError.self) { try closed.read(0..<closed.count) }
            return try File(whole)
        }
        #expect(file.rate == Int(rate) && (4_000...4_040).contains(file.ms))
        #expect(file.amplitude(1_000, 0, 1_800..<2_400) > 5_000)
    }

    /// A piece that was encrypted for another rate is not read as if it had this one.
    @Test func aPieceBelongsToItsRate() throws {
        let vault = Vault(current: try Vault.Key(String(repeating: "5a", count: 32)))
        let folder = NSTemporaryDirectory(), name = UUID().uuidString + EncryptedRecording.suffix
        defer { try? FileManager.default.removeItem(atPath: folder + "/" + name) }
        let pcm = Data(repeating: 1, count: EncryptedRecording.pieceLength)
        let first = try EncryptedRecording.encrypt(pcm, sampleRate: 16_000, name: name, vault: vault)
        let second = try vault.encrypt(pcm, row: EncryptedRecording.row(name, 1, sampleRate: 8_000))
        try (first + second).write(to: URL(fileURLWithPath: folder + "/" + name))
        let source = try #require(EncryptedRecording(folder: folder, name: name, vault: vault))
        #expect(WaveFile.sampleRate(inHeader: try source.read(0..<44)) == 16_000)
        #expect(try source.read(44..<44 + pcm.count) == Array(pcm))
        #expect(throws: StoreError.self) { try source.read(0..<source.count) }
    }

    @Test func recordingsOfBothRatesAreEncryptedLater() async throws {
        let folder = NSTemporaryDirectory() + "trunkline-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let vault = Vault(current: try Vault.Key(String(repeating: "5a", count: 32)))
        let store = try CallStore(folder: folder, vault: vault)
        defer { store.close() }
        for (index, rate) in [8_000, 16_000].enumerated() {
            let pcm = [UInt8](repeating: 7, count: 40_000)
            let bytes = WaveFile.header(sampleRate: Int32(rate), channels: 2, bytes: pcm.count) + pcm
            let name = "ob-0000000\(index)-1.wav"
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name))
        }
        let count = try await store.reencryptRecordings(in: folder)
        #expect(count.encrypted == 2 && count.failed == 0)
        for (index, rate) in [8_000, 16_000].enumerated() {
            let source = try #require(store.recording("ob-0000000\(index)-1.wav.sealed", in: folder))
            #expect(WaveFile.sampleRate(inHeader: try source.read(0..<44)) == rate)
            #expect(try source.read(44..<source.count) == [UInt8](repeating: 7, count: 40_000))
        }
    }

    /// The handshake may come after the first frames: they are kept, and what follows is wide.
    @Test func aRecordingTurnsWideUntilItIsWritten() async throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recording = try Recording(path: path)
        var now = 0
        for frame in Signals.encoded(Self.tone(1_000, ms: 400)) {
            now += 20
            recording.caller(frame, now: now)
            recording.ai(frame, startMs: now + 80)
        }
        for sound in Self.tone(6_000, ms: 400, rate: 16_000) {
            now += 20
            recording.caller(EncodedFrame(), wide: Self.wide(sound), now: now)
        }
        await Self.finish(recording, now: 1_000)
        let file = try File(path: path)
        #expect(file.rate == 16_000 && file.ms == 1_000)
        #expect(file.amplitude(1_000, 0, 50..<350) > 5_700 && file.amplitude(6_000, 0, 50..<350) < 20)
        #expect(file.amplitude(6_000, 0, 450..<750) > 5_700 && file.amplitude(1_000, 0, 450..<750) < 20)
        #expect(file.sound(0, 820..<1_000).allSatisfy { abs($0) < 20 })
        let ai = try #require(file.begin(1))
        #expect(abs(ai - 100) < 1 && file.amplitude(1_000, 1, 150..<450) > 5_700)
    }

    @Test func aRecordingThatIsPartlyWrittenKeepsItsRate() async throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recording = try Recording(path: path)
        var now = 0
        for (frame, sound) in zip(
            Signals.encoded(Self.tone(1_000, ms: 4_000)), Self.tone(6_000, ms: 4_000, rate: 16_000))
        {
            now += 20
            recording.caller(frame, wide: now > 3_000 ? Self.wide(sound) : WideSound(), now: now)
            if now % 500 == 0 { recording.flush(now: now) }
        }
        await Self.finish(recording, now: now)
        let file = try File(path: path)
        #expect(file.rate == 8_000 && file.ms == 4_000 && file.amplitude(1_000, 0, 3_200..<3_900) > 5_700)
    }

    /// Frames with jitter, gaps and late reports stand where they do in a recording of 8 kHz.
    @Test func bothRatesHaveTheSamePlaces() async throws {
        var files: [File] = []
        for isWide in [false, true] {
            let path = Self.path()
            defer { try? FileManager.default.removeItem(atPath: path) }
            let recording = try Recording(path: path)
            if isWide { recording.widen() }
            var click = EncodedFrame()
            for index in 40..<60 { click.bytes[index] = MuLaw.encode(16_000) }
            // Music: each frame where the tick found it.
            for index in 0..<30 {
                recording.ai(index % 10 == 5 ? click : EncodedFrame(), startMs: 20 * index + index % 3)
            }
            // After a gap, late; and a person.
            recording.flush(now: 1_000)
            for index in 0..<30 { recording.ai(index % 10 == 5 ? click : EncodedFrame(), startMs: 1_013 + 20 * index) }
            for index in 0..<30 {
                recording.person(index % 10 == 5 ? click : EncodedFrame(), now: 2_000 + 20 * index + index % 2)
            }
            await Self.finish(recording, now: 3_000)
            files.append(try File(path: path))
        }
        func clicks(_ file: File) -> [Double] {
            var found: [Double] = []
            for (index, sample) in file.sides[1].enumerated() where abs(Int(sample)) > 8_000 {
                let ms = Double(index) * 1_000 / Double(file.rate)
                if ms - (found.last ?? -100) > 10 { found.append(ms) }
            }
            return found
        }
        let narrow = clicks(files[0]), wide = clicks(files[1])
        #expect(narrow.count == 9 && wide.count == 9 && files.map(\.rate) == [8_000, 16_000])
        #expect(zip(narrow, wide).allSatisfy { abs($0 - $1) <= 0.25 }, "\(narrow), \(wide)")
    }
}
