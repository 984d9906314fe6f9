// What the pages call carriers and dialects. A new carrier gets a line here; a dialect only where its name is not its
// key with a capital letter.
import { member } from "./form.js";
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
  signalwire: "SignalWire",
  jambonz: "jambonz",
};

export const dialectName = (key) => dialectNames[key] ?? key[0].toUpperCase() + key.slice(1);

/** What carried a call, with the dialect of its media stream where that says more. */
export function wayOf({ carrier, dialect }) {
  if (!carrier) return "";
  const name = carrierNames[carrier] ?? carrier;
  return dialect && dialect !== carrier ? `${name} (${dialectName(dialect)})` : name;
}

/** Offers every dialect. @param schema of the form of a call, which names them */
export function fillDialects(select, schema) {
  for (const key of member(member(schema, "stream"), "dialect").enum) select.append(new Option(dialectName(key), key));
}

export function fillWays(form, schema) {
  for (const [key, name] of Object.entries(carrierNames)) form.carrier.append(new Option(name, key));
  fillDialects(form.dialect, schema);
}
