public import JSON
public import Problems
internal import Realtime
public import Store

/// Reads an agent's document beside its description, and notes everything that is wrong.
public struct AgentChecker {
    public struct Finding: Sendable, Equatable {
        /// Names with dots between them, and places of items in brackets: `questions[0].choices`.
        public var field: String
        public var problem: Problem
    }

    /// Errors of one document that are told.
    static let errorLimit = 500
    /// The longest name of a field in an error, characters: it may be the sender's own.
    private static let fieldLimit = 100

    let environment: AgentEnvironment
    let company: CompanyID
    public internal(set) var errors: [Finding] = []
    public internal(set) var warnings: [Problem] = []
    /// Without null members, texts without space around them, numbers as they are written shortest: two documents that
    /// mean the same are the same.
    public private(set) var document: JSONValue = [:]
    /// Names that texts may ask for.
    var variables: Set<String> = []

    /// - Parameter slug: the path's; nil: the document's own.
    public init(_ given: JSONValue, slug: String? = nil, company: CompanyID, in environment: AgentEnvironment) {
        self.environment = environment
        self.company = company
        guard case .object(var members) = given else {
            fail("", .notObject)
            return
        }
        if let slug, members["slug"] == nil { members["slug"] = .string(slug) }
        let size = JSONValue.object(members).bytes.count
        if size > AgentForm.sizeLimit { fail("document", .tooLarge, ["limit": .number(AgentForm.sizeLimit)]) }
        variables = Self.declared(members["variables"])
        guard case .group(let branches) = AgentForm.tree else { return }
        document = .object(read(branches, members, under: ""))
        if let slug, let own = document["slug"]?.string, own != slug { fail("slug", .slugFixed) }
        checkTogether()
    }

    private static func declared(_ value: JSONValue?) -> Set<String> {
        Set((value?.items ?? []).compactMap { $0["name"]?.string }.filter(AgentName.isVariable))
    }

    mutating func fail(_ field: String, _ code: ProblemCode, _ params: [String: Problem.Value] = [:]) {
        guard errors.count < Self.errorLimit else { return }
        errors.append(Finding(field: String(field.prefix(Self.fieldLimit)), problem: Problem(code, params)))
    }

    // MARK: Reading

    private mutating func read(_ branches: [AgentTree.Branch], _ members: [String: JSONValue], under prefix: String)
        -> [String: JSONValue]
    {
        let known = Set(branches.map(\.name))
        for name in members.keys.sorted() where !known.contains(name) { fail(prefix + name, .unknownField) }
        var result: [String: JSONValue] = [:]
        for branch in branches {
            let field = prefix + branch.name
            let value = members[branch.name] ?? .null
            switch (branch.tree, value) {
            case (.leaf(let leaf), .null): if leaf.isRequired { fail(field, .required) }
            case (.leaf(let leaf), let value): result[branch.name] = read(value, leaf.kind, field)
            case (.group, .null): break
            case (.group(let inner), .object(let members)):
                let read = read(inner, members, under: field + ".")
                if !read.isEmpty { result[branch.name] = .object(read) }
            case (.group, _): fail(field, .notObject)
            }
        }
        return result
    }

    private mutating func read(_ value: JSONValue, _ kind: AgentLeaf.Kind, _ field: String) -> JSONValue? {
        switch (kind, value) {
        case (.later, _): fail(field, .notSupportedYet)
        case (.line(let limit), .string(let text)): return self.text(text, limit, .line, field)
        case (.text(let limit), .string(let text)): return self.text(text, limit, .paragraph, field)
        case (.template(let limit), .string(let text)): return template(text, limit, field)
        case (.choice(let names, let later), .string(let text)):
            if names.contains(text) { return value }
            if later.contains(text) {
                fail(field, .notSupportedYet)
            } else {
                fail(field, .notChoice, ["names": .words(names)])
            }
        case (.language, .string(let text)):
            if LanguageTag.isWellFormed(text) { return value }
            fail(field, .notLanguageTag)
        case (.slug, .string(let text)):
            if AgentName.isSlug(text) { return value }
            fail(field, .notSlug)
        case (.variable, .string(let text)):
            if AgentName.isVariable(text) { return value }
            fail(field, .notVariableName)
        case (.provider(let provider), .string(let text)): return self.provider(text, provider, field)
        case (.known(let catalogue), .string(let text)):
            if environment.names(catalogue, company).contains(text) { return value }
            fail(field, catalogue.unknown)
        case (.whole(let range), .number(let number)): return whole(number, range, field)
        case (.decimal(let range), .number(let number)): return decimal(number, range, field)
        case (.flag, .bool): return value
        case (.scalar(let limit), .string(let text)): return self.text(text, limit, .paragraph, field)
        case (.scalar, .bool): return value
        case (.scalar, .number(let number)):
            if let exact = number.exact { return .number(exact) }
            fail(field, .tooExact)
        case (.list(let kind, let range), .array(let items)): return list(items, kind, range, field)
        case (.object(let leaves), .object(let members)): return object(members, leaves, field)
        case (.textOrObject(_, let leaves), .object(let members)): return object(members, leaves, field)
        case (.textOrObject(let kind, _), .string): return read(value, kind, field)
        case (.flags(let limit), .object(let members)): return flags(members, limit, field)
        default: fail(field, kind.mismatch)
        }
        return nil
    }

