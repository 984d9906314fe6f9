// The requests to the server. No other file contains a URL of the API.

import { said, t } from "./text.js";

export class APIError extends Error {
  constructor(status, problem) {
    const message = problem.detail || problem.title || t("The server answered {status}.", { status });
    super(said({ code: problem.detail_code, params: problem.params, message }));
    this.status = status;
    this.fields = (problem.errors || []).map((one) => ({ field: one.field, message: said(one) }));
  }
}

const attemptLimit = 3;
const longestWaitSeconds = 10;

// An admin of the installation may act for another company: in this tab, until it is closed.
const companyKey = "company";
export const actingFor = () => sessionStorage.getItem(companyKey);
export function actFor(slug) {
  if (slug) sessionStorage.setItem(companyKey, slug);
  else sessionStorage.removeItem(companyKey);
}

/** The response as it came; `type` is the body's media type, `accept` the answer's. */
async function exchange(method, path, body, { type = "application/json", accept, match } = {}) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = type;
  if (accept) headers.accept = accept;
  if (match) headers["if-match"] = match;
  if (actingFor()) headers["x-company"] = actingFor();
  const content = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  let response;
  for (let tries = 1; ; tries += 1) {
    try {
      response = await fetch(path, { method, headers, body: content, credentials: "same-origin" });
    } catch {
      throw new APIError(0, { detail: t("The server cannot be reached.") });
    }
    // Too many requests with this key: a read waits as long as the server says, plus a random part of a second.
    if (response.status !== 429 || method !== "GET" || tries === attemptLimit) break;
    const seconds = Math.min(Number(response.headers.get("retry-after")) || 1, longestWaitSeconds);
    await new Promise((resolve) => setTimeout(resolve, 1000 * (seconds + Math.random())));
  }
  if (!response.ok) throw new APIError(response.status, await response.json().catch(() => ({})));
  return response;
}

async function request(method, path, body, options) {
  const response = await exchange(method, path, body, options);
  return response.status === 204 ? null : response.json().catch(() => ({}));
}

/** The answer, and the tag that a change of it names (`If-Match`). */
async function tagged(method, path, body, options) {
  const response = await exchange(method, path, body, options);
  return { data: await response.json(), tag: response.headers.get("etag") };
}

const id = (value) => encodeURIComponent(value);

export const session = () => request("GET", "/api/session");
export const logIn = (credentials) => request("POST", "/api/session", credentials);
export const logOut = () => request("DELETE", "/api/session");
export const createCall = (call) => request("POST", "/api/outbound/", call);
/** Validates a call without placing it. */
export const checkCall = (call) => request("POST", "/api/outbound/check", call);
// Ids of inbound calls begin with "in-".
const callURL = (callID) => `/api/${callID.startsWith("in-") ? "inbound" : "outbound"}/${id(callID)}`;

/** `kind`: outbound or inbound. */
export const listCalls = (filter, kind = "outbound") => {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  return request("GET", `/api/${kind}/${query.size ? `?${query}` : ""}`);
};
/** Live calls, oldest first, and the number of calls in each state. */
export const liveCalls = (kind, limit) => (
  request("GET", `/api/${kind}/active?state=dialing,ringing,connected&limit=${limit}`)
);
export const statistics = () => request("GET", "/api/outbound/stats");
export const call = (callID) => request("GET", callURL(callID));
export const result = (callID) => request("GET", `${callURL(callID)}/result`);
export const sipTrace = (callID) => request("GET", `${callURL(callID)}/sip`);
export const graph = (callID) => request("GET", `${callURL(callID)}/graph`);
export const transfer = (callID) => request("POST", `${callURL(callID)}/transfer`, {});
export const say = (callID, text) => request("POST", `${callURL(callID)}/say`, { text });
export const act = (callID, action) => request("POST", `${callURL(callID)}/${action}`);
export const correct = (callID, questionID, change) => (
  request("POST", `${callURL(callID)}/answers/${id(questionID)}`, change)
);
export const retention = () => request("GET", "/api/retention");
export const providers = () => request("GET", "/api/providers");

/** What the fields of a form may be, with this server's defaults: JSON Schema. */
export const form = (name) => request("GET", `/api/forms/${name}`);

let description = null;
/** A body that no form of its own describes, as the API's description has it: JSON Schema. */
async function described(name) {
  description ??= request("GET", "/openapi.json").catch((problem) => {
    description = null;
    throw problem;
  });
  return (await description).components.schemas[name];
}

