// Limits, choices and defaults of controls, as the server describes its fields (`/api/forms/…`, JSON Schema).
import { language, said, t } from "./text.js";
import { around, pathOf } from "./paths.js";
import { element, plain } from "./view.js";

/** A member's schema; that it may be null, which is as good as left out, is of no account. */
export function member(schema, name) {
  const { anyOf = [], ...rest } = schema.properties?.[name] ?? {};
  return { ...anyOf.find(({ type }) => type !== "null"), ...rest };
}

/** The schema of the object around a path with dots, and the last name of the path. */
export function owner(schema, path) {
  const names = path.split(".");
  const name = names.pop();
  const around = names.reduce((shape, step) => member(shape, step), schema);
  // An object that may be left out requires nothing of itself.
  return [{ ...around, properties: around.properties ?? {}, required: names.length ? [] : around.required }, name];
}
export const memberAt = (schema, path) => member(...owner(schema, path));

/** Lets a control take what the member may be. */
export function limit(control, schema, name = control.name) {
  const shape = member(schema, name);
  if (shape.maxLength && control.localName !== "select") control.maxLength = shape.maxLength;
  if (control.type === "number") {
    [control.min, control.max] = [shape.minimum, shape.maximum];
    control.placeholder = shape.default ?? "";
  }
  if (control.type === "checkbox") control.defaultChecked = shape.default ?? false;
  else control.required = schema.required?.includes(name) ?? false;
  if (control.localName !== "select") return;
  const known = [...control.options].map((option) => option.value);
  for (const value of shape.enum ?? []) {
    // null is as good as left out.
    if (value === null || known.includes(value)) continue;
    const option = element("option", plain(value));
    option.value = value;
    control.append(option);
  }
}

/** Says below a control what the server would warn of; where nothing is chosen, its default counts. */
export function warn(control, schema) {
  const { "x-warnings": warnings, default: usual } = member(schema, control.name);
  if (!warnings) return;
  const note = element("span", "", "help muted");
  note.setAttribute("role", "status");
  control.after(note);
  const show = () => {
    const warning = warnings[control.value || usual];
    note.textContent = warning ? said(warning) : "";
  };
  control.addEventListener("change", show);
  show();
}

/** An error of a field as a sentence. Most say what the field is; some begin with another name. */
export function complaint(message) {
  const isPredicate = /^(is|are|has|holds|lies|must|may|needs|names|asks|does|was|goes)\b/.test(message);
  return language !== "en" || isPredicate ? t("This {message}.", { message }) : `${message}.`;
}

/** The row of a list that an error is about: `questions[2].choices`. */
function rowPlace(root, path) {
  const match = path.match(/^([^[]+)\[(\d+)\]$/);
  const list = match && root.querySelector(`[data-list="${CSS.escape(match[1])}"]`);
  // Empty rows are not sent.
  const rows = [...(list?.children ?? [])].filter((row) => !row.hasAttribute("data-empty"));
  return rows[Number(match?.[2])]?.querySelector("[data-error-row]");
}

/**
 * Shows an error of the server: beside its field, its row, or the field around it, with the way from there.
 * @returns the place; null: there is none
 */
export function putError(root, { field, message }) {
  const whole = pathOf(field);
  for (let path = whole; path; path = around(path)) {
    const own = root.querySelector(`[data-error="${CSS.escape(path)}"]`);
    const place = rowPlace(root, path) ?? own;
    if (!place) continue;
    const rest = place === own ? whole.slice(path.length).replace(/^\./, "") : "";
    place.textContent += (place.textContent ? " " : "") + (rest ? `${rest}: ${message}.` : complaint(message));
    return place;
  }
  return null;
}
