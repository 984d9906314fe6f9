internal import Bridge
internal import Calls
internal import JSON
internal import Store

/// What lists are asked by: the routes read their queries by these descriptions.
enum ListQuery {
    /// Rows of a page where nothing is said.
    private static let usualLimit = 50
    private static let wordLimit = Field.Kind.wordLimit

    private static func limit(_ usual: Int = usualLimit) -> Field {
        Field("limit", .integer(CallFilter.limitRange), default: .whole(usual), "rows of a page")
    }
    private static let cursor = Field("cursor", .text(ListCursor.lengthLimit), "`next_cursor` of the page before")
    private static func search(_ help: String) -> Field {
        Field("q", .text(CallFilter.searchLimit), mayBeBlank: true, help)
    }

    static let calls = [
        Field("state", .choice(CallState.allCases.map(\.rawValue)), "in this state"),
        Field("carrier", .choice(Carriers.recorded), "carried by this one"),
        Field("dialect", .choice(Dialects.names), "whose media stream speaks this dialect"),
        search("words of a purpose, an id, a number whole or its last four digits"),
        Field("from", .time, "created at or after"), Field("to", .time, "created before"), limit(), cursor,
    ]
    static let active = [
        Field("state", .text(wordLimit), "only these of queued, dialing, ringing, connected; commas between them"),
        limit(ActiveFilter().limit), cursor,
    ]
    static let retry = [Field("agent", .choice(["live"]), "with the live version of its agent; else with its own")]
    static let numbers = [limit(), cursor, search("a whole number")]
    static let audit = [limit(), cursor, Field("action", .text(wordLimit), "e.g. call.create")]
    static let deliveries = [
        limit(), cursor, Field("state", .choice(Delivery.State.allCases.map(\.rawValue)), "in this state"),
        Field("outbound_id", .text(wordLimit), "of this call"),
    ]
}
