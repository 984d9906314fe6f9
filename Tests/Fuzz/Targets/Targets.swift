internal import Bridge

/// Every target. A new parser is one file (or one function) and one line here; media-stream dialects are targets by
/// themselves. To come, each at its place: multipart and CSV (API).
let targets: [FuzzTarget] =
    [
        // SIP and SDP
        FuzzTarget("sdp", fuzzSDP),
        FuzzTarget("offer-answer", fuzzOfferAnswer),
        FuzzTarget("digest", fuzzDigest),
        FuzzTarget("sip-stream", maximumLength: 140_000, fuzzSIPStream),
        FuzzTarget("referral", maximumLength: 1_024, fuzzReferral),
        FuzzTarget("call-address", maximumLength: 512, fuzzCallAddress),
        // RTP
        FuzzTarget("rtp", maximumLength: 1_500, fuzzRTP),
        FuzzTarget("rtcp", maximumLength: 1_500, fuzzRTCP),
        FuzzTarget("telephone-event", maximumLength: 256, fuzzTelephoneEvent),
        FuzzTarget("jitter-buffer", maximumLength: 1_024, fuzzJitterBuffer),
        FuzzTarget("frame-assembler", maximumLength: 1_024, fuzzFrameAssembler),
        FuzzTarget("srtp", maximumLength: 1_500, fuzzSRTP),
        FuzzTarget("source-lock", maximumLength: 512, fuzzSourceLock),
        // HTTP and URLs
        FuzzTarget("http-request", fuzzHTTPRequest),
        FuzzTarget("websocket-frames", maximumLength: 2_048, fuzzWebSocketFrames),
        FuzzTarget("websocket-handshake", maximumLength: 1_024, fuzzWebSocketHandshake),
        FuzzTarget("form", fuzzForm),
        FuzzTarget("url", maximumLength: 1_024, fuzzURL),
        FuzzTarget("range", maximumLength: 256, fuzzRange),
        FuzzTarget("router", maximumLength: 512, fuzzRouter),
        FuzzTarget("server-sent-events", fuzzServerSentEvents),
        FuzzTarget("base64", fuzzBase64),
        // JSON
        FuzzTarget("json", fuzzJSON),
        FuzzTarget("json-members", fuzzJSONMembers),
        FuzzTarget("telnyx-event", maximumLength: 2_048, fuzzTelnyxEvent),
        FuzzTarget("mcp-post", fuzzMCPPost),
        FuzzTarget("mcp-header", maximumLength: 256, fuzzMCPHeader),
        FuzzTarget("tool-arguments", maximumLength: 4_096, fuzzToolArguments),
        // Fields of the API
        FuzzTarget("timestamp", maximumLength: 128, fuzzTimestamp),
        FuzzTarget("list-cursor", maximumLength: 64, fuzzListCursor),
        // Models and speech services
        FuzzTarget("openai-realtime", fuzzOpenAIRealtime),
        FuzzTarget("gemini-live", fuzzGeminiLive),
        FuzzTarget("deepgram-listen", fuzzDeepgram),
        FuzzTarget("cartesia", fuzzCartesia),
        FuzzTarget("elevenlabs", fuzzElevenLabs),
        FuzzTarget("task-state", fuzzTaskState),
        FuzzTarget("task-tracker", fuzzTaskTracker),
        FuzzTarget("sentences", fuzzSentences),
        FuzzTarget("answer-reading", maximumLength: 1_024, fuzzAnswerReading),
        // Files
        FuzzTarget("wav", maximumLength: 8_192, fuzzWave),
        FuzzTarget("speech-tokens", fuzzSpeechTokens),
    ] + Dialects.all.map { dialect in FuzzTarget("stream-" + dialect.traits.name) { fuzzDialect(dialect, $0) } }
