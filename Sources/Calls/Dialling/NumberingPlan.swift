internal import Foundation

/// Telephone numbers as people write them → E.164 (ITU-T E.164 §6), and what a number's country says of it.
///
/// A table of our own: there is no such library for Swift on Linux. It holds what dialling needs, no more: country
/// code, trunk prefix, time zones and numbers that cost extra.
public struct NumberingPlan: Sendable, Equatable {
    public struct Country: Sendable, Equatable {
        /// ISO 3166-1.
        public var name: String
        /// Country code, without `+`.
        public var code: String
        /// What stands before an area code inside the country.
        public var trunkPrefix: String
        /// What stands before a country code inside the country; `00` everywhere else.
        public var internationalPrefixes: [String] = ["00"]
        public var zones: [String]
        /// Beginnings of national numbers that cost extra, without the trunk prefix.
        public var premium: [String] = []
    }

    /// Digits of a number (E.164 §6.1), and of what may stand before it.
    private static let digitLimit = 15
    private static let prefixLimit = 5
    /// Characters of the shortest number in E.164, with its "+".
    private static let shortest = 6

    /// Where national numbers belong, ISO 3166-1.
    public var home: String

    public init(home: String = "KR") { self.home = home }

    public static let countries: [Country] = [
        Country(
            name: "KR", code: "82", trunkPrefix: "0",
            internationalPrefixes: ["001", "002", "005", "006", "008", "00700", "00755", "00"],
            zones: ["Asia/Seoul"], premium: ["60"]),
        Country(
            name: "US", code: "1", trunkPrefix: "1", internationalPrefixes: ["011"],
            zones: [
                "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Anchorage",
                "Pacific/Honolulu",
            ],
            premium: ["900", "976"]),
        Country(
            name: "JP", code: "81", trunkPrefix: "0", internationalPrefixes: ["010"], zones: ["Asia/Tokyo"],
            premium: ["990", "180"]),
        Country(name: "CN", code: "86", trunkPrefix: "0", zones: ["Asia/Shanghai"], premium: ["168"]),
        Country(
            name: "TW", code: "886", trunkPrefix: "0", internationalPrefixes: ["002", "00"], zones: ["Asia/Taipei"],
            premium: ["204", "209"]),
        Country(
            name: "HK", code: "852", trunkPrefix: "", internationalPrefixes: ["001", "00"], zones: ["Asia/Hong_Kong"],
            premium: ["900"]),
        Country(
            name: "SG", code: "65", trunkPrefix: "", internationalPrefixes: ["001", "00"], zones: ["Asia/Singapore"],
            premium: ["1900"]),
        Country(name: "VN", code: "84", trunkPrefix: "0", zones: ["Asia/Ho_Chi_Minh"], premium: ["1900"]),
        Country(
            name: "TH", code: "66", trunkPrefix: "0", internationalPrefixes: ["001", "00"], zones: ["Asia/Bangkok"],
            premium: ["1900"]),
        Country(name: "PH", code: "63", trunkPrefix: "0", zones: ["Asia/Manila"]),
        Country(
            name: "ID", code: "62", trunkPrefix: "0", zones: ["Asia/Jakarta", "Asia/Makassar", "Asia/Jayapura"],
            premium: ["809"]),
        Country(name: "IN", code: "91", trunkPrefix: "0", zones: ["Asia/Kolkata"]),
        Country(
            name: "RU", code: "7", trunkPrefix: "8", internationalPrefixes: ["810", "00"],
            zones: [
                "Europe/Kaliningrad", "Europe/Moscow", "Asia/Yekaterinburg", "Asia/Novosibirsk", "Asia/Irkutsk",
                "Asia/Vladivostok", "Asia/Kamchatka",
            ],
            premium: ["809"]),
        Country(
            name: "UZ", code: "998", trunkPrefix: "", internationalPrefixes: ["810", "00"], zones: ["Asia/Tashkent"]),
        Country(name: "UA", code: "380", trunkPrefix: "0", zones: ["Europe/Kyiv"], premium: ["900"]),
        Country(
            name: "GB", code: "44", trunkPrefix: "0", zones: ["Europe/London"],
            premium: ["9", "70", "871", "872", "873"]),
        Country(name: "IE", code: "353", trunkPrefix: "0", zones: ["Europe/Dublin"], premium: ["15"]),
        Country(name: "DE", code: "49", trunkPrefix: "0", zones: ["Europe/Berlin"], premium: ["900", "137", "118"]),
        Country(
            name: "AT", code: "43", trunkPrefix: "0", zones: ["Europe/Vienna"], premium: ["900", "901", "930", "931"]),
        Country(name: "CH", code: "41", trunkPrefix: "0", zones: ["Europe/Zurich"], premium: ["900", "901", "906"]),
        Country(name: "FR", code: "33", trunkPrefix: "0", zones: ["Europe/Paris"], premium: ["89"]),
        Country(name: "ES", code: "34", trunkPrefix: "", zones: ["Europe/Madrid"], premium: ["803", "806", "807"]),
        Country(name: "IT", code: "39", trunkPrefix: "", zones: ["Europe/Rome"], premium: ["89", "166"]),
        Country(name: "NL", code: "31", trunkPrefix: "0", zones: ["Europe/Amsterdam"], premium: ["900", "906", "909"]),
        Country(name: "BE", code: "32", trunkPrefix: "0", zones: ["Europe/Brussels"], premium: ["90"]),
        Country(name: "PL", code: "48", trunkPrefix: "", zones: ["Europe/Warsaw"], premium: ["70"]),
        Country(name: "SE", code: "46", trunkPrefix: "0", zones: ["Europe/Stockholm"], premium: ["900", "939", "944"]),
        Country(name: "TR", code: "90", trunkPrefix: "0", zones: ["Europe/Istanbul"], premium: ["900"]),
        Country(name: "IL", code: "972", trunkPrefix: "0", zones: ["Asia/Jerusalem"], premium: ["1900"]),
        Country(name: "AE", code: "971", trunkPrefix: "0", zones: ["Asia/Dubai"], premium: ["900"]),
        Country(
            name: "AU", code: "61", trunkPrefix: "0", internationalPrefixes: ["0011"],
            zones: [
                "Australia/Sydney", "Australia/Brisbane", "Australia/Adelaide", "Australia/Darwin", "Australia/Perth",
            ], premium: ["190"]),
        Country(name: "NZ", code: "64", trunkPrefix: "0", zones: ["Pacific/Auckland"], premium: ["900"]),
        Country(
            name: "BR", code: "55", trunkPrefix: "0",
            zones: ["America/Sao_Paulo", "America/Manaus", "America/Rio_Branco"], premium: ["900"]),
        Country(
            name: "MX", code: "52", trunkPrefix: "",
            zones: ["America/Mexico_City", "America/Hermosillo", "America/Tijuana"], premium: ["900"]),
        Country(name: "ZA", code: "27", trunkPrefix: "0", zones: ["Africa/Johannesburg"], premium: ["862"]),
    ]

