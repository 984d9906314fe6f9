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
public final class Recording {
    /// 8 kHz, 16 bit, two channels.
    public static let sampleRate = 8_000
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
    private var file: File?

    /// Only used on `files`, and closed there.
    ///
    /// `@unchecked Sendable`: what changes is touched on that serial queue alone.
    private final class File: @unchecked Sendable {
        private let descriptor: Int32
        /// nil: it is written as it is, with a header.
        private let encrypt: ((Data, Int) throws -> Data)?
        private var plain = Data()
        private var pieces = 0
        private var end = 0

        init?(_ path: String, encrypt: ((Data, Int) throws -> Data)?) {
            self.encrypt = encrypt
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
        }
        deinit { close(descriptor) }

        /// The next samples, and the header that tells of all there are.
        func append(_ data: Data, total: Int) {
            guard let encrypt else {
                write(data, at: WaveFile.headerLength + end)
                end += data.count
                return write(Recording.header(bytes: total), at: 0)
            }
            plain += data
            while plain.count >= EncryptedRecording.pieceLength {
                encryptPiece(EncryptedRecording.pieceLength, encrypt)
            }
        }

        private func encryptPiece(_ length: Int, _ encrypt: (Data, Int) throws -> Data) {
            guard let piece = try? encrypt(Data(plain.prefix(length)), pieces) else { return plain.removeAll() }
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
        let encrypt: ((Data, Int) throws -> Data)? =
            vault.encrypts ? { data, piece in try vault.encrypt(data, row: EncryptedRecording.row(name, piece)) } : nil
        guard let file = File(path, encrypt: encrypt) else {
            throw StoreError(.unavailable, .cannotWrite, ["path": .text(path)])
        }
        self.file = file
        Self.files.async { file.append(Data(), total: 0) }
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

    private func reserve(_ end: Int) {
        let missing = end - base - samples.count / 2
        guard missing > 0, missing < Self.sampleRate * 3_600 else { return }
        samples.append(contentsOf: repeatElement(0, count: 2 * missing))
    }

    /// A frame of the caller that ended at `now`, ms since the answer.
    public func caller(_ frame: EncodedFrame, now: Int) {
        let arrived = max(0, now - EncodedFrame.milliseconds) * Self.sampleRate / 1_000
        if abs(arrived - callerEnd) > Self.realignMs * Self.sampleRate / 1_000 { callerEnd = arrived }
        write(frame, at: callerEnd, toLeft: true)
        callerEnd += EncodedFrame.byteCount
    }

    /// A frame of the person who speaks in the AI's place, forwarded at `now`.
    public func person(_ frame: EncodedFrame, now: Int) {
        let passed = max(0, now) * Self.sampleRate / 1_000
        if abs(passed - personEnd) > Self.realignMs * Self.sampleRate / 1_000 { personEnd = passed }
        write(frame, at: personEnd, toLeft: false)
        personEnd += EncodedFrame.byteCount
    }

    /// A frame of ours that was heard from `startMs` on.
    public func ai(_ frame: EncodedFrame, startMs: Int) {
        write(frame, at: max(0, startMs) * Self.sampleRate / 1_000, toLeft: false)
    }

    private func write(_ frame: EncodedFrame, at start: Int, toLeft: Bool) {
        guard start >= base else { return }
        reserve(start + EncodedFrame.byteCount)
        let first = 2 * (start - base) + (toLeft ? 0 : 1)
        guard first + 2 * EncodedFrame.byteCount - 1 <= samples.count else { return }
        samples.withUnsafeMutableBufferPointer { samples in
            decode[Int(frame.law.rawValue)].withUnsafeBufferPointer { table in
                frame.withBytes { bytes in
                    for index in 0..<EncodedFrame.byteCount { samples[first + 2 * index] = table[Int(bytes[index])] }
                }
            }
        }
    }

    /// Writes samples older than the window. To be called every `flushMs`.
    public func flush(now: Int) {
        let safe = max(0, now - Self.windowMs) * Self.sampleRate / 1_000
        flush(samples: min(samples.count / 2, safe - base))
    }

    private func flush(samples count: Int) {
        guard count > 0, let file else { return }
        let data = samples.withUnsafeBytes { Data($0[..<(4 * count)]) }
        samples.removeFirst(2 * count)
        base += count
        let total = base * 4
        Self.files.async { file.append(data, total: total) }
    }

    /// Writes the rest up to `now` and closes the file; `completion` runs when it is on disk.
    public func finish(now: Int, completion: @escaping @Sendable () -> Void) {
        let end = now * Self.sampleRate / 1_000
        reserve(end)
        flush(samples: min(samples.count / 2, max(0, end - base)))
        guard let last = file else { return completion() }
        file = nil
        Self.files.async {
            last.finish()
            completion()
        }
    }

    private static func header(bytes: Int) -> Data {
        Data(WaveFile.header(sampleRate: Int32(sampleRate), channels: 2, bytes: bytes))
    }
}
