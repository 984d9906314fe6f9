"""Streams whose messages are spelt by a `Wire`; all else is as with any carrier (`carrier.py`)."""

import array
import contextlib
import functools
import io
import time
import wave

import numpy
from carrier import Carrier
from mock_realtime import mulaw
from spoken_words import spoken


@functools.lru_cache(10_000)
def is_loud(frame):
    """Whether 16-bit PCM is more than silence. Asked about all that was played, at each look at a stream."""
    return bool(numpy.abs(numpy.frombuffer(frame, "<i2")).max() > 16)


class Wire:
    """How a stream's messages are spelt. Sound is what 20 ms have: μ-law at 8 kHz, or 16-bit PCM, low byte first."""

    frames = 1  # of 20 ms that the provider sends in one message
    echoes_cleared = False  # marks come back although their sound was dropped

    def __init__(self, rate=8000, is_mulaw=False):
        self.rate, self.is_mulaw = rate, is_mulaw
        self.size = rate // 50 * (1 if is_mulaw else 2)
        self.silence = (b"\xff" if is_mulaw else b"\0") * self.size

    def begin(self):
        """The first messages."""

    def sound(self, data):
        """A message with sound of the caller's."""

    def read(self, message):
        """A message of ours: `("sound", bytes)`, `("mark", name)` or `("clear", None)`."""

    def mark(self, name):
        """The message that says that a mark's sound has been played."""

    def cleared(self):
        return None

    def end(self):
        return None

    def encoded(self, samples):
        samples = numpy.asarray(samples, dtype="<i2")
        return bytes(mulaw(int(sample)) for sample in samples) if self.is_mulaw else samples.tobytes()

    def is_heard(self, frame):
        return frame != self.silence if self.is_mulaw else is_loud(frame)


class WireStream(Carrier):
    """Keeps frames as they are on the wire."""

    def __init__(self, url, wire, headers=None):
        self.wire, self.silence, self.frames = wire, wire.silence, wire.frames
        self.echoes_cleared = wire.echoes_cleared
        super().__init__(url, headers=headers)

    def begin(self, call_sid, parameters):
        for message in self.wire.begin():
            self.socket.send(message)

    def understand(self, text):
        return self.wire.read(text)

    def send_sound(self, sound):
        self.socket.send(self.wire.sound(sound))

    def echo(self, name):
        self.socket.send(self.wire.mark(name))

    def cleared(self):
        if self.wire.cleared():
            self.socket.send(self.wire.cleared())

    def say(self, words):
        with wave.open(io.BytesIO(spoken(words, self.wire.rate, pause=(0.2, 0.2)))) as file:
            sound = self.wire.encoded(array.array("h", file.readframes(file.getnframes())))
        size = len(self.silence)
        with self.lock:
            self.to_say += [sound[at : at + size] for at in range(0, len(sound) - size + 1, size)]

    def played_ms(self, since=0):
        with self.lock:
            return 20 * sum(1 for at, frame in self.play_log if at >= since and self.wire.is_heard(frame))

    def is_quiet(self, seconds):
        """Something was heard, and neither side has said anything for so long."""
        with self.lock:
            last = max(self.said_at, self.play_log[-1][0]) if self.play_log else time.monotonic()
            return not self.queue and not self.to_say and time.monotonic() - last > seconds

    def hang_up(self):
        with contextlib.suppress(Exception):
            if self.wire.end():
                self.socket.send(self.wire.end())
            self.socket.close()
        self.open = False
