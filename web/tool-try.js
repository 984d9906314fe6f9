// A dialog in which a tool is tried: its arguments from their JSON Schema, and what came back.
import * as api from "./api.js";
import { putError } from "./form.js";
import { t } from "./text.js";
import { cell, part, plain, template } from "./view.js";

const inputTypes = {
  date: "date", time: "time", email: "email", "date-time": "text",
};

/** The control of one argument, and how its text is read. */
function controlOf({ type, format, enum: choices, default: usual }) {
  let control;
  if (choices || type === "boolean") {
    control = document.createElement("select");
    control.append(new Option("", ""));
    for (const one of choices ?? [true, false]) {
      control.append(new Option(choices ? one : one ? t("Yes") : t("No"), JSON.stringify(one)));
    }
    if (usual !== undefined) control.value = JSON.stringify(usual);
    return [control, () => (control.value === "" ? undefined : JSON.parse(control.value))];
  }
  if (type === "array" || type === "object") {
    control = document.createElement("textarea");
    control.className = "code";
    control.placeholder = type === "array" ? "[]" : "{}";
    return [control, () => (control.value.trim() ? JSON.parse(control.value) : undefined)];
  }
  control = document.createElement("input");
  control.autocomplete = "off";
  const isNumber = type === "number" || type === "integer";
  control.type = isNumber ? "number" : inputTypes[format] ?? "text";
  if (isNumber) control.step = type === "integer" ? 1 : "any";
  control.value = usual ?? "";
  return [control, () => {
    if (control.value === "") return undefined;
    return isNumber ? Number(control.value) : control.value;
  }];
}

/** @param name of the tool, @param schema of its arguments, @param hidden names that the tool sets itself */
export function tryDialog(name, schema, hidden = []) {
  const dialog = template("tool-try").querySelector("dialog");
  cell(dialog, "title", t("Try {name}", { name }));
  const fields = part(dialog, "fields");
  const readers = [];
  for (const [argument, property] of Object.entries(schema?.properties ?? {})) {
    if (hidden.includes(argument)) continue;
    const [control, read] = controlOf(property);
    const label = template("agent-field").querySelector("label");
    control.required = (schema.required ?? []).includes(argument);
    cell(label, "label", argument);
    cell(label, "help", property.description).hidden = !property.description;
    part(label, "control").replaceWith(control);
    label.querySelector("[data-error]").dataset.error = `arguments.${argument}`;
    fields.append(label);
    readers.push([argument, read]);
  }
  part(dialog, "no-arguments").hidden = readers.length > 0;

  function show({ status, ms, output, attempts }) {
    part(dialog, "answer").hidden = false;
    const mark = cell(dialog, "status", plain(status));
    mark.dataset.tone = status === "ok" ? "good" : "bad";
    const count = attempts > 1 ? t("{count} attempts", { count: attempts }) : "";
    cell(dialog, "time", [`${ms} ms`, count].filter(Boolean).join(" · "));
    cell(dialog, "result", typeof output === "string" ? output : JSON.stringify(output, null, 2));
  }

  function fail(problem) {
    const others = [];
    for (const { field, message } of problem.fields ?? []) {
      if (!putError(dialog, { field, message })) others.push(`${field} ${message}`);
    }
    dialog.querySelector('[data-error=""]').textContent = problem.fields?.length ? others.join("; ") : problem.message;
  }

  function written() {
    const given = { arguments: {}, variables: {} };
    for (const [argument, read] of readers) {
      try {
        const value = read();
        if (value !== undefined) given.arguments[argument] = value;
      } catch {
        const problem = new Error();
        problem.fields = [{ field: `arguments.${argument}`, message: t("is not valid JSON") }];
        throw problem;
      }
    }
    for (const line of part(dialog, "variables").value.split("\n")) {
      const [variable, ...value] = line.split(":");
      if (variable.trim()) given.variables[variable.trim()] = value.join(":").trim();
    }
    return given;
  }

  dialog.querySelector("form").addEventListener("submit", async (event) => {
    if (event.submitter?.value === "close") return;
    event.preventDefault();
    for (const node of dialog.querySelectorAll("[data-error]")) node.textContent = "";
    part(dialog, "answer").hidden = true;
    event.submitter.disabled = true;
    try { show(await api.tools.attempt(name, written())); } catch (problem) { fail(problem); }
    event.submitter.disabled = false;
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
