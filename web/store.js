// The event feed: reconnects automatically and replays missed events.
import { actingFor, openEvents, session } from "./api.js";

const longestWait = 15000;
// Milliseconds between two refreshes where there are no events.
const pollMs = 5000;

class Feed extends EventTarget {
  #socket = null;
  #last = 0;
  #wait = 500;

  /** Connects; the first event is the one after the event `last`. */
  start(last) {
    if (this.#socket) return;
    this.#last = last;
    // A browser's sockets name no company: pages of another company are refreshed by time.
    if (actingFor()) this.#poll();
    else this.#connect();
  }

  async #poll() {
    const isThere = await session().then(() => true, () => false);
    this.#state(isThere ? "on" : "off");
    if (isThere) this.dispatchEvent(new CustomEvent("event", { detail: { event: "poll" } }));
    setTimeout(() => this.#poll(), pollMs);
  }

  #connect() {
    const socket = openEvents(this.#last);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#wait = 500;
      this.#state("on");
    });
    socket.addEventListener("message", ({ data }) => {
      const event = JSON.parse(data);
      if (event.id <= this.#last) return;
      this.#last = event.id;
      this.dispatchEvent(new CustomEvent("event", { detail: event }));
    });
    socket.addEventListener("close", () => {
      this.#state("off");
      setTimeout(() => this.#connect(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, longestWait);
    });
  }

  #state(state) {
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}

export const feed = new Feed();
