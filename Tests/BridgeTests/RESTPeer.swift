import Foundation
import Synchronization
import TestSupport

/// A carrier's API that answers every request alike, and keeps what it was asked.
final class RESTPeer: Sendable {
    struct Asked: Sendable, Equatable {
        /// Method and path.
        var line: String
        var authorization: String
        var body: String

        /// Of a JSON body.
        var fields: [String: String] {
            let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
            return (object ?? [:]).mapValues { "\($0)" }
        }
    }
    private final class Log: Sendable { let asked = Mutex<[Asked]>([]) }
    private let log: Log
    private let server: ScriptedServer

    init(_ answer: String, status: String = "200 OK") {
        let log = Log()
        self.log = log
        server = ScriptedServer { connection, _ in
            let lines = connection.receiveHead().split(separator: "\r\n").map(String.init)
            func value(_ name: String) -> String? {
                lines.first { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
            }
            let body = connection.receive(value("content-length").flatMap { Int($0) } ?? 0)
            let line = lines.first?.split(separator: " ").prefix(2).joined(separator: " ") ?? ""
            let asked = Asked(line: line, authorization: value("authorization") ?? "", body: body)
            log.asked.withLock { $0.append(asked) }
            connection.send(
                "HTTP/1.1 \(status)\r\nconnection: close\r\ncontent-length: \(answer.utf8.count)\r\n\r\n\(answer)")
        }
    }

    var url: String { server.url }
    var last: Asked? { log.asked.withLock { $0.last } }
    func stop() { server.stop() }
}
