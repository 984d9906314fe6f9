import Foundation
import Testing

@testable import Bridge

/// Keys made for this test alone, and a token made by PyJWT 2.15.1, which the vendor's package uses.
@Suite struct VonageKeyTests {
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCFGBMBaSW7X8UT
        gVN7EK4JtIjtmadNtdpzk3qxZ1kBoCNzsrsQeS3mSKLZD4yYQ6mKa57803UWlvpM
        K7h3n0pfp6X+5Dr24pLWapbXMkoKeNOlX/t4w79O+PbkF26JyZdgi4aymkK6m+LK
        s6prmiukCiox1GAIFGs1SJEkDBa52SDPTxZ8x06O0iK6aZbMHQ7BvXFoxEEHfzXk
        5yYG/wa6TyH+NXQBSungEBOj1C0pStGu98fi/4VV0b7Nh5lB9DYDHXiuUbWc4/cI
        YfjUYB3ox4G8uq9acZRzgT3VFnXy5F3MaIwcaOW7oI+yfdrhEhwGmsfdVrf6GY/+
        IYqNw/HBAgMBAAECggEAFQWl7tmcV5m7Z6bMOEp8qtTEsf7MkbYxIINBZGcGBH82
        Sk6HRIVXbiG38yAFHYHGdDImhRmjS2OiekiHlQFofm5dBkMnWxqTheGFHM15K2lF
        SMA92KfWflNNr95Rm9rnGZ1AM9KwyofXzRuOxfsufHUMkB1S48PR4TMqla6BIm6C
        c55s7tqaNqi2xS4YD6p0Lh5Fp6ODqW1o+dtxOWh6CG066OtJiBZCueO6NRPMDExE
        te44Z5nD8pLQFYtxhvalzxP5wzAdoZmzHVSXqZ1HjpG4M47iGP4i/c63CSIHs8am
        2mhP8lcqNhBaZUhF014jFUKFHwVZWKjWDqOsMuKnFwKBgQC54TKDXVTqwZ+30aBD
        ZefUFtIQMCIfuJ1uTUL5Tdq1ozwvYLP16eTtVfbc/0Sv0qVK6U/TYjAj5moIeuaJ
        RyzDA7emhChQDFz3YIBzqHalbIKmDO6z8LSSBmRFbJTqeQLJnLZv7iLYk4PZ6y6D
        2FpZBm0Ewu6qgwlPxeCY+oy4swKBgQC3TUDzyc2xqOTgTwOihMyovgZtrONjFLap
        /tUNjciw3+SuOyvwFzr8AQeXJZry/hP8aUOKQ7I/Iz2OBxBS+jfkngnKH4fPiu4V
        VN3/ChTxaPW2kkdSmq/dkQRd/k+LHCSbtyEhPyygfyNQbcF+ibOoWxxtx/rO1ZeV
        lz0aHqBduwKBgDSPvZzv82c+wU9Vc6AbXObYXSY+tieKKNpb9qhQn5vlQMuU6M6N
        CTMjr97mQCIHyr3YI75+cWZ1bV5ggngnLD0o+/GWRV/9XvyEyU3rQUGd4YPa/FTd
        p/Hy5L/M6H81INip+9zC1g+wBwTEQC8AKuwpqQJDrQGCdEuehNg9YTWJAoGAeBxn
        M1hJMOE7GMCt4RCkCu55x+RCG+q2xy307ay6lSwg7QpZADo4rGkAUEqT/iX/cqaH
        W1KAul6dNzPpvnW3qlbkk02V8KlY2SGDVluE3aupVrkDg11ZYBZmhjDebolCc8bM
        Lrz2wTSOL2W8JO6Wivso5cbk0iOj8KHpp/PpoYECgYAmemmoE53KQf4G1Rh7bdsf
        HaxDXUDS8czccuVc6wcMG+10Eurn4I8+9ir//C0xQekzyABe3C9FjukGoeBaR8Xh
        2LoVm4nnP0cHOB4y3H8SoeEN24SVMIP/4bMJfUWV8nXQJNIkgLPccD3379oXLxpR
        IJgxCrmQuY7ybjVa+Pqolg==
        -----END PRIVATE KEY-----
        """

    /// 1 024 bits.
    private static let small = """
        -----BEGIN PRIVATE KEY-----
        MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBANUw5t7MwC6jUoOn
        JwTElkg/Qsx3gVWy1Dfp409HTwGYQr+1ySBjABaEMlSHpMTcN1bpNNIw3cuqaTpL
        lRvPkWr1P1bazsjclABfPVE7PSVQI3sEYTsj9ANHF87ruyCFvW0hmXY4T+YMO0uJ
        MgwmTGCYMRsF9CmXYozAKAi2Cxs9AgMBAAECgYAqcRTVMB/maP9JVGKRMW3Vrjpn
        KDdoTzSuePKW2tRgteY78j27I9ploSW/7E0iH9EojT7FxZKyNBfE0j06DyWcr1KC
        In84mwm33Z5oMQqZK2LmozCtqiJRaBMpk/Vp7liK8twA5Ag4JXDyx+UIoWYg2xtA
        qPzXkxrpDxKJCYOy5QJBAPcQKS13kT0/b/xJoRFuz4WAxzgXaQxb+NK+OG2Oejuk
        pC6MKfhkYj0Xp32lS2NfcZCfe7DaAiQCgpD386uAHA8CQQDc5xSe2mdbKMpmeniW
        N9rOG26hgfDNpC0FBtny4en3371nd2pFCfu92dcpb9IeK2w6mhVyx4l/7F5cPxcj
        wvfzAkEAsGH1Q+SM6DEV/gOC3jNCLImXsM/ly1EN/0aWeoCxe0s7e4/NluvzxrHQ
        fb84ZyWIqjtxzvyVcqfoFx8t805uuQJBALtumrF6kQ3pG2s+aUjUVaRh5EnHjkF+
        FvDX8l/CThoSzouW6CVyJhbdWlH/XiJZJ7jFeoNsSP+w2BOfOIwQZv8CQQCxiZiP
        h3UmpnRYxUuRr5qSkPDuClb7bdqNu9KjEfHP1PT4vxOlwO/PsvifhEtnUIc5MBv8
        ksT9WpeG7o1zR4rB
        -----END PRIVATE KEY-----
        """

    @Test func aTokenIsTheVendors() throws {
        let key = try #require(VonageKey(pem: Self.pem))
        let id = try #require(UUID(uuidString: "c5ba8f24-1a14-4c10-bfdf-3fbe8ce511b5"))
        let token = key.token(
            applicationID: "aaaaaaaa-bbbb-cccc-dddd-0123456789ab", at: Date(timeIntervalSince1970: 1_700_000_000.7),
            id: id)
        let wanted =
            "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJhcHBsaWNhdGlvbl9pZCI6ImFhYWFhYWFhLWJiYmItY2NjYy1kZGRkLTAxMjM"
            + "0NTY3ODlhYiIsImV4cCI6MTcwMDAwMDMwMCwiaWF0IjoxNzAwMDAwMDAwLCJqdGkiOiJjNWJhOGYyNC0xYTE0LTRjMTAtYmZkZi0"
            + "zZmJlOGNlNTExYjUifQ.F-JnAT3ESgnYizpkQVugxd-z9w1zX4aBInSC9P8M6euphLrpGwgcyETldR2K8T1YB_r9EIDu9Y0s5OZ2"
            + "R4mKY-vzV5f1gcxiaG9DducH7jY2w-VibGRXbWTaINwI_sQdgL22sdrNLOOMwsPgB70wKA9ZHJY9WBAq1dVIb6bTL8cE7SqWG6kw"
            + "DsPrFDUzY1ADFUFvSKmL7yEnCgKpSO8hoJj3N2ED5J2Oul07q1zyTmQGOs5Sx4s1I87fOVNY4IByd7VGxrCpUGz3y18S4B6NIHpM"
            + "MvqLw3fKKmZ7tqNBh8xusGPUIIQFohEi_K61ESE4H6Dl65Hstz84FZnBiI-3YA"
        #expect(token == wanted)
    }

    @Test func noTokenIsMadeTwice() throws {
        let key = try #require(VonageKey(pem: Self.pem)), now = Date(timeIntervalSince1970: 1)
        #expect(key.token(applicationID: "a", at: now) != key.token(applicationID: "a", at: now))
    }

    @Test func lineBreaksMayBeWritten() {
        #expect(VonageKey(pem: Self.pem.replacing("\n", with: "\\n")) != nil)
    }

    @Test func whatIsNoKeyOfThatSizeIsNone() {
        #expect(VonageKey(pem: "") == nil && VonageKey(pem: "/etc/key.pem") == nil && VonageKey(pem: Self.small) == nil)
        #expect(VonageKey(pem: String(Self.pem.dropLast(100))) == nil)
        #expect(VonageKey(pem: Self.pem + String(repeating: "\n", count: 20_000)) == nil)
    }
}
