public import JSON
internal import Realtime

/// What the model is told of a result: JSON text of at most `ToolResult.limit` characters.
public enum ToolOutput {
    static let cut = "…[cut]"

    /// The value as JSON. What is longer becomes a text, whose end says that it was cut.
    public static func text(_ value: JSONValue) -> String {
        let whole = value.text
        guard whole.utf8.count > ToolResult.limit, whole.count > ToolResult.limit else { return whole }
        var plain = whole
        if case .string(let text) = value { plain = text }
        plain = String(plain.prefix(ToolResult.limit))
        // Quoting makes it longer: as many characters as fit are sought by halves.
        var fits = 0, tooMany = ToolResult.limit
        while tooMany - fits > 1 {
            let middle = (fits + tooMany) / 2
            if quoted(plain, middle).count <= ToolResult.limit { fits = middle } else { tooMany = middle }
        }
        return quoted(plain, fits)
    }

    private static func quoted(_ text: String, _ count: Int) -> String {
        JSONValue.string(text.prefix(count) + cut).text
    }
}
