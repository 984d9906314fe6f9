internal import JSON
internal import Problems

/// Tools that are made from an address alone: `{"preset": "check_availability", "api_url": "https://…"}`.
public enum ToolPreset: String, Sendable, CaseIterable {
    case checkAvailability = "check_availability"
    case bookAppointment = "book_appointment"

    /// The document that a preset stands for; another document as it is.
    static func expanded(_ json: JSONValue) throws(ToolIssues) -> JSONValue {
        guard case .object(let members) = json, let word = members["preset"] else { return json }
        var reader = ToolDocumentReader(addresses: nil)
        let root = JSONPointer()
        _ = reader.object(json, root, ["preset", "api_url", "headers", "name"])
        guard case .string(let name) = word, let preset = ToolPreset(rawValue: name) else {
            reader.fail(root / "preset", .notChoice, ["names": .words(allCases.map(\.rawValue))])
            throw ToolIssues(reader.issues)
        }
        if let given = members["name"], given != .null, given != .string(name) {
            reader.fail(root / "name", .notBeside, ["fields": .words(["preset"])])
        }
        let url = reader.text(members["api_url"], root / "api_url", ToolAddresses.urlLimit, true)
        guard let url, reader.issues.isEmpty else { throw ToolIssues(reader.issues) }
        let document: [String: JSONValue] =
            switch preset {
            case .checkAvailability: CheckAvailability.document
            case .bookAppointment: BookAppointment.document
            }
        guard case .object(var request)? = document["request"] else { return json }
        request["url"] = .string(url)
        request["headers"] = members["headers"]
        return .object(document.merging(["name": .string(name), "request": .object(request)]) { $1 })
    }
}
