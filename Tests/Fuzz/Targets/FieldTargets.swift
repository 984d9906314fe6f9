internal import Foundation

@testable internal import API

/// A time that is taken is the same once it was written.
func fuzzTimestamp(_ input: FuzzInput) {
    guard let time = Timestamp.parse(input.text) else { return }
    let seconds = time.timeIntervalSince1970
    expect((-62_167_219_200...253_402_300_800).contains(seconds), "a time that cannot be written: \(seconds)")
    let written = Timestamp.text(time)
    guard let again = Timestamp.parse(written) else { return expect(false, "our own \(written) is no time") }
    // Written with milliseconds.
    expect(abs(again.timeIntervalSince(time)) <= 0.001_1, "\(input.text) became \(written)")
    expect(Timestamp.text(again) == written, "\(written) became \(Timestamp.text(again))")
}

/// A cursor belongs to one list and one position; every position has a cursor.
func fuzzListCursor(_ input: FuzzInput) {
    let text = input.text
    let found = ListCursor.allCases.filter { $0.position(text) != nil }
    expect(found.count <= 1, "\(text) belongs to \(found)")
    if let list = found.first, let position = list.position(text) {
        expect(position > 0 && isSame(list.text(position), text), "\(text) is not how \(position) is written")
    }
    var steps = Steps(input)
    let position = Int64(steps.word()) << 31 | Int64(steps.word() >> 1)
    let list = ListCursor.allCases[input.choice(ListCursor.allCases.count)]
    let written = list.text(position)
    expect(written.utf8.count <= ListCursor.lengthLimit, "a cursor that is too long for us: \(written)")
    for other in ListCursor.allCases {
        expect(
            other.position(written) == (other == list && position > 0 ? position : nil),
            "\(written) is a position of \(other)")
    }
    // One other byte is another cursor: what two check digits miss, one of 1 296, is one that we could have written.
    var bytes = Array(written.utf8)
    bytes[input.choice(bytes.count, salt: 1)] = steps.byte()
    let changed = String(decoding: bytes, as: UTF8.self)
    for other in ListCursor.allCases {
        if let position = other.position(changed) {
            expect(isSame(other.text(position), changed), "\(changed) is not how \(position) is written")
        }
    }
}
