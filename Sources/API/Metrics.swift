internal import Bridge
internal import Calls
internal import Foundation
internal import Net
internal import Realtime
internal import Store

/// `GET /metrics`: Prometheus text (prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4). Numbers and
/// ids of people never stand in a label.
struct Metrics: Sendable {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    let services: Routes.Services

    func answer(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var text = ""
        func metric(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: Double)]) {
            text += "# HELP trunkline_\(name) \(help)\n# TYPE trunkline_\(name) \(kind)\n"
            for sample in samples {
                let value =
                    sample.value == sample.value.rounded() && abs(sample.value) < 1e15
                    ? String(Int64(sample.value)) : String(sample.value)
                text += "trunkline_\(name)\(sample.labels.isEmpty ? "" : "{\(sample.labels)}") \(value)\n"
            }
        }
        // With one company there is no label; an admin of `default` sees all, everybody else the own company.
        let isInstallation = principal.company == .default
        let companies = isInstallation ? services.companies.ids : [principal.company]
        var counts: [(label: String, counts: StoreCounts, live: Int, waiting: Int)] = []
        for company in companies {
            counts.append(
                (
                    services.companies.areSeveral ? "company=\"\(company)\"" : "",
                    try await services.installation.storage.counts(company),
                    await services.dialler.liveCount(company), await services.dialler.queuedCount(company)
                ))
        }
        func labels(_ company: String, _ own: String) -> String { company.isEmpty ? own : company + "," + own }
        metric(
            "calls", "gauge", "Calls by state.",
            counts.flatMap { of in
                CallState.allCases.map {
                    (labels(of.label, "state=\"\($0.rawValue)\""), Double(of.counts.states[$0] ?? 0))
                }
            })
        metric(
            "calls_live", "gauge", "Calls that are being dialled or held.", counts.map { ($0.label, Double($0.live)) })
        metric("calls_waiting", "gauge", "Calls in the queue.", counts.map { ($0.label, Double($0.waiting)) })
        metric(
            "webhook_deliveries", "gauge", "Webhook messages by state.",
            counts.flatMap { of in
                Delivery.State.allCases.map {
                    (labels(of.label, "state=\"\($0.rawValue)\""), Double(of.counts.deliveries[$0] ?? 0))
                }
            })
        metric(
            "dials_blocked_total", "counter", "Requests that a rule of the dialling policy refused.",
            counts.map { ($0.label, Double($0.counts.blockedRequests)) })
        // What follows is of the process: it would tell a company what the others do.
        guard isInstallation, let first = counts.first?.counts else {
            return HTTPResponse(status: 200, contentType: Self.contentType, Array(text.utf8))
        }
        metric("events_total", "counter", "Events that were stored.", [("", Double(first.lastEvent))])
        metric(
            "provider_usable", "gauge", "1: the speech engine is in use; 0: it failed and is resting.",
            services.statuses().map { ("engine=\"\($0.name)\"", $0.coolDownSeconds == 0 ? 1 : 0) })
        metric("database_bytes", "gauge", "Size of the database.", [("", Double(first.databaseBytes))])
        metric("process_resident_memory_bytes", "gauge", "Memory of the server.", [("", Double(Self.residentBytes()))])
        metric(
            "sip_requests_dropped_total", "counter", "SIP requests above the rate that is taken in.",
            [("", Double(UserAgent.droppedRequests))])
        metric("heap_allocated_bytes", "gauge", "Memory in use on the heap.", [("", Double(Memory.allocatedBytes()))])
        metric(
            "loop_delay_worst_milliseconds", "gauge",
            "How late the event loop's latest 4 ms tick was since the last scrape.",
            services.loopDelays().map { ("loop=\"\($0.loop)\"", Double($0.milliseconds)) })
        metric("process_open_fds", "gauge", "Open file descriptors.", [("", Double(Self.openFiles()))])
        return HTTPResponse(status: 200, contentType: Self.contentType, Array(text.utf8))
    }

    private static func residentBytes() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    private static func openFiles() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }
}
