internal import Crypto
internal import Foundation

@testable internal import Net

/// What a stream of bytes means to the request parser: the same however it is cut.
func fuzzHTTPRequest(_ input: FuzzInput) {
    let whole = requests([input.bytes[...]])
    expect(whole == requests(input.pieces), "cuts make a difference: \(whole) and \(requests(input.pieces))")
    expect(whole == requests(input.bytes.map { [$0][...] }), "single bytes make a difference")
}

private let bodyLimit = 1_000

private func requests(_ pieces: [ArraySlice<UInt8>]) -> [String] {
    var parser = HTTPRequestParser()
    var told: [String] = []
    for piece in pieces {
        Array(piece).withUnsafeBytes { parser.append($0) }
        reading: while true {
            switch parser.next() {
            case .incomplete: break reading
            case .head(let head):
                parser.bodyLimit = bodyLimit
                let request = head.request
                expect(request.path.hasPrefix("/") || request.path == "*", "the path is \(request.path)")
                expect(request.headers.count <= HTTPRequestParser.fieldCountLimit, "too many fields")
                expect(request.query.count <= RequestTarget.queryItemLimit, "too many query items")
                for (name, value) in request.headers {
                    expect(name == name.lowercased() && !name.isEmpty, "a field's name is \(name)")
                    expect(
                        !value.utf8.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F },
                        "a field's value has a control character")
                }
                told.append(
                    "\(request.method) \(request.path) \(request.query) \(head.bodyLength) \(head.isPersistent)")
            case .body(let bytes):
                expect(bytes.count <= bodyLimit, "a body of \(bytes.count) bytes")
                told.append("body \(bytes)")
            case .failure(let failure):
                expect(failure.status == 0 || (400...505).contains(failure.status), "refused with \(failure.status)")
                let answer = ResponseHead.bytes(failure.response, closes: true, at: 0)
                expect(answer.count <= ResponseHead.limit, "an endless head")
                return told + ["failure \(failure.status)"]
            }
        }
        expect(parser.unreadCount <= HTTPRequestParser.fieldsLimit + piece.count, "bytes pile up")
    }
    return told
}

/// What a stream of bytes means to the frame parser: the same however it is cut, and never larger than allowed.
func fuzzWebSocketFrames(_ input: FuzzInput) {
    let whole = frames([input.bytes[...]])
    expect(whole == frames(input.pieces), "cuts make a difference")
    expect(whole == frames(input.bytes.map { [$0][...] }), "single bytes make a difference")
    input.bytes.withUnsafeBytes {
        expect(
            UTF8Text.isValid($0) == (String(validating: input.bytes, as: UTF8.self) != nil),
            "we and Swift differ about UTF-8")
    }
}

private let messageLimit = 600

private func frames(_ pieces: [ArraySlice<UInt8>]) -> [String] {
    var parser = WebSocketFrameParser()
    parser.maximumMessage = messageLimit
    var told: [String] = []
    for piece in pieces {
        var bytes = Array(piece)
        let isOver = bytes.withUnsafeMutableBytes { buffer -> Bool in
            var used = 0
            while used < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[used...])
                let step = parser.next(rest)
                expect(
                    step.consumed > 0 && step.consumed <= rest.count,
                    "a step used \(step.consumed) of \(rest.count) bytes")
                used += step.consumed
                guard let event = step.event else { continue }
                let payload = step.payload.map { Array(rest[$0]) } ?? parser.takePayload()
                expect(payload.count <= messageLimit, "a message of \(payload.count) bytes")
                told.append("\(event) \(payload)")
                if case .text = event {
                    expect(String(validating: payload, as: UTF8.self) != nil, "a text that is no UTF-8")
                }
                if case .failure = event { return true }
            }
            return false
        }
        if isOver { break }
    }
    return told
}

/// What a request must have for a WebSocket, and that it gets no other answer. The input: method, version, then a
/// header field a line.
func fuzzWebSocketHandshake(_ input: FuzzInput) {
    let lines = input.lines.map { String(decoding: $0, as: UTF8.self) }
    guard lines.count >= 2 else { return }
    var headers: [String: String] = [:]
    for line in lines.dropFirst(2) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { continue }
        headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    let isVersion10 = lines[1] == "1.0"
    let request = HTTPRequest(method: lines[0], path: "/", headers: headers)
    let key = headers["sec-websocket-key"] ?? ""
    do throws(HTTPFailure) {
        let response = try WebSocketHandshake(request, isVersion10: isVersion10, subprotocols: spoken).response
        expect(
            request.method == "GET" && !isVersion10 && headers["sec-websocket-version"] == "13",
            "a handshake of \(lines)")
        // RFC 6455 §4.1: 16 bytes, so 22 digits of Base64 and two signs that fill up.
        expect(
            key.utf8.count == 24 && key.hasSuffix("==")
                && key.utf8.dropLast(2).allSatisfy {
                    (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                        || [43, 47].contains($0)
                }, "the key is \(key)")
        let names = response.headers.map(\.name)
        expect(Set(names).count == names.count && response.status == 101, "the answer has \(names)")
        let values = Dictionary(response.headers.map { ($0.name, $0.value) }) { first, _ in first }
        // RFC 6455 §4.2.2.
        let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        expect(values["sec-websocket-accept"] == Data(digest).base64EncodedString(), "the answer is to another key")
        if let chosen = values["sec-websocket-protocol"] {
            expect(
                spoken.contains(chosen) && headers["sec-websocket-protocol"]?.contains(chosen) == true,
                "the subprotocol \(chosen) was not offered")
        }
        expect(!response.headers.contains { $0.value.utf8.contains { $0 < 0x20 } }, "the answer has a line end")
    } catch {
        expect([400, 405, 426].contains(error.status), "refused with \(error.status)")
        expect(
            isVersion10 || request.method != "GET" || headers["sec-websocket-version"] != "13"
                || key.utf8.count != 24 || Data(base64Encoded: key)?.count != 16,
            "a good handshake is refused: \(lines)")
    }
}

private let spoken: Set = ["audio.example", "v1", "twilio"]
