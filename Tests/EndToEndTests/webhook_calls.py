"""Calls at any provider of telephony: a mock of its REST API, its webhooks, and a phone whose sound is streamed.

A provider's own mock (`mock_plivo.py`, `mock_vonage.py`, `mock_exotel.py`) says how its requests are proven and what it
does with our answers, and spells the messages of its stream as a `Wire`."""

import contextlib
import functools
import http.client
import http.server
import json
import subprocess
import threading
import time
from urllib.parse import parse_qsl, urlsplit

import numpy
from mock_realtime import mulaw
from websockets.sync.client import connect

PUBLIC = "https://voice.example.com"


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
        return frame != self.silence if self.is_mulaw else bool(numpy.abs(numpy.frombuffer(frame, "<i2")).max() > 16)


class ProviderStream:
    """One stream: 20 ms each way; marks come back when they have been played."""

    def __init__(self, url, wire, headers=None):
        self.socket = connect(url, additional_headers=headers or {}, max_size=1 << 20, compression=None).__enter__()
        self.wire, self.open, self.close_code = wire, True, None
        self.queue, self.play_log, self.clears, self.to_say = [], [], [], []
        self.partial, self.lock = b"", threading.Lock()
        self.failure, self.said_at = None, 0.0
        for message in wire.begin():
            self.socket.send(message)
        for work in (self.read, self.tick):
            threading.Thread(target=work, daemon=True).start()

    def read(self):
        try:
            for message in self.socket:
                kind, what = self.wire.read(message)
                with self.lock:
                    if kind == "sound":
                        self.partial += what
                        while len(self.partial) >= self.wire.size:
                            self.queue.append(self.partial[: self.wire.size])
                            self.partial = self.partial[self.wire.size :]
                    elif kind == "mark":
                        self.queue.append(("mark", what))
                    else:
                        self.clear()
        except AssertionError as failure:
            self.failure = failure
        except Exception:
            pass
        self.close_code = self.socket.close_code
        self.open = False

    def clear(self):
        self.clears.append(time.monotonic())
        marks = [item[1] for item in self.queue if isinstance(item, tuple)]
        self.queue.clear()
        if self.wire.cleared():
            self.socket.send(self.wire.cleared())
        for name in marks if self.wire.echoes_cleared else []:
            self.socket.send(self.wire.mark(name))

    def tick(self):
        due, pending = time.monotonic(), []
        while self.open:
            due += 0.02
            time.sleep(max(0, due - time.monotonic()))
            with contextlib.suppress(Exception), self.lock:
                while self.queue and isinstance(self.queue[0], tuple):
                    self.socket.send(self.wire.mark(self.queue.pop(0)[1]))
                if self.queue:
                    self.play_log.append((time.monotonic(), self.queue.pop(0)))
                if self.to_say:
                    self.said_at = time.monotonic()
                pending.append(self.to_say.pop(0) if self.to_say else self.wire.silence)
                if len(pending) == self.wire.frames:
                    self.socket.send(self.wire.sound(b"".join(pending)))
                    pending.clear()

    def say(self, words):
        sound = self.wire.encoded(spoken_samples(words, self.wire.rate))
        size = self.wire.size
        with self.lock:
            self.to_say += [sound[at : at + size] for at in range(0, len(sound) - size + 1, size)]

    def played_ms(self):
        with self.lock:
            return 20 * sum(1 for _, frame in self.play_log if self.wire.is_heard(frame))

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


@functools.cache
def spoken_samples(words, rate):
    """What a person says: 16-bit samples, with a pause around them."""
    loud = subprocess.run(
        ["espeak-ng", "-v", "en-us", "-s", "140", "--stdout", words], capture_output=True, check=True
    ).stdout
    raw = subprocess.run(
        ["sox", "-t", "wav", "-", "-t", "raw", "-e", "signed", "-b", "16", "-c", "1", "-r", str(rate), "-"]
        + ["gain", "-6", "pad", "0.2", "0.2"],
        input=loud,
        capture_output=True,
        check=True,
    ).stdout
    return numpy.frombuffer(raw[: len(raw) // 2 * 2], dtype="<i2")


class MockProvider:
    """A provider's REST API. `phone(call)` is what happens at the far end of a call that is placed."""

    def __init__(self, phone=lambda call: None):
        self.phone, self.port = phone, None  # port: of the server whose public address is PUBLIC
        self.calls, self.requests = {}, []  # calls by every id they are known by
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parts = urlsplit(self.path)
                is_json = "json" in self.headers.get("Content-Type", "")
                fields = json.loads(body or b"{}") if is_json else dict(parse_qsl(body.decode()))
                mock.requests.append((self.command, parts.path, fields))
                status, answer = mock.handle(
                    self.command, parts.path, dict(parse_qsl(parts.query)), fields, self.headers
                )
                data = b"" if answer is None else json.dumps(answer).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        for call in self.calls.values():
            call.over.set()
        self.server.shutdown()
        self.server.server_close()

    def handle(self, method, path, query, fields, headers):
        """Status and JSON of the answer."""
        raise NotImplementedError

    def asked(self, method, ending):
        return [fields for name, path, fields in self.requests if name == method and path.endswith(ending)]

    def send(self, method, url, body=None, headers=None):
        """A request to the server, by its public address: status and text."""
        assert url.startswith(PUBLIC), url
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
        connection.request(method, url.removeprefix(PUBLIC), body, headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text


class ProviderCall:
    """One call. What a provider's own does with our answers is in its `answer`."""

    def __init__(self, mock, caller, called):
        self.mock, self.caller, self.called = mock, caller, called
        self.over, self.stream, self.redirected = threading.Event(), None, threading.Event()
        self.answers, self.failure = [], None  # what the server said; an exception in the phone's thread

    def begin(self, action=None, *arguments):
        """What happens at the far end, in a thread of its own."""

        def work():
            try:
                (action or self.answer)(*arguments)
            except Exception as failure:
                self.failure = failure

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def carry(self, url, wire, headers=None):
        """The stream, until it or the call ends, or the call is taken elsewhere."""
        parts = urlsplit(url)
        assert parts.scheme == "wss" and parts.netloc == urlsplit(PUBLIC).netloc, url
        query = "?" + parts.query if parts.query else ""
        self.stream = ProviderStream(f"ws://127.0.0.1:{self.mock.port}{parts.path}{query}", wire, headers)
        while self.stream.open and not self.over.is_set() and not self.redirected.is_set():
            time.sleep(0.02)
        self.stream.hang_up()
        assert self.stream.failure is None, self.stream.failure


def wait(condition, seconds=15, what="it"):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, f"{what} did not happen"
        time.sleep(0.02)


def talk(call, words="Yes, please."):
    """Interrupts the first sentence, and then answers whenever it is quiet."""
    wait(lambda: call.failure or call.stream and call.stream.played_ms() > 700, what="the greeting")
    assert call.failure is None, call.failure
    call.stream.say(words)
    wait(lambda: call.stream.clears, what="the barge-in")
    for _ in range(6):
        wait(lambda: not call.stream.open or call.stream.is_quiet(1.5), 40, "a pause")
        if not call.stream.open:
            return
        call.stream.say(words)


def refused(port, path, wire, headers=None):
    """The close code of a stream that is not let in."""
    stream = ProviderStream(f"ws://127.0.0.1:{port}{path}", wire, headers)
    wait(lambda: not stream.open, what="the refusal")
    return stream.close_code
