internal import Foundation
internal import Logging
public import Pipeline

/// A call's stereo recording, caller left and AI right, on the transcript's clock: sample 0 is the answer.
///
/// The last two seconds stay in memory, for what is known late: when our speech was heard. What is older is written
/// every second, header included, so that a killed server leaves a playable file. Confined to the call's loop;
/// the file is written on a queue of its own.
public final class Recording {
    /// 8 kHz, 16 bit, two channels.
    public static let sampleRate = 8_000
    /// Milliseconds kept back.
    static let windowMs = 2_000
    /// A caller's frames are laid end to end unless they are off by more than this, ms.
    static let realignMs = 60
    static let headerLength = 44

    private static let files = DispatchQueue(label: "recordings")

    public let path: String
    private let decode: [[Int16]] = [MuLaw.decodeTable, ALaw.decodeTable]
    private var left: [Int16] = []
    private var right: [Int16] = []
    /// The sample that `left[0]` is.
    private var base = 0
    private var callerEnd = 0
    private var handle: FileHandle?

    /// - Throws: when the file cannot be made.
    public init(path: String) throws {
        self.path = path
        guard FileManager.default.createFile(atPath: path, contents: Self.header(bytes: 0), attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw StoreError(.unavailable, "cannot write the recording \(path)") }
        self.handle = handle
        _ = try handle.seekToEnd()
    }

    /// A recording whose name is in the call's record as soon as the file is there. Without it the call goes on all the same.
    static func begin(in folder: String, named name: String, for journal: CallJournal) -> Recording? {
        do {
            let recording = try Recording(path: folder + "/" + name)
            journal.recording()
            return recording
        } catch {
            journal.logger.error("no recording: \(error)")
            return nil
        }
    }

    private func reserve(_ end: Int) {
        let missing = end - base - left.count
        guard missing > 0, missing < Self.sampleRate * 3_600 else { return }
        left.append(contentsOf: repeatElement(0, count: missing))
        right.append(contentsOf: repeatElement(0, count: missing))
    }

    /// A frame of the caller that ended at `now`, ms since the answer.
    public func caller(_ frame: EncodedFrame, now: Int) {
        let arrived = max(0, now - EncodedFrame.milliseconds) * Self.sampleRate / 1_000
        if abs(arrived - callerEnd) > Self.realignMs * Self.sampleRate / 1_000 { callerEnd = arrived }
        write(frame, at: callerEnd, toLeft: true)
        callerEnd += EncodedFrame.byteCount
    }

    /// A frame of ours that was heard from `startMs` on.
    public func ai(_ frame: EncodedFrame, startMs: Int) {
        write(frame, at: max(0, startMs) * Self.sampleRate / 1_000, toLeft: false)
    }

    private func write(_ frame: EncodedFrame, at start: Int, toLeft: Bool) {
        guard start >= base else { return }
        reserve(start + EncodedFrame.byteCount)
        guard start + EncodedFrame.byteCount - base <= left.count else { return }
        let table = decode[Int(frame.law.rawValue)]
        for index in 0..<EncodedFrame.byteCount {
            let sample = table[Int(frame.bytes[index])]
            if toLeft { left[start - base + index] = sample } else { right[start - base + index] = sample }
        }
    }

    /// Writes what is older than the window; call it about once a second.
    public func flush(now: Int) {
        let safe = max(0, now - Self.windowMs) * Self.sampleRate / 1_000
        flush(samples: min(left.count, safe - base))
    }

    private func flush(samples count: Int) {
        guard count > 0, let handle else { return }
        var bytes = [UInt8]()
        bytes.reserveCapacity(count * 4)
        for index in 0..<count {
            for sample in [left[index], right[index]] {
                let bits = UInt16(bitPattern: sample)
                bytes.append(UInt8(truncatingIfNeeded: bits))
                bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
            }
        }
        left.removeFirst(count)
        right.removeFirst(count)
        base += count
        let header = Self.header(bytes: base * 4)
        let data = Data(bytes)
        let file = handle  // only ever used on `files` after init, and closed there
        Self.files.async {
            try? file.write(contentsOf: data)
            try? file.seek(toOffset: 0)
            try? file.write(contentsOf: header)
            _ = try? file.seekToEnd()
        }
    }

    /// Writes the rest up to `now` and closes the file; `completion` runs when it is on disk.
    public func finish(now: Int, completion: @escaping @Sendable () -> Void) {
        let end = now * Self.sampleRate / 1_000
        reserve(end)
        flush(samples: min(left.count, max(0, end - base)))
        guard let file = handle else { return completion() }
        handle = nil
        Self.files.async {
            try? file.synchronize()
            try? file.close()
            completion()
        }
    }

    /// RIFF header for so many bytes of samples.
    static func header(bytes: Int) -> Data {
        var data = Data()
        func word(_ value: Int) { withUnsafeBytes(of: UInt32(clamping: value).littleEndian) { data.append(contentsOf: $0) } }
        func half(_ value: UInt16) { withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) } }
        data.append(contentsOf: "RIFF".utf8)
        word(bytes + 36)
        data.append(contentsOf: "WAVEfmt ".utf8)
        word(16)
        half(1)
        half(2)
        word(sampleRate)
        word(sampleRate * 4)
        half(4)
        half(16)
        data.append(contentsOf: "data".utf8)
        word(bytes)
        return data
    }
}
