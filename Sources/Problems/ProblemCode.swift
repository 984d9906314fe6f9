/// Every problem that the server names, each with its English text: the only table of them. `{name}` is a parameter.
///
/// A code's name in JSON is its case's name in snake case: `tooLong` is `too_long`. `web/ko-server.js` has one line for
/// each; a test compares the two.
public enum ProblemCode: String, CaseIterable, Sendable {
    // MARK: Of a field: the text goes on from the field's name

    case required = "is required"
    case requiredUnless = "is required, or {field} in its place"
    case requiredForNewName = "is needed where sip_user changes"
    case requiredMessage = "is required: there is no message for all calls (outbound.ai.voicemail_message)"
    case requiredAnswer = "an answer needs value, answer_text or answer_summary"
    case notBeside = "does not go with {fields}"
    case unknownField = "is not a known field"
    case unknownParameter = "is not a known parameter"
    case givenTwice = "stands twice"
    case notSupportedYet = "is not supported yet"

    case blank = "is blank"
    case tooLong = "is longer than {limit} characters"
    case tooLarge = "is larger than {limit} bytes"
    case tooLargeTogether = "with {field} is larger than {limit} bytes"
    case lengthNotInRange = "must have {least} to {most} characters"
    case countNotInRange = "must have {least} to {most} items, not {count}"
    case choiceCountNotInRange = "must have {least} to {most} items for the type choice"
    case tooManyItems = "has more than {limit} items"
    case tooManyOpenItems = "has more than {limit} items without an answer"
    case notInRange = "must lie in {least}…{most}, not {given}"
    case notNumberInRange = "must be a number from {least} to {most}"
    case tooExact = "has more digits than can be kept, or is too large"

    case notText = "must be a string"
    case notNumber = "must be a number"
    case notWhole = "must be a whole number"
    case notBoolean = "must be true or false"
    case notArray = "must be an array"
    case notObject = "must be an object"
    case notTextOrObject = "must be a string or an object"
    case notScalar = "must be true or false, a number or a text"

    case controlCharacter = "holds a control character"
    case controlCharacterInText = "holds a control character other than line feed and tab"
    case nulCharacter = "holds a NUL character"

    case notChoice = "must be one of {names}"
    case notChoiceText = "must be a text with a letter or digit"
    case onlyForChoice = "only goes with the type choice"
    case notQuestionChoice = "is none of the question's choices"
    case notOfType = "does not fit the question's type {type}"
    case notEarlierQuestion = "must be the id of an earlier question, e.g. q1"
    case notLanguageTag = "must be a BCP 47 tag, e.g. en or ko"
    case notTime = "must be an RFC 3339 time with an offset, e.g. {example}"
    case inThePast = "lies in the past"
    case notLiveState = "must name states of calls that have not ended"
    case notCursor = "is not one that a list gave"
    case notPhoneNumber = "must be a number of 3 to 15 digits"
    case notCallAddress = "must be a number of 3 to 15 digits, or a sip: address"
    case notSipAddress = "is no sip: address of the form sip:user@host[:port]"
    case notSipUser = "must consist of letters, digits, '-', '_', '.' and '+'"
    case onlyOwnBrowser = "must be browser: alone: such a call rings in the browser of the user who requests it"
    case notBase64 = "is no base64"
    case setNameMalformed = "must begin with a letter of a to z; such letters, digits and - may follow, 40 in all"
    case notDocumentType = "must be text/plain, text/markdown or application/pdf"
    case notPdf = "is no PDF with text in it"
    case notPlainText = "is no text in UTF-8"
    case notForm = "is no form that can be read: {problem}"

    case characterNotInUrl = "holds a character that stands in no URL unless it is percent-encoded"
    case notHttps = "must be an https: URL"
    case credentialsInUrl = "must not hold a user name or password"
    case notWebSocketUrl = "must be a wss: URL"
    case wsOnlyOnLoopback = "must be wss: (ws: is for loopback, while the server is bound to loopback)"
    case notHeaderName = "is no name of a header"
    case notHeaderValue = "holds a character that stands in no header"
    case reservedName = "is a name that the server sets itself"
    case onlyOverSip = "only goes with a call over SIP"
    case signsNoUpgrades = "goes with no dialect whose carrier signs no upgrades"
    case notSigningSecret = "is no secret that this dialect's carrier signs with, or the header with its key is missing"
    case httpOnlyOnLoopback = "must be https: (http: is for loopback, while the server is bound to loopback)"

