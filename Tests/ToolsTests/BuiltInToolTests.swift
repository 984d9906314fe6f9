import Foundation
import JSON
import Realtime
import Store
import Synchronization
import Testing

@testable import Tools

@Suite struct BuiltInToolTests {
    private static let values = ToolValues(
        callID: "ob-1", direction: "outbound", timeZone: TimeZone(identifier: "Asia/Seoul") ?? .gmt,
        now: Date(timeIntervalSince1970: 1_785_196_800))

    private func box(_ means: ToolMeans, _ body: (CallToolBox) async throws -> Void) async throws {
        try await ToolCatalogTests.with { catalog in
            try await body(
                try await catalog.box(
                    .default, names: BuiltInTool.allCases.map(\.rawValue), values: Self.values, means: means))
        }
    }

    @Test func aCallHasOnlyTheToolsThatItHasTheMeansFor() async throws {
        try await box(ToolMeans()) { box in
            #expect(box.tools.isEmpty && Set(box.missing) == Set(BuiltInTool.allCases.map(\.rawValue)))
        }
        var means = ToolMeans()
        means.search = { _ in [] }
        try await box(means) { #expect($0.tools.map(\.name) == ["search_knowledge"]) }
    }

    @Test func knowledgeIsSearched() async throws {
        var means = ToolMeans()
        means.search = { query in
            [
                KnowledgeHit(source: "Menu", text: "all about \(query)"),
                KnowledgeHit(source: "Hours", text: "q", answer: "until ten"),
            ]
        }
        try await box(means) { box in
            let result = await box.call("search_knowledge", arguments: #"{"query":"fish"}"#, number: 1)
            #expect(
                result.output == #"{"found":[{"source":"Menu","text":"all about fish"},"#
                    + #"{"source":"Hours","text":"until ten"}]}"#)
            #expect(await box.call("search_knowledge", arguments: "{}", number: 2).status == "invalid_arguments")
        }
    }

    @Test func aCallBackIsArrangedOnce() async throws {
        let asked = Mutex<[ToolMeans.Callback]>([])
        var means = ToolMeans()
        means.scheduleCall = { callback in
            asked.withLock { $0.append(callback) }
            return .scheduled(callback.at.addingTimeInterval(3_600))
        }
        try await box(means) { box in
            #expect(box.tools[0].purpose.contains("2026-07-28T09:00:00+09:00, Tuesday"), "\(box.tools[0].purpose)")
            let arguments = #"{"at":"2026-07-29T10:00:00+09:00","reason":"busy"}"#
            let result = await box.call("schedule_callback", arguments: arguments, number: 1)
            #expect(result.output == #"{"scheduled_at":"2026-07-29T02:00:00Z"}"#)
            #expect(await box.call("schedule_callback", arguments: arguments, number: 2).status == "refused")
            #expect(asked.withLock { $0.map(\.reason) } == ["busy"])
        }
        means.scheduleCall = { _ in .refused("nobody may be called then") }
        try await box(means) { box in
            #expect(await box.call("schedule_callback", arguments: #"{"at":"tomorrow"}"#, number: 1).status != "ok")
        }
        try await box(means) { box in
            let result = await box.call("schedule_callback", arguments: #"{"at":"2026-07-29T10:00:00Z"}"#, number: 1)
            #expect(result.status == "refused" && result.output.contains("nobody may be called then"))
        }
    }

    @Test func aMessageIsSentToTheOtherParty() async throws {
        struct Refused: Error {}
        let sent = Mutex<[String]>([])
        var means = ToolMeans()
        means.sendSMS = { text in
            guard text != "bad" else { throw Refused() }
            sent.withLock { $0.append(text) }
        }
        try await box(means) { box in
            #expect(await box.call("send_sms", arguments: #"{"text":"hello"}"#, number: 1).output == #"{"sent":true}"#)
            #expect(await box.call("send_sms", arguments: #"{"text":"bad"}"#, number: 2).status == "not_available")
            let long = String(repeating: "x", count: 601)
            #expect(await box.call("send_sms", arguments: #"{"text":"\#(long)"}"#, number: 3).status != "ok")
            // To whom is not the model's to say.
            let other = #"{"text":"a","to":"+666"}"#
            #expect(await box.call("send_sms", arguments: other, number: 3).status == "invalid_arguments")
            #expect(sent.withLock { $0 } == ["hello"])
        }
    }

    @Test func datesAreThoseOfTheOtherParty() {
        #expect(Self.values.text(["today"]) == "2026-07-28" && Self.values.text(["weekday"]) == "Tuesday")
        var values = Self.values
        values.timeZone = .gmt
        values.variables = ["crm": ["name": "Ann", "n": 3]]
        #expect(values.text(["now"]) == "2026-07-28T00:00:00Z" && values.text(["variables", "crm", "name"]) == "Ann")
        #expect(values.text(["caller", "number"]) == nil && values.text(["crm"]) == #"{"n":3,"name":"Ann"}"#)
    }
}
