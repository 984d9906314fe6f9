// A call's audio in the page: answers a call that rings here, listens to a call or takes it over. Uses the media-stream
// protocol of the carriers.
import * as api from "./api.js";
import { t } from "./text.js";

/** Calls that this page placed a moment ago. They are answered without another click. */
const expected = new Set();
export const expectCall = (callID) => expected.add(callID);
export const isExpected = (callID) => expected.delete(callID);

async function microphone() {
  if (!navigator.mediaDevices) {
    throw new Error(t("Browsers allow the microphone only over https, or on the server's own machine."));
  }
  try {
    const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    return await navigator.mediaDevices.getUserMedia({ audio });
  } catch (problem) {
    if (problem.name === "NotAllowedError") throw new Error(t("The browser was not allowed to use the microphone."));
    throw new Error(problem.name === "NotFoundError" ? t("There is no microphone.") : problem.message);
  }
}

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/**
 * The audio of one call. Its events: `open`, `level` ({ side: "mine" | "theirs" | "ai", level: 0 to 1 }) and
 * `close` ({ reason }).
 */
export class Voice extends EventTarget {
  #context = null;
  #stream = null;
  #socket = null;
  #isOver = false;
  #downlinks = {};

  /** Joins with microphone and speaker: a call that rings in this browser, or a call that is taken over. */
  async join(callID) {
    this.#stream = await microphone();
    const ticket = await api.browserTicket(callID);
    const context = await this.#listenWith();
    const uplink = new AudioWorkletNode(context, "uplink", { numberOfOutputs: 0 });
    context.createMediaStreamSource(this.#stream).connect(uplink);
    this.#add("theirs");
    const streamSid = `MZ${callID.replaceAll("-", "")}`;
    const socket = this.#open(api.mediaSocket(ticket.url));
    let chunk = 0;
    socket.addEventListener("open", () => {
      const mediaFormat = { encoding: "audio/x-mulaw", sampleRate: 8000, channels: 1 };
      this.#send({ event: "connected", protocol: "Call", version: "1.0.0" });
      const customParameters = { token: ticket.token };
      const start = { streamSid, callSid: callID, tracks: ["inbound"], customParameters, mediaFormat };
      this.#send({ event: "start", streamSid, start });
      this.dispatchEvent(new Event("open"));
    });
    uplink.port.onmessage = ({ data }) => {
      this.#level("mine", data.level);
      chunk += 1;
      const payload = btoa(String.fromCharCode(...data.frame));
      const media = { track: "inbound", chunk: String(chunk), timestamp: String(chunk * 20), payload };
      this.#send({ event: "media", streamSid, media });
    };
    this.#downlinks.theirs.port.onmessage = ({ data }) => {
      if (data.mark !== undefined) this.#send({ event: "mark", streamSid, mark: { name: data.mark } });
      else this.#level("theirs", data.level);
    };
    this.press = (digit) => this.#send({ event: "dtmf", streamSid, dtmf: { track: "inbound_track", digit } });
  }

  /** Plays both sides of a call. */
  async listen(callID) {
    await this.#listenWith();
    for (const side of ["theirs", "ai"]) {
      this.#add(side);
      this.#downlinks[side].port.onmessage = ({ data }) => this.#level(side, data.level);
    }
    this.#open(api.listenSocket(callID)).addEventListener("open", () => this.dispatchEvent(new Event("open")));
  }

  /** Sends a DTMF digit. `join` replaces it. */
  press() {}

  set isMuted(isMuted) {
    for (const track of this.#stream?.getAudioTracks() ?? []) track.enabled = !isMuted;
  }

  leave() { this.#end(""); }

  async #listenWith() {
    if (this.#isOver) throw new Error(t("The call has ended."));
    this.#context = new AudioContext({ latencyHint: "interactive" });
    await this.#context.audioWorklet.addModule("/web/voice-worklet.js");
    await this.#context.resume();
    return this.#context;
  }

  #add(side) {
    const node = new AudioWorkletNode(this.#context, "downlink", { numberOfInputs: 0, outputChannelCount: [1] });
    node.connect(this.#context.destination);
    this.#downlinks[side] = node;
  }

  #open(socket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#received(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => this.#end(code === 1008 ? t("This is not possible now.") : ""));
    return socket;
  }

  #received(message) {
    const side = message.media?.track === "outbound" ? "ai" : "theirs";
    const port = this.#downlinks[side]?.port;
    if (message.event === "media") {
      // Some messages hold several frames.
      const sound = bytesOf(message.media.payload);
      for (let at = 0; at < sound.length; at += 160) port?.postMessage({ frame: sound.slice(at, at + 160) });
    }
    if (message.event === "mark") port?.postMessage({ mark: message.mark.name });
    if (message.event === "clear") port?.postMessage({ clear: true });
    if (message.event === "stop") this.#end("");
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #level(side, level) { this.dispatchEvent(new CustomEvent("level", { detail: { side, level } })); }

  #end(reason) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#send({ event: "stop" });
    this.#socket?.close();
    for (const node of Object.values(this.#downlinks)) node.port.postMessage({ end: true });
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#context?.close().catch(() => {});
    this.dispatchEvent(new CustomEvent("close", { detail: { reason } }));
  }
}
