@testable internal import Bridge

func fuzzTelnyxEvent(_ input: FuzzInput) {
    if let state = TelnyxState(input.text) {
        expect(TelnyxState(state.text) == state, "a state changed: \(state)")
    }
    guard let event = try? TelnyxEvent(input.bytes) else { return }
    expect(event.callID.isEmpty || TelnyxREST.isCallID(event.callID), "an id that may not stand in a path")
    expect(event.kind == .other || !event.callID.isEmpty, "an event of a call without its id")
    expect(event.sipCode.map { (100..<700).contains($0) } ?? true, "a code that is none: \(event)")
}
