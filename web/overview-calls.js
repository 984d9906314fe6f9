// The live calls of the overview, each with its state, its levels and its time.
import { t } from "./text.js";
import { callID, cell, duration, part, place, showFigure, showState, template } from "./view.js";

/** Calls that are shown; the page says how many more there are. */
export const rowLimit = 50;

function fill(row, call) {
  const id = callID(call);
  const isInbound = id.startsWith("in-");
  row.dataset.id = id;
  const about = isInbound ? t("Call from {number}", { number: call.caller_number }) : call.purpose;
  cell(row, "about", about).setAttribute("href", `/${isInbound ? "inbound" : "outbound"}/${id}`);
  cell(row, "number", isInbound ? call.called_number : call.callee_number);
  showState(row.querySelector('[data-cell="state"]'), call.state);
  row.querySelector('[data-cell="levels"]').hidden = call.state !== "connected";
  row.querySelector('[data-cell="clock"]').dataset.since = call.answered_at ?? call.started_at ?? call.created_at;
  return row;
}

export function callsPart(root) {
  const rows = part(root, "rows");

  function tick() {
    for (const clock of rows.querySelectorAll("[data-since]")) {
      const seconds = (Date.now() - Date.parse(clock.dataset.since)) / 1000;
      clock.textContent = duration(Math.max(0, seconds));
    }
  }

  function show(outbound, inbound) {
    const calls = [...outbound.items, ...inbound.items];
    const count = outbound.total + inbound.total;
    showFigure(root, "live", count);
    showFigure(root, "queued", outbound.states.queued);
    const known = new Map([...rows.children].map((row) => [row.dataset.id, row]));
    const shown = calls.slice(0, rowLimit).map((call) => (
      fill(known.get(callID(call)) ?? template("live-call").querySelector("tr"), call)
    ));
    place(rows, shown);
    part(root, "empty").hidden = calls.length > 0;
    cell(root, "more", count > shown.length ? t("and {count} more", { count: count - shown.length }) : "");
    tick();
  }
  return { show, tick };
}
