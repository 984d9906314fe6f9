internal import DequeModule
internal import Synchronization

/// The trees of phrases by what is asked, built once each. Those for choices are free text, so that there may be any
/// number of them: the oldest leave.
final class PhraseTrees: Sendable {
    private struct State {
        var trees: [AnswerHints: PhraseTree] = [:]
        var order: Deque<AnswerHints> = []
    }

    private let state = Mutex(State())
    private let tokenizer: MoonshineTokenizer
    private let limit: Int

    init(tokenizer: MoonshineTokenizer, limit: Int) {
        self.tokenizer = tokenizer
        self.limit = max(1, limit)
    }

    func tree(for hints: AnswerHints) -> PhraseTree {
        if let known = state.withLock({ $0.trees[hints] }) { return known }
        let made = PhraseTree(AnswerPhrase.expected(hints), tokenizer)
        state.withLock { state in
            guard state.trees.updateValue(made, forKey: hints) == nil else { return }
            state.order.append(hints)
            if state.order.count > limit { state.trees[state.order.removeFirst()] = nil }
        }
        return made
    }
}
