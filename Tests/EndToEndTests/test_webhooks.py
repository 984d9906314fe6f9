"""What happens is posted, signed, in order, until it is taken; checked with the PyPI package `standardwebhooks`."""

import base64
import http.server
import json
import signal
import threading
import time

import pytest
from conftest import ATTEND, mocks
from standardwebhooks.webhooks import Webhook

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
FAST = {"TRUNKLINE_WEBHOOKS_SECRET": SECRET, "TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE": ",".join(["0"] + ["1"] * 9)}
UNANSWERED = {"TRUNKLINE_OUTBOUND_RING_TIMEOUT": "1"}


class Receiver:
    """Answers each post as `answer` says: a status, or None to hang up."""

    def __init__(self, answer=lambda event, number: 200):
        self.received, self.refused, self.lock = [], 0, threading.Lock()
        self.bodies = []  # as they came
        self.answer = answer
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                event = Webhook(SECRET).verify(body, dict(self.headers))
                with receiver.lock:
                    number = len(receiver.received) + receiver.refused
                    status = receiver.answer(event, number)
                    if status and 200 <= status < 300:
                        receiver.received.append((self.headers["webhook-id"], event))
                        receiver.bodies.append(body)
                    else:
                        receiver.refused += 1
                if status is None:
                    self.close_connection = True
                    return self.connection.close()
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?secret=in-the-url"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def wait_for(self, condition, seconds=30):
        deadline = time.time() + seconds
        while time.time() < deadline:
            with self.lock:
                if condition([event for _, event in self.received]):
                    return [event for _, event in self.received]
            time.sleep(0.05)
        raise AssertionError([event["event"] for _, event in self.received])


receiver = mocks(Receiver)


def ended(events, call_id=None):
    return any(
        event["event"] in ("outbound_completed", "outbound_ended", "outbound_failed", "outbound_cancelled")
        and call_id in (None, event["outbound_id"])
        for event in events
    )


def test_every_event_of_a_call_is_posted_in_order(make_server, callee, receiver):
    own, all_events = receiver(), receiver()
    server = make_server(
        **FAST,
        TRUNKLINE_WEBHOOKS_URL=all_events.url,
        TRUNKLINE_WEBHOOKS_EVENTS="outbound_queued,outbound_completed,outbound_ended",
    )
    call_id = server.create(callee("busy").address, [ATTEND], webhook_url=own.url)
    server.wait_for(call_id)
    told = own.wait_for(ended)
    assert [event["event"] for event in told] == server.events(call_id), "in order, and each once"
    assert [event["id"] for event in told] == sorted(event["id"] for event in told) and told[0][
        "callee_number"
    ].startswith("sip:")
    assert any(event["event"] == "outbound_transcript" for event in told)
    assert [event["event"] for event in all_events.wait_for(ended)] == ["outbound_queued", told[-1]["event"]]
    deadline = time.time() + 5
    while True:
        items = server.request("GET", f"/api/webhooks/deliveries?outbound_id={call_id}&limit=200")[1]["items"]
        if {item["state"] for item in items} == {"delivered"} or time.time() > deadline:
            break
    assert (
        len(items) == len(told) + 2
        and {item["state"] for item in items} == {"delivered"}
        and {item["last_status"] for item in items} == {200}
    )
    assert "in-the-url" not in json.dumps(items) + (server.folder / "server.log").read_text()


def test_a_receiver_that_is_down_half_of_the_time_loses_nothing(make_server, callee, receiver):
    own = receiver(lambda event, number: [200, 500, None, 200, 429, 200, 503][number % 7])
    server = make_server(**FAST)
    calls = [server.create(callee("busy").address, [ATTEND], webhook_url=own.url) for _ in range(3)]
    for call_id in calls:
        server.wait_for(call_id)
    told = own.wait_for(lambda events: all(ended(events, call_id) for call_id in calls), seconds=60)
    for call_id in calls:
        assert [event["event"] for event in told if event["outbound_id"] == call_id] == server.events(call_id), (
            "in order, each once"
        )
    assert own.refused > 3


def test_messages_survive_a_restart_of_the_server(make_server, callee, receiver):
    own = receiver(lambda event, number: 500)
    server = make_server(**{**FAST, "TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE": ",".join(["2"] * 30)}, **UNANSWERED)
    call_id = server.create(callee("no-answer").address, [ATTEND], webhook_url=own.url)
    server.wait_for(call_id)
    server.kill(signal.SIGKILL)
    own.answer = lambda event, number: 204
    server.start()
    own.wait_for(ended)
    assert [event["event"] for _, event in own.received] == server.events(call_id)


def test_messages_that_were_given_up_can_be_sent_again(make_server, callee, receiver):
    own = receiver(lambda event, number: 410 if event["event"] == "outbound_ringing" else 200)
    server = make_server(**FAST, **UNANSWERED)
    call_id = server.create(callee("no-answer").address, [ATTEND], webhook_url=own.url)
    server.wait_for(call_id)
    own.wait_for(ended)
    dead = server.request("GET", "/api/webhooks/deliveries?state=dead")[1]["items"]
    assert [(item["event"], item["attempts"], item["last_status"]) for item in dead] == [("outbound_ringing", 1, 410)]
    own.answer = lambda event, number: 200
    assert server.request("POST", f"/api/webhooks/deliveries/{dead[0]['id']}/replay", "{}")[0] == 202
    own.wait_for(lambda events: any(event["event"] == "outbound_ringing" for event in events))
    assert server.request("POST", "/api/webhooks/deliveries/replay", "{}")[1] == {"replayed": 0}
    assert server.request("POST", "/api/webhooks/deliveries/msg_999999/replay", "{}")[0] == 404


@pytest.mark.parametrize(
    "url, words",
    [
        ("http://example.org/hook", "https"),
        ("http://127.evil.example/hook", "https"),
        ("ftp://127.0.0.1/", "https"),
        ("https://user:word@example.org/", "password"),
        ("nonsense", "https"),
    ],
)
@pytest.mark.shared
def test_addresses_that_are_refused(server, url, words):
    status, answer = server.request(
        "POST",
        "/api/outbound/",
        {
            "caller_number": "025550100",
            "callee_number": "sip:a@127.0.0.1:9",
            "purpose": "p",
            "questions": ["a"],
            "webhook_url": url,
        },
    )
    assert status == 422 and answer["errors"][0]["field"] == "webhook_url" and words in answer["errors"][0]["message"]


def test_webhooks_to_our_own_network_are_not_sent(make_server, callee, receiver):
    """By name or number: the address connected to is what counts."""
    server = make_server(**{**FAST, "TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE": "0"})
    call_id = server.create(callee("rejects").address, [ATTEND], webhook_url="https://10.0.0.1/hook")
    server.wait_for(call_id)
    deadline = time.time() + 20
    while time.time() < deadline:
        dead = server.request("GET", "/api/webhooks/deliveries?state=dead")[1]["items"]
        if dead:
            break
        time.sleep(0.1)
    assert "private" in dead[0]["last_error"] or "own network" in dead[0]["last_error"], dead[0]
