// Inputs for the variables that an agent declares.
import { t } from "./text.js";
import { cell, element, part, template } from "./view.js";

/** Puts them into `root`, with what stood in inputs of the same names. @returns a function that reads their values. */
export function variableInputs(root, declared) {
  const inputs = () => [...root.querySelectorAll("input")];
  const kept = Object.fromEntries(inputs().map((one) => [one.dataset.variable, one.value]));
  root.replaceChildren();
  for (const { name, required, default: usual, example } of declared) {
    const label = template("agent-field").querySelector("label");
    const control = element("input");
    const isNeeded = required && usual == null;
    control.dataset.variable = name;
    control.name = `variables.${name}`;
    control.autocomplete = "off";
    control.required = isNeeded ?? false;
    control.placeholder = usual ?? (example ? t("for example {words}", { words: example }) : "");
    control.value = kept[name] ?? "";
    cell(label, "label", name);
    cell(label, "help", isNeeded ? "" : t("optional")).hidden = isNeeded ?? false;
    part(label, "control").replaceWith(control);
    label.querySelector("[data-error]").dataset.error = control.name;
    root.append(label);
  }
  return () => Object.fromEntries(
    inputs().filter((one) => one.value.trim()).map((one) => [one.dataset.variable, one.value.trim()]),
  );
}
