internal import Foundation
internal import JSON
internal import KnowledgeBase
internal import Net
internal import Problems
internal import Realtime
internal import Store

/// `/api/knowledge/`: question/answer pairs and documents that the AI answers from.
struct KnowledgeRoutes: Sendable {
    private static let questionLimit = 500
    private static let answerLimit = 4_000
    private static let titleLimit = 200
    /// Characters of a document's text.
    private static let textLimit = 1_000_000
    private static let hitLimit = 10
    private static let typeLimit = 100
    /// Characters of a document in Base64.
    private static let contentLimit = 4 << 20

    static let form = Form(
        "NewKnowledge", path: "knowledge",
        [
            setField("that it is put into, and agents choose from"),
            Field("question", .text(questionLimit, .document), "what callers ask; goes with answer"),
            Field("answer", .text(answerLimit, .document), "what they are told"),
            Field("title", .text(titleLimit), "of a document"),
            Field("text", .text(textLimit, .document), "the document"),
            Field("content_type", .text(typeLimit), "text/plain, text/markdown or application/pdf"),
            Field("content_base64", .text(contentLimit, .document), "the document as a file"),
        ])
    static let searchForm = Form(
        "KnowledgeQuery",
        [
            Field("query", .text(questionLimit, .paragraph), required: true, "what a caller asks"),
            Field("set", .text(KnowledgeStore.setNameLimit), "only this one; without it all of them"),
        ])
    static let query = [Field("set", .text(KnowledgeStore.setNameLimit), "only what is in this one")]

    private static func setField(_ help: String) -> Field {
        Field(
            "set", .text(KnowledgeStore.setNameLimit), default: .string(KnowledgeStore.defaultSet),
            "set of knowledge " + help)
    }

    let services: Routes.Services

    private func knowledge(_ principal: Principal) throws -> KnowledgeStore {
        guard let knowledge = services.knowledge else {
            throw APIError.notFound(.noKnowledge)
        }
        return knowledge.of(principal.company)
    }

