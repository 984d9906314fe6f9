// The recording of a call, and what its response times are made of.
import { t } from "./text.js";
import { cell, duration, fact, part, template } from "./view.js";
import { waveform } from "./waveform.js";

// The parts of a response time, in order.
const steps = [
  ["end_of_turn", t("end of turn")],
  ["speech_to_text", t("speech to text")],
  ["language_model", t("dialogue")],
  ["text_to_speech", t("text to speech")],
  ["queueing", t("queueing")],
];

// One bar a response: the parts of the time from the callee's last word to the AI's first sound.
function showWaterfall({ root, result }, answers) {
  const longest = Math.max(1, ...answers.map((one) => one.voice_to_voice_ms));
  part(root, "waterfall").replaceChildren(...answers.map((one) => {
    const row = template("waterfall").querySelector("li");
    const entry = result.transcript[one.turn];
    cell(row, "at", entry ? duration(entry.timestamp) : "");
    cell(row, "whole", `${one.voice_to_voice_ms} ms`);
    const said = [];
    for (const [step, name] of steps) {
      const ms = one[`${step}_ms`];
      said.push(`${name} ${ms} ms`);
      const bar = row.querySelector(`[data-stage="${step}"]`);
      bar.style.width = `${(100 * ms) / longest}%`;
      bar.title = `${name}: ${ms} ms`;
    }
    row.querySelector('[data-cell="bar"]').setAttribute("aria-label", said.join(", "));
    return row;
  }));
  part(root, "legend").hidden = answers.length === 0;
}

function showLatency(page) {
  const { latency } = page.result;
  part(page.root, "latency").hidden = !latency;
  if (!latency) return;
  const list = part(page.root, "latencies");
  list.replaceChildren();
  const show = (name, value) => fact(list, name, `${value.p50_ms} ms, p95 ${value.p95_ms} ms`);
  show(t("Total"), latency.voice_to_voice);
  show(t("End of turn"), latency.end_of_turn);
  show(t("Speech to text"), latency.speech_to_text);
  show(t("Dialogue"), latency.language_model);
  show(t("Text to speech"), latency.text_to_speech);
  showWaterfall(page, latency.each ?? []);
}

export function recordingPart(page) {
  const { root, audio } = page;
  let isLeft = false;
  let leaveWave = () => {};

  function show() {
    const { result } = page;
    const ready = result.final && result.recording_url;
    part(root, "recording").hidden = !ready;
    if (ready && audio.getAttribute("src") !== result.recording_url) {
      audio.src = result.recording_url;
      leaveWave();
      waveform(part(root, "wave"), audio, result.recording_url, result.transcript).then((leave) => {
        if (isLeft) leave();
        else leaveWave = leave;
      }).catch(() => {});
    }
    showLatency(page);
  }

  function leave() {
    isLeft = true;
    leaveWave();
  }
  return { show, leave };
}
