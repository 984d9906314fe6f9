internal import Foundation

// libFuzzer brings `main` (llvm.org/docs/LibFuzzer.html) and calls these two. One program for all targets: one build,
// one link. FUZZ_TARGET names the target; `--list` prints them. `scripts/fuzz` is how it is run.

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer) -> CInt {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? "--list"
    if name == "--list" {
        for target in targets { print(target.name, target.maximumLength) }
        exit(0)
    }
    guard let target = targets.first(where: { $0.name == name }) else {
        print("no target \(name); there are: \(targets.map(\.name).joined(separator: " "))")
        exit(2)
    }
    current = target
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    current?.run(FuzzInput(Array(UnsafeBufferPointer(start: bytes, count: count))))
    return 0
}
