// A document as YAML, to be read and changed. The server reads it: what is written here is what its reader takes.

const words = new Set(["null", "true", "false", "yes", "no", "on", "off", "y", "n"]);

function text(value, indent) {
  const isPlain = /^[\p{L}_][\p{L}\p{N}\p{M} _.,'’!?()/+-]*$/u.test(value) && !/\s$/.test(value);
  if (isPlain && !words.has(value.toLowerCase())) return value;
  // Several lines stand as they are, where nothing of them would be lost.
  if (/\n/.test(value) && !/[^\n\t\P{C}]|\t|[\u2028\u2029]|^\s|\s$|\s\n/u.test(value)) {
    return `|-\n${value.split("\n").map((line) => (line ? indent + line : "")).join("\n")}`;
  }
  return JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, (one) => (
    `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
  ));
}

const isEmpty = (value) => Object.keys(value).length === 0;

/** A value behind a key or a dash: on the same line, or on the lines below. */
function behind(value, indent) {
  if (value === null || typeof value !== "object") {
    return ` ${typeof value === "string" ? text(value, indent) : String(value)}`;
  }
  if (isEmpty(value)) return Array.isArray(value) ? " []" : " {}";
  return `\n${lines(value, indent)}`;
}

function lines(value, indent) {
  if (Array.isArray(value)) {
    return value.map((item) => {
      const below = behind(item, `${indent}  `);
      // The first member of an object stands beside the dash.
      return `${indent}-${below.startsWith("\n") ? ` ${below.slice(indent.length + 3)}` : below}`;
    }).join("\n");
  }
  return Object.entries(value).map(([name, item]) => {
    const key = /^[a-z_][a-z0-9_-]*$/i.test(name) && !words.has(name.toLowerCase()) ? name : JSON.stringify(name);
    return `${indent}${key}:${behind(item, `${indent}  `)}`;
  }).join("\n");
}

/** @param document an object; its members are written in their order. */
export const toYAML = (document) => (isEmpty(document) ? "{}\n" : `${lines(document, "")}\n`);