/**
 * A collection of things with ids: list, create, replace, remove, and the form of a new one.
 * @param schema the name of that form in the API's description, where it has none of its own
 */
function collection(path, schema) {
  return {
    form: () => (schema ? described(schema) : form(path.replace("/api/", ""))),
    list: (filter = {}) => {
      const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
      return request("GET", `${path}${query.size ? `?${query}` : ""}`);
    },
    create: (body) => request("POST", path, body),
    replace: (key, body) => request("PUT", `${path}/${id(key)}`, body),
    remove: (key) => request("DELETE", `${path}/${id(key)}`),
  };
}

export const operators = {
  ...collection("/api/operators"),
  setStatus: (key, status) => request("PUT", `/api/operators/${id(key)}/status`, { status }),
};
export const templates = collection("/api/templates");
export const numbers = collection("/api/numbers");
export const doNotCall = collection("/api/do-not-call");
export const knowledge = {
  ...collection("/api/knowledge"),
  sets: () => request("GET", "/api/knowledge/sets"),
};
export const tools = {
  ...collection("/api/tools", "NewTool"),
  attempt: (name, body) => request("POST", `/api/tools/${id(name)}/try`, body),
};
export const secrets = collection("/api/secrets", "NewSecret");
export const companies = {
  ...collection("/api/companies", "NewCompany"),
  change: (slug, body) => request("PATCH", `/api/companies/${id(slug)}`, body),
  usage: (slug, month) => request("GET", `/api/companies/${id(slug)}/usage?month=${id(month)}`),
};
export const mcpServers = {
  ...collection("/api/mcp-servers", "NewMCPServer"),
  read: (name) => request("GET", `/api/mcp-servers/${id(name)}`),
  refresh: (name) => request("POST", `/api/mcp-servers/${id(name)}/refresh`),
  accept: (name, tool) => request("POST", `/api/mcp-servers/${id(name)}/accept`, { tool }),
};
export const keys = collection("/api/keys");
export const audit = collection("/api/audit");
export const deliveries = {
  ...collection("/api/webhooks/deliveries"),
  replay: (key) => request("POST", `/api/webhooks/deliveries/${id(key)}/replay`),
  replayDead: () => request("POST", "/api/webhooks/deliveries/replay"),
};

const agentPath = (slug, rest = "") => `/api/agents/${id(slug)}${rest}`;
const atVersion = (version) => (version == null ? "" : `?version=${version}`);
/** A document is an object, or a text of YAML. */
const typeOf = (document) => ({ type: typeof document === "string" ? "application/yaml" : "application/json" });
export const agents = {
  list: () => request("GET", "/api/agents"),
  /** Limits and choices of every field: JSON Schema. */
  schema: () => request("GET", "/api/schemas/agent.json"),
  /** `{ data, tag }` */
  read: (slug, version) => tagged("GET", agentPath(slug, atVersion(version))),
  create: (document) => tagged("POST", "/api/agents", document, typeOf(document)),
  save: (slug, document, { publish, note, match }) => {
    const query = new URLSearchParams({ publish, ...(note ? { note } : {}) });
    return tagged("PUT", agentPath(slug, `?${query}`), document, { ...typeOf(document), match });
  },
  /** Validates a document without saving it. */
  check: (document) => request("POST", "/api/agents/check", document, typeOf(document)),
  publish: (slug, version) => request("POST", agentPath(slug, "/publish"), { version }),
  versions: (slug, cursor) => (
    request("GET", agentPath(slug, `/versions${cursor ? `?cursor=${id(cursor)}` : ""}`))
  ),
  diff: (slug, from, to) => request("GET", agentPath(slug, `/versions/${from}/diff?to=${to}`)),
  /** Every field with its value and the layer that it comes from. */
  effective: (slug, version) => request("GET", agentPath(slug, `/effective${atVersion(version)}`)),
  simulate: (slug, body) => request("POST", agentPath(slug, "/simulate"), body),
  archive: (slug) => request("DELETE", agentPath(slug)),
};

/** A one-time token for this browser's microphone and speaker. */
export const browserTicket = (callID) => request("POST", `${callURL(callID)}/browser`);

const socket = (path) => new WebSocket(`${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${path}`);
export const openEvents = (after) => socket(`/api/events?after=${after}`);
export const mediaSocket = (path) => socket(path);
export const levelSocket = () => socket("/api/levels");
export const listenSocket = (callID) => socket(`${callURL(callID)}/listen`);
