import Bridge
import Net
import Testing

@testable import Calls

@Suite struct StreamTargetTests {
    /// Some dialects settle the format by the URL, so whoever speaks it as client is to know its query.
    @Test func theDialectIsToldTheURL() throws {
        var settings = CallSettings()
        settings.streamToken = "secret"
        let start = StreamStart(streamID: "s", callID: "c")
        let target = try #require(StreamTarget("wss://agent.test/media?sample-rate=16000&k=a%20b", settings, start))
        let handshake = try #require(target.options.handshake)
        #expect(handshake.path == "/media" && handshake.peer == "agent.test")
        #expect(handshake.query.map(\.name) == ["sample-rate", "k"] && handshake.query.last?.value == "a b")
        #expect(try #require(StreamTarget("ws://agent.test", settings, start)).options.handshake?.path == "/")
        #expect(StreamTarget("https://agent.test", settings, start) == nil)
    }
}
