// The form for a new call. The server decides what is right; its answer names every bad field.
import * as api from "./api.js";
import { agentPart } from "./call-agent.js";
import { streamPart } from "./call-stream.js";
import { complaint, limit, member, warn } from "./form.js";
import { questionList } from "./questions.js";
import { said, t } from "./text.js";
import { element, part, template, toast } from "./view.js";
import { expectCall } from "./voice.js";

// A call that was placed to this browser first: what stood in the form, for the call to the number itself.
let draft = null;
/** Whether the form of this call can be had again. */
export const isDrafted = (callID) => draft?.callID === callID;

export async function newPage(root, go) {
  document.title = `${t("New call")} · Trunkline`;
  const schema = await api.form("outbound");
  root.append(template("new"));
  const form = root.querySelector("form");
  part(root, "asked").replaceWith(template("questions"));
  const questions = part(root, "questions");
  const asked = questionList(questions, root.querySelector('[data-action="add-question"]'), schema);

  // What a template says may be changed before the call.
  const chosen = form.elements.template;
  let templates = [];
  api.templates.list().then(({ items }) => {
    templates = items;
    part(form, "template").hidden = items.length === 0;
    for (const one of items) {
      const option = element("option", one.name);
      option.value = one.id;
      chosen.append(option);
    }
  }).catch(() => {});
  chosen.addEventListener("change", () => {
    const one = templates.find((item) => item.id === chosen.value);
    if (!one) return;
    form.purpose.value = one.purpose;
    form.caller_display_name.value = one.caller_display_name ?? "";
    form.language.value = one.language ?? "";
    form.language.dispatchEvent(new Event("change"));
    asked.fill(one.questions);
  });

  const fields = [...form.elements].filter((one) => one.name && one.name !== "template" && !questions.contains(one));
  const stream = streamPart(form, schema);
  const agent = await agentPart(form);
  for (const one of fields) {
    const [group, name] = one.name.split(".");
    // A group may be left out whole.
    if (name) limit(one, { ...member(schema, group), required: [] }, name);
    else limit(one, schema);
  }
  warn(form.language, schema);
  const value = (one) => (one.type === "checkbox" ? "checked" : "value");
  const written = () => ({
    fields: Object.fromEntries(fields.map((one) => [one.name, one[value(one)]])),
    questions: asked.read(), variables: agent.read().variables ?? {},
  });
  if (draft) {
    for (const one of fields) one[value(one)] = draft.fields[one.name];
    await agent.choose(draft.fields.agent, draft.variables);
    form.language.dispatchEvent(new Event("change"));
    asked.fill(draft.questions);
    draft = null;
  }

  function body() {
    const call = {};
    for (const name of ["callee_number", "caller_number", "caller_display_name", "purpose", "language"]) {
      if (form[name].value.trim()) call[name] = form[name].value.trim();
    }
    for (const one of fields) if (one.type === "number" && one.value !== "") call[one.name] = Number(one.value);
    if (form.scheduled_at.value) call.scheduled_at = new Date(form.scheduled_at.value).toISOString();
    call.retry_on_no_answer = form.retry_on_no_answer.checked;
    call.questions = asked.read();
    call.stream = stream();
    Object.assign(call, agent.read());
    // The agent's own questions are asked where none are written.
    if (call.agent && call.questions.every((one) => !(one.text ?? one))) delete call.questions;
    return call;
  }

  // A header's or a parameter's error stands at all of them.
  const controlOf = (field) => field.replace(/^(stream\.\w+)\..*$/, "$1").replace(/^stream$/, "stream.url");

  function showErrors(problem, isFinal = true) {
    const rest = [];
    for (const { field: name, message } of problem.fields) {
      const field = controlOf(name);
      const row = field.match(/^questions\[(\d+)\]/);
      const target = row ? questions.children[Number(row[1])]?.querySelector("[data-error-row]") : form.querySelector(
        `[data-error="${CSS.escape(field)}"]`
      );
      if (target) target.textContent += (target.textContent ? " " : "") + complaint(message);
      else rest.push(`${name} ${message}`);
      (
        row ? questions.children[Number(row[1])]?.querySelector("input") : form.elements[field]
      )?.setAttribute?.("aria-invalid", "true");
    }
    form.querySelector('[data-error=""]').textContent = problem.fields.length ? rest.join("; ") : problem.message;
    if (!isFinal) return;
    const wrong = form.querySelector('[aria-invalid="true"]');
    wrong?.closest("details")?.setAttribute("open", "");
    wrong?.focus();
  }

  // While the form is filled in, the server checks it. Errors of fields that the user has not touched are not shown.
  const touched = new Set();
  let timer = 0;
  let version = 0;
  async function check() {
    const mine = ++version;
    let fields = [];
    try { await api.checkCall(body()); } catch (problem) {
      if (problem.status !== 422) return;
      fields = problem.fields;
    }
    if (mine !== version) return;
    clearErrors();
    showErrors({
      fields: fields.filter(({ field }) => touched.has(controlOf(field).replace(/^questions\[.*$/, "questions"))),
      message: "" },
      false,
    );
  }
  form.addEventListener("input", ({ target }) => {
    touched.add(target.name || "questions");
    clearTimeout(timer);
    timer = setTimeout(() => check().catch(() => {}), 400);
  });

  function clearErrors() {
    for (const node of form.querySelectorAll("[data-error], [data-error-row]")) node.textContent = "";
    for (const node of form.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
  }

  // The same call, first in the user's own browser: the agent is tried without a telephone. Its caller number is not
  // shown.
  const here = (call) => ({ ...call, callee_number: "browser:", caller_number: call.caller_number ?? "000" });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isHere = event.submitter?.value === "browser";
    clearTimeout(timer);
    version += 1;
    clearErrors();
    const buttons = form.querySelectorAll('[type="submit"]');
    for (const button of buttons) button.disabled = true;
    try {
      const created = await api.createCall(isHere ? here(body()) : body());
      if (isHere) {
        expectCall(created.outbound_id);
        draft = { callID: created.outbound_id, ...written() };
      }
      for (const warning of created.warning_details ?? []) toast(said(warning));
      go(`/outbound/${created.outbound_id}`);
    } catch (problem) {
      showErrors(problem);
      for (const button of buttons) button.disabled = false;
    }
  });
  form.callee_number.focus();
  return () => {
    clearTimeout(timer);
    version += 1;
  };
}