    /// Beyond countries, and dear everywhere: satellites and international premium numbers (ITU-T E.164 list of
    /// assigned codes).
    static let expensiveCodes = ["870", "878", "881", "882", "883", "888", "979"]

    /// Never dialled, however they are written.
    static let emergencyNumbers: Set<String> = [
        "112", "119", "110", "911", "999", "000", "113", "117", "118", "101", "102", "103",
    ]

    static func country(named name: String) -> Country? { countries.first { $0.name == name.uppercased() } }

    /// The country of a number in E.164; +1 and +7 are shared, and the larger one stands for all.
    static func country(of number: String) -> Country? {
        guard number.hasPrefix("+") else { return nil }
        let digits = number.dropFirst()
        return countries.filter { digits.hasPrefix($0.code) }.max { $0.code.count < $1.code.count }
    }

    /// What people write between digits.
    private static let separators: Set<Unicode.Scalar> = [
        " ", "-", "(", ")", ".", "/", "\u{A0}", "\u{2010}", "\u{2011}", "\u{2013}", "·",
    ]

    /// Digits with `+` kept: what may be dialled, as it was written.
    ///
    /// A digit is what Unicode calls a decimal number (general category Nd): full-width and Arabic-Indic ones too, as
    /// keyboards give them. Other signs have a value and are no digits: ①, ¹, Ⅷ, 三. All digits of a number are of one
    /// script: who mixes them hides a number.
    static func stripped(_ text: String) -> String? {
        var stripped = ""
        var zero: UInt32?
        for scalar in text.unicodeScalars {
            let properties = scalar.properties
            if properties.generalCategory == .decimalNumber, let value = properties.numericValue.map({ UInt32($0) }) {
                guard value < 10, zero ?? (scalar.value - value) == scalar.value - value else { return nil }
                zero = scalar.value - value
                stripped += String(value)
            } else if scalar == "＋" {
                stripped += "+"
            } else if !separators.contains(scalar) {
                stripped.unicodeScalars.append(scalar)
            }
        }
        if stripped.prefix(4).lowercased() == "tel:" { stripped = String(stripped.dropFirst(4)) }
        let digits = stripped.hasPrefix("+") ? stripped.dropFirst() : stripped[...]
        // With a carrier's prefix it may be longer; what is in E.164 may not.
        let limit = stripped.hasPrefix("00") ? digitLimit + prefixLimit : digitLimit
        guard digits.count >= 3, digits.count <= limit, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else {
            return nil
        }
        return stripped
    }

