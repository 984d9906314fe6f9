public import Realtime
public import Store

/// What decides how a call's conversation can be held: its language, and what its agent says of it.
public struct ConversationRequest: Sendable {
    /// BCP 47.
    public var language: String
    /// nil: as the configuration says.
    public var profile: AgentProfile?
    /// Whose knowledge is used.
    public var company: CompanyID

    public init(language: String, profile: AgentProfile? = nil, company: CompanyID = .default) {
        self.language = language
        self.profile = profile
        self.company = company
    }

    public init(_ call: Call) {
        self.init(language: call.brief.language, profile: call.profile, company: call.company)
    }
}
