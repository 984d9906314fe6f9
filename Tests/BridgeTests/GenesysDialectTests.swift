import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Bridge
@testable import Net

/// Audio Connector, as its reference client and server speak it.
@Suite struct GenesysDialectTests {
    static let id = "e160e428-53e2-487c-977d-96989bf5c99d"
    static let null = "00000000-0000-0000-0000-000000000000"

    /// A message of a client's; `seq` counts from 1.
    static func client(
        _ type: String, _ seq: Int, _ parameters: String = "{}", serverseq: Int = 0, id: String = id
    ) -> String {
        #"{"version":"2","id":"\#(id)","type":"\#(type)","seq":\#(seq),"serverseq":\#(serverseq),"#
            + #""position":"PT1.5S","parameters":\#(parameters)}"#
    }

    private static func server(_ type: String, _ seq: Int, _ parameters: String = "{}", clientseq: Int = 1) -> String {
        #"{"version":"2","id":"\#(ConnectorLine.start.streamID)","type":"\#(type)","seq":\#(seq),"#
            + #""clientseq":\#(clientseq),"parameters":\#(parameters)}"#
    }

    static let offer =
        #"[{"type":"audio","format":"PCMU","channels":["external","internal"],"rate":8000},"#
        + #"{"type":"audio","format":"PCMU","channels":["external"],"rate":8000}]"#

    static func parameters(
        media: String = offer, conversation: String = "090eaa2f-72fa-480a-83e0-8667ff89c0ec", participant: String = id
    ) -> String {
        #"{"organizationId":"d7934305-0972-4844-938e-9060eef73d05","conversationId":"\#(conversation)","#
            + #""participant":{"id":"\#(participant)","ani":"+1-555-555-1234","aniName":"x","dnis":"+1-800"},"#
            + #""media":\#(media),"language":"en-US","customConfig":{"a":1,"b":{"c":[]},"d":true},"#
            + #""inputVariables":{"token":"t","a":"2"}}"#
    }

    /// An application's dialect, which has heard these.
    private func application(_ texts: String...) throws -> (dialect: GenesysDialect, inbox: DialectInbox) {
        let dialect = GenesysDialect(DialectOptions(role: .application))
        let inbox = try DialectInbox(dialect.terms)
        for text in texts { _ = try dialect.hear(inbox, text) }
        return (dialect, inbox)
    }

    private func opened() throws -> (dialect: GenesysDialect, inbox: DialectInbox) {
        let (dialect, inbox) = try application(Self.client("open", 1, Self.parameters()))
        _ = dialect.text(.start(StreamStart(streamID: "", callID: "")))
        return (dialect, inbox)
    }

