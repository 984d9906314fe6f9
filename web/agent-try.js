// A place beside an agent's form to try its stored version: by text, or in this browser.
import * as api from "./api.js";
import { variableInputs } from "./agent-variables.js";
import { putError } from "./form.js";
import { said, t } from "./text.js";
import { cell, element, endReason, part, template, toast } from "./view.js";
import { expectCall } from "./voice.js";

/** A conversation by text. The server keeps none: each step sends all steps again. */
function textTrial(card, { simulate, run }) {
  const lines = part(card, "try-lines");
  const form = part(card, "try-form");
  const found = part(card, "try-answers");
  let steps = [];

  function show({ transcript, answers, is_over: isOver, end_reason: reason }) {
    part(card, "try-text").hidden = false;
    lines.replaceChildren(...transcript.map(({ speaker, text }) => {
      const row = template("try-line").querySelector("li");
      row.dataset.speaker = speaker;
      cell(row, "who", speaker === "ai" ? t("AI") : t("You"));
      cell(row, "text", text || "…");
      return row;
    }));
    found.replaceChildren(...answers.filter(({ status }) => status === "answered").map((answer) => (
      element("li", `${answer.question_text} ${answer.answer_text ?? answer.value}`)
    )));
    form.hidden = isOver;
    part(card, "try-over").hidden = !isOver;
    cell(card, "over", reason ? t("The conversation is over: {reason}.", { reason: endReason(reason) }) : "");
    lines.scrollTop = lines.scrollHeight;
  }

  async function take(step) {
    const next = step === undefined ? [] : [...steps, step];
    await run(async () => {
      show(await simulate(next));
      steps = next;
    });
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = form.elements.words.value.trim();
    if (!words) return;
    await take(/^[0-9*#]+$/.test(words) ? { keys: words } : words);
    form.elements.words.value = "";
    form.elements.words.focus();
  });
  card.querySelector('[data-action="try-silence"]').addEventListener("click", () => take({ silence: true }));
  card.querySelector('[data-action="try-text"]').addEventListener("click", async () => {
    await take();
    if (!form.hidden) form.elements.words.focus();
  });
  return { clear: () => { part(card, "try-text").hidden = true; } };
}

/** @param state of the agent's page */
export function tryPart(root, state, { go }) {
  const card = part(root, "try");
  const list = part(card, "try-variables");
  const error = card.querySelector('[data-error="try"]');
  let values = () => ({});

  /** Runs something; what the server finds wrong stands beside the variables. */
  async function run(action) {
    for (const node of card.querySelectorAll("[data-error]")) node.textContent = "";
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    try { await action(); } catch (problem) {
      const others = [];
      for (const { field, message } of problem.fields ?? []) {
        if (!putError(list, { field, message })) others.push(`${field} ${message}`);
      }
      error.textContent = problem.fields?.length ? others.join("; ") : problem.message;
    }
    for (const button of card.querySelectorAll("button")) button.disabled = false;
  }

  const text = textTrial(card, {
    run,
    simulate: (turns) => api.agents.simulate(state.slug, {
      version: state.about.latest, variables: values(), turns,
    }),
  });
  card.querySelector('[data-action="try-browser"]').addEventListener("click", () => run(async () => {
    const agent = `${state.slug}@${state.about.latest}`;
    // The number is shown to nobody: the call rings here.
    const call = { callee_number: "browser:", caller_number: "000", agent, variables: values() };
    const made = await api.createCall(call);
    for (const warning of made.warning_details ?? []) toast(said(warning));
    expectCall(made.outbound_id);
    go(`/outbound/${made.outbound_id}`);
  }));

  return {
    show() {
      values = variableInputs(list, state.stored.variables ?? []);
      list.hidden = list.children.length === 0;
      cell(card, "tried", t("Version {version} as it is saved.", { version: state.about.latest }));
      text.clear();
    },
  };
}
