import Foundation
import Testing

@testable import Bridge
@testable import Net

/// What every dialect declares, and the rules made of it.
@Suite struct DialectTraitsTests {
    @Test func namesAndPathsAreThoseOfOneDialect() {
        #expect(Set(Dialects.names).count == Dialects.all.count)
        #expect(Dialects.paths.count == Dialects.all.reduce(0) { $0 + $1.traits.paths.count })
        for dialect in Dialects.all {
            let traits = dialect.traits
            #expect(traits.name == traits.name.lowercased() && !traits.formats.isEmpty && !traits.tokens.isEmpty)
            #expect(traits.paths.allSatisfy { $0.hasPrefix("/") && Dialects.at($0)?.traits.name == traits.name })
            #expect(Dialects.named(traits.name)?.traits.name == traits.name)
            for role in [MediaStreamRole.carrier, .application] {
                let terms = dialect.init(DialectOptions(role: role)).terms
                #expect(terms.incoming.isSupported && terms.outgoing.isSupported)
            }
        }
        #expect(Dialects.named("nobody's") == nil && Dialects.at("/media") == nil)
    }

    @Test func aTokenIsFoundWhereAClientPutsIt() throws {
        for place in [
            TokenPlace.parameter("token"), .header("x-token"), .query("t"), .bearer, .basic,
        ] {
            var parameters: [String: String] = [:]
            var headers: [(String, String)] = []
            var query: [(name: String, value: String)] = []
            place.put("se:cret", parameters: &parameters, headers: &headers, query: &query)
            let handshake = WebSocket.Handshake(
                path: "/", query: query, headers: Dictionary(uniqueKeysWithValues: headers), peer: "")
            let start = StreamStart(streamID: "s", callID: "c", parameters: parameters)
            #expect(place.token(in: start, of: handshake) == "se:cret", "\(place)")
            let nothing = WebSocket.Handshake(path: "/", query: [], headers: [:], peer: "")
            #expect(place.token(in: StreamStart(streamID: "s", callID: "c"), of: nothing) == nil)
        }
        let wrong = WebSocket.Handshake(path: "/", query: [], headers: ["authorization": "Basic !!!"], peer: "")
        #expect(TokenPlace.basic.token(in: StreamStart(streamID: "s", callID: "c"), of: wrong) == nil)
        #expect(TokenPlace.bearer.token(in: StreamStart(streamID: "s", callID: "c"), of: wrong) == nil)
    }

    @Test func messagesHaveTheLengthsThatARuleAllows() {
        let free = ChunkRule.any(frames: 5)
        #expect(free.isFree && free.next(of: 1) == 1 && free.next(of: 0) == nil && free.padded(7) == 7)
        let exact = ChunkRule.exactly(640)
        #expect(exact.next(of: 639) == nil && exact.next(of: 2_000) == 640 && exact.padded(641) == 1_280)
        let large = ChunkRule(minimum: 3_200, maximum: 100_000, multiple: 320)
        #expect(large.next(of: 3_199) == nil && large.next(of: 3_600) == 3_520 && large.next(of: 1 << 20) == 99_840)
        #expect(large.padded(10) == 3_200 && large.padded(3_201) == 3_520)
    }
}
