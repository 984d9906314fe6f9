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
 * Makes these the rows of a list, in this order. Moves only rows that are out of place, because a moved row loses the
 * focus.
 */
export function place(list, rows) {
  const kept = new Set(rows);
  for (const row of [...list.children]) if (!kept.has(row)) row.remove();
  let next = list.firstElementChild;
  for (const row of rows) {
    if (row === next) next = next.nextElementSibling;
    else list.insertBefore(row, next);
  }
}

// Rows of one group: small enough that few rows outside the window are drawn.
const groupSize = 20;
// Milliseconds of work after which groups outside the window wait for the next task.
const placingLimit = 10;

/**
 * Like `place`, for a table of thousands of rows. The rows stand in groups, and the browser draws only groups inside
 * the window (`content-visibility` does not work for single rows). Groups inside the window are placed first. A row
 * that moves to another group keeps the focus.
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
        if (part.rows.length) place(part.group, part.rows);
        else part.group.remove();
      }
      if (waiting.length) timer = setTimeout(step);
      const isLost = focused !== document.body && document.activeElement === document.body;
      if (isLost && focused.isConnected) focused.focus({ preventScroll: true });
    };
    step();
  };
}

/** Sets one of the large figures at the top of a page. */
export function showFigure(root, name, value) {
  root.querySelector(`[data-figure="${name}"]`).textContent = value;
}

/** A rate from 0 to 1 as a whole percentage; a dash where there is none. */
export const percentage = (rate) => rate == null ? "–" : `${Math.round(rate * 100)} %`;

/** A bar of several parts. Each part has a name (its colour) and its share of the whole, 0 to 1. */
export function bar(...parts) {
  const whole = element("span", "", "bar");
  for (const [name, share] of parts) {
    const piece = element("i");
    piece.dataset.part = name;
    piece.style.width = `${100 * share}%`;
    whole.append(piece);
  }
  return whole;
}

/** The name and tone of each state of an answer. */
export const answerStatuses = new Map([
  ["pending", [t("open"), ""]],
  ["answered", [t("answered"), "good"]],
  ["unclear", [t("unclear"), "warn"]],
  ["refused", [t("refused"), "bad"]],
  ["not_asked", [t("not asked"), ""]],
]);

/** The id of an outbound or inbound call. */
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
  if (tone) node.dataset.tone = tone;
  else delete node.dataset.tone;
}

export const isLive = (state) => ["dialing", "ringing", "connected"].includes(state);
export const isEnded = (state) => !isLive(state) && state !== "queued";

const endReasons = {
  task_completed: t("everything asked"),
  callee_hangup: t("the callee hung up"),
  operator_hangup: t("an operator hung up"),
  max_duration: t("maximum duration reached"),
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
  premium_number: t("premium-rate number"),
  prefix_not_allowed: t("the number's beginning is not allowed"),
  do_not_call: t("on the do-not-call list"),
  caller_not_allowed: t("the caller number is not allowed"),
  no_route: t("no route to the number"),
  calling_hours: t("outside of the calling hours"),
  daily_cap: t("daily limit of the caller number reached"),
  duplicate_callee: t("another call to the same callee"),
};
export const ruleName = (rule) => ruleNames[rule] ?? rule;

export const endReason = (reason) => endReasons[reason] ?? reason ?? "";

// The variant of the language that the browser prefers: en-GB and en-US write dates differently.
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

/** A name from the server as words: `no_answer` → "no answer". */
export const plain = (name) => t(String(name ?? "").replaceAll("_", " "));

/** An element with a text and, optionally, a class. */
export function element(name, text = "", className = "") {
  const node = document.createElement(name);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** Asks before an action that cannot be undone. Resolves to true if the answer is yes. */
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
