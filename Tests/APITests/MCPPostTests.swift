import JSON
import Testing

@testable import API

@Suite struct MCPPostTests {
    private static let meta =
        #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
        + #""io.modelcontextprotocol/clientCapabilities":{}}"#

    private func read(_ body: String, _ headers: [String: String] = [:]) throws(MCPFault) -> MCPPost {
        try MCPPost(Array(body.utf8), headers: headers)
    }

    /// A request of the modern era, and the header fields that belong to it.
    private func modern(
        _ method: String, params: String = meta, headers changes: [String: String?] = [:]
    ) throws(MCPFault) -> MCPPost {
        var headers = ["mcp-protocol-version": "2026-07-28", "mcp-method": method]
        for (name, value) in changes { headers[name] = value }
        return try read(#"{"jsonrpc":"2.0","id":7,"method":"\#(method)","params":{\#(params)}}"#, headers)
    }

    private func fault(_ body: () throws(MCPFault) -> MCPPost) -> MCPFault? {
        do throws(MCPFault) { _ = try body() } catch { return error }
        return nil
    }

    @Test func aModernRequestIsReadWithItsHeaderFields() throws {
        let post = try modern("tools/list")
        #expect(post.era == .modern && !post.isBatch)
        #expect(post.requests.first?.id == 7 && post.requests.first?.method == "tools/list")
        let call = #""name":"get_call",\#(Self.meta)"#
        #expect(try modern("tools/call", params: call, headers: ["mcp-name": "get_call"]).era == .modern)
    }

    @Test func headerFieldsThatLackOrDifferAreAMismatch() {
        let call = #""name":"get_call",\#(Self.meta)"#
        let faults = [
            fault { () throws(MCPFault) in
                try modern("tools/list", headers: ["mcp-protocol-version": nil])
            },
            fault { () throws(MCPFault) in
                try modern("tools/list", headers: ["mcp-protocol-version": "2025-11-25"])
            },
            fault { () throws(MCPFault) in try modern("tools/list", headers: ["mcp-method": nil]) },
            fault { () throws(MCPFault) in try modern("tools/list", headers: ["mcp-method": "Tools/List"]) },
            // Sent twice, a server's parser joins them.
            fault { () throws(MCPFault) in
                try modern("tools/list", headers: ["mcp-method": "tools/list, tools/list"])
            },
            fault { () throws(MCPFault) in try modern("tools/call", params: call) },
            fault { () throws(MCPFault) in
                try modern("tools/call", params: call, headers: ["mcp-name": "end_call"])
            },
            fault { () throws(MCPFault) in
                try modern("tools/call", params: #""name":5,\#(Self.meta)"#, headers: ["mcp-name": "5"])
            },
        ]
        for fault in faults {
            #expect(fault?.code == .headerMismatch && fault?.code.status == 400 && fault?.id == 7)
        }
        #expect(MCPFault.Code.headerMismatch.rawValue == -32020)
    }

    @Test(arguments: [
        ("=?base64?Z2V0X2NhbGw=?=", true), ("=?base64?Z2V0X2NhbGw?=", false), ("=?base64?Z2V0X2NhbGx=?=", false),
        ("=?base64?!?=", false), ("=?base64?/w==?=", false), ("=?base64??=", false), ("get_call", true),
        ("=?base64?Z2V0X2NhbGw=", false),
    ])
    func aNameMayStandInBase64(value: String, fits: Bool) {
        let call = #""name":"get_call",\#(Self.meta)"#
        let found = fault { () throws(MCPFault) in
            try modern("tools/call", params: call, headers: ["mcp-name": value])
        }
        #expect((found == nil) == fits)
    }

    @Test func headerValuesInBase64AreAnyText() {
        #expect(MCPHeader.decoded("=?base64?7ZWc6rWt7Ja0?=") == "한국어" && MCPHeader.decoded("=?base64??=") == "")
        #expect(MCPHeader.decoded("plain") == "plain" && MCPHeader.decoded("=?base64?=") == "=?base64?=")
        // Bits behind the last byte: another spelling of the same.
        #expect(MCPHeader.decoded("=?base64?YR==?=") == nil && MCPHeader.decoded("=?base64?YQ==?=") == "a")
    }

    @Test func anUnknownVersionIsToldWhichThereAre() {
        let unknown = Self.meta.replacing("2026-07-28", with: "2027-01-01")
        let found = fault { () throws(MCPFault) in
            try modern("tools/list", params: unknown, headers: ["mcp-protocol-version": "2027-01-01"])
        }
        #expect(found?.code.rawValue == -32022 && found?.code.status == 400)
        #expect(
            found?.data == [
                "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"], "requested": "2027-01-01",
            ])
        // Without `_meta` the header field alone names a version.
        let older = fault { () throws(MCPFault) in
            try read(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, ["mcp-protocol-version": "2024-11-05"])
        }
        #expect(older?.code == .unsupportedVersion && older?.id == 1)
    }