    private mutating func object(_ members: [String: JSONValue], _ leaves: [AgentLeaf], _ field: String) -> JSONValue? {
        guard case .group(let branches) = AgentTree(leaves) else { return nil }
        return .object(read(branches, members, under: field + "."))
    }

    private mutating func list(_ items: [JSONValue], _ kind: AgentLeaf.Kind, _ range: ClosedRange<Int>, _ field: String)
        -> JSONValue?
    {
        if items.count > range.upperBound {
            fail(field, .tooManyItems, ["limit": .number(range.upperBound)])
        } else if items.count < range.lowerBound {
            fail(
                field, .countNotInRange,
                ["least": .number(range.lowerBound), "most": .number(range.upperBound), "count": .number(items.count)])
        }
        // Of a list that is far too long the first items say enough.
        var read: [JSONValue] = []
        for (index, item) in items.prefix(range.upperBound).enumerated() {
            if let value = self.read(item, kind, "\(field)[\(index)]") { read.append(value) }
        }
        return .array(read)
    }

    private mutating func flags(_ members: [String: JSONValue], _ limit: Int, _ field: String) -> JSONValue? {
        if members.count > limit { fail(field, .tooManyItems, ["limit": .number(limit)]) }
        var read: [String: JSONValue] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }).prefix(limit) {
            if !AgentName.isVariable(name) { fail(field + "." + name, .notVariableName) }
            if case .bool = value { read[name] = value } else { fail(field + "." + name, .notBoolean) }
        }
        return .object(read)
    }

    private mutating func text(_ text: String, _ limit: Int, _ rule: TextRule, _ field: String) -> JSONValue? {
        let trimmed = text.trimmed
        if trimmed.isEmpty {
            fail(field, .blank)
        } else if trimmed.count > limit {
            fail(field, .tooLong, ["limit": .number(limit)])
        } else if let problem = rule.problem(with: text) {
            fail(field, problem)
        } else if text.contains("{{") {
            fail(field, .noPlaceHere)
        } else {
            return .string(trimmed)
        }
        return nil
    }

    private mutating func whole(_ number: JSONNumber, _ range: ClosedRange<Int>, _ field: String) -> JSONValue? {
        guard let integer = number.integer else {
            fail(field, .notWhole)
            return nil
        }
        guard range.contains(integer) else {
            fail(
                field, .notInRange,
                ["least": .number(range.lowerBound), "most": .number(range.upperBound), "given": .number(integer)])
            return nil
        }
        return .whole(integer)
    }

    private mutating func decimal(_ number: JSONNumber, _ range: ClosedRange<Double>, _ field: String) -> JSONValue? {
        guard let exact = number.exact else {
            fail(field, .tooExact)
            return nil
        }
        guard range.contains(exact) else {
            fail(
                field, .notDecimalInRange,
                ["least": .text(JSONNumber(range.lowerBound).text), "most": .text(JSONNumber(range.upperBound).text)])
            return nil
        }
        return .number(exact)
    }

    private mutating func provider(_ name: String, _ provider: AgentProvider, _ field: String) -> JSONValue? {
        guard provider.names.contains(name) else {
            fail(field, .notChoice, ["names": .words(provider.names)])
            return nil
        }
        if let setting = environment.missing(provider, name) {
            fail(field, .providerNotSetUp, ["provider": .text(name), "setting": .text(setting)])
        }
        return .string(name)
    }
}

extension AgentCatalogue {
    fileprivate var unknown: ProblemCode {
        switch self {
        case .tools: .unknownTool
        case .servers: .unknownServer
        case .knowledge: .unknownKnowledge
        }
    }
}

extension AgentProvider {
    /// Every provider that there is.
    public var names: [String] {
        switch self {
        case .speechToText: SpeechSettings.speechToTextNames
        case .languageModel: SpeechSettings.languageModelNames
        case .textToSpeech: SpeechSettings.textToSpeechNames
        case .speechModel: RealtimeSettings.modelNames
        }
    }
}

extension AgentLeaf.Kind {
    /// The kind of value that is wanted.
    fileprivate var mismatch: ProblemCode {
        switch self {
        case .line, .text, .template, .choice, .language, .slug, .variable, .provider, .known: .notText
        case .whole, .decimal: .notNumber
        case .flag: .notBoolean
        case .list: .notArray
        case .object, .flags: .notObject
        case .textOrObject: .notTextOrObject
        case .scalar: .notScalar
        case .later: .notSupportedYet
        }
    }
}

extension String {
    /// Without space at either end.
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
