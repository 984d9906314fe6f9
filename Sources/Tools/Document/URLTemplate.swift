internal import Foundation
internal import JSON
internal import Net
internal import Problems

/// The address of a tool: scheme, host and port as they stand, places in segments of the path and in the query alone.
public struct URLTemplate: Sendable, Equatable {
    /// Why a value may not stand in the path.
    enum Refusal: Error, Equatable {
        /// There is no value, and no words in its place.
        case missing(String)
        /// It would lead elsewhere: it holds a slash, or is `.` or `..`.
        case leadsElsewhere(String)
        case tooLong
    }

    /// `https://crm.example.org:8443`
    let origin: String
    private let path: [Template.Piece]
    private let query: [Template.Piece]

    static func read(_ text: String, _ addresses: ToolAddresses?, at pointer: JSONPointer, _ issues: inout [ToolIssue])
        -> URLTemplate?
    {
        let before = issues.count
        guard let template = Template.read(text, for: .query, at: pointer, &issues) else { return nil }
        guard let url = URLTemplate(template) else {
            issues.append(ToolIssue(pointer, .placeInAuthority))
            return nil
        }
        for place in url.path.compactMap(\.place) {
            if let problem = TemplatePlace.path.problem(with: place.path) { issues.append(ToolIssue(pointer, problem)) }
        }
        // As it is with a letter in every place.
        let plain = template.pieces.map { if case .text(let text) = $0 { text } else { "x" } }.joined()
        if let problem = addresses?.problem(with: plain) {
            issues.append(ToolIssue(pointer, problem))
        } else if URLTemplate.leadsElsewhere(url.path.map { $0.plain ?? "x" }.joined()) {
            issues.append(ToolIssue(pointer, .pathLeadsElsewhere))
        }
        return issues.count == before ? url : nil
    }

    /// nil: a place stands before the path, or may do so.
    private init?(_ template: Template) {
        guard case .text(let first)? = template.pieces.first, let scheme = first.range(of: "://") else { return nil }
        let rest = first[scheme.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard end < rest.endIndex || template.pieces.count == 1 else { return nil }
        origin = String(first[..<end])
        var path: [Template.Piece] = [], query: [Template.Piece] = []
        var isQuery = false
        for piece in [.text(String(rest[end...]))] + template.pieces.dropFirst() {
            guard !isQuery, case .text(let text) = piece, let mark = text.firstIndex(of: "?") else {
                if isQuery { query.append(piece) } else { path.append(piece) }
                continue
            }
            path.append(.text(String(text[..<mark])))
            query.append(.text(String(text[text.index(after: mark)...])))
            isQuery = true
        }
        self.path = path
        self.query = query
    }

    /// Every template of it, for what is named in them.
    var places: [Template.Place] { (path + query).compactMap(\.place) }

    /// - Parameter more: further fields of the query.
    func filled(_ values: ToolValues, more: [(name: String, value: String)]) throws(Refusal) -> String {
        var filledPath = ""
        for piece in path {
            guard case .place(let place) = piece else {
                filledPath += piece.plain ?? ""
                continue
            }
            let name = place.path.joined(separator: ".")
            guard let value = values.text(place.path) ?? place.fallback, !value.isEmpty else { throw .missing(name) }
            guard !Self.isSplit(value) else { throw .leadsElsewhere(name) }
            filledPath += HTTPForm.escaped(value)
        }
        guard !Self.leadsElsewhere(filledPath) else { throw .leadsElsewhere("path") }
        var fields: [String] = []
        let written = query.map { piece in
            guard case .place(let place) = piece else { return piece.plain ?? "" }
            return HTTPForm.escaped(values.text(place.path) ?? place.fallback ?? "")
        }.joined()
        if !written.isEmpty { fields.append(written) }
        if !more.isEmpty { fields.append(HTTPForm.encode(more)) }
        let url = origin + filledPath + (fields.isEmpty ? "" : "?" + fields.joined(separator: "&"))
        guard url.utf8.count <= Self.filledLimit else { throw .tooLong }
        return url
    }

    /// Bytes of an address with its values.
    private static let filledLimit = 8_000

    /// A value that would be more than one segment, however often a server decodes it.
    private static func isSplit(_ value: String) -> Bool {
        var text = value
        for _ in 0..<4 {
            if text.contains(where: { $0 == "/" || $0 == "\\" }) || text == "." || text == ".." { return true }
            guard let plain = text.removingPercentEncoding, plain != text else { return false }
            text = plain
        }
        return true
    }

    private static func leadsElsewhere(_ path: String) -> Bool {
        path.split(separator: "/").contains { segment in
            let plain = String(segment).removingPercentEncoding ?? ""
            return plain == "." || plain == ".."
        }
    }
}

extension Template.Piece {
    var place: Template.Place? { if case .place(let place) = self { place } else { nil } }
    var plain: String? { if case .text(let text) = self { text } else { nil } }
}
