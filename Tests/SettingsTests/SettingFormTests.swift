import Settings
import Testing

@Suite struct SettingFormTests {
    enum Colour: String, CaseIterable { case red, green, blue }

    /// What a form says to each text: its value as it would be written, or what is wrong.
    private func said<Value>(_ form: SettingForm<Value>, _ text: String) -> String {
        do { return form.written(try form.read(text)) ?? "nothing" } catch { return "\(error)" }
    }

    @Test func numbersHaveBounds() {
        let form = SettingForm<Int>.whole(1...600, .seconds)
        #expect(form.allowed == "1…600 s")
        #expect(said(form, "30") == "30")
        for text in ["0", "601", "x", "", "1.5"] {
            #expect(said(form, text) == "must be a whole number in 1…600, not \(text)")
        }
        let double = SettingForm<Double>.whole(0...10, .seconds)
        #expect(said(double, "7") == "7" && said(double, "11").contains("0…10"))
        let decimal = SettingForm<Double>.decimal(0...2)
        #expect(said(decimal, "0.4") == "0.4" && said(decimal, "1") == "1")
        for text in ["2.1", "nan", "inf", "x"] {
            #expect(said(decimal, text) == "must be a number in 0…2, not \(text)")
        }
        #expect(said(SettingForm<UInt16>.port, "99999") == "must be a port, 0…65535, not 99999")
    }

    @Test func wordsAreKnown() {
        #expect(said(SettingForm<Colour>.choice, "green") == "green")
        #expect(said(SettingForm<Colour>.choice, "pink") == "must be red, green or blue, not pink")
        let law = SettingForm<Bool>.oneOf([("mulaw", true), ("pcm", false)])
        #expect(said(law, "pcm") == "pcm" && said(law, "x") == "must be mulaw or pcm, not x")
        for (text, value) in [
            ("true", "true"), ("ON", "true"), ("0", "false"), ("maybe", "must be true or false, not maybe"),
        ] {
            #expect(said(.flag, text) == value)
        }
        #expect(said(SettingForm<String?>.orNone(.text), "none") == "none")
    }

    @Test func listsStandBetweenCommas() {
        #expect(said(SettingForm<[String]>.list, " a, b ,,c") == "a,b,c")
        let names = SettingForm<[String]>.names(of: ["a", "b"])
        #expect(said(names, "b,a") == "b,a")
        #expect(said(names, "c") == "c is none of: a, b" && said(names, " ") == "must name at least one of: a, b")
        let numbers = SettingForm<[Int]>.list(of: .whole(0...9))
        #expect(said(numbers, "1,2") == "1,2")
        #expect(said(numbers, "1,x") == "x must be a whole number in 0…9, not x")
        let set = SettingForm<Set<Colour>>.set(of: [.red, .blue])
        #expect(said(set, "blue,red") == "red,blue" && said(set, "green") == "green is none of red, blue")
    }

    @Test func addressesEndWithoutASlash() {
        #expect(said(.webURL, "https://a.example/v1/") == "https://a.example/v1")
        for text in ["a.example", "https://a.example/?x=1", "ftp://a.example"] {
            #expect(said(.webURL, text) == "must be an https:// URL without a query")
        }
    }
}
