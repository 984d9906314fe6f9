// The event feed: reconnects automatically and replays missed events.
import { openEvents } from "./api.js";

const longestWait = 15000;

class Feed extends EventTarget {
  #socket = null;
  #last = 0;
  #wait = 500;

  /** Connects; the first event is the one after the event `last`. */
  start(last) {
    if (this.#socket) return;
    this.#last = last;
    this.#connect();
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
