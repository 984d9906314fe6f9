internal import Foundation
internal import JSON

extension OpenAPI {
    /// Built of the document on the server: no script, nothing from elsewhere.
    static let page: String = {
        func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
                "\"", with: "&quot;")
        }
        var text = """
            <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">\
            <title>Trunkline API</title>\
            <link rel="stylesheet" href="/web/docs.css"><main><h1>Trunkline API</h1>\
            <p>Every route, as <a href="/openapi.json">OpenAPI 3.1</a>. \
            Send <code>Authorization: Bearer KEY</code>. Problems come as <code>application/problem+json</code> \
            (RFC 9457) with one entry for every bad field.</p>
            """
        let tags = Dictionary(grouping: operations) { $0.value.tag }.sorted { $0.key < $1.key }
        for (tag, operations) in tags {
            text += "<section><h2>\(escaped(tag))</h2>"
            let sorted = operations.sorted {
                $0.key.split(separator: " ").reversed().joined() < $1.key.split(separator: " ").reversed().joined()
            }
            for (key, operation) in sorted {
                text += "<article><h3><code>\(escaped(key))</code></h3><p>\(escaped(operation.summary))</p>"
                let parameters = operation.query + operation.headers
                if !parameters.isEmpty {
                    text +=
                        "<dl>"
                        + parameters.map { "<dt><code>\(escaped($0.name))</code></dt><dd>\(escaped($0.help))</dd>" }
                        .joined() + "</dl>"
                }
                if let schema = operation.body?.schema() ?? operation.message {
                    text += "<details><summary>body</summary><pre>\(escaped(schema.text))</pre></details>"
                }
                text +=
                    "<p class=\"answers\">\(operation.status), "
                    + "\(operation.problems.map(String.init).joined(separator: ", "))</p></article>"
            }
            text += "</section>"
        }
        text += "<section><h2>schemas</h2>"
        for (name, schema) in components.sorted(by: { $0.key < $1.key }) {
            text +=
                "<details id=\"\(escaped(name))\"><summary>\(escaped(name))</summary>"
                + "<pre>\(escaped(schema.text))</pre></details>"
        }
        return text + "</section></main></html>"
    }()
}
