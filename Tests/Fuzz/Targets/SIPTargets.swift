internal import Crypto
internal import Foundation
internal import Net
internal import Pipeline

@testable internal import Bridge

/// What was parsed and written again says the same.
func fuzzSDP(_ input: FuzzInput) {
    guard let parsed = try? SessionDescription(parsing: input.text, allowsLoopback: true) else { return }
    // From elsewhere our own addresses are refused, and nothing else.
    if let strict = try? SessionDescription(parsing: input.text) {
        expect(strict.address?.host.hasPrefix("127.") != true, "a loopback address from elsewhere")
    }
    expect((10...60).contains(parsed.ptime), "ptime \(parsed.ptime)")
    expect(parsed.codecs.count <= 2 && parsed.keys.count <= 8, "lists are bounded")
    expect(parsed.address.map { $0.address != 0 && $0.port != 0 } ?? true, "media go to no port or to 0.0.0.0")
    guard !parsed.codecs.isEmpty else { return }
    // Hold has an address that is none, and a port that is one: port 0 would refuse the stream (RFC 3264 §8.4, §6).
    let address = parsed.address
    let body = SessionDescription.body(
        host: address?.host ?? "0.0.0.0", port: address?.port ?? 9_000, codecs: parsed.codecs,
        telephoneEvent: parsed.telephoneEvent, session: 1,
        version: 2, direction: parsed.direction, key: parsed.keys.first)
    guard let again = try? SessionDescription(parsing: body, allowsLoopback: true) else {
        return expect(false, "what we wrote is not understood:\n\(body)")
    }
    expect(again.codecs == parsed.codecs, "codecs \(parsed.codecs) became \(again.codecs)")
    expect(again.telephoneEvent == parsed.telephoneEvent, "telephone-event changed")
    expect(again.address == address && again.direction == parsed.direction, "address or direction changed")
    expect(again.keys.first == parsed.keys.first && again.isSecure == (parsed.keys.first != nil), "key changed")
}

/// Offers and answers in any order: one a NUL-terminated part, its first byte says which.
func fuzzOfferAnswer(_ input: FuzzInput) {
    let isSecure = input.bytes.first == UInt8(ascii: "s")
    var leg = OfferAnswer(host: "127.0.0.1", port: 40_000, isSecure: isSecure, session: 7)
    var wasSecured = false
    var hasOffered = false
    for part in input.bytes.dropFirst().split(separator: 0, maxSplits: 16) {
        let text = String(decoding: part.dropFirst(), as: UTF8.self)
        switch part.first.map({ $0 % 3 }) {
        case 0:
            let body = leg.offer()
            hasOffered = true
            expect(
                (try? SessionDescription(parsing: body, allowsLoopback: true))?.codecs == [.muLaw, .aLaw],
                "our offer is not understood")
        case 1:
            // What is no answer to an offer of ours is not given to it.
            guard hasOffered, let terms = try? leg.accept(text) else { continue }
            expect(!isSecure || terms.keys != nil, "a secured offer was answered in the clear and that was taken")
            expect(terms.remote.codecs.contains(terms.law), "a codec that was not offered")
            wasSecured = wasSecured || terms.keys != nil
        default:
            guard let (body, terms) = try? leg.answer(text) else { continue }
            expect(!(isSecure || wasSecured) || terms.keys != nil, "a secured call went on in the clear")
            wasSecured = wasSecured || terms.keys != nil
            guard let ours = try? SessionDescription(parsing: body, allowsLoopback: true) else {
                return expect(false, "our answer is not understood:\n\(body)")
            }
            expect(
                ours.codecs == [terms.law] && ours.isSecure == terms.remote.isSecure,
                "our answer says something else than we do")
            expect(ours.telephoneEvent == terms.remote.telephoneEvent, "our answer moves telephone-event")
        }
    }
}

/// Without the password no request is accepted; with it each count is accepted once.
func fuzzDigest(_ input: FuzzInput) {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    // One for each input: it remembers the nonces that were used, and the clock stands still.
    let digestGate = DigestAuthenticator(realm: "trunkline")
    let header = input.text
    if let fields = DigestAuthenticator.parse(header) {
        let written =
            "Digest "
            + fields.map { name, value in
                "\(name)=\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
            }.joined(separator: ", ")
        // Escapes may take it over the limit; then nil is right.
        if written.utf8.count <= DigestAuthenticator.headerLimit {
            let again = DigestAuthenticator.parse(written)
            expect(again == fields, "fields changed: \(fields) \(String(describing: again))")
        }
    }
    let secret = DigestAuthenticator.Secret(user: "alice", realm: "trunkline", password: "correct horse")
    let verdict = digestGate.verify(header, method: "REGISTER", now: now) { $0 == "alice" ? secret : nil }
    if case .accepted = verdict { expect(false, "accepted without the password") }
    // The right answer to our challenge, with a client's nonce and URI out of the input.
    guard
        case .challenge(let challenges) = digestGate.verify(nil, method: "REGISTER", now: now, secret: { _ in secret }),
        let fields = challenges.last.flatMap(DigestAuthenticator.parse), let nonce = fields["nonce"]
    else { return expect(false, "no challenge that can be read") }
    let printable = String(
        decoding: input.bytes.prefix(64).filter { (0x21..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C },
        as: UTF8.self)
    guard !printable.isEmpty else { return }
    func md5(_ text: String) -> String { DigestText.hex(Insecure.MD5.hash(data: Data(text.utf8))) }
    let (secrets, request) = (md5("alice:trunkline:correct horse"), md5("REGISTER:sip:\(printable)"))
    let response = md5("\(secrets):\(nonce):00000001:\(printable):auth:\(request)")
    let answer =
        "Digest username=\"alice\", realm=\"trunkline\", nonce=\"\(nonce)\", uri=\"sip:\(printable)\", "
        + "response=\"\(response)\", cnonce=\"\(printable)\", nc=00000001, qop=auth, algorithm=MD5"
    expect(
        digestGate.verify(answer, method: "REGISTER", now: now) { _ in secret } == .accepted(user: "alice"),
        "the right password was refused")
    expect(
        digestGate.verify(answer, method: "REGISTER", now: now) { _ in secret } != .accepted(user: "alice"),
        "the same answer was taken twice")
}
