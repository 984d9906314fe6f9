internal import Bridge
internal import Store

extension CallStore {
    /// SIP messages of one call that are kept, all its attempts together.
    static let traceLimit = 400

    /// Adds what an attempt sent and received.
    func appendTrace(_ messages: [SIPTrace.Message], to callID: String) async throws(StoreError) {
        guard !messages.isEmpty else { return }
        try await storage.write { try $0.texts.appendTrace(messages, to: callID, limit: Self.traceLimit) }
    }

    /// What was sent and received for a call that has ended, oldest first.
    func trace(of callID: String) async throws(StoreError) -> [SIPTrace.Message] {
        try await storage.read { try $0.texts.trace(of: callID) }
    }
}
