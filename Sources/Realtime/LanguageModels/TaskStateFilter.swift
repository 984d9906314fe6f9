public import Pipeline

/// Takes `[TASK_STATE]{…}[/TASK_STATE]` out of a model's text, however the text is cut: what is in it goes to the
/// tracker and is never spoken or stored. For models without function calling.
public struct TaskStateFilter: Processor, Sendable {
    private static let opening = Array("[TASK_STATE]".utf8)
    private static let closing = Array("[/TASK_STATE]".utf8)
    /// Bytes of one block; a longer one is dropped.
    static let blockLimit = 16_384

    // Bytes, not characters: a combining mark after a tag would form one character with the last one of the tag, so
    // that the tag would not be recognised.
    private var pending: [UInt8] = []
    private var isInBlock = false

    public init() {}

    public mutating func process(_ input: String, into output: inout [LanguageModelEvent]) {
        pending += input.utf8
        while true {
            if isInBlock {
                guard let end = pending.firstRange(of: Self.closing) else {
                    // Of a block that is too long only the tail is kept, to recognise its end.
                    if pending.count > Self.blockLimit { pending.removeFirst(pending.count - Self.closing.count) }
                    return
                }
                let body = pending[..<end.lowerBound]
                if let open = body.firstIndex(of: UInt8(ascii: "{")), let close = body.lastIndex(of: UInt8(ascii: "}")),
                    open < close
                {
                    output.append(
                        .toolCall(
                            name: DialogueTool.reportTaskState,
                            arguments: String(decoding: body[open...close], as: UTF8.self)))
                }
                pending.removeFirst(end.upperBound)
                isInBlock = false
            } else if let start = pending.firstRange(of: Self.opening) {
                tell(pending[..<start.lowerBound], into: &output)
                pending.removeFirst(start.upperBound)
                isInBlock = true
            } else {
                // Text that may be the beginning of a block waits for the next piece.
                let held = Self.heldSuffix(of: pending)
                tell(pending.dropLast(held), into: &output)
                pending.removeFirst(pending.count - held)
                return
            }
        }
    }

    public mutating func flush() {
        pending = []
        isInBlock = false
    }

    public mutating func finish(into output: inout [LanguageModelEvent]) {
        // An incomplete block is dropped.
        if !isInBlock { tell(pending[...], into: &output) }
        flush()
    }

    /// The text before a tag ends with a whole character, as tags are ASCII.
    private func tell(_ text: ArraySlice<UInt8>, into output: inout [LanguageModelEvent]) {
        if !text.isEmpty { output.append(.text(String(decoding: text, as: UTF8.self))) }
    }

    /// Bytes at the text's end that the opening tag begins with.
    private static func heldSuffix(of text: [UInt8]) -> Int {
        for count in stride(from: min(opening.count - 1, text.count), to: 0, by: -1)
        where opening.starts(with: text.suffix(count)) { return count }
        return 0
    }
}
