// Speech services, trunks and operators, each with a mark for its state.
import { t } from "./text.js";
import { element, part, plain } from "./view.js";

function rowOf(name, text, tone) {
  const mark = element("span", text, "chip");
  if (tone) mark.dataset.tone = tone;
  const row = element("li");
  row.append(element("span", name), mark);
  return row;
}

function engineRow(engine) {
  if (engine.usable) return rowOf(engine.name, t("ready"), "good");
  return rowOf(engine.name, t("pauses for {seconds} s", { seconds: engine.cool_down_seconds }), "bad");
}

function trunkState(trunk) {
  if (trunk.reachable === false) return t("does not answer");
  if (trunk.registered != null) return trunk.registered ? t("registered") : t("not registered");
  return trunk.reachable ? t("answers") : t("not asked yet");
}

function trunkRow(trunk) {
  const isDown = trunk.reachable === false || trunk.registered === false;
  const isUp = trunk.reachable || trunk.registered;
  return rowOf(trunk.address, trunkState(trunk), isDown ? "bad" : isUp ? "good" : "");
}

function operatorRow(operator) {
  if (operator.in_call) return rowOf(operator.name, t("in a call"), "live");
  if (!operator.registered && !operator.address) return rowOf(operator.name, t("not registered"), "");
  return rowOf(operator.name, plain(operator.status), operator.status === "available" ? "good" : "");
}

export function healthPart(root) {
  function show(health, operators) {
    part(root, "engines").replaceChildren(...health.items.map(engineRow));
    part(root, "trunks").replaceChildren(...health.trunks.map(trunkRow));
    part(root, "no-trunks").hidden = health.trunks.length > 0;
    part(root, "people").replaceChildren(...operators.items.map(operatorRow));
    part(root, "no-people").hidden = operators.items.length > 0;
  }
  return { show };
}
