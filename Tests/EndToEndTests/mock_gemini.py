"""A speech model that speaks Gemini Live: the vendor's wire format, scripted words, a tone for a voice.

`test_gemini.py` proves it against the vendor's own client. Script entries: text, ms, tools [(name, arguments)].
"""

import asyncio
import base64
import json
import threading

import websockets
from mock_realtime import tone
from websockets.asyncio.server import serve


def camel(name):
    """The vendor takes both spellings, and its own client mixes them."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def read(text):
    return {
        camel(name): {camel(inner): value for inner, value in content.items()}
        for name, content in json.loads(text).items()
    }


class MockGemini:
    def __init__(self, script=(), heard=(), go_away_after=None):
        self.script, self.heard, self.go_away_after = [dict(entry) for entry in script], list(heard), go_away_after
        self.setups, self.log, self.headers = [], [], []
        self.heard_ms = self.sessions = 0
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)

    def run(self, ready):
        asyncio.set_event_loop(self.loop)

        async def main():
            self.stopping = asyncio.Event()
            async with serve(self.handle, "127.0.0.1", 0) as server:
                self.port = server.sockets[0].getsockname()[1]
                ready.set()
                await self.stopping.wait()

        self.loop.run_until_complete(main())

    async def handle(self, socket):
        self.sessions += 1
        self.headers.append(dict(socket.request.headers.raw_items()))
        number, speaking, silent, run, answers = self.sessions, False, 0, 0, asyncio.Queue()

        async def send(message):
            await socket.send(json.dumps(message).encode())  # as the vendor does: JSON in binary messages

        async def respond():
            script = self.script.pop(0) if self.script else {"text": "Go on.", "ms": 400}
            for name, arguments in script.get("tools", ()):
                await send({"toolCall": {"functionCalls": [{"id": f"call-{name}", "name": name, "args": arguments}]}})
                await answers.get()
            sound = tone(script["ms"], False) if script.get("ms") else b""
            for index in range(0, len(sound), 4800):
                await send(
                    {
                        "serverContent": {
                            "modelTurn": {
                                "role": "model",
                                "parts": [
                                    {
                                        "inlineData": {
                                            "mimeType": "audio/pcm;rate=24000",
                                            "data": base64.b64encode(sound[index : index + 4800]).decode(),
                                        }
                                    }
                                ],
                            }
                        }
                    }
                )
                await asyncio.sleep(0.02)
            if script.get("text"):
                await send({"serverContent": {"outputTranscription": {"text": script["text"]}}})
            await send({"serverContent": {"generationComplete": True}})
            await send({"serverContent": {"turnComplete": True}, "usageMetadata": {"totalTokenCount": 7}})

        try:
            message = read(await socket.recv())
            self.setups.append(message["setup"])
            await send({"setupComplete": {"sessionId": f"session-{number}"}})
            await send({"sessionResumptionUpdate": {"newHandle": f"handle-{number}", "resumable": True}})
            if self.go_away_after and number == 1:
                self.loop.call_later(
                    self.go_away_after, lambda: asyncio.ensure_future(send({"goAway": {"timeLeft": "50s"}}))
                )
            async for text in socket:
                message = read(text)
                assert len(message) == 1, message
                audio = message.get("realtimeInput", {}).get("audio")
                if not audio:
                    self.log.append((number, message))
                if "toolResponse" in message:
                    await answers.put(message)
                elif message.get("clientContent", {}).get("turnComplete"):
                    asyncio.ensure_future(respond())
                elif audio:
                    assert audio["mimeType"] == "audio/pcm;rate=16000"
                    data = base64.b64decode(audio["data"], validate=True)
                    self.heard_ms += len(data) / 32
                    values = memoryview(data).cast("h")
                    is_speech = sum(value * value for value in values) / max(1, len(values)) > 300**2
                    run, silent = (run + 1, 0) if is_speech else (0, silent + 1)
                    speaking = speaking or run >= 2
                    if speaking and silent >= 25:
                        speaking = False
                        words = self.heard.pop(0) if self.heard else "hello there"
                        for part in words.split(" "):
                            await send({"serverContent": {"inputTranscription": {"text": " " + part}}})
                        asyncio.ensure_future(respond())
        except websockets.ConnectionClosed:
            pass

    @property
    def url(self):
        return (
            f"ws://127.0.0.1:{self.port}/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
        )

    def stop(self):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join(5)
