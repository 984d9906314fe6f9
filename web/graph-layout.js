// Where the stages of a call's graph stand in the drawing.

// Pixels of the drawing.
export const box = { width: 138, height: 54 };
const gap = { across: 26, queue: 104, down: 58, margin: 10, beside: 62 };

/**
 * The stages of the conversation on the path from the caller to the AI's side (`way`), and those that the path does not
 * pass (`beside`), such as the language model.
 */
function conversationWay(reading) {
  const inside = new Set(reading.stages.filter((one) => one.lane === "conversation").map((one) => one.name));
  const ways = [...reading.links, ...reading.edges];
  const starts = ways.filter((one) => !inside.has(one.from) && inside.has(one.to)).map((one) => one.to);
  const isLast = (name) => ways.some((one) => one.from === name && !inside.has(one.to));
  let paths = starts.slice(0, 1).map((name) => [name]);
  for (let step = 0; step < inside.size && paths.length; step += 1) {
    const found = paths.find((path) => isLast(path.at(-1)));
    if (found) return { way: found, beside: [...inside].filter((name) => !found.includes(name)) };
    paths = paths.flatMap((path) => ways
      .filter((one) => one.from === path.at(-1) && inside.has(one.to) && !path.includes(one.to))
      .map((one) => [...path, one.to]));
  }
  return { way: [...inside], beside: [] };
}

const neighbourOf = (reading, name) => {
  const one = [...reading.links, ...reading.edges].find(({ from, to }) => to === name || from === name);
  return one?.to === name ? one.from : one?.to;
};

/**
 * Where each stage stands: the caller's stages along the top, the conversation down the right side, the AI's stages
 * back along the bottom.
 */
export function widePlaces(reading) {
  const lane = (name) => reading.stages.filter((one) => one.lane === name).map((one) => one.name);
  const { way, beside } = conversationWay(reading);
  const queued = (from, to) => reading.edges.some((one) => one.from === from && one.to === to);
  const places = new Map();
  const along = (names) => {
    let x = gap.margin;
    return names.map((name, index) => {
      const place = [name, x];
      const next = names[index + 1];
      x += box.width + (queued(name, next) || queued(next, name) ? gap.queue : gap.across);
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

/** For a narrow window: the stages below each other, and the stages beside the path next to them. */
export function narrowPlaces(reading) {
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
