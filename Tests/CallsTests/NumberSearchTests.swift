import Foundation
import Realtime
import Store
import Testing

@testable import Calls

/// A number is searched for as it is given: in any spelling, and in digits of any script.
@Suite struct NumberSearchTests {
    private func store(_ body: (CallStore) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "number-search-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        try await body(store)
        store.close()
    }

    private func found(_ search: String, _ direction: CallDirection, _ store: CallStore) async throws -> Int {
        var filter = CallFilter()
        filter.direction = direction
        filter.search = search
        return try await store.page(filter).total
    }

    @Test(arguments: [
        "010-1234-5678", "+82 10 1234 5678", "０１０-１２３４-５６７８", "＋８２１０１２３４５６７８", "٠١٠١٢٣٤٥٦٧٨", "5678", "５６７８",
        "٥٦٧٨", " ５６７８ ",
    ])
    func callsAreFoundByDigitsOfAnyScript(search: String) async throws {
        try await store { store in
            for direction in CallDirection.allCases {
                let call = Call(
                    direction: direction, localNumber: "025550100", remoteNumber: "+821012345678",
                    brief: Brief(purpose: "the weather", questions: []), createdAt: Date())
                _ = try await store.insert(call, events: [])
                #expect(try await found(search, direction, store) == 1, "\(direction)")
            }
        }
    }

    /// Signs that have a value and are no digits, digits of two scripts, and another number.
    @Test(arguments: ["①②③④", "⁵⁶⁷⁸", "５６78", "０１０-１２３４-５６７９", "５６７９"])
    func otherTextsFindNoNumber(search: String) async throws {
        try await store { store in
            let call = Call(
                localNumber: "025550100", remoteNumber: "+821012345678",
                brief: Brief(purpose: "the weather", questions: []), createdAt: Date())
            _ = try await store.insert(call, events: [])
            #expect(try await found(search, .outbound, store) == 0)
        }
    }

    @Test(arguments: ["010-1234-5678", "０１０１２３４５６７８", "٠١٠١٢٣٤٥٦٧٨"])
    func theDoNotCallListIsSearchedInTheSameWay(search: String) async throws {
        try await store { store in
            _ = try await store.numbers.addDoNotCall([
                .init(number: "+821012345678", reason: "", addedAt: Date(), addedBy: "t")
            ])
            #expect(try await store.numbers.doNotCall(search: search).items.count == 1)
            #expect(try await store.numbers.doNotCall(search: search + "٠").items.isEmpty)
        }
    }
}
