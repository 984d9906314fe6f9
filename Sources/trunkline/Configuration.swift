import API
import Bridge
import Calls
import Delivery
import Foundation
import Net
import Realtime
import Settings
import Store
import Tools

/// The settings of every room. Each room declares its own (`keys`); here they are put together.
///
/// Flags win over the environment, the environment over `.env`, that over the file.
struct Configuration: Sendable {
    var process = ProcessSettings()
    var http = HTTPSettings()
    var access = AccessSettings()
    var mcp = MCPSettings()
    var store = StoreSettings()
    var sip = UserAgent.Configuration()
    var digest = DigestSettings()
    var carriers = CarrierSettings()
    var gateway = GatewaySettings()
    var calls = CallSettings()
    var results = ResultSettings()
    var streams = StreamServer.Settings()
    var webhooks = WebhookSettings()
    var tools = ToolSettings()
    var alerts = AlertWatch.Settings()
    var realtime = RealtimeSettings()
    var speech = SpeechSettings()
    var local = LocalSpeechSettings()
    /// The pair of `tls.certificate` and `tls.key`, read.
    private(set) var serverCertificate: ServerCertificate?

    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        HTTPSettings.keys.under(\.http)
        AccessSettings.keys.under(\.access)
        MCPSettings.keys.under(\.mcp)
        StoreSettings.keys.under(\.store)
        ProcessSettings.keys.under(\.process)
        UserAgent.Configuration.keys.under(\.sip)
        DigestSettings.keys.under(\.digest)
        GatewaySettings.keys.under(\.gateway)
        CallSettings.keys.under(\.calls)
        ResultSettings.keys.under(\.results)
        StreamServer.Settings.keys.under(\.streams)
        CarrierSettings.keys.under(\.carriers)
        WebhookSettings.keys.under(\.webhooks)
        AlertWatch.Settings.keys.under(\.alerts)
        ToolSettings.keys.under(\.tools)
        RealtimeSettings.keys.under(\.realtime)
        SpeechSettings.keys.under(\.speech)
        LocalSpeechSettings.keys.under(\.local)
    }

    /// - Parameters:
    ///   - file: by `--config`; nil: that of `TRUNKLINE_CONFIG`, or none.
    ///   - flags: key and value of command-line options.
    ///   - folder: holds `.env`.
    static func read(
        file: String?, flags: [(String, String)], environment: [String: String], folder: String = "."
    ) throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        _ = try SettingsReader(keys).read(
            into: &configuration, file: file, flags: flags, environment: environment, folder: folder)
        try configuration.settle()
        return configuration
    }

    /// What follows from one room's settings for another one.
    private mutating func settle() throws(ConfigurationError) {
        let isLoopback = listeners.allSatisfy { SocketAddress.isLoopback($0.host) }
        calls.rtpHost = sip.host
        calls.bridge.streamToken = streams.sharedToken
        calls.recordingsFolder = store.folder + "/recordings"
        calls.routing.gateway = gateway.route
        calls.routing.isBoundToLoopback = isLoopback
        calls.inbound.accounts = digest.secrets
        calls.inbound.brief.language = calls.language
        calls.inbound.brief.maxTurns = calls.maxTurns
        if !SocketAddress.isLoopback(sip.host) { calls.inbound.close() }
        streams.brief.language = calls.language
        streams.brief.maxTurns = calls.maxTurns
        speech.share(openAI: realtime.openAI.apiKey, gemini: realtime.gemini.apiKey)
        if let error = ConfigurationError(Self.checks.compactMap { $0(self) }) { throw error }
        serverCertificate = try http.serverCertificate()
        _ = try summaryChat()
    }

    /// What settings must be together, each told by the room it concerns.
    private static let checks: [@Sendable (Configuration) -> String?] = [
        { $0.carriers.problem(gateway: $0.gateway.carrier, publicURL: $0.http.publicURL) },
        {
            $0.calls.operatorProblem(
                hasCarrier: $0.carriers.canTransfer, withoutTransfer: $0.carriers.withoutTransfer)
        },
        { $0.store.problem(listener: $0.listeners.first { !SocketAddress.isLoopback($0.host) }) },
        { $0.urlProblem("alerts.url", $0.alerts.url.isEmpty ? nil : $0.alerts.url) },
        { $0.urlProblem("result_callback_url", $0.results.callbackURL) },
        { $0.urlProblem("webhooks.url", $0.webhooks.url) },
        { $0.http.certificateProblem() },
        { $0.sip.tlsProblem($0.http) },
        { $0.streams.openProblem(host: $0.http.server.host, isBoundToLoopback: $0.http.isBoundToLoopback) },
        { $0.realtime.problem() },
        { $0.calls.voicemail.problem() },
        { $0.calls.bridge.problem() },
        { $0.speech.problem() },
        { $0.access.problem(host: $0.http.server.host) },
        { $0.http.clearTextProblem() },
    ]

    private func urlProblem(_ key: String, _ url: String?) -> String? {
        webhooks.problem(key: key, url: url, isBoundToLoopback: http.isBoundToLoopback)
    }

    /// Every address that a socket of ours is bound to: HTTP with its WebSockets, and SIP (UDP, TCP, TLS) with RTP,
    /// which share one. An advertised address is told to others, and bound to nothing.
    var listeners: [(name: String, host: String)] { [("http.host", http.server.host), ("sip.host", sip.host)] }

    /// The model that sums calls up; nil: the template does.
    func summaryChat() throws(ConfigurationError) -> OpenAIChat.Configuration? {
        try results.summaryChat(of: calls, speech: speech, mode: realtime.mode)
    }

    /// The store in the data folder, or in another one.
    func openStore(in folder: String? = nil) throws(StoreError) -> CallStore {
        try CallStore(folder: folder ?? store.folder, vault: store.vault, plan: calls.routing.plan)
    }
}
