// The part of the form for a new call that chooses an agent and fills in its variables.
import * as api from "./api.js";
import { variableInputs } from "./agent-variables.js";
import { t } from "./text.js";
import { element, part, toast } from "./view.js";

/** @returns `choose(slug)`, and `read()`: what it adds to the call's request; nothing without an agent. */
export async function agentPart(form) {
  const select = form.elements.agent;
  const list = part(form, "variables");
  const about = part(form, "agent-about");
  const usual = { purpose: form.purpose.placeholder, language: form.language.options[0].textContent };
  let values = () => ({});
  let version = 0;
  const agents = await api.agents.list().then(({ items }) => items.filter(({ live }) => live > 0), () => []);
  part(form, "agent").hidden = agents.length === 0;
  for (const { slug, name } of agents) {
    const option = element("option", name);
    option.value = slug;
    select.append(option);
  }

  async function show() {
    const mine = ++version;
    const chosen = agents.find(({ slug }) => slug === select.value);
    const document = chosen ? (await api.agents.read(chosen.slug, chosen.live)).data : {};
    if (mine !== version) return;
    const { purpose, questions = [], variables = [], language } = document;
    values = variableInputs(list, variables);
    list.hidden = variables.length === 0;
    form.purpose.placeholder = purpose ?? usual.purpose;
    form.language.options[0].textContent = language ? t("The agent's: {language}", { language }) : usual.language;
    about.textContent = !chosen ? "" : questions.length
      ? t("Version {version} asks {count} questions. Purpose and questions below replace its own.", {
        version: chosen.live, count: questions.length,
      })
      : t("Version {version}. A purpose below replaces its own.", { version: chosen.live });
  }
  select.addEventListener("change", () => show().catch((problem) => toast(problem.message)));
  return {
    async choose(slug, filled) {
      select.value = slug;
      await show();
      for (const one of list.querySelectorAll("input")) one.value = filled[one.dataset.variable] ?? "";
    },
    read() {
      if (!select.value) return {};
      const variables = values();
      return { agent: select.value, ...(Object.keys(variables).length ? { variables } : {}) };
    },
  };
}
