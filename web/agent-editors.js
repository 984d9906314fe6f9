// The controls of an agent's form, one function a kind of field. Each makes `{ node, get, set, hint }`: its part of the
// page, its value (undefined: none), a new value, and what holds where it is empty: `{ value, from }`.
import { limit, memberAt, owner } from "./form.js";
import { questionList } from "./questions.js";
import { t } from "./text.js";
import { cell, element, part, plain, template } from "./view.js";

/** A value of the configuration as words. */
export function shown(value) {
  if (value === true) return t("Yes");
  if (value === false) return t("No");
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
}

function labelled(field, control, errorName = field.path) {
  const node = template("agent-field").querySelector("label");
  cell(node, "label", field.label);
  part(node, "control").replaceWith(control);
  cell(node, "help", field.help).hidden = !field.help;
  node.querySelector("[data-error]").dataset.error = errorName;
  return node;
}

function group(field) {
  const node = template("agent-group").querySelector("fieldset");
  cell(node, "label", field.label);
  cell(node, "help", field.help).hidden = !field.help;
  node.querySelector("[data-error]").dataset.error = field.path;
  return node;
}

function line(field, schema) {
  const control = document.createElement(field.kind === "long" || field.kind === "lines" || field.kind === "names"
    ? "textarea" : "input");
  control.name = field.path;
  if (control.localName === "textarea") control.rows = field.rows ?? 2;
  else control.autocomplete = "off";
  if (field.kind === "number") {
    control.type = "number";
    control.step = field.step ?? 1;
  }
  if (["line", "long", "number"].includes(field.kind)) limit(control, ...owner(schema, field.path));
  if (field.placeholder) control.placeholder = field.placeholder;
  const node = labelled(field, control);
  return {
    node,
    control,
    hint({ value, from }) {
      if (value == null || value === "") return;
      control.placeholder = shown(value);
      const layer = from === "configuration" ? t("Empty: as configured.") : t("Empty: as built in.");
      cell(node, "help", [field.help, layer].filter(Boolean).join(" ")).hidden = false;
    },
  };
}

function text(field, schema) {
  const made = line(field, schema);
  return {
    ...made,
    get: () => made.control.value.trim() || undefined,
    set: (value) => { made.control.value = value ?? ""; },
  };
}

function number(field, schema) {
  const made = line(field, schema);
  return {
    ...made,
    get: () => (made.control.value === "" ? undefined : Number(made.control.value)),
    set: (value) => { made.control.value = value ?? ""; },
  };
}

/** A list of texts, one a line. */
function lines(field, schema) {
  const made = line(field, schema);
  return {
    ...made,
    get() {
      const items = made.control.value.split("\n").map((one) => one.trim()).filter(Boolean);
      return items.length ? items : undefined;
    },
    set: (value) => { made.control.value = (value ?? []).join("\n"); },
  };
}

/** An object whose members are true: their names, one a line. */
function names(field, schema) {
  const made = lines(field, schema);
  let refused = {};
  return {
    ...made,
    get() {
      const chosen = Object.fromEntries((made.get() ?? []).map((name) => [name, true]));
      const all = { ...refused, ...chosen };
      return Object.keys(all).length ? all : undefined;
    },
    set(value) {
      refused = Object.fromEntries(Object.entries(value ?? {}).filter(([, holds]) => !holds));
      made.set(Object.keys(value ?? {}).filter((name) => value[name]));
    },
  };
}

function choice(field, schema) {
  const control = document.createElement("select");
  control.name = field.path;
  const add = (value, name) => {
    const option = element("option", name);
    option.value = value;
    control.append(option);
    return option;
  };
  const usual = add("", t("As configured"));
  for (const [value, name] of field.options ?? []) add(value, name);
  limit(control, ...owner(schema, field.path));
  return {
    node: labelled(field, control),
    get: () => control.value || undefined,
    set(value) {
      const known = [...control.options].some((option) => option.value === (value ?? ""));
      if (!known) add(value, value);
      control.value = value ?? "";
    },
    hint({ value, from }) {
      if (value == null || value === "") return;
      const option = [...control.options].find((one) => one.value === value);
      const words = { value: option?.textContent ?? plain(value) };
      usual.textContent = from === "configuration"
        ? t("As configured: {value}", words) : t("As built in: {value}", words);
    },
  };
}

/** Yes, no, or as configured. */
function flag(field, schema) {
  const made = choice({ ...field, options: [["true", t("Yes")], ["false", t("No")]] }, schema);
  return {
    ...made,
    get: () => ({ true: true, false: false })[made.get()],
    set: (value) => made.set(value == null ? "" : String(value)),
    hint: ({ value, from }) => made.hint({ value: value == null ? value : String(value), from }),
  };
}

