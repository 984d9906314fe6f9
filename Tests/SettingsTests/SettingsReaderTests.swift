import Foundation
import Testing

@testable import Settings

@Suite struct SettingsReaderTests {
    struct Pump: Equatable {
        struct Motor: Equatable {
            var speed = 20
            static var keys: [Setting<Self>] {
                [Setting("speed", \.speed, .whole(1...100), "turns a second")]
            }
        }
        var isOn = false
        var motor = Motor()
        var names: [String] = []
        var password: String?
        var codes: [String: String] = [:]

        @SettingsBuilder<Self> static var keys: [Setting<Self>] {
            Setting("pump.on", \.isOn, .flag, "it runs")
            Motor.keys.under(\.motor, "pump.motor")
            Setting("names", \.names, .list, "by which it is called", unset: "none")
            Setting("password", \.password, .text, "lets in", unset: "none", isSecret: true, known: ["PUMP_PASSWORD"])
            Setting(
                group: "pump.codes", \.codes, .text, "opens a valve", unset: "none",
                isName: { $0.allSatisfy { $0.isLetter && $0.isLowercase } })
        }
    }

    private let folder = NSTemporaryDirectory() + "settings-\(UUID().uuidString)"

    /// Writes these files into an empty folder and reads the settings there.
    private func read(
        file: String? = nil, dotEnv: String? = nil, flags: [(String, String)] = [],
        _ environment: [String: String] = [:]
    ) throws -> (pump: Pump, found: [String: SettingsReader<Pump>.Found]) {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try file?.write(toFile: folder + "/c.yaml", atomically: true, encoding: .utf8)
        try dotEnv?.write(toFile: folder + "/.env", atomically: true, encoding: .utf8)
        try "hush\n".write(toFile: folder + "/secret", atomically: true, encoding: .utf8)
        var pump = Pump()
        let found = try SettingsReader(Pump.keys).read(
            into: &pump, file: file.map { _ in folder + "/c.yaml" }, flags: flags, environment: environment,
            folder: folder)
        return (pump, found)
    }

