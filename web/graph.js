// The graph of a call: drawn live, and the same figures as tables for screen readers.
import * as api from "./api.js";
import { draw } from "./graph-drawing.js";
import { edgeName, laneNames, milliseconds, stageName, whenFull } from "./graph-names.js";
import { t } from "./text.js";
import { element, isEnded, part } from "./view.js";

// Milliseconds between two readings of a live call's graph.
const lookEvery = 1000;

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
    stageName(one.name), laneNames[one.lane] ?? one.lane, one.frames, milliseconds(one.mean_ms),
    milliseconds(one.worst_ms),
  ]);
  const edges = reading.edges.map((one) => [
    edgeName(one.name), `${stageName(one.from)} → ${stageName(one.to)}`, `${one.depth} / ${one.limit}`, one.peak,
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
    // A call that was never connected has no graph.
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
