// A page for things that are listed, added, changed and removed: what differs between them stands in resources.js.
import { limit, member } from "./form.js";
import { questionList } from "./questions.js";
import { settings } from "./resources.js";
import { t } from "./text.js";
import { cell, confirmed, element, part, template, toast } from "./view.js";

const ranks = ["viewer", "operator", "admin"];
const may = (role, needed) => ranks.indexOf(role) >= ranks.indexOf(needed ?? "viewer");

/** Tabs, and the chosen one's page. */
export async function settingsPage(root, name, role) {
  const open = settings.filter((one) => may(role, one.sees));
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

/** @param resource see resources.js */
export async function resourcePage(root, resource, role) {
  document.title = `${resource.title} · Trunkline`;
  const first = await resource.list({});
  root.append(template("resource"));
  cell(root, "title", resource.title);
  cell(root, "about", resource.about);
  const head = part(root, "head");
  const rows = part(root, "rows");
  const empty = part(root, "empty");
  const more = root.querySelector('[data-action="more"]');
  const form = root.querySelector("form");
  const writes = may(role, resource.writes);
  let cursor = null;
  let timer = 0;
  let version = 0;

  for (const column of resource.columns) head.append(element("th", column.name));
  head.append(element("th"));
  head.lastElementChild.append(element("span", t("Action"), "sr"));
  form.hidden = !resource.searches && !resource.choices;
  form.elements.q.closest("label").hidden = !resource.searches;
  const select = form.elements.choice;
  select.closest("label").hidden = !resource.choices;
  for (const [value, name] of resource.choices ?? []) {
    const option = element("option", name);
    option.value = value;
    select.append(option);
  }
  const buttons = part(root, "buttons");
  if (resource.create && writes) addButton(buttons, t("Add"), () => edit(null), "primary");
  for (const action of resource.pageActions ?? []) if (writes) addButton(
    buttons,
    action.name,
    () => act(() => action.run())
  );

  function addButton(target, name, run, className = "") {
    const button = element("button", name, className);
    button.type = "button";
    button.addEventListener("click", async () => {
      button.disabled = true;
      await run();
      button.disabled = false;
    });
    target.append(button);
    return button;
  }

  const filter = () => (
    {
      ...(resource.searches ? { q: form.elements.q.value.trim() } : {}),
      ...(resource.choices ? { [resource.choice]: select.value } : {}),
    }
  );

  function add(items) {
    for (const item of items) {
      const row = document.createElement("tr");
      for (const column of resource.columns) {
        const field = element("td");
        field.dataset.name = column.name;
        const shown = column.text(item);
        if (column.tone) {
          const mark = element("span", shown, "chip");
          const tone = column.tone(item);
          if (tone) mark.dataset.tone = tone;
          field.append(mark);
        } else if (column.link?.(item)) {
          const link = element("a", shown);
          link.href = column.link(item);
          link.dataset.link = "";
          field.append(link);
        } else {
          field.textContent = shown;
        }
        row.append(field);
      }
      const actions = element("td", "", "num row-actions");
      if (writes || resource.changes) {
        for (const action of resource.rowActions ?? []) {
          const isOffered = may(role, action.needs ?? resource.writes) && (action.when?.(item) ?? true);
      if (isOffered) addButton(actions, action.name, () => act(() => action.run(item)), "small");
        }
      }
      if (resource.replace && writes) addButton(actions, t("Edit"), () => edit(item), "small");
      if (resource.remove && writes && (resource.canRemove?.(item) ?? true)) {
        addButton(actions, resource.removeName ?? t("Delete"), async () => {
          const isMeant = await confirmed(resource.removeQuestion(item), resource.removeName ?? t("Delete"));
          if (isMeant) await act(() => resource.remove(item));
        }, "small danger");
      }
      row.append(actions);
      rows.append(row);
    }
  }

  function show(page) {
    rows.replaceChildren();
    add(page.items);
    cursor = page.next_cursor ?? null;
    more.hidden = !cursor;
    empty.hidden = page.items.length > 0;
    empty.textContent = Object.values(filter()).some(Boolean) ? t("Nothing fits the filter.") : resource.empty;
  }

  async function refresh() {
    const mine = ++version;
    const page = await resource.list(filter());
    if (mine === version) show(page);
  }

  async function act(run) {
    try {
      const said = await run();
      if (said) toast(said);
      await refresh();
    } catch (problem) { toast(problem.message); }
  }

  /** One thing's form, in a dialog; null: a new one. */
  async function edit(item) {
    const dialog = template("edit").querySelector("dialog");
    const body = dialog.querySelector("form");
    const fields = part(dialog, "fields");
    const readers = [];
    const schema = await resource.form();
    cell(dialog, "title", item ? resource.editTitle : resource.addTitle);
    for (const field of resource.fields) {
      if (item && field.onlyNew) continue;
      if (field.kind === "questions") {
        const group = template("questions").querySelector("fieldset");
        const adder = group.querySelector('[data-action="add-question"]');
        const asked = questionList(part(group, "questions"), adder, schema);
        if (item) asked.fill(item.questions);
        fields.append(group);
        readers.push([field.name, () => asked.read()]);
        continue;
      }
      const label = element("label", field.label);
      const control = document.createElement(
        field.kind === "long" ? "textarea" : field.kind === "choice" ? "select" : "input"
      );
      control.name = field.name;
      if (field.kind === "password") { control.type = "password"; control.autocomplete = "new-password"; }
      if (field.kind === "number") control.type = "number";
      if (control.localName === "input") control.autocomplete ||= "off";
      const options = field.kind === "choice" ? await field.options() : [];
      for (const [value, name] of options) {
        const option = element("option", name);
        option.value = value;
        control.append(option);
      }
      limit(control, schema);
      if (field.placeholder) control.placeholder = field.placeholder;
      const value = item?.[field.name] ?? field.initial;
      if (value != null) control.value = value;
      label.append(control);
      const help = typeof field.help === "function" ? field.help(member(schema, field.name)) : field.help;
      if (help) label.append(element("span", help, "help muted"));
      const error = element("span", "", "error");
      error.dataset.error = field.name;
      error.setAttribute("role", "alert");
      label.append(error);
      fields.append(label);
      readers.push([field.name, () => {
        const text = control.value.trim();
        // Nothing typed: what there was is taken away, but for a secret, which nobody sees.
        if (text === "") return field.kind === "password" || !item || field.kind === "choice" ? undefined : null;
        return field.kind === "number" ? Number(text) : text;
      }]);
    }
    body.addEventListener("submit", async (event) => {
      if (event.submitter?.value === "cancel") return;
      event.preventDefault();
      for (const node of dialog.querySelectorAll("[data-error], [data-error-row]")) node.textContent = "";
      const made = Object.fromEntries(
        readers.map(([name, read]) => [name, read()]).filter(([, value]) => value !== undefined)
      );
      const submit = dialog.querySelector('[value="save"]');
      submit.disabled = true;
      try {
        const answer = item ? await resource.replace(item, made) : await resource.create(made);
        dialog.close();
        if (!item && resource.created) await tell(resource.created(answer));
        await refresh();
      } catch (problem) {
        const rest = [];
        for (const { field, message } of problem.fields ?? []) {
          const row = field.match(/^questions\[(\d+)\]/);
          const target = row
            ? dialog.querySelectorAll("[data-error-row]")[Number(row[1])] : dialog.querySelector(
              `[data-error="${CSS.escape(field)}"]`
            );
          if (target) target.textContent = t("This {message}.", { message }); else rest.push(`${field} ${message}`);
        }
        const words = problem.fields?.length ? rest.join("; ") : problem.message;
        dialog.querySelector('[data-error=""]').textContent = words;
      }
      submit.disabled = false;
    });
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  /** Something that is shown once, such as a key. */
  function tell({ text, secret }) {
    const dialog = template("secret").querySelector("dialog");
    cell(dialog, "text", text);
    dialog.querySelector("input").value = secret;
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("input").select();
    return new Promise((resolve) => dialog.addEventListener("close", () => { dialog.remove(); resolve(); }));
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch((problem) => toast(problem.message)), 250);
  });
  more.addEventListener("click", async () => {
    const page = await resource.list({ ...filter(), cursor });
    add(page.items);
    cursor = page.next_cursor ?? null;
    more.hidden = !cursor;
  });
  show(first);
  const clock = resource.everyMs ? setInterval(() => {
    // Not under somebody's hands.
    if (!document.querySelector("dialog[open]") && !rows.contains(document.activeElement)) refresh().catch(() => {});
  }, resource.everyMs) : 0;
  return () => {
    clearTimeout(timer);
    clearInterval(clock);
    version += 1;
  };
}
