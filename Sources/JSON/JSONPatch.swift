/// A JSON patch (RFC 6902): what makes one document of another. Written with `add`, `remove` and `replace`; read with
/// these.
public struct JSONPatch: Sendable, Equatable {
    public enum Operation: Sendable, Equatable {
        case add(JSONPointer, JSONValue)
        case remove(JSONPointer)
        case replace(JSONPointer, JSONValue)
    }

    /// An operation names a place that is not there.
    public struct Failure: Error, Sendable, Equatable {
        public var place: JSONPointer
    }

    public var operations: [Operation]

    public init(_ operations: [Operation]) { self.operations = operations }

    /// What makes `new` of `old`, in an order in which it can be applied.
    public init(from old: JSONValue, to new: JSONValue) {
        operations = []
        compare(old, new, at: JSONPointer())
    }

    private mutating func compare(_ old: JSONValue, _ new: JSONValue, at place: JSONPointer) {
        guard old != new else { return }
        switch (old, new) {
        case (.object(let before), .object(let after)):
            for name in before.keys.sorted() where after[name] == nil { operations.append(.remove(place / name)) }
            for (name, value) in after.sorted(by: { $0.key < $1.key }) {
                if let known = before[name] {
                    compare(known, value, at: place / name)
                } else {
                    operations.append(.add(place / name, value))
                }
            }
        case (.array(let before), .array(let after)): compare(before, after, at: place)
        default: operations.append(.replace(place, new))
        }
    }

    /// Items that both arrays begin and end with stay; those between are compared one by one.
    private mutating func compare(_ before: [JSONValue], _ after: [JSONValue], at place: JSONPointer) {
        let shorter = min(before.count, after.count)
        var head = 0
        while head < shorter, before[head] == after[head] { head += 1 }
        var tail = 0
        while tail < shorter - head, before[before.count - 1 - tail] == after[after.count - 1 - tail] { tail += 1 }
        let (old, new) = (before[head..<(before.count - tail)], after[head..<(after.count - tail)])
        let common = min(old.count, new.count)
        for index in head..<(head + common) { compare(before[index], after[index], at: place / index) }
        // From the end, so that the places of the others stay what they are.
        for index in (head + common..<head + old.count).reversed() { operations.append(.remove(place / index)) }
        for index in head + common..<head + new.count { operations.append(.add(place / index, after[index])) }
    }

    public func applied(to document: JSONValue) throws(Failure) -> JSONValue {
        var document = document
        for operation in operations {
            switch operation {
            case .add(let place, let value): try Self.change(&document, place, 0, .add(value))
            case .remove(let place): try Self.change(&document, place, 0, .remove)
            case .replace(let place, let value): try Self.change(&document, place, 0, .replace(value))
            }
        }
        return document
    }

    private enum Change {
        case add(JSONValue), remove, replace(JSONValue)
    }

    private static func change(_ value: inout JSONValue, _ place: JSONPointer, _ depth: Int, _ change: Change)
        throws(Failure)
    {
        guard depth < place.tokens.count else {
            switch change {
            case .add(let new), .replace(let new): value = new
            case .remove: throw Failure(place: place)
            }
            return
        }
        let token = place.tokens[depth], isLast = depth == place.tokens.count - 1
        switch value {
        case .object(var members):
            if isLast {
                switch change {
                case .add(let new): members[token] = new
                case .remove:
                    guard members.removeValue(forKey: token) != nil else { throw Failure(place: place) }
                case .replace(let new):
                    guard members.updateValue(new, forKey: token) != nil else { throw Failure(place: place) }
                }
            } else {
                guard var member = members[token] else { throw Failure(place: place) }
                try Self.change(&member, place, depth + 1, change)
                members[token] = member
            }
            value = .object(members)
        case .array(var items):
            // `-` is the place behind the last item (RFC 6901 §4).
            let isEnd = token == "-"
            guard let index = isEnd ? items.count : Int(token), isEnd || String(index) == token, index >= 0,
                index <= items.count
            else { throw Failure(place: place) }
            if isLast, case .add(let new) = change {
                items.insert(new, at: index)
            } else {
                guard index < items.count else { throw Failure(place: place) }
                switch (isLast, change) {
                case (true, .remove): items.remove(at: index)
                case (true, .replace(let new)): items[index] = new
                default: try Self.change(&items[index], place, depth + 1, change)
                }
            }
            value = .array(items)
        default: throw Failure(place: place)
        }
    }
}

extension JSONPatch {
    /// As RFC 6902 writes it: an array of objects.
    public var json: JSONValue {
        .array(
            operations.map { operation in
                switch operation {
                case .add(let place, let value): ["op": "add", "path": .string(place.description), "value": value]
                case .remove(let place): ["op": "remove", "path": .string(place.description)]
                case .replace(let place, let value):
                    ["op": "replace", "path": .string(place.description), "value": value]
                }
            })
    }
}
