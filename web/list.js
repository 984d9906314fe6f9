// The list of calls with its five figures; rows change as events come.
import * as api from "./api.js";
import { feed } from "./store.js";
import { cell, duration, isEnded, part, showState, template, toast, when } from "./view.js";

const refreshDelay = 400;

export async function listPage(root) {
  document.title = "Calls · Trunkline";
  const first = await api.listCalls({});
  root.append(template("list"));
  const rows = part(root, "rows");
  const empty = part(root, "empty");
  const more = root.querySelector('[data-action="more"]');
  const form = root.querySelector("form");
  let cursor = null;
  let timer = 0;
  let version = 0;

  const filter = () => ({ q: form.q.value.trim(), state: form.state.value });

  function fill(row, call) {
    row.dataset.id = call.outbound_id;
    cell(row, "time", when(call.created_at)).title = call.created_at;
    cell(row, "callee", call.callee_number);
    cell(row, "purpose", call.purpose).setAttribute("href", `/outbound/${call.outbound_id}`);
    showState(row.querySelector('[data-cell="state"]'), call.state);
    cell(row, "duration", duration(call.duration_seconds));
    const action = row.querySelector('[data-cell="action"]');
    const name = isEnded(call.state) && !call.task_completed ? "retry" : ["queued", "dialing", "ringing"].includes(call.state) ? "cancel" : "";
    action.hidden = !name;
    action.textContent = name === "retry" ? "Call again" : "Cancel";
    action.dataset.action = name;
  }

  function add(calls) {
    for (const call of calls) {
      const known = rows.querySelector(`[data-id="${call.outbound_id}"]`);
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
    empty.textContent = filter().q || filter().state ? "No call fits the filter." : "No calls yet. Place the first one.";
  }

  async function figures() {
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
    const [page] = await Promise.all([api.listCalls(filter()), figures()]);
    if (mine === version) show(page);
  }

  // Several events in a moment make one refresh.
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch(() => {}), refreshDelay);
  }

  const onEvent = ({ detail }) => { if (detail.event !== "outbound_transcript" && detail.event !== "outbound_progress") later(); };
  feed.addEventListener("event", onEvent);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", later);
  more.addEventListener("click", async () => {
    const page = await api.listCalls({ ...filter(), cursor });
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
