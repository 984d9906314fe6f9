// The form that adds or changes one thing of a page of resource.js, in a dialog.
import { limit, memberAt, owner, putError, warn } from "./form.js";
import { setValue, valueAt } from "./paths.js";
import { questionList } from "./questions.js";
import { t } from "./text.js";
import { parametersField } from "./tool-parameters.js";
import { cell, element, part, template } from "./view.js";

/** The questions of a template. Returns `[name, read]`. */
function questionsField(fields, field, item, schema) {
  const group = template("questions").querySelector("fieldset");
  part(group, "questions").dataset.list = field.name;
  const list = questionList(part(group, "questions"), group.querySelector('[data-action="add-question"]'), schema);
  if (item) list.fill(item.questions);
  fields.append(group);
  return [field.name, () => list.read()];
}

/** Kinds of fields whose text stands for something else: `[to text, from text]`; both may throw. */
const written = {
  number: [String, Number],
  // One a line.
  lines: [(value) => value.join("\n"), (text) => text.split("\n").map((line) => line.trim()).filter(Boolean)],
  // `name: value`, one a line.
  pairs: [
    (value) => Object.entries(value).map(([name, one]) => `${name}: ${one}`).join("\n"),
    (text) => Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line) => {
      const [name, ...value] = line.split(":");
      return [name.trim(), value.join(":").trim()];
    })),
  ],
  json: [(value) => JSON.stringify(value, null, 2), JSON.parse],
};

async function controlOf(field, schema) {
  const names = { long: "textarea", choice: "select", lines: "textarea", pairs: "textarea", json: "textarea" };
  const control = document.createElement(names[field.kind] ?? "input");
  control.name = field.name;
  if (field.kind === "password") {
    control.type = "password";
    control.autocomplete = "new-password";
  }
  if (field.kind === "number") control.type = "number";
  if (field.kind === "check") control.type = "checkbox";
  if (field.rows) control.rows = field.rows;
  if (field.kind === "json" || field.kind === "pairs") {
    control.className = "code";
    control.spellcheck = false;
  }
  if (control.localName === "input") control.autocomplete ||= "off";
  for (const [value, name] of field.kind === "choice" ? await field.options() : []) {
    const option = element("option", name);
    option.value = value;
    control.append(option);
  }
  limit(control, ...owner(schema, field.name));
  if (field.placeholder) control.placeholder = field.placeholder;
  return control;
}

/** A labelled input with its help and its error. Returns `[name, read]`. */
async function inputField(fields, field, item, schema) {
  const control = await controlOf(field, schema);
  const value = valueAt(item ?? {}, field.name) ?? field.initial;
  const [toText, fromText] = written[field.kind] ?? [String, String];
  const isCheck = field.kind === "check";
  if (isCheck) control.checked = value ?? control.defaultChecked;
  else if (value != null) control.value = toText(value);
  const label = element("label", isCheck ? "" : field.label, isCheck ? "check" : "");
  label.append(control, ...(isCheck ? [field.label] : []));
  warn(control, schema);
  const help = typeof field.help === "function" ? field.help(memberAt(schema, field.name)) : field.help;
  if (help) label.append(element("span", help, "help muted"));
  const error = element("span", "", "error");
  error.dataset.error = field.name;
  error.setAttribute("role", "alert");
  label.append(error);
  fields.append(label);
  return [field.name, () => {
    if (isCheck) return control.checked;
    const text = control.value.trim();
    // An empty field removes the value. A password that is not shown, a choice and a new thing's field stay unset.
    if (text === "") return field.kind === "password" || !item || field.kind === "choice" ? undefined : null;
    try { return fromText(text); } catch {
      const problem = new Error();
      problem.fields = [{ field: field.name, message: t("is not valid JSON") }];
      throw problem;
    }
  }];
}

/** Shows each error of the server at its field, and the others below the form. */
function showErrors(dialog, problem) {
  const others = [];
  for (const { field, message } of problem.fields ?? []) {
    if (!putError(dialog, { field, message })) others.push(`${field} ${message}`);
  }
  const text = problem.fields?.length ? others.join("; ") : problem.message;
  dialog.querySelector('[data-error=""]').textContent = text;
  const wrong = [...dialog.querySelectorAll("[data-error], [data-error-row]")].find((node) => node.textContent);
  wrong?.closest("details")?.setAttribute("open", "");
  wrong?.closest("label, fieldset")?.querySelector("input, select, textarea")?.focus();
}

/** Shows something once, such as a new API key. */
function showSecret({ text, secret }) {
  const dialog = template("secret").querySelector("dialog");
  cell(dialog, "text", text);
  dialog.querySelector("input").value = secret;
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input").select();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve();
  }));
}

/**
 * @param resource see resources.js, @param item the thing to change; null adds a new one, @param done called after it
 * is saved. @returns `closed`, a promise.
 */
export async function editDialog(resource, item, done = async () => {}) {
  const dialog = template("edit").querySelector("dialog");
  const fields = part(dialog, "fields");
  const readers = [];
  const schema = await resource.form();
  cell(dialog, "title", item ? resource.editTitle : resource.addTitle);
  // Fields that are seldom needed stand together, and are shown when they are asked for.
  const seldom = template("seldom").querySelector("details");
  for (const field of resource.fields) {
    if (item && field.onlyNew) continue;
    if (field.isSeldom) fields.append(seldom);
    const place = field.isSeldom ? part(seldom, "fields") : fields;
    const add = { questions: questionsField, parameters: parametersField }[field.kind] ?? inputField;
    readers.push(await add(place, field, item, schema));
  }

  function read() {
    // What the form does not show stays as it is.
    const body = item && resource.whole ? structuredClone(resource.whole(item)) : {};
    for (const [name, value] of readers) {
      const given = value();
      if (given !== undefined) setValue(body, name, resource.whole && given === null ? undefined : given);
    }
    return body;
  }
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    if (event.submitter?.value === "cancel") return;
    event.preventDefault();
    for (const node of dialog.querySelectorAll("[data-error], [data-error-row]")) node.textContent = "";
    const submit = dialog.querySelector('[value="save"]');
    submit.disabled = true;
    try {
      const answer = item ? await resource.replace(item, read()) : await resource.create(read());
      dialog.close();
      if (!item && resource.created) await showSecret(resource.created(answer));
      await done();
    } catch (problem) {
      showErrors(dialog, problem);
    }
    submit.disabled = false;
  });
  document.body.append(dialog);
  dialog.showModal();
  const closed = new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve();
  }));
  return { closed };
}
