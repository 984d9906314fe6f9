import Foundation
import Logging
import Settings

/// Threads and log of the process.
struct ProcessSettings: Sendable {
    var loops = max(1, ProcessInfo.processInfo.activeProcessorCount)
    var logLevel = Logger.Level.info
    var logsJSON = false

    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("loops", \.loops, .whole(1...256), "event loops that carry the calls", unset: "one a core")
        Setting("log.level", \.logLevel, .choice, "least severity that is logged")
        Setting("log.format", \.logsJSON, .oneOf([("text", false), ("json", true)]), "lines of the log")
    }
}