/** Names to choose from. Those that a document has and the server has not stay, so that they can be removed. */
function checks(field, schema, { catalogues }) {
  // The names may not be seen: they are typed.
  if (!catalogues[field.catalogue]) return lines({ ...field, help: field.help ?? t("One a line.") }, schema);
  const node = group(field);
  const list = element("div", "", "rows checks");
  part(node, "list").replaceWith(list);
  const boxes = new Map();
  function add({ name, about = "" }) {
    const row = template("agent-check").querySelector("label");
    cell(row, "name", name);
    cell(row, "about", about);
    boxes.set(name, row.querySelector("input"));
    list.append(row);
  }
  for (const item of catalogues[field.catalogue]) add(item);
  part(node, "none").hidden = boxes.size > 0;
  part(node, "add").hidden = true;
  return {
    node,
    get() {
      const chosen = [...boxes].filter(([, box]) => box.checked).map(([name]) => name);
      return chosen.length ? chosen : undefined;
    },
    set(value) {
      for (const name of value ?? []) if (!boxes.has(name)) add({ name });
      part(node, "none").hidden = boxes.size > 0;
      for (const [name, box] of boxes) box.checked = (value ?? []).includes(name);
    },
    hint() {},
  };
}

/** Rows that come and go. `read` and `fill` say what stands in one; `read` gives undefined for an empty row. */
function rows(field, schema, rowTemplate, { read, fill }) {
  const node = group(field);
  const list = part(node, "list");
  list.dataset.list = field.path;
  const button = part(node, "add");
  button.textContent = field.add;
  const { items, maxItems = Infinity } = memberAt(schema, field.path);
  const shapes = [items, ...(items?.anyOf ?? [])].filter(Boolean);
  const object = shapes.find(({ type }) => type === "object");
  const plainText = shapes.find(({ type }) => type === "string");
  function add(value) {
    const row = template(rowTemplate).firstElementChild;
    for (const control of row.querySelectorAll("[data-field]")) {
      const own = object?.properties?.[control.dataset.field] ?? plainText;
      if (own?.maxLength && control.type !== "checkbox") control.maxLength = own.maxLength;
    }
    row.querySelector('[data-action="remove-row"]').addEventListener("click", () => {
      row.remove();
      button.disabled = false;
      button.focus();
      node.dispatchEvent(new Event("input", { bubbles: true }));
    });
    fill((name) => row.querySelector(`[data-field="${name}"]`), value);
    list.append(row);
    button.disabled = list.children.length >= maxItems;
    return row;
  }
  button.addEventListener("click", () => add().querySelector("[data-field]").focus());
  return {
    node,
    get() {
      const items = [];
      for (const row of list.children) {
        const item = read((name) => row.querySelector(`[data-field="${name}"]`));
        row.toggleAttribute("data-empty", item === undefined);
        if (item !== undefined) items.push(item);
      }
      return items.length ? items : undefined;
    },
    set(value) {
      list.replaceChildren();
      for (const item of value ?? []) add(item);
    },
    hint() {},
  };
}

const texts = (field, schema) => rows(field, schema, "agent-text", {
  read: (of) => of("text").value.trim() || undefined,
  fill: (of, value) => { of("text").value = value ?? ""; },
});

const facts = (field, schema) => rows(field, schema, "agent-fact", {
  read(of) {
    const [question, answer] = [of("question").value.trim(), of("answer").value.trim()];
    if (question) return { question, answer };
    return answer || undefined;
  },
  fill(of, value) {
    of("question").value = value?.question ?? "";
    of("answer").value = typeof value === "string" ? value : value?.answer ?? "";
  },
});

const variables = (field, schema) => rows(field, schema, "agent-variable", {
  read(of) {
    const item = { name: of("name").value.trim() };
    if (of("required").checked) item.required = true;
    for (const name of ["default", "example"]) if (of(name).value.trim()) item[name] = of(name).value.trim();
    return item.name || Object.keys(item).length > 1 ? item : undefined;
  },
  fill(of, value = {}) {
    for (const name of ["name", "default", "example"]) of(name).value = value[name] ?? "";
    of("required").checked = value.required ?? false;
  },
});

function questions(field, schema) {
  const node = template("questions").querySelector("fieldset");
  const list = questionList(part(node, "questions"), node.querySelector('[data-action="add-question"]'), schema);
  part(node, "questions").dataset.list = field.path;
  return {
    node,
    get() {
      const asked = list.read();
      const isEmpty = (one) => !(typeof one === "string" ? one : one.text);
      for (const [index, one] of asked.entries()) {
        part(node, "questions").children[index].toggleAttribute("data-empty", isEmpty(one));
      }
      const items = asked.filter((one) => !isEmpty(one));
      return items.length ? items : undefined;
    },
    set: (value) => list.fill(value ?? []),
    hint() {},
  };
}

export const editors = {
  line: text, long: text, number, lines, names, choice, flag, checks, texts, facts, variables, questions,
};
