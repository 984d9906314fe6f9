// The transcript of a call.
import { t } from "./text.js";
import { cell, duration, part, template } from "./view.js";

/** @param tools the calls of tools, which stand where they were made */
export function transcriptPart(page, tools) {
  const { root, isInbound } = page;
  const transcript = part(root, "transcript");

  function row(entry) {
    const item = template("entry").querySelector("li");
    item.dataset.speaker = entry.speaker;
    cell(item, "who", entry.speaker === "ai" ? t("AI") : isInbound ? t("Caller") : t("Callee"));
    const stamp = cell(item, "time", duration(entry.timestamp));
    stamp.addEventListener("click", () => page.playFrom(entry.timestamp));
    if (entry.interrupted) {
      const heard = entry.heard_text ?? "";
      cell(item, "heard", heard);
      const rest = item.querySelector('[data-cell="unheard"]');
      rest.hidden = false;
      rest.textContent = ` ${entry.text.startsWith(heard) ? entry.text.slice(heard.length).trim() : entry.text}`;
      rest.title = t("not heard: the callee interrupted");
    } else {
      cell(item, "heard", entry.text || t("(not understood)"));
    }
    if (entry.sources) {
      cell(item, "sources", t("Source: {names}", { names: entry.sources.join(", ") })).hidden = false;
    }
    return item;
  }

  function showCount() {
    const count = page.result.transcript.length;
    cell(root, "turns", count ? t("{count} turns", { count }) : "");
    part(root, "no-transcript").hidden = transcript.children.length > 0;
  }

  /** A new entry: the page reads only this one out. */
  function add(entry) {
    transcript.append(row(entry));
    showCount();
  }

  function show() {
    const entries = page.result.transcript;
    const rows = entries.flatMap((entry, turn) => [...tools.rowsAt(turn, false), row(entry)]);
    rows.push(...tools.rowsAt(entries.length, true));
    transcript.replaceChildren(...rows);
    showCount();
  }
  return { show, add };
}
