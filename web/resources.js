// The things that can be listed and changed: their columns, fields and actions. `writes` and `sees` are the roles that
// the server requires.
import * as api from "./api.js";
import { companies } from "./companies.js";
import { t } from "./text.js";
import { mcpServers, secrets, tools } from "./tools.js";
import { plain, when } from "./view.js";

const languages = [["", t("Server's default")], ["en", t("English")], ["ko", t("Korean")], ["ru", t("Russian")]];

const statusTones = { available: "good", busy: "warn", away: "" };

export const operators = {
  title: t("Operators"),
  about: t(
    "People that callers can dial or be transferred to. Their phones register with the server's SIP address."
  ),
  empty: t("No operators yet. Add the first one, and register a phone with the operator's SIP name and password."),
  addTitle: t("New operator"), editTitle: t("Operator"),
  writes: "admin", changes: true, everyMs: 5000,
  list: api.operators.list,
  form: api.operators.form,
  create: api.operators.create,
  replace: (item, body) => api.operators.replace(item.id, body),
  remove: (item) => api.operators.remove(item.id),
  removeQuestion: ({ name }) => t("Delete the operator {name}? Phones can no longer register as {name}.", { name }),
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Number"), text: (item) => item.number ?? "" },
    {
      name: t("State"),
      text: (item) => (item.in_call ? t("in a call") : plain(item.status)),
      tone: (item) => (item.in_call ? "live" : statusTones[item.status]),
    },
    {
      name: t("Phone"),
      text: (item) => {
        if (item.registered) return t("registered");
        return item.address ? t("at {address}", { address: item.address }) : t("not registered");
      },
      tone: (item) => (item.registered ? "good" : ""),
    },
    { name: t("Away message"), text: (item) => item.away_message ?? "" },
  ],
  rowActions: [["available", t("Available")], ["away", t("Away")]].map(([status, name]) => ({
    name,
    needs: "operator",
    when: (item) => item.status !== status,
    run: async (item) => { await api.operators.setStatus(item.id, status); },
  })),
  fields: [
    { name: "name", label: t("Name") },
    { name: "number", label: t("Extension"), placeholder: "1001" },
    { name: "sip_user", label: t("SIP name"), help: t("The user name that the phone registers with.") },
    {
      name: "sip_password",
      label: t("SIP password"),
      kind: "password",
      help: ({ minLength }) => t("At least {minLength} characters. Left empty it stays as it is.", { minLength }),
    },
    { name: "address", label: t("Address without registration"), placeholder: "sip:kim@10.0.0.7" },
    {
      name: "status",
      label: t("State"),
      kind: "choice",
      options: () => [["available", t("Available")], ["busy", t("Busy")], ["away", t("Away")]],
    },
    { name: "away_message", label: t("What callers hear while the operator is away"), kind: "long" },
    { name: "ring_timeout", label: t("Ringing time, s"), kind: "number" },
    { name: "order", label: t("Order of transfer attempts"), kind: "number" },
  ],
};

export const templates = {
  title: t("Templates"),
  about: t(
    "A purpose and its questions, saved for reuse: for outbound calls, and for numbers that answer inbound calls."
  ),
  empty: t("No templates yet. Save questions that you ask often as a template."),
  addTitle: t("New template"), editTitle: t("Template"),
  writes: "operator",
  list: api.templates.list,
  form: api.templates.form,
  create: api.templates.create,
  replace: (item, body) => api.templates.replace(item.id, body),
  remove: (item) => api.templates.remove(item.id),
  removeQuestion: (item) => t("Delete the template {name}?", { name: item.name }),
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Purpose"), text: (item) => item.purpose },
    { name: t("Questions"), text: (item) => String(item.questions.length) },
    { name: t("Changed"), text: (item) => when(item.updated_at) },
  ],
  fields: [
    { name: "name", label: t("Name") },
    { name: "purpose", label: t("Purpose"), kind: "long" },
    { name: "questions", kind: "questions" },
    { name: "caller_display_name", label: t("On behalf of") },
    { name: "language", label: t("Language"), kind: "choice", options: () => languages },
    { name: "greeting", label: t("Greeting of inbound calls"), kind: "long" },
  ],
};

