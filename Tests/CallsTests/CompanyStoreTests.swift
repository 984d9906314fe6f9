import Foundation
import Problems
import Realtime
import Testing

@testable import Calls
@testable import Store

/// What is one company's is not there for another.
@Suite struct CompanyStoreTests {
    private static let a = CompanyID.default, b = CompanyID(rawValue: "b")

    private struct World {
        let store: CallStore
        let folder: String
        func close() throws {
            store.close()
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    private func world(_ change: (inout Company) -> Void = { _ in }, key: Vault.Key? = nil) async throws -> World {
        let folder = NSTemporaryDirectory() + "companies-" + UUID().uuidString
        let store = try CallStore(folder: folder, vault: Vault(current: key))
        var company = Company(slug: Self.b, name: "B", webhookSecret: "whsec_", createdAt: Date())
        change(&company)
        try await store.installation.insert(company)
        return World(store: store, folder: folder)
    }

    private func call(_ company: CompanyID, _ purpose: String = "a dinner", to number: String = "01012345678") -> Call {
        var call = Call(
            localNumber: "025550100", remoteNumber: number,
            brief: Brief(purpose: purpose, questions: [Question(id: "q1", text: "A?")]), createdAt: Date())
        call.company = company
        return call
    }

    private func insert(_ call: Call, _ world: World, window: TimeInterval? = nil) async throws -> CallStore.Insertion {
        let event = CallEvent(kind: "queued", at: call.createdAt, of: call, payload: "{}")
        return try await world.store.insert(call, events: [event], window: window)
    }

    @Test func callsAreTheirCompanysInEveryList() async throws {
        let world = try await world()
        let own = call(Self.b, "a dinner for ten"), other = call(Self.a, "a dinner for two")
        for call in [own, other] { _ = try await insert(call, world) }
        for (company, mine, theirs) in [(Self.a, other, own), (Self.b, own, other)] {
            let store = world.store.of(company)
            #expect(try await store.call(mine.id)?.company == company)
            #expect(try await store.call(theirs.id) == nil)
            for search in ["", "dinner", "din", "5678", "+82 10 1234 5678", theirs.id, mine.id] {
                var filter = CallFilter()
                filter.search = search
                let found = try await store.page(filter)
                let wanted = search == theirs.id ? [] : [mine.id]
                #expect(found.items.map(\.id) == wanted && found.total == wanted.count, "\(search)")
                filter.state = .queued
                #expect(try await store.page(filter).items.map(\.id) == wanted, "\(search), by state")
                filter.from = Date(timeIntervalSinceNow: -60)
                #expect(try await store.page(filter).items.map(\.id) == wanted, "\(search), by time")
            }
            let active = try await store.active(ActiveFilter())
            #expect(active.page.items.map(\.id) == [mine.id] && active.states == [.queued: 1])
            #expect(try await store.statistics().totals.states == [.queued: 1])
            #expect(try await store.events(after: 0).map(\.callID) == [mine.id])
            #expect(try await store.counts().states == [.queued: 1])
            await #expect(throws: StoreError.self) { try await store.update(theirs.id) { _ in [] } }
            await #expect(throws: StoreError.self) { _ = try await store.transcript(of: theirs.id) }
            await #expect(throws: StoreError.self) { _ = try await store.trace(of: theirs.id) }
            await #expect(throws: StoreError.self) { _ = try await store.erase(theirs.id, recordings: world.folder) }
            #expect(store.recording(of: theirs, in: world.folder) == nil)
        }
        #expect(try await world.store.waiting().map(\.company) == [Self.b, Self.a])
        try world.close()
    }

    @Test func watchersHearTheirCompanyAlone() async throws {
        let world = try await world()
        let live = world.store.of(Self.b).watch()
        let own = call(Self.b)
        for call in [call(Self.a), own, call(Self.a)] { _ = try await insert(call, world) }
        let last = call(Self.b)
        _ = try await insert(last, world)
        var heard: [String] = []
        for await event in live {
            heard.append(event.callID)
            if heard.count == 2 { break }
        }
        #expect(heard == [own.id, last.id])
        try world.close()
    }

    @Test func theInstallationsListBindsAllAndACompanysItself() async throws {
        let world = try await world(key: try Vault.Key(String(repeating: "11", count: 32)))
        let entry = { DoNotCallEntry(number: $0, reason: "", addedAt: Date(), addedBy: "t") }
        _ = try await world.store.of(Self.a).numbers.addDoNotCall([entry("01011111111")])
        _ = try await world.store.of(Self.b).numbers.addDoNotCall([entry("01022222222"), entry("01011111111")])
        for (company, number, isForbidden) in [
            (Self.a, "01011111111", true), (Self.b, "01011111111", true), (Self.a, "01022222222", false),
            (Self.b, "01022222222", true),
        ] {
            #expect(try await world.store.of(company).numbers.isOnDoNotCallList(number) == isForbidden)
            let insertion = try await insert(call(company, to: number), world, window: 60)
            if case .blocked(.doNotCall, _) = insertion { #expect(isForbidden) } else { #expect(!isForbidden) }
        }
        #expect(try await world.store.of(Self.b).numbers.doNotCall().items.map(\.number).count == 2)
        try await world.store.of(Self.b).numbers.removeDoNotCall("01011111111")
        #expect(try await world.store.of(Self.a).numbers.doNotCall().items.map(\.number) == ["01011111111"])
        try world.close()
    }

    @Test func namesAreACompanysOwnAndNumbersTheInstallations() async throws {
        let world = try await world()
        let template = { CallTemplate(name: "n", purpose: "p", questions: [], createdAt: Date(), updatedAt: Date()) }
        let mine = template(), theirs = template()
        try await world.store.of(Self.a).save(mine)
        try await world.store.of(Self.b).save(theirs)
        #expect(try await world.store.of(Self.b).templates().map(\.id) == [theirs.id])
        #expect(try await world.store.of(Self.b).template(mine.id) == nil)
        await #expect(throws: StoreError.self) { try await world.store.of(Self.b).removeTemplate(mine.id) }
        let number = CallerNumber(number: "0255501234", label: "", dailyCap: nil, addedAt: Date(), addedBy: "t")
        try await world.store.of(Self.b).numbers.addCallerNumber(number)
        let error = await #expect(throws: StoreError.self) {
            try await world.store.of(Self.a).numbers.addCallerNumber(number)
        }
        #expect(error?.problem.code == .numberOfAnother && error?.problem.params.isEmpty == true)
        #expect(try await world.store.of(Self.a).numbers.ownership(of: "02-5550-1234") == .another)
        #expect(try await world.store.of(Self.b).numbers.ownership(of: "02-5550-1234") == .own)
        let phone = { Operator(name: "o", sipUser: "desk", createdAt: Date()) }
        try await world.store.of(Self.b).save(phone())
        let taken = await #expect(throws: StoreError.self) { try await world.store.of(Self.a).save(phone()) }
        #expect(taken?.problem.code == .takenElsewhere)
        #expect(try await world.store.installation.operators().map(\.company) == [Self.b])
        try world.close()
    }

    @Test func oneIdempotencyKeyIsTwoInTwoCompanies() async throws {
        let world = try await world()
        for company in [Self.a, Self.b] {
            let call = call(company)
            let request = RepeatableRequest(key: "admin k", request: "h", answer: company.rawValue)
            #expect(try await world.store.insert(call, events: [], request: request) == .stored)
            let again = try await world.store.insert(self.call(company), events: [], request: request)
            #expect(again == .known(answer: company.rawValue))
        }
        try world.close()
    }

    @Test func whatACallUsesCountsOnceForItsCompanysMonth() async throws {
        let world = try await world()
        let call = call(Self.b), at = Date()
        _ = try await insert(call, world)
        func end() async throws {
            try await world.store.update(call.id) { call in
                call.state = .completed
                call.answeredAt = at.addingTimeInterval(-90)
                call.completedAt = at
                var prices = PriceList()
                prices.prices = [Price("language-model/x 1m_output_tokens 2")].compactMap(\.self)
                call.charge(
                    [ComponentUsage(component: "language-model/x", quantities: [.outputTokens: 1_000])], by: prices)
                return []
            }
        }
        try await end()
        // A summary that comes later changes the call, and is no second call.
        try await world.store.update(call.id) { call in
            call.summary = "later"
            return []
        }
        try await world.store.update(call.id) { call in
            call.state = .queued
            return []
        }
        try await end()
        let lines = try await world.store.installation.usage(Self.b, month: UsageRows.month(Date()))
        let found = Dictionary(uniqueKeysWithValues: lines.map { ("\($0.component) \($0.unit)", $0.quantity) })
        #expect(found["call calls"] == 2 && found["call milliseconds"] == 180_000)
        #expect(found["language-model/x \(UsageUnit.outputTokens.rawValue)"] == 2_000)
        #expect(found["cost language-model/x USD"] == 4_000)
        #expect(try await world.store.installation.usage(Self.a, month: UsageRows.month(Date())).isEmpty)
        try world.close()
    }

    @Test func aQuotaOfTheDayRefusesAndWarnsOnce() async throws {
        let world = try await world { $0.quotas.callsPerDay = 5 }
        for index in 0..<5 {
            #expect(try await insert(call(Self.b, to: "0101234567\(index)"), world) == .stored)
        }
        guard case .overQuota(let use) = try await insert(call(Self.b), world) else { return #expect(Bool(false)) }
        #expect(use.quota == "calls_per_day" && use.limit == 5 && use.used == 5 && use.resetsAt > Date())
        #expect(try await world.store.of(Self.b).events(after: 0).count { $0.name == "quota_near" } == 1)
        #expect(try await insert(call(Self.a), world) == .stored, "others are not held back")
        try world.close()
    }

    /// The rows of every table: one that a migration adds must be on the list of what is removed.
    @Test func nothingIsLeftOfACompanyThatIsErased() async throws {
        let world = try await world()
        let own = call(Self.b), other = call(Self.a)
        for call in [own, other] { _ = try await insert(call, world) }
        try await world.store.update(own.id) { call in
            call.state = .completed
            call.completedAt = Date()
            return [CallEvent(kind: "completed", at: Date(), of: call, payload: "{}")]
        }
        let b = world.store.of(Self.b)
        try await b.save(CallTemplate(name: "n", purpose: "p", questions: [], createdAt: Date(), updatedAt: Date()))
        try await b.save(Operator(name: "o", sipUser: "desk", createdAt: Date()))
        try await b.audit.append(AuditEntry(at: Date(), actor: "t", action: "x"))
        try await b.insert(StoredKey(hash: "h", name: "k", role: "admin", createdAt: Date(), createdBy: "t"))
        try await b.saveUser("u", password: "a long password", role: "admin", by: "t", at: Date())
        _ = try await b.numbers.addDoNotCall([
            DoNotCallEntry(number: "01022222222", reason: "", addedAt: Date(), addedBy: "t")
        ])
        try Data([1]).write(to: URL(fileURLWithPath: world.folder + "/\(own.id)-1.wav"))
        try await world.store.installation.erase(Self.b, recordings: world.folder)
        let left = try await world.store.storage.read { work -> [String] in
            let tables = try work.transaction.rows(
                """
                SELECT m.name AS t FROM sqlite_master m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND c.name = 'company'
                """
            ).map { try $0["t"] as String }
            let listed = Set(CompanyRows.tables.map(\.text)).union(["calls"])
            #expect(Set(tables) == listed)
            return try CompanyRows.tables.filter {
                try work.transaction.exists("SELECT 1 FROM \($0) WHERE company = 'b' LIMIT 1")
            }.map(\.text)
        }
        #expect(left.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: world.folder + "/\(own.id)-1.wav"))
        #expect(!world.store.companies.exists(Self.b) && !world.store.companies.areSeveral)
        #expect(try await world.store.of(Self.a).call(other.id) != nil)
        try world.close()
    }

    @Test func aCompanyWithLiveCallsIsNotErased() async throws {
        let world = try await world()
        let own = call(Self.b)
        _ = try await insert(own, world)
        try await world.store.update(own.id) { call in
            call.state = .connected
            return []
        }
        await #expect(throws: StoreError.self) {
            try await world.store.installation.erase(Self.b, recordings: world.folder)
        }
        #expect(try await world.store.of(Self.b).call(own.id)?.state == .connected)
        #expect(world.store.companies.exists(Self.b))
        try world.close()
    }

    /// One place, two hundred at once.
    @Test func placesAreNeverMoreThanTheQuota() async throws {
        let world = try await world { $0.quotas.concurrentCalls = 1 }
        let companies = world.store.companies
        let taken = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<200 { group.addTask { companies.takePlace(Self.b) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(taken == 1 && companies.places(Self.b) == 1 && !companies.hasPlace(Self.b))
        companies.freePlace(Self.b)
        #expect(companies.takePlace(Self.b) && companies.takePlace(Self.a))
        try world.close()
    }
}
