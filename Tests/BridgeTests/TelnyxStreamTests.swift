import Testing

@testable import Bridge

/// What a stream is asked for with, in each of the three places; and that the dialect understands it.
@Suite struct TelnyxStreamTests {
    private func stream(_ format: TelnyxFormat) -> TelnyxStream {
        TelnyxStream(url: "wss://h/media/telnyx", format: format)
    }

    @Test func markupHasTheCodecAndNoToken() {
        let stream = stream(.linear16k)
        #expect(
            CallMarkup.connect(stream: stream.markupURL, attributes: stream.attributes, parameters: [("token", "t")])
                == #"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://h/media/telnyx?"#
                + #"stream_bidirectional_codec=L16&amp;stream_bidirectional_sampling_rate=16000" "#
                + #"track="inbound_track" codec="L16" bidirectionalMode="rtp" bidirectionalCodec="L16" "#
                + #"bidirectionalSamplingRate="16000"><Parameter name="token" value="t"/>"#
                + "</Stream></Connect></Response>"
        )
    }

    @Test func theAnswerHasTheTokenInItsURL() {
        let fields = stream(.aLaw8k).answerFields(token: "t&1").mapValues { "\($0)" }
        #expect(
            fields == [
                "stream_url": "wss://h/media/telnyx?stream_bidirectional_codec=PCMA&"
                    + "stream_bidirectional_sampling_rate=8000&token=t%261",
                "stream_track": "inbound_track", "stream_codec": "PCMA", "stream_bidirectional_mode": "rtp",
                "stream_bidirectional_codec": "PCMA",
            ])
    }

    @Test func aStreamThatIsAskedForLaterHasRateAndParameters() throws {
        let fields = stream(.linear24k).startFields(token: "t")
        #expect(fields["stream_bidirectional_sampling_rate"] as? Int == 24_000)
        #expect(fields["custom_parameters"] as? [[String: String]] == [["name": "token", "value": "t"]])
        #expect(try #require(fields["stream_url"] as? String).hasSuffix("stream_bidirectional_sampling_rate=24000"))
    }

    @Test func onlyNarrowStreamsComeWithTheAnswer() {
        #expect(
            TelnyxFormat.allCases.filter { stream($0).comesWithAnswer } == [.muLaw8k, .aLaw8k, .linear8k])
    }

    @Test(arguments: TelnyxFormat.allCases) func theDialectSpeaksIt(format: TelnyxFormat) {
        #expect(TelnyxDialect.sampleRates.contains(Int32(format.rate)))
    }
}
