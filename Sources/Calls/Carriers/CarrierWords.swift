internal import Realtime

extension CarrierReport {
    /// What carriers tell of a call in forms, and answer in the API for calls (`CallsREST`).
    ///
    /// - Parameters:
    ///   - status: `queued`, `initiated`, `ringing`, `in-progress`, `completed`, `busy`, `no-answer`, `canceled` or
    ///     `failed`.
    ///   - answeredBy: `human`, `machine_start`, `machine_end_beep` …, `fax` or `unknown`.
    public init(callID: String, status: String?, sipCode: Int? = nil, answeredBy: String? = nil) {
        let state: State? =
            switch status {
            case "ringing": .ringing
            case "in-progress": .answered
            case "completed": .completed
            case "busy": .busy
            case "no-answer": .noAnswer
            case "canceled": .cancelled
            case "failed": .failed
            default: nil
            }
        let whom: AnsweredBy? =
            switch answeredBy {
            case "human": .human
            case let told? where told.hasPrefix("machine") || told == "fax": .voicemail
            default: nil
            }
        self.init(callID: callID, state: state, sipCode: sipCode, answeredBy: whom)
    }
}
