internal import CCurl
internal import Foundation
internal import Synchronization

/// The thread that runs libcurl's multi interface. Everything of curl's is touched here alone.
///
/// `@unchecked Sendable` is safe: `inbox` is guarded by its mutex, `ccurl_wakeup` may be called from any thread while
/// the handle lives (it is cleaned up under the same mutex), and the rest belongs to the thread.
final class CurlThread: @unchecked Sendable {
    /// Requests in progress and waiting.
    static let exchangeLimit = 4_096
    /// Milliseconds between two looks at the time limits.
    private static let lookMs: Int32 = 250

    /// What the thread is at, for the watchdog.
    private enum Activity: UInt8 {
        case waiting, commands, transfers, ends
        var name: String {
            switch self {
            case .waiting: "waiting for the network"
            case .commands: "beginning or ending a request"
            case .transfers: "the transfers of its requests"
            case .ends: "handing over responses"
            }
        }
    }
    private let turns = Atomic<UInt64>(0)
    private let activity = Atomic<UInt8>(0)
    private func begins(_ what: Activity) { activity.store(what.rawValue, ordering: .relaxed) }

    private enum Command {
        case begin(ClientExchange)
        case resume(ClientExchange)
        case abort(ClientExchange)
        case stop
    }
    private struct Inbox {
        var commands: [Command] = []
        var count = 0
        /// curl's handle, as an address: pointers may not be sent between threads.
        var multi: UInt?
    }

    let configuration: HTTPClient.Configuration
    private let inbox = Mutex(Inbox())
    private var running: [ObjectIdentifier: ClientExchange] = [:]
    /// Not safe to call twice at once.
    private static let isInitialized = ccurl_init() != 0

    init(_ configuration: HTTPClient.Configuration) {
        self.configuration = configuration
        // Without memory every request says that there is no client.
        guard Self.isInitialized,
            let multi = ccurl_multi_new(configuration.connectionsPerHost, configuration.connectionLimit)
        else { return }
        let handle = UInt(bitPattern: multi)
        inbox.withLock { $0.multi = handle }
        let thread = Thread { [self] in
            Thread.current.name = "http-client"
            if let multi = UnsafeMutableRawPointer(bitPattern: handle) { run(multi) }
        }
        thread.start()
    }

    // MARK: From other threads

    func begin(_ exchange: ClientExchange) throws(NetError) {
        let isTaken = inbox.withLock { inbox -> Bool? in
            guard inbox.multi != nil else { return nil }
            guard inbox.count < Self.exchangeLimit else { return false }
            inbox.count += 1
            return true
        }
        switch isTaken {
        case nil: throw NetError(.unavailable, "the HTTP client is stopped")
        case false: throw NetError(.unavailable, "\(Self.exchangeLimit) requests are in progress")
        default: post(.begin(exchange))
        }
    }

    func resume(_ exchange: ClientExchange) { post(.resume(exchange)) }
    func abort(_ exchange: ClientExchange) { post(.abort(exchange)) }
    func stop() { post(.stop) }

    private func post(_ command: Command) {
        inbox.withLock { inbox in
            guard let multi = inbox.multi else { return }
            inbox.commands.append(command)
            ccurl_wakeup(UnsafeMutableRawPointer(bitPattern: multi))
        }
    }

    // MARK: The thread

    private func run(_ multi: UnsafeMutableRawPointer) {
        var isStopping = false
        while !isStopping {
            turns.add(1, ordering: .relaxed)
            begins(.commands)
            let commands = inbox.withLock { inbox in
                defer { inbox.commands.removeAll(keepingCapacity: true) }
                return inbox.commands
            }
            for command in commands {
                switch command {
                case .begin(let exchange): begin(exchange, multi)
                case .resume(let exchange): exchange.transfer?.resume()
                case .abort(let exchange): end(exchange, multi)
                case .stop: isStopping = true
                }
            }
            begins(.transfers)
            ccurl_perform(multi)
            begins(.ends)
            var code = ccurl_ok
            var words: UnsafePointer<CChar>?
            while let owner = ccurl_next_ended(multi, &code, &words) {
                let exchange = Unmanaged<ClientExchange>.fromOpaque(owner).takeUnretainedValue()
                if let transfer = exchange.transfer {
                    exchange.end(transfer.result(code, words.map { String(cString: $0) } ?? ""))
                }
                end(exchange, multi)
            }
            let now = EventLoop.nowMs()
            for exchange in Array(running.values) {
                if let error = exchange.transfer?.overdue(at: now) {
                    exchange.end(.failure(error))
                    end(exchange, multi)
                }
            }
            begins(.waiting)
            if !isStopping { ccurl_poll(multi, running.isEmpty ? 60_000 : Self.lookMs) }
        }
        for exchange in Array(running.values) {
            exchange.end(.failure(NetError(.closed, "the HTTP client is stopped")))
            end(exchange, multi)
        }
        let late = inbox.withLock { inbox in
            inbox.multi = nil
            defer { inbox.commands = [] }
            return inbox.commands
        }
        for case .begin(let exchange) in late {
            exchange.end(.failure(NetError(.closed, "the HTTP client is stopped")))
        }
        ccurl_multi_free(multi)
    }

