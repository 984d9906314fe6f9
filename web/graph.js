// The path of the sound through a call: its stages as boxes, its queues as lines that fill up, and the same as a table.
import * as api from "./api.js";
import { t } from "./text.js";
import { element, isEnded, part } from "./view.js";

const stageNames = {
  "receive": t("Receive"),
  "voice-activity": t("Voice activity"),
  "turns": t("Turns"),
  "barge-in": t("Barge-in"),
  "noise-gate": t("Noise gate"),
  "speech-to-text": t("Speech to text"),
  "dialogue": t("Dialogue"),
  "language-model": t("Language model"),
  "text-to-speech": t("Text to speech"),
  "speech-model": t("Speech model"),
  "resample": t("Resample"),
  "frame": t("Frame"),
  "encode": t("Encode"),
  "pacer": t("Pacer"),
};
const edgeNames = {
  heard: t("heard"),
  transcripts: t("transcripts"),
  requests: t("requests"),
  responses: t("responses"),
  sentences: t("sentences"),
  audio: t("audio"),
  speech: t("speech"),
};
const whenFull = {
  wait: t("the stage before waits"),
  drop_oldest: t("the oldest is dropped"),
  pause_source: t("the source is not read"),
};
const laneNames = { caller: t("Caller"), conversation: t("Conversation"), ai: t("AI") };
const nameOf = (stage) => stageNames[stage] ?? stage;
const edgeName = (edge) => edgeNames[edge] ?? edge;

// Pixels of the drawing.
const box = { width: 138, height: 54 };
const gauge = { width: 64, height: 8 };
const gap = { across: 26, queue: 104, down: 58, margin: 10, beside: 62 };
/** Narrower than this the stages stand below each other. */
const wideFrom = 720;
/** Filled so far a queue is nearly full. */
const nearlyFull = 0.8;
const lookEvery = 1000;

const svgNode = (name, attributes = {}, text = "") => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
};

const milliseconds = (value) => value == null ? "–" : value >= 10 ? Math.round(value) : Number(value.toPrecision(2));
const tone = (edge) => {
  if (edge.dropped > 0 || edge.depth >= edge.limit) return "bad";
  return edge.waits > 0 || edge.depth >= nearlyFull * edge.limit ? "warn" : "good";
};

/** The stages of the conversation on the way from the caller to the AI's side, and those beside it. */
function conversationWay(reading) {
  const inside = new Set(reading.stages.filter((one) => one.lane === "conversation").map((one) => one.name));
  const ways = [...reading.links, ...reading.edges];
  const starts = ways.filter((one) => !inside.has(one.from) && inside.has(one.to)).map((one) => one.to);
  const isLast = (name) => ways.some((one) => one.from === name && !inside.has(one.to));
  let paths = starts.slice(0, 1).map((name) => [name]);
  for (let step = 0; step < inside.size && paths.length; step += 1) {
    const found = paths.find((path) => isLast(path.at(-1)));
    if (found) return { way: found, beside: [...inside].filter((name) => !found.includes(name)) };
    paths = paths.flatMap((path) => ways.filter((one) => one.from === path.at(-1) && inside.has(one.to) &&
      !path.includes(one.to)).map((one) => [...path, one.to]));
  }
  return { way: [...inside], beside: [] };
}

const neighbourOf = (reading, name) => {
  const one = [...reading.links, ...reading.edges].find(({ from, to }) => to === name || from === name);
  return one?.to === name ? one.from : one?.to;
};

/** Where each stage stands: there along the top, down through the conversation, and back along the bottom. */
function widePlaces(reading) {
  const lane = (name) => reading.stages.filter((one) => one.lane === name).map((one) => one.name);
  const { way, beside } = conversationWay(reading);
  const queued = (from, to) => reading.edges.some((one) => one.from === from && one.to === to);
  const places = new Map();
  const along = (names) => {
    let x = gap.margin;
    return names.map((name, index) => {
      const place = [name, x];
      x += box.width + (queued(name, names[index + 1]) || queued(names[index + 1], name) ? gap.queue : gap
      .across);
      return place;
    });
  };
  const caller = along(lane("caller"));
  const ai = along(lane("ai").reverse());
  const end = Math.max(...[...caller, ...ai].map(([, x]) => x + box.width), 0) + gap.queue;
  const down = box.height + gap.down;
  const bottom = gap.margin + Math.max(1, way.length - 1) * down;
  // Both lanes end where the conversation begins.
  const shift = (found) => end - gap.queue - Math.max(...found.map(([, x]) => x + box.width), 0);
  for (const [name, x] of caller) places.set(name, { x: x + shift(caller), y: gap.margin });
  for (const [name, x] of ai) places.set(name, { x: x + shift(ai), y: bottom });
  const begin = way.length === 1 ? gap.margin + down / 2 : gap.margin;
  way.forEach((name, index) => places.set(name, { x: end, y: begin + index * down }));
  beside.forEach((name, index) => {
    const y = places.get(neighbourOf(reading, name))?.y ?? bottom + down;
    places.set(name, { x: end + box.width + gap.queue, y: y + index * down });
  });
  const width = Math.max(...[...places.values()].map((one) => one.x)) + box.width + gap.margin;
  return { places, width, height: Math.max(...[...places.values()].map((one) => one.y)) + box.height + gap.margin };
}

