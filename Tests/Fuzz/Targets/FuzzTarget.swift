internal import Foundation

/// A parser under test: what it is fed, and what must hold of what it gives back.
struct FuzzTarget: Sendable {
    /// Also the name of its folder in `corpus/`.
    let name: String
    /// Bytes of one input. Bounds of the parsers that lie above it have unit tests.
    let maximumLength: Int
    let run: @Sendable (FuzzInput) -> Void

    init(_ name: String, maximumLength: Int = 4_096, _ run: @escaping @Sendable (FuzzInput) -> Void) {
        self.name = name
        self.maximumLength = maximumLength
        self.run = run
    }
}

/// The target that this process runs; set once, before the first input.
// safe: written by `initialize` alone, before the first input, on libFuzzer's one thread
nonisolated(unsafe) var current: FuzzTarget?

/// The bytes of one input, as a whole and as numbers that decide something.
struct FuzzInput: Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Messages of a conversation: one a line.
    var lines: [ArraySlice<UInt8>] { bytes.split(separator: 0x0A, maxSplits: 63) }

    /// A number below `limit` that depends on all the bytes: where to cut, what to choose. The input itself stays as a
    /// person would write it.
    func choice(_ limit: Int, salt: UInt64 = 0) -> Int {
        guard limit > 0 else { return 0 }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ salt
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int((hash ^ hash >> 29) % UInt64(limit))
    }

    /// The bytes in pieces, cut at places that depend on them.
    var pieces: [ArraySlice<UInt8>] {
        guard bytes.count > 1 else { return [bytes[...]] }
        let places = (0..<(1 + choice(4))).map { choice(bytes.count, salt: UInt64($0) &* 7_919 &+ 1) }.sorted()
        var start = 0
        var result: [ArraySlice<UInt8>] = []
        for place in places + [bytes.count] {
            result.append(bytes[start..<place])
            start = place
        }
        return result
    }
}

/// Takes numbers off an input's front: for targets that are fed steps, not texts.
struct Steps {
    private var rest: ArraySlice<UInt8>
    init(_ input: FuzzInput) { rest = input.bytes[...] }
    var isEmpty: Bool { rest.isEmpty }
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }
    mutating func half() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }
    mutating func word() -> UInt32 { UInt32(half()) << 16 | UInt32(half()) }
    mutating func bytes(_ count: Int) -> [UInt8] {
        let taken = Array(rest.prefix(count))
        rest = rest.dropFirst(taken.count)
        return taken
    }
}

/// A property. What does not hold ends the process: libFuzzer writes the input down.
func expect(_ condition: Bool, _ property: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line)
{
    guard !condition else { return }
    FileHandle.standardError.write(
        Data("PROPERTY BROKEN (\(current?.name ?? "?"), \(file):\(line)): \(property())\n".utf8))
    abort()
}

/// Two texts byte for byte: Swift's own comparison takes canonically equal ones for the same.
func isSame(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

/// Lends bytes to a parser that borrows them.
func withBuffer<Result>(_ bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    Array(bytes).withUnsafeBufferPointer(body)
}
