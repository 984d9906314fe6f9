internal import Realtime
public import Settings

extension StreamServer.Settings {
    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("bridge.open_streams", \.isOpen, .flag, "let any media stream in; for benchmarks, on loopback only")
        Setting(
            "bridge.stream_token", \.sharedToken, .text, "told to, and wanted from, a stream's other end",
            unset: "none", isSecret: true)
        Setting("agent.purpose", \.brief.purpose, .text, "what the AI is to do on open streams (bridge.open_streams)")
    }

    /// Why streams without a token could reach us; nil: they cannot.
    /// - Parameter host: address of HTTP.
    public func openProblem(host: String, isBoundToLoopback: Bool) -> String? {
        isOpen && !isBoundToLoopback
            ? "bridge.open_streams accepts streams without a token: refused off loopback (http.host is \(host))" : nil
    }
}