/** One below the other; what the conversation asks stands beside it. */
function narrowPlaces(reading) {
  const lane = (name) => reading.stages.filter((one) => one.lane === name).map((one) => one.name);
  const { way, beside } = conversationWay(reading);
  const down = box.height + gap.down;
  const places = new Map();
  for (const name of [...lane("caller"), ...way, ...lane("ai")]) {
    places.set(name, { x: gap.margin, y: gap.margin + places.size * down });
  }
  const height = places.size * down - gap.down + 2 * gap.margin;
  for (const name of beside) {
    const y = places.get(neighbourOf(reading, name))?.y ?? gap.margin;
    places.set(name, { x: gap.margin + box.width + gap.beside, y });
  }
  return { places, width: 2 * (gap.margin + box.width) + gap.beside, height };
}

const middle = ({ x, y }) => ({ x: x + box.width / 2, y: y + box.height / 2 });

/** From border to border of two boxes; `side`: beside the straight line, where there is one each way. */
function ends(from, to, side) {
  const [a, b] = [middle(from), middle(to)];
  const isAcross = Math.abs(a.x - b.x) / box.width > Math.abs(a.y - b.y) / box.height;
  const sign = isAcross ? Math.sign(b.x - a.x) : Math.sign(b.y - a.y);
  if (isAcross) {
    return [
      { x: a.x + sign * box.width / 2, y: a.y + side },
      { x: b.x - sign * box.width / 2, y: b.y + side },
    ];
  }
  return [
    { x: a.x + side, y: a.y + sign * box.height / 2 },
    { x: b.x + side, y: b.y - sign * box.height / 2 },
  ];
}

function drawStage(stage, { x, y }) {
  const group = svgNode("g", { "class": "stage", "data-lane": stage.lane, "data-stage-name": stage.name });
  group.append(
    svgNode("rect", { x, y, width: box.width, height: box.height, rx: 8 }),
    svgNode("text", { x: x + box.width / 2, y: y + 19, "class": "name" }, nameOf(stage.name)),
    svgNode("text", { x: x + box.width / 2, y: y + 34 }, t("{count} frames", { count: stage.frames })),
    svgNode("text", { x: x + box.width / 2, y: y + 47 }, stage.mean_ms == null ? "" :
      t("{mean} ms, worst {worst}", {
        mean: milliseconds(stage.mean_ms),
        worst: milliseconds(stage.worst_ms),
      })));
  return group;
}