    private func begin(_ exchange: ClientExchange, _ multi: UnsafeMutableRawPointer) {
        do {
            let transfer = CurlTransfer(exchange)
            exchange.transfer = transfer
            try transfer.begin(multi, configuration)
            running[ObjectIdentifier(exchange)] = exchange
        } catch {
            exchange.transfer = nil
            inbox.withLock { $0.count -= 1 }
            exchange.end(.failure(error))
        }
    }

    /// Takes the transfer off curl; a connection that cannot be used again is closed by that.
    private func end(_ exchange: ClientExchange, _ multi: UnsafeMutableRawPointer) {
        guard let transfer = exchange.transfer else { return }
        transfer.end(multi)
        exchange.transfer = nil
        running[ObjectIdentifier(exchange)] = nil
        inbox.withLock { $0.count -= 1 }
    }
}

extension CurlThread: WatchedThread {
    var name: String { "http-client" }
    var turnCount: UInt64 { turns.load(ordering: .relaxed) }
    var doing: String { (Activity(rawValue: activity.load(ordering: .relaxed)) ?? .waiting).name }
    /// See `LoopWatchdog`.
    var holdsCalls: Bool { false }
    func nudge() {
        inbox.withLock { inbox in
            // A thread that has ended does not hang.
            if let multi = inbox.multi {
                ccurl_wakeup(UnsafeMutableRawPointer(bitPattern: multi))
            } else {
                turns.add(1, ordering: .relaxed)
            }
        }
    }
    func found(isStuck: Bool) {}
}

/// curl's side of an exchange.
final class CurlTransfer {
    /// Bytes of a response's head.
    private static let headLimit = 64 << 10
    private static let urlLimit = 8_192

    private unowned let exchange: ClientExchange
    private var handle: UnsafeMutableRawPointer?
    private var status = 0
    private var headers: [String: String] = [:]
    private var headBytes = 0
    private var isForbiddenAddress = false
    private var activeAt = EventLoop.nowMs()
    private let startedAt = EventLoop.nowMs()

    init(_ exchange: ClientExchange) { self.exchange = exchange }

