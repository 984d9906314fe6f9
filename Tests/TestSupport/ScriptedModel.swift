public import Net
public import Realtime

/// A speech model that does what the test says, on a manual loop.
///
/// `@unchecked Sendable`: touched by the thread that drives the manual loop alone.
public final class ScriptedModel: SpeechModel, @unchecked Sendable {
    public let name = "scripted"
    public private(set) var sessions: [ScriptedSession] = []
    public private(set) var setups: [SpeechSessionSetup] = []
    /// Sessions are ready as soon as they are opened.
    public var isReadyAtOnce = true
    private let detection: SpeechTurnDetection
    private let format: SpeechFormat
    private let goesOnAfterTools: Bool

    public init(
        detection: SpeechTurnDetection = .manual, format: SpeechFormat = .muLaw, goesOnAfterTools: Bool = false
    ) {
        self.detection = detection
        self.format = format
        self.goesOnAfterTools = goesOnAfterTools
    }

    public var session: ScriptedSession? { sessions.last }

    public func open(_ setup: SpeechSessionSetup, on loop: EventLoop) -> any SpeechSession {
        let session = ScriptedSession(detection, format, goesOnAfterTools: goesOnAfterTools)
        sessions.append(session)
        setups.append(setup)
        if isReadyAtOnce {
            let box = Confined(session, to: loop)
            loop.post { box.value.tell(.ready) }
        }
        return session
    }
}

/// One session: keeps what it is told, and tells what it is asked to.
public final class ScriptedSession: SpeechSession {
    public enum Told: Equatable {
        case commit
        case respond(String?)
        case cancel
        case truncate(item: Int, heardMs: Int)
        case tool(String)
        case note(String)
        case close
    }

    public var onEvent: ((SpeechSessionEvent) -> Void)?
    public var onAudio: ((UnsafeBufferPointer<UInt8>, Int) -> Void)?
    public let format: SpeechFormat
    public let turnDetection: SpeechTurnDetection
    public var reportsSpeech: Bool { turnDetection != .manual }
    public var resumptionHandle: String?
    public var isCongested = false
    public private(set) var isPaused = false
    public private(set) var told: [Told] = []
    public private(set) var heard: [UInt8] = []
    public var heardBytes: Int { heard.count }
    private var items = 0

    public let goesOnAfterTools: Bool

    init(_ detection: SpeechTurnDetection, _ format: SpeechFormat, goesOnAfterTools: Bool) {
        self.goesOnAfterTools = goesOnAfterTools
        turnDetection = detection
        self.format = format
    }

    public func tell(_ event: SpeechSessionEvent) { onEvent?(event) }
    public func pauseReading() { isPaused = true }
    public func resumeReading() { isPaused = false }
    public func hear(_ bytes: UnsafeBufferPointer<UInt8>) { heard += bytes }
    public func commitTurn() { told.append(.commit) }
    public func respond(_ instructions: String?) { told.append(.respond(instructions)) }
    public func cancelResponse() { told.append(.cancel) }
    public func truncate(item: Int, heardMs: Int) { told.append(.truncate(item: item, heardMs: heardMs)) }
    public func finishTool(callID: String, output: String) { told.append(.tool(output)) }
    public func note(_ text: String) { told.append(.note(text)) }
    public func close() {
        told.append(.close)
        onEvent = nil
        onAudio = nil
    }

    /// One item of a response.
    public func speak(_ text: String, ms: Int) {
        items += 1
        tell(.text(text, item: items))
        let sound = [UInt8](repeating: 0x90, count: ms * 8)
        sound.withUnsafeBufferPointer { onAudio?($0, items) }
        tell(.itemFinished(item: items))
    }

    /// A whole response, faster than it is spoken.
    public func say(_ text: String, ms: Int, isRequested: Bool = true, tool: (name: String, arguments: String)? = nil) {
        tell(.responseStarted(isRequested: isRequested))
        if ms > 0 { speak(text, ms: ms) } else { items += 1 }
        if let tool { tell(.toolCall(callID: "call-\(items)", name: tool.name, arguments: tool.arguments)) }
        tell(.responseFinished(.completed))
    }
}
