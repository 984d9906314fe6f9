// The fields of an agent's document, in the order of its form and of its YAML. The server says what each may be
// (`/api/schemas/agent.json`); here stand their names. What has no field here is kept as it is.
import { t } from "./text.js";

export const languages = [["en", t("English")], ["ko", t("Korean")], ["ru", t("Russian")]];

export const sections = [
  {
    id: "conversation", title: t("Conversation"),
    about: t("Texts may hold variables, such as {{name}}, and {{name|words}} with words in place of a missing value."),
    fields: [
      { path: "name", label: t("Name"), kind: "line" },
      {
        path: "slug", label: t("Short name"), kind: "line", isFixed: true,
        help: t("Lower-case letters, digits and hyphens. Calls and numbers name the agent by it; it never changes."),
      },
      { path: "mode", label: t("Mode"), kind: "choice" },
      { path: "language", label: t("Language"), kind: "choice", options: languages },
      { path: "purpose", label: t("Purpose"), kind: "long", rows: 3, help: t("Why the agent calls.") },
      { path: "context.role", label: t("Role"), kind: "long", rows: 5, help: t("Who the AI is, and how it works.") },
      { path: "context.style", label: t("Style"), kind: "long" },
      { path: "context.safety_rules", label: t("Rules"), kind: "texts", add: t("Add a rule") },
      { path: "first_message", label: t("First message"), kind: "long", help: t("Spoken word for word.") },
      { path: "closing", label: t("Closing"), kind: "long" },
    ],
  },
  {
    id: "questions", title: t("Questions"), about: t("What must be found out, in this order."),
    fields: [{ path: "questions", label: t("Questions"), kind: "questions" }],
  },
  {
    id: "voice", title: t("Voice and models"), about: t("An empty field takes what the configuration says."),
    fields: [
      { path: "voice.tts_provider", label: t("Speech synthesis"), kind: "choice" },
      { path: "voice.tts_voice_id", label: t("Voice"), kind: "line" },
      { path: "voice.speed", label: t("Speaking rate"), kind: "number", step: 0.05 },
      { path: "voice.stt_provider", label: t("Speech recognition"), kind: "choice" },
      { path: "stt.model", label: t("Recognition model"), kind: "line" },
      { path: "voice.stt_language", label: t("Recognised language"), kind: "line", placeholder: "en-GB" },
      { path: "stt.keyterms", label: t("Likely words"), kind: "lines", help: t("One a line.") },
      { path: "llm.provider", label: t("Language model"), kind: "choice" },
      { path: "llm.model", label: t("Model"), kind: "line" },
      { path: "llm.temperature", label: t("Temperature"), kind: "number", step: 0.1 },
      { path: "realtime.provider", label: t("Speech model"), kind: "choice" },
      { path: "realtime.model", label: t("Version of the speech model"), kind: "line" },
      { path: "realtime.voice", label: t("Voice of the speech model"), kind: "line" },
    ],
  },
  {
    id: "turns", title: t("Turns"), about: t("When the agent speaks, waits and gives way."),
    fields: [
      { path: "turns.finished_ms", label: t("Silence that ends a sentence, ms"), kind: "number" },
      { path: "turns.barge_in.confirm_ms", label: t("Speech that interrupts the agent, ms"), kind: "number" },
      { path: "turns.silence_prompt_ms", label: t("Silence until the agent asks again, ms"), kind: "number" },
      { path: "turns.speaks_first", label: t("The agent speaks first"), kind: "flag" },
    ],
  },
  {
    id: "voicemail", title: t("Voicemail and disclosure"), about: "",
    fields: [
      { path: "voicemail.action", label: t("When a machine answers"), kind: "choice" },
      { path: "voicemail.message", label: t("Message for the machine"), kind: "long" },
      {
        path: "disclosure", label: t("Disclosure"), kind: "long",
        help: t("Said first, word for word, and not to be interrupted."),
      },
      { path: "recording.save", label: t("Calls are recorded"), kind: "flag" },
      { path: "recording.consent_line", label: t("Announcement of the recording"), kind: "long" },
    ],
  },
  {
    id: "knowledge", title: t("Knowledge and tools"), about: "",
    fields: [
      { path: "context.facts", label: t("Facts"), kind: "facts", add: t("Add a fact") },
      { path: "knowledge.sets", label: t("Knowledge sets"), kind: "checks", catalogue: "sets" },
      { path: "knowledge.answer_directly", label: t("Known questions are answered word for word"), kind: "flag" },
      { path: "tools", label: t("Tools"), kind: "checks", catalogue: "tools" },
      { path: "mcp", label: t("MCP servers"), kind: "checks", catalogue: "servers" },
      {
        path: "agent.handoff_criteria", label: t("Reasons to transfer to a person"), kind: "names",
        help: t("One a line, such as complex_request."),
      },
    ],
  },
  {
    id: "variables", title: t("Variables"),
    about: t("What differs from call to call. The call's form asks for them, and texts name them: {{name}}."),
    fields: [{ path: "variables", label: t("Variables"), kind: "variables", add: t("Add a variable") }],
  },
  {
    id: "limits", title: t("Limits"), about: "",
    fields: [
      { path: "limits.max_duration", label: t("Maximum duration, s"), kind: "number" },
      { path: "limits.max_turns", label: t("Maximum turns of the AI"), kind: "number" },
    ],
  },
];

export const fields = sections.flatMap((section) => section.fields);
const labels = new Map(fields.map(({ path, label }) => [path, label]));

/** The name of a place in a document, by its path: the field's name, and what lies below it. */
export function labelOf(path) {
  for (let known = path; known; known = known.replace(/(\.[^.[\]]+|\[\d+\])$/, "")) {
    const label = labels.get(known);
    if (label) {
      const rest = path.slice(known.length).replace(/\[(\d+)\]/g, (_, index) => ` ${Number(index) + 1}`);
      return `${label}${rest.replace(/\./g, " ")}`;
    }
    if (!/[.[]/.test(known)) break;
  }
  return path;
}

/** The members of an object in the order of the form; others follow as they stand. */
export function ordered(value, prefix = "") {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const paths = fields.map(({ path }) => path);
  const place = (name) => {
    const path = prefix + name;
    const index = paths.findIndex((one) => one === path || one.startsWith(`${path}.`));
    return index < 0 ? paths.length : index;
  };
  const names = Object.keys(value).sort((a, b) => place(a) - place(b));
  return Object.fromEntries(names.map((name) => [name, ordered(value[name], `${prefix}${name}.`)]));
}