const numbers = {
  path: "numbers", title: t("Numbers"),
  about: t(
    "Your numbers: which numbers calls may show, how often a day, and what the AI does when a number is called."
  ),
  empty: t("No numbers yet: calls may show any caller number, and all inbound calls are answered the same way."),
  addTitle: t("New number"), writes: "admin",
  list: api.numbers.list,
  form: api.numbers.form,
  create: api.numbers.create,
  remove: (item) => api.numbers.remove(item.number),
  removeQuestion: (item) => t("Remove the number {number}?", { number: item.number }),
  removeName: t("Remove"),
  columns: [
    { name: t("Number"), text: (item) => item.number },
    { name: t("Label"), text: (item) => item.label },
    {
      name: t("Today"),
      text: ({ dials_today: count, daily_cap: all }) => (
        all == null ? String(count) : t("{count} of {all}", { count, all })
      ),
    },
    { name: t("Template"), text: (item) => item.template_id ?? "" },
    {
      name: t("Agent"), text: (item) => item.agent ?? "",
      link: ({ agent }) => (agent ? `/agents/${agent.split("@")[0]}` : null),
    },
    { name: t("Added"), text: (item) => when(item.added_at) },
  ],
  fields: [
    { name: "number", label: t("Number"), placeholder: "+82 2 555 0100" },
    { name: "label", label: t("Label") },
    { name: "daily_cap", label: t("Maximum calls a day"), kind: "number" },
    {
      name: "template_id", label: t("When it is called"), kind: "choice",
      options: async () => [
        ["", t("Default behaviour")],
        ...(await api.templates.list()).items.map((one) => [one.id, one.name]),
      ],
    },
    {
      name: "agent", label: t("Agent that answers"), kind: "choice",
      help: t("In place of a template."),
      options: async () => [
        ["", t("As configured")],
        ...(await api.agents.list()).items.filter(({ live }) => live > 0).map((one) => [one.slug, one.name]),
      ],
    },
  ],
};

const doNotCall = {
  path: "do-not-call", title: t("Do not call"),
  about: t("Numbers that are never dialled."),
  empty: t("The list is empty."),
  addTitle: t("Do not call"), writes: "operator", searches: true,
  list: api.doNotCall.list,
  form: api.doNotCall.form,
  create: api.doNotCall.create,
  remove: (item) => api.doNotCall.remove(item.number),
  removeQuestion: (item) => t("Remove {number} from the list? It may be called again then.", { number: item.number }),
  removeName: t("Remove"),
  columns: [
    { name: t("Number"), text: (item) => item.number },
    { name: t("Reason"), text: (item) => item.reason },
    { name: t("Added"), text: (item) => when(item.added_at) },
    { name: t("By"), text: (item) => item.added_by },
  ],
  fields: [
    { name: "number", label: t("Number"), placeholder: "+82 10 1234 5678" },
    { name: "reason", label: t("Reason") },
  ],
};

const knowledge = {
  path: "knowledge", title: t("Knowledge"),
  about: t(
    "Sources for answers to callers' questions: pairs of question and answer, and documents (text, Markdown, PDF)."
  ),
  empty: t("No knowledge yet: the AI knows only the purpose of each call."),
  addTitle: t("New answer"), writes: "operator",
  choice: "set", choices: async () => [
    ["", t("All sets")],
    ...(await api.knowledge.sets()).items.map(({ name, items: count }) => [name, `${name} (${count})`]),
  ],
  list: api.knowledge.list,
  form: api.knowledge.form,
  create: api.knowledge.create,
  remove: (item) => api.knowledge.remove(item.id),
  removeQuestion: (item) => t("Remove {name}?", { name: item.title }),
  removeName: t("Remove"),
  columns: [
    { name: t("Question or title"), text: (item) => item.title },
    { name: t("Set"), text: (item) => item.set },
    { name: t("Answer"), text: (item) => item.answer ?? t("{count} parts", { count: item.chunks }) },
    { name: t("Set"), text: (item) => item.set },
    { name: t("Added"), text: (item) => when(item.created_at) },
  ],
  fields: [
    { name: "question", label: t("Question") }, { name: "answer", label: t("Answer"), kind: "long" },
    { name: "set", label: t("Set"), placeholder: "default", help: t("Agents choose from sets. A new name makes one.") },
  ],
  pageActions: [{ name: t("Add documents"), run: addDocuments }],
};

// The media type of a document by its file extension: browsers have no type for Markdown files.
const documentTypes = { txt: "text/plain", md: "text/markdown", markdown: "text/markdown", pdf: "application/pdf" };

function chosenFiles() {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.accept = Object.keys(documentTypes).map((end) => `.${end}`).join(",");
  return new Promise((resolve) => {
    input.addEventListener("change", () => resolve([...input.files]));
    input.addEventListener("cancel", () => resolve([]));
    input.click();
  });
}

/** @param filter of the page: documents are put into the set that is shown */
async function addDocuments({ set }) {
  const failed = [];
  const files = await chosenFiles();
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    const type = documentTypes[file.name.split(".").pop().toLowerCase()] ?? file.type;
    try {
      const title = file.name.slice(0, 200);
      await api.knowledge.create({ title, content_type: type, content_base64: btoa(text), ...(set ? { set } : {}) });
    } catch (problem) {
      const [field] = problem.fields;
      failed.push(`${file.name}: ${field ? `${field.field} ${field.message}` : problem.message}`);
    }
  }
  if (failed.length) return failed.join("; ");
  return files.length ? t("{count} documents added.", { count: files.length }) : "";
}

