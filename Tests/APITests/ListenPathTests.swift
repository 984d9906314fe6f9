import Bridge
import Calls
import Foundation
import Net
import Realtime
import Store
import Testing

@testable import API

@Suite struct ListenPathTests {
    @Test func aPathNamesOneCall() {
        #expect(ListenSocket.call(in: "/api/outbound/ob-1a2b3c4d/listen") == "ob-1a2b3c4d")
        #expect(ListenSocket.call(in: "/api/inbound/in-1a2b3c4d/listen") == "in-1a2b3c4d")
    }

    @Test(arguments: [
        "/api/outbound/in-1a2b3c4d/listen", "/api/inbound/ob-1a2b3c4d/listen", "/api/outbound/ob-1a2b3c4d/listen/",
        "/api/outbound/listen", "",
        "//api/outbound/ob-1a2b3c4d/listen", "/api/calls/ob-1a2b3c4d/listen",
    ])
    func otherPathsNameNoCall(_ path: String) { #expect(ListenSocket.call(in: path) == nil) }
}
