// A place beside an agent's form to try its stored version: by text, or in this browser.
import * as api from "./api.js";
import { variableInputs } from "./agent-variables.js";
import { said, t } from "./text.js";
import { cell, part, toast } from "./view.js";
import { expectCall } from "./voice.js";

export function tryPart(root, state, { go }) {
  const card = part(root, "try");
  const list = part(card, "try-variables");
  const error = card.querySelector('[data-error="try"]');
  let values = () => ({});

  function fail(problem) {
    error.textContent = problem.fields?.length
      ? problem.fields.map(({ field, message }) => `${field.replace(/^variables\./, "")} ${message}`).join("; ")
      : problem.message;
  }

  card.querySelector('[data-action="try-browser"]').addEventListener("click", async ({ currentTarget }) => {
    currentTarget.disabled = true;
    error.textContent = "";
    try {
      const agent = state.slug === "default" ? state.slug : `${state.slug}@${state.about.latest}`;
      // The number is shown to nobody: the call rings here.
      const call = { callee_number: "browser:", caller_number: "000", agent, variables: values() };
      const made = await api.createCall(call);
      for (const warning of made.warning_details ?? []) toast(said(warning));
      expectCall(made.outbound_id);
      go(`/outbound/${made.outbound_id}`);
    } catch (problem) { fail(problem); }
    currentTarget.disabled = false;
  });

  return {
    show() {
      values = variableInputs(list, state.stored.variables ?? []);
      const version = state.about.latest;
      cell(card, "tried", t("Version {version} as it is saved.", { version }));
    },
    leave() {},
  };
}
