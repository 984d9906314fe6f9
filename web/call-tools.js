// The calls of tools in a conversation: what was asked of them, what they answered, and how long they took.
import { t } from "./text.js";
import { cell, part, plain, template } from "./view.js";

const tones = { ok: "good", cancelled: "", running: "live" };

/** JSON as it is read best; any other text as it is. */
function readable(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

/** One call of a tool as a row of the conversation. */
function rowOf(call, isOpen) {
  const row = template("tool-call").querySelector("li");
  cell(row, "name", call.name);
  const status = cell(row, "status", plain(call.status));
  const tone = tones[call.status] ?? "bad";
  if (tone) status.dataset.tone = tone;
  const attempts = call.attempts > 1 ? t("{count} attempts", { count: call.attempts }) : "";
  const time = call.ms == null ? "" : `${call.ms} ms`;
  cell(row, "time", [time, attempts].filter(Boolean).join(" · "));
  for (const name of ["arguments", "result"]) {
    cell(row, name, readable(call[name] ?? ""));
    part(row, name).hidden = !call[name];
  }
  part(row, "none").hidden = Boolean(call.arguments || call.result);
  part(row, "details").open = isOpen;
  return row;
}

export function toolsPart(page) {
  let running = [];
  const open = new Set();

  return {
    /** Calls that began when the transcript had so many entries, as rows. Those that run stand at its end. */
    rowsAt(turn, isLast) {
      const calls = [...(page.result.tool_calls ?? []).entries()];
      const rows = calls.filter(([, call]) => (isLast ? call.turn >= turn : call.turn === turn));
      const made = rows.map(([index, call]) => {
        const row = rowOf(call, open.has(index));
        part(row, "details").addEventListener("toggle", ({ currentTarget }) => {
          if (currentTarget.open) open.add(index);
          else open.delete(index);
        });
        return row;
      });
      return isLast ? [...made, ...running.map((name) => rowOf({ name, status: "running" }, false))] : made;
    },
    started({ name }) { running.push(name); },
    finished({ name }) { running = running.filter((one, index) => index !== running.indexOf(name)); },
  };
}
