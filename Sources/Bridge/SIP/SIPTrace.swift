public import Foundation
internal import Synchronization

/// The SIP messages of live calls and of the calls that ended last, for troubleshooting.
/// Secrets are taken out before anything is kept.
public final class SIPTrace: Sendable {
    public struct Message: Sendable, Equatable, Codable {
        public var at: Date
        public var isSent: Bool
        /// `udp/192.0.2.1:5060`.
        public var peer: String
        /// Request line without the version, or status line without it.
        public var summary: String
        public var text: String
        public init(at: Date, isSent: Bool, peer: String, summary: String, text: String) {
            self.at = at
            self.isSent = isSent
            self.peer = peer
            self.summary = summary
            self.text = text
        }
    }

    /// Messages of one dialog, dialogs, and bytes of one message.
    static let messageLimit = 200
    static let dialogLimit = 4_000
    static let textLimit = 4_096
    /// Bytes of heap that all of them take, as `cost` counts them.
    static let totalLimit = 32 << 20
    /// Bytes of heap for a message beside its three texts: their heads, its place in the dialog's array, and what
    /// malloc
    /// rounds up.
    static let messageOverhead = 320
    /// The same for a dialog beside its Call-ID: its places in `dialogs` and `order`, its array's head.
    static let dialogOverhead = 256

    private struct State {
        var dialogs: [String: [Message]] = [:]
        var order: [String] = []
        var total = 0
        // The message whose lines are being read.
        var head: (isSent: Bool, peer: String)?
        var lines: [String] = []
        var length = 0
    }
    private let state = Mutex(State())
    private let now: @Sendable () -> Date

    public init(now: @escaping @Sendable () -> Date = { Date() }) { self.now = now }

    /// A piece of sofia's dump, as it prints it.
    func take(_ piece: String) {
        let line = piece.trimmingCharacters(in: .newlines)
        state.withLock { state in
            if line.hasPrefix("send ") || line.hasPrefix("recv ") {
                let words = line.split(separator: " ", maxSplits: 5)
                let peer = words.count > 4 ? words[4].replacing("[", with: "").replacing("]", with: "") : ""
                state.head = (line.hasPrefix("send"), String(peer.prefix(80)))
                state.lines = []
                state.length = 0
            } else if line.hasPrefix("   ----"), state.head != nil {
                if !state.lines.isEmpty { finish(&state) }
            } else if state.head != nil, line.hasPrefix("   ") {
                let text = String(line.dropFirst(3))
                guard state.length + text.utf8.count < Self.textLimit else { return }
                state.length += text.utf8.count + 1
                state.lines.append(text)
            }
        }
    }

    private func finish(_ state: inout State) {
        guard let head = state.head, let first = state.lines.first else { return }
        let callID = state.lines.lazy.compactMap { Self.value(of: $0, "call-id", "i") }.first
        defer {
            state.head = nil
            state.lines = []
        }
        // Whether a trunk is there is no call's business.
        guard let callID, !first.hasPrefix("OPTIONS "),
            !state.lines.contains(where: { $0.lowercased().hasPrefix("cseq:") && $0.hasSuffix("OPTIONS") })
        else { return }
        let message = Message(
            at: now(), isSent: head.isSent, peer: head.peer, summary: String(Self.summary(first).prefix(200)),
            text: Self.exact(state.lines.map(Self.redacted).joined(separator: "\n")))
        if state.dialogs[callID] == nil {
            state.order.append(callID)
            state.dialogs[callID] = []
            state.total += Self.cost(callID)
        }
        guard state.dialogs[callID, default: []].count < Self.messageLimit else { return }
        state.dialogs[callID, default: []].append(message)
        state.total += Self.cost(message)
        // The oldest go, whatever there is of them.
        while state.order.count > Self.dialogLimit || state.total > Self.totalLimit, let oldest = state.order.first,
            oldest != callID
        {
            state.order.removeFirst()
            let gone = state.dialogs.removeValue(forKey: oldest) ?? []
            state.total -= gone.reduce(Self.cost(oldest)) { $0 + Self.cost($1) }
        }
    }

    /// Bytes of heap that a message takes. Texts alone would not bound it: most messages are shorter than what is kept
    /// beside them.
    static func cost(_ message: Message) -> Int {
        messageOverhead + message.text.utf8.count + message.summary.utf8.count + message.peer.utf8.count
    }

    private static func cost(_ callID: String) -> Int { dialogOverhead + callID.utf8.count }

    /// The same text in no more memory than it needs: one that was appended to has room for more.
    private static func exact(_ text: String) -> String {
        var copy = ""
        copy.reserveCapacity(text.utf8.count)
        copy += text
        return copy
    }

    /// What is kept now: messages, and bytes as they are counted.
    var size: (messages: Int, bytes: Int) {
        state.withLock { ($0.dialogs.reduce(0) { $0 + $1.value.count }, $0.total) }
    }

    /// Of all dialogs of these Call-IDs, and of those whose Call-ID holds this text; oldest first.
    public func messages(of callIDs: Set<String>, holding text: String) -> [Message] {
        state.withLock { state in
            state.dialogs.filter { callIDs.contains($0.key) || $0.key.contains(text) }.flatMap(\.value).sorted {
                $0.at < $1.at
            }
        }
    }

    private static func value(of line: String, _ names: String...) -> String? {
        guard let colon = line.firstIndex(of: ":") else { return nil }
        return names.contains(line[..<colon].trimmingCharacters(in: .whitespaces).lowercased())
            ? line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces) : nil
    }

    private static func summary(_ line: String) -> String {
        if line.hasPrefix("SIP/2.0 ") { return String(line.dropFirst(8)) }
        return line.hasSuffix(" SIP/2.0") ? String(line.dropLast(8)) : line
    }

    /// Credentials and SRTP keys are removed.
    static func redacted(_ line: String) -> String {
        let name = line.prefix { $0 != ":" }.trimmingCharacters(in: .whitespaces).lowercased()
        if ["authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate", "authentication-info"]
            .contains(name)
        {
            return line.replacing(/(response|nonce|cnonce|opaque|rspauth)\s*=\s*("[^"]*"|[^,\s]+)/) {
                "\($0.output.1)=\"…\""
            }
        }
        if line.hasPrefix("a=crypto:") { return line.replacing(/inline:\S+/, with: "inline:…") }
        return line
    }

    /// A ladder diagram: time, direction and first line of each message.
    public static func ladder(_ messages: [Message]) -> String {
        guard let first = messages.first else { return "" }
        var peers: [String] = []
        for message in messages where !peers.contains(message.peer) { peers.append(message.peer) }
        peers = Array(peers.prefix(8))
        let width = 34
        func padded(_ text: String, _ count: Int) -> String {
            text.count >= count ? String(text.prefix(count)) : text + String(repeating: " ", count: count - text.count)
        }
        var lines = [padded("", 11) + padded("Trunkline", width) + peers.map { padded($0, width) }.joined()]
        for message in messages {
            guard let place = peers.firstIndex(of: message.peer) else { continue }
            let seconds = String(format: "%9.3f  ", message.at.timeIntervalSince(first.at))
            let length = width * (place + 1) - 2
            let label = " " + message.summary.prefix(length - 6) + " "
            let dashes = String(repeating: "-", count: max(2, length - label.count - 1))
            lines.append(
                seconds + "|" + (message.isSent ? "-" + label + dashes + ">" : "<" + label + dashes + "-") + "|")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
