// What the page calls the stages and edges of a call's graph. A new stage or edge gets a line here.
import { t } from "./text.js";

const stageNames = {
  "receive": t("Receive"),
  "voice-activity": t("Voice activity"),
  "turns": t("Turns"),
  "barge-in": t("Barge-in"),
  "noise-gate": t("Noise gate"),
  "speech-to-text": t("Speech to text"),
  "dialogue": t("Dialogue"),
  "language-model": t("Language model"),
  "text-to-speech": t("Text to speech"),
  "speech-model": t("Speech model"),
  "resample": t("Resample"),
  "frame": t("Frame"),
  "encode": t("Encode"),
  "pacer": t("Pacer"),
};
const edgeNames = {
  heard: t("heard"),
  transcripts: t("transcripts"),
  requests: t("requests"),
  responses: t("responses"),
  sentences: t("sentences"),
  audio: t("audio"),
  speech: t("speech"),
};
export const whenFull = {
  wait: t("the previous stage waits"),
  drop_oldest: t("the oldest item is dropped"),
  pause_source: t("reading from the source pauses"),
};
export const laneNames = { caller: t("Caller"), conversation: t("Conversation"), ai: t("AI") };
export const stageName = (stage) => stageNames[stage] ?? stage;
export const edgeName = (edge) => edgeNames[edge] ?? edge;

/** Milliseconds with two significant digits, to the microsecond; a dash where nothing was measured. */
export function milliseconds(value) {
  if (value == null) return "–";
  return value >= 10 ? Math.round(value) : Number(Number(value.toPrecision(2)).toFixed(3));
}