const deliveryStates = { delivered: t("delivered"), dead: t("given up"), pending: t("on its way") };
const deliveryTones = { delivered: "good", dead: "bad", pending: "warn" };
const webhooks = {
  path: "webhooks", title: t("Webhooks"),
  about: t("Webhook deliveries to your systems and their results. The configuration and each call name the endpoints."),
  empty: t("No deliveries yet."),
  sees: "operator", writes: "operator", everyMs: 5000,
  choice: "state", choices: [
    ["", t("All states")],
    ["pending", t("on its way")],
    ["delivered", t("delivered")],
    ["dead", t("given up")],
  ],
  list: api.deliveries.list,
  pageActions: [{
    name: t("Send all that were given up"),
    run: async () => {
      const { replayed } = await api.deliveries.replayDead();
      return t("{count} deliveries will be sent again.", { count: replayed });
    },
  }],
  rowActions: [{
    name: t("Send again"),
    when: (item) => item.state !== "pending",
    run: async (item) => { await api.deliveries.replay(item.id); },
  }],
  columns: [
    { name: t("Time"), text: (item) => when(item.created_at) },
    { name: t("Event"), text: (item) => item.event },
    {
      name: t("Call"),
      text: (item) => item.outbound_id,
      link: ({ outbound_id: id }) => id ? `/${id.startsWith("in-") ? "inbound" : "outbound"}/${id}` : null,
    },
    { name: t("To"), text: (item) => item.endpoint },
    {
      name: t("State"),
      text: (item) => deliveryStates[item.state] ?? item.state,
      tone: (item) => deliveryTones[item.state],
    },
    {
      name: t("Attempts"),
      text: (item) => {
        const problem = item.state === "delivered" ? "" : item.last_error;
        const why = item.last_status || problem;
        return `${item.attempts}${why ? ` (${why})` : ""}`;
      },
    },
  ],
};

const keys = {
  path: "keys", title: t("API keys"),
  about: t("Keys for the API: viewers read, operators also place and end calls, admins may change everything."),
  empty: t("No keys."),
  addTitle: t("New API key"), sees: "admin", writes: "admin",
  list: api.keys.list,
  form: api.keys.form,
  create: api.keys.create,
  created: ({ key }) => ({
    text: t("This is the key. It is shown only once: store it in a safe place."),
    secret: key,
  }),
  remove: (item) => api.keys.remove(item.id),
  canRemove: (item) => item.is_valid,
  removeQuestion: ({ name }) => t("Revoke the key {name}? The server refuses it within seconds.", { name }),
  removeName: t("Revoke"),
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Role"), text: (item) => plain(item.role) },
    {
      name: t("State"),
      text: (item) => (item.is_valid ? t("valid") : item.revoked_at ? t("revoked") : t("expired")),
      tone: (item) => (item.is_valid ? "good" : ""),
    },
    { name: t("Created"), text: (item) => when(item.created_at) },
    { name: t("Expires"), text: (item) => when(item.expires_at) },
  ],
  fields: [
    { name: "name", label: t("Name") },
    {
      name: "role",
      label: t("Role"),
      kind: "choice",
      options: () => [["viewer", t("viewer")], ["operator", t("operator")], ["admin", t("admin")]],
    },
    { name: "expires_in_days", label: t("Expires after, days"), kind: "number" },
  ],
};

const audit = {
  path: "audit", title: t("Audit"),
  about: t("Who did what, and when."),
  empty: t("No entries yet."),
  sees: "admin", writes: "admin",
  list: api.audit.list,
  columns: [
    { name: t("Time"), text: (item) => when(item.at) },
    { name: t("Who"), text: (item) => item.actor },
    { name: t("What"), text: (item) => item.action },
    { name: t("To what"), text: (item) => item.target },
    { name: t("More"), text: (item) => item.detail },
  ],
};

const days = (count) => (count == null ? t("forever") : t("{count} days", { count }));
const retention = {
  path: "retention", title: t("Retention"),
  about: t(
    "What is kept of calls, and for how long. The configuration sets it; the API can erase a single call."
  ),
  empty: "",
  sees: "admin", writes: "admin",
  list: async () => {
    const kept = await api.retention();
    return { items: [
      { name: t("Calls, answers, transcripts and recordings are kept"), value: days(kept.retention_days) },
      { name: t("Calls are recorded"), value: kept.records_calls ? t("Yes") : t("No") },
      { name: t("Stored data is encrypted"), value: kept.is_encrypted ? t("Yes") : t("No") },
    ] };
  },
  columns: [{ name: t("What"), text: (item) => item.name }, { name: t("Setting"), text: (item) => item.value }],
};

export const settings = [
  numbers, doNotCall, knowledge, tools, secrets, mcpServers, webhooks, keys, companies, retention, audit,
];
