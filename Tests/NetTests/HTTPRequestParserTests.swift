import Foundation
import Testing

@testable import Net

/// What a stream of bytes means, told as words: easy to read in a table.
private func read(_ text: String, bodyLimit: Int = 100, pieces: Int? = nil) -> [String] {
    var parser = HTTPRequestParser()
    var told: [String] = []
    func drain() {
        while true {
            switch parser.next() {
            case .incomplete: return
            case .head(let head):
                parser.bodyLimit = bodyLimit
                told.append("\(head.request.method) \(head.request.path)\(head.isPersistent ? "" : " last")")
            case .body(let bytes): told.append("body \(String(decoding: bytes, as: UTF8.self))")
            case .failure(let failure):
                told.append("failure \(failure.status)")
                return
            }
        }
    }
    let bytes = Array(text.utf8)
    let size = pieces ?? max(1, bytes.count)
    for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { parser.append($0) }
        drain()
        if told.last?.hasPrefix("failure") == true { break }
    }
    return told
}

private func request(_ line: String, _ fields: String..., body: String = "") -> String {
    line + "\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n" + body
}

@Suite struct HTTPRequestParserTests {
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", ["GET /", "body "]),
        // Two requests in one segment, the second with a body: what hung an event loop once.
        (
            "GET /x HTTP/1.1\r\nHost: h\r\n\r\nPOST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde",
            ["GET /x", "body ", "POST /y", "body abcde"]
        ),
        (
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                + "GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            ["POST /a", "body abc", "GET /b last", "body "]
        ),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", ["GET /", "body "]),
        ("GET / HTTP/1.0\r\n\r\n", ["GET / last", "body "]),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ["GET /", "body "]),
        ("GET http://h:80/p?q HTTP/1.1\r\nHost: other\r\n\r\n", ["GET /p", "body "]),
        ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", ["OPTIONS *", "body "]),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            ["POST /", "body abc0123456789", "GET /", "body "]
        ),
    ])
    func requestsAreReadHoweverTheyAreCut(text: String, expected: [String]) {
        for pieces in [nil, 1, 2, 3, 7, 50] {
            #expect(read(text, pieces: pieces) == expected, "in pieces of \(pieces ?? 0)")
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400),  // no Host
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),  // a space before the colon
        ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400),  // bare CR
        ("GET / HTTP/1.1\nHost: h\n\n", 400),  // bare LF
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7F}b\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
        (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /é HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /%g0 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET http://a@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / http/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        ("GET /\r\n", 0),  // HTTP/0.9: closed without an answer
        ("\r\n\r\n\r\n\r\n\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +2\r\n\r\nab", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2, 2\r\n\r\nab", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n", 417),
        ("\u{16}\u{3}\u{1}\u{2}", 400),  // TLS where there is none
    ])
    func malformedRequestsAreRejected(text: String, status: Int) {
        for pieces in [nil, 1, 5] {
            #expect(read(text, pieces: pieces).last == "failure \(status)", "in pieces of \(pieces ?? 0)")
        }
    }

    @Test func everySizeIsBounded() {
        let long = String(repeating: "a", count: 20_000)
        #expect(read("GET /\(long) HTTP/1.1\r\n").last == "failure 414")
        #expect(read("GET /\(long)").last == "failure 414", "before the line is complete")
        #expect(read(request("GET / HTTP/1.1", "Host: h", "X: \(long)")).last == "failure 431")
        #expect(
            read("GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "X: y\r\n", count: 101) + "\r\n").last
                == "failure 431")
        #expect(
            read(request("GET /?" + String(repeating: "a&", count: 200) + " HTTP/1.1", "Host: h")).last == "failure 414"
        )
        let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(read(chunked + "1;\(long)").last == "failure 400")
        #expect(
            read(chunked + "0\r\n" + String(repeating: "X: \(long.prefix(1_000))\r\n", count: 5)).last == "failure 431")
    }

    @Test func targetsAreDecodedOnce() throws {
        var parser = HTTPRequestParser()
        Array(request("GET /a%2520b/%00?q=x%2By+z&empty&e=%3D&&%C3%A9=%EC%95%88 HTTP/1.1", "Host: h").utf8)
            .withUnsafeBytes { parser.append($0) }
        guard case .head(let head) = parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.request.path == "/a%20b/\0")
        #expect(head.request.query.map { "\($0.name)=\($0.value)" } == ["q=x+y z", "empty=", "e==", "é=안"])
    }

    @Test func bytesAfterAnUpgradeAreKept() {
        var parser = HTTPRequestParser()
        Array((request("GET / HTTP/1.1", "Host: h", "Upgrade: websocket") + "frames").utf8).withUnsafeBytes {
            parser.append($0)
        }
        _ = parser.next()
        _ = parser.next()
        #expect(String(decoding: parser.takeUnread(), as: UTF8.self) == "frames" && parser.unreadCount == 0)
    }

    @Test func randomBytesNeverTrapAndCutsMakeNoDifference() {
        let seeds = [
            "POST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcdeGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                + "GET /?a=%41 HTTP/1.1\r\nHost: h\r\n\r\n",
        ].map { Array($0.utf8) }
        var generator = SystemRandomNumberGenerator()
        for round in 0..<3_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...127, using: &generator)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let whole = read(text)
            let cut = read(text, pieces: Int.random(in: 1...9, using: &generator))
            #expect(whole == cut, "\(text.debugDescription)")
        }
    }
}
