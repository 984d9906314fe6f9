import ArgumentParser
import Calls
import Foundation
import Store

/// The manifest of a backup.
private struct Manifest: Codable {
    static let name = "manifest.json"
    var version: String
    var madeAt: Date
    var recordings: Int
}

/// `trunkline backup FOLDER`
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies database and recordings to a new folder, while the server runs.",
        discussion:
            "The database is copied as it is at one moment. "
            + "What is encrypted stays encrypted: keep security.encryption_key elsewhere."
    )

    @OptionGroup var options: ServerOptions
    @Argument(help: "A folder that does not exist yet.") var folder: String

    func run() async throws {
        let settings = try options.read()
        let files = FileManager.default
        guard files.fileExists(atPath: settings.store.folder + "/calls.sqlite") else {
            throw ValidationError("there is no database in \(settings.store.folder)")
        }
        guard !files.fileExists(atPath: folder) else { throw ValidationError("\(folder) is there already") }
        let store = try options.store()
        let partial = folder + ".partial"
        try? files.removeItem(atPath: partial)
        try files.createDirectory(
            atPath: partial + "/recordings", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        do { try store.installation.storage.backUp(to: partial + "/calls.sqlite") } catch {
            throw ValidationError(error.message)
        }
        var recordings = 0
        for name in (try? files.contentsOfDirectory(atPath: settings.calls.recordingsFolder)) ?? [] {
            try files.copyItem(
                atPath: settings.calls.recordingsFolder + "/" + name, toPath: partial + "/recordings/" + name)
            recordings += 1
        }
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        let manifest = Manifest(version: Trunkline.version, madeAt: Date(), recordings: recordings)
        try encoder.encode(manifest).write(to: URL(fileURLWithPath: partial + "/" + Manifest.name))
        // Whole or not there.
        try files.moveItem(atPath: partial, toPath: folder)
        print("\(folder): the database and \(recordings) recordings")
    }
}

/// `trunkline restore FOLDER --data NEW`
struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Makes a data folder of a backup. The folder must not hold a database; an old backup is brought up to date."
    )

    @OptionGroup var options: ServerOptions
    @Argument(help: "What `trunkline backup` made.") var folder: String

    func run() async throws {
        let settings = try options.read()
        let files = FileManager.default
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let data = files.contents(atPath: folder + "/" + Manifest.name),
            let manifest = try? decoder.decode(Manifest.self, from: data),
            files.fileExists(atPath: folder + "/calls.sqlite")
        else { throw ValidationError("\(folder) is no backup") }
        guard !files.fileExists(atPath: settings.store.folder + "/calls.sqlite") else {
            throw ValidationError("\(settings.store.folder) holds a database already: --data names another folder")
        }
        let recordings = ((try? files.contentsOfDirectory(atPath: folder + "/recordings")) ?? []).count
        guard recordings == manifest.recordings else {
            throw ValidationError(
                "\(folder) should have \(manifest.recordings) recordings and has \(recordings): it is not whole")
        }
        // Tried beside where it belongs, and put there when it is right.
        let partial = settings.store.folder + ".partial"
        try? files.removeItem(atPath: partial)
        defer { try? files.removeItem(atPath: partial) }
        try files.createDirectory(
            atPath: partial, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try files.copyItem(atPath: folder + "/calls.sqlite", toPath: partial + "/calls.sqlite")
        try files.copyItem(atPath: folder + "/recordings", toPath: partial + "/recordings")
        let total: Int
        do throws(StoreError) {
            // Opens it with our key, and brings its schema up to date.
            let store = try settings.openStore(in: partial)
            try await store.installation.storage.check()
            try await store.installation.reloadCompanies()
            var calls = 0
            for company in store.companies.ids { calls += try await store.of(company).page(CallFilter()).total }
            total = calls
            store.close()
        } catch { throw ValidationError("the backup cannot be used: \(error.message)") }
        try files.createDirectory(
            atPath: settings.store.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in try files.contentsOfDirectory(atPath: partial) {
            try? files.removeItem(atPath: settings.store.folder + "/" + name)
            try files.moveItem(atPath: partial + "/" + name, toPath: settings.store.folder + "/" + name)
        }
        print(
            "\(settings.store.folder): \(total) calls and \(recordings) recordings of "
                + manifest.madeAt.formatted(.iso8601)
        )
    }
}
