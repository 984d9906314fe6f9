public import Bridge
internal import Foundation
internal import Net
public import Realtime
internal import Store

/// Calls that come in, and what is done with them.
public struct InboundSettings: Sendable {
    public var isEnabled = true
    /// Numbers of the AI, in any spelling; nil: every number.
    public var numbers: [String]?
    /// Addresses whose INVITEs are taken, IPv4; nil: all.
    public var trustedSources: Set<String>?
    /// Of trunks that prove who they are: user name and password, for our realm.
    public var accounts: [String: DigestAuthenticator.Secret] = [:]
    public var maxConcurrentCalls = 20
    /// Seconds that it rings.
    public var ringSeconds = 1.0
    /// Seconds after which a caller who finds no room should try again.
    public var retryAfterSeconds = 30
    /// The agent of numbers that have none of their own; nil: the settings below.
    public var agent: String?
    public var brief = InboundSettings.messageTaking
    public init() {}

    /// What is done where nothing else is configured: a message is taken.
    public static let messageTaking = Brief(
        purpose: "You answer a call for somebody who cannot take it. Take a message.",
        questions: [
            Question(id: "q1", text: "What is your call about?"),
            Question(id: "q2", text: "Should we call you back?", kind: .boolean),
        ],
        greetingTemplate:
            "Hello, nobody can take your call right now. I am an automated assistant, and I take a message.")
}

/// Takes calls that come in over SIP: refuses what must be refused, and lets the AI answer the rest.
///
/// Decisions are made on the SIP thread, where nothing may wait; each call then lives on its event loop.
public final class SIPArrivals: Sendable {
    private let router: InboundRouter
    private var settings: CallSettings { router.settings }
    private var operators: OperatorDirectory { router.operators }

    public init(_ router: InboundRouter) { self.router = router }

    /// Why a call is not taken.
    private struct Refusal: Error {
        var status: Int
        var headers: [(name: String, value: String)] = []
    }

    /// Who calls.
    private enum Identity: Equatable {
        /// The caller's identity is not proven.
        case unproven
        /// A trunk of ours, by its address or by its password: it may speak for its callers (RFC 3325 §5).
        case trunk
        case `operator`(Operator)
    }

    /// By address, by password, or not at all (RFC 3261 §22).
    private func identify(_ call: IncomingCall) throws(Refusal) -> Identity {
        if call.isFromOurselves { return .trunk }
        let inbound = settings.inbound
        let isTrustedSource = inbound.trustedSources?.contains(call.source) ?? false
        if call.authorization != nil || call.replaces != nil || call.replacesUnknown {
            let accounts = inbound.accounts
            let verdict = operators.authenticator.verify(call.authorization, method: "INVITE", now: router.now()) {
                user in
                accounts[user] ?? operators.secret(of: user)
            }
            switch verdict {
            case .accepted(let user): return operators.with(user: user).map { .operator($0) } ?? .trunk
            case .malformed: throw Refusal(status: 400)
            case .challenge(let challenges):
                // A source that needs no password is not rejected for a wrong one meant for another trunk.
                if call.replaces == nil, !call.replacesUnknown, isTrustedSource || inbound.trustedSources == nil {
                    break
                }
                throw Refusal(status: 401, headers: challenges.map { ("WWW-Authenticate", $0) })
            }
        }
        if isTrustedSource { return .trunk }
        guard inbound.trustedSources != nil else { return .unproven }
        // The answer is the same for every number, so that none can be probed.
        guard !inbound.accounts.isEmpty || operators.all.contains(where: { $0.secret != nil }) else {
            throw Refusal(status: 403)
        }
        throw Refusal(
            status: 401, headers: operators.authenticator.challenges(at: router.now()).map { ("WWW-Authenticate", $0) })
    }

    /// On the SIP thread.
    /// - Parameter onFailure: called for a failed authentication, or a number that does not exist.
    /// - Returns: who hears what happens to the call until its attempt listens.
    public func take(_ call: IncomingCall, onFailure: () -> Void = {}) -> (@Sendable (DialogEvent) -> Void)? {
        let identity: Identity, destination: InboundRouter.Destination, line: CallLine, loop: EventLoop
        do throws(Refusal) {
            identity = try identify(call)
            if call.replacesUnknown { throw Refusal(status: 481) }
            if let replaced = call.replaces {
                // The caller is an authenticated operator or trunk; the owner of the dialog decides.
                replaced.replace(by: call)
                return { _ in }
            }
            do throws(InboundRouter.Refusal) { destination = try router.destination(of: call.to) } catch {
                throw refusal(error)
            }
            if call.rejectsSDP { throw Refusal(status: 406) }
            if let type = call.contentType, type.lowercased() != "application/sdp" {
                throw Refusal(status: 415, headers: [("Accept", "application/sdp")])
            }
            do throws(InboundRouter.Refusal) { (line, loop) = try router.admit() } catch { throw refusal(error) }
        } catch {
            if error.status == 404 || error.status == 403 || error.status == 401 && call.authorization != nil {
                onFailure()
            }
            call.dialog.reject(error.status, headers: error.headers)
            return { _ in }
        }
        var named = call
        switch identity {
        case .unproven: break
        case .trunk: named.from = call.assertedIdentity ?? call.from
        case .operator(let known): named.from = known.number ?? known.sipUser
        }
        var record = Call(
            arrivalOf: call.dialog.callID, from: named.from, to: call.to, at: destination,
            maxDuration: settings.maxCallDuration,
            createdAt: router.now())
        record.take(destination, in: settings, zone: router.zone)
        let person = destination.person.flatMap { line.target($0, settings) }
        let attempt = SIPAttempt(
            loop: loop, call: record, way: .incoming(named, person: person), line: line, settings: settings,
            now: router.now)
        let id = record.id
        line.calls.add(id, attempt)
        Task {
            await attempt.run()
            line.calls.remove(id)
            router.release()
        }
        return { _ in }
    }

    private func refusal(_ refusal: InboundRouter.Refusal) -> Refusal {
        switch refusal {
        case .unknownNumber: Refusal(status: 404)
        case .busy: Refusal(status: 503, headers: [("Retry-After", String(settings.inbound.retryAfterSeconds))])
        }
    }
}

extension Call {
    /// The call rings in the browser of the user who requests it. Its remote number is `browser:` and the user's name,
    /// so that each user has one such call at a time.
    public static let browserPrefix = "browser:"
    public var isForBrowser: Bool { remoteNumber.hasPrefix(Self.browserPrefix) }
    /// Characters of a caller's name.
    private static let nameLimit = 100

    /// Of a call that came in.
    /// - Parameter providerCallID: a SIP Call-ID, or the provider's id.
    init(
        arrivalOf providerCallID: String, from: String, to: String, at destination: InboundRouter.Destination,
        maxDuration: Int, createdAt: Date
    ) {
        self.init(
            direction: .inbound, localNumber: String(to.prefix(256)), remoteNumber: String(from.prefix(256)),
            brief: destination.brief, maxDuration: maxDuration,
            retryOnNoAnswer: false, maxRetries: 0,
            requestedBy: "caller", createdAt: createdAt)
        self.providerCallID = String(providerCallID.prefix(256))
        brief.callerDisplayName = ""
        brief.isIncoming = true
        operatorName = destination.person?.name
    }
}
