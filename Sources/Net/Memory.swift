internal import CLibwebsockets
internal import Foundation

/// What the process holds of its memory.
public enum Memory {
    /// Blocks of this many bytes and more go back to the system when they are freed. Without a number glibc raises its
    /// own with each such block up to 32 MiB, and what a long recording needed once then stays.
    private static let mappedBlockBytes = 256 << 10
    /// Heaps for each core. glibc's default is 8: every thread's heap keeps the pages of its own busiest moment.
    private static let heapsPerCore = 2

    /// Bytes that are in use on the heap (glibc's mallinfo2). The resident memory is more: it counts what malloc keeps
    /// free for later, so it stays high after a peak, and hides what grows slowly into those pieces.
    public static func allocatedBytes() -> Int { Int(clamping: clws_allocated_bytes()) }

    /// For a process that runs for months. Once, before its threads begin.
    public static func tuneForServer() {
        let heaps = max(1, ProcessInfo.processInfo.activeProcessorCount) * heapsPerCore
        clws_tune_malloc(Int32(clamping: heaps), Int32(mappedBlockBytes))
    }

    /// Gives the system what malloc holds free. Takes milliseconds in which other threads may wait for memory: not
    /// while calls are held.
    public static func giveBackFree() { clws_trim_malloc() }
}
