/// Two ends of a media stream in one process: what one sends the other receives, at once and as it is.
///
/// `carrier` is the end of the leg, `application` the end of the pipeline.
public enum MediaStreamPair {
    public static func make() -> (carrier: any MediaStream, application: any MediaStream) {
        let carrier = End()
        let application = End()
        carrier.peer = application
        application.peer = carrier
        return (carrier, application)
    }

    private final class End: MediaStream {
        var onMessage: ((MediaStreamMessage) -> Void)?
        var onClose: ((String) -> Void)?
        let isRemote = false
        /// Weak on one side would free an end that only its peer knows; `close` breaks the cycle.
        var peer: End?

        func send(_ message: MediaStreamMessage) -> Bool {
            guard let peer else { return false }
            peer.onMessage?(message)
            return true
        }

        func close() {
            guard let peer else { return }
            self.peer = nil
            peer.peer = nil
            let report = peer.onClose
            onMessage = nil
            onClose = nil
            peer.onMessage = nil
            peer.onClose = nil
            report?("the other end closed the stream")
        }
    }
}
