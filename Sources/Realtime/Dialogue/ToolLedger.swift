/// The agent's tools in one call, and every call of them: what runs, what waits for the other party's consent, what is
/// said meanwhile, and which results the model has not been told yet. A value: it reads no clock; times are
/// milliseconds since the answer. It goes from one session of the conversation to the next.
///
///     awaitingConsent ─▶ running ─▶ finished ─▶ told
///             └───────── refused ──────▲
public struct ToolLedger: Sendable, Equatable {
    /// Tool calls in one call.
    public static let callLimit = 50
    /// Tool calls that run, or wait for consent, at once.
    public static let runningLimit = 4
    /// Bytes of a tool call's arguments.
    public static let argumentsLimit = 16_384
    /// Tool calls of one response.
    public static let requestLimit = 16
    /// Responses in a row that call tools, without a word of the other party's between them.
    public static let roundLimit = 5
    /// A tool comes back within its own time, 30 s at most; after this time it is given up, ms.
    public static let timeLimitMs = 35_000
    /// From a tool's call to the words that stand for a tool without words of its own, ms, where nothing else is set.
    static let everyMs = 6_000

    /// What a model asks for.
    struct Request: Sendable, Equatable {
        var name: String
        var arguments: String
        /// The vendor's name of the call; nil: it has none.
        var id: String?
    }

    /// What becomes of a request.
    enum Verdict: Sendable, Equatable {
        case run(ToolCall)
        /// The other party is asked first.
        case ask(ToolCall)
        /// It is not carried out; the model is told.
        case refuse(ToolCall, ToolResult)
        /// The same: and the model is not asked again because of it.
        case drop(ToolCall, ToolResult, id: String?)
        /// The same call is running already.
        case again(id: String?)
    }

    enum State: Sendable, Equatable {
        case awaitingConsent
        case running(since: Int)
        case finished(ToolResult)
        case told(ToolResult)
    }

    struct Entry: Sendable, Equatable {
        let call: ToolCall
        let tool: CallTool
        /// Calls of one response are told together.
        let round: Int
        let id: String?
        /// The session with a speech model in which it was called.
        let session: Int
        /// Its response has words of its own.
        let hasSpoken: Bool
        var state: State
        var owesFirstWords = false
        var textsSaid = 0
        var nextTextAt = 0

        var isUnsettled: Bool {
            switch state {
            case .awaitingConsent, .running: true
            case .finished, .told: false
            }
        }
        var result: ToolResult? { if case .finished(let result) = state { result } else { nil } }
        var isRunning: Bool { if case .running = state { true } else { false } }
    }

    /// What the model may call.
    public let tools: [CallTool]
    var entries: [Entry] = []
    var consents: [ToolConsent] = []
    /// Turns of ours that do not count against `max_turns`: they go on with a turn that has been counted.
    var freeTurns = 0
    /// Said while a tool without words of its own works; nil: nothing.
    var filler: (text: String, afterMs: Int)? {
        get { fillerText.map { ($0, fillerMs) } }
        set { (fillerText, fillerMs) = (newValue?.text, newValue?.afterMs ?? 0) }
    }
    private var fillerText: String?
    private var fillerMs = 0
    private var rounds = 0
    /// Entries that the model has not been told of.
    private(set) var open = 0

    public init(_ tools: [CallTool] = []) { self.tools = tools }

    // MARK: How it stands

    func has(_ name: String) -> Bool { tools.contains { $0.name == name } }
    /// Whether the model may call any now.
    var isOffering: Bool { rounds < Self.roundLimit && entries.count < Self.callLimit }
    /// A tool runs, or waits for consent.
    var isBusy: Bool { open > 0 && entries.contains(where: \.isUnsettled) }
    public var isWorking: Bool { open > 0 && entries.contains(where: \.isRunning) }
    /// There are results that the model has not been told.
    var hasResults: Bool { open > 0 && entries.contains { $0.result != nil } }
    /// All calls of some response have results, and the model has not been told.
    var isDue: Bool {
        open > 0 && entries.contains { entry in entry.result != nil && !isUnsettled(round: entry.round) }
    }
    private func isUnsettled(round: Int) -> Bool { entries.contains { $0.round == round && $0.isUnsettled } }
    /// The calls that run.
    var running: [ToolCall] { entries.filter(\.isRunning).map(\.call) }

    /// For a conversation that goes on in another session: what was called, and what came of it.
    var items: [ConversationItem] {
        entries.compactMap { entry in
            switch entry.state {
            case .told(let result): .toolResult(entry.call, result)
            case .awaitingConsent, .running: .toolCalled(entry.call)
            case .finished: nil
            }
        }
    }
    /// What the model has been told.
    public var told: [ConversationItem] { items.filter { if case .toolResult = $0 { true } else { false } } }

    // MARK: Calls

    /// The other party has spoken.
    mutating func callerSpoke() { rounds = 0 }

    /// Settles all tool calls of one response.
    /// - Parameters:
    ///   - hasSpoken: the response has words of its own, so the first words of the tool are not said.
    mutating func settle(_ requests: [Request], hasSpoken: Bool, session: Int = 0, at now: Int) -> [Verdict] {
        guard !requests.isEmpty else { return [] }
        rounds += 1
        let round = (entries.last?.round ?? 0) + 1
        return requests.prefix(Self.requestLimit).map {
            settle($0, round, hasSpoken: hasSpoken, session: session, at: now)
        }
    }

