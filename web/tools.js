// What agents may use, and what it needs: tools, secrets and MCP servers. For admins alone.
import * as api from "./api.js";
import { serverDialog } from "./mcp-tools.js";
import { editDialog } from "./resource-edit.js";
import { t } from "./text.js";
import { tryDialog } from "./tool-try.js";
import { when } from "./view.js";

const users = (item) => (item.used_by ?? []).join(", ");

const headers = {
  label: t("Headers"), kind: "pairs", placeholder: "Authorization: Bearer {{secrets.crm}}",
  help: t("One a line. Secrets are named as {{secrets.name}}."),
};

/** Tools that a booking system's address alone makes. */
const presets = {
  addTitle: t("Booking system"),
  form: api.tools.form,
  create: api.tools.create,
  fields: [
    {
      name: "preset", label: t("What it does"), kind: "choice",
      options: () => [
        ["check_availability", t("Tells free times (check_availability)")],
        ["book_appointment", t("Books a time (book_appointment)")],
      ],
    },
    { name: "api_url", label: t("Address"), placeholder: "https://booking.example.com/slots" },
    { name: "headers", ...headers },
  ],
};

async function addPreset() {
  await (await editDialog(presets, null)).closed;
}

export const tools = {
  path: "tools", title: t("Tools"),
  about: t("Requests to your own systems that agents may make in a conversation."),
  empty: t("No tools yet. Agents can still transfer callers, press keys and hang up."),
  addTitle: t("New tool"), editTitle: t("Tool"),
  sees: "admin", writes: "admin",
  list: api.tools.list,
  form: api.tools.form,
  create: api.tools.create,
  replace: (item, body) => api.tools.replace(item.name, body),
  remove: (item) => api.tools.remove(item.name),
  removeQuestion: ({ name }) => t("Delete the tool {name}?", { name }),
  // The form changes a document, and leaves in it what it does not show.
  whole: ({ revision: _, created_at: __, updated_at: ___, ...document }) => document,
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Description"), text: (item) => item.description },
    { name: t("Request"), text: ({ request }) => `${request.method ?? "POST"} ${request.url}` },
    { name: t("Changed"), text: (item) => when(item.updated_at) },
  ],
  pageActions: [{ name: t("Add a booking system"), run: addPreset }],
  rowActions: [{
    name: t("Try"),
    run: (item) => tryDialog(item.name, item.parameters, Object.keys(item.fixed ?? {})),
  }],
  fields: [
    { name: "name", label: t("Name"), help: t("Lower-case letters, digits and _. The model sees it.") },
    { name: "description", label: t("Description"), kind: "long", help: t("Tells the model when to use it.") },
    { name: "parameters", label: t("Arguments"), kind: "parameters" },
    {
      name: "request.method", label: t("Method"), kind: "choice", initial: "POST",
      options: () => ["GET", "POST", "PUT", "PATCH", "DELETE"].map((one) => [one, one]),
    },
    { name: "request.url", label: t("Address"), placeholder: "https://crm.example.com/customers/{{caller.number}}" },
    { name: "request.headers", ...headers },
    { name: "confirm", label: t("The agent asks the other party first"), kind: "check" },
    {
      name: "request.query", isSeldom: true, label: t("Fields of the query"), kind: "pairs",
      placeholder: "day: {{today}}",
    },
    {
      name: "request.body", isSeldom: true, label: t("Body"), kind: "json", placeholder: "\"json\"",
      help: t("\"json\", \"form\" or an object. Left empty, the arguments are sent as JSON."),
    },
    {
      name: "fixed", isSeldom: true, label: t("Fixed arguments"), kind: "json",
      placeholder: "{\"caller\": \"{{caller.number}}\"}",
      help: t("An object of values that the model neither sees nor sets."),
    },
    {
      name: "response", isSeldom: true, label: t("Answer"), kind: "json",
      placeholder: "{\"into\": {\"price\": \"/data/price\"}, \"tell\": \"/data/summary\"}",
      help: t("JSON pointers to what is kept and what the model is told. Left empty, it is told all."),
    },
    {
      name: "speak", isSeldom: true, label: t("What is said meanwhile"), kind: "json",
      placeholder: "{\"texts\": [\"One moment, please.\"], \"after_ms\": 1500}",
    },
    { name: "idempotent", isSeldom: true, label: t("The request may be sent twice"), kind: "check" },
    { name: "timeout_ms", isSeldom: true, label: t("Time limit, ms"), kind: "number" },
    { name: "retries", isSeldom: true, label: t("Retries"), kind: "number" },
    { name: "limit", isSeldom: true, label: t("Times in one call, at most"), kind: "number" },
  ],
};

export const secrets = {
  path: "secrets", title: t("Secrets"),
  about: t("Passwords and keys that headers of tools and MCP servers name. Their values are never shown again."),
  empty: t("No secrets yet."),
  addTitle: t("New secret"),
  sees: "admin", writes: "admin",
  list: api.secrets.list,
  form: api.secrets.form,
  create: api.secrets.create,
  remove: (item) => api.secrets.remove(item.name),
  canRemove: (item) => item.updated_at != null,
  removeQuestion: ({ name }) => t("Delete the secret {name}?", { name }),
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Changed"), text: (item) => (item.updated_at ? when(item.updated_at) : t("configuration")) },
    { name: t("Used by"), text: users },
  ],
  fields: [
    { name: "name", label: t("Name"), help: t("Headers name it as {{secrets.name}}.") },
    { name: "value", label: t("Value"), kind: "password" },
  ],
};

export const mcpServers = {
  path: "mcp-servers", title: t("MCP servers"),
  about: t("Servers whose tools agents may call (Model Context Protocol)."),
  empty: t("No MCP servers yet."),
  addTitle: t("New MCP server"),
  sees: "admin", writes: "admin",
  list: api.mcpServers.list,
  form: api.mcpServers.form,
  create: api.mcpServers.create,
  remove: (item) => api.mcpServers.remove(item.name),
  removeQuestion: ({ name }) => t("Delete the MCP server {name}?", { name }),
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Address"), text: (item) => item.url },
    { name: t("Tools"), text: (item) => String(item.tool_count), tone: ({ problem }) => (problem ? "bad" : "good") },
    { name: t("Listed"), text: (item) => when(item.listed_at) },
    { name: t("Problem"), text: (item) => item.problem ?? "" },
  ],
  rowActions: [
    { name: t("Tools"), run: (item) => serverDialog(item.name) },
    { name: t("List again"), run: async (item) => { await api.mcpServers.refresh(item.name); } },
  ],
  fields: [
    { name: "name", label: t("Name") },
    { name: "url", label: t("Address"), placeholder: "https://mcp.example.com/mcp" },
    { name: "headers", ...headers },
    {
      name: "allow", label: t("Tools that may be used"), kind: "lines", placeholder: "*",
      help: t("One a line; * stands for any letters."),
    },
    { name: "deny", isSeldom: true, label: t("Tools that may not be used"), kind: "lines" },
    { name: "timeout_ms", isSeldom: true, label: t("Time limit, ms"), kind: "number" },
  ],
};
