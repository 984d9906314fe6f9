// The rows of the list of calls: filled, sorted and chosen.
import { language, t } from "./text.js";
import { callID, cell, duration, grouped, isEnded, showState, template, when } from "./view.js";

const collator = new Intl.Collator(language);
const order = (a, b) => (typeof a === "number" ? a - b : collator.compare(a, b));

/** The action that a row offers: retry, cancel or none. */
function actionOf(call, isInbound) {
  if (isInbound) return "";
  if (isEnded(call.state) && !call.task_completed) return "retry";
  return ["queued", "dialing", "ringing"].includes(call.state) ? "cancel" : "";
}

const sortKeys = (isInbound) => ({
  time: (call) => Date.parse(call.created_at),
  callee: (call) => (isInbound ? call.caller_number : call.callee_number) ?? "",
  purpose: (call) => (isInbound ? call.called_number : call.purpose) ?? "",
  state: (call) => call.state,
  duration: (call) => call.duration_seconds ?? -1,
});

/**
 * @param kind outbound or inbound, @param sort `{ by, isUp }`: the column, and whether the smallest value is first,
 * @param onPick called when the choice of calls has changed.
 */
export function rowsPart(root, table, { kind, sort, onPick }) {
  const isInbound = kind === "inbound";
  const keys = sortKeys(isInbound);
  const placeRows = grouped(table);
  // By id: the call and the row that shows it.
  const known = new Map();
  const picked = new Set();

  function fill(row, call) {
    const id = callID(call);
    row.dataset.id = id;
    known.set(id, { call, row });
    cell(row, "time", when(call.created_at)).title = call.created_at;
    cell(row, "callee", isInbound ? call.caller_number : call.callee_number);
    cell(row, "purpose", isInbound ? call.called_number : call.purpose).setAttribute("href", `/${kind}/${id}`);
    showState(row.querySelector('[data-cell="state"]'), call.state);
    cell(row, "duration", duration(call.duration_seconds));
    const name = actionOf(call, isInbound);
    const action = cell(row, "action", name === "retry" ? t("Call again") : t("Cancel"));
    action.hidden = !name;
    action.dataset.action = name;
    const pick = row.querySelector('[data-cell="pick"]');
    pick.disabled = !name;
    pick.setAttribute("aria-label", t("Select the call to {number}", { number: call.callee_number ?? "" }));
    if (!name) picked.delete(id);
    pick.checked = picked.has(id);
  }

  function arrange() {
    for (const head of root.querySelectorAll("[data-sort]")) {
      if (head.dataset.sort !== sort.by) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", sort.isUp ? "ascending" : "descending");
    }
    const key = keys[sort.by];
    const rows = [...known.values()]
      .map(({ call, row }) => [key(call), row])
      .sort(([a], [b]) => (sort.isUp ? order(a, b) : order(b, a)));
    placeRows(rows.map(([, row]) => row));
  }

  function add(calls) {
    for (const call of calls) {
      const old = known.get(callID(call));
      if (old && JSON.stringify(old.call) === JSON.stringify(call)) continue;
      fill(old?.row ?? template("row").querySelector("tr"), call);
    }
    arrange();
  }

  /** Shows these calls and no others. A row that stays keeps its place and its focus. */
  function show(calls) {
    const ids = new Set(calls.map(callID));
    for (const id of [...known.keys()].filter((one) => !ids.has(one))) {
      known.delete(id);
      picked.delete(id);
    }
    add(calls);
    onPick();
  }

  table.addEventListener("change", ({ target }) => {
    const { id } = target.closest("tr").dataset;
    if (target.checked) picked.add(id);
    else picked.delete(id);
    onPick();
  });
  for (const head of root.querySelectorAll("[data-sort]")) {
    head.querySelector("button").addEventListener("click", () => {
      const by = head.dataset.sort;
      // A column that was not sorted begins with its smallest value; times and durations begin with the largest.
      sort.isUp = sort.by === by ? !sort.isUp : !["time", "duration"].includes(by);
      sort.by = by;
      arrange();
    });
  }
  return { known, picked, add, show, fill };
}
