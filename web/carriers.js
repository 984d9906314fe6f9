// What the pages call carriers and dialects. A new one gets a line here.
import { t } from "./text.js";

const carrierNames = {
  sip: "SIP",
  browser: t("Browser"),
  stream: t("Another server"),
  twilio: "Twilio",
  telnyx: "Telnyx",
  signalwire: "SignalWire",
  plivo: "Plivo",
  vonage: "Vonage",
  exotel: "Exotel",
  genesys: "Genesys",
};
const dialectNames = {
  twilio: "Twilio",
  telnyx: "Telnyx",
  plivo: "Plivo",
  vonage: "Vonage",
  signalwire: "SignalWire",
  exotel: "Exotel",
  genesys: "Genesys",
  asterisk: "Asterisk",
  jambonz: "jambonz",
};

/** What carried a call, with the dialect of its media stream where that says more. */
export function wayOf({ carrier, dialect }) {
  if (!carrier) return "";
  const name = carrierNames[carrier] ?? carrier;
  return dialect && dialect !== carrier ? `${name} (${dialectNames[dialect] ?? dialect})` : name;
}

function addOptions(select, names) {
  for (const [value, name] of Object.entries(names)) select.append(new Option(name, value));
}

export function fillWays(form) {
  addOptions(form.carrier, carrierNames);
  addOptions(form.dialect, dialectNames);
}
