// What goes on at this moment: calls with their state and time, the queue, the last days, engines, trunks and people.
import * as api from "./api.js";
import { keepFresh } from "./fresh.js";
import { language, t } from "./text.js";
import { answerStatuses, callID, cell, duration, element, part, place, plain, showState, template } from "./view.js";

// Calls are looked after at every event; of all else, and where no events come, now and then is enough.
const restMs = 4000;
const lookMs = 10000;
const rowLimit = 50;
// Questions, and answers to each, that are shown: those given most.
const questionLimit = 5;
const answerLimit = 5;
const valueNames = new Map([["yes", t("Yes")], ["no", t("No")]]);

/** Parts of a bar: what each is, and its share of the whole, 0 to 1. */
function bar(...parts) {
  const all = element("span", "", "bar");
  for (const [name, share] of parts) {
    const piece = element("i");
    piece.dataset.part = name;
    piece.style.width = `${100 * share}%`;
    all.append(piece);
  }
  return all;
}

function trunkWords(trunk) {
  if (trunk.reachable === false) return t("does not answer");
  if (trunk.registered != null) return trunk.registered ? t("registered") : t("not registered");
  return trunk.reachable ? t("answers") : t("not asked yet");
}

export async function overviewPage(root) {
  document.title = `${t("Overview")} · Trunkline`;
  const readCalls = () => Promise.all([api.liveCalls("outbound", rowLimit), api.liveCalls("inbound", rowLimit)]);
  const readRest = () => Promise.all([api.statistics(), api.providers(), api.operators.list()]);
  const [calls, rest] = await Promise.all([readCalls(), readRest()]);
  root.append(template("overview"));
  const rows = part(root, "rows");

  function marked(list, name, text, tone) {
    const row = element("li");
    const mark = element("span", text, "chip");
    if (tone) mark.dataset.tone = tone;
    row.append(element("span", name), mark);
    list.append(row);
  }

  function showCalls(outgoing, incoming) {
    const all = [...outgoing.items, ...incoming.items];
    const count = outgoing.total + incoming.total;
    const set = (name, text) => { root.querySelector(`[data-figure="${name}"]`).textContent = text; };
    set("live", count);
    set("queued", outgoing.states.queued);
    const known = new Map([...rows.children].map((row) => [row.dataset.id, row]));
    const shown = all.slice(0, rowLimit).map((call) => {
      const id = callID(call);
      const row = known.get(id) ?? template("live-call").querySelector("tr");
      row.dataset.id = id;
      const isInbound = id.startsWith("in-");
      const link = cell(
        row,
        "about",
        isInbound ? t("Call from {number}", { number: call.caller_number }) : call.purpose
      );
      link.setAttribute("href", `/${isInbound ? "inbound" : "outbound"}/${id}`);
      cell(row, "number", isInbound ? call.called_number : call.callee_number);
      showState(row.querySelector('[data-cell="state"]'), call.state);
      row.querySelector('[data-cell="levels"]').hidden = call.state !== "connected";
      row.querySelector('[data-cell="clock"]').dataset.since = call.answered_at ?? call.started_at ?? call.created_at;
      return row;
    });
    place(rows, shown);
    part(root, "empty").hidden = all.length > 0;
    cell(root, "more", count > shown.length ? t("and {count} more", { count: count - shown.length }) : "");
    tick();
  }

  function tick() {
    for (const clock of rows.querySelectorAll("[data-since]")) clock.textContent = duration(
      Math.max(0, (Date.now() - Date.parse(clock.dataset.since)) / 1000)
    );
  }

  function showDays(statistics) {
    const set = (name, text) => { root.querySelector(`[data-figure="${name}"]`).textContent = text; };
    const days = statistics.by_day.slice(-14);
    const today = statistics.by_day.find((one) => one.day === new Date().toISOString().slice(0, 10));
    set("today", today?.total ?? 0);
    set("success_rate", statistics.success_rate == null ? "–" : `${Math.round(statistics.success_rate * 100)} %`);
    const chart = part(root, "days");
    chart.replaceChildren();
    const most = Math.max(1, ...days.map((one) => one.total));
    const format = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" });
    for (const one of days) {
      const row = element("li");
      const parts = bar(["completed", one.completed / most], ["other", (one.total - one.completed) / most]);
      row.append(
        element("span", format.format(new Date(`${one.day}T00:00:00Z`)), "muted"),
        parts,
        element("span", `${one.completed} / ${one.total}`, "num")
      );
      chart.append(row);
    }
    part(root, "no-days").hidden = days.length > 0;
  }

  function showAnswers(answers) {
    const sum = (counts) => counts.reduce((all, one) => all + one, 0);
    const most = answers.map(
      (one) => ({ ...one, count: sum(Object.values(one.counts)) })
    ).sort((a, b) => b.count - a.count).slice(0, questionLimit);
    const parts = most.map(({ question_text, counts, count }) => {
      const given = Object.entries(counts).sort(([, a], [, b]) => b - a);
      const shown = given.slice(0, answerLimit).map(
        ([label, times]) => [
          valueNames.get(label) ?? answerStatuses.get(label)?.[0] ?? label,
          times,
          label !== "answered" && answerStatuses.has(label),
        ]
      );
      const others = sum(given.slice(answerLimit).map(([, times]) => times));
      if (others > 0) shown.push([t("other answers"), others, true]);
      const list = element("ol", "", "days");
      for (const [label, times, isNone] of shown) {
        const row = element("li");
        const name = element("span", label);
        name.title = label;
        row.append(name, bar([isNone ? "other" : "answer", times / count]), element("span", times, "num"));
        list.append(row);
      }
      const one = element("div");
      one.append(element("h3", question_text), list);
      return one;
    });
    part(root, "answers").replaceChildren(...parts);
    part(root, "no-answers").hidden = parts.length > 0;
  }

  function showHealth(health, people) {
    const engines = part(root, "engines");
    engines.replaceChildren();
    for (const one of health.items) marked(
      engines,
      one.name,
      one.usable ? t("ready") : t("pauses for {seconds} s", { seconds: one.cool_down_seconds }),
      one.usable ? "good" : "bad"
    );
    const trunks = part(root, "trunks");
    trunks.replaceChildren();
    for (const one of health.trunks) {
      const isDown = one.reachable === false || one.registered === false;
      const words = trunkWords(one);
      marked(trunks, one.address, words, isDown ? "bad" : one.reachable || one.registered ? "good" : "");
    }
    part(root, "no-trunks").hidden = health.trunks.length > 0;
    const list = part(root, "people");
    list.replaceChildren();
    for (const one of people.items) {
      marked(
        list,
        one.name,
        one.in_call ? t("in a call") : one.registered || one.address ? plain(one.status) : t("not registered"),
        one.in_call ? "live" : one.status === "available" && (one.registered || one.address) ? "good" : ""
      );
    }
    part(root, "no-people").hidden = people.items.length > 0;
  }

  // What has not changed is not drawn again.
  const drawn = new Map();
  function draw(how, ...what) {
    const text = JSON.stringify(what);
    if (drawn.get(how) === text) return;
    drawn.set(how, text);
    how(...what);
  }

  const showRest = ([statistics, health, people]) => {
    draw(showDays, statistics);
    draw(showAnswers, statistics.answers);
    draw(showHealth, health, people);
  };
  const refresh = (read, show) => async (isCurrent) => {
    const now = await read();
    if (isCurrent()) show(now);
  };

  // How loud both sides of each call are, while somebody sees it. Where the server is gone the meters stand still until
  // the page is back.
  let levels = null;
  let again = 0;
  function watchLevels() {
    if (document.hidden || levels) return;
    const socket = api.levelSocket();
    levels = socket;
    socket.addEventListener("message", ({ data }) => {
      const told = JSON.parse(data).levels;
      for (const row of rows.children) {
        const [far, own] = told[row.dataset.id] ?? [0, 0];
        row.querySelector('[data-level="far"]').value = far;
        row.querySelector('[data-level="own"]').value = own;
      }
    });
    socket.addEventListener("close", () => {
      if (levels !== socket) return;
      levels = null;
      again = setTimeout(watchLevels, restMs);
    });
  }
  function restLevels() {
    clearTimeout(again);
    const socket = levels;
    levels = null;
    socket?.close();
  }

  const fresh = [
    keepFresh(refresh(readCalls, (now) => draw(showCalls, ...now)), (event) => /^(in|out)bound_/.test(event)),
    keepFresh(refresh(readRest, showRest), () => true, restMs),
  ];
  const onSeen = () => {
    if (document.hidden) restLevels();
    else {
      tick();
      watchLevels();
    }
  };
  document.addEventListener("visibilitychange", onSeen);
  const clock = setInterval(() => { if (!document.hidden) tick(); }, 1000);
  const look = setInterval(() => { for (const one of fresh) one.soon(); }, lookMs);
  draw(showCalls, ...calls);
  showRest(rest);
  watchLevels();
  return () => {
    restLevels();
    clearInterval(clock);
    clearInterval(look);
    for (const one of fresh) one.leave();
    document.removeEventListener("visibilitychange", onSeen);
  };
}
