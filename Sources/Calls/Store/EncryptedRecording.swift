internal import Foundation
public import Net
internal import Pipeline
internal import Problems
public import Store

/// An encrypted recording: pieces of PCM, each encrypted for its place in its file and for the rate of its samples. The
/// WAV header is made when the recording is read.
///
///     │ piece 0, 8 192 bytes and what encrypting adds │ piece 1 │ … │ the last one, shorter │
public struct EncryptedRecording: ByteSource {
    /// What its file name ends with.
    public static let suffix = ".sealed"
    /// Bytes of PCM: a quarter of a second at 8 kHz.
    static let pieceLength = 8_192
    private static let encryptedLength = pieceLength + Vault.overhead

    private let file: FileSource
    private let name: String
    private let vault: Vault
    private let pcmLength: Int
    /// Hertz.
    private let sampleRate: Int

    /// nil: there is no such file.
    public init?(folder: String, name: String, vault: Vault) {
        guard let file = FileSource(path: folder + "/" + name) else { return nil }
        self.file = file
        self.name = name
        self.vault = vault
        let rest = file.count % Self.encryptedLength
        // What a crash left of a last piece cannot be opened.
        pcmLength = file.count / Self.encryptedLength * Self.pieceLength + max(0, rest - Vault.overhead) / 4 * 4
        sampleRate = Self.isWide(file, name, vault) ? Recording.wideRate : Recording.narrowRate
    }

    /// The rate stands in no header that could be changed: only with its own rate can a piece be opened.
    private static func isWide(_ file: FileSource, _ name: String, _ vault: Vault) -> Bool {
        guard let first = try? file.read(0..<min(encryptedLength, file.count)), Vault.isEncrypted(first) else {
            return false
        }
        return (try? vault.bytes(Data(first), row: row(name, 0, sampleRate: Recording.wideRate))) != nil
    }

    /// What a piece is encrypted for.
    static func row(_ name: String, _ piece: Int, sampleRate: Int) -> String {
        sampleRate == Recording.narrowRate
            ? "recordings/\(name)/\(piece)" : "recordings/\(name)/\(sampleRate)/\(piece)"
    }

    public var count: Int { WaveFile.headerLength + pcmLength }

    public func read(_ range: Range<Int>) throws -> [UInt8] {
        let range = range.clamped(to: 0..<count)
        let header = WaveFile.header(sampleRate: Int32(sampleRate), channels: 2, bytes: pcmLength)
        var bytes = Array(header[range.clamped(to: 0..<header.count)])
        let pcm = max(0, range.lowerBound - header.count)..<max(0, range.upperBound - header.count)
        guard !pcm.isEmpty else { return bytes }
        for piece in pcm.lowerBound / Self.pieceLength...(pcm.upperBound - 1) / Self.pieceLength {
            let start = piece * Self.encryptedLength
            let encrypted = try file.read(start..<min(start + Self.encryptedLength, file.count))
            guard Vault.isEncrypted(encrypted) else {
                throw StoreError(.unavailable, .encryptedRecordingDamaged)
            }
            let open = try vault.bytes(Data(encrypted), row: Self.row(name, piece, sampleRate: sampleRate))
            let wanted = (pcm.lowerBound - piece * Self.pieceLength..<pcm.upperBound - piece * Self.pieceLength)
                .clamped(to: 0..<open.count)
            bytes += open[open.startIndex + wanted.lowerBound..<open.startIndex + wanted.upperBound]
        }
        return bytes
    }

    /// The pieces of a whole recording.
    static func encrypt(_ pcm: Data, sampleRate: Int, name: String, vault: Vault) throws -> Data {
        var encrypted = Data()
        for (piece, start) in stride(from: 0, to: pcm.count, by: pieceLength).enumerated() {
            encrypted += try vault.encrypt(
                Data(pcm.dropFirst(start).prefix(pieceLength)), row: row(name, piece, sampleRate: sampleRate))
        }
        return encrypted
    }
}

extension CallStore {
    /// The source of a recording's bytes; nil if the recording does not exist.
    func recording(_ name: String, in folder: String) -> (any ByteSource)? {
        name.hasSuffix(EncryptedRecording.suffix)
            ? EncryptedRecording(folder: folder, name: name, vault: vault) : FileSource(path: folder + "/" + name)
    }

    /// Encrypts recordings with today's key. A call in progress keeps the one it is writing.
    func reencryptRecordings(in folder: String) async throws(StoreError) -> (encrypted: Int, failed: Int) {
        var count = (encrypted: 0, failed: 0)
        let live = Set(try await calls(in: CallState.allCases.filter { !$0.isTerminal }).compactMap(\.recording))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
        where !live.contains(name) {
            let path = folder + "/" + name
            if name.hasSuffix(PrivateFiles.partialSuffix) { try? FileManager.default.removeItem(atPath: path) }
            let isEncrypted = name.hasSuffix(EncryptedRecording.suffix)
            guard isEncrypted || name.hasSuffix(".wav"), let id = Self.callID(of: name),
                let source = recording(name, in: folder)
            else { continue }
            if isEncrypted, let head = try? FileSource(path: path)?.read(0..<5), !vault.isOutdated(Data(head)) {
                continue
            }
            let newName = isEncrypted ? name : name + EncryptedRecording.suffix
            do {
                let pcm = Data(try source.read(WaveFile.headerLength..<max(WaveFile.headerLength, source.count)))
                let header = try source.read(0..<WaveFile.headerLength)
                let isWide = WaveFile.sampleRate(inHeader: header) == Recording.wideRate
                let encrypted = try EncryptedRecording.encrypt(
                    pcm, sampleRate: isWide ? Recording.wideRate : Recording.narrowRate, name: newName, vault: vault)
                try PrivateFiles.write(encrypted, to: folder + "/" + newName)
            } catch {
                count.failed += 1
                continue
            }
            if newName != name {
                do throws(StoreError) {
                    try await update(id) { call in
                        if call.recording == name { call.recording = newName }
                        return []
                    }
                } catch {
                    // A recording that no call knows any more keeps no other from being encrypted.
                    guard error.code == .notFound else { throw error }
                }
                try? FileManager.default.removeItem(atPath: path)
            }
            count.encrypted += 1
        }
        return count
    }

    /// `ob-12345678-1.wav` → `ob-12345678`.
    private static func callID(of name: String) -> String? {
        let id = String(name.prefix(11))
        return CallDirection(id: id) == nil ? nil : id
    }
}
