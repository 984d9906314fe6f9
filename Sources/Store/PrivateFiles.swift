public import Foundation
internal import Problems

/// Files that only we may read (0600), whatever the umask.
public enum PrivateFiles {
    private static let mode: mode_t = 0o600

    /// Makes a database's file before SQLite does, which would let others read it; what stands beside it gets its
    /// rights. Takes the rights of others from files that are there.
    static func prepare(database path: String) {
        // Not opened where it is there: to close it would take the locks of SQLite in this process with it.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        if descriptor >= 0 { close(descriptor) }
        for name in [path, path + "-wal", path + "-shm", path + "-journal"] { chmod(name, mode) }
    }

    /// Takes the rights of others from all files of a folder.
    public static func restrict(folder: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            restrict(folder + "/" + name)
        }
    }

    private static func restrict(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o777 != mode else {
            return
        }
        chmod(path, mode)
    }

    /// What `write` has not finished ends with it.
    public static let partialSuffix = ".partial"

    /// Writes a whole file, or leaves what was there.
    public static func write(_ data: Data, to path: String) throws {
        let partial = path + partialSuffix
        unlink(partial)
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw StoreError(.unavailable, .cannotWrite, ["path": .text(partial)]) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: data)
            try file.synchronize()
            try file.close()
        } catch {
            unlink(partial)
            throw error
        }
        guard rename(partial, path) == 0 else { throw StoreError(.unavailable, .cannotWrite, ["path": .text(path)]) }
    }
}
