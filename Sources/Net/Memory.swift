internal import CLibwebsockets

/// What the process holds of its memory.
public enum Memory {
    /// Bytes that are in use on the heap (glibc's mallinfo2). The resident memory is more: it counts what malloc keeps
    /// free for later, so it stays high after a peak, and hides what grows slowly into those pieces.
    public static func allocatedBytes() -> Int { Int(clamping: clws_allocated_bytes()) }
}
