import Foundation
import Net

@testable import Bridge

/// A server that breaks a rule, for every rule of every dialect.
enum RuleBreakers {
    typealias Breaker = (CheckRun) -> Void

    /// nil: there is none.
    static func breaker(of rule: String, _ dialect: any MediaStreamDialect.Type) -> Breaker? {
        own["\(dialect.traits.name)/\(rule)"] ?? common(dialect)[rule]
    }

    /// A secret that every dialect takes.
    static let signingSecret = "c2VjcmV0IG9mIGEgY2xpZW50"

    /// Whether an upgrade of a check is signed with it, as the carrier signs.
    static func signed(_ dialect: any MediaStreamDialect.Type) -> (StreamAttempt) -> Bool {
        { attempt in
            let headers = Dictionary(attempt.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
            switch dialect.traits.name {
            case "twilio":
                return FormSignature(key: signingSecret).isValid(
                    headers["x-twilio-signature"] ?? "", url: "wss://h/media")
            case "plivo":
                return PlivoSignature(authToken: signingSecret).isValid(
                    "GET", url: "wss://h/media", query: attempt.query, headers: headers)
            default:
                let key = headers["x-api-key"] ?? ""
                return GenesysSignature(apiKey: key, clientSecret: signingSecret)?.proof(
                    target: "/media", authority: "h", headers: headers, at: Date()) != nil
            }
        }
    }

    private static func say(_ text: String) -> Breaker {
        { run in run.fault.atStart = { $0.say(text) } }
    }

    /// Changes the first message that has this in it.
    static func once(_ part: String, _ replacement: String) -> Breaker {
        { run in
            var isDone = false
            run.fault.mangle = { text in
                guard !isDone, text.contains(part) else { return text }
                isDone = true
                return text.replacing(part, with: replacement)
            }
        }
    }

    /// Changes a message by a pattern, once.
    static func once(_ pattern: some RegexComponent, in part: String, _ replacement: String) -> Breaker {
        { run in
            var isDone = false
            run.fault.mangle = { text in
                guard !isDone, text.contains(part) else { return text }
                isDone = true
                return text.replacing(pattern, with: replacement)
            }
        }
    }

    private static func common(_ dialect: any MediaStreamDialect.Type) -> [String: Breaker] {
        let shape = dialect.conformance.shape
        let key = shape.nameKeys.first ?? "event"
        let sound = [UInt8](repeating: 0, count: 3_200)
        var breakers: [String: Breaker] = [
            "upgrade": { $0.answer = .refused(status: 404) },
            "subprotocol": { $0.chosen = { _ in "another" } },
            "let-in": { $0.fault.atStart = { $0.close(1_008) } },
            "wrong-token": { run in
                run.token = "right"
                run.expected = { $0 != nil }
            },
            "no-token": { run in
                run.token = "right"
                run.expected = { $0 == nil || $0 == "right" }
            },
            "wrong-signature": { run in
                run.token = "right"
                run.secret = signingSecret
                run.expected = { $0 == "right" }
                run.isSigned = { $0.headers.contains { $0.name.contains("signature") } }
            },
            "no-signature": { run in
                run.token = "right"
                run.secret = signingSecret
                run.expected = { $0 == "right" }
                let right = Self.signed(dialect)
                run.isSigned = { attempt in
                    !attempt.headers.contains { $0.name.contains("signature") } || right(attempt)
                }
            },
            "ping": { $0.pongs = 0 },
            "message-kind": { $0.fault.atStart = { $0.say(sound: [1, 2]) } },
            "text-form": say(#"{"\#(key)":"#),
            "message-name": say(#"{"\#(key)":"nonsense"}"#),
            "fields": once(#""name":"#, #""nmae":"#),
            "sound-order": { $0.fault.atOpen = { $0.say(payload: sound) } },
            "whole-samples": { $0.fault.atStart = { $0.say(payload: []) } },
            "encoding": { run in
                let header = Array("RIFF".utf8)
                run.fault.sound = { header + $0.dropFirst(header.count) }
                run.fault.mangle = { text in
                    text.replacing(/("payload":")[A-Za-z0-9+\/]{8}/) { $0.output.1 + "UklGRgAA" }
                }
            },
            "silence": { $0.fault.atTick = { if $1 > 1_500 { $0.close(1_011) } } },
            "dtmf": { $0.fault.atDigit = { $0.close(1_011) } },
            "unknown-message": { $0.fault.atUnknown = { $0.close(1_011) } },
            "barge-in": { run in
                run.fault.clears = false
                run.fault.answerFrames = 400
            },
            "carrier-ends": { $0.isDeaf = true },
            "server-ends": { $0.fault.atTick = { if $1 > 4_500 { $0.close(1_011) } } },
        ]
        if shape.soundPath != nil {
            breakers["base64"] = once(/"payload":"./, in: #""payload":""#, #""payload":"!"#)
        }
        if let path = shape.streamIDPath {
            breakers["stream-id"] = once(
                /"(streamSid|streamId|stream_sid)":"[^"]*"/, in: "\"name\":", "\"\(path)\":\"x\"")
        }
        return breakers
    }

    private static var own: [String: Breaker] {
        [
            "twilio/no-other-members": once(#""mark":{"#, #""extra":1,"mark":{"#),
            "twilio/mark-name": once(/"name":"[^"]*"/, in: #""name":"#, #""name":"""#),
            "telnyx/message-length": { $0.fault.atStart = { $0.say(payload: [UInt8](repeating: 0xFF, count: 80)) } },
            "plivo/content-type": once("audio/x-mulaw", "audio/x-l16"),
            "plivo/digits": say(#"{"event":"sendDTMF","dtmf":"12x"}"#),
            "vonage/fields": once(/"payload":\{[^}]*\}/, in: #""payload":"#, #""payload":3"#),
            "vonage/frame-size": { $0.fault.atStart = { $0.say(sound: [UInt8](repeating: 0, count: 642)) } },
            "vonage/buffer": { run in
                run.fault.atSpeech = { server in
                    let frame = VonageDialect.traits.formats[0].bytes(ofMs: 20)
                    let loud = (0..<frame).map { UInt8($0 % 2 == 0 ? 0 : ($0 / 32 % 2 == 0 ? 0x20 : 0xE0)) }
                    for _ in 0..<1_200 { server.say(sound: loud) }
                }
            },
            "signalwire/digit": say(#"{"event":"dtmf","streamSid":"ID","dtmf":{"digit":"x"}}"#),
            "exotel/chunk-multiple": { $0.fault.atStart = { $0.say(payload: [UInt8](repeating: 0, count: 3_210)) } },
            "exotel/chunk-size": { $0.fault.atStart = { $0.say(payload: [UInt8](repeating: 0, count: 640)) } },
            "genesys/message-name": once(#""type":"event""#, #""type":"nonsense""#),
            "genesys/fields": once(/"entities":\[.*\]/, in: #""entities":"#, #""entities":{}"#),
            "genesys/stream-id": once(
                /"id":"[^"]*"/, in: #""type":"event""#, #""id":"00000000-0000-1000-8000-000000000000""#),
            "genesys/sequence": once(/"seq":\d+/, in: #""type":"event""#, #""seq":900"#),
            "genesys/client-sequence": once(/"clientseq":\d+/, in: #""type":"event""#, #""clientseq":90000"#),
            "genesys/media-choice": once(#""rate":8000"#, #""rate":16000"#),
            "genesys/opened": { $0.fault.answersStart = false },
            "genesys/pong": once(/"clientseq":\d+/, in: #""type":"pong""#, #""clientseq":0"#),
            "genesys/closed": { $0.fault.mangle = { $0.contains(#""type":"closed""#) ? nil : $0 } },
            "genesys/size": { $0.fault.atStart = { $0.say(sound: [UInt8](repeating: 0xFF, count: 64_160)) } },
            "asterisk/fields": say(#"{"command":"SET_MEDIA_DIRECTION","direction":"up"}"#),
            "asterisk/message-size": { $0.fault.atStart = { $0.say(sound: [UInt8](repeating: 0xFF, count: 65_600)) } },
            "asterisk/command-length": { run in
                run.fault.atStart = {
                    $0.say(#"{"command":"MARK_MEDIA","correlation_id":"\#(String(repeating: "m", count: 120))"}"#)
                }
            },
            "asterisk/whole-frames": { $0.fault.atStart = { $0.say(sound: [UInt8](repeating: 0xFF, count: 170)) } },
            "asterisk/xoff": { run in
                run.fault.atTick = { server, ms in
                    if ms < 2_000, ms % 100 < 20 { server.say(sound: [UInt8](repeating: 0xFF, count: 32_000)) }
                }
            },
            "asterisk/chosen-subprotocol": { $0.chosen = { _ in nil } },
            "jambonz/streamed-sound": say(
                #"{"type":"playAudio","data":{"audioContent":"AAAA","audioContentType":"raw","sampleRate":8000}}"#),
            "jambonz/mark-name": once(/"name":"[^"]*"/, in: #""name":"#, #""name":"""#),
            "jambonz/chosen-subprotocol": { $0.chosen = { _ in nil } },
        ]
    }
}
