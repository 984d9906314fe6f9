public import Net
public import Pipeline

/// The audio part of an SDP body (RFC 8866), as much of it as a G.711 leg needs.
public struct SessionDescription: Sendable, Equatable {
    /// Bytes; a larger body is refused before parsing.
    public static let maximumLength = 16_384
    static let maximumLines = 256

    public enum Direction: String, Sendable, Equatable { case sendrecv, sendonly, recvonly, inactive }

    /// Where the peer wants RTP; nil on hold by 0.0.0.0 (RFC 3264 §8.4).
    public var address: SocketAddress?
    /// G.711 payload types in the peer's order of preference.
    public var codecs: [CompandingLaw]
    /// Payload type of telephone-event/8000 (RFC 4733).
    public var telephoneEvent: UInt8?
    /// Packet time, milliseconds.
    public var ptime: Int
    public var direction: Direction
    /// Media are to be SRTP (RTP/SAVP, RFC 3711).
    public var isSecure: Bool
    /// Keys of suites that we take, in the peer's order (RFC 4568).
    public var keys: [SRTPKey]

    /// An RTP payload type of RFC 3551.
    public static func payloadType(_ law: CompandingLaw) -> UInt8 { law == .muLaw ? 0 : 8 }

    /// The static payload type of comfort noise (RFC 3389 §4). It is not offered, as silence costs us nothing, but some
    /// send it unasked.
    static let comfortNoise: UInt8 = 13

    /// Ports below are no phone's: what is sent there reaches name servers, clocks and the like (RFC 6335 §6, RFC 3551
    /// §8).
    static let lowestPort: UInt16 = 1_024

