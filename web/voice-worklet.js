// On the browser's audio thread: microphone to μ-law frames of 20 ms (8 kHz, ITU-T G.711), and such frames to the
// speaker.
const rate = 8000;
const frameSamples = 160;

/** Band-limited interpolation from any rate to any other: a windowed sinc, 8 zero crossings on each side. */
class Resampler {
  #step; #half; #table; #history = new Float32Array(0); #at = 0;
  static #resolution = 256;

  constructor(from, to) {
    this.#step = from / to;
    const cutoff = Math.min(1, to / from) * 0.92;
    this.#half = Math.ceil(8 / cutoff);
    this.#at = this.#half;
    this.#history = new Float32Array(2 * this.#half);
    this.#table = new Float32Array(this.#half * Resampler.#resolution + 2);
    for (let index = 0; index < this.#table.length; index += 1) {
      const x = index / Resampler.#resolution;
      const phase = Math.PI * cutoff * x;
      const window = x < this.#half ? 0.5 + 0.5 * Math.cos((Math.PI * x) / this.#half) : 0;
      this.#table[index] = cutoff * (phase === 0 ? 1 : Math.sin(phase) / phase) * window;
    }
  }

  /** Hands each sample that the input allows for to `emit`. */
  push(input, emit) {
    const samples = new Float32Array(this.#history.length + input.length);
    samples.set(this.#history);
    samples.set(input, this.#history.length);
    while (this.#at + this.#half < samples.length) {
      const first = Math.floor(this.#at) - this.#half + 1;
      let sum = 0;
      for (let index = first; index < first + 2 * this.#half; index += 1) {
        const place = Math.abs(this.#at - index) * Resampler.#resolution;
        const low = Math.floor(place);
        sum += samples[index] * (this.#table[low] + (this.#table[low + 1] - this.#table[low]) * (place - low));
      }
      emit(sum);
      this.#at += this.#step;
    }
    const spent = Math.max(0, Math.floor(this.#at) - this.#half);
    this.#history = samples.slice(spent);
    this.#at -= spent;
  }
}

function encode(sample) {
  const clipped = Math.max(-32635, Math.min(32635, Math.round(sample * 32767)));
  const sign = clipped < 0 ? 0x80 : 0;
  const magnitude = Math.abs(clipped) + 132;
  const exponent = 31 - Math.clz32(magnitude) - 7;
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
}

const decoded = Float32Array.from({ length: 256 }, (_, code) => {
  const byte = ~code & 0xff;
  const magnitude = (((byte & 0x0f) << 3) + 132 << (byte >> 4 & 7)) - 132;
  return (byte & 0x80 ? -magnitude : magnitude) / 32768;
});

class Uplink extends AudioWorkletProcessor {
  #resampler = new Resampler(sampleRate, rate);
  #frame = new Uint8Array(frameSamples);
  #count = 0;
  #peak = 0;

  process([input]) {
    this.#resampler.push(input[0] ?? new Float32Array(128), (sample) => {
      this.#frame[this.#count] = encode(sample);
      this.#peak = Math.max(this.#peak, Math.abs(sample));
      this.#count += 1;
      if (this.#count < frameSamples) return;
      this.port.postMessage({ frame: this.#frame, level: this.#peak }, [this.#frame.buffer]);
      this.#frame = new Uint8Array(frameSamples);
      this.#count = 0;
      this.#peak = 0;
    });
    return true;
  }
}

/** Plays what comes, in order. After a gap it waits for three frames, or for 60 ms: so much jitter is not heard. */
class Downlink extends AudioWorkletProcessor {
  static #lead = 3;
  static #longest = 50;
  #resampler = new Resampler(rate, sampleRate);
  #queue = [];
  #frames = 0;
  #isPlaying = false;
  #waitsSince = 0;
  #ready = [];
  #peak = 0;
  #blocks = 0;
  #isOver = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.frame) this.#take(data.frame);
      if (data.mark !== undefined) this.#queue.push(data.mark);
      if (data.clear) this.#clear();
      if (data.end) this.#isOver = true;
    };
  }

  #take(frame) {
    if (!this.#isPlaying && this.#frames === 0) this.#waitsSince = currentTime;
    this.#queue.push(frame);
    this.#frames += 1;
    // The far end's clock runs faster, or this thread stood still: what is oldest gives way.
    while (this.#frames > Downlink.#longest) {
      const oldest = this.#queue.shift();
      if (typeof oldest === "string") this.port.postMessage({ mark: oldest }); else this.#frames -= 1;
    }
  }

  // Marks of what is not played any more come back all the same.
  #clear() {
    for (const item of this.#queue) if (typeof item === "string") this.port.postMessage({ mark: item });
    this.#queue = [];
    this.#frames = 0;
    this.#ready = [];
    this.#isPlaying = false;
  }

  process(_, [output]) {
    const channel = output[0];
    const hasWaited = this.#queue.length > 0 && currentTime - this.#waitsSince > 0.06;
    if (this.#frames >= Downlink.#lead || hasWaited) this.#isPlaying = true;
    while (this.#isPlaying && this.#ready.length < channel.length) {
      const next = this.#queue.shift();
      if (next === undefined) {
        this.#isPlaying = false;
      } else if (typeof next === "string") {
        this.port.postMessage({ mark: next });
      } else {
        this.#frames -= 1;
        this.#resampler.push(Float32Array.from(next, (code) => decoded[code]), (sample) => this.#ready.push(sample));
      }
    }
    const count = Math.min(channel.length, this.#ready.length);
    for (let index = 0; index < count; index += 1) {
      channel[index] = this.#ready[index];
      this.#peak = Math.max(this.#peak, Math.abs(this.#ready[index]));
    }
    if (count > 0) this.#ready.splice(0, count);
    for (const other of output.slice(1)) other.set(channel);
    this.#blocks += 1;
    if (this.#blocks % 8 === 0) {
      this.port.postMessage({ level: this.#peak });
      this.#peak = 0;
    }
    return !this.#isOver;
  }
}

registerProcessor("uplink", Uplink);
registerProcessor("downlink", Downlink);
