// What keeps a page as fresh as the calls are, and lets it rest while nobody sees it.
import { feed } from "./store.js";

const firstDelay = 400;
const mostInterval = 5000;

/**
 * Refreshes after events. Several in a moment make one refresh, and a stream of them one an interval; where a refresh
 * takes long, on this machine or
 * on that one, it is done less often. A page that nobody sees waits until it is seen.
 * @param refresh reads and draws anew, unless `isCurrent()`, which it is given, says that a later one has begun or the
 * page was left,
 * @param isOurs whether an event concerns the page, @param interval ms between two refreshes at least.
 * @returns `soon()` for other occasions, and `leave()`.
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
    timer ||= setTimeout(
      now,
      Math.max(firstDelay, Math.min(3 * cost, mostInterval), last + interval - performance.now())
    );
  }
  const onEvent = ({ detail }) => {
    if (isOurs(detail.event) && !/_(transcript|progress)$/.test(detail.event)) soon();
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
