public import Net

extension SIPLeg {
    public struct Settings: Sendable {
        /// Addresses and ports of its RTP.
        public var rtpHost: String
        public var rtpPorts: PortRange
        /// Offers without SRTP are refused.
        public var requiresSRTP: Bool
        /// Once it has answered, the far end may have us call another address in its place (REFER).
        public var acceptsReferrals: Bool
        public var network: any DatagramNetwork
        public init(
            rtpHost: String, rtpPorts: PortRange, requiresSRTP: Bool, acceptsReferrals: Bool = false,
            network: any DatagramNetwork = SystemDatagrams()
        ) {
            self.rtpHost = rtpHost
            self.rtpPorts = rtpPorts
            self.requiresSRTP = requiresSRTP
            self.acceptsReferrals = acceptsReferrals
            self.network = network
        }
    }

    public enum Event: Sendable, Equatable {
        /// A provisional answer has come.
        case ringing
        /// Media may flow: give the leg a stream with `open`.
        case answered
        /// No phone is left that may answer; this is why the last one did not.
        case failed(Failure)
        /// The far end hears nothing of us now, or hears us again.
        case held(Bool)
        /// Another phone has taken the far end's place.
        case replaced
        /// How the far end's call to where we referred it goes (`refer`).
        case referral(status: Int)
        /// The far end wants us to call another address in its place; answer with `report`.
        case referralRequested(Referral)
        /// The line is dead, or the stream was closed at its other end.
        case mediaFailed(Leg.Failure)
        /// The stream's far end wants the call ended.
        case stopped
        /// The call was answered, and is over.
        case ended
    }

    public enum Failure: Sendable, Equatable {
        /// A final response, or 408 where none came. `contact` says where to call instead (3xx).
        case refused(status: Int, phrase: String, contact: String?)
        /// Offer and answer have nothing in common; the message says why.
        case unacceptable(String)
        /// The caller gave up before the answer.
        case cancelled
        /// Over without a final response.
        case lost
    }

    /// Why a call that came in is not taken.
    public struct Refusal: Error, Sendable, Equatable {
        public var status: Int
        public var message: String
    }
}
