internal import Bridge
internal import Foundation
internal import Net
internal import Pipeline
internal import Realtime

/// A conversation whose leg is a carrier's, a browser's or another server's. Lives as long as its stream; an actor of
/// the stream's loop.
actor StreamedCall: CarriedConversation, GraphCall {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    /// Of the call's record; nil for a stream that belongs to none, which then has a journal of its own.
    private let attempt: CallJournal?
    private let providerCallID: String
    /// The carrier whose leg it is; nil: the leg is a browser's, another server's or an unknown client's.
    private let carrier: (any Carrier)?
    private(set) var host: ConversationHost?

    /// - Parameter providerCallID: as the stream told it.
    init(
        loop: EventLoop, call: Call, providerCallID: String, carrier: (any Carrier)? = nil, line: CallLine,
        settings: CallSettings, journal: CallJournal?
    ) {
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings
        self.providerCallID = providerCallID
        self.carrier = carrier
        attempt = journal
    }

    /// - Parameter ended: called once, when the conversation is over and its stream has been closed.
    func run(_ stream: Confined<any MediaStream>, ended: @escaping @Sendable (EndReason) -> Void = { _ in }) {
        let journal =
            attempt
            ?? CallJournal(
                call, carrier: carrier?.name ?? Carriers.stream, store: line.store,
                settings: settings, logger: line.logger,
                now: { Date() })
        if attempt == nil { journal.insert(call) } else { journal.connected() }
        if let dialect = stream.value.dialectName { journal.streams(in: dialect) }
        let host = ConversationHost(
            loop: loop, call: call, line: line, settings: settings, journal: journal,
            carrier: .init(
                transfers: { [weak self] choice in self?.assumeIsolated { $0.redirect(choice) } ?? false },
                canTransfer: carrierTransfer(.anyOperator) != nil))
        self.host = host
        host.start(stream.value) { [weak self] reason in
            self?.assumeIsolated { $0.close(stream, journal) { ended(reason) } }
        }
        graph?.streamStarted()
        line.calls.add(call.id, self)
    }

    func hangUp(_ reason: EndReason) { graph?.finish(reason) }

    func answeringMachine() { graph?.answeringMachine() }

    /// What the carrier is to do with a call that is handed to an operator; nil where none carries this one.
    private func carrierTransfer(_ choice: TransferChoice) -> (api: any CarrierAPI, transfer: CarrierTransfer)? {
        let number: String? =
            switch choice {
            case .anyOperator: settings.operatorNumber
            case .number(let number): number
            case .operator(let id): line.operators?.with(call.company, id: id)?.address
            }
        guard let api = carrier?.api(for: providerCallID), api.canTransfer, let number, settings.mayBeDialled(number)
        else { return nil }
        return (
            api,
            CarrierTransfer(
                target: number, callerID: Routing.normalize(call.localNumber), ringSeconds: Int(settings.ringTimeout),
                language: LanguageTag.primary(call.brief.language))
        )
    }

    /// The carrier takes the call from our stream and dials. False: it cannot.
    private func redirect(_ choice: TransferChoice) -> Bool {
        guard let (api, transfer) = carrierTransfer(choice) else { return false }
        Task {
            // The stream may be gone before the answer is here.
            host?.transfer.carrier(.accepted)
            do throws(CarrierFailure) {
                try await api.transfer(providerCallID, transfer)
                if let carrier, !type(of: carrier).endsWithStream { host?.transfer.carrier(.finished) }
            } catch {
                // Where the carrier may have taken the call, its stream ends; else the time for that does.
                if !error.isUncertain { host?.transfer.carrier(.failed(error.message)) }
            }
        }
        return true
    }

    private func close(
        _ stream: Confined<any MediaStream>, _ journal: CallJournal, _ ended: @escaping @Sendable () -> Void
    ) {
        // The carrier plays what it has; the close ends the stream (and some carriers go on with the call then).
        host?.close()
        host = nil
        stream.value.close()
        let isOwn = attempt == nil
        let id = call.id
        Task { [line] in
            if isOwn { await journal.close() }
            // Only now: a shutdown waits until nothing is left here.
            line.calls.remove(id)
            ended()
        }
    }
}
