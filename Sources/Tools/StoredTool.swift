public import Foundation
internal import JSON
internal import Store

/// A tool in the store.
public struct StoredTool: Sendable, Equatable {
    public var document: ToolDocument
    public var revision: Int
    public var createdAt: Date
    public var updatedAt: Date

    /// nil: what is stored is no tool any more, by the rules of today.
    init?(_ entry: ToolRows.Entry) {
        guard let json = try? JSONValue(parsing: Array(entry.text.utf8)),
            let document = try? ToolDocument(json, nil)
        else { return nil }
        self.document = document
        revision = entry.revision
        createdAt = entry.createdAt
        updatedAt = entry.updatedAt
    }
}
