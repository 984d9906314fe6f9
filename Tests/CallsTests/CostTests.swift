import Realtime
import Testing

@testable import Calls

@Suite struct CostTests {
    private func list(_ prices: String...) -> PriceList {
        var list = PriceList()
        list.prices = prices.compactMap(Price.init)
        return list
    }

    @Test(arguments: [
        "", "telephony/sip", "telephony/sip minute", "telephony/sip minute x", "telephony/sip hour 1",
        "telephony minute 1", "a/b minute 1.2.3",
        "a/b minute -1", "a/b minute 1e9", "a/b minute .", "a/b minute 1 2", "a/b minute 1234567890123456789",
    ])
    func malformedPricesAreRejected(_ text: String) { #expect(Price(text) == nil) }

    @Test func decimalsAreExact() {
        let cost = list("a/b minute 0.1", "c/d 1k_characters 0.2").cost(of: [
            ComponentUsage(component: "a/b", quantities: [.milliseconds: 60_000]),
            ComponentUsage(component: "c/d", quantities: [.characters: 1_000]),
        ])
        #expect(cost.total == "0.3")
        #expect(cost.known == "0.3")
    }

    @Test func aBegunMinuteIsAMinute() {
        let used = { ms in [ComponentUsage(component: "telephony/sip", quantities: [.milliseconds: ms])] }
        let prices = list("telephony/sip started_minute 0.02")
        #expect(prices.cost(of: used(1)).total == "0.02")
        #expect(prices.cost(of: used(60_000)).total == "0.02")
        #expect(prices.cost(of: used(60_001)).total == "0.04")
    }

    @Test func aMissingPriceMakesTheCostUnknown() {
        let cost = list("a/b minute 1").cost(of: [
            ComponentUsage(component: "a/b", quantities: [.milliseconds: 60_000]),
            ComponentUsage(component: "c/d", quantities: [.characters: 5]),
        ])
        #expect(cost.total == nil)
        #expect(cost.known == "1")
        #expect(cost.components.map(\.amount) == ["1", nil])
        #expect(PriceList().cost(of: []).total == nil)
    }

    @Test func tokensWithoutAllTheirPricesAreUnknown() {
        let used = [
            ComponentUsage(
                component: "language-model/x",
                quantities: [.inputTokens: 1_000_000, .cachedInputTokens: 500_000, .outputTokens: 10])
        ]
        #expect(list("language-model/x 1m_input_tokens 2").cost(of: used).total == nil)
        // Kept tokens are charged as others where they have no price of their own.
        #expect(
            list("language-model/x 1m_input_tokens 2", "language-model/x 1m_output_tokens 100000").cost(of: used).total
                == "4")
    }

    @Test func aPricePerMinuteExcludesOtherPrices() {
        let used = [
            ComponentUsage(
                component: "realtime/x", quantities: [.milliseconds: 120_000, .audioInputTokens: 5, .outputTokens: 7])
        ]
        #expect(list("realtime/x minute 0.06").cost(of: used).total == "0.12")
        #expect(
            list("realtime/x 1m_audio_input_tokens 32", "realtime/x 1m_output_tokens 16").cost(of: used).total
                == "0.000272")
    }

    @Test func partsOfACallAreAddedUp() {
        let a = [ComponentUsage(component: "x/y", quantities: [.characters: 2])]
        let b = [ComponentUsage(component: "x/y", quantities: [.characters: 3, .milliseconds: 1], isEstimated: true)]
        #expect(
            ComponentUsage.joined(a, b) == [
                ComponentUsage(component: "x/y", quantities: [.characters: 5, .milliseconds: 1], isEstimated: true)
            ])
        let most = [ComponentUsage(component: "x/y", quantities: [.characters: .max])]
        #expect(ComponentUsage.joined(most, a).first?.quantities[.characters] == .max)
    }

    @Test func aVendorsNonsenseIsBounded() {
        let meter = UsageMeter()
        meter.add("x/y", TokenUsage(input: .max, output: -5))
        meter.add("x/y", TokenUsage(input: .max))
        #expect(meter.usage == [ComponentUsage(component: "x/y", quantities: [.inputTokens: 1 << 40])])
    }

    @Test(arguments: [
        (
            #"{"summary": "They come.", "sentiment": "positive"}"#,
            CallReview(summary: "They come.", sentiment: .positive)
        ),
        (
            "Here you are:\n```json\n{\"summary\": \" They come. \", \"sentiment\": \"NEUTRAL\"}\n```",
            CallReview(summary: "They come.", sentiment: .neutral)
        ),
        (#"{"summary": "They come.", "sentiment": "so-so"}"#, CallReview(summary: "They come.", sentiment: nil)),
    ])
    func reviewsAreReadFromWhatModelsSay(_ text: String, _ review: CallReview) {
        #expect(CallReviewer.reading(text) == review)
    }

    @Test(arguments: [
        "", "They come.", "{", "}{", #"{"summary": ""}"#, #"{"summary": 7}"#, #"{"sentiment": "positive"}"#,
    ])
    func malformedReviewsAreRejected(_ text: String) { #expect(CallReviewer.reading(text) == nil) }
}