function drawLink(from, to) {
  const [a, b] = ends(from, to, 0);
  return svgNode("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "class": "way", "marker-end": "url(#graph-arrow)" });
}

function drawEdge(edge, from, to, side) {
  const group = svgNode("g", { "class": "edge", "data-tone": tone(edge), "data-edge": edge.name });
  const [a, b] = ends(from, to, side);
  const isAcross = Math.abs(a.x - b.x) > Math.abs(a.y - b.y);
  // Where there is little room the gauge is shorter.
  const length = isAcross ? Math.min(gauge.width, Math.abs(a.x - b.x) - 20) : gauge.width;
  const at = { x: (a.x + b.x) / 2 - length / 2, y: (a.y + b.y) / 2 - gauge.height / 2 };
  const filled = Math.min(1, edge.depth / edge.limit) * length;
  const words = `${edgeName(edge.name)} ${edge.depth}/${edge.limit}`;
  // Beside a line that goes down, above or below one that goes across.
  const label = isAcross ? { x: at.x + length / 2, y: at.y + (side > 0 ? 21 : -6) } : { x: at.x + length + 6,
    y: at.y + gauge.height };
  group.append(
    svgNode("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "class": "way", "marker-end": "url(#graph-arrow)" }),
    svgNode("rect", { ...at, width: length, height: gauge.height, rx: 4, "class": "room" }),
    svgNode("rect", { ...at, width: filled, height: gauge.height, rx: 4, "class": "filled" }),
    svgNode("text", { ...label, "class": isAcross ? "" : "start" }, words));
  return group;
}

/** The whole drawing, for a width in pixels. */
function draw(reading, width) {
  const { places, ...size } = width < wideFrom ? narrowPlaces(reading) : widePlaces(reading);
  const picture = svgNode("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "class": "graph" });
  picture.setAttribute("aria-label", t("The path of the sound through the call; the table below has the figures"));
  const definitions = svgNode("defs");
  const arrow = svgNode("marker", {
    id: "graph-arrow",
    viewBox: "0 0 8 8",
    refX: 8,
    refY: 4,
    markerWidth: 7,
    markerHeight: 7,
    orient: "auto",
  });
  arrow.append(svgNode("path", { d: "M0 0L8 4L0 8z" }));
  definitions.append(arrow);
  picture.append(definitions);
  const isDrawn = (one) => places.has(one.from) && places.has(one.to);
  for (const one of reading.links.filter(isDrawn)) picture.append(drawLink(places.get(one.from), places.get(one.to)));
  for (const one of reading.edges.filter(isDrawn)) {
    const isBothWays = reading.edges.some((other) => other.from === one.to && other.to === one.from);
    const side = !isBothWays ? 0 : places.get(one.from).x < places.get(one.to).x ? -15 : 15;
    picture.append(drawEdge(one, places.get(one.from), places.get(one.to), side));
  }
  for (const one of reading.stages) picture.append(drawStage(one, places.get(one.name)));
  // As large as it is meant, or as wide as there is room.
  picture.setAttribute("width", Math.min(size.width, width));
  picture.setAttribute("height", size.height * Math.min(1, width / size.width));
  return picture;
}

function table(caption, heads, rows) {
  const node = document.createElement("table");
  const head = node.createTHead().insertRow();
  node.append(element("caption", caption));
  for (const words of heads) {
    const cell = element("th", words);
    cell.scope = "col";
    head.append(cell);
  }
  const body = node.createTBody();
  for (const [first, ...rest] of rows) {
    const row = body.insertRow();
    const name = element("th", first);
    name.scope = "row";
    row.append(name, ...rest.map((words) => element("td", String(words), "num")));
  }
  return node;
}

function tables(reading) {
  const stages = reading.stages.map((one) => [
    nameOf(one.name), laneNames[one.lane] ?? one.lane, one.frames, milliseconds(one.mean_ms),
    milliseconds(one.worst_ms),
  ]);
  const edges = reading.edges.map((one) => [
    edgeName(one.name), `${nameOf(one.from)} → ${nameOf(one.to)}`, `${one.depth} / ${one.limit}`, one.peak,
    one.oldest_ms, one.dropped, one.waits, whenFull[one.when_full] ?? one.when_full,
  ]);
  return [
    table(t("Stages"), [t("Stage"), t("Side"), t("Frames"), t("Mean, ms"), t("Worst, ms")], stages),
    table(t("Queues"), [
      t("Queue"), t("Between"), t("Depth"), t("Most"), t("Oldest, ms"), t("Dropped"), t("Waits"), t("When full"),
    ], edges),
  ];
}

export function graphPart(page) {
  const { root, callID } = page;
  const card = part(root, "graph-card");
  const picture = part(root, "graph");
  let reading = null;
  let isFinal = false;
  let isLeft = false;
  let isAsking = false;

  function show() {
    card.hidden = !reading || reading.stages.length === 0;
    if (card.hidden) return;
    part(root, "graph-mode").textContent = [reading.mode, reading.live ? t("live") : t("final figures")].join(" · ");
    if (picture.clientWidth > 0) picture.replaceChildren(draw(reading, picture.clientWidth));
    part(root, "graph-tables").replaceChildren(...tables(reading));
  }

  async function look() {
    if (isFinal || isLeft || isAsking || document.hidden) return;
    // A call that was never connected has none.
    if (!page.call.answered_at) return;
    isAsking = true;
    try {
      const fresh = await api.graph(callID);
      isFinal = !fresh.live && isEnded(page.call.state);
      reading = fresh;
      if (!isLeft) show();
    } catch (problem) {
      isFinal = problem.status === 404;
    }
    isAsking = false;
  }

  const clock = setInterval(look, lookEvery);
  let width = 0;
  const sized = new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 1) return;
    width = entry.contentRect.width;
    if (reading) show();
  });
  sized.observe(picture);
  return {
    show: () => { look(); },
    leave() {
      isLeft = true;
      clearInterval(clock);
      sized.disconnect();
    },
  };
}
