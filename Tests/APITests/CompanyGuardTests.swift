import Foundation
import Store
import Testing

@testable import API
@testable import Calls

/// Whose a request is, and that handlers read what is its company's.
@Suite struct CompanyGuardTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/API")

    /// The store of all companies has a name of its own. Who uses it has a reason: a login before it is known whose it
    /// is, the companies themselves, an admin's metrics, the operators that are kept in memory.
    @Test func fewFilesUseTheStoreOfAllCompanies() throws {
        let files = try #require(FileManager.default.enumerator(atPath: Self.sources.path))
        let users = try files.compactMap { $0 as? String }.filter { name in
            guard name.hasSuffix(".swift") else { return false }
            let text = try String(contentsOf: Self.sources.appendingPathComponent(name), encoding: .utf8)
            return text.contains("installation.") && !name.hasPrefix("OpenAPI/")
        }
        let known: Set = [
            "Authentication.swift", "CompanyRoutes.swift", "Metrics.swift", "OperatorRoutes.swift",
            "SessionRoutes.swift",
        ]
        #expect(Set(users).subtracting(known) == [])
    }

    private func directory() -> CompanyDirectory {
        let companies = CompanyDirectory()
        var asleep = Company(slug: CompanyID(rawValue: "asleep"), name: "", webhookSecret: "", createdAt: Date())
        asleep.state = .suspended
        let awake = Company(slug: CompanyID(rawValue: "awake"), name: "", webhookSecret: "", createdAt: Date())
        companies.replace([asleep, awake])
        return companies
    }

    @Test func onlyAdminsOfTheInstallationActForAnother() throws {
        let companies = directory(), headers = ["x-company": "awake"]
        func principal(_ role: Role, _ company: String = "default") -> Principal {
            Principal(
                name: "n", key: "k", role: role, company: CompanyID(rawValue: company), isSession: false)
        }
        let acting = try CompanyChoice.acting(principal(.admin), headers, companies)
        #expect(acting.company.rawValue == "awake" && acting.isActing && acting.actor == "n (default)")
        #expect(try CompanyChoice.acting(principal(.admin), [:], companies) == principal(.admin))
        #expect(try CompanyChoice.acting(principal(.admin), ["x-company": "default"], companies) == principal(.admin))
        for other in [principal(.operator), principal(.admin, "awake"), principal(.admin, "asleep")] {
            for slug in ["awake", "default", "nobody"] {
                let error = #expect(throws: APIError.self) {
                    _ = try CompanyChoice.acting(other, ["x-company": slug], companies)
                }
                #expect(error?.status == 403)
            }
            #expect(try CompanyChoice.acting(other, [:], companies) == other)
        }
        let error = #expect(throws: APIError.self) {
            _ = try CompanyChoice.acting(principal(.admin), ["x-company": "nobody"], companies)
        }
        #expect(error?.status == 404)
    }

    @Test func aSuspendedCompanyIsReadAndNotChanged() throws {
        let companies = directory()
        func status(_ company: String, _ route: String) -> Int? {
            let principal = Principal(
                name: "n", key: "k", role: .admin, company: CompanyID(rawValue: company), isSession: false)
            do throws(APIError) { try CompanyChoice.checkState(principal, route, companies) } catch {
                return error.status
            }
            return nil
        }
        for route in ["GET /api/outbound/{id}", "DELETE /api/session", "POST /api/outbound/check"] {
            #expect(status("asleep", route) == nil)
        }
        for route in ["POST /api/outbound", "PUT /api/templates/{id}", "DELETE /api/keys/{id}"] {
            #expect(status("asleep", route) == 403 && status("awake", route) == nil && status("default", route) == nil)
        }
    }

    @Test func aKeysAndAUsersCompanyGoWithTheLogin() async throws {
        let authenticator = Authenticator()
        let (key, stored) = Authenticator.makeKey(name: "k", role: .admin, by: "t", at: Date())
        var other = stored
        other.company = CompanyID(rawValue: "awake")
        authenticator.take([other])
        let session = try #require(authenticator.logIn(key: key))
        #expect(session.principal.company.rawValue == "awake")
        #expect(authenticator.stored(session.token)?.company.rawValue == "awake")
        var acting = session.principal
        #expect(authenticator.isCurrent(acting))
        acting.company = .default
        authenticator.take([])
        #expect(!authenticator.isCurrent(acting))
    }
}
