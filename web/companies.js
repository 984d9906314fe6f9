// The companies of an installation, for its admins: quotas, use, suspension, erasure, and acting for one of them.
import * as api from "./api.js";
import { t } from "./text.js";
import { cell, confirmed, fact, part, template, toast, when } from "./view.js";

const quotas = [
  ["concurrent_calls", t("Calls at once")],
  ["calls_per_second", t("Dials a second")],
  ["calls_per_day", t("Calls a day")],
  ["minutes_per_month", t("Minutes a month")],
];

const quotaText = (item) => quotas.filter(([name]) => item.quotas[name] != null)
  .map(([name, words]) => `${words}: ${item.quotas[name]}`).join(", ");

/** Acts for a company from the next page on; the page is loaded anew, so that nothing of another one is left. */
export function actFor(slug) {
  api.actFor(slug);
  location.assign("/");
}

/** Says in the head of every page whose it is, and that an admin acts for another company. */
export function showActing(session) {
  const banner = part(document, "acting");
  const mark = part(document, "company");
  const company = api.actingFor();
  mark.hidden = !session.company;
  mark.textContent = session.company ?? "";
  if (company) mark.dataset.tone = "warn";
  banner.hidden = !company;
  if (!company) return;
  cell(banner, "acting", t("You act for the company {company}.", { company: session.company ?? company }));
  banner.querySelector("button").addEventListener("click", () => actFor(null));
}

async function showMonth(root, slug, month) {
  const use = await api.companies.usage(slug, month);
  const list = part(root, "usage");
  list.replaceChildren();
  fact(list, t("Calls"), String(use.calls));
  fact(list, t("Minutes"), String(use.minutes));
  for (const { component, quantities } of use.components) {
    fact(list, component, Object.entries(quantities).map(([unit, count]) => `${count} ${unit}`).join(", "));
  }
  for (const { component, amount, currency } of use.cost) {
    fact(list, t("Cost of {component}", { component }), `${amount} ${currency}`);
  }
}

async function usageDialog({ slug, name }) {
  const dialog = template("usage").querySelector("dialog");
  cell(dialog, "title", t("Use of {name}", { name }));
  const month = dialog.querySelector("input");
  month.value = new Date().toISOString().slice(0, 7);
  const show = () => showMonth(dialog, slug, month.value).catch((problem) => toast(problem.message));
  month.addEventListener("change", show);
  await show();
  document.body.append(dialog);
  dialog.showModal();
  dialog.addEventListener("close", () => dialog.remove());
}

async function changeState(item, state) {
  const question = t("Suspend {name}? It dials and answers nothing, and changes nothing, until it is resumed.", item);
  if (state === "suspended" && !await confirmed(question, t("Suspend"))) return;
  await api.companies.change(item.slug, { state });
}

export const companies = {
  path: "companies", title: t("Companies"),
  about: t("Customers of this installation. Each sees its own calls, agents, numbers and people, and nothing else."),
  empty: "",
  addTitle: t("New company"), editTitle: t("Company"),
  sees: "admin", writes: "admin",
  // Until there is a second one nothing shows that there may be several; the page's address works.
  isShown: (session) => session.company === "default",
  list: api.companies.list,
  form: api.companies.form,
  create: api.companies.create,
  created: ({ webhook_secret: secret }) => ({
    text: t("This secret signs the company's webhooks. It is shown only once: store it in a safe place."), secret,
  }),
  replace: (item, body) => api.companies.change(item.slug, body),
  canReplace: (item) => !item.is_configured,
  remove: (item) => api.companies.remove(item.slug),
  canRemove: (item) => item.state === "suspended",
  removeName: t("Erase"),
  removeQuestion: ({ name }) => t("Erase {name} with all calls, recordings, agents and people? There is no way back.", {
    name,
  }),
  columns: [
    { name: t("Name"), text: (item) => item.name },
    { name: t("Short name"), text: (item) => item.slug },
    {
      name: t("State"), text: (item) => (item.state === "active" ? t("active") : t("suspended")),
      tone: (item) => (item.state === "active" ? "good" : "warn"),
    },
    { name: t("Quotas"), text: quotaText },
    { name: t("Added"), text: (item) => when(item.created_at) },
  ],
  rowActions: [
    { name: t("Act for it"), when: (item) => !item.is_configured, run: (item) => actFor(item.slug) },
    { name: t("Use"), run: usageDialog },
    {
      name: t("Suspend"), when: (item) => !item.is_configured && item.state === "active",
      run: (item) => changeState(item, "suspended"),
    },
    { name: t("Resume"), when: (item) => item.state === "suspended", run: (item) => changeState(item, "active") },
  ],
  fields: [
    {
      name: "slug", label: t("Short name"), onlyNew: true,
      help: t("Lower-case letters, digits and hyphens. It never changes."),
    },
    { name: "name", label: t("Name") },
    ...quotas.map(([name, label]) => ({ name: `quotas.${name}`, label, kind: "number", placeholder: t("unlimited") })),
    { name: "time_zone", label: t("Time zone"), placeholder: "Asia/Seoul" },
    { name: "retention_days", label: t("Calls are kept, days"), kind: "number", isSeldom: true },
    {
      name: "allowed_callers", label: t("Caller numbers that may be shown"), kind: "lines", isSeldom: true,
      help: t("One a line."),
    },
    { name: "webhook_url", label: t("Webhook address"), placeholder: "https://example.com/hook", isSeldom: true },
    {
      name: "webhook_secret", label: t("Secret of its webhooks"), kind: "password", isSeldom: true,
      help: t("Left empty, one is made, or stays as it is."),
    },
  ],
};
