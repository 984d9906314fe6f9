import Net
import Testing

@testable import Bridge

@Suite struct TapLogTests {
    private static let start =
        #"{"event":"start","sequenceNumber":"1","streamSid":"MZ1","start":{"streamSid":"MZ1","callSid":"CA1","#
        + #""customParameters":{"name":"Kim"},"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000}}}"#

    private func lines(
        _ log: inout TapLog, _ text: String, _ sender: WireMessage.Sender = .carrier
    ) -> [String] {
        Array(text.utf8).withUnsafeBufferPointer { log.lines($0, .text, from: sender, atMs: 1_234) }
    }

    @Test func contentIsHiddenUnlessItIsAskedFor() {
        for showsContent in [false, true] {
            var log = TapLog(TwilioDialect.self, showsContent: showsContent)
            let text = lines(&log, Self.start)[0]
            #expect(text.contains("1.234  carrier > server  text    start") && text.contains("sampleRate=8000"))
            #expect(text.contains("streamSid=MZ1") && text.contains("Kim") == showsContent)
            let digit = lines(&log, #"{"event":"dtmf","streamSid":"MZ1","dtmf":{"digit":"7"}}"#)[0]
            #expect(digit.contains("digit=7") == showsContent && digit.contains("hidden") != showsContent)
        }
    }

    @Test func soundIsToldByLengthAndLevel() {
        var log = TapLog(TwilioDialect.self, showsContent: true)
        _ = lines(&log, Self.start)
        let silence = String(repeating: "/", count: 212) + "/w=="
        let text = lines(&log, #"{"event":"media","streamSid":"MZ1","media":{"payload":"\#(silence)"}}"#, .application)
        #expect(text.count == 1 && text[0].contains("carrier < server") && text[0].contains("20 ms  silence"))
        #expect(!text[0].contains("////"), "no Base64 is shown")
        #expect(log.summary[0].contains("1 messages to the server") && log.summary[0].contains("1 from it, 0.0 s"))
    }

    @Test func problemsAreToldAsTheyHappen() {
        var log = TapLog(TwilioDialect.self, showsContent: false)
        _ = lines(&log, Self.start)
        let found = lines(&log, #"{"event":"clear","streamSid":"MZ2"}"#, .application)
        #expect(found.count == 2 && found[1].contains("! stream-id: message 1 (clear)"))
        #expect(log.summary.last == "1 messages against stream-id")
    }

    @Test func nothingControlsTheTerminal() {
        var log = TapLog(TwilioDialect.self, showsContent: true)
        let text = lines(&log, #"{"event":"a\u001b[2J","x":"\u001b]0;t\u0007\u009b"}"#).joined()
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
    }

    @Test func aChannelThatSpeaksInLinesIsUnderstood() {
        var log = TapLog(AsteriskDialect.self, showsContent: false)
        let start = lines(&log, "MEDIA_START connection_id:c1 channel_id:1.2 format:ulaw optimal_frame_size:160")
        #expect(start[0].contains("MEDIA_START") && !start[0].contains("c1"))
        let sound = [UInt8](repeating: 0x90, count: 170).withUnsafeBufferPointer {
            log.lines($0, .binary, from: .application, atMs: 0)
        }
        #expect(sound[0].contains("21.25 ms") && sound[1].contains("! whole-frames"))
        #expect(lines(&log, "FLUSH_MEDIA", .application).count == 1)
    }

    /// Formats, sizes and numbers that no real server sends.
    @Test func nothingThatIsSaidTraps() {
        let numbers = ["0", "-1", "1e300", "99999999999999999999", "null", "[]", "{}", #""nan""#, #""0""#, #""""#]
        for dialect in Dialects.all {
            var log = TapLog(dialect, showsContent: true)
            for number in numbers {
                for name in dialect.conformance.shape.nameKeys + ["event", "type"] {
                    for word in ["start", "open", "opened", "MEDIA_START", "websocket:connected", "media", "mark"] {
                        let inner =
                            #""sampleRate":N,"sample_rate":N,"rate":N,"seq":N,"clientseq":N,"content-type":N,"#
                            + #""optimal_frame_size":N,"encoding":"L16","format":"L16","channels":N,"callSid":N"#
                        let text =
                            #"{"\#(name)":"\#(word)",\#(inner),"media_format":{\#(inner)},"mediaFormat":{\#(inner)},"#
                            + #""start":{"media_format":{\#(inner)},"mediaFormat":{\#(inner)}},"media":{\#(inner)},"#
                            + #""parameters":{"media":[{\#(inner)}]}}"#
                        let said = text.replacing("N", with: number)
                        _ = lines(&log, said, .carrier) + lines(&log, said, .application)
                        _ = [UInt8](repeating: 7, count: 31).withUnsafeBufferPointer {
                            log.lines($0, .binary, from: .application, atMs: 0)
                        }
                    }
                }
            }
            #expect(log.summary.count > (dialect.conformance.rules.isEmpty ? 0 : 1), "\(dialect.traits.name)")
        }
    }
}