    private mutating func settle(
        _ request: Request, _ round: Int, hasSpoken: Bool, session: Int, at now: Int
    ) -> Verdict {
        let isTooBig = request.arguments.utf8.count > Self.argumentsLimit
        let tool = tools.first { $0.name == request.name }
        let call = ToolCall(
            number: entries.count + 1, name: request.name, arguments: isTooBig ? "{}" : request.arguments,
            revision: tool?.revision ?? 0)
        guard let tool, entries.count < Self.callLimit else {
            return .drop(call, .refused("no more tools can be called in this call"), id: request.id)
        }
        if entries.contains(where: {
            $0.isUnsettled && $0.call.name == call.name && $0.call.arguments == call.arguments
        }) {
            return .again(id: request.id)
        }
        var entry = Entry(
            call: call, tool: tool, round: round, id: request.id, session: session, hasSpoken: hasSpoken,
            state: .awaitingConsent)
        open += 1
        defer { entries.append(entry) }
        if let refusal = refusal(of: tool, isTooBig: isTooBig) {
            // So that a model that insists does not go on for ever.
            guard rounds <= Self.roundLimit else {
                entry.state = .told(refusal)
                open -= 1
                return .drop(call, refusal, id: request.id)
            }
            entry.state = .finished(refusal)
            return .refuse(call, refusal)
        }
        entry.owesFirstWords = (!hasSpoken || tool.needsConsent) && tool.speech?.before?.isEmpty == false
        guard tool.needsConsent else {
            start(&entry, at: now)
            return .run(call)
        }
        consents.append(ToolConsent(number: call.number))
        return .ask(call)
    }

    private func refusal(of tool: CallTool, isTooBig: Bool) -> ToolResult? {
        if isTooBig { return .refused("the arguments are too long", status: "invalid_arguments") }
        if rounds > Self.roundLimit { return .refused("too many tools in a row: speak with the other party first") }
        if entries.count(where: \.isUnsettled) >= Self.runningLimit {
            return .refused("too many tools work at once: wait for their results")
        }
        let count = entries.count { entry in
            guard entry.call.name == tool.name else { return false }
            switch entry.state {
            case .finished(let result), .told(let result): return result.status != "refused"
            case .awaitingConsent, .running: return true
            }
        }
        return count >= tool.limit ? .refused("this tool cannot be called again in this call") : nil
    }

    private func start(_ entry: inout Entry, at now: Int) {
        entry.state = .running(since: now)
        entry.nextTextAt = now + (entry.tool.speech?.afterMs ?? fillerMs)
    }

    /// The other party has agreed.
    mutating func start(_ number: Int, at now: Int) -> ToolCall? {
        guard let index = entries.firstIndex(where: { $0.call.number == number && $0.state == .awaitingConsent })
        else { return nil }
        start(&entries[index], at: now)
        return entries[index].call
    }

    /// The result of a call.
    /// - Returns: nil: it is not awaited any more.
    @discardableResult
    mutating func finish(_ number: Int, _ result: ToolResult) -> ToolCall? {
        guard let index = entries.firstIndex(where: { $0.call.number == number && $0.isUnsettled }) else { return nil }
        entries[index].state = .finished(result.bounded)
        return entries[index].call
    }

    /// Gives up calls whose time is over.
    mutating func giveUp(at now: Int) -> [ToolCall] {
        guard open > 0 else { return [] }
        return entries.filter { entry in
            if case .running(let since) = entry.state { now >= since + Self.timeLimitMs } else { false }
        }.compactMap { finish($0.call.number, .refused("it took too long", status: "timeout")) }
    }

    /// The results that the model is told now.
    /// - Parameter isAll: also of responses whose other tools still work.
    mutating func take(isAll: Bool) -> [(entry: Entry, result: ToolResult)] {
        guard open > 0 else { return [] }
        var taken: [(entry: Entry, result: ToolResult)] = []
        let unsettled = Set(entries.filter(\.isUnsettled).map(\.round))
        for index in entries.indices {
            guard let result = entries[index].result, isAll || !unsettled.contains(entries[index].round) else {
                continue
            }
            entries[index].state = .told(result)
            open -= 1
            taken.append((entries[index], result))
        }
        return taken
    }

    // MARK: Words meanwhile

    /// The words with which a tool begins, once.
    mutating func firstWords() -> String? {
        guard open > 0, let index = entries.firstIndex(where: { $0.owesFirstWords && $0.isRunning }) else { return nil }
        entries[index].owesFirstWords = false
        return entries[index].tool.speech?.before
    }

    /// Somebody speaks: the next words have time.
    mutating func postpone(at now: Int) {
        guard open > 0 else { return }
        for index in entries.indices where entries[index].isRunning {
            let afterMs = entries[index].tool.speech?.afterMs ?? fillerMs
            entries[index].nextTextAt = max(entries[index].nextTextAt, now + afterMs)
        }
    }

    /// It is time for the next words.
    mutating func hurry(at now: Int) {
        for index in entries.indices where entries[index].isRunning { entries[index].nextTextAt = now }
    }

    /// The words for a caller who waits, if it is time.
    mutating func waitingWords(at now: Int) -> String? {
        guard open > 0 else { return nil }
        for index in entries.indices where entries[index].isRunning && now >= entries[index].nextTextAt {
            let speech = entries[index].tool.speech
            let texts = speech?.texts ?? (fillerText.map { [$0] } ?? [])
            guard !texts.isEmpty else { continue }
            defer {
                entries[index].textsSaid += 1
                entries[index].nextTextAt = now + max(1, speech?.everyMs ?? Self.everyMs)
            }
            return texts[entries[index].textsSaid % texts.count]
        }
        return nil
    }
}
