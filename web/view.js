// Templates, cells and texts. User text only ever goes through textContent.
import { language, t, translate } from "./text.js";

export function template(name) {
  return translate(document.querySelector(`template[data-template="${name}"]`).content.cloneNode(true));
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

/**
 * Makes these the rows of a list, in this order. Only what is out of place is moved: a row that is moved loses the
 * focus in it.
 */
export function place(list, rows) {
  const kept = new Set(rows);
  for (const row of [...list.children]) if (!kept.has(row)) row.remove();
  let next = list.firstElementChild;
  for (const row of rows) {
    if (row === next) next = next.nextElementSibling; else list.insertBefore(row, next);
  }
}

// Rows of one group: few are drawn that nobody sees.
const groupSize = 20;
// Milliseconds after which groups out of sight wait until others have had their turn.
const placingLimit = 10;

/**
 * The same for a table of thousands of rows: in groups, of which the browser draws those in sight only
 * (`content-visibility` is not for single rows).
 * Those in sight come first. The focus stays in a row that has come into another group.
 */
export function grouped(table) {
  let timer = 0;
  return (rows) => {
    clearTimeout(timer);
    const focused = document.activeElement;
    const isInSight = (group) => {
      const { top, bottom } = group.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    };
    const waiting = [...table.tBodies].map((group) => ({ group, rows: [], isInSight: isInSight(group) }));
    const last = Math.ceil(rows.length / groupSize);
    while (waiting.length < last) waiting.push({ group: table.createTBody(), isInSight: false });
    for (const [index, part] of waiting.entries()) {
      part.rows = rows.slice(index * groupSize, (index + 1) * groupSize);
      part.group.style.setProperty("--rows", part.rows.length);
    }
    waiting.sort((a, b) => b.isInSight - a.isInSight);
    const step = () => {
      const begun = performance.now();
      while (waiting.length && (waiting[0].isInSight || performance.now() - begun < placingLimit)) {
        const part = waiting.shift();
        if (part.rows.length) place(part.group, part.rows); else part.group.remove();
      }
      if (waiting.length) timer = setTimeout(step);
      const isLost = focused !== document.body && document.activeElement === document.body;
      if (isLost && focused.isConnected) focused.focus({ preventScroll: true });
    };
    step();
  };
}

/** How it stands with an answer: name and tone. */
export const answerStatuses = new Map([
  ["pending", [t("open"), ""]],
  ["answered", [t("answered"), "good"]],
  ["unclear", [t("unclear"), "warn"]],
  ["refused", [t("refused"), "bad"]],
  ["not_asked", [t("not asked"), ""]],
]);

/** A call has the name of its direction. */
export const callID = (call) => call.outbound_id ?? call.inbound_id;

const stateNames = {
  queued: [t("Queued"), ""],
  dialing: [t("Dialing"), "live"],
  ringing: [t("Ringing"), "live"],
  connected: [t("Connected"), "live"],
  completed: [t("Completed"), "good"],
  no_answer: [t("No answer"), "warn"],
  busy: [t("Busy"), "warn"],
  rejected: [t("Rejected"), "warn"],
  failed: [t("Failed"), "bad"],
  cancelled: [t("Cancelled"), ""],
};

export function showState(node, state) {
  const [name, tone] = stateNames[state] ?? [state, ""];
  node.textContent = name;
  if (tone) node.dataset.tone = tone; else delete node.dataset.tone;
}

export const isLive = (state) => ["dialing", "ringing", "connected"].includes(state);
export const isEnded = (state) => !isLive(state) && state !== "queued";

const endReasons = {
  task_completed: t("everything asked"),
  callee_hangup: t("the callee hung up"),
  operator_hangup: t("hung up by an operator"),
  max_duration: t("longest duration reached"),
  max_turns: t("too many turns"),
  callee_busy: t("the callee was busy"),
  refused: t("the callee refused"),
  wrong_number: t("wrong number"),
  voicemail: t("voicemail"),
  silence: t("silence"),
  transferred: t("transferred"),
  provider_error: t("a speech engine failed"),
  media_timeout: t("no audio from the callee"),
  server_restart: t("the server was restarted"),
};
const ruleNames = {
  emergency_number: t("emergency numbers are never dialled"),
  premium_number: t("the number costs extra"),
  prefix_not_allowed: t("the number's beginning is not allowed"),
  do_not_call: t("on the do-not-call list"),
  caller_not_allowed: t("the caller number is not allowed"),
  no_route: t("no way to the number"),
  calling_hours: t("outside of the calling hours"),
  daily_cap: t("the caller number was shown often enough today"),
  duplicate_callee: t("another call to the same callee"),
};
export const ruleName = (rule) => ruleNames[rule] ?? rule;

export const endReason = (reason) => endReasons[reason] ?? reason ?? "";

// The browser's own English (or Korean) where it has one: en-GB writes dates otherwise than en-US.
const locale = navigator.languages.find((tag) => tag.startsWith(language)) ?? language;
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const timeOnly = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
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

/** A name the server gives, in words: `no_answer` → "no answer". */
export const plain = (name) => t(String(name ?? "").replaceAll("_", " "));

/** An element with a text, and perhaps a class. */
export function element(name, text = "", className = "") {
  const node = document.createElement(name);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** Asks before something that cannot be taken back; true where the answer is yes. */
export function confirmed(question, yes) {
  const dialog = template("confirm").querySelector("dialog");
  cell(dialog, "question", question);
  cell(dialog, "yes", yes);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue === "yes");
  }));
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
