internal import Foundation
internal import Net

/// Reads the members of the server's events that a session uses, without a decoder.
enum OpenAIRealtimeReading {
    /// An error as the vendor reports it.
    struct Failure: Decodable {
        var type: String?
        var code: String?
        var message: String?
        var summary: String { code ?? type ?? message ?? "unknown" }
    }

    struct Response {
        var id: String?
        var status: String?
        var failure: Failure?
        var usage: TokenUsage?
    }

    /// The string members of an object that are wanted, by name.
    static func strings(_ names: [StaticString], in bytes: UnsafeBufferPointer<UInt8>) -> [String?] {
        var result = [String?](repeating: nil, count: names.count)
        _ = JSONMembers.forEach(in: bytes) { key, value in
            guard value.kind == .string, let index = names.firstIndex(where: { JSONMembers.equals(key, $0) }) else {
                return
            }
            result[index] = JSONMembers.text(value, in: bytes)
        }
        return result
    }

    static func number(_ name: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var result: Int?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            guard value.kind == .other, JSONMembers.equals(key, name) else { return }
            result = Double(String(decoding: bytes[value.range], as: UTF8.self)).map { Int(clampingDouble: $0) }
        }
        return result
    }

    static func object<Value>(
        _ name: StaticString, in bytes: UnsafeBufferPointer<UInt8>, _ read: (UnsafeBufferPointer<UInt8>) -> Value?
    ) -> Value? {
        var found: JSONMembers.Value?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if value.kind == .object, JSONMembers.equals(key, name) { found = value }
        }
        return found.flatMap { read(UnsafeBufferPointer(rebasing: bytes[$0.range])) }
    }

    static func failure(in bytes: UnsafeBufferPointer<UInt8>) -> Failure? {
        object("error", in: bytes) { try? JSONDecoder().decode(Failure.self, from: Data($0)) }
    }

    static func response(in bytes: UnsafeBufferPointer<UInt8>) -> Response? {
        object("response", in: bytes) { inner in
            let found = strings(["id", "status"], in: inner)
            return Response(
                id: found[0], status: found[1],
                failure: found[1] == "failed" ? object("status_details", in: inner) { failure(in: $0) } : nil,
                usage: object("usage", in: inner) { usage(in: $0) })
        }
    }

    /// platform.openai.com/docs/api-reference/realtime-server-events/response/done: `usage`.
    static func usage(in bytes: UnsafeBufferPointer<UInt8>) -> TokenUsage? {
        func count(_ name: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
            max(0, number(name, in: bytes) ?? 0)
        }
        var usage = TokenUsage(input: count("input_tokens", in: bytes), output: count("output_tokens", in: bytes))
        let input = object("input_token_details", in: bytes) { details in
            (
                audio: count("audio_tokens", in: details), cached: count("cached_tokens", in: details),
                cachedAudio: object("cached_tokens_details", in: details) { count("audio_tokens", in: $0) } ?? 0
            )
        }
        if let input {
            usage.cachedInput = min(input.cached, usage.input)
            usage.audioInput = max(0, input.audio - input.cachedAudio)
            usage.input = max(0, usage.input - usage.cachedInput - usage.audioInput)
        }
        usage.audioOutput = min(
            object("output_token_details", in: bytes) { count("audio_tokens", in: $0) } ?? 0, usage.output)
        usage.output = max(0, usage.output - usage.audioOutput)
        return usage
    }
}

extension Int {
    /// A number from outside, which may be anything.
    init(clampingDouble value: Double) {
        self = value.isFinite ? Int(Swift.max(-9e15, Swift.min(9e15, value))) : 0
    }
}
