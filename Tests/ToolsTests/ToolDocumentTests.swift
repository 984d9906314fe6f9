import Foundation
import JSON
import Problems
import Realtime
import Testing

@testable import Tools

@Suite struct ToolDocumentTests {
    static let whole: JSONValue = [
        "name": "crm_lookup", "description": "Looks a customer up.",
        "parameters": ["type": "object", "properties": ["caller": ["type": "string"], "q": ["type": "string"]]],
        "fixed": ["caller": "{{caller.number}}"],
        "request": [
            "method": "POST", "url": "https://crm.example.org/{{tenant}}/find?lang={{variables.lang|en}}",
            "headers": ["Authorization": "Bearer {{secrets.crm}}", "X-Tenant": "{{tenant}}"],
            "query": ["said": "{{answers.q1}}"], "body": ["filter": ["text": "{{arguments.q}}"]],
        ],
        "timeout_ms": 2000, "retries": 2, "idempotent": true,
        "response": ["into": ["price": "/data/price"], "tell": "/data/summary"],
        "speak": ["before": "Let me look, {{name}}.", "texts": ["One moment."]], "confirm": true, "limit": 3,
    ]

    static func issues(
        _ json: JSONValue, _ addresses: ToolAddresses = ToolAddresses(), secrets: Set<String>? = nil
    ) -> [String] {
        do throws(ToolIssues) {
            _ = try ToolDocument(json, addresses, secrets: secrets)
            return []
        } catch { return error.issues.map { "\($0.pointer) \($0.problem.code.name)" } }
    }

    static func with(_ pointer: String, _ value: JSONValue, in json: JSONValue = whole) -> JSONValue {
        let tokens = JSONPointer(pointer)?.tokens ?? []
        func set(_ json: JSONValue, _ tokens: ArraySlice<String>) -> JSONValue {
            guard let first = tokens.first else { return value }
            var members: [String: JSONValue] = if case .object(let members) = json { members } else { [:] }
            members[first] = set(members[first] ?? [:], tokens.dropFirst())
            return .object(members)
        }
        return set(json, tokens[...])
    }

    @Test func aWholeDocumentIsRead() throws {
        let document = try ToolDocument(Self.whole, ToolAddresses(), secrets: ["crm"])
        #expect(document.name == "crm_lookup" && document.timeoutMs == 2_000 && document.retries == 2)
        #expect(document.variables == ["tenant", "lang", "name"] && document.secrets == ["crm"])
        var values = ToolValues(callID: "ob-1", direction: "outbound")
        values.variables = ["name": "Ann"]
        let tool = document.tool(revision: 4, values)
        #expect(tool.name == "crm_lookup" && tool.revision == 4 && tool.needsConsent && tool.limit == 3)
        #expect(tool.speech == .init(before: "Let me look, Ann.", texts: ["One moment."]))
        #expect(!tool.parameters.contains("caller") && tool.parameters.contains(#""q""#))
    }

