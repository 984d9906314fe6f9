"""The WebSocket half of MockSpeech: Deepgram both ways, Cartesia and ElevenLabs."""

import asyncio
import base64
import json
from urllib.parse import parse_qs, urlsplit

import websockets
from mock_realtime import steady
from websockets.asyncio.server import serve

KEY = "key-of-this-test"
MS_A_CHARACTER = 25


def spoken_ms(text):
    return MS_A_CHARACTER * len(text.strip())


class SpeechSockets:
    """What MockSpeech adds to it: `heard`, `faults`, `final_delay`, `loop`, and the lists of what was asked."""

    def run(self, ready):
        asyncio.set_event_loop(self.loop)

        async def main():
            self.stopping = asyncio.Event()
            async with serve(self.handle, "127.0.0.1", 0, process_request=self.check) as server:
                self.ws_url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
                ready.set()
                await self.stopping.wait()

        self.loop.run_until_complete(main())

    @staticmethod
    def service(path):
        path = urlsplit(path).path
        names = {"/v1/listen": "deepgram", "/v1/speak": "aura", "/tts/websocket": "cartesia"}
        return "elevenlabs" if path.endswith("/stream-input") else names.get(path)

    def check(self, connection, request):
        service, headers = self.service(request.path), request.headers
        if urlsplit(request.path).path in ("/voices", "/v1/voices"):
            known = KEY in (headers.get("xi-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
            return connection.respond(200 if known else 401, '{"voices":[]}')
        token = headers.get("authorization") == f"Token {KEY}"
        allowed = {
            "deepgram": token,
            "aura": token,
            "cartesia": headers.get("authorization") == f"Bearer {KEY}",
            "elevenlabs": headers.get("xi-api-key") == KEY,
        }
        if service is None:
            return connection.respond(404, "no\n")
        fault = self.faults.get(service, "")
        if not allowed[service] or fault.isdigit():
            return connection.respond(int(fault) if fault.isdigit() else 401, "no\n")
        if service == "cartesia" and not headers.get("cartesia-version"):
            return connection.respond(400, "no version\n")

    async def handle(self, socket):
        service = self.service(socket.request.path)
        try:
            await getattr(self, service)(
                socket, {name: values[0] for name, values in parse_qs(urlsplit(socket.request.path).query).items()}
            )
        except websockets.ConnectionClosed:
            pass

    async def deepgram(self, socket, query):
        assert query["encoding"] == "linear16" and query["sample_rate"] == "8000" and query["model"], query
        listen = {"bytes": 0, "messages": [], "query": query}
        self.listens.append(listen)
        fault = self.fault("deepgram")
        state = {"turn": 0, "text": None, "told": 0.0}

        def results(text, **flags):
            start, now = state["told"], listen["bytes"] / 16_000
            if flags.get("is_final"):
                state["told"] = now
            words = [
                {"word": word.lower(), "punctuated_word": word, "start": start, "end": now, "confidence": 0.95}
                for word in text.split()
            ]
            return socket.send(
                json.dumps(
                    {
                        "type": "Results",
                        "channel_index": [0, 1],
                        "duration": now - start,
                        "start": start,
                        "is_final": False,
                        "speech_final": False,
                        **flags,
                        "channel": {
                            "alternatives": [{"transcript": text, "confidence": 0.95 if text else 0.0, "words": words}]
                        },
                        "metadata": {
                            "request_id": "r",
                            "model_uuid": "m",
                            "model_info": {"name": "nova", "version": "1", "arch": "nova-3"},
                        },
                    }
                )
            )

        async for message in socket:
            if isinstance(message, bytes):
                listen["bytes"] += len(message)
                state["turn"] += len(message)
                if fault == "stall":
                    continue
                if state["text"] is None:
                    state["text"] = self.next_heard()
                if fault == "garbage":
                    await socket.send("{nonsense")
                if fault == "cut" and state["turn"] > 6_400:
                    # Nothing of the turn was told yet: the next connection is to hear all of it.
                    with self.lock:
                        self.heard.insert(0, state["text"])
                    return socket.transport.abort()
                if state["turn"] // 4_800 != (state["turn"] - len(message)) // 4_800 and state["text"]:
                    words = state["text"].split()
                    await results(" ".join(words[: max(1, min(len(words), state["turn"] // 4_800))]))
                continue
            command = json.loads(message)
            listen["messages"].append(command["type"])
            if command["type"] == "Finalize" and fault != "stall":
                await asyncio.sleep(self.final_delay)
                self.order.append("heard")
                await results(state["text"] or "", is_final=True, speech_final=True, from_finalize=True)
                state["turn"], state["text"] = 0, None
            if command["type"] == "CloseStream":
                return

    async def cartesia(self, socket, query):
        fault = self.fault("cartesia")
        contexts = {}

        async def speak(name, context):
            ended = 0.0
            while True:
                asked, flush = await context["queue"].get()
                sound = steady(spoken_ms(asked["transcript"]), asked["output_format"]["sample_rate"])
                words, at = asked["transcript"].split(), ended
                times = {"words": words, "start": [], "end": []}
                for word in words:
                    times["start"].append(at)
                    times["end"].append(at + len(word) * MS_A_CHARACTER / 1000)
                    at += (len(word) + 1) * MS_A_CHARACTER / 1000
                ended += len(sound) / 2 / asked["output_format"]["sample_rate"]
                base = {"context_id": name, "done": False, "status_code": 206}
                if asked.get("add_timestamps") and words:
                    await socket.send(
                        json.dumps({"type": "timestamps", **base, "flush_id": flush, "word_timestamps": times})
                    )
                step = asked["output_format"]["sample_rate"] // 5
                for start in range(0, len(sound), step):
                    if fault == "stall" and start:
                        await asyncio.sleep(60)
                    if fault == "cut" and start >= len(sound) // 2:
                        return socket.transport.abort()
                    data = "!" if fault == "garbage" else base64.b64encode(sound[start : start + step]).decode()
                    await socket.send(
                        json.dumps({"type": "chunk", **base, "flush_id": flush, "data": data, "step_time": 1.0})
                    )
                    await asyncio.sleep(0.02)
                if asked.get("flush"):
                    await socket.send(json.dumps({"type": "flush_done", **base, "flush_id": flush, "flush_done": True}))
                if not asked.get("continue"):
                    await socket.send(
                        json.dumps({"type": "done", "context_id": name, "done": True, "status_code": 200})
                    )
                    return

        try:
            async for text in socket:
                asked = json.loads(text)
                self.speaks.append(asked)
                name = asked["context_id"]
                if asked.get("cancel"):
                    if name in contexts:
                        contexts.pop(name)["task"].cancel()
                    continue
                assert (
                    asked["voice"]["mode"] == "id"
                    and asked["output_format"]["container"] == "raw"
                    and asked["model_id"]
                ), asked
                if name not in contexts:
                    contexts[name] = {"queue": asyncio.Queue(), "flushes": 0}
                    contexts[name]["task"] = asyncio.create_task(speak(name, contexts[name]))
                if asked.get("flush"):
                    contexts[name]["flushes"] += 1
                contexts[name]["queue"].put_nowait((asked, max(1, contexts[name]["flushes"])))
        finally:
            for context in contexts.values():
                context["task"].cancel()

    async def aura(self, socket, query):
        """Deepgram's voice: what is in the buffer is spoken at a flush."""
        assert query["encoding"] == "linear16" and query["model"].startswith("aura"), query
        fault, rate, text, flushes = self.fault("aura"), int(query["sample_rate"]), "", 0
        await socket.send(
            json.dumps(
                {
                    "type": "Metadata",
                    "request_id": "r",
                    "model_name": query["model"],
                    "model_version": "1",
                    "model_uuid": "m",
                }
            )
        )
        async for message in socket:
            asked = json.loads(message)
            if asked["type"] == "Speak":
                text += asked["text"]
            elif asked["type"] == "Clear":
                text = ""
                await socket.send(json.dumps({"type": "Cleared", "sequence_id": flushes}))
            elif asked["type"] == "Close":
                return
            elif asked["type"] == "Flush":
                self.speaks.append(text)
                sound, text = steady(spoken_ms(text), rate), ""
                step = rate // 5 + 1  # samples are cut in the middle
                for start in range(0, len(sound), step):
                    if fault == "stall" and start:
                        await asyncio.sleep(60)
                    if fault == "cut" and start >= len(sound) // 2:
                        return socket.transport.abort()
                    await socket.send("{nonsense" if fault == "garbage" else sound[start : start + step])
                    await asyncio.sleep(0.02)
                await socket.send(json.dumps({"type": "Flushed", "sequence_id": flushes}))
                flushes += 1

    async def elevenlabs(self, socket, query):
        fault = self.fault("elevenlabs") if query.get("output_format") == "pcm_16000" else None
        text = ""
        async for message in socket:
            asked = json.loads(message)
            if "voice_settings" in asked:
                self.voice_settings.append((socket.request.path.split("/")[3], asked["voice_settings"]))
            if asked["text"] == "":
                break
            text += asked["text"]
        else:
            self.aborted += 1
            return
        text = text.strip()
        self.speaks.append(text)
        sound = steady(spoken_ms(text), 16_000)
        step, characters = 3_200, 100 // MS_A_CHARACTER
        for number, start in enumerate(range(0, len(sound), step)):
            if fault == "stall" and start:
                await asyncio.sleep(60)
            if fault == "cut" and start >= len(sound) // 2:
                return socket.transport.abort()
            if fault == "garbage":
                await socket.send("{nonsense")
            piece = text[number * characters : (number + 1) * characters]
            # Times count from the piece's begin.
            alignment = {
                "chars": list(piece),
                "charStartTimesMs": [MS_A_CHARACTER * index for index in range(len(piece))],
                "charDurationsMs": [MS_A_CHARACTER] * len(piece),
            }
            await socket.send(
                json.dumps(
                    {
                        "audio": base64.b64encode(sound[start : start + step]).decode(),
                        "isFinal": None,
                        "normalizedAlignment": alignment,
                        "alignment": alignment,
                    }
                )
            )
            await asyncio.sleep(0.02)
        await socket.send(json.dumps({"audio": None, "isFinal": True, "normalizedAlignment": None, "alignment": None}))
