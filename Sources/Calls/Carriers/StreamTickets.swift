internal import Foundation
internal import Synchronization

/// One-time tokens that let a provider's media stream in, each bound to one call. A token is good for a minute and
/// once.
public final class StreamTickets: Sendable {
    public static let lifetimeMs: UInt64 = 60_000
    /// Tokens waiting to be used; the oldest gives way.
    static let limit = 10_000

    /// What is known of the call when its stream comes.
    public struct Ticket: Sendable, Equatable {
        /// The carrier's id of the call.
        public var providerCallID: String
        /// The record's id: of a call that we had placed, or that came in.
        public var callID: String
        /// Whose browser brings the stream; nil: a provider's.
        public var user: String?
        /// Of a browser: to answer a call that rings for its user, or to take over one in progress.
        public init(user: String, callID: String) {
            self.init(providerCallID: callID, callID: callID)
            self.user = user
        }
        public init(providerCallID: String, callID: String) {
            self.providerCallID = providerCallID
            self.callID = callID
        }
    }

    private struct State {
        var tickets: [String: (ticket: Ticket, expires: UInt64)] = [:]
        var order: [String] = []
    }
    private let state = Mutex(State())
    private let nowMs: @Sendable () -> UInt64

    public init(nowMs: @escaping @Sendable () -> UInt64) { self.nowMs = nowMs }

    /// 256 random bits, fit for a URL or an XML attribute.
    public func issue(_ ticket: Ticket) -> String {
        let token = (0..<4).map { _ in String(UInt64.random(in: .min ... .max) | 1 << 63, radix: 36) }.joined()
        let now = nowMs()
        state.withLock { state in
            while let oldest = state.order.first,
                state.order.count >= Self.limit || state.tickets[oldest].map({ $0.expires <= now }) ?? true
            {
                state.order.removeFirst()
                state.tickets[oldest] = nil
            }
            state.tickets[token] = (ticket, now + Self.lifetimeMs)
            state.order.append(token)
        }
        return token
    }

    /// The ticket, once: nil for a token that is unknown, used, expired, or another call's.
    public func redeem(_ token: String, providerCallID: String) -> Ticket? {
        let now = nowMs()
        return state.withLock { state in
            guard let found = state.tickets.removeValue(forKey: token), found.expires > now,
                found.ticket.providerCallID == providerCallID
            else { return nil }
            return found.ticket
        }
    }

    /// Takes back the ticket of a call whose stream did not come. False: there is none, it was used or is expired.
    public func revoke(providerCallID: String) -> Bool {
        let now = nowMs()
        return state.withLock { state in
            guard let found = state.tickets.first(where: { $0.value.ticket.providerCallID == providerCallID }) else {
                return false
            }
            state.tickets[found.key] = nil
            return found.value.expires > now
        }
    }
}
