internal import Foundation

/// Which addresses lie on the public internet: a URL that a user set must not lead into our own network
/// (IANA's special-purpose registries, RFC 6890).
public enum PublicAddress {
    private static let private4: [(network: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
        (0xC000_0000, 24),
        (0xC000_0200, 24), (0xC0A8_0000, 16), (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4),
        (0xF000_0000, 4),
    ]

    /// - Parameter address: in host byte order.
    static func contains(_ address: UInt32) -> Bool {
        !private4.contains { network, bits in address >> (32 - bits) == network >> (32 - bits) }
    }

    /// - Parameter address: 16 bytes in network order.
    static func contains(_ address: [UInt8]) -> Bool {
        guard address.count == 16 else { return false }
        func embedded(at start: Int) -> UInt32 { address[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
        let zeros = address.prefix(while: { $0 == 0 }).count
        if zeros >= 12 { return false }  // ::, ::1 and the old IPv4-compatible form
        // ::ffff:a.b.c.d
        if zeros == 10, address[10] == 0xFF, address[11] == 0xFF { return contains(embedded(at: 12)) }
        switch (address[0], address[1]) {
        case (0x00, 0x64): return false  // 64:ff9b::/96 and its local-use sister lead to IPv4 by translation
        case (0x20, 0x02): return contains(embedded(at: 2))  // 6to4
        // Teredo, ORCHID; documentation
        case (0x20, 0x01): return address[2] != 0 && !(address[2] == 0x0D && address[3] == 0xB8)
        case (0x20, _), (0x21..., _): return address[0] & 0xE0 == 0x20  // global unicast is 2000::/3
        default: return false
        }
    }

    /// Whether a text is a numeric address, IPv4 with its dots or IPv6 without brackets.
    public static func isNumeric(_ text: String) -> Bool {
        var v4 = in_addr(), v6 = in6_addr()
        return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1
    }

    /// - Parameter text: a numeric address.
    public static func contains(_ text: String) -> Bool {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return contains(UInt32(bigEndian: v4.s_addr)) }
        var v6 = [UInt8](repeating: 0, count: 16)
        let bare = text.split(separator: "%").first.map(String.init) ?? text
        return inet_pton(AF_INET6, bare, &v6) == 1 && contains(v6)
    }
}
