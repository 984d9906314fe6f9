public import Foundation

/// What companies have used in a month, inside a transaction.
///
/// A component is `call` with the units `calls` and `milliseconds`, one of the speech engines or a carrier
/// (`language-model/openai`) with what is counted of it, or `cost CURRENCY COMPONENT` with millionths of an amount.
public struct UsageRows {
    let transaction: any Transaction

    public struct Line: Sendable, Equatable {
        public var component: String
        public var unit: String
        public var quantity: Int64
        public init(component: String, unit: String, quantity: Int64) {
            self.component = component
            self.unit = unit
            self.quantity = quantity
        }
    }

    /// `2026-11`, UTC.
    public static func month(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(timeZone: .gmt).year().month().dateSeparator(.dash))
    }

    public func add(_ company: CompanyID, _ lines: [Line], at date: Date) throws {
        let month = Self.month(date)
        for line in lines where line.quantity != 0 {
            try transaction.run(
                """
                INSERT INTO company_usage (company, month, component, unit, quantity) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (company, month, component, unit) DO UPDATE SET quantity = quantity + excluded.quantity
                """, company, month, line.component, line.unit, line.quantity)
        }
    }

    /// - Parameter month: as `month` tells it.
    public func lines(_ company: CompanyID, month: String) throws -> [Line] {
        try transaction.rows(
            """
            SELECT component, unit, quantity FROM company_usage WHERE company = ? AND month = ? ORDER BY component, unit
            """, company, month
        ).map { Line(component: try $0["component"], unit: try $0["unit"], quantity: try $0["quantity"]) }
    }

    public func quantity(_ company: CompanyID, month: String, component: String, unit: String) throws -> Int64 {
        try transaction.value(
            "SELECT quantity FROM company_usage WHERE company = ? AND month = ? AND component = ? AND unit = ?",
            company, month, component, unit) ?? 0
    }
}