    /// - Throws: `NetError.protocolViolation` for an invalid request.
    func begin(_ multi: UnsafeMutableRawPointer, _ configuration: HTTPClient.Configuration) throws(NetError) {
        let request = exchange.request
        let scheme = request.url.lowercased()
        guard scheme.hasPrefix("http://") || scheme.hasPrefix("https://"), request.url.utf8.count <= Self.urlLimit,
            request.url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw NetError(.protocolViolation, "the URL must be http: or https:, and percent-encoded") }
        guard request.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }), !request.method.isEmpty else {
            throw NetError(.protocolViolation, "\(request.method) is no method")
        }
        for (name, value) in request.headers {
            let isToken =
                !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
            guard isToken, !value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
                throw NetError(.protocolViolation, "the header \(name) is not fit to be sent")
            }
        }
        var lines: [String] = []
        var names: Set<String> = []
        for (name, value) in request.headers {
            names.insert(name.lowercased())
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        if !names.contains("user-agent") { lines.append("user-agent: trunkline") }
        // curl would ask for permission before a large body, and call any body a form.
        lines.append("expect:")
        if !names.contains("content-type") { lines.append("content-type:") }

        var parameters = ccurl_request()
        parameters.has_body = request.body != nil || ["POST", "PUT", "PATCH"].contains(request.method) ? 1 : 0
        parameters.connect_timeout_ms = request.connectTimeoutMs
        parameters.redirect_limit = request.redirectLimit
        parameters.owner = Unmanaged.passUnretained(exchange).toOpaque()
        parameters.take_head = { owner, bytes, count in
            CurlTransfer.of(owner)?.head(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        parameters.take_body = { owner, bytes, count in
            CurlTransfer.of(owner)?.body(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        if !request.allowsPrivateAddresses {
            parameters.allows = { owner, address in
                guard let transfer = CurlTransfer.of(owner), let address else { return 0 }
                let isPublic = PublicAddress.contains(String(cString: address))
                if !isPublic { transfer.isForbiddenAddress = true }
                return isPublic ? 1 : 0
            }
        }
        // A request that must not reach our own network is not handed to a proxy that could.
        let proxy = request.allowsPrivateAddresses ? configuration.proxy : ""
        let body = request.body ?? []
        parameters.body_length = body.count
        parameters.header_count = lines.count
        // Copies that live until curl has made its own.
        let texts = ([request.method, request.url, configuration.caFile, proxy] + lines).map { $0.map { strdup($0) } }
        defer { for case let text?? in texts { free(text) } }
        parameters.method = UnsafePointer(texts[0] ?? nil)
        parameters.url = UnsafePointer(texts[1] ?? nil)
        parameters.ca_file = UnsafePointer(texts[2] ?? nil)
        parameters.proxy = UnsafePointer(texts[3] ?? nil)
        let headers: [UnsafePointer<CChar>?] = texts.dropFirst(4).map { UnsafePointer($0 ?? nil) }
        handle = headers.withUnsafeBufferPointer { headers in
            body.withUnsafeBytes { body in
                parameters.headers = headers.baseAddress
                parameters.body = body.baseAddress
                return ccurl_begin(multi, &parameters)
            }
        }
        guard handle != nil else { throw NetError(.unavailable, "curl has no memory") }
    }

    func end(_ multi: UnsafeMutableRawPointer) {
        if let handle { ccurl_end(multi, handle) }
        handle = nil
    }

    private static func of(_ owner: UnsafeMutableRawPointer?) -> CurlTransfer? {
        owner.flatMap { Unmanaged<ClientExchange>.fromOpaque($0).takeUnretainedValue().transfer }
    }

    func resume() {
        activeAt = EventLoop.nowMs()
        if let handle { ccurl_resume(handle) }
    }

    // MARK: What comes

    private func body(_ bytes: UnsafeRawBufferPointer) -> Int {
        activeAt = EventLoop.nowMs()
        // Of a redirect that is followed only the last response counts.
        guard exchange.hasHead else { return bytes.count }
        return exchange.received(bytes) ? bytes.count : ccurl_pause
    }

    private func head(_ bytes: UnsafeRawBufferPointer) -> Int {
        activeAt = EventLoop.nowMs()
        headBytes += bytes.count
        guard headBytes <= Self.headLimit else { return 0 }
        guard !exchange.hasHead else { return bytes.count }  // a trailer
        let line = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if line.hasPrefix("HTTP/") {
            let words = line.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            headers = [:]
        } else if line.isEmpty {
            let isFollowed =
                exchange.request.redirectLimit > 0 && (300..<400).contains(status) && headers["location"] != nil
            if status >= 200, !isFollowed { exchange.received(.init(status: status, headers: headers)) }
        } else if let colon = line.firstIndex(of: ":") {
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        return bytes.count
    }

    // MARK: How it ends

    /// The error of a transfer that has taken too long.
    func overdue(at now: UInt64) -> NetError? {
        let request = exchange.request
        if !exchange.hasHead {
            guard now > startedAt + UInt64(max(0, request.responseTimeoutMs)) else { return nil }
            return NetError(.timedOut, "no response within \(request.responseTimeoutMs) ms")
        }
        guard !exchange.isPaused, now > activeAt + UInt64(max(0, request.stallTimeoutMs)) else { return nil }
        return NetError(.timedOut, "the response stalled for \(request.stallTimeoutMs) ms")
    }

    func result(_ code: ccurl_code, _ words: String) -> Result<Void, any Error> {
        guard code != ccurl_ok else {
            return exchange.hasHead
                ? .success(()) : .failure(NetError(.protocolViolation, "the response has no valid head"))
        }
        if isForbiddenAddress { return .failure(NetError(.refused, "the URL leads to a private address")) }
        let kind: NetError.Code =
            switch code {
            case ccurl_resolve: .cannotResolve
            case ccurl_connect: .cannotConnect
            case ccurl_timeout: exchange.hasHead ? .timedOut : .cannotConnect
            case ccurl_tls: .refused
            case ccurl_closed: .closed
            case ccurl_write where headBytes > Self.headLimit: .tooBig
            default: .protocolViolation
            }
        return .failure(NetError(kind, words))
    }
}
