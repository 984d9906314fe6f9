import Foundation
import Testing

@testable import API

@Suite struct ListCursorTests {
    @Test func aCursorBelongsToItsList() {
        for list in ListCursor.allCases {
            for position in [1, 35, 36, 1_000_000, Int64.max] {
                let text = list.text(position)
                #expect(text.utf8.count <= ListCursor.lengthLimit)
                for other in ListCursor.allCases {
                    #expect(other.position(text) == (other == list ? position : nil), "\(text)")
                }
            }
        }
    }

    @Test func cursorsWithoutAValidChecksumAreRejected() {
        let good = ListCursor.audit.text(12_345)
        for text in [
            "", "-", "aud-", "aud-1", "aud-00", "12345", good.uppercased(), good + "0", String(good.dropLast()),
            " " + good, good + "\n", "aud--1" + good.suffix(2),
        ] {
            #expect(ListCursor.audit.position(text) == nil, "\(text)")
        }
        // Of neighbours, whose check is another.
        let body = good.dropLast(2)
        let accepted = (0..<1_296).filter { number in
            let check = String(number, radix: 36)
            return ListCursor.audit.position(body + (check.count < 2 ? "0" : "") + check) != nil
        }
        #expect(accepted.count == 1)
    }
}