    /// Parses a body. Throws with what is wrong; the leg then answers 488 or ends.
    /// - Parameter allowsLoopback: the peer is on this machine, so 127.0.0.0/8 is an address to send to.
    public init(parsing text: String, allowsLoopback: Bool = false) throws(SDPError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw SDPError("SDP is larger than \(Self.maximumLength) bytes")
        }
        var sessionHost: String?
        var mediaHost: String?
        var port: UInt16?
        var formats: [UInt8] = []
        var maps: [UInt8: String] = [:]
        var ptime = 20
        var longest = 60
        var direction = Direction.sendrecv
        var isSecure = false
        var keys: [SRTPKey] = []
        var inAudio = false
        var seenMedia = false
        for (number, raw) in text.split(whereSeparator: \.isNewline).enumerated() {
            guard number < Self.maximumLines else { throw SDPError("SDP has more than \(Self.maximumLines) lines") }
            guard raw.count >= 2, raw.dropFirst().first == "=" else { continue }
            let value = raw.dropFirst(2)
            switch raw.first {
            case "m":
                let words = value.split(separator: " ")
                inAudio = !seenMedia && words.count >= 4 && words[0] == "audio"
                guard inAudio else { continue }
                seenMedia = true
                guard let number = UInt16(words[1].split(separator: "/").first ?? "") else {
                    throw SDPError("m=audio has no port")
                }
                guard ["RTP/AVP", "RTP/AVPF", "RTP/SAVP", "RTP/SAVPF"].contains(words[2]) else {
                    throw SDPError("media protocol \(words[2]) is not supported")
                }
                isSecure = words[2].hasPrefix("RTP/S")
                port = number
                formats = words.dropFirst(3).prefix(64).compactMap { UInt8($0) }
            case "c":
                let words = value.split(separator: " ")
                guard words.count >= 3, words[1] == "IP4" else { continue }
                let host = String(words[2].split(separator: "/").first ?? "")
                if inAudio { mediaHost = host } else if !seenMedia { sessionHost = host }
            case "a":
                guard inAudio || !seenMedia else { continue }
                if let parsed = Direction(rawValue: String(value)) {
                    direction = parsed
                } else if value.hasPrefix("crypto:"), inAudio, keys.count < 8 {
                    if let key = SRTPKey(parsing: value.dropFirst(7)) { keys.append(key) }
                } else if value.hasPrefix("rtpmap:"), inAudio {
                    let words = value.dropFirst(7).split(separator: " ", maxSplits: 1)
                    if words.count == 2, let type = UInt8(words[0]), type < 128 { maps[type] = words[1].lowercased() }
                } else if value.hasPrefix("ptime:"), inAudio, let parsed = Int(value.dropFirst(6)),
                    (10...60).contains(parsed)
                {
                    ptime = parsed
                } else if value.hasPrefix("maxptime:"), inAudio, let parsed = Int(value.dropFirst(9)), parsed >= 10 {
                    longest = parsed
                }
            default: continue
            }
        }
        guard let port else { throw SDPError("SDP has no audio") }
        var codecs: [CompandingLaw] = []
        var event: UInt8?
        for type in formats {
            let name = maps[type] ?? (type == 0 ? "pcmu/8000" : type == 8 ? "pcma/8000" : "")
            if name.hasPrefix("pcmu/8000"), !codecs.contains(.muLaw) { codecs.append(.muLaw) }
            if name.hasPrefix("pcma/8000"), !codecs.contains(.aLaw) { codecs.append(.aLaw) }
            if name.hasPrefix("telephone-event/8000"), event == nil { event = type }
        }
        address = try Self.destination(mediaHost ?? sessionHost, port: port, allowsLoopback: allowsLoopback)
        self.codecs = codecs
        self.telephoneEvent = event
        self.ptime = min(ptime, longest)
        self.direction = direction
        self.isSecure = isSecure
        self.keys = keys
    }

    /// Where media may be sent: one host, that can be one of a peer. nil: 0.0.0.0, nowhere for now.
    private static func destination(_ host: String?, port: UInt16, allowsLoopback: Bool) throws(SDPError)
        -> SocketAddress?
    {
        // A stream of port 0 is one that is not wanted (RFC 3264 §6, §8.2), and there is no other.
        guard port > 0 else { throw SDPError("the audio is refused (port 0)") }
        guard port >= lowestPort else { throw SDPError("audio to port \(port) is not sent: it is below \(lowestPort)") }
        guard let host, let address = SocketAddress(host, port: port) else {
            throw SDPError("SDP has no IPv4 address (c=)")
        }
        let number = UInt32(bigEndian: address.address)
        if number == 0 { return nil }
        switch (number >> 24, number >> 16 & 0xFF) {
        case (0, _): throw SDPError("the address of the audio is of no host (0.0.0.0/8)")
        case (127, _) where !allowsLoopback:
            throw SDPError("the address of the audio is a loopback address, and the peer is elsewhere")
        case (169, 254): throw SDPError("the address of the audio is link-local (169.254.0.0/16)")
        case (224..., _): throw SDPError("the address of the audio is multicast, broadcast or reserved (224.0.0.0/3)")
        default: return address
        }
    }

    /// The body we send: offer with both laws, or answer with the one chosen.
    public static func body(
        host: String, port: UInt16, codecs: [CompandingLaw], telephoneEvent: UInt8?, session: UInt64, version: UInt64,
        direction: Direction = .sendrecv, key: SRTPKey? = nil
    ) -> String {
        let types = codecs.map { String(payloadType($0)) } + (telephoneEvent.map { [String($0)] } ?? [])
        var lines = [
            "v=0", "o=trunkline \(session) \(version) IN IP4 \(host)", "s=Talk", "c=IN IP4 \(host)", "t=0 0",
            "m=audio \(port) RTP/\(key == nil ? "" : "S")AVP \(types.joined(separator: " "))",
        ]
        for codec in codecs {
            lines.append("a=rtpmap:\(payloadType(codec)) \(codec == .muLaw ? "PCMU" : "PCMA")/8000")
        }
        if let telephoneEvent {
            lines.append("a=rtpmap:\(telephoneEvent) telephone-event/8000")
            lines.append("a=fmtp:\(telephoneEvent) 0-15")
        }
        if let key { lines.append(key.attribute) }
        lines += ["a=ptime:20", "a=rtcp:\(port == .max ? port : port + 1)", "a=\(direction.rawValue)"]
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// Our direction in the answer to this offer (RFC 3264 §6.1).
    public var answerDirection: Direction {
        switch direction {
        case .sendrecv: .sendrecv
        case .sendonly: .recvonly
        case .recvonly: .sendonly
        case .inactive: .inactive
        }
    }
}

public struct SDPError: Error, Sendable, CustomStringConvertible {
    public var message: String
    init(_ message: String) { self.message = message }
    public var description: String { message }
}
