"""The servers of providers of telephony: a mock of a REST API, and the calls that it carries.

A provider's own mock (`mock_twilio.py`, `mock_plivo.py`, …) says how its requests are proven and what it does with our
answers."""

import contextlib
import http.client
import http.server
import json
import threading
import time
from urllib.parse import parse_qsl, unquote, urlsplit

from wires import WireStream

PUBLIC = "https://voice.example.com"


class MockProvider:
    """A provider's REST API. `phone(call)` is what happens at the far end of a call that is placed."""

    def __init__(self, phone=lambda call: None):
        self.phone, self.port = phone, None  # port: of the server whose public address is PUBLIC
        self.loses_answers = False  # to what is asked by POST: the connection is closed instead
        self.calls, self.requests = {}, []  # calls by every id they are known by
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parts = urlsplit(self.path)
                fields, path = mock.fields(body, self.headers.get("Content-Type", "")), unquote(parts.path)
                mock.requests.append((self.command, path, fields))
                query = dict(parse_qsl(parts.query))
                status, answer, *then = mock.handle(self.command, path, query, fields, self.headers)
                if mock.loses_answers and self.command == "POST":
                    self.close_connection = True
                    return
                is_sound = isinstance(answer, bytes)
                data = answer if is_sound else b"" if answer is None else json.dumps(answer).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Type", "audio/x-wav" if is_sound else "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                for work in then:
                    threading.Thread(target=work, daemon=True).start()

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

    def settings(self):
        """Of the server, so that it works with this mock."""
        raise NotImplementedError

    def fields(self, body, kind):
        """Of a request: JSON, or a form."""
        return json.loads(body or b"{}") if "json" in kind else dict(parse_qsl(body.decode()))

    def handle(self, method, path, query, fields, headers):
        """Status and JSON (or WAV) of the answer, and what is done once it is sent."""
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

    @property
    def id(self):
        """The provider's."""
        return self.uuid

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
        self.stream = WireStream(f"ws://127.0.0.1:{self.mock.port}{parts.path}{query}", wire, headers)
        while self.stream.open and not self.over.is_set() and not self.redirected.is_set():
            time.sleep(0.02)
        self.stream.hang_up()
        assert self.stream.failure is None, self.stream.failure
