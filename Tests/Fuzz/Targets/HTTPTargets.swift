internal import Foundation
internal import JSON

@testable internal import API
@testable internal import Bridge
@testable internal import Net

func fuzzForm(_ input: FuzzInput) {
    guard let fields = try? HTTPForm.decode(input.bytes) else { return }
    expect(
        fields.count <= HTTPForm.fieldLimit && fields.allSatisfy { $0.value.utf8.count <= HTTPForm.valueLimit },
        "a form without bounds")
    guard let again = try? HTTPForm.decode(Array(HTTPForm.encode(fields).utf8)) else {
        return expect(false, "our form is not understood")
    }
    expect(
        again.count == fields.count
            && zip(again, fields).allSatisfy { isSame($0.name, $1.name) && isSame($0.value, $1.value) },
        "fields changed: \(fields) \(again)")
    let signature = formSignature.signature(url: "https://example.org/twilio/voice", form: fields)
    expect(
        formSignature.isValid(signature, url: "https://example.org/twilio/voice", form: fields),
        "our own signature is not valid")
}

private let formSignature = FormSignature(key: "0123456789abcdef0123456789abcdef")

func fuzzURL(_ input: FuzzInput) {
    let text = input.text
    if let url = WebSocketURL(text) {
        expect(!url.host.isEmpty && url.path.hasPrefix("/"), "a URL without host or path: \(url)")
        expect(!url.path.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a path that breaks the request line")
        expect(!url.host.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a host that breaks the Host header")
        let written = "\(url.isSecure ? "wss" : "ws")://\(url.host):\(url.port)\(url.path)"
        expect(WebSocketURL(written) == url, "\(url) written as \(written) is another one")
    }
    expect(!FormSignature.spellings(of: text).isEmpty, "no spelling")
    expect(
        formSignature.isValid(formSignature.signature(url: text, form: []), url: text),
        "our own signature is not valid")
    _ = formSignature.isValid(text, url: text, body: input.bytes)
    // A literal of our own networks is never public, however it is written.
    if PublicAddress.contains(text), let address = SocketAddress(text, port: 1) {
        expect(
            !["10.", "127.", "192.168.", "169.254.", "0."].contains { address.host.hasPrefix($0) },
            "\(text) is said to be public")
    }
    let request = HTTPRequest(method: "GET", path: "/", headers: ["cookie": text])
    _ = request.cookie("session")
}

func fuzzRange(_ input: FuzzInput) {
    var steps = Steps(input)
    let size = Int(steps.half()) % 5_000
    let header = String(decoding: steps.bytes(250), as: UTF8.self)
    if case .part(let range) = ByteRange(header, size: size) {
        expect(
            !range.isEmpty && range.lowerBound >= 0 && range.upperBound <= size,
            "\(header) of \(size) bytes is \(range)")
    }
}

func fuzzRouter(_ input: FuzzInput) {
    let parts = input.text.split(separator: " ", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return }
    switch router.match(method: parts[0], path: parts[1]) {
    case .found(_, let parameters):
        for (name, value) in parameters {
            expect(!name.isEmpty && (name == "rest" || !value.contains("/")), "the parameter \(name) is \(value)")
        }
    case .wrongMethod(let allowed): expect(!allowed.isEmpty && !allowed.contains(parts[0]), "the method is allowed")
    case .none: break
    }
}

private let router: Router = {
    var router = Router()
    for (method, pattern) in [
        ("GET", "/health"), ("GET", "/api/outbound/{id}"), ("POST", "/api/outbound/"),
        ("POST", "/api/outbound/{id}/cancel"),
        ("GET", "/api/outbound/stats"), ("DELETE", "/api/numbers/{number}"), ("GET", "/web/{rest...}"),
    ] { router.add(method, pattern) { _ in HTTPResponse(status: 204) } }
    return router
}()

/// However the bytes are cut, the events are the same.
func fuzzServerSentEvents(_ input: FuzzInput) {
    var whole: [ServerSentEvent] = [], cut: [ServerSentEvent] = [], single: [ServerSentEvent] = []
    var parser = ServerSentEventParser(), second = ServerSentEventParser(), third = ServerSentEventParser()
    try? parser.process(input.bytes, into: &whole)
    for piece in input.pieces { try? second.process(piece, into: &cut) }
    for byte in input.bytes { try? third.process(CollectionOfOne(byte), into: &single) }
    expect(whole == cut && whole == single, "the events depend on where the bytes are cut")
    expect(whole.allSatisfy { !$0.name.isEmpty && $0.data.utf8.count <= 3 * input.bytes.count }, "an event of nothing")
    // What it says, said again.
    let text = whole.map { event in
        (event.id.map { "id: \($0)\n" } ?? "") + "event: \(event.name)\n"
            + event.data.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)\n" }.joined()
            + "\n"
    }.joined()
    var again: [ServerSentEvent] = []
    var fourth = ServerSentEventParser()
    try? fourth.process(text.utf8, into: &again)
    expect(again == whole, "what was said again is something else")
}

func fuzzBase64(_ input: FuzzInput) {
    // Any bytes, there and back.
    let size = Base64.encodedLength(input.bytes.count)
    var text = [UInt8](repeating: 0, count: size)
    let end = text.withUnsafeMutableBufferPointer { Base64.encode(input.bytes.span, into: $0, at: 0) }
    expect(end == size && text == Array(Data(input.bytes).base64EncodedData()), "not what Foundation writes")
    expect(decoded(text) == input.bytes, "there and back is something else")
    // Any text.
    let own = decoded(input.bytes)
    let reference = Data(base64Encoded: Data(input.bytes)).map { Array($0) }
    // Foundation takes text after its end (`Zg=5`), and padding that is none (`SetA=`); we do not.
    if let reference, Array(Data(reference).base64EncodedData()) == input.bytes {
        expect(own == reference, "Foundation reads something else")
    }
    if let own { expect(own.count <= input.bytes.count / 4 * 3, "more bytes than the text can hold") }
    // A target that is too small is refused, not overrun.
    if let own, !own.isEmpty {
        var small = [UInt8](repeating: 0, count: own.count - 1)
        let isRefused = withBuffer(input.bytes) { bytes in
            small.withUnsafeMutableBufferPointer { Base64.decode(bytes, into: $0) } == nil
        }
        expect(isRefused, "written beyond its target")
    }
}

private func decoded(_ text: [UInt8]) -> [UInt8]? {
    var target = [UInt8](repeating: 0, count: text.count / 4 * 3)
    guard
        let count = withBuffer(
            text, { bytes in target.withUnsafeMutableBufferPointer { Base64.decode(bytes, into: $0) } })
    else { return nil }
    return Array(target[..<count])
}

/// What was read and written again is the same value.
func fuzzJSON(_ input: FuzzInput) {
    guard let value = try? JSONValue(parsing: input.bytes) else { return }
    let written = value.bytes
    guard let again = try? JSONValue(parsing: written) else {
        return expect(false, "what we wrote is no JSON: \(value.text)")
    }
    expect(again == value && again.bytes == written, "\(value.text) became \(again.text)")
    expect(written.count <= 8 * input.bytes.count + 64, "grew from \(input.bytes.count) to \(written.count) bytes")
    // What we take for JSON others take for it too, but for numbers beyond a double, which we keep and they cannot.
    let hasHugeNumber = input.bytes.contains { $0 | 0x20 == UInt8(ascii: "e") } || input.bytes.count > 300
    expect(
        hasHugeNumber
            || (try? JSONSerialization.jsonObject(with: Data(input.bytes), options: [.fragmentsAllowed])) != nil,
        "only we call this JSON")
}

/// The quick walk finds what the strict parser finds.
func fuzzJSONMembers(_ input: FuzzInput) {
    withBuffer(input.bytes) { bytes in
        var keys: [[UInt8]] = []
        var values: [JSONMembers.Value] = []
        var texts: [String?] = []
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            expect(value.range.lowerBound >= 0 && value.range.upperBound <= bytes.count, "a value outside of the text")
            keys.append(Array(key))
            values.append(value)
            texts.append(JSONMembers.text(value, in: bytes))
        }
        var elements = 0
        let isArray = JSONMembers.forEachElement(in: bytes) {
            elements += 1
            expect($0.range.upperBound <= bytes.count, "an element outside of the text")
            _ = JSONMembers.text($0, in: bytes)
        }
        expect(!(isObject && isArray), "both an object and an array")
        switch try? JSONValue(parsing: input.bytes) {
        case .object(let members):
            expect(
                isObject && keys.count == members.count,
                "an object of \(members.count) members, \(keys.count) were found")
            for (index, key) in keys.enumerated() where !key.contains(UInt8(ascii: "\\")) {
                let member = members[String(decoding: key, as: UTF8.self)]
                switch (member, values[index].kind) {
                case (.string(let text), .string):
                    expect(texts[index].map { isSame($0, text) } == true, "the text of a member changed")
                case (.object, .object), (.array, .array), (.number, .other), (.bool, .other), (.null, .other): break
                default: expect(false, "a member is of another kind")
                }
            }
        case .array(let items):
            expect(isArray && elements == items.count, "an array of \(items.count) elements, \(elements) were found")
        default: break
        }
    }
}
