"""Recognisers, language models and voices with the vendors' wire formats: Deepgram, Cartesia and ElevenLabs on WebSockets; OpenAI's chat
completions, transcriptions and speech over HTTP. `test_cascade.py` proves them with the vendors' own clients.

`faults` maps a service (deepgram, transcription, chat, cartesia, elevenlabs, aura, speech) to what goes wrong with it:
    a status as text ("401", "429", "500"), "stall", "garbage", "cut" (ends in the middle), "cut once",
    "slow" (transcription: 15 s, a byte at a time)
"""

import asyncio
import base64
import contextlib
import email.parser
import email.policy
import http.server
import io
import json
import math
import threading
import time
import wave
from urllib.parse import parse_qs, urlsplit

import websockets
from websockets.asyncio.server import serve

KEY = "key-of-this-test"
MS_A_CHARACTER = 50


def tone(ms, rate):
    """A steady 500 Hz."""
    return b"".join(
        int(8000 * math.sin(2 * math.pi * 500 * index / rate)).to_bytes(2, "little", signed=True)
        for index in range(ms * rate // 1000)
    )


def spoken_ms(text):
    return MS_A_CHARACTER * len(text.strip())


class MockSpeech:
    """`heard`: the texts of the caller's turns; `script`: the model's turns, or a function of the request; each a dict of text, tools, think (seconds before the first
    word), gap (seconds between words), pieces (how the text is cut)."""

    def __init__(self, script=(), heard=(), faults=None, final_delay=0.1):
        self.script, self.heard, self.faults, self.final_delay = (
            script if callable(script) else list(script),
            list(heard),
            dict(faults or {}),
            final_delay,
        )
        self.chats, self.summaries, self.transcriptions, self.speeches, self.requests = [], [], [], [], []
        self.listens, self.speaks, self.aborted = [], [], 0
        self.review_delay = 0
        self.lock = threading.Lock()
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                mock.get(self)

            def do_POST(self):
                with contextlib.suppress(OSError):
                    mock.post(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http_url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)

    def settings(self, stt="deepgram", llm="openai", tts="cartesia", **more):
        return {
            "TRUNKLINE_STT_PROVIDERS": stt,
            "TRUNKLINE_LLM_PROVIDERS": llm,
            "TRUNKLINE_TTS_PROVIDERS": tts,
            "OPENAI_API_KEY": KEY,
            "DEEPGRAM_API_KEY": KEY,
            "CARTESIA_API_KEY": KEY,
            "ELEVENLABS_API_KEY": KEY,
            "TRUNKLINE_STT_DEEPGRAM_URL": self.ws_url,
            "TRUNKLINE_STT_OPENAI_URL": self.http_url,
            "TRUNKLINE_LLM_OPENAI_URL": self.http_url,
            "TRUNKLINE_LLM_OLLAMA_URL": self.http_url,
            "TRUNKLINE_TTS_CARTESIA_URL": self.ws_url,
            "TRUNKLINE_LLM_GROQ_URL": self.http_url,
            "TRUNKLINE_LLM_GEMINI_URL": self.http_url,
            "GROQ_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
            "TRUNKLINE_TTS_ELEVENLABS_URL": self.ws_url,
            "TRUNKLINE_TTS_DEEPGRAM_URL": self.ws_url,
            "TRUNKLINE_TTS_OPENAI_URL": self.http_url,
            **more,
        }

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join(5)

    def next_heard(self):
        with self.lock:
            return self.heard.pop(0) if self.heard else ""

    def fault(self, service):
        with self.lock:
            fault = self.faults.get(service)
            if fault and fault.endswith(" once"):
                del self.faults[service]
                fault = fault.removesuffix(" once")
            return fault

    # HTTP

    @staticmethod
    def answer(request, status, body, kind="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    def refuse(self, request, status, service):
        headers = [("Retry-After", "7")] if status == 429 else []
        self.answer(
            request,
            status,
            {"error": {"message": f"{service} says no", "type": "x", "code": None, "param": None}},
            headers=headers,
        )

    def get(self, request):
        self.requests.append(("GET", request.path))
        keys = [request.headers.get("authorization") == f"Bearer {KEY}", request.headers.get("xi-api-key") == KEY]
        if not any(keys):
            return self.refuse(request, 401, "the key check")
        self.answer(request, 200, {"object": "list", "data": []})

    def post(self, request, body):
        path = urlsplit(request.path).path
        self.requests.append(("POST", path))
        service = {
            "/v1/chat/completions": "chat",
            "/v1/audio/transcriptions": "transcription",
            "/v1/audio/speech": "speech",
            "/v1/embeddings": "embeddings",
        }.get(path)
        if service is None:
            return self.refuse(request, 404, path)
        if request.headers.get("authorization") != f"Bearer {KEY}" and "ollama" not in self.faults:
            return self.refuse(request, 401, service)
        fault = self.fault(service)
        if fault and fault.isdigit():
            return self.refuse(request, int(fault), service)
        getattr(self, service)(request, body, fault)

    def chunk(self, request, data):
        request.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        request.wfile.flush()

    def begin(self, request, kind):
        request.send_response(200)
        request.send_header("Content-Type", kind)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()

    def chat(self, request, body, fault):
        asked = json.loads(body)
        assert isinstance(asked["messages"], list) and asked["messages"] and asked["model"], asked
        if not asked.get("stream"):
            self.summaries.append(asked)
            if "response_format" in asked:
                time.sleep(self.review_delay)
            review = (
                '```json\n{"summary": "They come on Friday.", "sentiment": "Positive"}\n```'
                if "response_format" in asked
                else "They agreed on Friday."
            )
            return self.answer(
                request,
                200,
                {
                    "id": "c",
                    "object": "chat.completion",
                    "created": 1,
                    "model": asked["model"],
                    "choices": [
                        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": review}}
                    ],
                    "usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520},
                },
            )
        self.chats.append(asked)
        # By what has been said: a question may be asked twice, when the first one was a speculation.
        turn = sum(message["role"] == "assistant" for message in asked["messages"])
        script = (
            self.script(asked)
            if callable(self.script)
            else self.script[turn]
            if turn < len(self.script)
            else {"text": "I see."}
        )
        if fault == "stall":
            time.sleep(30)
            return request.wfile.close()
        time.sleep(script.get("think", 0.05))
        self.begin(request, "text/event-stream")
        if fault == "garbage":
            for _ in range(40):
                self.chunk(request, b"data: {nonsense\n\n")
            return self.chunk(request, b"")

        def tell(delta, finish=None):
            event = {
                "id": "c1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": asked["model"],
                "system_fingerprint": None,
                "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
            }
            self.chunk(request, f"data: {json.dumps(event)}\n\n".encode())

        try:
            tell({"role": "assistant", "content": ""})
            text = script.get("text", "")
            pieces = script.get("pieces") or [word + " " for word in text.split(" ") if word]
            for number, piece in enumerate(pieces):
                if fault == "cut" and number >= len(pieces) // 2:
                    return request.connection.close()
                tell({"content": piece})
                time.sleep(script.get("gap", 0.005))
            tools = script.get("tools", ()) if "tools" in asked else ()
            for index, (name, arguments) in enumerate(tools):
                written = json.dumps(arguments)
                tell(
                    {
                        "tool_calls": [
                            {
                                "index": index,
                                "id": f"call_{len(self.chats)}_{index}",
                                "type": "function",
                                "function": {"name": name, "arguments": ""},
                            }
                        ]
                    }
                )
                for start in range(0, len(written), 9):
                    tell({"tool_calls": [{"index": index, "function": {"arguments": written[start : start + 9]}}]})
            tell({}, "tool_calls" if tools else "stop")
            if asked.get("stream_options", {}).get("include_usage") and fault != "no usage":
                # platform.openai.com/docs/api-reference/chat-streaming: a last chunk without choices.
                usage = {
                    "prompt_tokens": 1000,
                    "completion_tokens": 50,
                    "total_tokens": 1050,
                    "prompt_tokens_details": {"cached_tokens": 200},
                }
                event = {
                    "id": "c1",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": asked["model"],
                    "choices": [],
                    "usage": usage,
                }
                self.chunk(request, f"data: {json.dumps(event)}\n\n".encode())
            self.chunk(request, b"data: [DONE]\n\n")
            self.chunk(request, b"")
        except OSError:
            self.aborted += 1
            raise

    def embeddings(self, request, body, fault):
        """Words of one meaning lie in one direction."""
        asked = json.loads(body)
        meanings = {"car": 0, "parking": 0, "garage": 0, "vehicle": 0, "dog": 1, "pet": 1, "animal": 1}
        vectors = []
        for text in asked["input"]:
            vector = [0.0] * 8
            for word in text.lower().replace("?", " ").replace(".", " ").split():
                vector[meanings.get(word, 2 + sum(map(ord, word)) % 6)] += 5.0 if word in meanings else 0.2
            vectors.append(vector)
        self.answer(
            request,
            200,
            {
                "object": "list",
                "model": asked["model"],
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
                "data": [
                    {"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)
                ],
            },
        )

    def transcription(self, request, body, fault):
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
            b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + body
        )
        parts = {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}
        with wave.open(io.BytesIO(parts["file"].get_payload(decode=True))) as file:
            seconds = file.getnframes() / file.getframerate()
        self.transcriptions.append(
            {name: part.get_content().strip() for name, part in parts.items() if name != "file"} | {"seconds": seconds}
        )
        if fault == "stall":
            time.sleep(30)
        if fault == "garbage":
            return self.answer(request, 200, b"<html>")
        if fault == "slow":
            return self.trickle(request, json.dumps({"text": self.next_heard()}).encode())
        time.sleep(self.final_delay)
        self.answer(request, 200, {"text": self.next_heard()})

    @staticmethod
    def trickle(request, body, seconds=15):
        """The head at once, a space a second, the body at last: no time limit notices."""
        request.send_response(200)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(seconds + len(body)))
        request.end_headers()
        for _ in range(seconds):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(1)
        request.wfile.write(body)

    def speech(self, request, body, fault):
        asked = json.loads(body)
        assert asked["response_format"] == "pcm" and asked["voice"] and asked["model"], asked
        self.speeches.append(asked["input"])
        if fault == "stall":
            time.sleep(30)
        sound = tone(spoken_ms(asked["input"]), 24_000)
        if fault == "garbage":
            sound = b""
        self.begin(request, "audio/pcm")
        step = 4_801  # samples are cut in the middle
        try:
            for start in range(0, len(sound), step):
                if fault == "cut" and start >= len(sound) // 2:
                    return request.connection.close()
                self.chunk(request, sound[start : start + step])
                time.sleep(0.02)
            self.chunk(request, b"")
        except OSError:
            self.aborted += 1

    # WebSockets

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
                sound = tone(spoken_ms(asked["transcript"]), asked["output_format"]["sample_rate"])
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
                sound, text = tone(spoken_ms(text), rate), ""
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
            if asked["text"] == "":
                break
            text += asked["text"]
        else:
            self.aborted += 1
            return
        text = text.strip()
        self.speaks.append(text)
        sound = tone(spoken_ms(text), 16_000)
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
