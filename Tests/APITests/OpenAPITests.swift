import Bridge
import Calls
import Foundation
import JSON
import Logging
import Net
import Realtime
import Store
import Testing

@testable import API

@Suite struct OpenAPITests {
    /// In both directions: no route without a description, no description without a route.
    @Test func theDocumentDescribesExactlyTheRoutesThereAre() throws {
        let routes = try Self.patterns().filter { pattern in
            let path = String(pattern.split(separator: " ")[1])
            return !OpenAPI.undocumented.contains { path.hasPrefix($0) }
                && !(pattern.hasPrefix("GET ") && OpenAPI.pages.contains(path))
        }
        #expect(Set(routes) == Set(OpenAPI.operations.keys))
        #expect(routes.count == Set(routes).count)
    }

    @Test func theDocumentIsWholeAndItsReferencesLeadSomewhere() throws {
        guard case .object(let document) = OpenAPI.document, case .object(let paths)? = document["paths"],
            case .object(let components)? = document["components"], case .object(let schemas)? = components["schemas"]
        else { return #expect(Bool(false)) }
        #expect(document["openapi"] == "3.1.0" && paths.count > 20)
        let references = OpenAPI.document.text.components(separatedBy: "#/components/schemas/").dropFirst().map {
            $0.prefix { $0.isLetter }
        }
        for name in Set(references) { #expect(schemas[String(name)] != nil, "\(name)") }
        #expect(OpenAPI.page.contains("POST /api/outbound") && !OpenAPI.page.contains("<script"))
    }

    private static func patterns() throws -> [String] {
        let folder = NSTemporaryDirectory() + "openapi-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try CallStore(folder: folder)
        var sip = UserAgent.Configuration()
        sip.port = UInt16.random(in: 20_000..<30_000)
        let userAgent = try UserAgent(sip)
        defer { userAgent.stop() }
        let line = CallLine(
            userAgent: userAgent, modes: { _, _ in [] },
            voice: { _, _ in EmbeddedSpeech(workers: WorkerPool(name: "test", threads: 1)) },
            store: store, logger: Logger(label: "test"))
        let settings = CallSettings()
        return Routes(
            .init(
                store: store, dialler: Dialler(line: line, loops: [], settings: settings),
                authenticator: Authenticator(), settings: settings,
                webRoot: nil, logger: line.logger, tickets: StreamTickets(nowMs: { 0 }),
                turns: TurnServer(line: line),
                arrivals: ProviderArrivals(
                    InboundRouter(
                        loops: [], settings: settings,
                        operators: OperatorDirectory(realm: "test", algorithms: [.md5], plan: settings.routing.plan),
                        numbers: NumberDirectory(plan: settings.routing.plan))))
        ).patterns
    }
}
