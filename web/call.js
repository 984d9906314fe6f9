// One call: answers as they come, the conversation as it was heard, the recording.
import * as api from "./api.js";
import { feed } from "./store.js";
import { isDrafted } from "./new.js";
import { phone } from "./phone.js";
import { t } from "./text.js";
import { waveform } from "./waveform.js";
import { answerStatuses, callID as idOf, cell, duration, element, endReason, fact, isEnded, part, plain, ruleName, showState, template, toast, when } from "./view.js";

const under = { cancel: t("Cancelling"), hangup: t("Hanging up"), retry: t("Queued") };

const queueNames = {
  toRecognizer: t("sound to be recognised"), transcripts: t("what was understood"), sentences: t("sentences to speak"), audio: t("sound to play"),
};

// What an answer's time is made of, in the order in which it passes.
const stages = [["end_of_turn", t("end of turn")], ["speech_to_text", t("speech to text")], ["language_model", t("dialogue")], ["text_to_speech", t("text to speech")], ["queueing", t("queueing")]];

function valueText(answer) {
  if (answer.status !== "answered") return "–";
  if (answer.value === true) return t("Yes");
  if (answer.value === false) return t("No");
  return String(answer.value ?? answer.answer_summary ?? answer.answer_text ?? "");
}

// Of what has no price nobody knows what it costs.
function costText(cost) {
  if (!cost || cost.components.length === 0 || cost.known === "0" && cost.total === "unknown") return "";
  const parts = cost.components.map((part) => `${part.component} ${part.amount}`).join(", ");
  const whole = cost.total === "unknown" ? t("at least {amount}", { amount: cost.known }) : cost.total;
  return `${whole} ${cost.currency} (${parts})`;
}

