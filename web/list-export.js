// Writes the calls that fit the filter to a CSV file.
import * as api from "./api.js";
import { language, t } from "./text.js";
import { callID, toast } from "./view.js";

// Calls of one request, and of one file.
const pageSize = 200;
const callLimit = 100_000;
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

/** A field of RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe in front. */
function field(value) {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function save(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function exportCSV(filter, kind) {
  const lines = [];
  let cursor = null;
  let names = [];
  do {
    const page = await api.listCalls({ ...filter, cursor, limit: pageSize }, kind);
    names = columns.filter((name) => name === "id" || page.items.length === 0 || name in page.items[0]);
    for (const call of page.items) {
      lines.push(names.map((name) => field(name === "id" ? callID(call) : call[name])).join(","));
    }
    cursor = page.next_cursor;
  } while (cursor && lines.length < callLimit);
  // The byte order mark tells spreadsheets that the file is UTF-8.
  const text = ["\uFEFF", [names.join(","), ...lines].join("\r\n"), "\r\n"];
  const day = new Date().toISOString().slice(0, 10);
  save(new Blob(text, { type: "text/csv;charset=utf-8" }), `${kind}-${day}.csv`);
  toast(t("{count} calls written to a file.", { count: lines.length.toLocaleString(language) }));
}
