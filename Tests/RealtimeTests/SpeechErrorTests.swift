import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct SpeechErrorTests {
    @Test(arguments: [
        (401, "", SpeechError.Kind.unauthorized), (403, "", .unauthorized),
        (429, "7", .rateLimited(retryAfterSeconds: 7)),
        (429, "soon", .rateLimited(retryAfterSeconds: nil)),
        (400, "", .invalid), (500, "", .unavailable), (503, "", .unavailable),
        (429, "1e9", .rateLimited(retryAfterSeconds: 3_600)),
    ])
    func statusesHaveTheirMeaning(status: Int, retryAfter: String, kind: SpeechError.Kind) {
        #expect(SpeechError("s", status: status, headers: ["retry-after": retryAfter]).kind == kind)
    }
    @Test(arguments: [
        (#"{"error":{"message":"no credit","type":"x"}}"#, "no credit"), (#"{"error":"no"}"#, "no"),
        (#"{"detail":{"status":"x","message":"voice"}}"#, "voice"),
        (#"{"err_code":"x","err_msg":"bad"}"#, "bad"), ("plain", "plain"), ("<html>", nil), ("", nil), ("{}", nil),
    ])
    func theVendorsWordsAreFound(body: String, words: String?) {
        #expect(SpeechError.words(Array(body.utf8)) == words)
    }
}
