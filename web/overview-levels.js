// How loud both sides of each live call are, while the page is visible.
import * as api from "./api.js";

// Milliseconds until a lost connection is tried again.
const retryMs = 4000;

/** @param rows the rows of the live calls, by `data-id`. */
export function levelsPart(rows) {
  let socket = null;
  let retry = 0;

  function show(levels) {
    for (const row of rows.children) {
      const [far, own] = levels[row.dataset.id] ?? [0, 0];
      row.querySelector('[data-level="far"]').value = far;
      row.querySelector('[data-level="own"]').value = own;
    }
  }

  function watch() {
    if (document.hidden || socket) return;
    const opened = api.levelSocket();
    socket = opened;
    opened.addEventListener("message", ({ data }) => show(JSON.parse(data).levels));
    opened.addEventListener("close", () => {
      if (socket !== opened) return;
      socket = null;
      retry = setTimeout(watch, retryMs);
    });
  }

  function rest() {
    clearTimeout(retry);
    const opened = socket;
    socket = null;
    opened?.close();
  }
  return { watch, rest };
}
