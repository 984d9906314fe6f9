internal import SIPStream

/// A TCP connection's bytes at the C in front of sofia (Sources/C/Sofia): what is measured there stays bounded, and a
/// stream is read the same wherever it is cut.
func fuzzSIPStream(_ input: FuzzInput) {
    let whole = read(input.bytes, [input.bytes.count])
    check(whole, pieces: 1, of: input)
    let ends = input.pieces.map(\.endIndex)
    let cut = read(input.bytes, ends)
    check(cut, pieces: ends.count, of: input)
    cutInBlankLine(input.bytes, whole)
    readLong(input)
    // Commas and semicolons are counted in what was not read yet: lines that come one by one may hold more together.
    guard whole.refused == 0, cut.refused == 0 else { return }
    expect(
        cut.messages == whole.messages && cut.fields == whole.fields,
        "\(whole.messages) messages in one piece, \(cut.messages) in pieces that end at \(ends)")
}

/// All fields of a head are there when its blank line is cut: the body behind it is no part of the head.
private func cutInBlankLine(_ bytes: [UInt8], _ whole: sip_stream_result) {
    let start = bytes.prefix { [0x0A, 0x0D, 0x20, 0x09].contains($0) }.count
    guard bytes.count > start + 4,
        let end = (start..<bytes.count - 4).first(where: { bytes[$0...].starts(with: [0x0D, 0x0A, 0x0D, 0x0A]) })
    else { return }
    for place in end + 1...end + 3 {
        let cut = read(bytes, [place, bytes.count])
        expect(
            cut.messages == whole.messages && cut.fields == whole.fields && cut.refused == whole.refused,
            "\(whole) in one piece, \(cut) in two that end at \(place)")
    }
}

/// One input in eight again with its end repeated up to twice the longest message.
private func readLong(_ input: FuzzInput) {
    guard input.choice(8) == 0, !input.bytes.isEmpty, input.bytes.count < longest else { return }
    let end = input.bytes.suffix(1 + input.choice(64, salt: 3))
    var bytes = input.bytes
    while bytes.count + end.count <= longest { bytes += end }
    let long = FuzzInput(bytes), ends = long.pieces.map(\.endIndex)
    check(read(bytes, [bytes.count]), pieces: 1, of: long)
    check(read(bytes, ends), pieces: ends.count, of: long)
}

/// Bytes: two messages of the greatest length, and some more.
private let longest = 140_000

private func read(_ bytes: [UInt8], _ ends: [Int]) -> sip_stream_result {
    bytes.withUnsafeBufferPointer { bytes in
        ends.withUnsafeBufferPointer { ends in
            sip_stream_read(bytes.baseAddress, bytes.count, ends.baseAddress, ends.count)
        }
    }
}

private func check(_ result: sip_stream_result, pieces: Int, of input: FuzzInput) {
    expect(result.longest <= sip_stream_message_limit(), "a message of \(result.longest) bytes was taken")
    expect(result.fields <= sip_stream_field_limit(), "a message of \(result.fields) fields was taken")
    expect(result.kept <= 2 * sip_stream_buffer_limit(), "\(result.kept) bytes are kept for one message")
    expect(result.refused <= 1, "a stream goes on after a refusal")
    // Each look gives a message or ends the piece.
    expect(result.looks <= Int(result.messages) + pieces + 1, "\(result.looks) looks at \(input.bytes.count) bytes")
}
