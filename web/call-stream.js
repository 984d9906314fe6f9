// The part of the form for a call that names another server for its conversation.
import { fillDialects } from "./carriers.js";

/** Lines of `name: value`. */
function pairs(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return Object.fromEntries(lines.map((line) => {
    const [name, ...value] = line.split(":");
    return [name.trim(), value.join(":").trim()];
  }));
}

/** Returns a function that reads what is written; undefined: nothing. */
export function streamPart(form, schema) {
  const text = (name) => form.elements[`stream.${name}`].value.trim();
  fillDialects(form.elements["stream.dialect"], schema);
  return () => {
    const stream = {};
    for (const name of ["url", "dialect", "secret"]) if (text(name)) stream[name] = text(name);
    for (const name of ["headers", "parameters"]) if (text(name)) stream[name] = pairs(text(name));
    return Object.keys(stream).length ? stream : undefined;
  };
}
