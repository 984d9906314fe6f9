// The answers of a call as they come, and their correction afterwards.
import * as api from "./api.js";
import { t } from "./text.js";
import { answerStatuses, cell, isEnded, part, template, toast, when } from "./view.js";

function valueText(answer) {
  if (answer.status !== "answered") return "–";
  if (answer.value === true) return t("Yes");
  if (answer.value === false) return t("No");
  return String(answer.value ?? answer.answer_summary ?? answer.answer_text ?? "");
}

// A value of the type that the question asks for. The server refuses other values with a reason.
function typedValue(text, type) {
  if (type === "boolean") {
    if ([t("Yes"), "yes", "Yes", "true"].includes(text)) return true;
    return [t("No"), "no", "No", "false"].includes(text) ? false : text;
  }
  return type === "number" && text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function answersPart(page) {
  const { root, callID } = page;

  // An answer can be corrected once the call is over. The record keeps both values.
  function showCorrection(row, answer) {
    const change = row.querySelector('[data-cell="change"]');
    const form = part(row, "correct");
    change.hidden = !isEnded(page.call.state);
    change.addEventListener("click", () => {
      form.hidden = !form.hidden;
      if (form.hidden) return;
      form.elements.text.value = answer.status === "answered" ? valueText(answer) : "";
      form.elements.text.focus();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const text = form.elements.text.value.trim();
      const question = (page.call.questions ?? []).find((one) => one.id === answer.question_id);
      const value = typedValue(text, question?.type ?? typeof answer.value);
      try {
        await api.correct(callID, answer.question_id, { value, answer_text: answer.answer_text ?? text });
        await page.refresh();
      } catch (problem) { toast(problem.message); }
    });
  }

  function rowOf(answer) {
    const { result } = page;
    const row = template("answer").querySelector("li");
    cell(row, "question", answer.question_text);
    cell(row, "value", valueText(answer));
    const [name, tone] = answerStatuses.get(answer.status) ?? [answer.status, ""];
    const chip = cell(row, "status", name);
    if (tone) chip.dataset.tone = tone;
    cell(row, "words", answer.answer_text);
    const percent = Math.round(answer.confidence * 100);
    cell(row, "confidence", answer.confidence == null ? "" : t("confidence {percent} %", { percent }));
    const correction = (result.corrections ?? []).findLast((one) => one.question_id === answer.question_id);
    if (correction) {
      const words = t("Corrected by {name}, {time}", { name: correction.by, time: when(correction.at) });
      cell(row, "corrected", words).hidden = false;
    }
    const play = row.querySelector('[data-cell="play"]');
    if (answer.evidence && result.recording_url && result.final) {
      play.hidden = false;
      play.addEventListener("click", () => page.playFrom(answer.evidence.start_ms / 1000 - 0.3));
    }
    showCorrection(row, answer);
    return row;
  }

  function show() {
    const { answers } = page.result;
    part(root, "questions").hidden = answers.length === 0;
    // As `Question.isSettled`: what stayed unclear is not done.
    const settled = answers.filter((answer) => ["answered", "refused"].includes(answer.status)).length;
    cell(root, "progress", t("{count} of {all}", { count: settled, all: answers.length }));
    const bar = root.querySelector('[data-cell="bar"]');
    bar.max = answers.length || 1;
    bar.value = settled;
    part(root, "answers").replaceChildren(...answers.map(rowOf));
  }

  function change(changes) {
    for (const one of changes) {
      const answer = page.result.answers.find((known) => known.question_id === one.question_id);
      if (answer) Object.assign(answer, one);
    }
    show();
  }
  return { show, change };
}