    case unknownAgent = "there is no agent with this name"
    case unknownOperator = "there is no such operator"
    case unknownTemplate = "there is no such template"

    // MARK: Numbers, routes and rules of dialling

    case emergencyNumber = "emergency numbers are never dialled"
    case premiumNumber = "numbers that cost extra are never dialled"
    case prefixNotAllowed = "the number begins with none of outbound.allowed_prefixes"
    case hostNotAllowed = "the host {host} is not in outbound.sip_hosts"
    case noGateway = "no gateway is configured"
    case noGatewayForNumbers =
        "no gateway is configured: set outbound.default_gateway, or call a sip: address"
    case notInternational = "{carrier} wants a number in E.164, e.g. {example}"
    case callerNotAllowed = "the caller number is not on the whitelist (outbound.allowed_callers)"
    case noCallerAllowed = "no caller whitelist is set (outbound.allowed_callers)"
    case onDoNotCallList = "the callee is on the do-not-call list"
    case calleeTaken = "{id} is for the same callee"
    case calleeCalledBefore = "{id} dialled the same callee less than {seconds} s before"

    // MARK: Of a request as a whole

    case fieldNotAcceptable = "1 field is not acceptable"
    case fieldsNotAcceptable = "{count} fields are not acceptable"
    case blocked = "blocked by {rule}: {problem}"
    case invalidJson = "the body is not valid JSON: {problem}, at byte {place}"
    case bodyNotObject = "the body must be a JSON object"
    case contentNotJson = "send application/json"
    case idempotencyKeyTaken = "another request was sent with this Idempotency-Key"
    case sentWithAnotherRequest = "was sent with another request"
    case loginNeeded = "an API key (Authorization: Bearer KEY) or a login is needed"
    case roleNeeded = "this needs the role {role}"
    case otherOrigin = "the request does not come from the dashboard's own pages"
    case otherHost = "this server does not answer under this name: http.hosts lists the names it has"
    case tooManyRequests = "too many requests"
    case tooManyLogins = "too many tries to log in"
    case wrongPassword = "name or password is wrong"
    case unknownKey = "the key is not known"
    case noPath = "there is nothing at this path"
    case methodNotPossible = "{method} is not possible here"
    case noFile = "there is no such file"
    case noWebRoot = "the dashboard's files were not found: set http.web_root"
    case internalError = "something went wrong; the log has details"

    // MARK: Calls

    case noCall = "there is no call with this id"
    case noCallNamed = "there is no call {id}"
    case noQuestion = "the call has no question {id}"
    case noRecording = "the call has no recording"
    case noGraph = "the call has no graph: it was never connected"
    case noResultYet = "a call that is {state} has no result yet"
    case cannotErase = "a call that is {state} cannot be erased"
    case cannotJoin = "a call that is {state} cannot be joined"
    case cannotCancel = "a call that is {state} cannot be cancelled"
    case cannotHangUp = "a call that is {state} cannot be hung up"
    case cannotFollow = "{event} cannot follow {state}"
    case nobodyHears = "a call that is {state} cannot be spoken into"
    case cannotSay = "nothing can be put into this call now"
    case nobodyToHandOver = "a call that is {state} cannot be transferred"
    case cannotHandOver = "this call cannot be handed over now"
    case doesNotRingHere = "the call does not ring in this user's browser now"
    case noOperatorFree = "no operator can be rung now"
    case operatorNotFree = "the operator cannot be rung now: away, in a call, or without a phone"
    case correctedTooEarly = "answers can be corrected when the call has ended"
    case correctedTooOften = "the call has been corrected too often"
    case queueFull = "{count} calls are waiting: try again later"
    case shuttingDown = "the server is shutting down"
    case noCallerNumber = "outbound.caller_number is not set: it is the number shown for calls of this route"
    case noCallbackUrl = "result_callback_url is not set"

    // MARK: What else is kept

