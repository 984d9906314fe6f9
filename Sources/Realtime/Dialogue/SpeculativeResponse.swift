/// A response that was asked for before the caller's turn was over. Its events are kept back until the recogniser has
/// the whole turn: they are used if the words are the same, and dropped otherwise.
struct SpeculativeResponse: Sendable {
    /// Events that are kept; a response with more is given up.
    static let limit = 4_000

    /// The words of the caller that it answers.
    let text: String
    private(set) var events: [LanguageModelEvent] = []
    private(set) var isFinished = false

    init(to text: String) { self.text = text }

    /// - Returns: false if there is no room for it.
    mutating func keep(_ event: LanguageModelEvent) -> Bool {
        guard events.count < Self.limit else { return false }
        events.append(event)
        return true
    }

    mutating func finish() { isFinished = true }

    /// Whether these words are the ones that were answered: letter case, spaces and punctuation do not count.
    func answers(_ text: String) -> Bool { Self.plain(text) == Self.plain(self.text) }

    private static func plain(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }
}
