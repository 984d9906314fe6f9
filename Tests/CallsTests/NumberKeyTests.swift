import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct NumberKeyTests {
    private func store(_ body: (CallStore) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "keys-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        try await body(store)
        store.close()
    }
    private func call(_ callee: String) -> Call {
        Call(
            localNumber: "025550100", remoteNumber: callee, brief: Brief(purpose: "p", questions: []),
            createdAt: Date())
    }

    @Test func theListAndTheSearchForDuplicatesKnowTheNumberOfAnAddress() async throws {
        try await store { store in
            _ = try await store.numbers.addDoNotCall([
                .init(number: "010-1234-5678", reason: "", addedAt: Date(), addedBy: "t")
            ]
            )
            guard
                case .blocked(.doNotCall, _) = try await store.insert(
                    call("sip:+82-10-1234-5678@127.0.0.1"), events: [], window: 60)
            else {
                return #expect(Bool(false))
            }
            #expect(try await store.insert(call("+442079460000"), events: [], window: 60) == .stored)
            guard
                case .blocked(.duplicate, _) = try await store.insert(
                    call("sip:+442079460000@127.0.0.1"), events: [], window: 60)
            else {
                return #expect(Bool(false))
            }
            #expect(try await store.numbers.isOnDoNotCallList("sip:01012345678@h"))
            #expect(try await !store.numbers.isOnDoNotCallList("sip:bob@h"))
        }
    }
}