    case noTemplate = "there is no template with this id"
    case noTemplateNamed = "there is no template {id}"
    case noOperator = "there is no operator with this id"
    case noOperatorNamed = "there is no operator {id}"
    case noDelivery = "there is no delivery with this id"
    case noDeliveryToRepeat = "there is no delivery with this id that is not on its way already"
    case noKnowledge = "there is no knowledge on this server"
    case noKnowledgeNamed = "there is no knowledge {id}"
    case noKeyNamed = "there is no key {id}"
    case noUserNamed = "there is no user {name}"
    case noForm = "there is no form with this name"
    case numberNotListed = "the number is not on the list"
    case lastAdminKey = "this is the last admin key: make another one first"
    case templateNameTaken = "another template, {id}, has this name"
    case sipUserTaken = "another operator, {id}, has this sip_user"
    case numberTaken = "another operator, {id}, has this number"
    case tooManyTemplates = "there are {limit} templates already"
    case tooManyOperators = "there are {limit} operators already"
    case tooManyKeys = "there are {limit} keys already"
    case tooManyUsers = "there are {limit} users already"
    case listFull = "the list is full: {limit} numbers"
    case knowledgeFull = "the knowledge is full: {items} items of {pieces} pieces"
    case noEmbeddings = "the embeddings cannot be had, so nothing was stored: {problem}"
    case passwordLength = "a password must have {least} to {most} characters"

    // MARK: The store

    case diskFull = "the disk is full: nothing was stored"
    case databaseLocked = "the database is locked by another process: nothing was stored"
    case databaseReadOnly = "the database is read-only: nothing was stored"
    case databaseDamaged = "the database is damaged: restore a backup"
    case databaseFailed = "the database failed: {problem}"
    case databaseSilent = "the database gave no answer"
    case databaseGaveNoId = "the database gave no id"
    case cannotOpenDatabase = "cannot open the database {path}: {problem}"
    case cannotCreateFolder =
        "cannot create the data folder {path}: is its parent writable? (--data chooses another)"
    case cannotWrite = "cannot write {path}"
    case cannotEncrypt = "cannot encrypt what is to be stored"
    case rowDamaged = "a stored row is damaged"
    case encryptedRowDamaged = "an encrypted row is damaged"
    case encryptedRowMoved = "an encrypted row does not belong where it stands, or was changed"
    case encryptedRecordingDamaged = "an encrypted recording is damaged"
    case encryptionKeyUnknown =
        "the key that a row was encrypted with is not among security.encryption_key and security.former_keys"
    case encryptionKeyMalformed =
        "an encryption key must be 64 hex digits, or 32 bytes in Base64: openssl rand -hex 32 makes one"
    case noEncryptionKey = "security.encryption_key is not set"
    case formerKeyInLog =
        "another process reads the database: what was encrypted with the former key may still be in its log; try again"
    case noIndexSecret = "the secret of the number index is missing"
    case webhookSecretDamaged = "the secret of webhooks is damaged"

    // MARK: Carriers

    case carrierNotSetUp = "{carrier} is not set up: set {settings}"

    // What an agent says of speech and models.
    case providerNotSetUp = "{provider} is not set up ({setting})"
    case settingWithoutEffect = "{provider} has no such setting: it has no effect"
    case settingOfAnotherMode = "it has no effect in the mode {mode}"
    case builtInDialogueReadsNone = "the built-in dialogue (llm.providers embedded) does not read it"
    case keytermsNotAllSent = "{provider} takes the first {count} of them"
    case speedNotInRange = "{provider} speaks at {least} to {most} of its pace: the nearest is taken"
    case notCarrierCall = "is not the id of a call at {carrier}"
    case signatureMissing = "{header} is missing"
    case signatureWrong = "{header} is not right for this URL and body"
    case signatureUntimely = "{header} is too far from the time here"
    case urlExpired = "the URL is not ours or has expired"
    case noTurn = "there is no such turn any more"

    // MARK: Media streams to other servers

    case streamNotResolved = "the name of the stream's server cannot be resolved"
    case streamAddressPrivate = "the stream's server is in our own network (bridge.stream_allow_private)"
    case streamRefused = "the stream's server refused the upgrade with {status}"
    case streamNotReached = "the stream's server cannot be reached, or does not upgrade as it should"
    case streamSilent = "the stream's server did not answer within {seconds} s"
    case streamMalformed = "the stream's server does not speak {dialect}"
    case streamReported = "the stream's server reported an error"
    case streamLost = "the stream's server closed with {code}"

    // MARK: Warnings

    case durationLowered = "max_duration was lowered to {seconds} s (outbound.max_call_duration)"
    case answersByKeypad =
        "no recogniser here knows {language}: the AI speaks it, and answers are taken by keypad"
    case languageNotSpoken =
        "no voice here speaks {language}, so calls in it fail: install espeak-ng, or set tts.providers"

    /// Its name in JSON.
    public var name: String {
        "\(self)".reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
