"""The API as a program sees it: auth, bad input, lists, events, recordings."""
import base64
import os
import json
import socket
import struct
import time

import pytest
from conftest import ATTEND, KEY, PARKING

GOOD = {"caller_number": "025550100", "callee_number": "sip:nobody@127.0.0.1:9", "purpose": "p", "questions": ["Will you come?"]}


def fields(answer):
    return sorted(error["field"] for error in answer.get("errors", []))


def test_nothing_is_open_without_a_key(server):
    for method, path in [("POST", "/api/outbound/"), ("GET", "/api/outbound/"), ("GET", "/api/outbound/active"), ("GET", "/api/outbound/stats"),
                         ("GET", "/api/outbound/ob-00000000"), ("GET", "/api/outbound/ob-00000000/recording"), ("GET", "/api/session"),
                         ("POST", "/api/outbound/ob-00000000/hangup")]:
        assert server.request(method, path, key=None, body="{}" if method == "POST" else None)[0] == 401, path
        assert server.request(method, path, key="wrong-key", body="{}" if method == "POST" else None)[0] == 401, path
    assert server.request("GET", "/health", key=None)[0] == 200
    status, page = server.request("GET", "/", key=None)
    assert status == 200 and "Trunkline" in page and "script-src 'self'" in server.last_headers["content-security-policy"]


@pytest.mark.parametrize("change, bad", [
    ({"callee_number": "12"}, ["callee_number"]), ({"callee_number": "911"}, ["callee_number"]), ({"purpose": " "}, ["purpose"]),
    ({"purpose": "x" * 2001}, ["purpose"]), ({"questions": ["q"] * 21}, ["questions"]), ({"questions": [""]}, ["questions[0]"]),
    ({"max_duration": "long", "priority": 0, "unknown": 1}, ["max_duration", "priority", "unknown"]), ({"agent": "a"}, ["agent"]),
    ({"scheduled_at": "2020-01-01T00:00:00Z"}, ["scheduled_at"]), ({"callee_number": "sip:a@example.org"}, ["callee_number"]),
])
def test_bad_fields_are_named_and_nothing_is_stored(server, change, bad):
    status, answer = server.request("POST", "/api/outbound/", {**GOOD, **change})
    assert status == 422 and fields(answer) == bad and answer["status"] == 422, answer
    assert server.last_headers["content-type"] == "application/problem+json"
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_bad_bodies_and_paths(server):
    assert server.request("POST", "/api/outbound/", b"{not json")[0] == 400
    assert server.request("POST", "/api/outbound/", b"[]")[0] == 400
    assert server.request("POST", "/api/outbound/", b"")[0] == 400
    assert server.request("POST", "/api/outbound/", b'{"purpose":"a","purpose":"b"}')[0] == 422
    assert server.request("POST", "/api/outbound/", b"x", headers={"Content-Type": "text/plain"})[0] == 415
    try:
        assert server.request("POST", "/api/outbound/", b"x" * 3_000_000)[0] == 413
    except (ConnectionResetError, BrokenPipeError):
        pass  # refused while we were still writing
    assert server.request("GET", "/health", key=None)[0] == 200, "still alive"
    assert server.request("GET", "/api/outbound/ob-00000000")[0] == 404
    assert server.request("GET", "/api/outbound/../../etc/passwd")[0] == 404
    assert server.request("GET", "/web/../Package.swift", key=None)[0] == 404
    assert server.request("DELETE", "/api/outbound/")[0] == 405
    assert server.request("GET", "/api/outbound/?limit=0")[0] == 422
    assert server.request("GET", "/api/outbound/?limit=201&state=x&nonsense=1")[1]["errors"].__len__() == 3
    assert server.request("GET", "/nothing")[0] == 404
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_a_repeated_request_is_one_call(make_server):
    server = make_server()
    first = server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "k-1"})
    reordered = json.dumps(dict(reversed(GOOD.items())), indent=2)
    assert server.request("POST", "/api/outbound/", reordered, headers={"Idempotency-Key": "k-1"}) == first and first[0] == 202
    assert server.last_headers["location"] == "/api/outbound/" + first[1]["outbound_id"]
    status, answer = server.request("POST", "/api/outbound/", {**GOOD, "purpose": "another"}, headers={"Idempotency-Key": "k-1"})
    assert status == 422 and answer["code"] == "idempotency_key_reused"
    assert server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "x" * 256})[0] == 422
    server.kill(9)
    server.start()
    assert server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "k-1"}) == first, "after a crash too"
    assert server.request("GET", "/api/outbound/")[1]["total"] == 1


def test_a_dead_callee_fails_with_a_reason(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_RING_TIMEOUT="2")
    call = server.wait_for(server.create("sip:nobody@127.0.0.1:9"), seconds=30)
    assert call["state"] in ("failed", "no_answer") and call["failure_reason"]
    # A gateway whose name does not resolve.
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="no-such-host.invalid", TRUNKLINE_OUTBOUND_RING_TIMEOUT="5")
    call = server.wait_for(server.create("01012345678"), seconds=30)
    assert call["state"] in ("failed", "no_answer") and call["failure_reason"]


def test_session_cookie_and_same_origin(server):
    assert server.request("POST", "/api/session", {"api_key": "wrong"}, key=None)[0] == 401
    status, answer = server.request("POST", "/api/session", {"api_key": KEY}, key=None)
    assert status == 200 and answer["role"] == "admin"
    cookie = server.last_headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    token = cookie.split(";")[0]
    assert server.request("GET", "/api/outbound/", key=None, headers={"Cookie": token})[0] == 200
    evil = {"Cookie": token, "Origin": "http://evil.example"}
    assert server.request("POST", "/api/outbound/", GOOD, key=None, headers=evil)[0] == 403
    own = {"Cookie": token, "Sec-Fetch-Site": "same-origin"}
    assert server.request("POST", "/api/outbound/", GOOD, key=None, headers=own)[0] == 202
    assert server.request("DELETE", "/api/session", key=None, headers=own)[0] == 204
    assert server.request("GET", "/api/outbound/", key=None, headers={"Cookie": token})[0] == 401