    @Test(arguments: [
        "", #""_meta":5"#, #""_meta":{}"#, #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        #""_meta":{"io.modelcontextprotocol/clientCapabilities":{}}"#,
        #""_meta":{"io.modelcontextprotocol/protocolVersion":5,"io.modelcontextprotocol/clientCapabilities":{}}"#,
        #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
            + #""io.modelcontextprotocol/clientCapabilities":[]}"#,
    ])
    func metaThatLacksFieldsIsNamed(params: String) {
        let found = fault { () throws(MCPFault) in try modern("tools/list", params: params) }
        #expect(found?.code.rawValue == -32602 && found?.code.status == 400 && found?.id == 7)
    }

    @Test func aModernClientIsKnownByAnyOfItsMarks() {
        let found = [
            fault { () throws(MCPFault) in
                try read(#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, ["mcp-method": "x"])
            },
            fault { () throws(MCPFault) in try read(#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#) },
            fault { () throws(MCPFault) in
                try read(#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, ["mcp-protocol-version": "2026-07-28"])
            },
        ]
        for fault in found { #expect(fault?.code == .invalidParams) }
    }

    @Test func legacyRequestsNeedNoHeaderField() throws {
        let post = try read(#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#)
        #expect(post.era == .legacy && post.requests.first?.id == "a")
        for version in MCPRevision.legacy {
            #expect(
                try read(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, ["mcp-protocol-version": version]).era
                    == .legacy)
        }
        #expect(try read(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).requests.first?.id == nil)
    }

    @Test(arguments: [
        ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("", "2025-11-25"),
    ])
    func initializeIsAnsweredWithTheVersionAskedFor(asked: String, given: String) {
        #expect(MCPRevision.agreed(on: asked) == given && MCPRevision.agreed(on: nil) == "2025-11-25")
    }

    @Test(arguments: [
        "null", "5", #""x""#, "{}", #"{"jsonrpc":"1.0","id":1,"method":"x"}"#, #"{"id":1,"method":"x"}"#,
        #"{"jsonrpc":"2.0","id":null,"method":"x"}"#, #"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
        #"{"jsonrpc":"2.0","id":true,"method":"x"}"#, #"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":5}"#, #"{"jsonrpc":"2.0","id":1,"method":""}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#, #"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#,
        #"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ])
    func whatIsNoRequestIsRefused(body: String) {
        let found = fault { () throws(MCPFault) in try read(body) }
        #expect(found?.code.rawValue == -32600 && found?.code.status == 400)
    }

    @Test(arguments: [
        "", "{", "not json", #"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, "\u{FEFF}{}", "{} {}",
        String(repeating: "[", count: 100_000), #"{"a":"# + String(repeating: #"{"a":"#, count: 70) + "1",
    ])
    func whatIsNoJSONIsAParseError(body: String) {
        let found = fault { () throws(MCPFault) in try read(body) }
        #expect(found?.code.rawValue == -32700 && found?.id == nil && found?.code.status == 400)
    }

    @Test func idsComeBackAsTheyCame() throws {
        for id in ["-5", "9007199254740993", #""9""#, #""""#] {
            let post = try read(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#)
            #expect(post.requests.first?.id?.text == id)
        }
    }

    @Test func batchesArePartOfOneRevision() throws {
        let batch = #"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]"#
        let post = try read(batch)
        #expect(post.isBatch && post.requests.map(\.method) == ["ping", "notifications/x"])
        #expect(try read(batch, ["mcp-protocol-version": "2025-03-26"]).isBatch)
        for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
            let found = fault { () throws(MCPFault) in try read(batch, ["mcp-protocol-version": version]) }
            #expect(found?.code == .invalidRequest)
        }
    }

    @Test func aBatchIsTakenAsAWholeOrNotAtAll() {
        let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
        let bad = [
            "[]", "[1]", "[\(ping),{}]", #"[\#(ping),{"jsonrpc":"2.0","id":2,"method":"initialize"}]"#,
            "[" + Array(repeating: ping, count: MCPPost.batchLimit + 1).joined(separator: ",") + "]",
        ]
        for body in bad {
            let found = fault { () throws(MCPFault) in try read(body) }
            #expect(found?.code == .invalidRequest, "\(body.prefix(80))")
        }
        let whole = "[" + Array(repeating: ping, count: MCPPost.batchLimit).joined(separator: ",") + "]"
        let found = fault { () throws(MCPFault) in try read(whole) }
        #expect(found == nil)
    }

    @Test func notificationsOfTheModernEraAreTakenIfTheirVersionIs() throws {
        let body = #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{\#(Self.meta)}}"#
        #expect(try read(body, ["mcp-protocol-version": "2026-07-28"]).requests.first?.id == nil)
        let found = fault { () throws(MCPFault) in try read(body, ["mcp-protocol-version": "2027-01-01"]) }
        #expect(found?.code == .unsupportedVersion)
    }
}