    /// `{"question", "answer"}`, or `{"title", "text"}`, or `{"title", "content_type", "content_base64"}` for text,
    /// Markdown and PDF.
    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let knowledge = try knowledge(principal)
        var fields = try FieldReader(request.body, Self.form)
        let set = fields.text("set") ?? KnowledgeStore.defaultSet
        if !KnowledgeStore.isSetName(set) { fields.fail("set", .setNameMalformed) }
        let item: KnowledgeItem
        if fields.sent("question") != nil || fields.sent("answer") != nil {
            fields.require("question")
            fields.require("answer")
            fields.exclude(["title", "text", "content_type", "content_base64"], beside: ["question", "answer"])
            guard let question = fields.text("question"), let answer = fields.text("answer"), fields.errors.isEmpty
            else { throw APIError.invalid(fields.errors) }
            item = try await stored { () async throws(StoreError) in
                try await knowledge.addPair(question: question, answer: answer, to: set, at: services.now())
            }
        } else {
            fields.require("title")
            let text = await Self.text(&fields)
            guard let title = fields.text("title"), let text, fields.errors.isEmpty else {
                throw APIError.invalid(fields.errors)
            }
            item = try await stored { () async throws(StoreError) in
                try await knowledge.addDocument(title: title, text: text, to: set, at: services.now())
            }
        }
        return Routes.json(Self.payload(item), status: 201)
    }

    private func stored<Value>(_ body: () async throws(StoreError) -> Value) async throws -> Value {
        do { return try await body() } catch { throw APIError(error) }
    }

    private static func text(_ fields: inout FieldReader) async -> String? {
        if fields.sent("text") != nil {
            fields.exclude(["content_type", "content_base64"], beside: ["text"])
            fields.require("text")
            return fields.text("text")
        }
        fields.require("content_type")
        fields.require("content_base64")
        guard let kind = fields.text("content_type"), let content = fields.text("content_base64") else { return nil }
        guard let data = Data(base64Encoded: content), !data.isEmpty else {
            fields.fail("content_base64", .notBase64)
            return nil
        }
        let plain = kind.split(separator: ";").first.map { $0.lowercased().trimmingCharacters(in: .whitespaces) } ?? ""
        let text: String?
        switch plain {
        case "text/plain", "text/markdown": text = String(data: data, encoding: .utf8)
        case "application/pdf": text = await PDFText.of(data)
        default:
            fields.fail("content_type", .notDocumentType)
            return nil
        }
        guard let text, text.contains(where: { $0.isLetter || $0.isNumber }), text.count <= textLimit else {
            fields.fail("content_base64", plain == "application/pdf" ? .notPdf : .notPlainText)
            return nil
        }
        return text
    }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let query = QueryReader(request.query, Self.query)
        try query.check()
        let knowledge = try knowledge(principal).limited(to: query.text("set").map { [$0] })
        let items = try await stored { () async throws(StoreError) in try await knowledge.list() }
        return Routes.json(.object(["items": .array(items.map(Self.payload))]))
    }

    /// Every set that has an item.
    func sets(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let knowledge = try knowledge(principal)
        let sets = try await stored { () async throws(StoreError) in try await knowledge.allSets() }
        let items = sets.map { JSONValue.object(["name": .string($0.name), "items": .whole($0.items)]) }
        return Routes.json(.object(["items": .array(items)]))
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let knowledge = try knowledge(principal)
        let id = request.parameters["id"] ?? ""
        try await stored { () async throws(StoreError) in try await knowledge.remove(id) }
        return HTTPResponse(status: 204)
    }

    /// `{"query", "set"}`: what the AI would find.
    func search(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let all = try knowledge(principal)
        let fields = try FieldReader(request.body, Self.searchForm)
        try fields.check()
        let query = fields.text("query") ?? ""
        let knowledge = all.limited(to: fields.text("set").map { [$0] })
        let hits = try await stored { () async throws(StoreError) in
            try await knowledge.find(query, limit: Self.hitLimit)
        }
        return Routes.json(.object(["items": .array(hits.map(Self.payload))]))
    }

    private static func payload(_ hit: KnowledgeHit) -> JSONValue {
        let answers = hit.answer != nil && hit.likeness >= InformedLanguageModel.answerLikeness
        return .object([
            "source": .string(hit.source), "text": .string(hit.text), "answer": hit.answer.map { .string($0) } ?? .null,
            "likeness": .number((hit.likeness * 100).rounded() / 100), "answers_without_model": .bool(answers),
        ])
    }

    private static func payload(_ item: KnowledgeItem) -> JSONValue {
        [
            "id": .string(item.id), "type": .string(item.kind.rawValue), "set": .string(item.set),
            "title": .string(item.title),
            "answer": item.answer.map { .string($0) } ?? .null,
            "created_at": .string(Timestamp.text(item.createdAt)), "chunks": .number(Double(item.chunkCount)),
        ]
    }
}

/// Text of a PDF by poppler's `pdftotext`, a process of its own: what is wrong with a file ends that process alone.
enum PDFText {
    /// Seconds for one file.
    private static let timeLimit = 20.0

    static func of(_ data: Data) async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: run(data)) }
        }
    }

    private static func run(_ data: Data) -> String? {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("trunkline-" + UUID().uuidString)
        guard
            (try? FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])) != nil
        else {
            return nil
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        let input = folder.appendingPathComponent("in.pdf"), output = folder.appendingPathComponent("out.txt")
        guard (try? data.write(to: input)) != nil else { return nil }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/pdftotext")
        process.arguments = ["-q", "-enc", "UTF-8", input.path, output.path]
        let done = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in done.signal() }
        guard (try? process.run()) != nil else { return nil }
        if done.wait(timeout: .now() + timeLimit) == .timedOut {
            process.terminate()
            return nil
        }
        guard process.terminationStatus == 0, let text = try? Data(contentsOf: output) else { return nil }
        return String(data: text, encoding: .utf8)?.replacing("\u{0C}", with: "\n\n")
    }
}
