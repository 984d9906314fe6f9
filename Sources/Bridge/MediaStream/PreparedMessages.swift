/// Fixed text of a stream's frequent messages, made once a stream.
struct PreparedMessages {
    /// Up to the sound, or to what stands before it.
    var sound: [UInt8] = []
    /// Up to the mark's name, and behind it.
    private var mark: [UInt8] = []
    private var markEnd: [UInt8] = []
    private var clear: [UInt8] = []

    init() {}

    init(sound: String, mark: (begin: String, end: String), clear: String) {
        self.sound = Array(sound.utf8)
        self.mark = Array(mark.begin.utf8)
        markEnd = Array(mark.end.utf8)
        self.clear = Array(clear.utf8)
    }

    /// Writes a mark or a clear and returns its length; nil: it is another message, or a name that needs escapes.
    func write(_ message: MediaStreamMessage, _ target: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        switch message {
        case .mark(let name) where WireText.isPlain(name):
            let at = WireText.write(name.utf8, target, WireText.write(mark, target, 0))
            return WireText.write(markEnd, target, at)
        case .clear: return WireText.write(clear, target, 0)
        case .connected, .start, .media, .mark, .dtmf, .stop: return nil
        }
    }
}
