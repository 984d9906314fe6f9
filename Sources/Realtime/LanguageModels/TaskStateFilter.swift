internal import Foundation
public import Pipeline

/// Takes `[TASK_STATE]{…}[/TASK_STATE]` out of a model's text, however the text is cut: what is in it goes to the tracker and is never
/// spoken or stored. For models without function calling.
public struct TaskStateFilter: Processor, Sendable {
    static let opening = "[TASK_STATE]"
    static let closing = "[/TASK_STATE]"
    /// Characters of one block; a longer one is dropped.
    static let blockLimit = 16_384

    private var pending = ""
    private var isInBlock = false

    public init() {}

    public mutating func process(_ input: String, into output: inout [LanguageModelEvent]) {
        pending += input
        while true {
            if isInBlock {
                guard let end = pending.range(of: Self.closing) else {
                    // Of a block that never ends only the tail is kept, to know its end by.
                    if pending.count > Self.blockLimit { pending = String(pending.suffix(Self.closing.count)) }
                    return
                }
                let body = pending[..<end.lowerBound]
                if let open = body.firstIndex(of: "{"), let close = body.lastIndex(of: "}"), open < close {
                    output.append(.toolCall(name: DialogueTool.reportTaskState, arguments: String(body[open...close])))
                }
                pending = String(pending[end.upperBound...])
                isInBlock = false
            } else if let start = pending.range(of: Self.opening) {
                tell(String(pending[..<start.lowerBound]), into: &output)
                pending = String(pending[start.upperBound...])
                isInBlock = true
            } else {
                // What may be the begin of a block waits for more.
                let held = Self.heldSuffix(of: pending)
                tell(String(pending.dropLast(held)), into: &output)
                pending = String(pending.suffix(held))
                return
            }
        }
    }

    public mutating func flush() {
        pending = ""
        isInBlock = false
    }

    public mutating func finish(into output: inout [LanguageModelEvent]) {
        // A block that was cut off is no text.
        if !isInBlock { tell(pending, into: &output) }
        flush()
    }

    private func tell(_ text: String, into output: inout [LanguageModelEvent]) {
        if !text.isEmpty { output.append(.text(text)) }
    }

    /// Characters at the text's end that the opening tag begins with.
    private static func heldSuffix(of text: String) -> Int {
        for count in stride(from: min(opening.count - 1, text.count), to: 0, by: -1) where opening.hasPrefix(text.suffix(count)) { return count }
        return 0
    }
}
