// The lists of a call's page: attempts, blocking rules, transfers, webhooks, SIP messages.
import * as api from "./api.js";
import { t } from "./text.js";
import { cell, element, part, plain, ruleName, toast, when } from "./view.js";

// The newest deliveries are shown.
const deliveryLimit = 20;

function timedRow(at, words, title = "") {
  const row = document.createElement("li");
  const text = element("span", words, "muted");
  text.title = title;
  row.append(element("span", when(at)), text);
  return row;
}

const because = (words, reason, mark = ": ") => reason ? `${words}${mark}${reason}` : words;

async function showSIP({ root, callID }) {
  const trace = await api.sipTrace(callID);
  cell(root, "ladder", trace.ladder || t("No SIP messages: the call had no SIP leg on this server."));
  part(root, "messages").replaceChildren(...trace.items.map((message) => {
    const details = document.createElement("details");
    const way = message.direction === "sent" ? "→" : "←";
    details.append(element("summary", `${way} ${message.summary}`), element("pre", message.text));
    return details;
  }));
}

export function listsPart(page) {
  const { root, callID, isInbound } = page;

  function show() {
    const { call } = page;
    const attempts = call.attempts ?? [];
    part(root, "attempts").replaceChildren(...attempts.map((one) => timedRow(
      one.started_at, one.outcome ? because(plain(one.outcome), one.reason) : t("under way"))));
    part(root, "no-attempts").hidden = attempts.length > 0;
    part(root, "attempts-card").hidden = isInbound;
    const blocked = call.blocked ?? [];
    part(root, "blocked").hidden = blocked.length === 0;
    part(root, "blocks").replaceChildren(...blocked.map((one) => timedRow(
      one.at, because(ruleName(one.rule), one.until && t("waits until {time}", { time: when(one.until) })),
      one.detail)));
    const transfers = call.transfers ?? [];
    part(root, "transfers-card").hidden = transfers.length === 0;
    part(root, "transfers").replaceChildren(...transfers.map((one) => timedRow(
      one.at, because(`${one.name}: ${plain(one.outcome)}`, one.reason, ", "))));
  }

  async function showDeliveries() {
    const { items } = await api.deliveries.list({ outbound_id: callID, limit: 200 });
    part(root, "deliveries-card").hidden = items.length === 0;
    part(root, "deliveries").replaceChildren(...items.slice(0, deliveryLimit).map((one) => {
      const status = one.last_status ? ` (${one.last_status})` : "";
      return timedRow(one.created_at, `${one.event}: ${plain(one.state)}${status}`, one.endpoint);
    }));
  }

  part(root, "sip").addEventListener("toggle", (event) => {
    if (event.currentTarget.open) showSIP(page).catch((problem) => toast(problem.message));
  });
  return { show, showDeliveries };
}
