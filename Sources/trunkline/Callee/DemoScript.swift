import Realtime

/// Questions of the demo, with the answer each of the two callees gives and the result that must come out of it.
///
/// A callee knows all of them and answers the one it has *heard*; which are asked, and in what order, is drawn at
/// random.
struct DemoScript {
    struct Item {
        var text: String
        /// The spoken answer, and the value that the result must show.
        var cooperative: (say: String, value: Answer.Value)
        var opposite: (say: String, value: Answer.Value)
    }

    static let purpose = "to prepare the company dinner on Friday"
    static let callerName = "Riverside Restaurant"

    /// Answered with a yes by the cooperative callee.
    static let plain: [Item] = [
        Item(
            text: "Will you attend the dinner on Friday?", cooperative: ("Yes, I will be there.", .boolean(true)),
            opposite: ("No, I can't make it.", .boolean(false))),
        Item(
            text: "Do you need a parking space?", cooperative: ("Yes please.", .boolean(true)),
            opposite: ("No thank you.", .boolean(false))),
    ]
    /// Decoys: a stock yes would be wrong.
    static let decoys: [Item] = [
        Item(
            text: "Have you moved to a new address?", cooperative: ("No, I haven't.", .boolean(false)),
            opposite: ("Yes, I have.", .boolean(true))),
        Item(
            text: "Should we cancel your old booking?", cooperative: ("No thank you.", .boolean(false)),
            opposite: ("Yes please.", .boolean(true))),
        Item(
            text: "How many guests will you bring?", cooperative: ("Four people.", .number(4)),
            opposite: ("Just two.", .number(2))),
    ]

    static var all: [Item] { plain + decoys }

    /// One plain question and one decoy, in random order.
    static func draw() -> [Item] {
        [plain.randomElement(), decoys.randomElement()].compactMap(\.self).shuffled()
    }
}
