// The transcript of a call.
import { t } from "./text.js";
import { cell, duration, part, template } from "./view.js";

export function transcriptPart(page) {
  const { root, isInbound } = page;
  const transcript = part(root, "transcript");

  function add(entry) {
    const row = template("entry").querySelector("li");
    row.dataset.speaker = entry.speaker;
    cell(row, "who", entry.speaker === "ai" ? t("AI") : isInbound ? t("Caller") : t("Callee"));
    const stamp = cell(row, "time", duration(entry.timestamp));
    stamp.addEventListener("click", () => page.playFrom(entry.timestamp));
    if (entry.interrupted) {
      const heard = entry.heard_text ?? "";
      cell(row, "heard", heard);
      const rest = row.querySelector('[data-cell="unheard"]');
      rest.hidden = false;
      rest.textContent = ` ${entry.text.startsWith(heard) ? entry.text.slice(heard.length).trim() : entry.text}`;
      rest.title = t("not heard: the callee interrupted");
    } else {
      cell(row, "heard", entry.text || t("(not understood)"));
    }
    if (entry.sources) {
      cell(row, "sources", t("Source: {names}", { names: entry.sources.join(", ") })).hidden = false;
    }
    transcript.append(row);
    part(root, "no-transcript").hidden = true;
    cell(root, "turns", t("{count} turns", { count: transcript.children.length }));
  }

  function show() {
    transcript.replaceChildren();
    part(root, "no-transcript").hidden = page.result.transcript.length > 0;
    for (const entry of page.result.transcript) add(entry);
  }
  return { show, add };
}
