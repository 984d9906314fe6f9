// The list of calls with its five figures. Rows change as events arrive.
import * as api from "./api.js";
import { fillWays } from "./carriers.js";
import { keepFresh } from "./fresh.js";
import { exportCSV } from "./list-export.js";
import { rowsPart } from "./list-rows.js";
import { t } from "./text.js";
import { callID, cell, part, percentage, showFigure, showState, template, toast } from "./view.js";

// Calls of the first page, and of one request at most.
const pageSize = 50;
const largestPage = 200;
const inboundStates = ["", "ringing", "connected", "completed", "failed"];

// How each list looked when it was left, so that coming back from a call restores it.
const kept = new Map();

/** The inbound list shows fewer states and other columns, and no figures. */
function adaptToInbound(root) {
  cell(root, "title", t("Incoming calls"));
  cell(root, "other", t("Caller"));
  cell(root, "about", t("Called"));
  part(root, "figures").hidden = true;
  root.querySelector('[href="/outbound/new"]').hidden = true;
  for (const option of root.querySelectorAll("select[name=state] option")) {
    if (!inboundStates.includes(option.value)) option.remove();
  }
  root.querySelector('input[name="q"]').placeholder = t("Search number or id");
}

/** Midnight at the beginning of a chosen day in the viewer's time zone, or so many days later. */
function midnight({ value, validity }, daysLater) {
  if (!value || !validity.valid) return "";
  const [year, month, day] = value.split("-").map(Number);
  return new Date(year, month - 1, day + daysLater).toISOString();
}

const filterOf = (form) => ({
  q: form.q.value.trim(),
  state: form.state.value,
  carrier: form.carrier.value,
  dialect: form.dialect.value,
  from: midnight(form.elements.from, 0),
  to: midnight(form.elements.to, 1),
});

async function showFigures(root) {
  const statistics = await api.statistics();
  showFigure(root, "total", statistics.total);
  showFigure(root, "completed", statistics.states.completed);
  showFigure(root, "in_progress", statistics.in_progress);
  showFigure(root, "no_answer", statistics.states.no_answer);
  showFigure(root, "success_rate", percentage(statistics.success_rate));
}

/** The buttons above the list that act on all chosen calls. */
function bulkPart(root, rows, done) {
  const bulk = part(root, "bulk");

  // Each call is tried; the reasons of failures are shown together.
  async function runForAll(action) {
    const failed = [];
    for (const id of rows.picked) {
      if (rows.known.get(id)?.row.querySelector('[data-cell="action"]').dataset.action !== action) continue;
      try { await api.act(id, action); } catch (problem) { failed.push(`${id}: ${problem.message}`); }
      rows.picked.delete(id);
    }
    if (failed.length) toast(failed.slice(0, 3).join("; "));
    done();
  }

  for (const button of bulk.querySelectorAll("button")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      await runForAll(button.dataset.bulk);
      button.disabled = false;
    });
  }
}

/** The button at the end of each row. Its effect is shown at once and reverted if the server refuses. */
function rowActions(table, rows, done) {
  table.addEventListener("click", async ({ target }) => {
    const button = target.closest("tbody button");
    if (!button) return;
    const row = button.closest("tr");
    const { call } = rows.known.get(row.dataset.id);
    showState(row.querySelector('[data-cell="state"]'), button.dataset.action === "retry" ? "queued" : "cancelled");
    button.disabled = true;
    try {
      await api.act(row.dataset.id, button.dataset.action);
    } catch (problem) {
      rows.fill(row, call);
      toast(problem.message);
    }
    button.disabled = false;
    done();
  });
}

/** `kind`: outbound or inbound. */
export async function listPage(root, kind) {
  const isInbound = kind === "inbound";
  document.title = `${isInbound ? t("Incoming calls") : t("Calls")} · Trunkline`;
  const before = kept.get(kind);
  const [first, schema] = await Promise.all([api.listCalls({ ...before?.filter }, kind), api.form("outbound")]);
  root.append(template("list"));
  if (isInbound) adaptToInbound(root);
  const table = part(root, "rows");
  const more = root.querySelector('[data-action="more"]');
  const form = root.querySelector("form");
  fillWays(form, schema);
  const filter = () => filterOf(form);
  const figures = async () => { if (!isInbound) await showFigures(root); };
  // The newest calls are first, as the server sends them, until a column is chosen.
  const sort = before?.sort ?? { by: "time", isUp: false };
  const rows = rowsPart(root, table, { kind, sort, onPick: () => showPicked() });
  let cursor = null;
  let wanted = pageSize;

  function showPicked() {
    const count = rows.picked.size;
    part(root, "bulk").hidden = count === 0;
    cell(root, "picked", t("{count} selected", { count }));
  }

  function show(page) {
    rows.show(page.items);
    wanted = Math.max(pageSize, page.items.length);
    cursor = page.next_cursor;
    more.hidden = !cursor;
    const empty = part(root, "empty");
    const none = isInbound ? t("No inbound calls yet.") : t("No calls yet. Place the first one.");
    empty.hidden = page.items.length > 0;
    empty.textContent = Object.values(filter()).some(Boolean) ? t("No calls match the filter.") : none;
  }

  // As many calls as the page shows. Once more than the first page is shown, new calls push no others out.
  async function read() {
    const items = [];
    let next = null;
    const missing = () => {
      const added = wanted > pageSize ? items.filter((call) => !rows.known.has(callID(call))).length : 0;
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
    const asked = wanted;
    const [page] = await Promise.all([read(), figures()]);
    if (!isCurrent()) return;
    // "Load more" or the filter was used in the meantime.
    if (wanted === asked) show(page);
    else fresh.soon();
  }

  const fresh = keepFresh(refresh, (event) => event.startsWith(`${kind}_`));
  bulkPart(root, rows, fresh.soon);
  rowActions(table, rows, fresh.soon);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    wanted = pageSize;
    fresh.soon();
  });
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      const page = await api.listCalls({ ...filter(), cursor, limit: pageSize }, kind);
      rows.add(page.items);
      wanted = Math.max(wanted, rows.known.size);
      cursor = page.next_cursor;
      more.hidden = !cursor;
    } catch (problem) { toast(problem.message); }
    more.disabled = false;
  });
  root.querySelector('[data-action="export"]').addEventListener("click", async ({ currentTarget }) => {
    currentTarget.disabled = true;
    try { await exportCSV(filter(), kind); } catch (problem) { toast(problem.message); }
    currentTarget.disabled = false;
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
    const fields = Object.fromEntries([...form.elements].map(({ name, value }) => [name, value]));
    kept.set(kind, { filter: filter(), fields, sort, wanted });
    fresh.leave();
  };
}
