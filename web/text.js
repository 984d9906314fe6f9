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

/** `t("{count} turns", { count: 3 })` */
export function t(english, values = {}) {
  return (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Messages of the server, longest first: "is required" begins some others.
const sentences = Object.entries(
  serverDictionaries[language] ?? {}
).sort(([a], [b]) => b.length - a.length).map(([english, text]) => {
  const names = [];
  const pattern = english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, (_, name) => {
    names.push(name);
    return "(.+?)";
  });
  return { pattern: new RegExp(`^${pattern}$`), names, text };
});

/** What the server says, in the viewer's language; as it is where that is not known. */
export function said(message) {
  for (const { pattern, names, text } of sentences) {
    const found = message.match(pattern);
    if (found) return text.replace(
      /\{(\w+)\}/g,
      (_, name) => words[found[names.indexOf(name) + 1]] ?? said(found[names.indexOf(name) + 1])
    );
  }
  return message;
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
