// The list of calls with its five figures; rows change as events come.
import * as api from "./api.js";
import { feed } from "./store.js";
import { callID, cell, duration, isEnded, part, showState, template, toast, when } from "./view.js";

const refreshDelay = 400;

/** `kind`: outbound, the calls we place, or inbound, those that come in. */
export async function listPage(root, kind) {
  const isInbound = kind === "inbound";
  document.title = `${isInbound ? "Incoming calls" : "Calls"} · Trunkline`;
  const first = await api.listCalls({}, kind);
  root.append(template("list"));
  if (isInbound) {
    cell(root, "title", "Incoming calls");
    cell(root, "other", "Caller");
    cell(root, "about", "Called");
    part(root, "figures").hidden = true;
    root.querySelector(".head .button").hidden = true;
    for (const option of root.querySelectorAll("select option")) {
      if (!["", "ringing", "connected", "completed", "failed"].includes(option.value)) option.remove();
    }
    root.querySelector('input[name="q"]').placeholder = "Search number or id";
  }
  const rows = part(root, "rows");
  const empty = part(root, "empty");
  const more = root.querySelector('[data-action="more"]');
  const form = root.querySelector("form");
  let cursor = null;
  let timer = 0;
  let version = 0;

  const filter = () => ({ q: form.q.value.trim(), state: form.state.value });

  function fill(row, call) {
    row.dataset.id = callID(call);
    cell(row, "time", when(call.created_at)).title = call.created_at;
    cell(row, "callee", isInbound ? call.caller_number : call.callee_number);
    cell(row, "purpose", isInbound ? call.called_number : call.purpose).setAttribute("href", `/${kind}/${callID(call)}`);
    showState(row.querySelector('[data-cell="state"]'), call.state);
    cell(row, "duration", duration(call.duration_seconds));
    const action = row.querySelector('[data-cell="action"]');
    const name = isInbound ? "" : isEnded(call.state) && !call.task_completed ? "retry" : ["queued", "dialing", "ringing"].includes(call.state) ? "cancel" : "";
    action.hidden = !name;
    action.textContent = name === "retry" ? "Call again" : "Cancel";
    action.dataset.action = name;
  }

  function add(calls) {
    for (const call of calls) {
      const known = rows.querySelector(`[data-id="${callID(call)}"]`);
      if (known) { fill(known, call); continue; }
      const row = template("row").querySelector("tr");
      fill(row, call);
      rows.append(row);
    }
  }

  function show(page) {
    rows.replaceChildren();
    add(page.items);
    cursor = page.next_cursor;
    more.hidden = !cursor;
    empty.hidden = page.items.length > 0;
    empty.textContent = filter().q || filter().state ? "No call fits the filter." : isInbound ? "Nobody has called yet." : "No calls yet. Place the first one.";
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

  async function refresh() {
    const mine = ++version;
    const [page] = await Promise.all([api.listCalls(filter(), kind), figures()]);
    if (mine === version) show(page);
  }

  // Several events in a moment make one refresh.
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch(() => {}), refreshDelay);
  }

  const onEvent = ({ detail }) => {
    if (detail.event.startsWith(`${kind}_`) && !/_(transcript|progress)$/.test(detail.event)) later();
  };
  feed.addEventListener("event", onEvent);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", later);
  more.addEventListener("click", async () => {
    const page = await api.listCalls({ ...filter(), cursor }, kind);
    add(page.items);
    cursor = page.next_cursor;
    more.hidden = !cursor;
  });
  rows.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    button.disabled = true;
    try {
      await api.act(button.closest("tr").dataset.id, button.dataset.action);
    } catch (problem) { toast(problem.message); }
    button.disabled = false;
    later();
  });

  show(first);
  await figures();
  return () => {
    clearTimeout(timer);
    version += 1;
    feed.removeEventListener("event", onEvent);
  };
}