class EventSocket:
    """A minimal WebSocket client: handshake and text frames."""

    def __init__(self, port, path, key=KEY):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=15)
        nonce = base64.b64encode(os.urandom(16)).decode()
        auth = f"Authorization: Bearer {key}\r\n" if key else ""
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n{auth}\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(1)
            if not piece:
                break
            head += piece
        self.status = int(head.split()[1])

    def receive(self):
        head = self._exactly(2)
        length = head[1] & 127
        if length == 126:
            length = struct.unpack(">H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self._exactly(8))[0]
        data = self._exactly(length)
        return json.loads(data) if head[0] & 15 == 1 else self.receive()

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            assert piece, "closed"
            data += piece
        return data


def test_events_are_live_and_replayed(server, callee):
    assert EventSocket(server.http_port, "/api/events", key=None).status == 401
    assert EventSocket(server.http_port, "/api/nothing").status == 404
    live = EventSocket(server.http_port, "/api/events?after=0")
    call_id = server.create(callee("busy").address, [PARKING])
    names, ids = [], []
    while not names or names[-1] not in ("outbound_completed", "outbound_ended", "outbound_failed"):
        event = live.receive()
        assert event["outbound_id"] == call_id
        names.append(event["event"])
        ids.append(event["id"])
    assert names[:4] == ["outbound_queued", "outbound_dialing", "outbound_ringing", "outbound_connected"]
    assert "outbound_transcript" in names and ids == sorted(set(ids))
    again = EventSocket(server.http_port, f"/api/events?after={ids[3]}")
    assert [again.receive()["id"] for _ in ids[4:]] == ids[4:]


def test_what_goes_on_comes_in_pages(server, callee):
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    waiting = [server.create(f"sip:{number}@127.0.0.1:9", [ATTEND], scheduled_at=tomorrow) for number in range(5)]
    talking = server.create(callee("silent").address, [ATTEND])
    server.wait_for(talking, {"connected"})
    active = lambda query="": server.request("GET", f"/api/outbound/active{query}")[1]
    ids = lambda page: [item["outbound_id"] for item in page["items"]]
    states = {"queued": 5, "dialing": 0, "ringing": 0, "connected": 1}
    assert ids(active()) == waiting + [talking] and active()["total"] == 6 and active()["states"] == states
    live = active("?state=dialing,ringing,connected&limit=50")
    assert ids(live) == [talking] and live["total"] == 1 and live["states"] == states and live["next_cursor"] is None
    first = active("?state=queued&limit=3")
    rest = active(f"?state=queued&limit=3&cursor={first['next_cursor']}")
    assert ids(first) + ids(rest) == waiting and first["total"] == rest["total"] == 5 and rest["next_cursor"] is None
    for query, field in (("state=completed", "state"), ("state=queued,", "state"), ("limit=201", "limit"), ("cursor=!", "cursor"), ("since=1", "since")):
        status, problem = server.request("GET", f"/api/outbound/active?{query}")
        assert status == 422 and [one["field"] for one in problem["errors"]] == [field], query


def test_list_statistics_recording_and_actions(server, callee):
    hanging = callee("silent")
    call_id = server.create(hanging.address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    time.sleep(3)
    assert server.request("GET", "/api/outbound/active")[1]["total"] == 1
    assert server.call(call_id)["queues"]
    assert server.request("POST", f"/api/outbound/{call_id}/cancel", "{}")[0] == 409
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")[0] == 202
    call = server.wait_for(call_id)
    assert call["end_reason"] == "operator_hangup"
    page = server.request("GET", "/api/outbound/?state=completed&q=dinner")[1]
    assert page["total"] == 1 and "***" in page["items"][0]["callee_number"]
    assert server.call(call_id)["callee_number"] == hanging.address, "whole on its own page"
    assert server.request("GET", "/api/outbound/stats")[1]["states"]["completed"] == 1
    status, head = server.request("GET", f"/api/outbound/{call_id}/recording", headers={"Range": "bytes=0-43"}, raw=True)
    assert status == 206 and head[:4] == b"RIFF" and struct.unpack("<H", head[22:24])[0] == 2
    status, whole = server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)
    seconds = (len(whole) - 44) / 32_000
    assert status == 200 and abs(seconds - call["duration_seconds"]) < 0.3
    assert server.request("POST", f"/api/outbound/{call_id}/retry", "{}")[0] == 202
    server.wait_for(call_id, {"connected"})
    assert server.call(call_id)["attempt_count"] == 2
    server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")
    server.wait_for(call_id)


def test_cancel_while_ringing_and_while_queued(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="1")
    ringing = callee("no-answer")
    first = server.create(ringing.address)
    second = server.create(callee("cooperative").address)
    server.wait_for(first, {"ringing"}, seconds=20)
    assert server.call(second)["state"] == "queued"
    assert server.request("POST", f"/api/outbound/{second}/cancel", "{}")[0] == 202
    assert server.request("POST", f"/api/outbound/{first}/cancel", "{}")[0] == 202
    assert server.wait_for(first, seconds=10)["state"] == "cancelled" and server.wait_for(second)["state"] == "cancelled"
    deadline = time.time() + 5
    while not any(event["event"] == "cancelled" for event in ringing.events()):
        assert time.time() < deadline, "the callee never saw the CANCEL"
        time.sleep(0.05)
