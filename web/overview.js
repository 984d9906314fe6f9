// What goes on at this moment: calls with their state and time, the queue, the last days, engines, trunks and people.
import * as api from "./api.js";
import { feed } from "./store.js";
import { language, t } from "./text.js";
import { callID, cell, duration, element, isLive, part, plain, showState, template } from "./view.js";

const refreshDelay = 400;
const lookMs = 5000;
const rowLimit = 50;

export async function overviewPage(root) {
  document.title = `${t("Overview")} · Trunkline`;
  const read = () => Promise.all([
    api.activeCalls("outbound"), api.activeCalls("inbound"), api.statistics(), api.providers(), api.operators.list(),
  ]);
  let state = await read();
  root.append(template("overview"));
  const rows = part(root, "rows");
  let timer = 0;
  let cost = 0;
  let isLeft = false;

  function marked(list, name, text, tone) {
    const row = element("li");
    const mark = element("span", text, "chip");
    if (tone) mark.dataset.tone = tone;
    row.append(element("span", name), mark);
    list.append(row);
  }

  function showCalls(outgoing, incoming) {
    const all = [...outgoing.items.filter((call) => isLive(call.state)), ...incoming.items.filter((call) => isLive(call.state))];
    const waiting = outgoing.items.filter((call) => call.state === "queued");
    const set = (name, text) => { root.querySelector(`[data-figure="${name}"]`).textContent = text; };
    set("live", all.length);
    set("queued", waiting.length);
    // A row that stays keeps its place and the focus in it.
    const known = new Map([...rows.children].map((row) => [row.dataset.id, row]));
    const shown = all.slice(0, rowLimit).map((call) => {
      const id = callID(call);
      const row = known.get(id) ?? template("live-call").querySelector("tr");
      row.dataset.id = id;
      const isInbound = id.startsWith("in-");
      const link = cell(row, "about", isInbound ? t("Call from {number}", { number: call.caller_number }) : call.purpose);
      link.setAttribute("href", `/${isInbound ? "inbound" : "outbound"}/${id}`);
      cell(row, "number", isInbound ? call.called_number : call.callee_number);
      showState(row.querySelector('[data-cell="state"]'), call.state);
      row.querySelector('[data-cell="levels"]').hidden = call.state !== "connected";
      row.querySelector('[data-cell="clock"]').dataset.since = call.answered_at ?? call.started_at ?? call.created_at;
      return row;
    });
    if (shown.length !== rows.children.length || shown.some((row, index) => rows.children[index] !== row)) rows.replaceChildren(...shown);
    part(root, "empty").hidden = all.length > 0;
    cell(root, "more", all.length > rowLimit ? t("and {count} more", { count: all.length - rowLimit }) : "");
    tick();
  }

  function tick() {
    for (const clock of rows.querySelectorAll("[data-since]")) clock.textContent = duration(Math.max(0, (Date.now() - Date.parse(clock.dataset.since)) / 1000));
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
      const bar = element("span", "", "bar");
      const done = element("i");
      const rest = element("i");
      done.dataset.part = "completed";
      rest.dataset.part = "other";
      done.style.width = `${(100 * one.completed) / most}%`;
      rest.style.width = `${(100 * (one.total - one.completed)) / most}%`;
      bar.append(done, rest);
      row.append(element("span", format.format(new Date(`${one.day}T00:00:00Z`)), "muted"), bar, element("span", `${one.completed} / ${one.total}`, "num"));
      chart.append(row);
    }
    part(root, "no-days").hidden = days.length > 0;
  }

  function showHealth(health, people) {
    const engines = part(root, "engines");
    engines.replaceChildren();
    for (const one of health.items) marked(engines, one.name, one.usable ? t("ready") : t("pauses for {seconds} s", { seconds: one.cool_down_seconds }), one.usable ? "good" : "bad");
    const trunks = part(root, "trunks");
    trunks.replaceChildren();
    for (const one of health.trunks) {
      const isDown = one.reachable === false || one.registered === false;
      const words = one.reachable === false ? t("does not answer") : one.registered === false ? t("not registered") : one.registered ? t("registered") : one.reachable ? t("answers") : t("not asked yet");
      marked(trunks, one.address, words, isDown ? "bad" : one.reachable || one.registered ? "good" : "");
    }
    part(root, "no-trunks").hidden = health.trunks.length > 0;
    const list = part(root, "people");
    list.replaceChildren();
    for (const one of people.items) {
      marked(list, one.name, one.in_call ? t("in a call") : one.registered || one.address ? plain(one.status) : t("not registered"), one.in_call ? "live" : one.status === "available" && (one.registered || one.address) ? "good" : "");
    }
    part(root, "no-people").hidden = people.items.length > 0;
  }

  function show() {
    const [outgoing, incoming, statistics, health, people] = state;
    showCalls(outgoing, incoming);
    showDays(statistics);
    showHealth(health, people);
  }

  async function refresh() {
    const fresh = await read();
    if (isLeft) return;
    state = fresh;
    show();
  }

  // How loud both sides of each call are. Where the server is gone the meters stand still until the page is back.
  let levels = null;
  function watchLevels() {
    if (isLeft) return;
    levels = api.levelSocket();
    levels.addEventListener("message", ({ data }) => {
      const told = JSON.parse(data).levels;
      for (const row of rows.children) {
        const [far, own] = told[row.dataset.id] ?? [0, 0];
        row.querySelector('[data-level="far"]').value = far;
        row.querySelector('[data-level="own"]').value = own;
      }
    });
    levels.addEventListener("close", () => { if (!isLeft) setTimeout(watchLevels, lookMs); });
  }

  // Several events in a moment make one refresh; a stream of them does not put it off.
  const later = () => {
    timer ||= setTimeout(async () => {
      timer = 0;
      const begun = performance.now();
      await refresh().catch(() => {});
      // Where it takes long, on this machine or that one, it is done less often.
      cost = performance.now() - begun;
    }, Math.max(refreshDelay, 3 * cost));
  };
  const onEvent = ({ detail }) => { if (!/_(transcript|progress)$/.test(detail.event)) later(); };
  feed.addEventListener("event", onEvent);
  const clock = setInterval(tick, 1000);
  const look = setInterval(() => { if (!document.hidden) refresh().catch(() => {}); }, lookMs);
  show();
  watchLevels();
  return () => {
    isLeft = true;
    levels.close();
    clearTimeout(timer);
    clearInterval(clock);
    clearInterval(look);
    feed.removeEventListener("event", onEvent);
  };
}
