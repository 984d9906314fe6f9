// The first page: live calls, the queue, the last days, speech services, trunks and operators.
import * as api from "./api.js";
import { keepFresh } from "./fresh.js";
import { answersPart } from "./overview-answers.js";
import { callsPart, rowLimit } from "./overview-calls.js";
import { daysPart } from "./overview-days.js";
import { healthPart } from "./overview-health.js";
import { levelsPart } from "./overview-levels.js";
import { t } from "./text.js";
import { part, template } from "./view.js";

// Milliseconds between two refreshes of everything but the calls, and between two refreshes where no events come.
const restMs = 4000;
const lookMs = 10000;

const readCalls = () => Promise.all([api.liveCalls("outbound", rowLimit), api.liveCalls("inbound", rowLimit)]);
const readRest = () => Promise.all([api.statistics(), api.providers(), api.operators.list()]);

/** Calls `show` only if its arguments have changed since the last call. */
function onChange(show) {
  let shown = "";
  return (...values) => {
    const text = JSON.stringify(values);
    if (text === shown) return;
    shown = text;
    show(...values);
  };
}

/** Reads, and shows the answer unless a later refresh has begun. */
const refresher = (read, show) => async (isCurrent) => {
  const answer = await read();
  if (isCurrent()) show(answer);
};

export async function overviewPage(root) {
  document.title = `${t("Overview")} · Trunkline`;
  const [calls, rest] = await Promise.all([readCalls(), readRest()]);
  root.append(template("overview"));
  const live = callsPart(root);
  const levels = levelsPart(part(root, "rows"));
  const showCalls = onChange(live.show);
  const showDays = onChange(daysPart(root).show);
  const showAnswers = onChange(answersPart(root).show);
  const showHealth = onChange(healthPart(root).show);
  const showRest = ([statistics, health, operators]) => {
    showDays(statistics);
    showAnswers(statistics.answers);
    showHealth(health, operators);
  };

  const fresh = [
    keepFresh(refresher(readCalls, (now) => showCalls(...now)), (event) => /^(in|out)bound_/.test(event)),
    keepFresh(refresher(readRest, showRest), () => true, restMs),
  ];
  const onVisibility = () => {
    if (document.hidden) {
      levels.rest();
    } else {
      live.tick();
      levels.watch();
    }
  };
  document.addEventListener("visibilitychange", onVisibility);
  const clock = setInterval(() => { if (!document.hidden) live.tick(); }, 1000);
  const look = setInterval(() => { for (const one of fresh) one.soon(); }, lookMs);
  showCalls(...calls);
  showRest(rest);
  levels.watch();
  return () => {
    levels.rest();
    clearInterval(clock);
    clearInterval(look);
    for (const one of fresh) one.leave();
    document.removeEventListener("visibilitychange", onVisibility);
  };
}
