import Foundation
import Testing

@testable import Net

/// A real server and raw requests on loopback.
@Suite struct HTTPServerTests {
    @Test func requestsWithQueryHeaderAndBody() async throws {
        let server = try EchoServer()
        defer { server.stop() }
        let answer = await server.exchange(
            "POST /a%20b?q=x%2By HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\n"
                + "Content-Length: 3\r\nConnection: close\r\n\r\nabc")
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.hasSuffix("POST /a b x+y 3 Bearer k"))
    }

    @Test func aBodyThatIsTooLargeIsRefusedAndAChunkedOneIsRead() async throws {
        let server = try EchoServer()
        defer { server.stop() }
        #expect(
            await server.exchange("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n").contains(
                " 413 "))
        let chunked =
            "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            + "3\r\nabc\r\n0\r\n\r\n"
        #expect(await server.exchange(chunked).hasSuffix("POST /c - 3 -"))
    }

    /// What hung an event loop for ever: a request with a body behind another one.
    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        let server = try EchoServer()
        defer { server.stop() }
        let answer = await server.exchange(
            "GET /x HTTP/1.1\r\nHost: h\r\n\r\nPOST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde"
                + "GET /z HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        let bodies = answer.components(separatedBy: "\r\n\r\n").dropFirst()
        #expect(
            bodies.map { $0.components(separatedBy: "HTTP/1.1")[0] } == [
                "GET /x - 0 -", "POST /y - 5 -", "GET /z - 0 -",
            ])
    }

    @Test func rangesOfAFile() async throws {
        let server = try EchoServer()
        defer { server.stop() }
        let answer = await server.exchange(
            "GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\nConnection: close\r\n\r\n")
        #expect(answer.contains(" 206 ") && answer.lowercased().contains("content-range: bytes 0-1/"))
        #expect(answer.components(separatedBy: "\r\n\r\n").last?.count == 2)
    }

    @Test func aTakenPortIsAnErrorThatSaysSo() async throws {
        let server = try EchoServer()
        defer { server.stop() }
        var configuration = HTTPServer.Configuration()
        configuration.port = server.http.port
        let second = HTTPServer(configuration, loops: [server.loop], handler: { _ in HTTPResponse(status: 200) })
        let error = #expect(throws: NetError.self) { try second.start() }
        #expect(error?.code == .addressInUse)
    }
}
