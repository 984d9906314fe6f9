// An agent: its document as a form or as YAML, its versions, what holds for its calls, and a place to try it.
import * as api from "./api.js";
import { effectivePart } from "./agent-effective.js";
import { agentForm } from "./agent-form.js";
import { ordered } from "./agent-fields.js";
import { tryPart } from "./agent-try.js";
import { versionsPart } from "./agent-versions.js";
import { toYAML } from "./agent-yaml.js";
import { said, t } from "./text.js";
import { cell, confirmed, element, part, template, toast } from "./view.js";

const configuredSlug = "default";
// What was not saved when its page was left, as objects or as texts of YAML, by short name; the new agent has none.
const unsaved = new Map();

/** Names that a document may choose from; null: this login may not see them. */
async function catalogues(role) {
  const read = (list) => list().then(({ items }) => items).catch(() => null);
  const [sets, tools, servers] = await Promise.all([
    read(api.knowledge.sets),
    role === "admin" ? read(api.tools.list) : null,
    role === "admin" ? read(api.mcpServers.list) : null,
  ]);
  const builtIn = [
    { name: "end_call", about: t("hangs up; every agent may") },
    { name: "transfer_to_operator", about: t("transfers to a person") },
    { name: "send_dtmf", about: t("presses keys") },
    { name: "search_knowledge", about: t("searches the knowledge sets") },
    { name: "schedule_callback", about: t("agrees on another call") },
    { name: "send_sms", about: t("sends a text message to the other party") },
  ];
  return {
    sets: sets?.map(({ name, items }) => ({ name, about: t("{count} entries", { count: items }) })) ?? null,
    tools: tools && [...builtIn, ...tools.map(({ name, description }) => ({ name, about: description }))],
    servers: servers?.map(({ name, url }) => ({ name, about: url })) ?? null,
  };
}

