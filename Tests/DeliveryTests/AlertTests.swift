import Foundation
import Logging
import Net
import Synchronization
import Testing

@testable import Delivery

@Suite struct AlertTests {
    /// What is watched, and what was posted.
    final class Desk: Sendable {
        struct State {
            var now = Date(timeIntervalSince1970: 1_800_000_000)
            var trunk: String?
            var failing: [(name: String, failure: String)] = []
            var errors = 0
            var status = 200
            var posted: [[String: String]] = []
        }
        let state = Mutex(State())
        let watch: AlertWatch

        init(_ change: (inout AlertWatch.Settings) -> Void = { _ in }) {
            var settings = AlertWatch.Settings(url: "https://example.com/alerts")
            settings.wantedDisk = 1
            change(&settings)
            let holder = Mutex<Desk?>(nil)
            let desk: @Sendable () -> Desk? = { holder.withLock { $0 } }
            watch = AlertWatch(
                settings, webhooks: WebhookSender.Settings(secret: .random()),
                sources: .init(
                    folder: "/tmp", trunkFailure: { desk()?.state.withLock { $0.trunk } ?? nil },
                    failingProviders: { desk()?.state.withLock { $0.failing } ?? [] },
                    errors: { (desk()?.state.withLock { $0.errors } ?? 0, "cannot store") }),
                logger: Logger(label: "test"),
                now: { desk()?.state.withLock { $0.now } ?? Date() }
            ) { request in
                guard let desk = desk() else { return 500 }
                let body =
                    (try? JSONSerialization.jsonObject(with: Data(request.body ?? [])) as? [String: String]) ?? [:]
                return desk.state.withLock { state in
                    if state.status == 200 { state.posted.append(body) }
                    return state.status
                }
            }
            holder.withLock { $0 = self }
        }

        func look(after seconds: Double = 10) async -> [String] {
            state.withLock { state in
                state.now += seconds
                state.posted = []
            }
            await watch.look()
            return state.withLock {
                $0.posted.map { "\($0["alert"] ?? "") \($0["subject"] ?? "") \($0["state"] ?? "")" }
            }
        }
    }

    @Test func aTrunkThatIsDownIsReportedOnceAndSoIsItsReturn() async {
        let desk = Desk()
        #expect(await desk.look() == [])
        desk.state.withLock { $0.trunk = "3 calls in a row failed" }
        #expect(await desk.look() == ["trunk_down default_gateway firing"])
        #expect(await desk.look() == [])
        #expect(await desk.look(after: 3_600) == ["trunk_down default_gateway firing"], "what goes on is told again")
        desk.state.withLock { $0.trunk = nil }
        #expect(await desk.look() == ["trunk_down default_gateway resolved"])
    }

    @Test func providersDiskAndErrors() async {
        let desk = Desk { $0.wantedDisk = 1 << 60 }
        desk.state.withLock { $0.failing = [("speech-to-text/deepgram", "401")] }
        #expect(Set(await desk.look()) == ["provider_down speech-to-text/deepgram firing", "disk_low data firing"])
        desk.state.withLock { $0.errors = 10 }
        #expect(await desk.look() == ["error_rate log firing"])
        #expect(await desk.look(after: 61) == ["error_rate log resolved"])
        desk.state.withLock { $0.failing = [] }
        #expect(await desk.look() == ["provider_down speech-to-text/deepgram resolved"])
    }

    @Test func anUndeliveredAlertIsSentAgain() async {
        let desk = Desk()
        desk.state.withLock { $0.trunk = "3 calls in a row failed" }
        desk.state.withLock { $0.status = 500 }
        #expect(await desk.look() == [])
        desk.state.withLock { state in
            state.trunk = nil
            state.status = 200
        }
        #expect(await desk.look() == ["trunk_down default_gateway firing", "trunk_down default_gateway resolved"])
    }

    @Test func aClockThatIsSetBackTellsNothingTwice() async {
        let desk = Desk()
        desk.state.withLock { $0.trunk = "3 calls in a row failed" }
        #expect(await desk.look().count == 1)
        #expect(
            await desk.look(after: -86_400).count == 1, "the time of the last telling lies ahead: it is told anew, once"
        )
        #expect(await desk.look() == [])
    }
}
