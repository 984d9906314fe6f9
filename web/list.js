// The list of calls with its five figures; rows change as events come.
import * as api from "./api.js";
import { keepFresh } from "./fresh.js";
import { language, t } from "./text.js";
import { callID, cell, duration, grouped, isEnded, part, showState, template, toast, when } from "./view.js";

const pageSize = 50;
const largestPage = 200;
const collator = new Intl.Collator(language);
// Rows of one file.
const exportLimit = 100_000;
const columns = [
  "id",
  "created_at",
  "caller_number",
  "callee_number",
  "called_number",
  "purpose",
  "state",
  "attempt_count",
  "duration_seconds",
  "end_reason",
  "failure_reason",
];

/** RFC 4180; what a spreadsheet would take for a formula is text. */
function csvField(value) {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

async function exportCSV(filter, kind) {
  const lines = [];
  let cursor = null;
  let names = [];
  do {
    const page = await api.listCalls({ ...filter, cursor, limit: largestPage }, kind);
    names = columns.filter((name) => name === "id" || page.items.length === 0 || name in page.items[0]);
    for (const call of page.items) lines.push(
      names.map((name) => csvField(name === "id" ? callID(call) : call[name])).join(",")
    );
    cursor = page.next_cursor;
  } while (cursor && lines.length < exportLimit);
  // The mark tells spreadsheets that it is UTF-8.
  const file = new Blob(
    ["\uFEFF", [names.join(","), ...lines].join("\r\n"), "\r\n"],
    { type: "text/csv;charset=utf-8" }
  );
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${kind}-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
  toast(t("{count} calls written to a file.", { count: lines.length.toLocaleString(language) }));
}

// How each list was left: who comes back from a call finds it so.
const kept = new Map();

/** `kind`: outbound, the calls we place, or inbound, those that come in. */
export async function listPage(root, kind) {
  const isInbound = kind === "inbound";
  document.title = `${isInbound ? t("Incoming calls") : t("Calls")} · Trunkline`;
  const before = kept.get(kind);
  const first = await api.listCalls({ ...before?.filter }, kind);
  root.append(template("list"));
  if (isInbound) {
    cell(root, "title", t("Incoming calls"));
    cell(root, "other", t("Caller"));
    cell(root, "about", t("Called"));
    part(root, "figures").hidden = true;
    root.querySelector('[href="/outbound/new"]').hidden = true;
    for (const option of root.querySelectorAll("select option")) {
      if (!["", "ringing", "connected", "completed", "failed"].includes(option.value)) option.remove();
    }
    root.querySelector('input[name="q"]').placeholder = t("Search number or id");
  }
  const rows = part(root, "rows");
  const placeRows = grouped(rows);
  const empty = part(root, "empty");
  const more = root.querySelector('[data-action="more"]');
  const form = root.querySelector("form");
  const bulk = part(root, "bulk");
  const picked = new Set();
  // By id: the call, and the row that shows it.
  const known = new Map();
  // Of the rows that are here: by a column, up or down. The server gives the newest first.
  let sort = before?.sort ?? { by: "time", isUp: false };
  let cursor = null;
  let wanted = pageSize;

  // A day of the viewer's, from its first moment on or up to its last.
  const midnight = ({ value, validity }, later) => {
    if (!value || !validity.valid) return "";
    const [year, month, day] = value.split("-").map(Number);
    return new Date(year, month - 1, day + later).toISOString();
  };
  const filter = () => (
    {
      q: form.q.value.trim(),
      state: form.state.value,
      from: midnight(form.elements.from, 0),
      to: midnight(form.elements.to, 1),
    }
  );

  const sortKeys = {
    time: (call) => Date.parse(call.created_at), callee: (call) => (
      isInbound ? call.caller_number : call.callee_number
    ) ?? "",
    purpose: (call) => (
      isInbound ? call.called_number : call.purpose
    ) ?? "", state: (call) => call.state, duration: (call) => call.duration_seconds ?? -1,
  };

  function arrange() {
    for (const head of root.querySelectorAll("[data-sort]")) {
      if (head.dataset.sort === sort.by) head.setAttribute(
        "aria-sort",
        sort.isUp ? "ascending" : "descending"
      ); else head.removeAttribute("aria-sort");
    }
    const key = sortKeys[sort.by];
    const order = (a, b) => (typeof a === "number" ? a - b : collator.compare(a, b));
    const sorted = [...known.values()].map(({ call, row }) => [key(call), row]).sort(
      ([a], [b]) => (sort.isUp ? order(a, b) : order(b, a))
    );
    placeRows(sorted.map(([, row]) => row));
  }

  function fill(row, call) {
    row.dataset.id = callID(call);
    known.set(callID(call), { call, row });
    cell(row, "time", when(call.created_at)).title = call.created_at;
    cell(row, "callee", isInbound ? call.caller_number : call.callee_number);
    cell(
      row,
      "purpose",
      isInbound ? call.called_number : call.purpose
    ).setAttribute("href", `/${kind}/${callID(call)}`);
    showState(row.querySelector('[data-cell="state"]'), call.state);
    cell(row, "duration", duration(call.duration_seconds));
    const action = row.querySelector('[data-cell="action"]');
    const name = isInbound ? "" : isEnded(call.state) && !call.task_completed ? "retry" : [
      "queued",
      "dialing",
      "ringing",
    ].includes(call.state) ? "cancel" : "";
    action.hidden = !name;
    action.textContent = name === "retry" ? t("Call again") : t("Cancel");
    action.dataset.action = name;
    const pick = row.querySelector('[data-cell="pick"]');
    pick.disabled = !name;
    pick.setAttribute("aria-label", t("Choose the call to {number}", { number: call.callee_number ?? "" }));
    if (!name) picked.delete(callID(call));
    pick.checked = picked.has(callID(call));
  }

  function showPicked() {
    bulk.hidden = picked.size === 0;
    cell(bulk, "picked", t("{count} chosen", { count: picked.size }));
  }

  // Each call for itself: what cannot be done is said, and the rest is done.
  async function forAll(action) {
    const failed = [];
    for (const id of picked) {
      if (known.get(id)?.row.querySelector('[data-cell="action"]').dataset.action !== action) continue;
      try { await api.act(id, action); } catch (problem) { failed.push(`${id}: ${problem.message}`); }
      picked.delete(id);
    }
    if (failed.length) toast(failed.slice(0, 3).join("; "));
    fresh.soon();
  }

  function add(calls) {
    for (const call of calls) {
      const old = known.get(callID(call));
      if (old && JSON.stringify(old.call) === JSON.stringify(call)) continue;
      fill(old?.row ?? template("row").querySelector("tr"), call);
    }
    arrange();
  }

  // A row that stays keeps its place, and the focus in it.
  function show(page) {
    const ids = new Set(page.items.map(callID));
    for (const id of [...known.keys()]) {
      if (ids.has(id)) continue;
      known.delete(id);
      picked.delete(id);
    }
    add(page.items);
    showPicked();
    wanted = Math.max(pageSize, page.items.length);
    cursor = page.next_cursor;
    more.hidden = !cursor;
    empty.hidden = page.items.length > 0;
    const none = isInbound ? t("Nobody has called yet.") : t("No calls yet. Place the first one.");
    empty.textContent = Object.values(filter()).some(Boolean) ? t("No call fits the filter.") : none;
  }

  async function figures() {
    if (isInbound) return;
    const stats = await api.statistics();
    const set = (name, text) => { root.querySelector(`[data-figure="${name}"]`).textContent = text; };
    set("total", stats.total);
    set("completed", stats.states.completed);
    set("in_progress", stats.in_progress);
    set("no_answer", stats.states.no_answer);
    set("success_rate", stats.success_rate == null ? "–" : `${Math.round(stats.success_rate * 100)} %`);
  }

  // As many as are on the page already; where more than the first were asked for, new ones push none of them out.
  async function read() {
    const items = [];
    let next = null;
    const missing = () => {
      const added = wanted > pageSize ? items.filter((call) => !known.has(callID(call))).length : 0;
      return wanted + added - items.length;
    };
    do {
      const page = await api.listCalls({ ...filter(), cursor: next, limit: Math.min(largestPage, missing()) }, kind);
      items.push(...page.items);
      next = page.next_cursor;
    } while (next && missing() > 0);
    return { items, next_cursor: next };
  }

  async function refresh(isCurrent) {
    const before = wanted;
    const [page] = await Promise.all([read(), figures()]);
    if (!isCurrent()) return;
    // Somebody asked for more meanwhile, or for others.
    if (wanted === before) show(page); else fresh.soon();
  }

  const fresh = keepFresh(refresh, (event) => event.startsWith(`${kind}_`));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    wanted = pageSize;
    fresh.soon();
  });
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      const page = await api.listCalls({ ...filter(), cursor, limit: pageSize }, kind);
      add(page.items);
      wanted = Math.max(wanted, known.size);
      cursor = page.next_cursor;
      more.hidden = !cursor;
    } catch (problem) { toast(problem.message); }
    more.disabled = false;
  });
  for (const head of root.querySelectorAll("[data-sort]")) {
    head.querySelector("button").addEventListener("click", () => {
      sort = {
        by: head.dataset.sort,
        isUp: sort.by === head.dataset.sort ? !sort.isUp : !["time", "duration"].includes(head.dataset.sort),
      };
      arrange();
    });
  }
  rows.addEventListener("change", (event) => {
    const id = event.target.closest("tr").dataset.id;
    if (event.target.checked) picked.add(id); else picked.delete(id);
    showPicked();
  });
  for (const button of bulk.querySelectorAll("button")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      await forAll(button.dataset.bulk);
      button.disabled = false;
    });
  }
  root.querySelector('[data-action="export"]').addEventListener("click", async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try { await exportCSV(filter(), kind); } catch (problem) { toast(problem.message); }
    button.disabled = false;
  });
  rows.addEventListener("click", async (event) => {
    const button = event.target.closest("tbody button");
    if (!button) return;
    const row = button.closest("tr");
    const { call } = known.get(row.dataset.id);
    // Shown as done at once; taken back, with the reason, where the server does not want it.
    showState(row.querySelector('[data-cell="state"]'), button.dataset.action === "retry" ? "queued" : "cancelled");
    button.disabled = true;
    try {
      await api.act(row.dataset.id, button.dataset.action);
    } catch (problem) {
      fill(row, call);
      toast(problem.message);
    }
    button.disabled = false;
    fresh.soon();
  });

  for (const [name, value] of Object.entries(before?.fields ?? {})) form.elements[name].value = value;
  show(first);
  wanted = Math.max(wanted, before?.wanted ?? 0);
  try {
    if (wanted > first.items.length && first.next_cursor) show(await read());
    await figures();
  } catch (problem) {
    fresh.leave();
    throw problem;
  }
  return () => {
    kept.set(
      kind,
      {
        filter: filter(),
        fields: Object.fromEntries([...form.elements].map(({ name, value }) => [name, value])),
        sort,
        wanted,
      }
    );
    fresh.leave();
  };
}