/** @param slug null: a new agent */
export async function agentPage(root, slug, { role, go }) {
  const isNew = slug === null;
  const mayEdit = role !== "viewer" && slug !== configuredSlug;
  const [schema, configured, names, read, list] = await Promise.all([
    api.agents.schema(),
    api.agents.effective(configuredSlug),
    catalogues(role),
    isNew ? { data: {}, tag: null } : api.agents.read(slug),
    isNew ? [] : api.agents.list().then(({ items }) => items),
  ]);
  root.append(template("agent"));
  const state = {
    slug, role, mayEdit,
    /** The document as it is stored, the version's tag, and what is known of the agent. */
    stored: read.data, tag: read.tag,
    about: list.find((one) => one.slug === slug) ?? { live: null, latest: null },
    view: "form",
    reload,
  };
  const summary = part(root, "summary");
  const yaml = part(root, "yaml");
  const form = agentForm(root, { schema, configured, catalogues: names, isNew, mayEdit });
  yaml.readOnly = !mayEdit;

  function showHead() {
    const title = isNew ? t("New agent") : state.stored.name ?? slug;
    document.title = `${title} · Trunkline`;
    cell(root, "name", title);
    const { live, latest } = state.about;
    const words = live === latest
      ? t("{slug} · version {live} is live", { slug, live })
      : t("{slug} · version {live} is live, version {latest} is a draft", { slug, live, latest });
    cell(root, "versions", isNew ? "" : slug === configuredSlug ? t("The configuration: change it there.") : words);
    part(root, "savebar").hidden = !mayEdit;
    root.querySelector('[data-action="archive"]').hidden = isNew || !mayEdit;
    root.querySelector('[data-action="draft"]').hidden = isNew;
    for (const name of ["versions", "effective"]) root.querySelector(`[data-view="${name}"]`).hidden = isNew;
    root.querySelector('[data-view="versions"]').hidden ||= slug === configuredSlug;
    part(root, "try").hidden = isNew || role === "viewer" || slug === configuredSlug;
  }

  // What the document says now: the text of the YAML view while that was changed, else the form's.
  let written = "";
  const isYAML = () => state.view === "yaml" && yaml.value !== written;
  const currentDocument = () => (isYAML() ? yaml.value : form.read());
  const text = (one) => JSON.stringify(ordered(one));
  let clean = "";
  const isChanged = () => mayEdit && (isYAML() || text(form.read()) !== clean);

  function fill(one) {
    form.fill(one);
    yaml.value = written = toYAML(ordered(form.read()));
  }

  function showProblems(fields, message, isFinal = true) {
    const others = form.showErrors(state.view === "yaml" ? [] : fields);
    const all = state.view === "yaml" ? fields.map(({ field, message }) => `${field}: ${message}`) : others;
    const hasText = Boolean(fields.length || message);
    summary.hidden = !hasText;
    if (!hasText) return;
    cell(summary, "title", fields.length
      ? t("{count} things are to be corrected.", { count: fields.length })
      : message);
    part(summary, "list").replaceChildren(...all.map((one) => element("li", one)));
    if (!isFinal) return;
    if (all.length || !fields.length) summary.focus();
    else form.focusError();
  }

  const views = {
    versions: versionsPart(root, state),
    effective: effectivePart(root, state),
  };
  const trial = tryPart(root, state, { go });

  async function showView(name) {
    // The text of the YAML view becomes the form's document, if the server can read it.
    if (isYAML() && name !== "yaml") {
      try {
        const { document: found } = await api.agents.check(yaml.value);
        form.fill(found);
      } catch (problem) {
        showProblems(problem.fields ?? [], problem.message);
        return;
      }
    }
    if (name === "yaml" && state.view !== "yaml") yaml.value = written = toYAML(ordered(form.read()));
    state.view = name;
    showProblems([], "");
    for (const button of root.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === name));
    }
    for (const node of root.querySelectorAll("[data-view-of]")) node.hidden = node.dataset.viewOf !== name;
    part(root, "savebar").hidden = !mayEdit || views[name] !== undefined;
    await views[name]?.show();
  }
  for (const button of root.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => showView(button.dataset.view).catch((problem) => toast(problem.message)));
  }

  async function reload() {
    const [{ data, tag }, { items }] = await Promise.all([api.agents.read(slug), api.agents.list()]);
    [state.stored, state.tag] = [data, tag];
    state.about = items.find((one) => one.slug === slug) ?? state.about;
    fill(data);
    clean = text(form.read());
    showHead();
    trial.show();
  }

  async function run(button, action) {
    button.disabled = true;
    showProblems([], "");
    try { await action(); } catch (problem) { showProblems(problem.fields ?? [], problem.message); }
    button.disabled = false;
  }
  const warn = ({ warning_details: warnings = [] }) => { for (const one of warnings) toast(said(one)); };

  async function save(publish) {
    const note = part(root, "note").value.trim();
    if (isNew) {
      const { data } = await api.agents.create(currentDocument());
      warn(data);
      clean = text(form.read());
      unsaved.delete(slug);
      written = yaml.value;
      go(`/agents/${data.slug}`);
      return;
    }
    const { data } = await api.agents.save(slug, currentDocument(), { publish, note, match: state.tag });
    warn(data);
    part(root, "note").value = "";
    await reload();
    const { latest: version } = data;
    if (data.unchanged) toast(t("Nothing has changed since version {version}.", { version }));
    else toast(publish ? t("Version {version} is live.", { version }) : t("Saved as version {version}.", { version }));
  }
  const button = (name) => root.querySelector(`[data-action="${name}"]`);
  button("check").addEventListener("click", ({ currentTarget }) => run(currentTarget, async () => {
    warn(await api.agents.check(currentDocument()));
    toast(t("No mistakes were found."));
  }));
  button("draft").addEventListener("click", ({ currentTarget }) => run(currentTarget, () => save(false)));
  button("save").addEventListener("click", ({ currentTarget }) => run(currentTarget, () => save(true)));
  part(root, "sections").addEventListener("submit", (event) => event.preventDefault());
  button("archive").addEventListener("click", async ({ currentTarget }) => {
    const question = t("Archive the agent {name}? Calls that exist keep their version.", { name: state.stored.name });
    if (!await confirmed(question, t("Archive"))) return;
    await run(currentTarget, async () => {
      await api.agents.archive(slug);
      clean = text(form.read());
      go("/agents");
    });
  });

  fill(state.stored);
  clean = text(form.read());
  const kept = unsaved.get(slug);
  if (kept !== undefined) {
    unsaved.delete(slug);
    if (typeof kept === "string") {
      await showView("yaml");
      yaml.value = kept;
    } else form.fill(kept);
    toast(t("Your changes are still here. They are not saved yet."));
  }
  showHead();
  trial.show();
  const isLost = (event) => { if (isChanged()) event.preventDefault(); };
  addEventListener("beforeunload", isLost);
  return () => {
    if (isChanged()) unsaved.set(slug, currentDocument());
    removeEventListener("beforeunload", isLost);
  };
}
