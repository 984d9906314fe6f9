import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct SearchTests {
    @Test func wordsWholeAndCutShortAndManyOfThem() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/trunkline-search-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        defer { store.close() }
        let at = Date(timeIntervalSince1970: 1_800_000_000)
        func add(_ purpose: String, _ count: Int) async throws {
            // At once: they share their transactions.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    let brief = Brief(purpose: purpose, questions: [Question(id: "q1", text: "?")])
                    let call = Call(
                        localNumber: "+82255500100", remoteNumber: "+821012340000", brief: brief,
                        createdAt: at + Double(number))
                    group.addTask { _ = try await store.insert(call, events: []) }
                }
                try await group.waitForAll()
            }
        }
        func search(_ text: String, _ change: (inout CallFilter) -> Void = { _ in }) async throws -> CallPage {
            var filter = CallFilter()
            filter.search = text
            change(&filter)
            return try await store.page(filter)
        }
        try await add("about the appointment", CallRows.countLimit + 5)
        try await add("about appointments and the weather", 3)
        // Beginnings of any length.
        for (text, count) in [
            ("we", 3), ("weath", 3), ("weathe", 3), ("weather", 3), ("weathers", 0), ("appointments", 3),
            ("and weat", 3), ("an weat", 0),
        ] {
            let page = try await search(text)
            #expect(page.total == count && page.items.count == count && !page.isTotalCapped, "\(text)")
        }
        // Where the whole word is found often enough, words that only begin with it are not searched.
        let many = try await search("appointment")
        #expect(many.total == CallRows.countLimit && many.isTotalCapped && many.items.count == 50)
        #expect(many.items.allSatisfy { $0.brief.purpose == "about the appointment" })
        // Page by page, each once.
        var seen: [String] = []
        var cursor: Int64?
        repeat {
            let page = try await search("appointment") {
                $0.limit = 200
                $0.cursor = cursor
            }
            seen += page.items.map(\.id)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(seen.count == CallRows.countLimit + 5 && Set(seen).count == seen.count)
        let queued = try await search("weather") { $0.state = .queued }
        #expect(queued.total == 3)
        #expect(try await search("weather") { $0.state = .failed }.total == 0)
        #expect(try await search("appointment") { $0.state = .queued }.isTotalCapped)
    }
}

extension SearchTests {
    @Test func figuresFollowEveryChange() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/trunkline-figures-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        defer { store.close() }
        let at = Date(timeIntervalSince1970: 1_800_000_000)
        let brief = Brief(purpose: "p", questions: [Question(id: "q1", text: "?")])
        var ids: [String] = []
        for day in 0..<3 {
            let call = Call(
                localNumber: "1000", remoteNumber: "2000", brief: brief, createdAt: at - Double(day) * 86_400)
            _ = try await store.insert(call, events: [])
            ids.append(call.id)
        }
        func end(_ id: String, seconds: Double) async throws {
            try await store.update(id) { call in
                try call.apply(.dial)
                try call.apply(.answered)
                call.answeredAt = at
                return []
            }
            try await store.update(id) { call in
                try call.apply(.conversationEnded(isFailure: false))
                call.completedAt = at + seconds
                return []
            }
        }
        try await end(ids[0], seconds: 10)
        try await end(ids[1], seconds: 30)
        var figures = try await store.statistics()
        #expect(figures.totals.averageDuration == 20)
        #expect(figures.totals.days.map(\.total) == [1, 1, 1] && figures.totals.days.map(\.completed) == [1, 1, 0])
        #expect(figures.totals.states.filter { $0.value > 0 } == [.completed: 2, .queued: 1])
        #expect(figures.answers == ["?": ["pending": 2]])
        for (text, expected) in [("yes", ["yes": 1, "pending": 1]), ("no", ["no": 1, "pending": 1])] {
            try await store.update(ids[0]) { call in
                var answer = Answer(questionID: "q1", status: .answered)
                answer.text = "\(text), I think"
                answer.value = .boolean(text == "yes")
                call.answers = [answer]
                return []
            }
            for _ in 0..<2 { #expect(try await store.statistics().answers == ["?": expected]) }
        }
        #expect(try await store.erase([ids[1]], recordings: folder) == 1)
        figures = try await store.statistics()
        #expect(figures.totals.averageDuration == 10 && figures.totals.days.map(\.total) == [1, 1])
        // Again: it is no longer ended.
        try await store.update(ids[0]) { call in
            try call.apply(.retry)
            call.answeredAt = nil
            call.completedAt = nil
            return []
        }
        figures = try await store.statistics()
        #expect(figures.totals.averageDuration == nil && figures.totals.days.map(\.completed) == [0, 0])
    }
}
