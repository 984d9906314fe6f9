"""Twilio's side of a media stream: 20 ms of μ-law each way, marks echoed when they have played, or at once after
`clear`."""

import array
import base64
import functools
import io
import json
import math
import threading
import time
import wave

from mock_realtime import mulaw
from websockets.sync.client import connect

SILENCE = b"\xff" * 160


@functools.cache
def voice_period():
    """A quarter of a second: the envelope has 4 Hz, and the buzz 140, so that it goes on where it began."""
    samples = []
    for index in range(2_000):
        at = index / 8000
        samples.append(
            int(
                6000
                * (0.6 + 0.4 * math.sin(2 * math.pi * 4 * at))
                * sum(math.sin(2 * math.pi * 140 * k * at) / k for k in (1, 2, 3, 5))
            )
        )
    return bytes(mulaw(max(-32000, min(32000, sample))) for sample in samples)


def voice(ms):
    """Something a detector takes for speech: a buzz with an envelope."""
    period = voice_period()
    return (period * (ms * 8 // len(period) + 1))[: ms * 8]


class Carrier:
    """One stream. `play_log` has (time, bytes) of each 20 ms of ours that was heard, `play_ticks` the number of its
    tick. Another vendor's messages are a subclass, or a `Wire` (`wires.py`)."""

    # What a message of ours may have.
    fields = frozenset(["event", "streamSid", "media", "mark"])
    rate = 8_000
    silence = SILENCE  # 20 ms as they are kept here
    frames = 1  # of 20 ms in a message of the caller's sound
    echoes_cleared = True  # marks come back although their sound was dropped
    failure = None  # what was wrong with a message of ours

    def __init__(self, url, call_sid="CA1", parameters=None, headers=None, stream_sid="MZ1", tls=None):
        # Closed by the server or with the process.
        self.socket = connect(
            url, additional_headers=headers or {}, max_size=1 << 20, compression=None, ssl=tls
        ).__enter__()
        self.sid, self.sequence, self.chunk = stream_sid, 1, 0
        self.queue, self.play_log, self.clears, self.received = [], [], [], []
        self.partial, self.to_say, self.play_ticks = b"", [], []
        self.lock, self.open = threading.Lock(), True
        self.close_code, self.said_at = None, 0.0
        self.begin(call_sid, parameters or {})
        self.started = time.monotonic()
        self.threads = [
            threading.Thread(target=self.read, daemon=True),
            threading.Thread(target=self.tick, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    # The vendor's messages.

    def begin(self, call_sid, parameters):
        self.send({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        self.send(
            {
                "event": "start",
                "sequenceNumber": "1",
                "streamSid": self.sid,
                "start": {
                    "streamSid": self.sid,
                    "accountSid": "AC1",
                    "callSid": call_sid,
                    "tracks": ["inbound"],
                    "customParameters": parameters,
                    "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
                },
            }
        )

    def numbered(self, event, **body):
        self.sequence += 1
        return {"event": event, "sequenceNumber": str(self.sequence), "streamSid": self.sid, **body}

    def media(self, payload):
        return self.numbered(
            "media",
            media={
                "track": "inbound",
                "chunk": str(self.chunk),
                "timestamp": str(self.chunk * 20),
                "payload": payload,
            },
        )

    def digit(self, digit):
        return self.numbered("dtmf", dtmf={"track": "inbound_track", "digit": digit})

    def stop(self):
        return self.numbered("stop", stop={"accountSid": "AC1", "callSid": "CA1"})

    def is_ours(self, message):
        return message.get("streamSid") == self.sid

    def to_wire(self, frame):
        """20 ms of μ-law as the stream has them."""
        return frame

    def from_wire(self, sound):
        """What we were sent, as μ-law."""
        return sound

    def understand(self, text):
        """A message of ours: `("sound", bytes)`, `("mark", name)` or `("clear", None)`."""
        message = json.loads(text)
        assert self.is_ours(message) and set(message) <= self.fields, message
        self.received.append(message["event"])
        if message["event"] == "media":
            assert set(message["media"]) == {"payload"}
            return "sound", self.from_wire(base64.b64decode(message["media"]["payload"], validate=True))
        if message["event"] == "mark":
            return "mark", message["mark"]["name"]
        assert message["event"] == "clear", message
        return "clear", None

    def send_sound(self, sound):
        self.send(self.media(base64.b64encode(self.to_wire(sound)).decode()))

    def echo(self, name):
        self.send(self.numbered("mark", mark={"name": name}))

    def cleared(self):
        """Says that our sound was dropped, where the vendor does."""

    # What any vendor does.

    def send(self, message):
        self.socket.send(json.dumps(message))

    def read(self):
        try:
            for message in self.socket:
                kind, what = self.understand(message)
                with self.lock:
                    if kind == "sound":
                        self.hear(what)
                    elif kind == "mark":
                        self.queue.append(what)
                    else:
                        self.clear()
        except AssertionError as failure:
            self.failure = failure
        except Exception:
            pass
        self.close_code = self.socket.close_code
        self.open = False

    def hear(self, sound):
        self.partial += sound
        size = len(self.silence)
        while len(self.partial) >= size:
            self.queue.append(self.partial[:size])
            self.partial = self.partial[size:]

    def clear(self):
        self.clears.append(time.monotonic())
        marks = [item for item in self.queue if not isinstance(item, bytes)]
        self.queue.clear()
        self.cleared()
        for name in marks if self.echoes_cleared else []:
            self.echo(name)

    def tick(self):
        due, pending = time.monotonic(), []
        while self.open:
            due += 0.02
            time.sleep(max(0, due - time.monotonic()))
            try:
                with self.lock:
                    while self.queue and not isinstance(self.queue[0], bytes):
                        self.echo(self.queue.pop(0))
                    if self.queue:
                        self.play_log.append((time.monotonic(), self.queue.pop(0)))
                        self.play_ticks.append(self.chunk)
                    if self.to_say:
                        self.said_at = time.monotonic()
                    pending.append(self.to_say.pop(0) if self.to_say else self.silence)
                    self.chunk += 1
                    if len(pending) == self.frames:
                        self.send_sound(b"".join(pending))
                        pending.clear()
            except Exception:
                return

    def say(self, ms):
        sound = voice(ms)
        with self.lock:
            self.to_say += [sound[index : index + 160] for index in range(0, len(sound), 160)]

    def say_file(self, data):
        """A WAV file, 8 kHz, 16 bit."""
        with wave.open(io.BytesIO(data)) as file:
            samples = array.array("h", file.readframes(file.getnframes()))
        sound = bytes(mulaw(sample) for sample in samples)
        with self.lock:
            self.to_say += [sound[index : index + 160] for index in range(0, len(sound) - 159, 160)]

    def press(self, digit):
        self.send(self.digit(digit))

    def played_ms(self, since=0):
        with self.lock:
            return 20 * sum(1 for at, frame in self.play_log if at >= since and frame != SILENCE)

    def is_quiet(self, seconds):
        """Something was heard, and nothing more for so long: longer than the machine stands still between frames."""
        with self.lock:
            return bool(self.play_log) and time.monotonic() - self.play_log[-1][0] > seconds

    def wait(self, condition, seconds=15, what="it"):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not happen: {self.received[-5:]}"
            time.sleep(0.01)

    def hang_up(self):
        try:
            self.send(self.stop())
            self.socket.close()
        except Exception:
            pass
        self.open = False
