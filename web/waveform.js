// The waveform of the recording: the far end above, the AI below, a mark where a turn was interrupted. A click plays
// from that point.
import { t } from "./text.js";
import { duration } from "./view.js";

const headerLength = 44;
// Bytes that are drawn: 35 minutes at 16 kHz.
const longest = 128 << 20;

/** The loudest sample of each column, for both sides: [left, right]. Null unless the file is stereo WAV of 16 bits. */
export function peaks(buffer, columns) {
  const view = new DataView(buffer);
  const isStereo = () => view.getUint32(0) === 0x52494646 && view.getUint16(22, true) === 2;
  if (buffer.byteLength < headerLength || !isStereo() || view.getUint16(34, true) !== 16) return null;
  const samples = new Int16Array(buffer, headerLength, Math.floor((buffer.byteLength - headerLength) / 4) * 2);
  const count = samples.length / 2;
  const found = [new Float32Array(columns), new Float32Array(columns)];
  for (let index = 0; index < count; index += 1) {
    const column = Math.min(columns - 1, Math.floor((index * columns) / count));
    for (const side of [0, 1]) {
      const level = Math.abs(samples[2 * index + side]) / 32768;
      if (level > found[side][column]) found[side][column] = level;
    }
  }
  return found;
}

/**
 * @param canvas where it is drawn, @param audio the player, @param turns entries of the transcript
 * @returns a function to call when the page is left.
 */
export async function waveform(canvas, audio, url, turns) {
  const answer = await fetch(url, { credentials: "same-origin" });
  if (!answer.ok || Number(answer.headers.get("content-length")) > longest) return () => {};
  const buffer = await answer.arrayBuffer();
  const columns = 480;
  const levels = peaks(buffer, columns);
  if (!levels) return () => {};
  const rate = new DataView(buffer).getUint32(24, true);
  const seconds = (buffer.byteLength - headerLength) / 4 / rate;
  if (!(seconds > 0)) return () => {};
  canvas.hidden = false;
  canvas.setAttribute("aria-label", t("Sound of {time}: the far end above, the AI below", { time: duration(seconds) }));
  const scale = window.devicePixelRatio || 1;
  canvas.width = columns * scale;
  canvas.height = 96 * scale;
  const pen = canvas.getContext("2d");

  function draw() {
    const style = getComputedStyle(canvas);
    const color = (name) => style.getPropertyValue(name);
    const middle = canvas.height / 2;
    const width = canvas.width / columns;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const played = (audio.currentTime / seconds) * columns;
    for (let column = 0; column < columns; column += 1) {
      pen.globalAlpha = column <= played ? 1 : 0.55;
      pen.fillStyle = color("--good");
      const above = Math.max(scale, levels[0][column] * middle);
      pen.fillRect(column * width, middle - above, Math.max(1, width - scale * 0.4), above);
      pen.fillStyle = color("--accent");
      const below = Math.max(scale, levels[1][column] * middle);
      pen.fillRect(column * width, middle, Math.max(1, width - scale * 0.4), below);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = color("--bad");
    for (const turn of turns) {
      if (!turn.interrupted || turn.end == null) continue;
      pen.fillRect((turn.end / seconds) * canvas.width, 0, 2 * scale, canvas.height);
    }
    pen.fillStyle = color("--text");
    pen.fillRect((audio.currentTime / seconds) * canvas.width, 0, scale, canvas.height);
  }

  const seek = (event) => {
    const box = canvas.getBoundingClientRect();
    audio.currentTime = Math.max(0, Math.min(seconds, ((event.clientX - box.left) / box.width) * seconds));
    audio.play().catch(() => {});
  };
  canvas.addEventListener("click", seek);
  audio.addEventListener("timeupdate", draw);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", draw);
  draw();
  return () => {
    canvas.removeEventListener("click", seek);
    audio.removeEventListener("timeupdate", draw);
    dark.removeEventListener("change", draw);
  };
}