    private func replies(_ inbox: DialectInbox) -> [String] {
        inbox.takeReplies().map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: We are the server

    @Test func anOpenIsACallAndIsAnsweredWithOneMedium() throws {
        let (dialect, inbox) = try application()
        let said = try dialect.hear(inbox, Self.client("open", 1, Self.parameters()))
        let expected = StreamStart(
            streamID: Self.id, callID: "090eaa2f-72fa-480a-83e0-8667ff89c0ec",
            parameters: [
                "a": "2", "d": "true", "token": "t", "from": "+1-555-555-1234", "to": "+1-800", "language": "en-US",
                "organizationId": "d7934305-0972-4844-938e-9060eef73d05",
            ])
        #expect(said == [.start(expected)])
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, binary: [1, 2]) }
        let frame = [UInt8](repeating: 1, count: 160)
        var target = frame
        let early = frame.withUnsafeBufferPointer { sound in
            target.withUnsafeMutableBufferPointer { dialect.encode(sound: sound, timestampMs: 0, into: $0) }
        }
        #expect(early < 0, "no sound before opened")
        #expect(
            dialect.text(.start(expected)) == #"{"version":"2","type":"opened","id":"\#(Self.id)","seq":1,"#
                + #""clientseq":1,"parameters":{"startPaused":false,"media":[{"type":"audio","format":"PCMU","#
                + #""channels":["external"],"rate":8000}]}}"#)
        #expect(try dialect.hear(inbox, binary: frame).count == 1)
    }

    @Test(arguments: [
        (#"{"type":"audio","format":"PCMU","channels":["external"],"rate":8000}"#, 160),
        (#"{"type":"audio","format":"PCMU","channels":["external","internal"],"rate":8000}"#, 320),
        (#"{"type":"audio","format":"L16","channels":["external"],"rate":8000}"#, 320),
        (#"{"type":"audio","format":"L16","channels":["external","internal"],"rate":8000}"#, 640),
    ]) func everyMediumIsTaken(media: String, frame: Int) throws {
        let (dialect, inbox) = try application(Self.client("open", 1, Self.parameters(media: "[\(media)]")))
        let said = try #require(dialect.text(.start(StreamStart(streamID: "", callID: ""))))
        #expect(said.contains("[\(media)]"))
        let bytes = (0..<frame).map { UInt8(truncatingIfNeeded: $0) }
        let heard = ConnectorLine.frames(try dialect.hear(inbox, binary: bytes))
        #expect(heard.count == 1 && inbox.terms.incoming.bytes(ofMs: 20) == frame)
        if frame == 320, media.contains("PCMU") {
            #expect(heard[0].withBytes { $0[3] } == 6, "the caller's channel, not the agent's")
        }
        // 200 ms a message, and no more than 64 000 bytes.
        #expect(inbox.terms.chunks.minimum == 10 * frame && inbox.terms.chunks.maximum <= GenesysDialect.soundLimit)
    }

    @Test func wordsAreAnsweredWithNumbersInOrder() throws {
        let (dialect, inbox) = try opened()
        #expect(try dialect.hear(inbox, Self.client("ping", 2, #"{"rtt":"PT0.1S"}"#, serverseq: 1)) == [])
        #expect(try dialect.hear(inbox, Self.client("update", 3, #"{"language":"ko-KR"}"#, serverseq: 2)) == [])
        let end = #"{"version":"2","type":"pong","id":"\#(Self.id)","seq":2,"clientseq":2,"parameters":{}}"#
        let said = replies(inbox)
        #expect(said.first == end && said.last?.contains(#""type":"updated","id":"\#(Self.id)","seq":3"#) == true)
        #expect(try dialect.hear(inbox, Self.client("dtmf", 4, ##"{"digit":"#"}"##)) == [.dtmf("#")])
        #expect(try dialect.hear(inbox, Self.client("something_new", 5)) == [])
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, Self.client("dtmf", 6, #"{"digit":"12"}"#)) }
        #expect(try dialect.hear(inbox, Self.client("discarded", 7, #"{"start":"PT1S","discarded":"PT2.5S"}"#)) == [])
        let later = try dialect.hear(inbox, binary: [UInt8](repeating: 9, count: 160))
        #expect(ConnectorLine.frames(later).first?.timestampMs == 3_500)
        #expect(
            dialect.text(.clear)?.hasSuffix(#""parameters":{"entities":[{"type":"barge_in","data":{}}]}}"#) == true)
        #expect(dialect.text(.mark("m")) == nil && dialect.text(.dtmf("1")) == nil)
    }

    @Test func theirPauseHoldsUsBackAndOurOwnDoesNot() throws {
        let (dialect, inbox) = try opened()
        _ = try dialect.hear(inbox, Self.client("paused", 2))
        #expect(inbox.isPaused)
        _ = try dialect.hear(inbox, Self.client("resumed", 3, #"{"start":"PT1.0S","discarded":"PT.5S"}"#))
        #expect(!inbox.isPaused)
        #expect(dialect.encode(.pause).map { String(decoding: $0, as: UTF8.self) }?.contains(#""pause""#) == true)
        _ = try dialect.hear(inbox, Self.client("paused", 4))
        #expect(!inbox.isPaused, "it is our pause")
        _ = dialect.encode(.resume)
        _ = try dialect.hear(inbox, Self.client("paused", 5))
        #expect(inbox.isPaused, "the client's own pause lasts")
    }

    @Test func aProbeIsAnsweredAndIsNoCall() throws {
        let (dialect, inbox) = try application()
        let probe = Self.parameters(conversation: Self.null, participant: Self.null)
        #expect(try dialect.hear(inbox, Self.client("open", 1, probe)) == [])
        #expect(try dialect.hear(inbox, Self.client("close", 2, #"{"reason":"end"}"#, serverseq: 1)) == [])
        let said = replies(inbox)
        #expect(said.count == 2 && said[0].contains(#""opened""#) && said[1].contains(#""closed""#))
    }

    @Test func bothEndsCloseTheSession() throws {
        let (dialect, inbox) = try opened()
        #expect(dialect.text(.stop)?.contains(#""type":"disconnect""#) == true)
        #expect(dialect.text(.stop) == nil && dialect.text(.clear) == nil)
        #expect(try dialect.hear(inbox, binary: [1, 2, 3]) == [], "on its way")
        #expect(try dialect.hear(inbox, Self.client("close", 2, #"{"reason":"disconnect"}"#)) == [.stop])
        #expect(replies(inbox).last?.contains(#""type":"closed""#) == true)
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, Self.client("ping", 3)) }
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, binary: [1, 2]) }
    }

    @Test func refusalsHaveTheVendorsWords() throws {
        let words = [(StreamRefusal.unauthorized, "unauthorized"), (.format, "error"), (.malformed, "error")]
        for (reason, word) in words {
            let (dialect, _) = try opened()
            let text = try #require(dialect.encode(.refused(reason)).map { String(decoding: $0, as: UTF8.self) })
            #expect(text.contains(#""type":"disconnect""#) && text.contains(#"{"reason":"\#(word)""#))
        }
    }

    @Test func theSessionIsTheUpgradesOwn() throws {
        let handshake = WebSocket.Handshake(
            path: "/", query: [], headers: ["audiohook-session-id": Self.id], peer: "")
        let options = DialectOptions(role: .application, handshake: handshake)
        let right = GenesysDialect(options), wrong = GenesysDialect(options)
        let inbox = try DialectInbox(right.terms)
        #expect(right.refusal(inbox, Self.client("open", 1, Self.parameters())) == nil)
        #expect(wrong.refusal(inbox, Self.client("open", 1, Self.parameters(), id: Self.null)) == .malformed)
    }

    /// One customer's key opens no other's session.
    @Test func theCustomerIsTheUpgradesOwn() throws {
        for (organization, refusal) in [
            ("d7934305-0972-4844-938e-9060eef73d05", nil), ("11111111-0972-4844-938e-9060eef73d05", .unauthorized),
        ] as [(String, StreamRefusal?)] {
            let handshake = WebSocket.Handshake(
                path: "/", query: [], headers: ["audiohook-organization-id": organization], peer: "")
            let dialect = GenesysDialect(DialectOptions(role: .application, handshake: handshake))
            let inbox = try DialectInbox(dialect.terms)
            #expect(dialect.refusal(inbox, Self.client("open", 1, Self.parameters())) == refusal)
        }
    }

    /// Genesys names sessions that an `open` goes on from, but re-establishes none: they say nothing to us. Variables
    /// of a flow that are no texts are texts here, or nothing.
    @Test func whatIsGivenBesideACallIsTakenOrLeft() throws {
        let more =
            #""continuedSessions":[{"id":"\#(Self.id)","serverSeq":2,"clientSeq":3}],"inputVariables":{"n":1.5,"#
            + #""none":null,"list":[1],"deep":{"a":1},"yes":true,"text":"é","token":"t"}}"#
        let parameters = Self.parameters().replacing(
            #""inputVariables":{"token":"t","a":"2"}}"#, with: more)
        let (dialect, inbox) = try application()
        guard case .start(let start)? = try dialect.hear(inbox, Self.client("open", 1, parameters)).first else {
            Issue.record("no start")
            return
        }
        #expect(start.parameters["n"] == "1.5" && start.parameters["yes"] == "true" && start.parameters["text"] == "é")
        #expect(["none", "list", "deep"].allSatisfy { start.parameters[$0] == nil })
        for bad in [#""inputVariables":[1]}"#, #""inputVariables":"x"}"#] {
            let (other, otherInbox) = try application()
            let text = Self.parameters().replacing(#""inputVariables":{"token":"t","a":"2"}}"#, with: bad)
            #expect(other.refusal(otherInbox, Self.client("open", 1, text)) == .malformed)
        }
    }

    // MARK: Bad input

    @Test func whatBreaksTheOrderEndsTheStream() throws {
        let first = Self.client("open", 1, Self.parameters())
        for (text, refusal) in [
            (Self.client("ping", 3), StreamRefusal.malformed), (Self.client("ping", 1), .malformed),
            (Self.client("ping", 2, serverseq: 9), .malformed), (Self.client("ping", 2, id: Self.null), .malformed),
            (Self.client("ping", 2).replacing(#""version":"2""#, with: #""version":"3""#), .malformed),
        ] {
            let (dialect, inbox) = try application(first)
            #expect(dialect.refusal(inbox, text) == refusal, "\(text)")
        }
        for (media, refusal) in [
            (Self.offer.replacing("PCMU", with: "OPUS"), StreamRefusal.format),
            (Self.offer.replacing("8000", with: "16000"), .format), ("[]", .format), ("{}", .malformed),
            (Self.offer.replacing("external", with: "internal"), .format),
        ] {
            let (dialect, inbox) = try application()
            #expect(dialect.refusal(inbox, Self.client("open", 1, Self.parameters(media: media))) == refusal)
        }
        let (dialect, inbox) = try application()
        #expect(dialect.refusal(inbox, Self.client("open", 1, "{}")) == .malformed)
    }

    @Test(arguments: [
        "", "[]", "{", "{}", #"{"type":"ping"}"#, "null", #"{"version":"2","id":"x","type":"ping","seq":2}"#,
        #"{"version":"2","id":"x","type":"ping","seq":99999999999999999999,"parameters":{}}"#,
        #"{"version":"2","id":"x","type":"ping","seq":-1,"parameters":{}}"#,
        #"{"version":"2","id":"x","type":"ping","seq":"2","parameters":{}}"#,
    ]) func malformedMessagesAreLeftOut(text: String) throws {
        let (dialect, inbox) = try opened()
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, text) }
        #expect(try dialect.hear(inbox, Self.client("dtmf", 2, #"{"digit":"1"}"#)) == [.dtmf("1")])
    }

    @Test func messagesOutOfPlaceAreErrors() throws {
        let (early, inbox) = try application()
        #expect(throws: MediaStreamError.self) { try early.hear(inbox, Self.client("dtmf", 1, #"{"digit":"1"}"#)) }
        let (dialect, other) = try opened()
        #expect(throws: MediaStreamError.self) { try dialect.hear(other, Self.client("open", 2, Self.parameters())) }
        #expect(throws: MediaStreamError.self) { try dialect.hear(other, Self.client("error", 3, #"{"code":429}"#)) }
        #expect(throws: MediaStreamError.self) {
            try dialect.hear(other, Self.client("resumed", 4, #"{"start":"PT9E9S","discarded":"P1D"}"#))
        }
        #expect(throws: MediaStreamError.self) {
            try dialect.hear(other, binary: [UInt8](repeating: 0, count: 64_001))
        }
        #expect(dialect.refusal(other, String(repeating: " ", count: 65_536)) == nil)
        #expect(throws: MediaStreamError.self) { try dialect.hear(other, binary: []) }
        let l16 = Self.offer.replacing("PCMU", with: "L16")
        let (linear, odd) = try application(Self.client("open", 1, Self.parameters(media: l16)))
        _ = linear.text(.start(StreamStart(streamID: "", callID: "")))
        #expect(throws: MediaStreamError.self) { try linear.hear(odd, binary: [1, 2, 3]) }
    }

    // MARK: We are the client

    private func carrier(_ texts: String...) throws -> (dialect: GenesysDialect, inbox: DialectInbox) {
        let dialect = GenesysDialect(DialectOptions(role: .carrier))
        let inbox = try DialectInbox(dialect.terms)
        _ = dialect.text(.start(ConnectorLine.start))
        for text in texts { _ = try dialect.hear(inbox, text) }
        return (dialect, inbox)
    }

    private static let accepted = server(
        "opened", 1, #"{"media":[{"type":"audio","format":"PCMU","channels":["external"],"rate":8000}]}"#)

    @Test func aCarrierOffersWhatAServerMayChoose() throws {
        let dialect = GenesysDialect(DialectOptions(role: .carrier))
        let text = try #require(dialect.text(.start(ConnectorLine.start)))
        let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["seq"] as? Int == 1 && object["serverseq"] as? Int == 0)
        #expect(object["position"] as? String == "PT0.000S" && object["version"] as? String == "2")
        let parameters = try #require(object["parameters"] as? [String: Any])
        #expect(parameters["conversationId"] as? String == ConnectorLine.start.callID)
        #expect((parameters["media"] as? [Any])?.count == 2)
        #expect((parameters["participant"] as? [String: String])?["ani"] == "+4930")
        #expect(parameters["inputVariables"] as? [String: String] == ["k": "v \"1\""])
        #expect(dialect.text(.start(ConnectorLine.start)) == nil && dialect.text(.dtmf("1")) == nil)
        let headers = GenesysDialect.headers(of: ConnectorLine.start)
        #expect(headers.first { $0.name == "audiohook-session-id" }?.value == object["id"] as? String)
        // Ids of ours become UUIDs, the same each time.
        let made = GenesysMedia.uuid(of: "MZ1")
        #expect(made == GenesysMedia.uuid(of: "MZ1") && UUID(uuidString: made) != nil)
        #expect(made.dropFirst(14).first == "5")
    }

    @Test func whatTheServerAsksForIsDone() throws {
        let (dialect, inbox) = try carrier(Self.accepted)
        let event = #"{"entities":[{"type":"transcript","data":{"x":[{}]}},{"type":"barge_in","data":{}}]}"#
        #expect(try dialect.hear(inbox, Self.server("event", 2, event)) == [.clear])
        #expect(try dialect.hear(inbox, Self.server("event", 3, #"{"entities":[{"type":"x"}]}"#)) == [])
        inbox.timeMs = 1_000
        _ = try dialect.hear(inbox, Self.server("pause", 4))
        #expect(inbox.isPaused)
        inbox.timeMs = 3_500
        _ = try dialect.hear(inbox, Self.server("resume", 5))
        #expect(!inbox.isPaused)
        #expect(replies(inbox).last?.contains(#"{"start":"PT0.000S","discarded":"PT2.500S"}"#) == true)
        #expect(dialect.text(.dtmf("5"))?.contains(#""position":"PT2.500S","parameters":{"digit":"5"}"#) == true)
        #expect(try dialect.hear(inbox, Self.server("disconnect", 6, #"{"reason":"completed"}"#)) == [.stop])
        #expect(replies(inbox).last?.contains(#"{"reason":"disconnect"}"#) == true && dialect.text(.stop) == nil)
        #expect(try dialect.hear(inbox, Self.server("closed", 7)) == [])
    }

    @Test(arguments: ["error", "unauthorized"]) func aServerThatGivesUpHasFailed(reason: String) throws {
        let (dialect, inbox) = try carrier(Self.accepted)
        #expect(try dialect.hear(inbox, Self.server("disconnect", 2, #"{"reason":"\#(reason)","info":"x"}"#)) == [])
        #expect(inbox.hasFailed && replies(inbox).last?.contains(#"{"reason":"disconnect"}"#) == true)
    }

    @Test func playingIsTold() throws {
        let (dialect, inbox) = try carrier(Self.accepted)
        let long = try dialect.hear(inbox, binary: [UInt8](repeating: 3, count: 64_000))
        #expect(ConnectorLine.frames(long).count == 400 && ConnectorLine.marks(long) == ["1"])
        #expect(ConnectorLine.marks(try dialect.hear(inbox, binary: [UInt8](repeating: 3, count: 160))) == ["2"])
        #expect(replies(inbox).filter { $0.contains("playback_started") }.count == 1)
        #expect(dialect.text(.mark("1")) == nil)
        #expect(dialect.text(.mark("2"))?.contains(#""type":"playback_completed""#) == true)
        #expect(dialect.text(.mark("2")) == nil && dialect.text(.mark("x")) == nil)
    }

    @Test func pingsAreAnsweredOrMissed() throws {
        let (dialect, inbox) = try carrier(Self.accepted)
        let ping = try #require(dialect.encode(.keepAlive).map { String(decoding: $0, as: UTF8.self) })
        #expect(ping.contains(#""type":"ping","id":"\#(ConnectorLine.start.streamID)","seq":2,"serverseq":1"#))
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, Self.server("pong", 2, clientseq: 1)) }
        #expect(try dialect.hear(inbox, Self.server("pong", 3, clientseq: 2)) == [])
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, Self.server("pong", 4, clientseq: 2)) }
        _ = dialect.encode(.keepAlive)
        #expect(dialect.encode(.keepAlive).map { String(decoding: $0, as: UTF8.self) }?.contains("408") == true)
    }

    @Test func aServerMayNotChooseWhatWasNotOffered() throws {
        for (text, refusal) in [
            (Self.accepted.replacing(#"["external"]"#, with: #"["external","internal"]"#), StreamRefusal.format),
            (Self.server("opened", 1, #"{"media":[]}"#), .format), (Self.server("opened", 1), .malformed),
            (Self.server("opened", 2), .malformed), (Self.server("opened", 1, clientseq: 2), .malformed),
        ] {
            let (dialect, inbox) = try carrier()
            #expect(dialect.refusal(inbox, text) == refusal)
        }
        let (dialect, inbox) = try carrier()
        #expect(throws: MediaStreamError.self) { try dialect.hear(inbox, Self.server("event", 1)) }
        let silent = GenesysDialect(DialectOptions(role: .carrier))
        #expect(throws: MediaStreamError.self) { try silent.hear(inbox, Self.server("disconnect", 1)) }
    }

    @Test func randomBytesNeverTrap() throws {
        let valid = [
            Self.client("open", 1, Self.parameters()), Self.client("dtmf", 2, #"{"digit":"1"}"#), Self.accepted,
            Self.server("event", 2, #"{"entities":[{"type":"barge_in"}]}"#),
            Self.client("resumed", 2, #"{"start":"PT1S","discarded":"PT2.5S"}"#),
        ]
        for round in 0..<3_000 {
            let role: MediaStreamRole = round % 2 == 0 ? .application : .carrier
            let (dialect, inbox) = role == .application ? try application() : try carrier()
            for text in valid {
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 0...3) {
                    bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
                }
                let kind: WebSocket.Kind = Int.random(in: 0..<4) == 0 ? .binary : .text
                bytes = Array(bytes.prefix(Int.random(in: 0...4) == 0 ? Int.random(in: 0...bytes.count) : bytes.count))
                try? bytes.withUnsafeBufferPointer { try dialect.decode($0, kind, into: inbox) }
                for message in inbox.take() { _ = dialect.text(message) }
                _ = inbox.takeReplies()
            }
        }
    }
}
