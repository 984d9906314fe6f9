"""A media-stream server whose protocol is pipecat's: its own serializers read what we send and write what we hear, and
its own runner reads the first messages. No code of ours knows a dialect here."""

import asyncio
import threading
from types import SimpleNamespace

import numpy
from pipecat.frames.frames import (
    EndFrame,
    InputAudioRawFrame,
    InputDTMFFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    OutputTransportMessageUrgentFrame,
)
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.exotel import ExotelFrameSerializer
from pipecat.serializers.genesys import GenesysAudioHookSerializer
from pipecat.serializers.plivo import PlivoFrameSerializer
from pipecat.serializers.telnyx import TelnyxFrameSerializer
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.serializers.vonage import VonageFrameSerializer
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

# Of pipecat's pipelines, both ways.
RATE = 16_000
# Seconds of sound in one frame: what pipecat's transports send by default.
CHUNK = 0.04


class First:
    """The WebSocket as FastAPI has it, as far as pipecat's runner reads it."""

    def __init__(self, socket):
        self.socket = socket

    async def iter_text(self):
        async for message in self.socket:
            yield message


def serializer(dialect, call, rate):
    """As pipecat's examples make it; nothing is hung up by REST. `rate`: of the wire; None: pipecat's default."""
    options = {"auto_hang_up": False}
    match dialect:
        # SignalWire's own example of such a server takes Twilio's transport as it is.
        case "twilio" | "signalwire":
            return TwilioFrameSerializer(call.stream_id, params=TwilioFrameSerializer.InputParams(**options))
        case "telnyx":
            params = TelnyxFrameSerializer.InputParams(**options)
            return TelnyxFrameSerializer(call.stream_id, call["outbound_encoding"], "PCMU", params=params)
        case "plivo":
            return PlivoFrameSerializer(call.stream_id, params=PlivoFrameSerializer.InputParams(**options))
        case "exotel":
            params = ExotelFrameSerializer.InputParams(exotel_sample_rate=rate or 8_000)
            return ExotelFrameSerializer(call.stream_id, params=params)
        case "vonage":
            return VonageFrameSerializer(VonageFrameSerializer.InputParams(vonage_sample_rate=rate or 16_000))
        case "genesys":
            return GenesysAudioHookSerializer()


class PipecatServer(threading.Thread):
    def __init__(self, dialect, rate=None):
        super().__init__(daemon=True)
        self.dialect, self.rate, self.loop = dialect, rate, asyncio.new_event_loop()
        # What the runner found out, the caller's sound and keys, and the headers of the upgrade.
        self.detected, self.call, self.headers = None, None, None
        self.sound, self.digits = [], []
        self.opened, self.closed = threading.Event(), threading.Event()
        self.errors = []
        self.ready = threading.Event()
        self.start()
        assert self.ready.wait(10)

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}/agent"

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.serve())

    async def serve(self):
        self.stopping = asyncio.Event()
        async with serve(self.talk, "127.0.0.1", 0, max_size=1 << 20) as server:
            self.port = server.sockets[0].getsockname()[1]
            self.ready.set()
            await self.stopping.wait()

    async def talk(self, socket):
        self.socket, self.headers = socket, dict(socket.request.headers)
        try:
            if self.dialect in ("twilio", "telnyx", "plivo", "exotel", "signalwire"):
                self.detected, self.call = await parse_telephony_websocket(First(socket))
            self.pipecat = serializer(self.dialect, self.call, self.rate)
            await self.pipecat.setup(SimpleNamespace(audio_in_sample_rate=RATE))
            if self.dialect != "genesys":
                self.opened.set()
            async for message in socket:
                await self.take(await self.pipecat.deserialize(message))
        except ConnectionClosed:
            pass
        except Exception as error:
            self.errors.append(error)
        self.closed.set()

    async def take(self, frame):
        match frame:
            case InputAudioRawFrame():
                self.sound.append(frame.audio)
            case InputDTMFFrame():
                self.digits.append(frame.button.value)
            case OutputTransportMessageUrgentFrame():
                await self.send(frame)
                self.opened.set()

    async def send(self, frame):
        message = await self.pipecat.serialize(frame)
        if message is not None:
            await self.socket.send(message)

    def do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def speak(self, hertz, seconds):
        """A tone, faster than it is spoken."""

        async def say():
            samples = 8_000 * numpy.sin(2 * numpy.pi * hertz * numpy.arange(int(RATE * seconds)) / RATE)
            sound, size = samples.astype("<i2").tobytes(), int(RATE * CHUNK) * 2
            for start in range(0, len(sound), size):
                await self.send(OutputAudioRawFrame(sound[start : start + size], RATE, 1))

        self.do(say())

    def interrupt(self):
        self.do(self.send(InterruptionFrame()))

    def finish(self):
        """The pipeline ends. Only one dialect has a word for that; pipecat's transports then close the socket."""

        async def end():
            await self.send(EndFrame())
            if self.dialect != "genesys":
                await self.socket.close()

        self.do(end())

    def heard(self):
        return numpy.frombuffer(b"".join(self.sound), dtype="<i2").astype(float)

    def stop(self):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.join(10)
