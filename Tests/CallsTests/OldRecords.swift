/// Records of calls as version 0.1.0 stored them up to schema 10: its own JSON, byte for byte but for the order of the
/// members. One call that was made, one that waits, one that came in.
enum OldRecords {
    static let made = #"""
        {"answeredAt":817206820.1565695,"answeredBy":"human","answers":[{"evidence":{"endMs":11491,"startMs":9991,
        "turn":1},"questionID":"q1","status":"answered","summary":"yes","text":"yes i will be there",
        "value":true},{"evidence":{"endMs":15911,"startMs":15231,"turn":3},"questionID":"q2","status":"answered",
        "summary":"4","text":"four people","value":4}],"attempts":[{"endedAt":817206840.0254989,
        "outcome":"connected","startedAt":817206819.8290477}],"attemptsThisRound":1,
        "brief":{"callerDisplayName":"Riverside Restaurant","language":"en","maxTurns":20,
        "purpose":"a dinner for ten","questions":[{"choices":[],"id":"q1","isRequired":true,"kind":"text",
        "text":"Will you attend the dinner on Friday?"},{"choices":[],"id":"q2","isRequired":true,"kind":"text",
        "text":"How many guests will you bring?"}]},"callID":"outbound-ob-ea4bcb0b-af6c37dc",
        "calleeNumber":"sip:callee@127.0.0.1:21508","callerNumber":"025550100","completedAt":817206840.0254989,
        "cost":{"components":[{"isEstimated":false,"lines":[{"quantity":"3140","unit":"milliseconds"}],
        "name":"speech-to-text/embedded"},{"isEstimated":false,"lines":[{"quantity":"19868","unit":"milliseconds"}],
        "name":"telephony/sip"},{"isEstimated":false,"lines":[{"quantity":"260","unit":"characters"}],
        "name":"text-to-speech/embedded"}],"currency":"USD","known":"0"},"createdAt":817206819.8238609,
        "endReason":"task_completed","interruptions":0,"latencies":[{"endOfTurnMs":600,"languageModelMs":1,
        "queueingMs":0,"speechToTextMs":4,"textToSpeechMs":3,"turn":2},{"endOfTurnMs":600,"languageModelMs":4,
        "queueingMs":0,"speechToTextMs":3,"textToSpeechMs":4,"turn":4}],"maxDuration":180,"maxRetries":2,
        "media":{"concealed":0,"jitterMs":0.6,"late":0,"lost":0,"opinionScore":4.38,"received":993,"roundTripMs":0,
        "sent":994},"metadata":"{\"k\":\"v\"}","outboundID":"ob-ea4bcb0b","priority":5,
        "recording":"ob-ea4bcb0b-1.wav","requestedBy":"admin","retryOnNoAnswer":true,"startedAt":817206819.8290477,
        "state":"completed",
        "summary":"2 of 2 questions answered. Will you attend the dinner on Friday? yes. How many guests \#
        will you bring? 4.",
        "usage":[{"component":"speech-to-text/embedded","isEstimated":false,
        "quantities":["milliseconds",3140]},{"component":"telephony/sip","isEstimated":false,
        "quantities":["milliseconds",19868]},{"component":"text-to-speech/embedded","isEstimated":false,
        "quantities":["characters",260]}],"webhookURL":"http://127.0.0.1:1/hook"}
        """#
    static let waiting = #"""
        {"answeredBy":"unknown","answers":[{"questionID":"q1","status":"pending"},{"questionID":"q2",
        "status":"pending"}],"attempts":[],"attemptsThisRound":0,
        "brief":{"callerDisplayName":"Riverside Restaurant","language":"en","maxTurns":20,
        "purpose":"waits for a while","questions":[{"choices":[],"id":"q1","isRequired":true,"kind":"text",
        "text":"Will you attend the dinner on Friday?"},{"choices":[],"id":"q2","isRequired":true,"kind":"text",
        "text":"How many guests will you bring?"}]},"calleeNumber":"sip:010-1234-5678@127.0.0.1:9",
        "callerNumber":"025550100","createdAt":817206819.8310275,"interruptions":0,"latencies":[],"maxDuration":180,
        "maxRetries":2,"nextAttemptAt":915184800,"outboundID":"ob-1ebb514f","priority":5,"requestedBy":"admin",
        "retryOnNoAnswer":true,"scheduledAt":915184800,"state":"queued"}
        """#
    static let arrived = #"""
        {"answeredBy":"unknown","answers":[{"questionID":"q1","status":"not_asked"},{"questionID":"q2",
        "status":"not_asked"}],"attempts":[{"code":488,"endedAt":817206840.0850395,"outcome":"failed",
        "reason":"the offer has no codec we speak (PCMU, PCMA)","startedAt":817206840.0836695}],
        "attemptsThisRound":0,"brief":{"callerDisplayName":"",
        "greetingTemplate":"Hello, nobody can take your call right now. I am an \#
        automated assistant, and I take a message.",
        "isIncoming":true,"language":"en","maxTurns":20,
        "purpose":"You answer a call for somebody who cannot take it. Take a message.","questions":[{"choices":[],
        "id":"q1","isRequired":true,"kind":"text","text":"What is your call about?"},{"choices":[],"id":"q2",
        "isRequired":true,"kind":"boolean","text":"Should we call you back?"}]},"callID":"hand-51dee09d2bc3983d",
        "calleeNumber":"01098765432","callerNumber":"0255501234","completedAt":817206840.0850395,
        "createdAt":817206840.0835348,"failureReason":"the offer has no codec we speak (PCMU, PCMA)",
        "interruptions":0,"latencies":[],"maxDuration":300,"maxRetries":0,"outboundID":"in-ca19f139","priority":5,
        "requestedBy":"caller","retryOnNoAnswer":false,"startedAt":817206840.0836695,"state":"failed"}
        """#
}
