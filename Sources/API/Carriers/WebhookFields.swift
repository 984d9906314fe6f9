internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems

extension CarrierWebhooks {
    /// The fields of a form or a query, by name: of two equal names the first.
    static func byName(_ fields: [(name: String, value: String)]) -> [String: String] {
        Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// The texts and numbers of a JSON object.
    /// - Throws: 400 for a body that is none.
    static func texts(ofJSON body: [UInt8]) throws(APIError) -> [String: String] {
        let json: JSONValue
        do throws(JSONValue.ParseError) { json = try JSONValue(parsing: body) } catch {
            throw APIError(
                400, "invalid_json", .invalidJson,
                ["problem": .text(error.message), "place": .number(error.offset)])
        }
        guard case .object(let members) = json else { throw APIError(400, "invalid_json", .bodyNotObject) }
        return members.compactMapValues { value in
            switch value {
            case .string(let text): text
            case .number: value.text
            case .null, .bool, .array, .object: nil
            }
        }
    }

    /// The carrier's id of the call that a webhook is about.
    ///
    /// - Parameter carrier: whose form the id must have; nil: any form.
    /// - Throws: 422 where it is missing, or is none.
    static func callID(
        _ fields: [String: String], _ name: String, of carrier: (any Carrier)?
    ) throws(APIError) -> String {
        guard let id = fields[name], !id.isEmpty else { throw APIError.invalid(name, .required) }
        if let carrier, !type(of: carrier).owns(callID: id) { throw notACall(name, of: type(of: carrier)) }
        return id
    }

    static func notACall(_ field: String, of carrier: any Carrier.Type) -> APIError {
        APIError.invalid(field, .notCarrierCall, ["carrier": .text(carrier.title)])
    }

    static let noContent = HTTPResponse(status: 204)
}