export async function callPage(root, callID) {
  const isInbound = callID.startsWith("in-");
  let call = await api.call(callID);
  let result = await api.result(callID);
  root.append(template("call"));
  if (isInbound) {
    cell(root, "crumb", t("Incoming calls")).setAttribute("href", "/inbound");
    cell(root, "sides", t("Caller on the left, AI on the right."));
  }
  const audio = root.querySelector('[data-cell="audio"]');
  const transcript = part(root, "transcript");
  let clock = 0;
  let isLeft = false;
  let leaveWave = () => {};
  const telephone = phone(root, callID);
  // What somebody has asked for, until the call is so.
  let wanted = null;

  function playFrom(seconds) {
    audio.currentTime = Math.max(0, seconds);
    audio.play().catch(() => {});
  }

  function showHead() {
    const title = isInbound ? t("Call from {number}", { number: call.caller_number }) : call.purpose;
    document.title = `${title} · Trunkline`;
    cell(root, "purpose", title);
    const state = root.querySelector('[data-cell="state"]');
    showState(state, call.state);
    if (wanted?.state === call.state) state.textContent = wanted.words; else wanted = null;
    const button = (name) => root.querySelector(`[data-action="${name}"]`);
    button("cancel").hidden = !["queued", "dialing", "ringing"].includes(call.state) || isInbound;
    button("hangup").hidden = call.state !== "connected";
    button("retry").hidden = !isEnded(call.state) || isInbound;
    part(root, "onward").hidden = !isEnded(call.state) || !isDrafted(callID);
    const facts = part(root, "facts");
    facts.replaceChildren();
    const isHere = call.callee_number?.startsWith("browser:");
    fact(facts, isInbound ? t("Caller") : t("Callee"), isInbound ? call.caller_number : isHere ? t("Browser of {name}", { name: call.callee_number.slice(8) }) : call.callee_number);
    fact(facts, isInbound ? t("Called") : t("Caller shown"), isInbound ? call.called_number : isHere ? "" : call.caller_number);
    part(root, "sip").closest("section").hidden = Boolean(isHere);
    fact(facts, t("On behalf of"), call.caller_display_name);
    fact(facts, t("Language"), call.language);
    fact(facts, t("Created"), when(call.created_at));
    fact(facts, t("Answered"), when(call.answered_at));
    fact(facts, t("Duration"), duration(liveDuration()));
    fact(facts, t("Ended because"), call.end_reason ? endReason(call.end_reason) : call.failure_reason);
    fact(facts, t("Answered by"), call.answered_by === "unknown" ? "" : plain(call.answered_by));
    fact(facts, t("Next attempt"), when(call.next_attempt_at));
    fact(facts, t("Summary"), result.summary);
    fact(facts, t("Mood"), plain(result.sentiment));
    fact(facts, t("Cost"), costText(result.cost));
    fact(facts, t("For"), call.operator_name);
    const media = result.media;
    if (media?.mos) fact(facts, t("Line"), t("MOS {mos}, {lost} of {all} packets lost, jitter {jitter} ms", { mos: media.mos, lost: media.packets_lost, all: media.packets_received + media.packets_lost, jitter: media.jitter_ms }));
    fact(facts, t("Id"), callID);
    const attempts = part(root, "attempts");
    attempts.replaceChildren();
    const tries = call.attempts ?? [];
    for (const attempt of tries) {
      const outcome = attempt.outcome ? `${plain(attempt.outcome)}${attempt.reason ? `: ${attempt.reason}` : ""}` : t("under way");
      attempts.append(timedRow(attempt.started_at, outcome));
    }
    part(root, "no-attempts").hidden = tries.length > 0;
    part(root, "attempts-card").hidden = isInbound;
    const blocked = call.blocked ?? [];
    part(root, "blocked").hidden = blocked.length === 0;
    part(root, "blocks").replaceChildren(
      ...blocked.map((one) => timedRow(one.at, ruleName(one.rule) + (one.until ? `: ${t("waits until {time}", { time: when(one.until) })}` : ""), one.detail)));
    part(root, "say").hidden = call.state !== "connected";
    part(root, "transfer").hidden = call.state !== "connected";
    const transfers = call.transfers ?? [];
    part(root, "transfers-card").hidden = transfers.length === 0;
    part(root, "transfers").replaceChildren(
      ...transfers.map((one) => timedRow(one.at, `${one.name}: ${plain(one.outcome)}${one.reason ? `, ${one.reason}` : ""}`)));
  }

  function timedRow(at, words, title = "") {
    const row = document.createElement("li");
    const time = document.createElement("span");
    const text = document.createElement("span");
    time.textContent = when(at);
    text.className = "muted";
    text.textContent = words;
    text.title = title;
    row.append(time, text);
    return row;
  }

  async function showSIP() {
    const trace = await api.sipTrace(callID);
    cell(root, "ladder", trace.ladder || t("Nothing is kept: no SIP leg of ours carried the call."));
    part(root, "messages").replaceChildren(...trace.items.map((message) => {
      const details = document.createElement("details");
      const summary = document.createElement("summary");
      const text = document.createElement("pre");
      summary.textContent = `${message.direction === "sent" ? "→" : "←"} ${message.summary}`;
      text.textContent = message.text;
      details.append(summary, text);
      return details;
    }));
  }

  function liveDuration() {
    if (call.state === "connected" && call.answered_at) return (Date.now() - Date.parse(call.answered_at)) / 1000;
    return call.duration_seconds;
  }

  function showAnswers() {
    const list = part(root, "answers");
    list.replaceChildren();
    part(root, "questions").hidden = result.answers.length === 0;
    const settled = result.answers.filter((answer) => answer.status !== "pending").length;
    cell(root, "progress", t("{count} of {all}", { count: settled, all: result.answers.length }));
    const bar = root.querySelector('[data-cell="bar"]');
    bar.max = result.answers.length || 1;
    bar.value = settled;
    for (const answer of result.answers) {
      const row = template("answer").querySelector("li");
      cell(row, "question", answer.question_text);
      cell(row, "value", valueText(answer));
      const [name, tone] = answerStatuses.get(answer.status) ?? [answer.status, ""];
      const chip = cell(row, "status", name);
      if (tone) chip.dataset.tone = tone;
      cell(row, "words", answer.answer_text);
      cell(row, "confidence", answer.confidence == null ? "" : t("confidence {percent} %", { percent: Math.round(answer.confidence * 100) }));
      const correction = (result.corrections ?? []).findLast((one) => one.question_id === answer.question_id);
      if (correction) cell(row, "corrected", t("Corrected by {name}, {time}", { name: correction.by, time: when(correction.at) })).hidden = false;
      const play = row.querySelector('[data-cell="play"]');
      if (answer.evidence && result.recording_url && result.final) {
        play.hidden = false;
        play.addEventListener("click", () => playFrom(answer.evidence.start_ms / 1000 - 0.3));
      }
      showCorrection(row, answer);
      list.append(row);
    }
  }

  // What the AI understood can be set right once the call is over; the record keeps both.
  function showCorrection(row, answer) {
    const change = row.querySelector('[data-cell="change"]');
    const form = part(row, "correct");
    change.hidden = !isEnded(call.state);
    change.addEventListener("click", () => {
      form.hidden = !form.hidden;
      if (form.hidden) return;
      form.elements.text.value = answer.status === "answered" ? valueText(answer) : "";
      form.elements.text.focus();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const text = form.elements.text.value.trim();
      try {
        await api.correct(callID, answer.question_id, { value: typedValue(text, answer), answer_text: answer.answer_text ?? text });
        await refresh();
      } catch (problem) { toast(problem.message); }
    });
  }

  // In the type that the question asks for; what is none is refused by the server, in words.
  function typedValue(text, answer) {
    const type = (call.questions ?? []).find((one) => one.id === answer.question_id)?.type ?? typeof answer.value;
    if (type === "boolean") return [t("Yes"), "yes", "Yes", "true"].includes(text) ? true : [t("No"), "no", "No", "false"].includes(text) ? false : text;
    if (type === "number" && text !== "" && Number.isFinite(Number(text))) return Number(text);
    return text;
  }

  async function showDeliveries() {
    const { items } = await api.deliveries.list({ outbound_id: callID, limit: 200 });
    part(root, "deliveries-card").hidden = items.length === 0;
    part(root, "deliveries").replaceChildren(...items.slice(0, 20).map((one) =>
      timedRow(one.created_at, `${one.event}: ${plain(one.state)}${one.last_status ? ` (${one.last_status})` : ""}`, one.endpoint)));
  }

  function showQueues() {
    const queues = call.queues ?? [];
    part(root, "queues-card").hidden = queues.length === 0;
    part(root, "queues").replaceChildren(...queues.map((one) => {
      const row = document.createElement("li");
      row.append(element("span", queueNames[one.name] ?? one.name), element("span", t("{depth} of {limit}, most {peak}, dropped {dropped}", one), "muted"));
      return row;
    }));
  }

  function addEntry(entry) {
    const row = template("entry").querySelector("li");
    row.dataset.speaker = entry.speaker;
    cell(row, "who", entry.speaker === "ai" ? t("AI") : isInbound ? t("Caller") : t("Callee"));
    cell(row, "time", duration(entry.timestamp)).addEventListener("click", () => playFrom(entry.timestamp));
    if (entry.interrupted) {
      const heard = entry.heard_text ?? "";
      cell(row, "heard", heard);
      const rest = row.querySelector('[data-cell="unheard"]');
      rest.hidden = false;
      rest.textContent = ` ${entry.text.startsWith(heard) ? entry.text.slice(heard.length).trim() : entry.text}`;
      rest.title = t("not heard: the callee cut in");
    } else {
      cell(row, "heard", entry.text || t("(not understood)"));
    }
    if (entry.sources) cell(row, "sources", t("Source: {names}", { names: entry.sources.join(", ") })).hidden = false;
    transcript.append(row);
    part(root, "no-transcript").hidden = true;
    cell(root, "turns", t("{count} turns", { count: transcript.children.length }));
  }

  function showTranscript() {
    transcript.replaceChildren();
    part(root, "no-transcript").hidden = result.transcript.length > 0;
    for (const entry of result.transcript) addEntry(entry);
  }

  function showRecording() {
    const ready = result.final && result.recording_url;
    part(root, "recording").hidden = !ready;
    if (ready && audio.getAttribute("src") !== result.recording_url) {
      audio.src = result.recording_url;
      leaveWave();
      waveform(part(root, "wave"), audio, result.recording_url, result.transcript).then((leave) => {
        if (isLeft) leave(); else leaveWave = leave;
      }).catch(() => {});
    }
    const latency = result.latency;
    part(root, "latency").hidden = !latency;
    if (!latency) return;
    const list = part(root, "latencies");
    list.replaceChildren();
    const show = (name, value) => fact(list, name, `${value.p50_ms} ms, p95 ${value.p95_ms} ms`);
    show(t("Whole"), latency.voice_to_voice);
    show(t("End of turn"), latency.end_of_turn);
    show(t("Speech to text"), latency.speech_to_text);
    show(t("Dialogue"), latency.language_model);
    show(t("Text to speech"), latency.text_to_speech);
    showWaterfall(latency.each ?? []);
  }

  // One bar an answer: what passed between the callee's last word and our first sound, in its order.
  function showWaterfall(answers) {
    const list = part(root, "waterfall");
    list.replaceChildren();
    const longest = Math.max(1, ...answers.map((one) => one.voice_to_voice_ms));
    for (const one of answers) {
      const row = template("waterfall").querySelector("li");
      const entry = result.transcript[one.turn];
      cell(row, "at", entry ? duration(entry.timestamp) : "");
      cell(row, "whole", `${one.voice_to_voice_ms} ms`);
      const said = [];
      for (const [stage, name] of stages) {
        const ms = one[`${stage}_ms`];
        said.push(`${name} ${ms} ms`);
        const bar = row.querySelector(`[data-stage="${stage}"]`);
        bar.style.width = `${(100 * ms) / longest}%`;
        bar.title = `${name}: ${ms} ms`;
      }
      row.querySelector('[data-cell="bar"]').setAttribute("aria-label", said.join(", "));
      list.append(row);
    }
    part(root, "legend").hidden = answers.length === 0;
  }

  function showAll() {
    showHead();
    telephone.show(call);
    showQueues();
    showAnswers();
    showTranscript();
    showRecording();
  }

  async function refresh() {
    [call, result] = await Promise.all([api.call(callID), api.result(callID)]);
    showAll();
  }

  const onEvent = ({ detail }) => {
    if (idOf(detail) !== callID) return;
    if (detail.event.endsWith("_transcript")) {
      result.transcript.push(detail.entry);
      addEntry(detail.entry);
    } else if (detail.event.endsWith("_progress") && !isEnded(call.state)) {
      for (const change of detail.answers) {
        const answer = result.answers.find((one) => one.question_id === change.question_id);
        if (answer) Object.assign(answer, change);
      }
      showAnswers();
    } else {
      refresh().then(showDeliveries).catch((problem) => { if (problem.status !== 403) toast(problem.message); });
    }
  };
  feed.addEventListener("event", onEvent);
  for (const button of root.querySelectorAll("[data-action]")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      // Shown at once; taken back, with the reason, where the server does not want it.
      wanted = { state: call.state, words: under[button.dataset.action] };
      showHead();
      try { await api.act(callID, button.dataset.action); } catch (problem) {
        wanted = null;
        toast(problem.message);
        await refresh().catch(() => showHead());
      }
      button.disabled = false;
    });
  }
  part(root, "transfer").addEventListener("click", async (event) => {
    event.currentTarget.disabled = true;
    try { await api.transfer(callID); } catch (problem) { toast(problem.message); }
    part(root, "transfer").disabled = false;
  });
  part(root, "sip").addEventListener("toggle", (event) => {
    if (event.currentTarget.open) showSIP().catch((problem) => toast(problem.message));
  });
  part(root, "say").addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      await api.say(callID, form.elements.text.value);
      form.reset();
    } catch (problem) { toast(problem.message); }
    button.disabled = false;
  });
  showAll();
  // What happened between the first answer and the subscription.
  refresh().catch(() => {});
  // Those who may only look do not see deliveries.
  const deliveries = () => showDeliveries().catch(() => {});
  deliveries();
  let beats = 0;
  clock = setInterval(() => {
    if (document.hidden) return;
    beats += 1;
    if (call.state === "connected") showHead();
    if (beats % 3 === 0 && !isEnded(call.state)) {
      api.call(callID).then((fresh) => { call = fresh; showQueues(); }).catch(() => {});
      deliveries();
    }
  }, 1000);
  return () => {
    isLeft = true;
    clearInterval(clock);
    leaveWave();
    telephone.leave();
    feed.removeEventListener("event", onEvent);
    audio.pause();
  };
}
