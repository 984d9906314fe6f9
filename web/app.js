// Routing, login and the connection mark. A page is a function (root, parameter) that returns a function to call when
// the page is left.
import * as api from "./api.js";
import { feed } from "./store.js";
import { language, languages, setLanguage, t, translate } from "./text.js";
import { cell, element, template, toast } from "./view.js";
import { agentPage } from "./agent.js";
import { agents } from "./agents.js";
import { showActing } from "./companies.js";
import { listPage } from "./list.js";
import { newPage } from "./new.js";
import { callPage } from "./call.js";
import { overviewPage } from "./overview.js";
import { resourcePage, settingsPage } from "./resource.js";
import { operators, templates } from "./resources.js";

const page = document.querySelector('[data-part="page"]');
const top_ = document.querySelector('[data-part="top"]');
const live = document.querySelector('[data-part="live"]');
const banner = document.querySelector('[data-part="banner"]');
let leave = null;
let session = null;
// The scroll position of each page by its number in the history: going back restores it.
const scrolls = new Map();
let entry = history.state ?? 0;
let shownPath = location.pathname;
history.scrollRestoration = "manual";

export function go(path) {
  scrolls.set(entry, scrollY);
  entry += 1;
  history.pushState(entry, "", path);
  show();
  scrollTo(0, 0);
}

async function goBack({ state }) {
  // A link to a place on the same page.
  if (location.pathname === shownPath) {
    entry = state ?? entry;
    page.focus();
    return;
  }
  scrolls.set(entry, scrollY);
  const here = entry = state ?? 0;
  await show();
  if (entry === here) scrollTo(0, scrolls.get(here) ?? 0);
}

function loginPage(root) {
  top_.hidden = true;
  root.append(template("login"));
  document.title = `${t("Log in")} · Trunkline`;
  const form = root.querySelector("form");
  form.api_key.focus();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = form.querySelector('[data-error="api_key"]');
    error.textContent = "";
    try {
      const name = form.username.value.trim();
      await api.logIn(
        name ? { username: name, password: form.password.value } : { api_key: form.api_key.value.trim() }
      );
      await enter();
    } catch (problem) {
      const refusal = form.username.value.trim() ? t("Wrong name or password.") : t("Unknown API key.");
      error.textContent = problem.status === 401 ? refusal : problem.message;
    }
  });
}

function message(root, title, text) {
  root.append(template("message"));
  cell(root, "title", title);
  cell(root, "text", text);
}

async function show() {
  leave?.();
  leave = null;
  const root = element("div");
  page.replaceChildren(root);
  shownPath = location.pathname;
  const path = location.pathname.replace(/\/+$/, "") || "/";
  const match = path.match(/^\/(?:outbound\/(?=ob-)|inbound\/(?=in-))((?:ob|in)-[0-9a-f]{8})$/);
  const place = match ? "" : {
    "/": "overview",
    "/login": "overview",
    "/outbound": "list",
    "/outbound/new": "list",
    "/new-agent": "agents",
  }[path] ?? path.split("/")[1];
  for (const link of top_.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === place) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  let left = null;
  try {
    if (path === "/" || path === "/login") left = await overviewPage(root);
    else if (path === "/outbound") left = await listPage(root, "outbound");
    else if (path === "/agents") left = await resourcePage(root, agents, session.role);
    else if (path === "/new-agent") left = await agentPage(root, null, { role: session.role, go });
    else if (path.startsWith("/agents/")) left = await agentPage(root, path.slice(8), { role: session.role, go });
    else if (path === "/operators") left = await resourcePage(root, operators, session.role);
    else if (path === "/templates") left = await resourcePage(root, templates, session.role);
    else if (path === "/settings" || path.startsWith("/settings/")) {
      left = await settingsPage(root, path.slice(10), session);
    }
    else if (path === "/inbound") left = await listPage(root, "inbound");
    else if (path === "/outbound/new") left = await newPage(root, go);
    else if (match) left = await callPage(root, match[1]);
    else message(root, t("Page not found"), t("This page does not exist."));
  } catch (problem) {
    if (!root.isConnected) return;
    if (problem.status === 401) return loginPage(clear());
    root.replaceChildren();
    message(root, problem.status === 404 && match ? t("Call not found") : t("The request failed"), problem.message);
  }
  // The user has opened another page in the meantime.
  if (!root.isConnected) return left?.();
  leave = left;
  page.focus({ preventScroll: true });
}

function clear() {
  page.replaceChildren();
  return page;
}

async function enter() {
  session = await api.session().catch((problem) => {
    // The company is gone, or this login may not act for it.
    if (!api.actingFor() || ![403, 404].includes(problem.status)) throw problem;
    api.actFor(null);
    return api.session();
  });
  clear();
  showActing(session);
  top_.hidden = false;
  feed.start(session.last_event_id);
  await show();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-link]");
  if (link && !event.metaKey && !event.ctrlKey && event.button === 0) {
    event.preventDefault();
    go(link.getAttribute("href"));
  }
});
// Reloading removes everything that was shown or typed.
const ended = () => location.reload();

document.querySelector('[data-action="logout"]').addEventListener("click", async () => {
  await api.logOut().catch(() => {});
  api.actFor(null);
  ended();
});
window.addEventListener("popstate", goBack);
feed.addEventListener("state", ({ detail }) => {
  live.toggleAttribute("data-on", detail === "on");
  live.toggleAttribute("data-off", detail === "off");
  live.textContent = detail === "on" ? t("live") : t("offline, trying again");
  banner.hidden = detail === "on";
  // The server may be reachable while only the login has ended.
  if (detail === "off") api.session().catch((problem) => { if (problem.status === 401 && !top_.hidden) ended(); });
});
window.addEventListener("unhandledrejection", (event) => toast(event.reason?.message ?? t("Something went wrong.")));

translate(document.body);
const chooser = document.querySelector('[data-part="language"]');
for (const [code, name] of Object.entries(languages)) {
  const option = element("option", name);
  option.value = code;
  option.selected = code === language;
  chooser.append(option);
}
chooser.addEventListener("change", () => setLanguage(chooser.value));

try {
  await enter();
} catch {
  loginPage(clear());
}