    /// `+` and 5 to 15 digits; nil for other texts: short numbers, letters, too many digits.
    ///
    ///     "010-1234-5678", "+82 (0)10 1234 5678", "00182 10 1234 5678"  →  "+821012345678"      (home: KR)
    public func e164(_ text: String) -> String? {
        international(text).flatMap { $0.count <= 1 + Self.digitLimit ? $0 : nil }
    }

    /// Whether it has more digits than a number: networks ignore those behind it, so it would stand for a shorter one.
    func isOverlong(_ text: String) -> Bool {
        (international(text) ?? Self.stripped(text)).map { $0.filter { $0 != "+" }.count > Self.digitLimit } ?? false
    }

    /// `e164` of any length.
    private func international(_ text: String) -> String? {
        // "+82 (0)10": the trunk prefix in brackets is not dialled from abroad.
        let text = text.contains("+") ? text.replacing("(0)", with: "") : text
        return Self.stripped(text).flatMap(international(stripped:))
    }

    private func international(stripped number: String) -> String? {
        if number.hasPrefix("+") {
            // "+82 010…" is written often, and wrong: no number of such a country begins with its trunk prefix.
            guard let country = Self.country(of: number), country.trunkPrefix == "0" else {
                return number.count >= Self.shortest ? number : nil
            }
            let written = "+" + country.code + number.dropFirst(1 + country.code.count).drop { $0 == "0" }
            return written.count >= Self.shortest ? written : nil
        }
        guard let home = Self.country(named: home) else { return nil }
        // "008" is a carrier's prefix, and "0082…" is not behind it: what follows must be a country.
        let abroad = home.internationalPrefixes.sorted { $0.count > $1.count }.filter { number.hasPrefix($0) }
            .map { "+" + number.dropFirst($0.count) }.filter { $0.count >= 8 }
        if let known = abroad.first(where: { Self.country(of: $0) != nil }) ?? abroad.first {
            return international(stripped: known)
        }
        guard number.count >= 7 else { return nil }
        if !home.trunkPrefix.isEmpty, number.hasPrefix(home.trunkPrefix) {
            return international(stripped: "+" + home.code + number.dropFirst(home.trunkPrefix.count))
        }
        // Without the trunk prefix: a whole number where there is none, or one like Korea's 1588-0000.
        return "+" + home.code + number
    }

    /// What two spellings of one callee have in common: E.164, or the digits, also of the number that a SIP address
    /// stands for; of any other SIP address its lower case.
    public func key(_ callee: String) -> String {
        guard let spelling = CallAddress(callee)?.spelling else {
            return callee.prefix(4).lowercased() == "sip:" ? callee.lowercased() : callee
        }
        return e164(spelling) ?? Self.stripped(spelling) ?? callee
    }

    func isEmergency(_ text: String) -> Bool {
        guard let number = Self.stripped(text) else { return false }
        // As it is, and as it is dialled from abroad: "+82 000 2 119" is "+82 2 119".
        let spellings = [number, international(stripped: number), international(text)].compactMap(\.self)
        if spellings.contains(where: { isEmergency(stripped: $0[...]) }) { return true }
        // "00182 2 119" is "+82 2 119".
        return (Self.country(named: home)?.internationalPrefixes ?? ["00"]).contains {
            number.hasPrefix($0) && isEmergency(stripped: "+" + number.dropFirst($0.count))
        }
    }

    private func isEmergency(stripped number: Substring) -> Bool {
        if Self.emergencyNumbers.contains(number.filter { $0 != "+" }) { return true }
        // "+82 2 119" and "02-119" reach the fire brigade too.
        let national: Substring
        if let country = Self.country(of: String(number)) {
            national = number.dropFirst(1 + country.code.count)
        } else if let home = Self.country(named: home), !home.trunkPrefix.isEmpty, number.hasPrefix(home.trunkPrefix) {
            national = number.dropFirst(home.trunkPrefix.count)
        } else {
            return false
        }
        return national.count <= 6 && Self.emergencyNumbers.contains(String(national.suffix(3)))
    }

    func isPremium(_ text: String) -> Bool {
        guard let number = international(text) else { return false }
        if Self.expensiveCodes.contains(where: { number.dropFirst().hasPrefix($0) }) { return true }
        guard let country = Self.country(of: number) else { return false }
        return country.premium.contains { number.dropFirst(1 + country.code.count).hasPrefix($0) }
    }

    /// All time zones that the callee may be in; empty if the number does not tell.
    func zones(of callee: String) -> [TimeZone] {
        guard let spelling = CallAddress(callee)?.spelling, let number = e164(spelling),
            let country = Self.country(of: number)
        else { return [] }
        return country.zones.compactMap { TimeZone(identifier: $0) }
    }
}
