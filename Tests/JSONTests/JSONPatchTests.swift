import Testing

@testable import JSON

@Suite struct JSONPatchTests {
    @Test func whatDiffersIsTold() {
        let old: JSONValue = ["a": 1, "b": ["x", "y", "z"], "gone": true]
        let new: JSONValue = ["a": 2, "b": ["x", "z"], "come/~": [:]]
        #expect(
            JSONPatch(from: old, to: new).json == [
                ["op": "remove", "path": "/gone"], ["op": "replace", "path": "/a", "value": 2],
                ["op": "remove", "path": "/b/1"], ["op": "add", "path": "/come~1~0", "value": [:]],
            ])
    }

    @Test func theSameDocumentNeedsNothing() {
        #expect(JSONPatch(from: ["a": [1, ["b": .null]]], to: ["a": [1, ["b": .null]]]).operations.isEmpty)
    }

    @Test func anItemMayBeAddedAtTheEnd() throws {
        let patch = JSONPatch([.add(JSONPointer(["-"]), 3)])
        #expect(try patch.applied(to: [1, 2]) == [1, 2, 3])
    }

    @Test(arguments: ["/1", "/a/b", "/0/x", "/01"]) func aPlaceThatIsNotThereIsAFailure(_ place: String) throws {
        let pointer = try #require(JSONPointer(place))
        #expect(throws: JSONPatch.Failure(place: pointer)) {
            try JSONPatch([.replace(pointer, 1)]).applied(to: [[1]])
        }
    }

    @Test func theDifferenceOfAnyTwoDocumentsMakesOneOfTheOther() throws {
        var dice = Dice(state: 20_261_125)
        for _ in 0..<2_000 {
            let (old, new) = (dice.value(depth: 4), dice.value(depth: 4))
            #expect(try JSONPatch(from: old, to: new).applied(to: old) == new)
        }
    }

    @Test func aSmallChangeIsASmallPatch() {
        let old = JSONValue.array((0..<100).map { .whole($0) })
        guard case .array(var items) = old else { return }
        items.remove(at: 40)
        #expect(JSONPatch(from: old, to: .array(items)).operations == [.remove(JSONPointer(["40"]))])
    }

    /// Documents by chance, the same in every run.
    private struct Dice {
        var state: UInt64

        mutating func roll(_ sides: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % sides
        }

        mutating func value(depth: Int) -> JSONValue {
            switch roll(depth > 0 ? 7 : 4) {
            case 0: return .null
            case 1: return .bool(roll(2) == 0)
            case 2: return .whole(Int(roll(5)))
            case 3: return .string(["", "a", "~", "/", "0", "я"][Int(roll(6))])
            case 4:
                var items: [JSONValue] = []
                for _ in 0..<roll(6) { items.append(value(depth: depth - 1)) }
                return .array(items)
            default:
                var members: [String: JSONValue] = [:]
                for _ in 0..<roll(6) {
                    members[["a", "b", "c/d", "e~", "0", "-"][Int(roll(6))]] = value(depth: depth - 1)
                }
                return .object(members)
            }
        }
    }
}
