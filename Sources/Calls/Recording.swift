internal import Foundation
internal import Logging
public import Pipeline
internal import Problems
public import Store

/// A call's stereo recording, caller left and AI right, on the transcript's clock: sample 0 is the answer.
///
/// The last 1.4 s stay in memory, for what is known late: when our speech was heard. What is older is written every
/// half second, header included, so that a killed server leaves a playable file that lacks less than 2 s. Confined to
/// the call's loop; the file is written on a queue of its own.
///
/// It has 16 bits and two channels at 8 kHz, or at 16 kHz where the caller's stream brings wide sound.
public final class Recording {
    /// Hertz.
    static let narrowRate = 8_000
    static let wideRate = 16_000
    /// Milliseconds kept back.
    static let windowMs = 1_400
    /// Milliseconds between two writes.
    static let flushMs = 500
    /// A caller's frames are laid end to end unless they are off by more than this, ms.
    static let realignMs = 60

    private static let files = DispatchQueue(label: "recordings")

    public let path: String
    private let decode: [[Int16]] = [MuLaw.decodeTable, ALaw.decodeTable]
    /// Caller and AI by turns, as in the file; in the byte order of the file, which is that of every machine Swift runs
    /// on.
    private var samples: [Int16] = []
    /// The pair of samples that `samples[0]` begins.
    private var base = 0
    private var callerEnd = 0
    private var personEnd = 0
    /// Hertz.
    private var sampleRate = Recording.narrowRate
    /// Both sides of a wide recording; nil: it is not wide.
    private var tracks: (left: RecordedTrack, right: RecordedTrack)?
    private var file: File?

    /// Waits until all that recordings had to write is in their files.
    static func settle() { files.sync {} }

    /// A piece of the file, its number, and the rate of its samples.
    private typealias Encryption = (_ piece: Data, _ number: Int, _ sampleRate: Int) throws -> Data

    /// Only used on `files`, and closed there.
    ///
    /// `@unchecked Sendable`: what changes is touched on that serial queue alone.
    private final class File: @unchecked Sendable {
        private let descriptor: Int32
        /// nil: it is written as it is, with a header.
        private let encrypt: Encryption?
        private var plain = Data()
        private var pieces = 0
        private var end = 0
        private var sampleRate = Recording.narrowRate

        init?(_ path: String, encrypt: Encryption?) {
            self.encrypt = encrypt
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
        }
        deinit { close(descriptor) }

        /// The next samples, and the header that tells of all there are.
        /// - Parameter sampleRate: the same for all samples of a file.
        func append(_ data: Data, total: Int, sampleRate: Int) {
            self.sampleRate = sampleRate
            guard let encrypt else {
                write(data, at: WaveFile.headerLength + end)
                end += data.count
                let header = WaveFile.header(sampleRate: Int32(sampleRate), channels: 2, bytes: total)
                return write(Data(header), at: 0)
            }
            plain += data
            while plain.count >= EncryptedRecording.pieceLength {
                encryptPiece(EncryptedRecording.pieceLength, encrypt)
            }
        }

        private func encryptPiece(_ length: Int, _ encrypt: Encryption) {
            guard let piece = try? encrypt(Data(plain.prefix(length)), pieces, sampleRate) else {
                return plain.removeAll()
            }
            plain = Data(plain.dropFirst(length))
            write(piece, at: end)
            end += piece.count
            pieces += 1
        }

