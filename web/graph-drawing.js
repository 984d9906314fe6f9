// Draws a call's graph: stages as boxes, edges as lines that fill up.
import { edgeName, milliseconds, stageName } from "./graph-names.js";
import { box, narrowPlaces, widePlaces } from "./graph-layout.js";
import { t } from "./text.js";

// Pixels of the gauge of an edge.
const gauge = { width: 64, height: 8 };
/** In a narrower window the stages stand below each other. */
const wideFrom = 720;
/** From this share of its limit on, a queue counts as nearly full. */
const nearlyFull = 0.8;

const svgNode = (name, attributes = {}, text = "") => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
};

const tone = (edge) => {
  if (edge.dropped > 0 || edge.depth >= edge.limit) return "bad";
  return edge.waits > 0 || edge.depth >= nearlyFull * edge.limit ? "warn" : "good";
};

const middle = ({ x, y }) => ({ x: x + box.width / 2, y: y + box.height / 2 });

/**
 * The ends of a line between the borders of two boxes. `side` moves it sideways, in pixels: two lines in opposite
 * directions stand beside each other.
 */
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

function timesOf({ mean_ms: mean, worst_ms: worst }) {
  if (mean == null) return "";
  return t("{mean} ms, worst {worst}", { mean: milliseconds(mean), worst: milliseconds(worst) });
}

function drawStage(stage, { x, y }) {
  const group = svgNode("g", { "class": "stage", "data-lane": stage.lane, "data-stage-name": stage.name });
  group.append(
    svgNode("rect", { x, y, width: box.width, height: box.height, rx: 8 }),
    svgNode("text", { x: x + box.width / 2, y: y + 19, "class": "name" }, stageName(stage.name)),
    svgNode("text", { x: x + box.width / 2, y: y + 34 }, t("{count} frames", { count: stage.frames })),
    svgNode("text", { x: x + box.width / 2, y: y + 47 }, timesOf(stage)),
  );
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
  // A short line has a short gauge.
  const length = isAcross ? Math.min(gauge.width, Math.abs(a.x - b.x) - 20) : gauge.width;
  const at = { x: (a.x + b.x) / 2 - length / 2, y: (a.y + b.y) / 2 - gauge.height / 2 };
  const filled = Math.min(1, edge.depth / edge.limit) * length;
  const words = `${edgeName(edge.name)} ${edge.depth}/${edge.limit}`;
  // The label stands beside a vertical line, and above or below a horizontal one.
  const label = isAcross
    ? { x: at.x + length / 2, y: at.y + (side > 0 ? 21 : -6) }
    : { x: at.x + length + 6, y: at.y + gauge.height };
  group.append(
    svgNode("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "class": "way", "marker-end": "url(#graph-arrow)" }),
    svgNode("rect", { ...at, width: length, height: gauge.height, rx: 4, "class": "room" }),
    svgNode("rect", { ...at, width: filled, height: gauge.height, rx: 4, "class": "filled" }),
    svgNode("text", { ...label, "class": isAcross ? "" : "start" }, words),
  );
  return group;
}

/** The whole drawing, for a width in pixels. */
export function draw(reading, width) {
  const { places, ...size } = width < wideFrom ? narrowPlaces(reading) : widePlaces(reading);
  const picture = svgNode("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "class": "graph" });
  picture.setAttribute("aria-label", t("The audio path of the call. The tables below list the figures."));
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
  // In its own size, or as wide as there is room.
  picture.setAttribute("width", Math.min(size.width, width));
  picture.setAttribute("height", size.height * Math.min(1, width / size.width));
  return picture;
}
