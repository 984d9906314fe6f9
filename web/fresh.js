// Refreshes a page when calls change, and pauses while the page is hidden.
import { feed } from "./store.js";

const firstDelay = 400;
const mostInterval = 5000;

/**
 * Refreshes after events. Several events at once cause one refresh; a stream of events causes one refresh an interval.
 * Refreshes that take long happen less often. A hidden page refreshes when it becomes visible.
 * @param refresh reads and draws the page. It gets `isCurrent()`, which is false once a later refresh has begun or the
 * page was left.
 * @param isOurs whether an event concerns the page
 * @param interval minimum time between two refreshes, in milliseconds
 * @returns `soon()`, which asks for a refresh, and `leave()`.
 */
export function keepFresh(refresh, isOurs, interval = 1000) {
  let timer = 0;
  let cost = 0;
  let last = -Infinity;
  let isOwed = false;
  let version = 0;
  async function now() {
    const mine = ++version;
    const begun = performance.now();
    timer = 0;
    last = begun;
    await refresh(() => mine === version).catch(() => {});
    cost = performance.now() - begun;
  }
  function soon() {
    isOwed = document.hidden;
    if (isOwed) return;
    const delay = Math.max(firstDelay, Math.min(3 * cost, mostInterval), last + interval - performance.now());
    timer ||= setTimeout(now, delay);
  }
  const onEvent = ({ detail }) => {
    const isPoll = detail.event === "poll";
    if (isPoll || isOurs(detail.event) && !/_(transcript|progress)$/.test(detail.event)) soon();
  };
  const onSeen = () => {
    if (document.hidden || !isOwed) return;
    isOwed = false;
    clearTimeout(timer);
    now();
  };
  feed.addEventListener("event", onEvent);
  document.addEventListener("visibilitychange", onSeen);
  return {
    soon,
    leave() {
      version += 1;
      clearTimeout(timer);
      feed.removeEventListener("event", onEvent);
      document.removeEventListener("visibilitychange", onSeen);
    },
  };
}
