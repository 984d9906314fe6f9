internal import Foundation
public import Net
public import Pipeline

/// One side of a call for somebody who only listens, in Twilio's words for both tracks. Confined to its loop.
public final class TwilioTrack {
    public enum Name: String { case inbound, outbound }

    private let head: [UInt8]
    private static let tail = Array(#""}}"#.utf8)

    /// - Parameter streamSid: letters, digits, `-` and `_`.
    public init(_ track: Name, streamSid: String) {
        head = Array(#"{"event":"media","streamSid":"\#(streamSid)","media":{"track":"\#(track.rawValue)","payload":""#.utf8)
    }

    @discardableResult
    public func send(_ frame: EncodedFrame, to socket: WebSocket) -> Bool {
        let spoken = frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw)
        return socket.send(.text, capacity: head.count + Base64.encodedLength(EncodedFrame.byteCount) + Self.tail.count) { target in
            var at = target.update(fromContentsOf: head)
            at = Base64.encode(spoken.bytes.span, into: target, at: at)
            return UnsafeMutableBufferPointer(rebasing: target[at...]).update(fromContentsOf: Self.tail) + at
        }
    }

    public static let connected = #"{"event":"connected","protocol":"Call","version":"1.0.0"}"#

    public static func start(streamSid: String, callSid: String) -> String {
        let format = #"{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1}"#
        return #"{"event":"start","streamSid":"\#(streamSid)","start":{"streamSid":"\#(streamSid)","callSid":"\#(callSid)","#
            + #""tracks":["inbound","outbound"],"customParameters":{},"mediaFormat":\#(format)}}"#
    }

    public static func stop(streamSid: String) -> String { #"{"event":"stop","streamSid":"\#(streamSid)","stop":{}}"# }
}
