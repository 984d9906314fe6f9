import Foundation
import Logging
import Synchronization

/// Lines to standard error: `2026-11-21T09:30:00Z info message call=ob-…`, or one JSON object each.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let isJSON: Bool

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.level >= .error { ErrorCount.shared.add(event.message.description) }
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        var text: String
        if isJSON {
            var members = ["time": time, "level": event.level.rawValue, "message": event.message.description]
            for (key, value) in all { members[key] = value.description }
            let data =
                (try? JSONSerialization.data(withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes]))
                ?? Data()
            text = String(decoding: data, as: UTF8.self)
        } else {
            // One line an entry, whatever the message holds.
            text = "\(time) \(event.level.rawValue) \(event.message.description.replacing("\n", with: " "))"
            for (key, value) in all { text += " \(key)=\(value)" }
        }
        text += "\n"
        FileHandle.standardError.write(Data(text.utf8))
    }
}

/// Counts the errors in the log, for alerts.
final class ErrorCount: Sendable {
    static let shared = ErrorCount()

    private struct State {
        var count = 0
        var last = ""
    }
    private let state = Mutex(State())

    func add(_ message: String) {
        state.withLock { state in
            state.count += 1
            state.last = message
        }
    }
    var current: (count: Int, last: String) { state.withLock { ($0.count, $0.last) } }
}
