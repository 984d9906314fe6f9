internal import Bridge
internal import Pipeline

/// Users who listen to a live call. Confined to the call's loop.
struct CallListeners {
    private var listeners: [CallListener] = []

    /// False: there are enough.
    mutating func add(_ listener: CallListener) -> Bool {
        guard listeners.count < CallListener.limit else { return false }
        listeners.append(listener)
        return true
    }

    mutating func remove(_ id: CallListener.ID) { listeners.removeAll { $0.id == id } }

    func tell(_ frame: EncodedFrame, _ track: MediaTrack) {
        guard !listeners.isEmpty else { return }
        for listener in listeners { listener.hear(.frame(frame, track)) }
    }

    mutating func end() {
        for listener in listeners { listener.hear(.ended) }
        listeners = []
    }
}
