internal import Pipeline
internal import Realtime

/// A cascade used a whole turn at a time: something is put in, and all that comes of it is awaited. The queues and the
/// engines are those of `Cascade`.
struct CascadeTurns: Sendable {
    let cascade: Cascade
    /// An engine has so long for its part of a turn, ms.
    let limitMs: Int

    /// The text of a turn's sound; nil: none came in time.
    func transcript(of sound: [AudioFrame]) async -> String? {
        await within { [heard = cascade.heard, transcripts = cascade.transcripts] in
            for frame in sound { try await heard.send(.audio(frame)) }
            try await heard.send(.turnEnded)
            while let signal = await transcripts.next() {
                if case .data(.final(let text, _, _)) = signal { return text }
            }
            return nil
        }
    }

    /// The whole response to a request; nil: it failed, or did not come in time.
    func response(to request: ModelRequest) async -> [LanguageModelEvent]? {
        guard cascade.requests.offer(request) else { return nil }
        return await within { [responses = cascade.responses] in
            var events: [LanguageModelEvent] = []
            while case .data(let reply)? = await responses.next() {
                guard reply.generation == request.generation else { continue }
                switch reply.piece {
                case .event(let event): events.append(event)
                case .finished: return events
                case .failed: return nil
                }
            }
            return nil
        }
    }

    /// The sound of sentences, 20 ms frames at 8 kHz; nil: it did not come in time.
    func sound(of texts: [String], turn: Int32, language: String) async -> [AudioFrame]? {
        for (index, text) in texts.enumerated() {
            let sentence = Sentence(utterance: index, turn: turn, text: text, language: language)
            guard cascade.sentences.offer(sentence) else { return nil }
        }
        return await within { [audio = cascade.audio] in
            var frames: [AudioFrame] = []
            while let signal = await audio.next() {
                switch signal {
                case .data(.audio(let frame, _)): frames.append(frame)
                case .data(.finished(let utterance)): if utterance == texts.count - 1 { return frames }
                case .data(.words), .flush: break
                case .end: return nil
                }
            }
            return nil
        }
    }

    private func within<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result?) async -> Result? {
        (try? await Deadline.wait(milliseconds: limitMs, body)) ?? nil
    }
}
