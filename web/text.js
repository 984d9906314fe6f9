// What the dashboard says, in the viewer's language. The English text is its own key; what has no translation reads
// English.
import korean from "./ko.js";
import koreanServer from "./ko-server.js";

const dictionaries = { ko: korean };
const serverDictionaries = { ko: koreanServer };
export const languages = { en: "English", ko: "한국어" };
export const language = chosen();
document.documentElement.lang = language;
const words = dictionaries[language] ?? {};

function chosen() {
  const kept = localStorage.getItem("language");
  if (kept in languages) return kept;
  return navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in languages) ?? "en";
}

export function setLanguage(code) {
  localStorage.setItem("language", code);
  location.reload();
}

const filled = (text, value) => text.replace(/\{(\w+)\}/g, (whole, name) => value(name) ?? whole);

/** `t("{count} turns", { count: 3 })` */
export const t = (english, values = {}) => filled(words[english] ?? english, (name) => values[name]);

const problems = serverDictionaries[language] ?? {};

/** A problem of the server in the viewer's language, by its code; as it was sent where there is no translation. */
export function said({ code, params = {}, message }) {
  return Object.hasOwn(problems, code) ? filled(problems[code], (name) => shown(params[name])) : message;
}

function shown(value) {
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return value?.code ? said(value) : words[value] ?? value;
}

const attributes = ["placeholder", "aria-label", "title"];

/** Every text of a part of the page, once, before anything of a user's stands in it. */
export function translate(root) {
  if (language === "en") return root;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node.data.trim();
      if (text in words) node.data = node.data.replace(text, () => words[text]);
    } else if (node.getAttribute) {
      for (const name of attributes) {
        const text = node.getAttribute(name);
        if (text in words) node.setAttribute(name, words[text]);
      }
    }
  }
  return root;
}
