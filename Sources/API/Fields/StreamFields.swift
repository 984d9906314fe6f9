internal import Bridge
internal import Calls
internal import Problems

/// The member `stream` of a call: the server that is to hold its conversation.
enum StreamFields {
    static let field = Field(
        "stream",
        .object([
            Field("url", .text(Call.Stream.urlLimit), required: true, "wss address of the media-stream server"),
            Field("dialect", .choice(Dialects.names), "what it speaks; else as bridge.stream_dialect says"),
            Field(
                "headers",
                .texts(
                    count: Call.Stream.headerLimit, name: Call.Stream.headerNameLimit,
                    value: Call.Stream.headerValueLimit), "of the upgrade; never shown again"),
            Field(
                "parameters",
                .texts(
                    count: Call.Stream.parameterLimit, name: Call.Stream.parameterNameLimit,
                    value: Call.Stream.parameterValueLimit), "custom data that the server is told"),
            Field(
                "secret", .text(Call.Stream.secretLimit),
                "signs the upgrade, where the dialect's carrier signs its own; never shown again"),
        ]), "another server holds the conversation, over a WebSocket")

    /// The stream that was read; what does not go together is noted.
    /// - Parameter isOverSIP: how the call is placed; nil: it has no route.
    static func stream(_ fields: inout FieldReader, _ settings: CallSettings, isOverSIP: Bool?) -> Call.Stream? {
        guard let members = fields.values.object(field.name) else { return nil }
        if isOverSIP == false { fields.fail(field.name, .onlyOverSip) }
        let isBoundToLoopback = settings.routing.isBoundToLoopback
        let url = members.text("url")
        if let url, let problem = Call.Stream.problem(url: url, isBoundToLoopback: isBoundToLoopback) {
            fields.fail("stream.url", problem)
        }
        let dialect = members.text("dialect") ?? settings.bridge.streamDialect
        let headers = texts(members.object("headers"))
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard let problem = Call.Stream.problem(header: name, value: value, dialect: dialect) else { continue }
            fields.fail("stream.headers.\(name)", problem)
        }
        let lower = Set(headers.keys.map { $0.lowercased() })
        if lower.count < headers.count { fields.fail("stream.headers", .givenTwice) }
        if headers.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) > Call.Stream.headerBytes {
            fields.fail("stream.headers", .tooLarge, ["limit": .number(Call.Stream.headerBytes)])
        }
        let parameters = texts(members.object("parameters"))
        for name in parameters.keys.sorted() {
            guard let problem = Call.Stream.problem(parameter: name) else { continue }
            fields.fail("stream.parameters.\(name)", problem)
        }
        guard let url else { return nil }
        let stream = Call.Stream(
            url: url, dialect: dialect, headers: headers, parameters: parameters, secret: members.text("secret"))
        if let problem = stream.secretProblem { fields.fail("stream.secret", problem) }
        return stream
    }

    private static func texts(_ members: FieldValues?) -> [String: String] {
        (members ?? [:]).compactMapValues { if case .text(let text) = $0 { text } else { nil } }
    }
}
