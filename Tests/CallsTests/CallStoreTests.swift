import Foundation
import Pipeline
import Realtime
import Store
import Testing

@testable import Calls

/// A real SQLite file.
@Suite struct CallStoreTests {
    private func folder() -> String { NSTemporaryDirectory() + "trunkline-test-" + UUID().uuidString }
    private func call(_ purpose: String = "p") -> Call {
        Call(
            localNumber: "025550100", remoteNumber: "01012345678",
            brief: Brief(purpose: purpose, questions: [Question(id: "q1", text: "A?")]),
            createdAt: Date())
    }
    private func event(_ call: Call) -> CallEvent {
        CallEvent(name: "outbound_queued", at: Date(), callID: call.id, direction: call.direction, payload: "{}")
    }

    @Test func callsSurviveAndPage() async throws {
        let folder = folder()
        let store = try CallStore(folder: folder)
        var ids: [String] = []
        for index in 0..<7 {
            let call = call("purpose 100%_\(index)")
            ids.append(call.id)
            #expect(try await store.insert(call, events: [event(call)]) == .stored)
        }
        store.close()
        let again = try CallStore(folder: folder)
        var filter = CallFilter()
        filter.limit = 3
        let first = try await again.page(filter)
        #expect(first.items.map(\.id) == ids.reversed().prefix(3).map(\.self) && first.total == 7)
        filter.cursor = first.nextCursor
        let second = try await again.page(filter)
        #expect(second.items.map(\.id) == Array(ids.reversed()[3..<6]))
        filter = CallFilter()
        filter.search = "100%_3"
        #expect(try await again.page(filter).items.map(\.id) == [ids[3]])
        filter.search = "+82 10 1234 5678"
        #expect(try await again.page(filter).total == 7, "a number is found whole, however it is spelled")
        filter.search = "5678"
        #expect(try await again.page(filter).total == 7, "and by its last four digits")
        filter.search = "1234"
        #expect(try await again.page(filter).total == 0)
        again.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func anImpossibleChangeStoresNothing() async throws {
        let folder = folder()
        let store = try CallStore(folder: folder)
        let call = call()
        _ = try await store.insert(call, events: [event(call)])
        await #expect(throws: StoreError.self) {
            try await store.update(call.id) { call in
                call.brief.purpose = "changed"
                try call.apply(.answered)
                return [CallEvent(name: "x", at: Date(), callID: call.id, direction: call.direction, payload: "{}")]
            }
        }
        #expect(try await store.call(call.id)?.brief.purpose == "p")
        #expect(try await store.events(after: 0).map(\.name) == ["outbound_queued"])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func watchersSeeWhatIsStoredInOrder() async throws {
        let folder = folder()
        let store = try CallStore(folder: folder)
        let live = store.feed.watch()
        let call = call()
        _ = try await store.insert(call, events: [event(call)])
        try await store.update(call.id) { call in
            try call.apply(.dial)
            return [
                CallEvent(
                    name: "outbound_dialing", at: Date(), callID: call.id, direction: call.direction, payload: "{}")
            ]
        }
        var names: [String] = []
        for await event in live {
            names.append(event.name)
            if names.count == 2 { break }
        }
        #expect(names == ["outbound_queued", "outbound_dialing"])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func aFolderThatCannotBeMadeIsAnErrorThatSaysSo() {
        let error = #expect(throws: StoreError.self) { _ = try CallStore(folder: "/proc/nowhere/data") }
        #expect(error?.code == .cannotOpen && error?.message.contains("/proc/nowhere/data") == true)
    }

    @Test func aDamagedFileIsAnErrorThatSaysSo() throws {
        let folder = folder()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: folder + "/calls.sqlite"))
        let error = #expect(throws: StoreError.self) { _ = try CallStore(folder: folder) }
        #expect(error?.message.contains("damaged") == true)
        try FileManager.default.removeItem(atPath: folder)
    }
}
