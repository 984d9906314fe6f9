internal import JSON

@testable internal import API

/// The first line is the header fields, `name: value` with `;` between them; the rest is the body.
///
/// What is taken is one request, or a batch of bounded size; written again it is the same.
func fuzzMCPPost(_ input: FuzzInput) {
    let cut = input.bytes.firstIndex(of: 0x0A) ?? input.bytes.endIndex
    var headers: [String: String] = [:]
    for field in String(decoding: input.bytes[..<cut], as: UTF8.self).split(separator: ";") {
        let parts = field.split(separator: ":", maxSplits: 1)
        if parts.count == 2 { headers[String(parts[0])] = String(parts[1].drop { $0 == " " }) }
    }
    let body = Array(input.bytes[cut...].dropFirst())
    let post: MCPPost
    do throws(MCPFault) { post = try MCPPost(body, headers: headers) } catch {
        expect((400...404).contains(error.code.status), "an envelope is refused with \(error.code.status)")
        return
    }
    expect((1...MCPPost.batchLimit).contains(post.requests.count), "\(post.requests.count) messages")
    expect(post.isBatch || post.requests.count == 1, "one message became \(post.requests.count)")
    expect(!post.isBatch || post.era == .legacy, "a batch of the modern era")
    for request in post.requests {
        expect(!request.method.isEmpty && request.era == post.era, "a request of another kind")
        var members: [String: JSONValue] = [
            "jsonrpc": "2.0", "method": .string(request.method), "params": .object(request.params),
        ]
        members["id"] = request.id
        let written = JSONValue.object(members).bytes
        guard let again = try? MCPPost(written, headers: headers) else {
            return expect(post.isBatch, "what was written is not taken: \(String(decoding: written, as: UTF8.self))")
        }
        expect(again.requests == [request] || post.isBatch, "\(request) became \(again.requests)")
    }
}

/// A name that is decoded is the one that was encoded, and has one encoding.
func fuzzMCPHeader(_ input: FuzzInput) {
    guard let text = MCPHeader.decoded(input.text) else { return }
    if input.text.hasPrefix("=?base64?"), !isSame(text, input.text) {
        let base64 = input.text.dropFirst(9).dropLast(2)
        expect(base64.utf8.count >= text.utf8.count, "\(input.text) became longer: \(text)")
    }
}
