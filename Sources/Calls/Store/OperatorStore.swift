public import Store

extension CompanyStore {
    /// Stores an operator under an id. User name and number must be the operator's own in the installation.
    public func save(_ known: Operator) async throws(StoreError) {
        var known = known
        known.company = company
        try await storage.operators(company).saveOperator(
            known, id: known.id, sipUser: known.sipUser, number: known.number)
    }

    public func operators() async throws(StoreError) -> [Operator] {
        try await storage.operators(company).all().map { (found: Operator) in
            var known = found
            known.company = company
            return known
        }
    }

    public func removeOperator(_ id: String) async throws(StoreError) {
        try await storage.operators(company).remove(id)
    }
}
