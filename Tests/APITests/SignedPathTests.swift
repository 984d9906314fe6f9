import Bridge
import Calls
import Foundation
import Net
import Realtime
import Store
import Testing

@testable import API

@Suite struct SignedPathTests {
    @Test func aSignatureHoldsForItsPathAndTime() throws {
        let paths = SignedPath()
        let now = Date(timeIntervalSince1970: 1_000_000)
        let query = try #require(URLComponents(string: paths.sign("/a/1", at: now))?.queryItems)
        let (expires, code) = (query[0].value, query[1].value)
        func isValid(_ path: String, _ expires: String?, _ code: String?, after seconds: Double = 0) -> Bool {
            paths.isValid(path, expires: expires, code: code, at: now.addingTimeInterval(seconds))
        }
        #expect(isValid("/a/1", expires, code) && isValid("/a/1", expires, code, after: 299))
        #expect(
            !isValid("/a/1", expires, code, after: 301) && !isValid("/a/2", expires, code)
                && !isValid("/a/1", "9000000", code))
        #expect(
            !isValid("/a/1", expires, nil) && !isValid("/a/1", nil, code)
                && !isValid("/a/1", expires, code.map { $0 + "0" }))
        #expect(!SignedPath().isValid("/a/1", expires: expires, code: code, at: now), "another process's")
    }
}
