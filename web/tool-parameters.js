// The arguments of a tool: one row each, or JSON Schema where rows cannot say it.
import { t } from "./text.js";
import { cell, part, template } from "./view.js";

const scalars = ["string", "number", "integer", "boolean"];
const isSimple = ({ type, properties = {}, ...rest }) => (
  (type ?? "object") === "object" && Object.keys(rest).every((name) => name === "required")
  && Object.values(properties).every((one) => scalars.includes(one.type))
);
const kindOf = ({ type, format }) => (format ? `${type}:${format}` : type);

/** Returns `[name, read]`. */
export function parametersField(fields, field, item) {
  const schema = item?.[field.name] ?? { type: "object", properties: {} };
  const group = template("parameters").querySelector("fieldset");
  cell(group, "label", field.label);
  const list = part(group, "list");
  const text = part(group, "schema");
  const error = group.querySelector("[data-error]");
  error.dataset.error = field.name;
  const isRows = isSimple(schema);
  part(group, "rows").hidden = !isRows;
  part(group, "text").hidden = isRows;
  if (!isRows) text.value = JSON.stringify(schema, null, 2);

  function add(name = "", property = { type: "string" }, isRequired = false) {
    const row = template("parameter").querySelector("li");
    const of = (one) => row.querySelector(`[data-field="${one}"]`);
    const kind = kindOf(property);
    if (![...of("type").options].some(({ value }) => value === kind)) of("type").append(new Option(kind, kind));
    of("name").value = name;
    of("type").value = kind;
    of("description").value = property.description ?? "";
    of("choices").value = (property.enum ?? []).join(", ");
    of("required").checked = isRequired;
    row.querySelector('[data-action="remove-row"]').addEventListener("click", () => {
      row.remove();
      part(group, "add").focus();
    });
    // What the row does not show stays as it is.
    row.property = property;
    list.append(row);
    return row;
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    add(name, property, (schema.required ?? []).includes(name));
  }
  part(group, "add").addEventListener("click", () => add().querySelector("input").focus());
  fields.append(group);

  function readRows() {
    const properties = {};
    const required = [];
    for (const row of list.children) {
      const of = (one) => row.querySelector(`[data-field="${one}"]`);
      const name = of("name").value.trim();
      if (!name) continue;
      const [type, format] = of("type").value.split(":");
      const { format: _, enum: __, description: ___, ...kept } = row.property;
      const property = { ...(type === row.property.type ? kept : {}), type };
      if (format) property.format = format;
      const choices = of("choices").value.split(",").map((one) => one.trim()).filter(Boolean);
      if (choices.length) property.enum = type === "string" ? choices : choices.map(Number);
      const description = of("description").value.trim();
      if (description) property.description = description;
      properties[name] = property;
      if (of("required").checked) required.push(name);
    }
    return { type: "object", properties, ...(required.length ? { required } : {}) };
  }
  return [field.name, () => {
    if (isRows) return readRows();
    try { return JSON.parse(text.value); } catch {
      const problem = new Error();
      problem.fields = [{ field: field.name, message: t("is not valid JSON") }];
      throw problem;
    }
  }];
}
