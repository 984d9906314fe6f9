// A page for things that are listed, added, changed and removed. resources.js says what differs between them.
import { editDialog } from "./resource-edit.js";
import { settings } from "./resources.js";
import { t } from "./text.js";
import { cell, confirmed, element, part, template, toast } from "./view.js";

// Milliseconds after the last key before a search begins.
const searchDelay = 250;
const ranks = ["viewer", "operator", "admin"];
const may = (role, needed) => ranks.indexOf(role) >= ranks.indexOf(needed ?? "viewer");

/** The tabs of the settings, and the page of the chosen tab. */
export async function settingsPage(root, name, session) {
  const { role } = session;
  const allowed = settings.filter((one) => may(role, one.sees));
  const open = allowed.filter((one) => one.path === name || (one.isShown?.(session) ?? true));
  const chosen = open.find((one) => one.path === name) ?? open[0];
  const tabs = document.createElement("nav");
  tabs.className = "tabs";
  tabs.setAttribute("aria-label", t("Settings"));
  for (const one of open) {
    const link = element("a", one.title);
    link.href = `/settings/${one.path}`;
    link.dataset.link = "";
    if (one === chosen) link.setAttribute("aria-current", "page");
    tabs.append(link);
  }
  root.append(tabs);
  return resourcePage(root, chosen, role);
}

function addButton(target, name, run, className = "") {
  const button = element("button", name, className);
  button.type = "button";
  button.addEventListener("click", async () => {
    button.disabled = true;
    await run();
    button.disabled = false;
  });
  target.append(button);
}

/** A button that opens the page where a new thing is made. */
function pageLink(path, name) {
  const link = element("a", name, "button primary");
  link.href = path;
  link.dataset.link = "";
  return link;
}

/** One field of a row: a mark with a tone, a link or plain text. */
function fieldOf(column, item) {
  const field = element("td");
  field.dataset.name = column.name;
  const text = column.text(item);
  if (column.tone) {
    const mark = element("span", text, "chip");
    const tone = column.tone(item);
    if (tone) mark.dataset.tone = tone;
    field.append(mark);
  } else if (column.link?.(item)) {
    const link = element("a", text);
    link.href = column.link(item);
    link.dataset.link = "";
    field.append(link);
  } else {
    field.textContent = text;
  }
  return field;
}

/** The buttons at the end of a row. `run` runs an action and refreshes the page. */
function actionsOf(item, { resource, role, run, refresh }) {
  const actions = element("td", "", "num row-actions");
  const writes = may(role, resource.writes);
  for (const action of (writes || resource.changes) ? resource.rowActions ?? [] : []) {
    const isOffered = may(role, action.needs ?? resource.writes) && (action.when?.(item) ?? true);
    if (isOffered) addButton(actions, action.name, () => run(() => action.run(item)), "small");
  }
  if (resource.replace && writes && (resource.canReplace?.(item) ?? true)) {
    addButton(actions, t("Edit"), () => editDialog(resource, item, refresh), "small");
  }
  if (resource.remove && writes && (resource.canRemove?.(item) ?? true)) {
    const name = resource.removeName ?? t("Delete");
    addButton(actions, name, async () => {
      if (await confirmed(resource.removeQuestion(item), name)) await run(() => resource.remove(item));
    }, "small danger");
  }
  return actions;
}

/** The heads of the columns, and the filters that the resource has. */
async function prepare(root, resource, form) {
  const head = part(root, "head");
  head.append(...resource.columns.map((column) => element("th", column.name)), element("th"));
  head.lastElementChild.append(element("span", t("Action"), "sr"));
  form.hidden = !resource.searches && !resource.choices;
  form.elements.q.closest("label").hidden = !resource.searches;
  const select = form.elements.choice;
  select.closest("label").hidden = !resource.choices;
  await fillChoices(resource, select);
}

/** The choices of a filter may change with what the page shows; the chosen one stays. */
async function fillChoices(resource, select) {
  const choices = typeof resource.choices === "function" ? await resource.choices() : resource.choices ?? [];
  const chosen = select.value;
  select.replaceChildren(...choices.map(([value, name]) => new Option(name, value)));
  if (choices.some(([value]) => value === chosen)) select.value = chosen;
}

/** @param resource see resources.js */
export async function resourcePage(root, resource, role) {
  document.title = `${resource.title} · Trunkline`;
  const first = await resource.list({});
  root.append(template("resource"));
  cell(root, "title", resource.title);
  cell(root, "about", resource.about);
  const rows = part(root, "rows");
  const empty = part(root, "empty");
  const more = root.querySelector('[data-action="more"]');
  const form = root.querySelector("form");
  let cursor = null;
  let timer = 0;
  let version = 0;
  await prepare(root, resource, form);

  const filter = () => ({
    ...(resource.searches ? { q: form.elements.q.value.trim() } : {}),
    ...(resource.choices ? { [resource.choice]: form.elements.choice.value } : {}),
  });

  function add(page) {
    for (const item of page.items) {
      const row = document.createElement("tr");
      row.append(...resource.columns.map((column) => fieldOf(column, item)));
      row.append(actionsOf(item, { resource, role, run, refresh }));
      rows.append(row);
    }
    cursor = page.next_cursor ?? null;
    more.hidden = !cursor;
  }

  function show(page) {
    rows.replaceChildren();
    add(page);
    empty.hidden = page.items.length > 0;
    empty.textContent = Object.values(filter()).some(Boolean) ? t("No entries match the filter.") : resource.empty;
  }

  async function refresh() {
    const mine = ++version;
    const page = await resource.list(filter());
    if (mine !== version) return;
    show(page);
    if (typeof resource.choices === "function") await fillChoices(resource, form.elements.choice);
  }

  async function run(action) {
    try {
      const message = await action();
      if (message) toast(message);
      await refresh();
    } catch (problem) { toast(problem.message); }
  }

  if (may(role, resource.writes)) {
    const buttons = part(root, "buttons");
    if (resource.addPath) buttons.append(pageLink(resource.addPath, resource.addName));
    if (resource.create) addButton(buttons, t("Add"), () => editDialog(resource, null, refresh), "primary");
    for (const action of resource.pageActions ?? []) {
      addButton(buttons, action.name, () => run(() => action.run(filter())));
    }
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch((problem) => toast(problem.message)), searchDelay);
  });
  more.addEventListener("click", async () => add(await resource.list({ ...filter(), cursor })));
  show(first);
  // A refresh would take away the focus, or a row under an open dialog.
  const isInUse = () => document.querySelector("dialog[open]") || rows.contains(document.activeElement);
  const clock = resource.everyMs ? setInterval(() => {
    if (!isInUse()) refresh().catch(() => {});
  }, resource.everyMs) : 0;
  return () => {
    clearTimeout(timer);
    clearInterval(clock);
    version += 1;
  };
}
