internal import Bridge

/// Text messages by Twilio's `Messages.json`.
struct TwilioMessenger: TextMessenger {
    let rest: CallsREST

    func send(_ text: String, to: String, from: String) async throws(CarrierFailure) {
        try await CarrierFailure.translated { try await rest.sendMessage(to: to, from: from, text: text) }
    }
}
