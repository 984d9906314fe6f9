"""Recognisers, language models and voices with the vendors' wire formats: Deepgram, Cartesia and ElevenLabs on
WebSockets (mock_speech_sockets.py); OpenAI's chat completions, transcriptions and speech over HTTP.
`test_vendor_clients.py` proves them with the vendors' own clients.

`faults` maps a service (deepgram, transcription, chat, cartesia, elevenlabs, aura, speech) to what goes wrong with it:
    a status as text ("401", "429", "500"), "stall", "garbage", "cut" (ends in the middle), "cut once",
    "slow" (transcription: 15 s, a byte at a time)
"""

import asyncio
import contextlib
import email.parser
import email.policy
import http.server
import io
import json
import socket
import threading
import time
import wave
from urllib.parse import urlsplit

from mock_realtime import steady
from mock_speech_sockets import KEY, SpeechSockets, spoken_ms


def cut(request):
    """Ends a response in its middle: closing the socket alone would send nothing while its files are open."""
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True


class MockSpeech(SpeechSockets):
    """`heard`: the texts of the caller's turns. `script`: the model's turns, or a function of the request; each a dict
    of text, tools, think (seconds before the first word), gap (seconds between words), pieces (how the text is cut)."""

    def __init__(self, script=(), heard=(), faults=None, final_delay=0.1):
        self.script, self.heard, self.faults, self.final_delay = (
            script if callable(script) else list(script),
            list(heard),
            dict(faults or {}),
            final_delay,
        )
        self.chats, self.summaries, self.transcriptions, self.speeches, self.requests = [], [], [], [], []
        self.listens, self.speaks, self.voice_settings, self.aborted = [], [], [], 0
        # "asked" for each question to the language model, "heard" for each final transcript, as they came and went.
        self.order = []
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
        self.order.append("asked")
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
                    return cut(request)
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
        sound = steady(spoken_ms(asked["input"]), 24_000)
        if fault == "garbage":
            sound = b""
        self.begin(request, "audio/pcm")
        step = 4_801  # samples are cut in the middle
        try:
            for start in range(0, len(sound), step):
                if fault == "cut" and start >= len(sound) // 2:
                    return cut(request)
                self.chunk(request, sound[start : start + step])
                time.sleep(0.02)
            self.chunk(request, b"")
        except OSError:
            self.aborted += 1