    private func problem(
        file: String? = nil, dotEnv: String? = nil, flags: [(String, String)] = [],
        _ environment: [String: String] = [:]
    ) -> String? {
        let error = #expect(throws: ConfigurationError.self) {
            try read(file: file, dotEnv: dotEnv, flags: flags, environment)
        }
        return error?.description.split(separator: folder + "/").joined()
    }

    @Test func aGroupHasNamesOfTheOperators() throws {
        let (pump, _) = try read(
            file: "pump:\n  codes:\n    inner: file:\(folder)/secret\n", dotEnv: "TRUNKLINE_PUMP_CODES_OUTER=two",
            ["TRUNKLINE_PUMP_CODES_THIRD": "three"])
        #expect(pump.codes == ["inner": "hush", "outer": "two", "third": "three"])
        #expect(problem(["TRUNKLINE_PUMP_CODES_A1": "x"])?.contains("is not a setting") == true)
        let open = problem(file: "pump:\n  codes:\n    inner: hush-hush\n")
        #expect(open?.contains("TRUNKLINE_PUMP_CODES_INNER") == true && open?.contains("hush-hush") == false)
        #expect(problem(file: "pump:\n  codes:\n    a1: file:x\n")?.contains("is not a setting") == true)
    }

    @Test func nothingSetLeavesDefaults() throws {
        let (pump, found) = try read()
        #expect(pump == Pump() && found.isEmpty)
    }

    @Test func flagsWinOverTheEnvironmentThatOverDotEnvThatOverTheFile() throws {
        let file = "pump:\n  motor:\n    speed: 1\n"
        let own = "TRUNKLINE_PUMP_MOTOR_SPEED"
        var (pump, found) = try read(file: file)
        #expect(pump.motor.speed == 1 && found["pump.motor.speed"]?.place.hasSuffix("c.yaml:3") == true)
        (pump, found) = try read(file: file, dotEnv: "# a note\n\(own)='2'\n")
        #expect(pump.motor.speed == 2 && found["pump.motor.speed"] == .init(text: "2", place: ".env:2"))
        (pump, found) = try read(file: file, dotEnv: "\(own)=2", [own: "3"])
        #expect(pump.motor.speed == 3 && found["pump.motor.speed"]?.place == "environment")
        (pump, found) = try read(file: file, flags: [("pump.motor.speed", "4")], [own: "3"])
        #expect(pump.motor.speed == 4 && found["pump.motor.speed"]?.place == "--pump.motor.speed")
    }

    @Test func theFileMayHaveTheOlderRootAndLists() throws {
        let pump = try read(file: "ai_voicebot:\n  pump:\n    on: yes\n  names: [a, b]\n").pump
        #expect(pump.isOn && pump.names == ["a", "b"])
        #expect(try read(file: "").pump == Pump() && read(file: "pump:\n").pump == Pump())
    }

    @Test func theFileOfTheEnvironmentIsRead() {
        #expect(problem([SettingNames.file: "/nowhere.yaml"]) == "cannot read the configuration /nowhere.yaml")
    }

    @Test func namesKnownElsewhereCountWhereOursIsNotSet() throws {
        #expect(try read(["PUMP_PASSWORD": "a"]).pump.password == "a")
        #expect(try read(["PUMP_PASSWORD": "a", "TRUNKLINE_PASSWORD": "b"]).pump.password == "b")
        #expect(try read(["PUMP_PASSWORD": ""]).pump.password == nil)
    }

    @Test func secretsStandInTheEnvironmentOrInAFileOfTheirOwn() throws {
        let (pump, found) = try read(file: "password: file:\(folder)/secret\n")
        #expect(pump.password == "hush" && found["password"]?.text == "")
        #expect(
            problem(file: "names: a\npassword: hush\n")
                == "c.yaml:2: password is a secret: set TRUNKLINE_PASSWORD, or write file:/path/of/the/secret")
        #expect(problem(file: "password: file:/nowhere\n") == "c.yaml:1: password cannot read /nowhere")
    }

    @Test func errorsSayWhereAndSuggestWhat() {
        #expect(
            problem(file: "pump:\n  motor:\n    sped: 1\n")
                == "c.yaml:3: pump.motor.sped is not a setting, did you mean pump.motor.speed?")
        #expect(
            problem(file: "pump:\n  motor:\n    speed: 0\n")
                == "c.yaml:3: pump.motor.speed must be a whole number in 1…100, not 0")
        #expect(problem(file: "pump: 1\n") == "c.yaml:1: pump must be a mapping")
        #expect(problem(file: "names:\n  a: 1\n") == "c.yaml:2: names must be a single value")
        #expect(
            problem(["TRUNKLINE_PUMP_NO": "1"])
                == "environment: TRUNKLINE_PUMP_NO is not a setting, did you mean TRUNKLINE_PUMP_ON?")
        #expect(
            problem(["TRUNKLINE_PUMP_ON": "perhaps"])
                == "environment: TRUNKLINE_PUMP_ON must be true or false, not perhaps")
        #expect(problem(dotEnv: "\nTRUNKLINE_PUMP_ON=x") == ".env:2: TRUNKLINE_PUMP_ON must be true or false, not x")
        #expect(problem(dotEnv: "\nwords") == ".env:2: expected NAME=value")
        #expect(problem(flags: [("pump.on", "x")]) == "--pump.on: must be true or false, not x")
    }

    @Test func everyProblemIsToldAtOnce() {
        let problems = problem(
            file: "names:\n  a: 1\npump:\n  motor:\n    speed: x\n  of: 1\n", dotEnv: "words\n",
            ["TRUNKLINE_PUMP_ON": "x"])
        let first =
            ".env:1: expected NAME=value\nc.yaml:2: names must be a single value\n"
            + "c.yaml:6: pump.of is not a setting, did you mean pump.on?\n"
        let then =
            "c.yaml:5: pump.motor.speed must be a whole number in 1…100, not x\n"
            + "environment: TRUNKLINE_PUMP_ON must be true or false, not x"
        #expect(problems == first + then)
    }

    @Test func printedTextsKeepSecretsAndTellDefaults() throws {
        let printer = SettingsPrinter(Pump.keys, defaults: Pump())
        let list = printer.list(try read(flags: [("pump.on", "yes")], ["PUMP_PASSWORD": "hush"]).found)
        #expect(list.hasPrefix("pump.on: yes   [--pump.on; default: false]\n    it runs\n    true or false\n"))
        #expect(list.contains("pump.motor.speed: 20   [default]\n"))
        #expect(list.contains("password: (secret)   [environment; default: none]") && !list.contains("hush"))
        #expect(
            printer.environmentFile.contains(
                "\n# pump.motor.speed: turns a second\n# (1…100)\n# TRUNKLINE_PUMP_MOTOR_SPEED=20\n"))
        #expect(
            printer.environmentFile.contains(
                "# (text; unset: none; secret; also PUMP_PASSWORD)\n# TRUNKLINE_PASSWORD=\n"))
        #expect(printer.table.contains("| `pump.motor.speed` | `20` | 1…100 | turns a second |\n"))
    }
}
