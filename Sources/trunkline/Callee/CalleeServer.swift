import Bridge
import Foundation
import Net
import Realtime
import Synchronization

/// Takes calls with a SIP socket of its own and lets a persona hold them.
final class CalleeServer: Sendable {
    let userAgent: UserAgent
    private let loop: EventLoop

    init(
        host: String, port: UInt16, persona: Persona, ports: PortRange, voice: FliteVoice, ringMs: Int,
        report: @escaping @Sendable ([String: any Sendable]) -> Void
    ) throws {
        let loop = try EventLoop(name: "callee")
        loop.start()
        self.loop = loop
        var configuration = UserAgent.Configuration()
        configuration.host = host
        configuration.port = port
        let model = try persona.understands ? AcousticModel() : nil
        var handlers = UserAgent.Handlers()
        handlers.incoming = { incoming in
            report(["event": "invite", "from": incoming.from, "outbound_id": incoming.outboundID ?? ""])
            let ear = model.flatMap { try? CalleeEar(model: $0) }
            guard ear != nil || model == nil else { return nil }
            let call = CalleeCall(
                loop: loop, persona: persona, dialog: incoming.dialog, ear: ear, voice: voice, report: report)
            if persona == .rejects {
                incoming.dialog.reject(603)
            } else {
                incoming.dialog.ring()
                if persona != .noAnswer {
                    let sdp = incoming.sdp
                    Task {
                        try? await Task.sleep(for: .milliseconds(ringMs))
                        await call.answer(sdp, host: host, ports: ports)
                    }
                }
            }
            return { event in loop.post { call.assumeIsolated { $0.handle(event) } } }
        }
        userAgent = try UserAgent(configuration, handlers: handlers)
    }

    func stop() {
        userAgent.stop()
        loop.stop()
    }
}
