// What holds for an agent's calls: every field with its value and the layer that it comes from.
import * as api from "./api.js";
import { shown } from "./agent-editors.js";
import { fields, labelOf } from "./agent-fields.js";
import { t } from "./text.js";
import { element, part, plain } from "./view.js";

const layers = { agent: t("this agent"), configuration: t("configuration"), default: t("built in") };
const tones = { agent: "live", configuration: "", default: "" };

export function effectivePart(root, state) {
  const rows = part(root, "effective-rows");
  const choices = new Set(fields.filter(({ kind }) => kind === "choice").map(({ path }) => path));
  const known = fields.map(({ path }) => path);
  const place = (path) => (known.includes(path) ? known.indexOf(path) : known.length);

  async function show() {
    const leaves = await api.agents.effective(state.slug);
    const paths = Object.keys(leaves).sort((a, b) => place(a) - place(b));
    rows.replaceChildren();
    for (const path of paths) {
      const { value, from } = leaves[path];
      if (value == null || path === "slug") continue;
      const row = element("tr");
      const mark = element("span", layers[from] ?? from, "chip");
      if (tones[from]) mark.dataset.tone = tones[from];
      const layer = element("td");
      layer.append(mark);
      row.append(element("td", labelOf(path)), element("td", choices.has(path) ? plain(value) : shown(value)), layer);
      rows.append(row);
    }
  }
  return { show };
}
