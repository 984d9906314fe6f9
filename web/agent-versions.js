// The versions of an agent: who made them, what changed, and which one is live.
import * as api from "./api.js";
import { shown } from "./agent-editors.js";
import { labelOf } from "./agent-fields.js";
import { t } from "./text.js";
import { cell, element, part, template, toast, when } from "./view.js";

// Characters of a value in a list of changes.
const valueLimit = 300;

const steps = (pointer) => pointer.split("/").slice(1).map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"));
const at = (document, names) => names.reduce((value, name) => value?.[name], document);
/** `/questions/0/text` as a field's name: `questions[0].text`. */
const pathOf = (names) => names.map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`)).join("").slice(1);

function words(value) {
  const text = shown(value);
  return text.length > valueLimit ? `${text.slice(0, valueLimit)}…` : text;
}

/** One operation of an RFC 6902 patch as a line: what it is about, the old value and the new one. */
export function change(operation, before) {
  const names = steps(operation.path);
  const old = operation.op === "add" ? undefined : at(before, names);
  return { field: labelOf(pathOf(names)), old, new: operation.op === "remove" ? undefined : operation.value };
}

function showChange(list, { field, old, new: next }) {
  const row = template("agent-change").querySelector("li");
  cell(row, "field", field);
  cell(row, "old", words(old)).hidden = old === undefined;
  cell(row, "new", words(next)).hidden = next === undefined;
  list.append(row);
}

export function versionsPart(root, state) {
  const list = part(root, "version-list");
  const more = root.querySelector('[data-action="more-versions"]');
  let cursor = null;

  async function showDiff(row, from, to) {
    const changes = part(row, "changes");
    const [patch, { data: before }] = await Promise.all([
      api.agents.diff(state.slug, from, to), api.agents.read(state.slug, from),
    ]);
    changes.replaceChildren();
    for (const operation of patch) {
      if (operation.op !== "test") showChange(changes, change(operation, before));
    }
    if (!patch.length) changes.append(element("li", t("Nothing differs.")));
    cell(row, "compared", t("From version {from} to version {to}", { from, to })).hidden = false;
  }

  async function publish(version, isOlder) {
    await api.agents.publish(state.slug, version);
    await state.reload();
    await show();
    toast(isOlder ? t("Version {version} is live again.", { version }) : t("Version {version} is live.", { version }));
  }

  function add(item) {
    const row = template("agent-version").querySelector("li");
    const { version } = item;
    cell(row, "version", t("Version {version}", { version }));
    cell(row, "about", [when(item.at), item.by].filter(Boolean).join(" · "));
    cell(row, "note", item.note).hidden = !item.note;
    row.querySelector('[data-cell="live"]').hidden = !item.live;
    const button = (name) => row.querySelector(`[data-action="${name}"]`);
    const act = (name, run) => button(name).addEventListener("click", async ({ currentTarget }) => {
      currentTarget.disabled = true;
      try { await run(); } catch (problem) { toast(problem.message); }
      currentTarget.disabled = false;
    });
    button("changes").hidden = version <= 1;
    act("changes", () => showDiff(row, version - 1, version));
    const { live } = state.about;
    button("compare").hidden = item.live || version === live;
    act("compare", () => showDiff(row, live, version));
    const isOlder = version < live;
    button("publish").hidden = item.live || !state.mayEdit;
    button("publish").textContent = isOlder ? t("Restore") : t("Publish");
    act("publish", () => publish(version, isOlder));
    list.append(row);
  }

  async function read(after) {
    const page = await api.agents.versions(state.slug, after);
    if (!after) list.replaceChildren();
    for (const item of page.items) add(item);
    cursor = page.next_cursor ?? null;
    more.hidden = !cursor;
  }
  const show = () => read(null);
  more.addEventListener("click", () => read(cursor).catch((problem) => toast(problem.message)));
  return { show };
}
