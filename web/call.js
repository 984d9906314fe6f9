// One call: its page is made of parts, each in a module of its own.
import * as api from "./api.js";
import { answersPart } from "./call-answers.js";
import { headPart } from "./call-head.js";
import { listsPart } from "./call-lists.js";
import { recordingPart } from "./call-recording.js";
import { toolsPart } from "./call-tools.js";
import { transcriptPart } from "./call-transcript.js";
import { graphPart } from "./graph.js";
import { phone } from "./phone.js";
import { feed } from "./store.js";
import { t } from "./text.js";
import { callID as idOf, cell, isEnded, part, template, toast } from "./view.js";

// Seconds between two looks at a call that has not ended.
const lookEvery = 3;

/** What the parts of the page share: the call, its result, and functions that they call on each other. */
function context(root, callID, call, result) {
  const audio = root.querySelector('[data-cell="audio"]');
  return {
    root,
    callID,
    call,
    result,
    isInbound: callID.startsWith("in-"),
    audio,
    playFrom(seconds) {
      audio.currentTime = Math.max(0, seconds);
      audio.play().catch(() => {});
    },
    refresh: async () => {},
  };
}

/** What an operator can do with the call besides its buttons. */
function controls({ root, callID }) {
  part(root, "transfer").addEventListener("click", async (event) => {
    event.currentTarget.disabled = true;
    try { await api.transfer(callID); } catch (problem) { toast(problem.message); }
    part(root, "transfer").disabled = false;
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
}

export async function callPage(root, callID) {
  const [call, result] = [await api.call(callID), await api.result(callID)];
  root.append(template("call"));
  const page = context(root, callID, call, result);
  if (page.isInbound) {
    cell(root, "crumb", t("Incoming calls")).setAttribute("href", "/inbound");
    cell(root, "sides", t("Caller on the left, AI on the right."));
  }
  const head = headPart(page);
  const answers = answersPart(page);
  const tools = toolsPart(page);
  const transcript = transcriptPart(page, tools);
  const recording = recordingPart(page);
  const lists = listsPart(page);
  const graph = graphPart(page);
  const telephone = phone(root, callID);
  controls(page);

  function showAll() {
    head.show();
    lists.show();
    telephone.show(page.call);
    graph.show();
    answers.show();
    transcript.show();
    recording.show();
  }
  page.refresh = async () => {
    [page.call, page.result] = await Promise.all([api.call(callID), api.result(callID)]);
    showAll();
  };
  const look = () => page.refresh().then(lists.showDeliveries);

  const onEvent = ({ detail }) => {
    if (idOf(detail) !== callID && detail.event !== "poll") return;
    if (detail.event.endsWith("_transcript")) {
      page.result.transcript.push(detail.entry);
      transcript.add(detail.entry);
    } else if (detail.event.endsWith("_tool_started")) {
      tools.started(detail);
      transcript.show();
    } else if (detail.event.endsWith("_progress") && !isEnded(page.call.state)) {
      answers.change(detail.answers);
    } else {
      if (detail.event.endsWith("_tool_finished")) tools.finished(detail);
      look().catch((problem) => { if (problem.status !== 403) toast(problem.message); });
    }
  };
  feed.addEventListener("event", onEvent);
  showAll();
  // Catches up on changes between the first reading and the subscription to events.
  page.refresh().catch(() => {});
  // Viewers get 403 for deliveries.
  const deliveries = () => lists.showDeliveries().catch(() => {});
  deliveries();
  let seconds = 0;
  const clock = setInterval(() => {
    if (document.hidden) return;
    seconds += 1;
    if (page.call.state === "connected") head.show();
    if (seconds % lookEvery === 0 && !isEnded(page.call.state)) deliveries();
  }, 1000);
  return () => {
    clearInterval(clock);
    recording.leave();
    graph.leave();
    telephone.leave();
    feed.removeEventListener("event", onEvent);
    page.audio.pause();
  };
}
