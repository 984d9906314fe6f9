internal import Net

/// Which sender's packets belong to this call.
///
/// The announced address is believed at once; behind NAT the packets come from elsewhere, so a source is also taken
/// after `provingPackets` valid packets in a row with one SSRC. Once locked, nobody else's packets are heard.
struct SourceLock {
    static let provingPackets = 4
    /// The same for who was heard before the media moved: what he still sends is on its way out.
    static let formerProvingPackets = 50

    private(set) var locked: SocketAddress?
    private var announced: SocketAddress?
    private var candidate: (source: SocketAddress, ssrc: UInt32, sequence: UInt16, count: Int)?
    private var former: SocketAddress?
    private(set) var rejected = 0

    init(announced: SocketAddress?) { self.announced = announced }

    /// A re-INVITE moved the media.
    mutating func move(to announced: SocketAddress?) {
        guard announced != self.announced else { return }
        self.announced = announced
        former = locked
        locked = nil
        candidate = nil
    }

    /// Whether the packet is to be heard.
    mutating func admit(_ source: SocketAddress, ssrc: UInt32, sequence: UInt16) -> Bool {
        if let locked {
            if locked == source { return true }
            rejected += 1
            return false
        }
        if source == announced {
            locked = source
            return true
        }
        if let known = candidate, known.source == source, known.ssrc == ssrc, sequence &- known.sequence < 100 {
            candidate = (source, ssrc, sequence, known.count + 1)
            if known.count + 1 >= (source == former ? Self.formerProvingPackets : Self.provingPackets) {
                locked = source
                return true
            }
        } else {
            candidate = (source, ssrc, sequence, 1)
        }
        return false
    }
}
