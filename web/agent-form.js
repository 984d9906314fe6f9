// The form of an agent's document: its sections, what stands in them, and the server's errors beside their fields.
import { editors } from "./agent-editors.js";
import { labelOf, sections } from "./agent-fields.js";
import { setValue, valueAt } from "./paths.js";
import { putError } from "./form.js";
import { t } from "./text.js";
import { cell, element, part, template } from "./view.js";

/**
 * @param options.schema of the document, @param options.configured what holds where a field is empty, by path,
 * @param options.catalogues what there is to choose from, @param options.isNew the short name can be chosen
 */
export function agentForm(root, { schema, configured, catalogues, isNew, mayEdit }) {
  const index = part(root, "sections-index");
  const body = part(root, "sections");
  const made = new Map();
  let base = {};
  for (const section of sections) {
    const card = template("agent-section").querySelector("section");
    card.id = `section-${section.id}`;
    cell(card, "title", section.title).id = `title-${section.id}`;
    card.setAttribute("aria-labelledby", `title-${section.id}`);
    cell(card, "about", section.about).hidden = !section.about;
    for (const field of section.fields) {
      const editor = editors[field.kind](field, schema, { catalogues });
      if (configured[field.path]) editor.hint(configured[field.path]);
      if (field.isFixed && !isNew) editor.node.querySelector("input").readOnly = true;
      const isShort = ["line", "number", "choice", "flag"].includes(field.kind);
      if (!isShort) editor.node.classList.add("wide");
      part(card, "fields").append(editor.node);
      made.set(field.path, editor);
    }
    part(card, "fields").disabled = !mayEdit;
    body.append(card);
    const link = element("a", section.title);
    link.href = `#${card.id}`;
    index.append(link);
  }

  // In a narrow window the place to try the agent is below the form.
  const trial = element("a", t("Try it"), "narrow");
  trial.href = "#try";
  index.append(trial);

  function clearErrors() {
    for (const node of body.querySelectorAll("[data-error], [data-error-row]")) node.textContent = "";
    for (const node of body.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
  }

  return {
    fill(document) {
      base = structuredClone(document);
      for (const [path, editor] of made) editor.set(valueAt(document, path));
    },
    /** The document as the form has it; what the form does not show is as it was. */
    read() {
      const document = structuredClone(base);
      for (const [path, editor] of made) setValue(document, path, editor.get());
      return document;
    },
    clearErrors,
    /** Shows errors beside their fields. @returns those that have no field here, as texts. */
    showErrors(fields) {
      clearErrors();
      const others = [];
      for (const { field, message } of fields) {
        const place = putError(body, { field, message });
        if (!place) others.push(`${labelOf(field)}: ${message}`);
        place?.closest("label, li")?.querySelector("input, textarea, select")?.setAttribute("aria-invalid", "true");
      }
      return others;
    },
    focusError() {
      const wrong = [...body.querySelectorAll("[data-error], [data-error-row]")].find((node) => node.textContent);
      const control = wrong?.closest("label, li, fieldset")?.querySelector("input, textarea, select, button");
      control?.focus();
    },
  };
}
