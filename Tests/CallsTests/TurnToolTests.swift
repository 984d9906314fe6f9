import Foundation
import Logging
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// The agent's tools in a call by turns, and what the record keeps of them. On the clock, for a turn waits on it.
@Suite struct TurnToolTests {
    private struct World {
        let folder = NSTemporaryDirectory() + "turn-tools-\(UInt32.random(in: .min ... .max))"
        let store: CallStore
        let journal: CallJournal
        let call: TurnBasedCall
        let id: String

        init(_ script: ScriptedCascade, _ box: ScriptedToolBox, savesTranscript: Bool = true) async throws {
            store = try CallStore(folder: folder)
            var settings = CallSettings()
            settings.savesRecording = false
            settings.savesTranscript = savesTranscript
            var record = Call(
                localNumber: "025550100", remoteNumber: "01012345678",
                brief: Brief(purpose: "to help", questions: [], maxTurns: 50), createdAt: Date())
            try record.apply(.dial)
            record.attempts.append(.init(startedAt: Date()))
            _ = try await store.insert(record, events: [])
            id = record.id
            journal = CallJournal(
                record, carrier: "twilio", store: store, settings: settings,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { Date() })
            journal.connected()
            call = TurnBasedCall(
                call: record, engines: script.engines, settings: settings, journal: journal, toolBox: box
            ) {}
        }

        /// The stored call, once it is over.
        func record() async throws -> Call {
            await call.hangUp(.calleeHangup)
            await journal.close()
            return try #require(try await store.call(id))
        }

        func events() async throws -> [CallEvent] { try await store.events(after: 0, of: id) }
        func remove() { try? FileManager.default.removeItem(atPath: folder) }
    }

    @Test func aTurnHasTheResultOfItsTool() async throws {
        let script = ScriptedCascade()
        script.say("Hello.")
        let box = ScriptedToolBox([ScriptedToolBox.tool("hours")], atOnce: ToolResult(output: #"{"open":"9-17"}"#))
        let world = try await World(script, box)
        defer { world.remove() }
        #expect(await world.call.begin().isLast == false)
        script.respond(.toolCall(name: "hours", arguments: #"{"day":"Friday"}"#))
        script.say("From nine to five.")
        let turn = await world.call.turn(after: 1, heard: .keys("5"))
        #expect(!turn.audio.isEmpty && script.conversations.count == 3)
        let record = try await world.record()
        #expect(record.toolCalls?.count == 1)
        let kept = try #require(record.toolCalls?.first)
        #expect(kept.name == "hours" && kept.arguments == #"{"day":"Friday"}"# && kept.result == #"{"open":"9-17"}"#)
        let events = try await world.events().filter { $0.name.contains("tool") }
        #expect(events.map(\.name) == ["outbound_tool_started", "outbound_tool_finished"])
        #expect(events[1].payload.contains(#""status":"ok""#))
        #expect(!events.contains { $0.payload.contains("Friday") || $0.payload.contains("9-17") }, "no content")
    }

    @Test func aResultThatComesTooLateIsInTheNextTurn() async throws {
        let script = ScriptedCascade()
        script.say("Hello.")
        let speech = CallTool.WaitingSpeech(before: "Let me look.")
        let box = ScriptedToolBox([ScriptedToolBox.tool("hours", speech: speech)])
        let world = try await World(script, box, savesTranscript: false)
        defer { world.remove() }
        _ = await world.call.begin()
        script.respond(.toolCall(name: "hours", arguments: "{}"))
        let began = ContinuousClock.now
        let waiting = await world.call.turn(after: 1, heard: .keys("5"))
        let waitedMs = Int(began.duration(to: .now) / .milliseconds(1))
        #expect(!waiting.audio.isEmpty && waitedMs >= TurnTools.waitMs && script.conversations.count == 2)
        box.finish(1, #"{"open":"9-17"}"#)
        script.say("From nine to five.")
        let told = await world.call.turn(after: 2, heard: .silence)
        #expect(!told.audio.isEmpty)
        try #require(script.conversations.count == 3)
        guard case .toolResult? = script.conversations[2].items.last else {
            Issue.record("no result: \(script.conversations[2].items)")
            return
        }
        let kept = try #require(try await world.record().toolCalls?.first)
        #expect(kept.status == "ok" && kept.arguments.isEmpty && kept.result.isEmpty, "no transcript, no content")
    }

    @Test func theEndCancelsWhatWorks() async throws {
        let script = ScriptedCascade()
        script.say("Hello.")
        let box = ScriptedToolBox([ScriptedToolBox.tool("hours", speech: .init(before: "Let me look."))])
        let world = try await World(script, box)
        defer { world.remove() }
        _ = await world.call.begin()
        script.respond(.toolCall(name: "hours", arguments: "{}"))
        _ = await world.call.turn(after: 1, heard: .keys("5"))
        let record = try await world.record()
        #expect(record.toolCalls?.map(\.status) == ["cancelled"] && box.cancelled == [1])
    }
}
