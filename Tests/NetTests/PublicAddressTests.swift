import Foundation
import Testing

@testable import Net

@Suite struct PublicAddressTests {
    @Test(arguments: [
        ("8.8.8.8", true), ("127.0.0.1", false), ("10.1.2.3", false), ("172.16.0.1", false), ("172.32.0.1", true),
        ("192.168.1.1", false),
        ("169.254.169.254", false), ("100.64.0.1", false), ("100.128.0.1", true), ("0.0.0.0", false),
        ("224.0.0.1", false),
        ("255.255.255.255", false), ("198.18.0.1", false), ("2606:4700::1111", true), ("::1", false), ("::", false),
        ("fe80::1%eth0", false),
        ("fd00::1", false), ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::a00:1", false),
        ("2002:a00:1::", false),
        ("2001:db8::1", false), ("2001:4860:4860::8888", true), ("ff02::1", false), ("nonsense", false),
    ])
    func isPublic(address: String, expected: Bool) { #expect(PublicAddress.contains(address) == expected) }
}
