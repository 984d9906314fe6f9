internal import Calls
internal import Net
internal import Problems
internal import Store

/// Whose calls, numbers and people a request is about: the key or login says it, and no URL.
enum CompanyChoice {
    /// An admin of the company `default` may act as admin of another one.
    static let header = "x-company"
    /// Requests that change nothing a company has, and so may be made while it is suspended.
    private static let harmless: Set<String> = [
        "DELETE /api/session", "POST /api/outbound/check", "POST /api/knowledge/search",
        "POST /api/agents/check", "POST /api/agents/{slug}/simulate", "POST /api/tools/{name}/try",
    ]

    /// - Throws: 403 for everybody but admins of `default`; 404 for a company that there is not.
    static func acting(_ principal: Principal, _ headers: [String: String], _ companies: CompanyDirectory)
        throws(APIError) -> Principal
    {
        guard let slug = headers[header] else { return principal }
        guard principal.role == .admin, principal.company == .default else {
            throw APIError(403, "forbidden", .onlyForInstallation)
        }
        let company = CompanyID(rawValue: slug)
        guard companies.exists(company) else {
            throw APIError.notFound(.noCompanyNamed, ["slug": .text(String(slug.prefix(CompanyRoutes.slugLimit)))])
        }
        guard company != .default else { return principal }
        var acting = principal
        acting.company = company
        acting.isActing = true
        return acting
    }

    /// - Parameter route: `METHOD /path/{parameter}`.
    /// - Throws: 403: the company is suspended, and this would change something.
    static func checkState(_ principal: Principal, _ route: String, _ companies: CompanyDirectory) throws(APIError) {
        guard companies.isSuspended(principal.company), !route.hasPrefix("GET "), !harmless.contains(route) else {
            return
        }
        throw APIError(403, "company_suspended", .companySuspended)
    }
}
