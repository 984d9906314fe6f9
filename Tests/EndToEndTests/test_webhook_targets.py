"""Webhooks of users never reach our own network: names that change their mind, redirections, other spellings of an
address."""

import http.server
import ssl
import threading
import time

import pytest
from conftest import ATTEND, mocks
from name_server import NameServer, may_mount, with_names

QUICK = {"TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE": "0,0"}


class Inside:
    """A server in our own network that webhooks must not reach; over TLS where a certificate is given."""

    def __init__(self, answer=lambda handler: None, tls=None, host="127.0.0.1"):
        self.reached, self.connections = [], 0
        inside = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                inside.reached.append(self.path)
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer(self)
                self.send_response(200) if not getattr(self, "answered", False) else None
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET

        class Counting(http.server.ThreadingHTTPServer):
            def get_request(self):
                inside.connections += 1
                return super().get_request()

        self.server = Counting((host, 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


inside = mocks(Inside)


def given_up(server, seconds=60, count=1):
    """The deliveries that were given up, and why; one of them where one is wanted."""
    deadline = time.time() + seconds
    while time.time() < deadline:
        dead = server.request("GET", "/api/webhooks/deliveries?state=dead&limit=200")[1]["items"]
        if len(dead) >= count:
            return dead[0] if count == 1 else dead
        time.sleep(0.1)
    raise AssertionError(server.request("GET", "/api/webhooks/deliveries")[1])


def queued(server, url):
    """A call that only waits, with its own webhook: its first event is to be posted."""
    status, answer = server.request(
        "POST",
        "/api/outbound/",
        {
            "caller_number": "025550100",
            "callee_number": "sip:a@127.0.0.1:9",
            "purpose": "p",
            "questions": [ATTEND],
            "webhook_url": url,
            "scheduled_at": "2099-01-01T00:00:00Z",
        },
    )
    return status, answer


# Not "%31%32%37.0.0.1": that is 127.0.0.1 (RFC 3986 §6.2.2.2), one of loopback's own names.
SPELLINGS = [
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.1",
    "127.0.1",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::]",
    "0.0.0.0",
    "0",
    "localhost.",
    "LOCALHOST",
    "127.0.0.1.",
    "[64:ff9b::7f00:1]",
    "[::127.0.0.1]",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
]


def is_not_reached(make_server, target, urls):
    """None of these is connected to: each is refused, or its delivery given up."""
    server = make_server(**QUICK)
    accepted = []
    for url in urls:
        status, answer = queued(server, url)
        if status == 202:
            accepted.append(url)
        else:
            assert status == 422 and answer["errors"][0]["field"] == "webhook_url", (url, answer)
    if accepted:
        for delivery in given_up(server, count=max(2, len(accepted))) if len(accepted) > 1 else [given_up(server)]:
            assert delivery["last_status"] is None and delivery["last_error"], delivery
    assert not target.connections and not target.reached, accepted


def test_no_spelling_of_loopback_is_reached(make_server, inside):
    """Bound to loopback, where loopback's own names may be posted to: by no other spelling of it."""
    target = inside()
    is_not_reached(make_server, target, [f"https://{host}:{target.port}/hook" for host in SPELLINGS])


TRICKS = [
    "https://example.org@127.0.0.1:{port}/",
    "https://user@127.0.0.1:{port}/",
    "https://:word@127.0.0.1:{port}/",
    "https://@127.0.0.1:{port}/",
    "https://example.org:80@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}\\@example.org/",
    "https:/127.0.0.1:{port}/",
    "https:127.0.0.1:{port}",
    "https:///127.0.0.1:{port}/",
    "http://127.0.0.1.example.org:{port}/",
    "http://localhost.example.org:{port}/",
    "http://[::ffff:10.0.0.1]:{port}/",
    "HTTP://example.org/",
    "gopher://127.0.0.1:{port}/",
]


def test_tricks_with_the_parts_of_a_url_do_not_reach_loopback(make_server, inside):
    target = inside()
    is_not_reached(make_server, target, [url.format(port=target.port) for url in TRICKS])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirections_are_not_followed(make_server, inside, status):
    """A receiver that sends us elsewhere: into our own network, or anywhere."""
    target = inside()

    def away(handler):
        handler.send_response(status)
        handler.send_header("Location", f"http://127.0.0.1:{target.port}/secret")
        handler.answered = True

    receiver = inside(away)
    server = make_server(**QUICK)
    assert queued(server, f"http://127.0.0.1:{receiver.port}/hook")[0] == 202
    found = given_up(server)
    assert (
        receiver.reached
        and not target.connections
        and found["last_status"] == status
        and str(status) in found["last_error"]
    ), found


class Fickle(NameServer):
    """Answers with a public address first, and with our own afterwards."""

    def __init__(self, answers):
        self.answers, self.count = answers, 0
        super().__init__({("rebind.test", "A"): [answers[0]]})

    def data(self, kind, value):
        if kind == "A":
            value = self.answers[min(self.count, len(self.answers) - 1)]
            self.count += 1
        return super().data(kind, value)


@pytest.mark.may_skip("a mount namespace")
@may_mount
@pytest.mark.parametrize(
    "answers",
    [["203.0.113.7", "127.0.0.1"], ["127.0.0.1", "203.0.113.7"], ["10.0.0.1"], ["169.254.169.254"], ["0.0.0.0"]],
)
def test_a_name_that_resolves_to_loopback_later_is_not_reached(make_server, inside, tmp_path, certificates, answers):
    """The address connected to counts, at each try anew, whatever the name said when the request was taken."""
    target = inside(tls=(certificates / "one.pem", certificates / "one.key"))
    names = Fickle(answers)
    server = make_server(
        launcher=with_names(tmp_path, names.address),
        TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE="0,1,1",
        TRUNKLINE_TLS_CA_FILE=str(certificates / "ca.pem"),
    )
    assert queued(server, f"https://rebind.test:{target.port}/hook")[0] == 202
    found = given_up(server, seconds=90)
    assert names.asked and not target.connections and found["last_status"] is None and found["last_error"], (
        found,
        names.asked,
    )


def test_private_targets_are_reached_if_allowed(make_server, inside, certificates):
    """The proof that the tests above can fail: with webhooks.allow_private the same target gets the post."""
    target = inside(tls=(certificates / "one.pem", certificates / "one.key"))
    server = make_server(
        **QUICK, TRUNKLINE_WEBHOOKS_ALLOW_PRIVATE="true", TRUNKLINE_TLS_CA_FILE=str(certificates / "ca.pem")
    )
    assert queued(server, f"https://127.0.0.1:{target.port}/hook")[0] == 202
    deadline = time.time() + 20
    while not target.reached:
        assert time.time() < deadline, server.request("GET", "/api/webhooks/deliveries")[1]
        time.sleep(0.05)
