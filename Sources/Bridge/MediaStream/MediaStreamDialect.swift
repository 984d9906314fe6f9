public import Pipeline

/// Which end of the conversation we are.
public enum MediaStreamRole: Sendable { case carrier, application }

/// A carrier's spelling of the media-stream protocol. A pure codec: no socket, no REST, no resampling. One a stream,
/// confined to its loop.
public protocol MediaStreamDialect: AnyObject {
    /// Appends what the message says: nothing where it means nothing to us, several frames where it holds many.
    func decode(_ bytes: UnsafeBufferPointer<UInt8>, into messages: inout [MediaStreamMessage]) throws(MediaStreamError)
    /// Bytes that `encode` may need for a message.
    func capacity(for message: MediaStreamMessage) -> Int
    /// Writes the message and returns its length; nil if this dialect and role cannot say it.
    func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int?

    /// Frames that one of our messages had best hold, at most.
    var framesPerMessage: Int { get }
    func capacity(forFrames count: Int) -> Int
    /// Writes up to `framesPerMessage` frames as one message.
    func encode(_ frames: UnsafeBufferPointer<EncodedFrame>, into target: UnsafeMutableBufferPointer<UInt8>) -> Int
}

/// A message that cannot be understood; `reason` names the field, never its content.
public struct MediaStreamError: Error, Sendable, Equatable {
    public var reason: String
    public init(_ reason: String) { self.reason = reason }
}
