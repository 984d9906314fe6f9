internal import JSON
public import Problems

/// Where a template stands. What may be filled in there depends on who could have spoken the value.
public enum TemplatePlace: Sendable {
    case path, query, header, body
    /// An argument that the model neither sees nor sets.
    case fixed
    /// What the other party hears while a tool works.
    case spoken

    /// What the server itself knows of a call: the numbers come from signalling.
    private static let own: Set<[String]> = [
        ["call", "id"], ["call", "direction"], ["caller", "number"], ["callee", "number"], ["agent", "slug"], ["now"],
        ["today"], ["weekday"],
    ]
    /// A path of these roots has a name behind it.
    private static let roots: Set<String> = ["variables", "answers", "tools", "arguments", "secrets"]

    /// What is wrong with a path here; nil: nothing.
    public func problem(with path: [String]) -> Problem? {
        guard let root = path.first else { return nil }
        if Self.own.contains(path) || path.count == 1 && !Self.roots.contains(root) { return nil }
        let text = Problem.Value.text(String(path.joined(separator: ".").prefix(Template.pathLimit)))
        guard Self.roots.contains(root), path.count > 1 else { return Problem(.placeUnknown, ["path": text]) }
        let isAllowed =
            switch root {
            case "variables": true
            case "answers", "tools", "arguments": self == .query || self == .body
            default: self == .header && path.count == 2
            }
        return isAllowed ? nil : Problem(.placeNotHere, ["path": text])
    }
}

extension Template {
    /// The template that a text is, checked for its place.
    static func read(_ text: String, for place: TemplatePlace, at pointer: JSONPointer, _ issues: inout [ToolIssue])
        -> Template?
    {
        do throws(Template.Failure) {
            let template = try Template(text)
            issues += template.places.compactMap { place.problem(with: $0.path) }.map { ToolIssue(pointer, $0) }
            return template
        } catch {
            issues.append(ToolIssue(pointer, .templateMalformed))
            return nil
        }
    }

    /// Names of secrets that stand in it.
    var secrets: Set<String> {
        Set(places.compactMap { $0.path.count == 2 && $0.path[0] == "secrets" ? $0.path[1] : nil })
    }

    /// Names of variables that stand in it.
    var variables: Set<String> {
        Set(
            places.compactMap { place in
                switch place.path.count {
                case 1: ["now", "today", "weekday"].contains(place.path[0]) ? nil : place.path[0]
                default: place.path[0] == "variables" ? place.path[1] : nil
                }
            })
    }
}
