// Places in documents: names with dots between them.

/** What stands at a path with dots. */
export const valueAt = (document, path) => path.split(".").reduce((value, name) => value?.[name], document);

/** Puts a value at a path; undefined removes it, and the objects that become empty. */
export function setValue(document, path, value) {
  const [name, ...rest] = path.split(".");
  if (rest.length === 0) {
    if (value === undefined) delete document[name];
    else document[name] = value;
    return;
  }
  const inner = document[name] ?? {};
  setValue(inner, rest.join("."), value);
  if (Object.keys(inner).length) document[name] = inner;
  else delete document[name];
}

/** A field of an error as such a path; some servers' errors name JSON pointers. */
export const pathOf = (field) => (field.startsWith("/") ? field.slice(1).replaceAll("/", ".") : field);

/** The path around it; empty: there is none. */
export const around = (path) => (/[.[]/.test(path) ? path.replace(/(\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, "") : "");
