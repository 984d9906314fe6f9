"""A speech model that speaks OpenAI Realtime (GA): the vendor's wire format, scripted words, tones for a voice.

`test_vendor_clients.py` proves it against the vendor's own client. Responses follow a script; each is a dict:
    text, ms (length of the tone), tools [(name, arguments)], fail (a code), stall (begins and never goes on)
"""

import asyncio
import base64
import json
import math
import ssl
import threading
import time

import websockets
from websockets.asyncio.server import serve

DELTA_MS = 100


def mulaw(sample):
    sign, magnitude = (0x80, -sample) if sample < 0 else (0, sample)
    magnitude = min(magnitude, 32635) + 132
    exponent = max(0, magnitude.bit_length() - 8)
    return ~(sign | exponent << 4 | (magnitude >> (exponent + 3)) & 0x0F) & 0xFF


def linear(byte):
    byte = ~byte & 0xFF
    value = ((byte & 0x0F) << 3) + 132 << ((byte & 0x70) >> 4)
    return 132 - value if byte & 0x80 else value - 132


LINEAR = [linear(byte) for byte in range(256)]


def steady(ms, rate):
    """500 Hz as 16-bit samples: one period again and again, since computing each sample would keep all threads
    waiting."""
    period = b"".join(
        int(8000 * math.sin(2 * math.pi * 500 * index / rate)).to_bytes(2, "little", signed=True)
        for index in range(rate // 500)
    )
    return (period * (ms // 2 + 1))[: ms * rate // 1000 * 2]


def tone(ms, is_mulaw):
    """A steady 500 Hz."""
    if not is_mulaw:
        return steady(ms, 24_000)
    period = bytes(mulaw(int(8000 * math.sin(2 * math.pi * index / 16))) for index in range(16))
    return (period * (ms // 2 + 1))[: ms * 8]


class Session:
    def __init__(self, model, socket, number):
        self.model, self.socket, self.number = model, socket, number
        self.is_mulaw, self.vad, self.transcribes = False, {"create_response": True, "interrupt_response": True}, False
        self.silence_ms, self.ms, self.run, self.silent, self.speaking = 500, 0, 0, 0, False
        self.items, self.response, self.task, self.pending = 0, None, None, b""

    async def send(self, kind, **fields):
        self.model.events += 1
        await self.socket.send(json.dumps({"type": kind, "event_id": f"event_{self.model.events}", **fields}))

    async def run_session(self):
        await self.send(
            "session.created",
            session={
                "type": "realtime",
                "object": "realtime.session",
                "id": f"sess_{self.number}",
                "model": "gpt-realtime",
            },
        )
        async for text in self.socket:
            message = json.loads(text)
            kind = message["type"]
            if kind != "input_audio_buffer.append":
                self.model.log.append((time.time(), self.number, message))
            await getattr(self, "on_" + kind.replace(".", "_"))(message)

    async def on_session_update(self, message):
        session = message["session"]
        audio = session.get("audio", {})
        self.is_mulaw = audio.get("input", {}).get("format", {}).get("type") == "audio/pcmu"
        if "turn_detection" in audio.get("input", {}):
            self.vad = audio["input"]["turn_detection"]
        self.transcribes = bool(audio.get("input", {}).get("transcription"))
        await self.send("session.updated", session=session)

    async def on_input_audio_buffer_append(self, message):
        data = base64.b64decode(message["audio"], validate=True)
        self.model.heard_ms += len(data) // (8 if self.is_mulaw else 48)
        self.pending += data
        window = 160 if self.is_mulaw else 960
        while len(self.pending) >= window:
            chunk, self.pending = self.pending[:window], self.pending[window:]
            if self.is_mulaw:
                energy = sum(LINEAR[byte] ** 2 for byte in chunk) / len(chunk)
            else:
                energy = sum(
                    int.from_bytes(chunk[i : i + 2], "little", signed=True) ** 2 for i in range(0, window, 2)
                ) / (window // 2)
            await self.listen(energy > 300**2)

    async def listen(self, is_speech):
        self.ms += 20
        if not self.vad:
            return
        if is_speech:
            self.run, self.silent = self.run + 20, 0
            if not self.speaking and self.run >= 40:
                self.speaking = True
                self.items += 1
                await self.send(
                    "input_audio_buffer.speech_started",
                    audio_start_ms=self.ms - self.run,
                    item_id=f"item_{self.number}_{self.items}",
                )
                if self.vad.get("interrupt_response") and self.response:
                    await self.cancel("turn_detected")
        else:
            self.run, self.silent = 0, self.silent + 20
            if self.speaking and self.silent >= self.silence_ms:
                self.speaking = False
                await self.send(
                    "input_audio_buffer.speech_stopped",
                    audio_end_ms=self.ms - self.silent,
                    item_id=f"item_{self.number}_{self.items}",
                )
                await self.commit(f"item_{self.number}_{self.items}")
                if self.vad.get("create_response"):
                    await self.respond()

    async def commit(self, item):
        await self.send("input_audio_buffer.committed", previous_item_id=None, item_id=item)
        if self.transcribes:
            words = self.model.heard.pop(0) if self.model.heard else "hello there"
            await self.send(
                "conversation.item.input_audio_transcription.completed",
                item_id=item,
                content_index=0,
                transcript=words,
                usage={"type": "duration", "seconds": 1},
            )

    async def on_input_audio_buffer_commit(self, message):
        self.items += 1
        await self.commit(f"item_{self.number}_{self.items}")

    async def on_conversation_item_create(self, message):
        await self.send("conversation.item.added", previous_item_id=None, item={"id": "x", **message["item"]})

    async def on_conversation_item_truncate(self, message):
        self.model.truncated.append(message["audio_end_ms"])
        await self.send(
            "conversation.item.truncated",
            item_id=message["item_id"],
            content_index=0,
            audio_end_ms=message["audio_end_ms"],
        )

    async def on_response_create(self, message):
        if self.response:
            self.model.clashes += 1
            return await self.send(
                "error",
                error={
                    "type": "invalid_request_error",
                    "code": "conversation_already_has_active_response",
                    "message": "active",
                },
            )
        await self.respond()

    async def on_response_cancel(self, message):
        if self.response:
            await self.cancel("client_cancelled")
        else:
            await self.send(
                "error",
                error={"type": "invalid_request_error", "code": "response_cancel_not_active", "message": "none"},
            )

    async def respond(self):
        if self.response:
            return
        script = self.model.script.pop(0) if self.model.script else {"text": "Go on.", "ms": 600}
        self.model.responses += 1
        self.response = f"resp_{self.number}_{self.model.responses}"
        await self.send("response.created", response=self.object("in_progress"))
        self.task = asyncio.create_task(self.speak(self.response, script))

    def object(self, status, details=None):
        usage = {"usage": self.model.usage} if self.model.usage and status == "completed" else {}
        return {
            "object": "realtime.response",
            "id": self.response,
            "status": status,
            "status_details": details,
            "output": [],
            "output_modalities": ["audio"],
            **usage,
        }

    async def cancel(self, reason):
        self.task.cancel()
        response, self.response = self.object("cancelled", {"type": "cancelled", "reason": reason}), None
        await self.send("response.done", response=response)

    async def speak(self, response, script):
        await asyncio.sleep(script.get("think", 0.05))
        if script.get("stall"):
            return
        if code := script.get("fail"):
            done, self.response = (
                self.object("failed", {"type": "failed", "error": {"type": "server_error", "code": code}}),
                None,
            )
            return await self.send("response.done", response=done)
        where = {"response_id": response, "item_id": f"item_{response}", "output_index": 0, "content_index": 0}
        if ms := script.get("ms"):
            sound = tone(ms, self.is_mulaw)
            words = script["text"].split(" ")
            step = len(tone(DELTA_MS, self.is_mulaw))
            await self.send(
                "response.output_item.added",
                response_id=response,
                output_index=0,
                item={
                    "id": where["item_id"],
                    "object": "realtime.item",
                    "type": "message",
                    "role": "assistant",
                    "status": "in_progress",
                    "content": [],
                },
            )
            for index in range(0, len(sound), step):
                share = slice(
                    len(words) * index // len(sound), len(words) * min(len(sound), index + step) // len(sound)
                )
                if words[share]:
                    await self.send(
                        "response.output_audio_transcript.delta", **where, delta=" ".join(words[share]) + " "
                    )
                await self.send(
                    "response.output_audio.delta", **where, delta=base64.b64encode(sound[index : index + step]).decode()
                )
                await asyncio.sleep(DELTA_MS / 1000 / 5)
            await self.send("response.output_audio.done", **where)
        for number, (name, arguments) in enumerate(script.get("tools", ())):
            await self.send(
                "response.function_call_arguments.done",
                response_id=response,
                item_id=f"call_{response}_{number}",
                output_index=1,
                call_id=f"call_{response}_{number}",
                name=name,
                arguments=json.dumps(arguments),
            )
        done, self.response = self.object("completed"), None
        await self.send("response.done", response=done)


class MockRealtime:
    """Runs on a thread of its own until `stop`."""

    def __init__(self, script=(), heard=(), reject=None, die_after=None, garbage=False, tls=None, usage=None):
        self.script, self.heard = [dict(entry) for entry in script], list(heard)
        self.reject, self.die_after, self.garbage = reject, die_after, garbage
        self.usage = usage
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*tls)
        self.log, self.truncated, self.headers = [], [], []
        self.events = self.responses = self.sessions = self.clashes = self.heard_ms = 0
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)

    def run(self, ready):
        asyncio.set_event_loop(self.loop)

        async def main():
            self.stopping = asyncio.Event()
            async with serve(self.handle, "127.0.0.1", 0, process_request=self.check, ssl=self.tls) as server:
                self.port = server.sockets[0].getsockname()[1]
                ready.set()
                await self.stopping.wait()

        self.loop.run_until_complete(main())

    def check(self, connection, request):
        self.headers.append((request.path, request.headers))
        if self.reject:
            return connection.respond(self.reject, "no\n")

    async def handle(self, socket):
        self.sessions += 1
        session = Session(self, socket, self.sessions)
        if self.garbage:
            for text in (
                "{",
                "[]",
                '{"type":7}',
                '{"type":"response.output_audio.delta","delta":"!!!","item_id":"x"}',
                '{"type":"of.a.later.version","x":[{}]}',
                "x" * 100_000,
            ):
                await socket.send(text)
        try:
            if self.die_after and self.sessions == 1:
                await asyncio.wait_for(session.run_session(), self.die_after)
            else:
                await session.run_session()
        except (websockets.ConnectionClosed, TimeoutError, asyncio.TimeoutError):
            pass
        finally:
            if session.task:
                session.task.cancel()
            socket.transport.abort()

    @property
    def url(self):
        return f"wss://localhost:{self.port}/v1/realtime" if self.tls else f"ws://127.0.0.1:{self.port}/v1/realtime"

    def messages(self, kind):
        return [message for _, _, message in self.log if message["type"] == kind]

    def stop(self):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join(5)