        private func write(_ data: Data, at offset: Int) {
            data.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return }
                var done = 0
                while done < bytes.count {
                    let count = pwrite(descriptor, start + done, bytes.count - done, off_t(offset + done))
                    guard count > 0 else { return }  // a full disk costs the recording, not the call
                    done += count
                }
            }
        }
        func finish() {
            if let encrypt, !plain.isEmpty { encryptPiece(plain.count, encrypt) }
            fdatasync(descriptor)
        }
    }

    /// - Parameter vault: encrypts it where it has a key.
    /// - Throws: when the file cannot be made.
    public init(path: String, vault: Vault = Vault()) throws {
        self.path = path
        let name = String(path.split(separator: "/").last ?? "")
        let encrypt: Encryption? =
            vault.encrypts
            ? { piece, number, sampleRate in
                try vault.encrypt(piece, row: EncryptedRecording.row(name, number, sampleRate: sampleRate))
            } : nil
        guard let file = File(path, encrypt: encrypt) else {
            throw StoreError(.unavailable, .cannotWrite, ["path": .text(path)])
        }
        self.file = file
        Self.files.async { file.append(Data(), total: 0, sampleRate: Self.narrowRate) }
    }

    /// A recording whose name is in the call's record as soon as the file is there. Without it the call goes on all the
    /// same.
    static func begin(in folder: String, named name: String, for journal: CallJournal) -> Recording? {
        do {
            let recording = try Recording(path: folder + "/" + name, vault: journal.vault)
            journal.recording()
            return recording
        } catch {
            journal.logger.error("no recording: \(error)")
            return nil
        }
    }

    // MARK: What is heard

    /// The caller's stream brings wide sound: the recording has 16 kHz, from its beginning on. One that is partly
    /// written keeps its rate.
    public func widen() {
        guard tracks == nil, base == 0 else { return }
        let narrow = samples
        samples = []
        sampleRate = Self.wideRate
        callerEnd = callerEnd * Self.wideRate / Self.narrowRate
        personEnd = personEnd * Self.wideRate / Self.narrowRate
        tracks = (
            RecordedTrack(sampleRate: Self.wideRate, gapMs: Self.realignMs),
            RecordedTrack(sampleRate: Self.wideRate, gapMs: Self.realignMs)
        )
        for side in 0...1 where !narrow.isEmpty { widen(narrow, side: side) }
    }

    /// - Parameter side: 0: caller, 1: AI.
    private func widen(_ narrow: [Int16], side: Int) {
        guard
            var resampler = try? Resampler(
                from: Int32(Self.narrowRate), to: Int32(Self.wideRate), keepsTime: true)
        else { return }
        let channel = stride(from: side, to: narrow.count, by: 2).map { narrow[$0] }
        var pieces: [AudioFrame] = []
        try? resampler.process(samples: channel[...], sampleRate: Int32(Self.narrowRate), into: &pieces)
        try? resampler.finish(into: &pieces)
        var place = 0
        for piece in pieces {
            piece.withSamples { write($0, at: place, side: side) }
            place += piece.count
        }
    }

    /// Samples of so many milliseconds.
    private func position(ofMs milliseconds: Int) -> Int { max(0, milliseconds) * sampleRate / 1_000 }

    private func reserve(_ end: Int) {
        let missing = end - base - samples.count / 2
        guard missing > 0, missing < sampleRate * 3_600 else { return }
        samples.append(contentsOf: repeatElement(0, count: 2 * missing))
    }

    /// A frame of the caller that ended at `now`, ms since the answer.
    public func caller(_ frame: EncodedFrame, wide: WideSound = WideSound(), now: Int) {
        if !wide.isEmpty, tracks == nil { widen() }
        let arrived = position(ofMs: now - EncodedFrame.milliseconds)
        if abs(arrived - callerEnd) > position(ofMs: Self.realignMs) { callerEnd = arrived }
        write(frame, wide, at: callerEnd, side: 0)
        callerEnd += position(ofMs: EncodedFrame.milliseconds)
    }

    /// A frame of the person who speaks in the AI's place, forwarded at `now`.
    public func person(_ frame: EncodedFrame, now: Int) {
        let passed = position(ofMs: now)
        if abs(passed - personEnd) > position(ofMs: Self.realignMs) { personEnd = passed }
        write(frame, WideSound(), at: personEnd, side: 1)
        personEnd += position(ofMs: EncodedFrame.milliseconds)
    }

    /// A frame of ours that was heard from `startMs` on.
    public func ai(_ frame: EncodedFrame, startMs: Int) {
        write(frame, WideSound(), at: position(ofMs: startMs), side: 1)
    }

    private func write(_ frame: EncodedFrame, _ wide: WideSound, at start: Int, side: Int) {
        guard let tracks else { return write(frame, at: start, side: side) }
        let track = side == 0 ? tracks.left : tracks.right
        track.add(frame, wide: wide, at: start) { samples, place in write(samples, at: place, side: side) }
    }

    private func write(_ frame: EncodedFrame, at start: Int, side: Int) {
        guard let first = place(start, EncodedFrame.byteCount, side) else { return }
        samples.withUnsafeMutableBufferPointer { samples in
            decode[Int(frame.law.rawValue)].withUnsafeBufferPointer { table in
                frame.withBytes { bytes in
                    for index in 0..<EncodedFrame.byteCount { samples[first + 2 * index] = table[Int(bytes[index])] }
                }
            }
        }
    }

    private func write(_ sound: UnsafeBufferPointer<Int16>, at start: Int, side: Int) {
        guard let first = place(start, sound.count, side) else { return }
        samples.withUnsafeMutableBufferPointer { samples in
            for index in sound.indices { samples[first + 2 * index] = sound[index] }
        }
    }

    /// Where in `samples` so many of one side begin; nil: they are written already, or cannot be.
    private func place(_ start: Int, _ count: Int, _ side: Int) -> Int? {
        guard start >= base, count > 0 else { return nil }
        reserve(start + count)
        let first = 2 * (start - base) + side
        return first + 2 * count - 1 <= samples.count ? first : nil
    }

    // MARK: The file

    /// Writes samples older than the window. To be called every `flushMs`.
    public func flush(now: Int) {
        flush(samples: min(samples.count / 2, position(ofMs: now - Self.windowMs) - base))
    }

    private func flush(samples count: Int) {
        guard count > 0, let file else { return }
        let data = samples.withUnsafeBytes { Data($0[..<(4 * count)]) }
        samples.removeFirst(2 * count)
        base += count
        let total = base * 4
        Self.files.async { [sampleRate] in file.append(data, total: total, sampleRate: sampleRate) }
    }

    /// Writes the rest up to `now` and closes the file; `completion` runs when it is on disk.
    public func finish(now: Int, completion: @escaping @Sendable () -> Void) {
        for (side, track) in [tracks?.left, tracks?.right].enumerated() {
            track?.finish { samples, place in write(samples, at: place, side: side) }
        }
        let end = position(ofMs: now)
        reserve(end)
        flush(samples: min(samples.count / 2, max(0, end - base)))
        guard let last = file else { return completion() }
        file = nil
        Self.files.async {
            last.finish()
            completion()
        }
    }
}
