// The head of a call's page: what it is about, how it stands, its buttons and facts.
import * as api from "./api.js";
import { dialectName, wayOf } from "./carriers.js";
import { isDrafted } from "./new.js";
import { t } from "./text.js";
import { cell, duration, endReason, fact, isEnded, part, plain, showState, toast, when } from "./view.js";

const under = { cancel: t("Cancelling"), hangup: t("Hanging up"), retry: t("Queued") };

// A component without a price makes the total unknown.
function costText(cost) {
  if (!cost || cost.components.length === 0 || cost.known === "0" && cost.total === "unknown") return "";
  const parts = cost.components.map((one) => `${one.component} ${one.amount}`).join(", ");
  const whole = cost.total === "unknown" ? t("at least {amount}", { amount: cost.known }) : cost.total;
  return `${whole} ${cost.currency} (${parts})`;
}

function lineText(media) {
  if (!media?.mos) return "";
  return t("MOS {mos}, {lost} of {all} packets lost, jitter {jitter} ms", {
    mos: media.mos,
    lost: media.packets_lost,
    all: media.packets_received + media.packets_lost,
    jitter: media.jitter_ms,
  });
}

function liveDuration(call) {
  if (call.state === "connected" && call.answered_at) return (Date.now() - Date.parse(call.answered_at)) / 1000;
  return call.duration_seconds;
}

function showStream(facts, { url, dialect, headers, parameters }) {
  fact(facts, t("Conversation held by"), [url, `(${dialectName(dialect)})`].filter(Boolean).join(" "));
  fact(facts, t("Headers for that server"), headers.join(", "));
  fact(facts, t("Parameters for that server"), parameters.join(", "));
}

/** The agent's version that the call began with. */
function showAgent(facts, agent) {
  if (!agent?.version) return;
  fact(facts, t("Agent"), " ");
  const link = document.createElement("a");
  link.href = `/agents/${agent.slug}`;
  link.dataset.link = "";
  link.textContent = t("{slug}, version {version}", agent);
  facts.lastElementChild.querySelector("dd").replaceChildren(link);
}

function showFacts({ root, callID, call, result, isInbound }) {
  const facts = part(root, "facts");
  facts.replaceChildren();
  const isHere = call.callee_number?.startsWith("browser:");
  const callee = isHere ? t("Browser of {name}", { name: call.callee_number.slice(8) }) : call.callee_number;
  fact(facts, isInbound ? t("Caller") : t("Callee"), isInbound ? call.caller_number : callee);
  const shown = isHere ? "" : call.caller_number;
  fact(facts, isInbound ? t("Called") : t("Caller shown"), isInbound ? call.called_number : shown);
  part(root, "sip").closest("section").hidden = Boolean(isHere);
  fact(facts, t("On behalf of"), call.caller_display_name);
  showAgent(facts, call.agent);
  fact(facts, t("Language"), call.language);
  fact(facts, t("Created"), when(call.created_at));
  fact(facts, t("Answered"), when(call.answered_at));
  fact(facts, t("Duration"), duration(liveDuration(call)));
  fact(facts, t("Ended because"), call.end_reason ? endReason(call.end_reason) : call.failure_reason);
  fact(facts, t("Stream failed"), call.stream_failure);
  fact(facts, t("Answered by"), call.answered_by === "unknown" ? "" : plain(call.answered_by));
  fact(facts, t("Next attempt"), when(call.next_attempt_at));
  fact(facts, t("Summary"), result.summary);
  fact(facts, t("Sentiment"), plain(result.sentiment));
  fact(facts, t("Cost"), costText(result.cost));
  fact(facts, t("Carrier"), wayOf(call));
  if (call.stream) showStream(facts, call.stream);
  fact(facts, t("Requested operator"), call.operator_name);
  fact(facts, t("Line"), lineText(result.media));
  fact(facts, t("Id"), callID);
}

export function headPart(page) {
  const { root, callID, isInbound } = page;
  // The state that a pressed button asks for, until the call reaches it.
  let wanted = null;

  function show() {
    const { call } = page;
    const title = isInbound ? t("Call from {number}", { number: call.caller_number }) : call.purpose;
    document.title = `${title} · Trunkline`;
    cell(root, "purpose", title);
    const state = root.querySelector('[data-cell="state"]');
    showState(state, call.state);
    if (wanted?.state === call.state) state.textContent = wanted.words;
    else wanted = null;
    const button = (name) => root.querySelector(`[data-action="${name}"]`);
    button("cancel").hidden = !["queued", "dialing", "ringing"].includes(call.state) || isInbound;
    button("hangup").hidden = call.state !== "connected";
    button("retry").hidden = !isEnded(call.state) || isInbound;
    part(root, "onward").hidden = !isEnded(call.state) || !isDrafted(callID);
    part(root, "say").hidden = call.state !== "connected";
    part(root, "transfer").hidden = call.state !== "connected";
    showFacts(page);
  }

  for (const button of root.querySelectorAll("[data-action]")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      // Shown at once, and reverted with the reason if the server refuses.
      wanted = { state: page.call.state, words: under[button.dataset.action] };
      show();
      try { await api.act(callID, button.dataset.action); } catch (problem) {
        wanted = null;
        toast(problem.message);
        await page.refresh().catch(() => show());
      }
      button.disabled = false;
    });
  }
  return { show };
}
