public import Store

extension CallStore {
    /// Stores an operator under an id. User name and number must be the operator's own.
    public func save(_ known: Operator) async throws(StoreError) {
        try await storage.operators.saveOperator(known, id: known.id, sipUser: known.sipUser, number: known.number)
    }

    public func operators() async throws(StoreError) -> [Operator] { try await storage.operators.all() }

    public func removeOperator(_ id: String) async throws(StoreError) { try await storage.operators.remove(id) }
}
