// The tools of an MCP server as it listed them: which are in use, and which have changed and wait for an admin.
import * as api from "./api.js";
import { t } from "./text.js";
import { tryDialog } from "./tool-try.js";
import { cell, element, part, template, toast } from "./view.js";

const states = {
  ok: [t("in use"), "good"],
  changed: [t("changed"), "warn"],
  denied: [t("not allowed"), ""],
  invalid: [t("not valid"), "bad"],
};

function show(list, server, accept) {
  list.replaceChildren();
  for (const tool of server.tools) {
    const row = template("mcp-tool").querySelector("li");
    const [name, tone] = states[tool.state] ?? [tool.state, ""];
    cell(row, "name", tool.name);
    const mark = cell(row, "state", name);
    if (tone) mark.dataset.tone = tone;
    cell(row, "description", tool.description).hidden = !tool.description;
    cell(row, "problem", tool.problem).hidden = !tool.problem;
    const offered = tool.state === "changed" ? tool.offered : null;
    part(row, "offer").hidden = !offered;
    if (offered) {
      cell(row, "old", tool.revision > 0 ? tool.description : "").hidden = !tool.description;
      cell(row, "new", offered.description);
      cell(row, "schema", JSON.stringify(offered.parameters, null, 2));
      row.querySelector('[data-action="accept"]').addEventListener("click", async ({ currentTarget }) => {
        currentTarget.disabled = true;
        await accept(tool.tool);
        currentTarget.disabled = false;
      });
    }
    const attempt = row.querySelector('[data-action="try"]');
    attempt.hidden = tool.state !== "ok";
    attempt.addEventListener("click", () => tryDialog(tool.name, tool.parameters));
    list.append(row);
  }
  if (!server.tools.length) list.append(element("li", t("The server has no tools.")));
}

/** @returns when the dialog is closed */
export async function serverDialog(name) {
  const server = await api.mcpServers.read(name);
  const dialog = template("mcp-tools").querySelector("dialog");
  cell(dialog, "title", t("Tools of {name}", { name }));
  const list = part(dialog, "list");
  async function accept(tool) {
    try {
      show(list, await api.mcpServers.accept(name, tool), accept);
    } catch (problem) { toast(problem.message); }
  }
  show(list, server, accept);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve();
  }));
}
