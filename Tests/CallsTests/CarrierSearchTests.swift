import Foundation
import Realtime
import Store
import Testing

@testable import Calls

/// Calls are found by what carried them and by the dialect of their stream, alone and with all else that is asked.
@Suite struct CarrierSearchTests {
    private static let at = Date(timeIntervalSince1970: 1_800_000_000)

    private static func call(_ carrier: String?, _ dialect: String?, _ purpose: String, _ number: Int) -> Call {
        var call = Call(
            localNumber: "+82255500100", remoteNumber: "+821012340000",
            brief: Brief(purpose: purpose, questions: [Question(id: "q1", text: "?")]), createdAt: at + Double(number))
        call.carrier = carrier
        call.dialect = dialect
        return call
    }

    @Test func callsAreFoundByCarrierAndDialect() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/trunkline-ways-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        defer { store.close() }
        let calls = [
            Self.call(nil, nil, "not dialled yet", 0), Self.call("sip", nil, "the weather", 1),
            Self.call("stream", "genesys", "the weather", 2), Self.call("stream", "asterisk", "the harvest", 3),
            Self.call("twilio", "twilio", "the weather", 4),
        ]
        for call in calls { _ = try await store.insert(call, events: []) }
        func found(_ change: (inout CallFilter) -> Void) async throws -> [Int] {
            var filter = CallFilter()
            change(&filter)
            let page = try await store.page(filter)
            #expect(page.total == page.items.count)
            return page.items.map { Int($0.createdAt.timeIntervalSince(Self.at)) }
        }
        #expect(try await found { _ in } == [4, 3, 2, 1, 0])
        #expect(try await found { $0.carrier = "stream" } == [3, 2])
        #expect(try await found { $0.dialect = "genesys" } == [2])
        #expect(try await found { ($0.carrier, $0.dialect) = ("sip", "genesys") } == [])
        #expect(try await found { ($0.carrier, $0.search) = ("stream", "weather") } == [2])
        #expect(try await found { ($0.carrier, $0.search, $0.state) = ("sip", "weather", .queued) } == [1])
        #expect(try await found { ($0.carrier, $0.from) = ("stream", Self.at + 2.5) } == [3])
        // A call that moves to another carrier is found there.
        _ = try await store.update(calls[0].id) { call in
            (call.carrier, call.dialect) = ("stream", "plivo")
            return []
        }
        #expect(try await found { $0.dialect = "plivo" } == [0])
    }
}
