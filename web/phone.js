// The telephone on a call's page: answers a call that rings in this browser, listens to a call or takes it over.
import { t } from "./text.js";
import { Voice, isExpected } from "./voice.js";
import { part, toast } from "./view.js";

const keys = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "0", "#"];

/** @returns `show(call)`, to be called for each new state of the call, and `leave()`. */
export function phone(root, callID) {
  const card = part(root, "phone");
  const button = (name) => card.querySelector(`[data-phone="${name}"]`);
  const meters = {
    mine: card.querySelector('[data-meter="mine"]'),
    theirs: card.querySelector('[data-meter="theirs"]'),
    ai: card.querySelector('[data-meter="ai"]'),
  };
  let voice = null;
  let mode = "";
  let call = null;
  let isMuted = false;
  let isBusy = false;

  const isOurs = () => call.callee_number?.startsWith("browser:");
  const rings = () => isOurs() && ["dialing", "ringing"].includes(call.state);

  function stateText() {
    if (voice) return mode === "listen" ? t("You hear both sides. They cannot hear you.") : t("You are on the line.");
    return rings() ? t("The call rings in this browser.") : "";
  }

  function draw() {
    const isConnected = call.state === "connected";
    card.hidden = !(voice || rings() || isConnected);
    card.toggleAttribute("data-on", Boolean(voice));
    button("answer").hidden = Boolean(voice) || !rings();
    button("listen").hidden = Boolean(voice) || !isConnected;
    button("join").hidden = Boolean(voice) || !isConnected || isOurs();
    button("leave").hidden = !voice;
    button("mute").hidden = mode !== "join";
    part(card, "keys").hidden = mode !== "join";
    part(card, "meters").hidden = !voice;
    const unused = mode === "listen" ? "mine" : "ai";
    for (const [side, meter] of Object.entries(meters)) meter.closest("label").hidden = side === unused;
    for (const name of ["answer", "listen", "join"]) button(name).disabled = isBusy;
    part(card, "phone-state").textContent = stateText();
  }

  async function begin(next) {
    if (voice || isBusy) return;
    isBusy = true;
    draw();
    const begun = new Voice();
    begun.addEventListener("level", ({ detail }) => { meters[detail.side].value = Math.min(1, detail.level * 1.5); });
    begun.addEventListener("close", ({ detail }) => {
      if (detail.reason) toast(detail.reason);
      if (voice === begun) voice = null;
      mode = "";
      for (const meter of Object.values(meters)) meter.value = 0;
      draw();
    });
    try {
      voice = begun;
      mode = next;
      isMuted = false;
      button("mute").setAttribute("aria-pressed", "false");
      await (next === "listen" ? begun.listen(callID) : begun.join(callID));
    } catch (problem) {
      begun.leave();
      toast(problem.message);
    }
    isBusy = false;
    draw();
  }

  button("answer").addEventListener("click", () => begin("join"));
  button("join").addEventListener("click", () => begin("join"));
  button("listen").addEventListener("click", () => begin("listen"));
  button("leave").addEventListener("click", () => voice?.leave());
  button("mute").addEventListener("click", () => {
    isMuted = !isMuted;
    voice.isMuted = isMuted;
    button("mute").setAttribute("aria-pressed", String(isMuted));
  });
  part(card, "keys").append(...keys.map((key) => {
    const node = document.createElement("button");
    node.type = "button";
    node.textContent = key;
    node.addEventListener("click", () => voice?.press(key));
    return node;
  }));

  let isWanted = isExpected(callID);
  return {
    show(state) {
      call = state;
      if (isWanted && call.state === "ringing" && rings()) {
        isWanted = false;
        begin("join");
      }
      draw();
    },
    leave: () => voice?.leave(),
  };
}
