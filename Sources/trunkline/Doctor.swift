import API
import ArgumentParser
import Bridge
import Calls
import Foundation
import Logging
import Net
import Problems
import Realtime
import Store

/// `trunkline doctor`
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks the set-up, and explains each problem. Exits with 1 if there is a problem.")

    /// Bytes of free disk below which recordings are in danger.
    private static let wantedDisk = 1 << 30
    private static let wantedFiles = 4_096

    @OptionGroup var options: ServerOptions

    private enum Finding {
        case good(String)
        /// It works, and could be better.
        case advice(String)
        case bad(String)
    }

    func run() async throws {
        let settings = try options.read()
        var findings: [Finding] = [.good("the configuration can be read")]
        findings += await data(settings)
        findings.append(disk(settings))
        findings.append(files())
        findings += ports(settings)
        findings += safety(settings)
        findings += dialling(settings)
        findings.append(speech(settings))
        findings += await providers(settings)
        var isHealthy = true
        for finding in findings {
            switch finding {
            case .good(let text): print("good    \(text)")
            case .advice(let text): print("advice  \(text)")
            case .bad(let text):
                isHealthy = false
                print("BAD     \(text)")
            }
        }
        if !isHealthy { throw ExitCode(1) }
    }

    private func data(_ settings: Configuration) async -> [Finding] {
        let path = settings.store.folder + "/calls.sqlite"
        guard FileManager.default.fileExists(atPath: path) else {
            return [.good("\(settings.store.folder) has no database yet: the first start makes one")]
        }
        do {
            let store = try settings.openStore()
            try await store.installation.storage.check()
            try await store.installation.reloadCompanies()
            var dead = 0
            for company in store.companies.ids {
                dead += try await store.installation.storage.counts(company).deliveries[.dead] ?? 0
            }
            var findings: [Finding] = [.good("the database \(path) is whole")]
            for (table, rows) in try await store.installation.storage.damage() {
                findings.append(
                    .bad(
                        "\(rows) rows of \(table) cannot be opened: they were changed, or "
                            + "their key is missing: restore a backup"
                    ))
            }
            if dead > 0 {
                findings.append(
                    .advice(
                        "\(dead) webhooks were given up: GET /api/webhooks/deliveries?state=dead tells why, "
                            + "POST …/replay sends them again"
                    ))
            }
            if try await store.installation.accounts.keysOfAll().allSatisfy({ $0.revokedAt != nil }),
                settings.access.adminKey == nil
            {
                findings.append(.bad("every key is revoked: `trunkline keys create --name … --role admin` makes one"))
            }
            return findings
        } catch { return [.bad("\(error)")] }
    }

    private func disk(_ settings: Configuration) -> Finding {
        let folder = FileManager.default.fileExists(atPath: settings.store.folder) ? settings.store.folder : "."
        guard
            let free = (try? FileManager.default.attributesOfFileSystem(forPath: folder))?[.systemFreeSize] as? NSNumber
        else {
            return .bad("the free space of \(folder) cannot be read")
        }
        let megabytes = free.int64Value >> 20
        return free.int64Value < Self.wantedDisk
            ? .bad("only \(megabytes) MiB are free: recordings need 1.9 MB a minute")
            : .good("\(megabytes) MiB of disk are free")
    }

    private func files() -> Finding {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit.rlim_cur < Self.wantedFiles
            ? .advice(
                "\(limit.rlim_cur) files may be open at once: each call needs up to 8, `ulimit -n 65536` allows more")
            : .good("\(limit.rlim_cur) files may be open at once")
    }

    private func ports(_ settings: Configuration) -> [Finding] {
        [
            ("http.port", settings.http.server.host, settings.http.server.port, true),
            ("sip.port", settings.sip.host, settings.sip.port, false),
        ].map {
            name, host, port, isTCP in
            guard let address = SocketAddress(host, port: port) else {
                return .bad("\(name): \(host) is no IPv4 address of this machine")
            }
            return address.canBind(stream: isTCP)
                ? .good("\(name) \(port) is free")
                : .advice("\(name) \(port) is taken: by a running Trunkline, or by another program")
        }
    }

    private func safety(_ settings: Configuration) -> [Finding] {
        let isLoopback = settings.http.isBoundToLoopback
        var findings: [Finding] = []
        if settings.store.encryptionKey == nil {
            findings.append(
                .advice("security.encryption_key is not set: transcripts, answers and numbers are stored as they are"))
        } else {
            findings.append(.good("what is stored of people is encrypted"))
        }
        if let refusal = settings.serverCertificate?.refusal(at: Date()) {
            findings.append(.bad("tls.certificate \(refusal): careful clients refuse it"))
        }
        if !isLoopback, settings.http.certificate == nil {
            findings.append(
                .advice(
                    "http.host is \(settings.http.server.host) without TLS: set tls.certificate and "
                        + "tls.key, or put a server with TLS in front"
                ))
        }
        if !isLoopback, settings.http.knownHosts == nil {
            findings.append(.advice("http.hosts is not set: any name is answered to"))
        }
        return findings
    }

    private func dialling(_ settings: Configuration) -> [Finding] {
        var findings: [Finding] = []
        let routing = settings.calls.routing
        if routing.gateway == nil {
            findings.append(.advice("outbound.default_gateway is not set: only sip: addresses can be called"))
        }
        if !routing.isBoundToLoopback, (routing.allowedCallers ?? []).isEmpty {
            findings.append(
                .advice("outbound.allowed_callers is not set: only numbers of POST /api/numbers may be shown"))
        }
        if settings.calls.policy.callingHours == nil {
            findings.append(.advice("outbound.calling_hours is not set: people may be called at night"))
        }
        return findings
    }

    private func speech(_ settings: Configuration) -> Finding {
        let pack = settings.local.packFolder
        do {
            if MoonshineModel.isPresent(inPack: pack) {
                _ = try MoonshineModel(pack: pack)
                return .good("the embedded recogniser's model can be loaded: Moonshine")
            }
            _ = try AcousticModel(folder: settings.local.modelFolder)
            return .advice(
                "the embedded recogniser is pocketsphinx, which understands fewer voices: run `make speech-pack`")
        } catch { return .bad("\(error)") }
    }

    private func providers(_ settings: Configuration) async -> [Finding] {
        do {
            return try await ProvidersCommand.withCatalog(settings) { catalog in
                await catalog.check().map { check in
                    check.failure.map { .bad("\(check.name): \($0)") } ?? .good("\(check.name) works")
                } + languages(settings, catalog)
            }
        } catch { return [.bad("\(error)")] }
    }

    private func languages(_ settings: Configuration, _ catalog: SpeechCatalog) -> [Finding] {
        var calls = settings.calls
        calls.support = settings.languageSupport(catalog)
        return Set(SpeechCatalog.embeddedLanguages + [calls.language]).sorted().map { language in
            guard let warning = calls.warning(language: language) else {
                return .good("calls in \(language): spoken and understood")
            }
            let isUsual = warning.code == .languageNotSpoken && language == calls.language
            return isUsual ? .bad("calls in \(language): \(warning)") : .advice("calls in \(language): \(warning)")
        }
    }
}