    @Test func allThatIsWrongIsToldAtOnce() {
        let json: JSONValue = [
            "name": "Crm", "request": ["method": "HEAD", "url": "ftp://x", "headers": ["Host": "x", "X-A": 3]],
            "timeout_ms": 10, "retries": 9, "speak": ["texts": "x"], "limit": 0, "confirm": "yes", "other": 1,
            "response": ["tell": "data"],
        ]
        #expect(
            Set(Self.issues(json)) == [
                "/name not_tool_name", "/description required", "/request/method not_choice", "/request/url not_https",
                "/request/headers/Host reserved_name", "/request/headers/X-A not_text", "/timeout_ms not_in_range",
                "/retries not_in_range", "/speak/texts not_array", "/limit not_in_range", "/confirm not_boolean",
                "/other unknown_field", "/response/tell not_pointer",
            ])
        #expect(Self.issues("x") == [" not_object"])
        #expect(Self.issues(Self.whole, secrets: ["other"]) == ["/request/headers/Authorization unknown_secret"])
    }

    @Test(arguments: [
        ("/request/url", "https://{{tenant}}.example.org/", "place_in_authority"),
        ("/request/url", "https://crm.example.org{{tenant}}/x", "place_in_authority"),
        ("/request/url", "{{variables.url}}", "place_in_authority"),
        ("/request/url", "https://crm.example.org:{{port}}/", "place_in_authority"),
        ("/request/url", "https://crm.example.org/{{answers.q1}}", "place_not_here"),
        ("/request/url", "https://crm.example.org/{{arguments.q}}", "place_not_here"),
        ("/request/url", "https://crm.example.org/?k={{secrets.crm}}", "place_not_here"),
        ("/request/url", "https://crm.example.org/../{{tenant}}", "path_leads_elsewhere"),
        ("/request/url", "https://crm.example.org/%2e%2e/x", "path_leads_elsewhere"),
        ("/request/url", "https://crm.example.org/{{tenant", "template_malformed"),
        ("/request/url", "https://u:p@crm.example.org/", "credentials_in_url"),
        ("/request/url", "http://crm.example.org/", "http_only_on_loopback"),
        ("/request/url", "http://169.254.169.254/latest", "http_only_on_loopback"),
        ("/request/url", "https://[::1]/", "address_private"), ("/request/url", "https://10.0.0.1/", "address_private"),
        ("/request/url", "https://[::ffff:127.0.0.1]/", "address_private"),
        ("/request/headers/X-A", "{{answers.q1}}", "place_not_here"),
        ("/request/headers/X-A", "{{tools.a.b}}", "place_not_here"),
        ("/request/headers/X-A", "a\r\nb", "not_header_value"),
        ("/request/headers/Idempotency-Key", "x", "reserved_name"),
        ("/request/query/a", "{{secrets.crm}}", "place_not_here"),
        ("/request/body/a", "{{secrets.crm}}", "place_not_here"),
        ("/request/body/a", "{{call.other}}", "place_unknown"),
        ("/fixed/caller", "{{answers.q1}}", "place_not_here"), ("/fixed/caller", "{{arguments.q}}", "place_not_here"),
        ("/speak/before", "{{tools.a.b}}", "place_not_here"), ("/name", "end_call", "reserved_name"),
    ])
    func templatesStandOnlyWhereTheyMay(pointer: String, value: String, code: String) {
        let found = Self.issues(Self.with(pointer, .string(value)))
        #expect(found.contains("\(pointer) \(code)"), "\(found)")
    }

    @Test func retriesNeedARequestThatMayBeRepeated() {
        #expect(Self.issues(Self.with("/idempotent", false)) == ["/retries retries_not_safe"])
        var json = Self.with("/idempotent", false)
        json = Self.with("/request", ["method": "GET", "url": "https://a.example.org"], in: json)
        #expect(Self.issues(json).isEmpty)
        #expect(
            Self.issues(Self.with("/request", ["method": "GET", "url": "https://a.example.org", "body": "json"]))
                == ["/request/body not_beside"])
    }

    @Test func whatIsAllowedMayBeInOurNetwork() {
        let addresses = ToolAddresses(isBoundToLoopback: false, allowedHosts: ["10.0.0.1:8443", "crm.internal:443"])
        #expect(addresses.problem(with: "https://10.0.0.1:8443/x") == nil)
        #expect(addresses.problem(with: "https://10.0.0.1:8444/x")?.code == .addressPrivate)
        #expect(addresses.problem(with: "http://127.0.0.1:80/x")?.code == .httpOnlyOnLoopback)
        #expect(
            addresses.allowsPrivate("https://CRM.internal/x") && !addresses.allowsPrivate("https://crm.internal:1/"))
        #expect(ToolAddresses().allowsPrivate("http://127.0.0.1:80/x"))
        #expect(!ToolAddresses().allowsPrivate("https://127.0.0.1/x"))
    }

    @Test(arguments: ToolPreset.allCases) func presetsAreDocuments(preset: ToolPreset) throws {
        let document = try ToolDocument(
            [
                "preset": .string(preset.rawValue), "api_url": "https://a.example.org/x",
                "headers": ["X-Key": "{{secrets.k}}"],
            ], ToolAddresses(), secrets: ["k"])
        #expect(document.name == preset.rawValue && document.secrets == ["k"])
        #expect(document.needsConsent == (preset == .bookAppointment))
        #expect(Self.issues(document.json).isEmpty)
        #expect(
            Self.issues(["preset": .string(preset.rawValue), "api_url": "https://10.1.1.1"])
                == ["/request/url address_private"])
    }

    @Test func aPresetWantsAnAddress() {
        #expect(Self.issues(["preset": "check_availability"]) == ["/api_url required"])
        #expect(
            Self.issues(["preset": "other", "limit": 1]) == ["/limit unknown_field", "/preset not_choice"])
    }
}
