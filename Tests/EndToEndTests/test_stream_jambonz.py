"""A SIP leg is streamed to a server of jambonz's own Python SDK: its `AudioStream` reads what we send and says what we
hear. The WebSocket below it is ours, for the SDK's router takes only the subprotocol of mod_audio_fork."""

import asyncio
import threading
import time

import numpy
import pytest
from jambonz_sdk.websocket.audio_stream import AudioStream
from phones import seconds_of
from sip_phone import SIPPhone
from websockets.asyncio.server import serve

RATE = 16_000


class JambonzServer(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.loop, self.stream, self.sound = asyncio.new_event_loop(), None, []
        self.ready, self.opened, self.marks = threading.Event(), threading.Event(), []
        self.start()
        assert self.ready.wait(10)

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.serve())

    async def serve(self):
        self.stopping = asyncio.Event()
        async with serve(self.talk, "127.0.0.1", 0, subprotocols=["audio.jambonz.org"]) as server:
            self.port = server.sockets[0].getsockname()[1]
            self.ready.set()
            await self.stopping.wait()

    async def talk(self, socket):
        assert socket.subprotocol == "audio.jambonz.org"
        self.stream = AudioStream(socket)
        self.stream.on("audio", self.sound.append)
        self.stream.on("mark", self.marks.append)
        self.opened.set()
        await self.stream._run()

    def do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def speak(self, hertz, seconds):
        samples = 8_000 * numpy.sin(2 * numpy.pi * hertz * numpy.arange(int(RATE * seconds)) / RATE)
        sound = samples.astype("<i2").tobytes()

        async def say():
            for start in range(0, len(sound), 3_200):
                await self.stream.send_audio(sound[start : start + 3_200])

        self.do(say())

    def heard(self):
        return numpy.frombuffer(b"".join(self.sound), dtype="<i2").astype(float)

    def stop(self):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.join(10)


@pytest.fixture
def jambonz():
    server = JambonzServer()
    yield server
    server.stop()


@pytest.fixture
def sip_phone():
    phone = SIPPhone()
    yield phone
    phone.close()


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.05)


def test_a_call_is_held_by_jambonz_own_sdk(make_server, sip_phone, jambonz):
    server = make_server(
        TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{jambonz.port}/audio",
        TRUNKLINE_BRIDGE_STREAM_DIALECT="jambonz",
        TRUNKLINE_BRIDGE_STREAM_FORMAT=f"l16/{RATE}",
    )
    call_id = server.create(sip_phone.address)
    assert jambonz.opened.wait(10), server.log_end()
    sip_phone.say = 600
    time.sleep(2)
    sip_phone.say = None
    wait_until(lambda: seconds_of(jambonz.heard()[::2], 600) >= 1.2)
    before = len(sip_phone.packets)
    jambonz.speak(900, 2)
    jambonz.do(jambonz.stream.send_mark("said"))
    wait_until(lambda: seconds_of(sip_phone.heard(), 900) >= 1.4)
    wait_until(lambda: jambonz.marks)
    assert jambonz.marks == [{"type": "mark", "data": {"name": "said", "event": "playout"}}]
    jambonz.speak(900, 8)
    time.sleep(1)
    jambonz.do(jambonz.stream.kill_audio())
    time.sleep(1.5)
    assert 1.4 < seconds_of(sip_phone.heard()[before * 160 :], 900) < 4.5
    assert abs(sip_phone.heard()[-4_000:]).max() < 300, "what was cleared is heard"
    jambonz.do(jambonz.stream.disconnect())
    call = server.wait_for(call_id, seconds=10)
    assert call["state"] == "completed" and call["failure_reason"] is None, (call, server.log_end())
    assert sip_phone.over.wait(5)
