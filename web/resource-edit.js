// The form that adds or changes one thing of a page of resource.js, in a dialog.
import { complaint, limit, member, warn } from "./form.js";
import { questionList } from "./questions.js";
import { t } from "./text.js";
import { cell, element, part, template } from "./view.js";

/** The questions of a template. Returns `[name, read]`. */
function questionsField(fields, field, item, schema) {
  const group = template("questions").querySelector("fieldset");
  const list = questionList(part(group, "questions"), group.querySelector('[data-action="add-question"]'), schema);
  if (item) list.fill(item.questions);
  fields.append(group);
  return [field.name, () => list.read()];
}

async function controlOf(field, schema) {
  const names = { long: "textarea", choice: "select" };
  const control = document.createElement(names[field.kind] ?? "input");
  control.name = field.name;
  if (field.kind === "password") {
    control.type = "password";
    control.autocomplete = "new-password";
  }
  if (field.kind === "number") control.type = "number";
  if (control.localName === "input") control.autocomplete ||= "off";
  for (const [value, name] of field.kind === "choice" ? await field.options() : []) {
    const option = element("option", name);
    option.value = value;
    control.append(option);
  }
  limit(control, schema);
  if (field.placeholder) control.placeholder = field.placeholder;
  return control;
}

/** A labelled input with its help and its error. Returns `[name, read]`. */
async function inputField(fields, field, item, schema) {
  const control = await controlOf(field, schema);
  const value = item?.[field.name] ?? field.initial;
  if (value != null) control.value = value;
  const label = element("label", field.label);
  label.append(control);
  warn(control, schema);
  const help = typeof field.help === "function" ? field.help(member(schema, field.name)) : field.help;
  if (help) label.append(element("span", help, "help muted"));
  const error = element("span", "", "error");
  error.dataset.error = field.name;
  error.setAttribute("role", "alert");
  label.append(error);
  fields.append(label);
  return [field.name, () => {
    const text = control.value.trim();
    // An empty field removes the value. A password that is not shown, a choice and a new thing's field stay unset.
    if (text === "") return field.kind === "password" || !item || field.kind === "choice" ? undefined : null;
    return field.kind === "number" ? Number(text) : text;
  }];
}

/** Shows each error of the server at its field, and the others below the form. */
function showErrors(dialog, problem) {
  const others = [];
  for (const { field, message } of problem.fields ?? []) {
    const row = field.match(/^questions\[(\d+)\]/);
    const target = row
      ? dialog.querySelectorAll("[data-error-row]")[Number(row[1])]
      : dialog.querySelector(`[data-error="${CSS.escape(field)}"]`);
    if (target) target.textContent = complaint(message);
    else others.push(`${field} ${message}`);
  }
  const text = problem.fields?.length ? others.join("; ") : problem.message;
  dialog.querySelector('[data-error=""]').textContent = text;
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
 * is saved.
 */
export async function editDialog(resource, item, done) {
  const dialog = template("edit").querySelector("dialog");
  const fields = part(dialog, "fields");
  const readers = [];
  const schema = await resource.form();
  cell(dialog, "title", item ? resource.editTitle : resource.addTitle);
  for (const field of resource.fields) {
    if (item && field.onlyNew) continue;
    const add = field.kind === "questions" ? questionsField : inputField;
    readers.push(await add(fields, field, item, schema));
  }

  const read = () => Object.fromEntries(
    readers.map(([name, value]) => [name, value()]).filter(([, value]) => value !== undefined),
  );
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
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
