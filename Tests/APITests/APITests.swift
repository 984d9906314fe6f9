import Bridge
import Calls
import Foundation
import Logging
import Net
import Problems
import Realtime
import Store
import Testing

@testable import API

@Suite struct JSONValueTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    @Test func valuesSurvive() throws {
        let text = #"{"a":[1,-2.5,1000,true,null,"x\"\\\u0001é"],"b":{}}"#
        #expect(try parse(text).text == text)
        #expect(try parse(#""\ud83d\ude00""#) == .string("😀"))
    }
    @Test(arguments: [
        "", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1.", "-", "nul", "\"\\x\"", "\"\u{1}\"", "1 2",
        "{'a':1}", "\"\\ud800\"",
        String(repeating: "[", count: 100), "\"abc", "\"\\u+123\"", "\"\\u-123\"",
    ])
    func nonsenseIsAnError(text: String) { #expect(throws: JSONValue.ParseError.self) { _ = try parse(text) } }
    @Test func badUTF8IsAnError() {
        #expect(throws: JSONValue.ParseError.self) { _ = try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
    }
}

@Suite struct CallRequestTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let good =
        #""caller_number":"025550100","callee_number":"sip:bob@127.0.0.1:5090","purpose":"to ask","questions":["Will you come?"]"#

    private func parse(_ members: String, settings: CallSettings = CallSettings()) throws(APIError) -> CallRequest {
        try CallRequest(
            Array("{\(members)}".utf8), settings: settings, webhooks: .init(secret: .random()), requestedBy: "t",
            now: now)
    }
    private func fields(_ members: String) -> [String] {
        do throws(APIError) { _ = try parse(members) } catch { return error.errors.map(\.field) }
        return []
    }

    @Test func defaultsAreThoseOfTheContract() throws {
        let call = try parse(Self.good).call
        #expect(
            call.maxDuration == 180 && call.priority == 5 && call.maxRetries == 2 && call.retryOnNoAnswer
                && call.state == .queued)
        #expect(call.id.count == 11 && call.brief.questions.map(\.id) == ["q1"])
    }
    @Test func everyBadFieldIsNamed() {
        #expect(fields("") == ["caller_number", "callee_number", "purpose", "questions"])
        #expect(
            fields(
                #""caller_number":"x","callee_number":5,"purpose":"  ","questions":[],"priority":11,"max_duration":"long","extra":1,"scheduled_at":"2020-01-01T00:00:00Z","language":"e","metadata":[]"#
            ).sorted()
                == [
                    "callee_number", "caller_number", "extra", "language", "max_duration", "metadata", "priority",
                    "purpose", "questions",
                    "scheduled_at",
                ])
    }
    @Test(arguments: [
        (#""questions":[]"#, "questions"), (#""questions":["a",""]"#, "questions[1]"),
        (#""questions":[{"text":"a","type":"x"}]"#, "questions[0].type"),
        (#""questions":[{"text":"a","type":"choice"}]"#, "questions[0].choices"),
        (#""questions":[{"text":"a","ask_if":{"equals":1}}]"#, "questions[0].ask_if.question"),
        (#""questions":[7]"#, "questions[0]"), (#""questions":"a""#, "questions"), (#""agent":"x""#, "agent"),
        (#""webhook_url":"http://x.example""#, "webhook_url"),
        (#""max_duration":9"#, "max_duration"), (#""priority":1.5"#, "priority"),
        (#""retry_on_no_answer":"yes""#, "retry_on_no_answer"),
        (#""scheduled_at":"2027-02-01 10:00""#, "scheduled_at"),
        (#""callee_number":"browser:somebody""#, "callee_number"),
    ])
    func oneBadFieldIsNamed(member: String, field: String) {
        let name = String(member.dropFirst().prefix { $0 != "\"" })
        let rest = Self.good.components(separatedBy: ",\"").map { $0.hasPrefix("\"") ? $0 : "\"" + $0 }.filter {
            !$0.hasPrefix("\"\(name)\"")
        }
        #expect(fields((rest + [member]).joined(separator: ",")) == [field])
    }
    @Test func twentyOneQuestionsAreTooMany() {
        let many = "[" + (0..<21).map { _ in "\"q\"" }.joined(separator: ",") + "]"
        #expect(
            fields(
                #""caller_number":"025550100","callee_number":"sip:bob@127.0.0.1","purpose":"p","questions":"# + many)
                == ["questions"])
    }
    @Test func refusalsHaveTheirCodes() throws {
        func error(_ members: String, _ settings: CallSettings = CallSettings()) -> APIError? {
            do throws(APIError) { _ = try parse(members, settings: settings) } catch { return error }
            return nil
        }
        #expect(error(Self.good.replacing("127.0.0.1:5090", with: "example.org"))?.code == "no_route")
        #expect(error(Self.good + #","agent":"a""#)?.code == "invalid")
        var strict = CallSettings()
        strict.routing.allowedCallers = ["999999"]
        // It may be one of the stored numbers: the route decides.
        #expect(try parse(Self.good, settings: strict).notAllowed?.code == .callerNotAllowed)
        let twice = error(Self.good + #","purpose":"again""#)
        #expect(twice?.status == 422)
        let past = error(Self.good + #","scheduled_at":"2020-01-01T00:00:00Z""#)?.errors.first
        #expect(past?.problem == Problem(.inThePast) && past?.message == "lies in the past")
    }
    @Test func aLongDurationIsLoweredAndSaidSo() throws {
        let request = try parse(Self.good + #","max_duration":3600"#)
        #expect(request.call.maxDuration == 300 && request.warnings.map(\.code) == [.durationLowered])
    }
}

@Suite struct PayloadTests {
    @Test(arguments: [("01098765432", "010****5432"), ("sip:alice@127.0.0.1", "sip:a***@127.0.0.1"), ("12345", "1***")])
    func numbersAreMasked(number: String, masked: String) { #expect(Payloads.masked(number) == masked) }

    @Test func eventsCarryTheirPayloadInTheEnvelope() throws {
        let event = CallEvent(
            id: 3, name: "x", at: Date(timeIntervalSince1970: 0), callID: "ob-1", direction: .outbound,
            payload: #"{"a":1}"#)
        #expect(event.envelope == #"{"id":3,"event":"x","at":"1970-01-01T00:00:00.000Z","outbound_id":"ob-1","a":1}"#)
    }
}

@Suite struct AuthenticatorTests {
    private func request(_ headers: [String: String]) -> HTTPRequest {
        HTTPRequest(method: "GET", path: "/", headers: headers)
    }

    @Test func keysAndSessions() throws {
        let authenticator = Authenticator()
        authenticator.take([
            .init(
                hash: Authenticator.hash("secret-key"), name: "me", role: "operator", createdAt: Date(),
                createdBy: "test")
        ])
        #expect(authenticator.principal(of: request(["authorization": "Bearer secret-key"]))?.role == .operator)
        #expect(authenticator.principal(of: request(["authorization": "Bearer other"])) == nil)
        #expect(authenticator.principal(of: request([:])) == nil)
        let session = try #require(authenticator.logIn(key: "secret-key"))
        let cookie = request(["cookie": "a=b; \(Authenticator.cookie)=\(session.token)"])
        #expect(authenticator.principal(of: cookie)?.isSession == true)
        _ = authenticator.logOut(cookie)
        #expect(authenticator.principal(of: cookie) == nil && authenticator.logIn(key: "wrong") == nil)
    }
    @Test func aCookieNeedsOurOwnOrigin() {
        #expect(Authenticator.isSameOrigin(request(["sec-fetch-site": "same-origin"])))
        #expect(!Authenticator.isSameOrigin(request(["sec-fetch-site": "cross-site"])))
        #expect(Authenticator.isSameOrigin(request(["origin": "http://h:1", "host": "h:1"])))
        #expect(
            !Authenticator.isSameOrigin(request(["origin": "http://evil", "host": "h:1"]))
                && !Authenticator.isSameOrigin(request([:])))
    }
    @Test func theRateIsLimited() {
        let authenticator = Authenticator(rate: (1, 3), now: { Date(timeIntervalSince1970: 0) })
        #expect((0..<4).map { _ in authenticator.secondsToWait(for: "x") } == [nil, nil, nil, 1])
        #expect(authenticator.secondsToWait(for: "y") == nil)
    }
}

@Suite struct DashboardTests {
    @Test(arguments: ["../Package.swift", "a/../../x.js", ".hidden.js", "", "a//b.js", "x.exe"])
    func pathsStayInside(path: String) {
        var request = HTTPRequest(method: "GET", path: "/web/" + path)
        request.parameters = ["path": path]
        #expect(Dashboard(root: FileManager.default.currentDirectoryPath + "/web").file(request).status == 404)
    }
}

@Suite struct SignedPathTests {
    @Test func goodForItsPathAndItsTime() throws {
        let paths = SignedPath()
        let now = Date(timeIntervalSince1970: 1_000_000)
        let query = try #require(URLComponents(string: paths.sign("/a/1", at: now))?.queryItems)
        let (expires, code) = (query[0].value, query[1].value)
        func isValid(_ path: String, _ expires: String?, _ code: String?, after seconds: Double = 0) -> Bool {
            paths.isValid(path, expires: expires, code: code, at: now.addingTimeInterval(seconds))
        }
        #expect(isValid("/a/1", expires, code) && isValid("/a/1", expires, code, after: 299))
        #expect(
            !isValid("/a/1", expires, code, after: 301) && !isValid("/a/2", expires, code)
                && !isValid("/a/1", "9000000", code))
        #expect(
            !isValid("/a/1", expires, nil) && !isValid("/a/1", nil, code)
                && !isValid("/a/1", expires, code.map { $0 + "0" }))
        #expect(!SignedPath().isValid("/a/1", expires: expires, code: code, at: now), "another process's")
    }
}

@Suite struct OpenAPITests {
    /// In both directions: no route without a description, no description without a route.
    @Test func theDocumentDescribesExactlyTheRoutesThereAre() throws {
        let routes = try Self.patterns().filter { pattern in
            let path = String(pattern.split(separator: " ")[1])
            return !OpenAPI.undocumented.contains { path.hasPrefix($0) }
                && !(pattern.hasPrefix("GET ") && OpenAPI.pages.contains(path))
        }
        #expect(Set(routes) == Set(OpenAPI.operations.keys))
        #expect(routes.count == Set(routes).count)
    }

    @Test func theDocumentIsWholeAndItsReferencesLeadSomewhere() throws {
        guard case .object(let document) = OpenAPI.document, case .object(let paths)? = document["paths"],
            case .object(let components)? = document["components"], case .object(let schemas)? = components["schemas"]
        else { return #expect(Bool(false)) }
        #expect(document["openapi"] == "3.1.0" && paths.count > 20)
        let references = OpenAPI.document.text.components(separatedBy: "#/components/schemas/").dropFirst().map {
            $0.prefix { $0.isLetter }
        }
        for name in Set(references) { #expect(schemas[String(name)] != nil, "\(name)") }
        #expect(OpenAPI.page.contains("POST /api/outbound") && !OpenAPI.page.contains("<script"))
    }

    private static func patterns() throws -> [String] {
        let folder = NSTemporaryDirectory() + "openapi-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        var sip = UserAgent.Configuration()
        sip.port = UInt16.random(in: 20_000..<30_000)
        let userAgent = try UserAgent(sip)
        defer { userAgent.stop() }
        let line = CallLine(
            userAgent: userAgent, modes: { _, _ in [] },
            voice: { _, _ in EmbeddedSpeech(workers: WorkerPool(name: "test", threads: 1)) },
            store: store, logger: Logger(label: "test"))
        let settings = CallSettings()
        return Routes(
            .init(
                store: store, dialler: Dialler(line: line, loops: [], settings: settings),
                authenticator: Authenticator(), settings: settings,
                webRoot: nil, logger: line.logger, tickets: StreamTickets(nowMs: { 0 }),
                turns: TurnServer(line: line),
                arrivals: ProviderArrivals(
                    InboundRouter(
                        loops: [], settings: settings,
                        operators: OperatorDirectory(realm: "test", algorithms: [.md5], plan: settings.routing.plan),
                        numbers: NumberDirectory(plan: settings.routing.plan))))
        ).patterns
    }
}

@Suite struct JSONTextTests {
    @Test func textsAreWrittenAsEveryReaderReadsThem() throws {
        let scalars =
            (0..<0x250).compactMap { Unicode.Scalar($0 as Int) } + [
                "\u{2027}", "\u{2028}", "\u{2029}", "\u{A8}", "\u{1F600}", "한", "я",
            ]
        let text = String(String.UnicodeScalarView(scalars))
        let written = JSONValue.object([
            text: .array([.string(text), .number(-1.5), .number(1e300), .null, .bool(true), .object([:])])
        ]).bytes
        let read = try #require(try JSONSerialization.jsonObject(with: Data(written)) as? [String: [Any]])
        #expect(read.keys.first == text && read[text]?.first as? String == text)
        #expect(!written.contains { $0 < 0x20 } && !String(decoding: written, as: UTF8.self).contains("\u{2028}"))
        #expect(
            try JSONValue(parsing: written)
                == .object([
                    text: .array([.string(text), .number(-1.5), .number(1e300), .null, .bool(true), .object([:])])
                ]))
    }
}

@Suite struct ListenPathTests {
    @Test func aPathNamesOneCall() {
        #expect(ListenSocket.call(in: "/api/outbound/ob-1a2b3c4d/listen") == "ob-1a2b3c4d")
        #expect(ListenSocket.call(in: "/api/inbound/in-1a2b3c4d/listen") == "in-1a2b3c4d")
    }

    @Test(arguments: [
        "/api/outbound/in-1a2b3c4d/listen", "/api/inbound/ob-1a2b3c4d/listen", "/api/outbound/ob-1a2b3c4d/listen/",
        "/api/outbound/listen", "",
        "//api/outbound/ob-1a2b3c4d/listen", "/api/calls/ob-1a2b3c4d/listen",
    ])
    func andNoOtherPathDoes(_ path: String) { #expect(ListenSocket.call(in: path) == nil) }
}
