import ArgumentParser

/// How the built-in callee behaves.
enum Persona: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Answers every question of the demo as its script says; `opposite` gives the opposite answers.
    case cooperative, opposite
    /// Speaks without words.
    case mumbles
    case busy, refuses
    case wrongNumber = "wrong-number"
    /// Cuts in while the greeting is being spoken, then cooperates.
    case interrupts
    case silent
    /// Answers one question and hangs up.
    case hangsUp = "hangs-up"
    /// Rings for ever.
    case noAnswer = "no-answer"
    /// Declines with 603.
    case rejects
    case voicemail
    /// Presses 1 after every turn of the AI and says nothing.
    case keypad
    /// Says yes after every turn of the AI without listening to it: cheap, for load.
    case load

    /// Whether what it does depends on the words of the AI. Recognising them is most of a callee's work.
    var understands: Bool {
        switch self {
        case .cooperative, .opposite, .mumbles, .busy, .refuses, .wrongNumber, .interrupts, .hangsUp: true
        case .silent, .noAnswer, .rejects, .voicemail, .keypad, .load: false
        }
    }
}
