// Templates, cells and texts. User text only ever goes through textContent.

export function template(name) {
  return document.querySelector(`template[data-template="${name}"]`).content.cloneNode(true);
}

/** Sets the text of a cell. */
export function cell(root, name, text) {
  const node = root.querySelector(`[data-cell="${name}"]`);
  if (node) node.textContent = text ?? "";
  return node;
}

export function part(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

/** A call has the name of its direction. */
export const callID = (call) => call.outbound_id ?? call.inbound_id;

const stateNames = {
  queued: ["Queued", ""], dialing: ["Dialing", "live"], ringing: ["Ringing", "live"], connected: ["Connected", "live"],
  completed: ["Completed", "good"], no_answer: ["No answer", "warn"], busy: ["Busy", "warn"], rejected: ["Rejected", "warn"],
  failed: ["Failed", "bad"], cancelled: ["Cancelled", ""],
};

export function showState(node, state) {
  const [name, tone] = stateNames[state] ?? [state, ""];
  node.textContent = name;
  if (tone) node.dataset.tone = tone; else delete node.dataset.tone;
}

export const isLive = (state) => ["dialing", "ringing", "connected"].includes(state);
export const isEnded = (state) => !isLive(state) && state !== "queued";

const endReasons = {
  task_completed: "everything asked", callee_hangup: "the callee hung up", operator_hangup: "hung up by an operator",
  max_duration: "longest duration reached", max_turns: "too many turns", callee_busy: "the callee was busy", refused: "the callee refused",
  wrong_number: "wrong number", voicemail: "voicemail", silence: "silence", transferred: "transferred", provider_error: "a speech engine failed",
  media_timeout: "no audio from the callee", server_restart: "the server was restarted",
};
const ruleNames = {
  emergency_number: "emergency numbers are never dialled", premium_number: "the number costs extra", prefix_not_allowed: "the number's beginning is not allowed",
  do_not_call: "on the do-not-call list", caller_not_allowed: "the caller number is not allowed", no_route: "no way to the number",
  calling_hours: "outside of the calling hours", daily_cap: "the caller number was shown often enough today", duplicate_callee: "another call to the same callee",
};
export const ruleName = (rule) => ruleNames[rule] ?? rule;

export const endReason = (reason) => endReasons[reason] ?? reason ?? "";

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const timeOnly = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
export function when(text) {
  if (!text) return "";
  const date = new Date(text);
  return date.toDateString() === new Date().toDateString() ? timeOnly.format(date) : dateTime.format(date);
}

export function duration(seconds) {
  if (seconds == null) return "";
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function toast(text) {
  const node = document.createElement("div");
  node.className = "toast";
  node.textContent = text;
  document.querySelector('[data-part="toasts"]').append(node);
  setTimeout(() => node.remove(), 5000);
}

export function fact(list, name, value) {
  if (value === "" || value == null) return;
  const row = document.createElement("div");
  const term = document.createElement("dt");
  const text = document.createElement("dd");
  term.textContent = name;
  text.textContent = value;
  row.append(term, text);
  list.append(row);
}
