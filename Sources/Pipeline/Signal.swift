/// What travels along an edge: a payload, or one of the two control marks every stage obeys.
///
/// Control travels in the envelope, so that a stage need not know how to forward it.
public enum Signal<Payload: Sendable>: Sendable {
    case data(Payload)
    /// Barge-in: whatever was queued ahead of this mark has been discarded.
    case flush
    /// No more payloads will follow.
    case end
}

extension Signal: Equatable where Payload: Equatable {}
