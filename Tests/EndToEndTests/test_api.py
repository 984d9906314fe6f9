"""The API as a program sees it: keys, sessions, repeated requests, events, and the ends of calls."""

import json
import time

import pytest
from api_client import GOOD, EventSocket
from conftest import KEY, PARKING


@pytest.mark.shared
def test_requests_without_a_key_are_refused(server):
    for method, path in [
        ("POST", "/api/outbound/"),
        ("GET", "/api/outbound/"),
        ("GET", "/api/outbound/active"),
        ("GET", "/api/outbound/stats"),
        ("GET", "/api/outbound/ob-00000000"),
        ("GET", "/api/outbound/ob-00000000/recording"),
        ("GET", "/api/session"),
        ("POST", "/api/outbound/ob-00000000/hangup"),
    ]:
        assert server.request(method, path, key=None, body="{}" if method == "POST" else None)[0] == 401, path
        assert server.request(method, path, key="wrong-key", body="{}" if method == "POST" else None)[0] == 401, path
    assert server.request("GET", "/health", key=None)[0] == 200
    status, page = server.request("GET", "/", key=None)
    assert (
        status == 200 and "Trunkline" in page and "script-src 'self'" in server.last_headers["content-security-policy"]
    )


def test_a_repeated_request_is_one_call(make_server):
    server = make_server()
    first = server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "k-1"})
    reordered = json.dumps(dict(reversed(GOOD.items())), indent=2)
    assert (
        server.request("POST", "/api/outbound/", reordered, headers={"Idempotency-Key": "k-1"}) == first
        and first[0] == 202
    )
    assert server.last_headers["location"] == "/api/outbound/" + first[1]["outbound_id"]
    status, answer = server.request(
        "POST", "/api/outbound/", {**GOOD, "purpose": "another"}, headers={"Idempotency-Key": "k-1"}
    )
    assert status == 422 and answer["code"] == "idempotency_key_reused"
    assert server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "x" * 256})[0] == 422
    server.kill(9)
    server.start()
    assert server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "k-1"}) == first, (
        "after a crash too"
    )
    assert server.request("GET", "/api/outbound/")[1]["total"] == 1


def test_a_call_to_an_unreachable_callee_fails_with_a_reason(make_server):
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


def test_events_are_live_and_replayed(server, callee):
    assert EventSocket(server.http_port, "/api/events", key=None).status == 401
    assert EventSocket(server.http_port, "/api/nothing").status == 404
    live = EventSocket(server.http_port, "/api/events?after=0")
    call_id = server.create(callee("busy").address, [PARKING])
    names, ids = [], []
    while not names or names[-1] not in ("outbound_completed", "outbound_ended", "outbound_failed"):
        event = live.receive()
        assert event["outbound_id"] == call_id
        if event["event"] == "outbound_transcript" and event["event"] not in names:
            assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] == 202
        names.append(event["event"])
        ids.append(event["id"])
    assert names[:4] == ["outbound_queued", "outbound_dialing", "outbound_ringing", "outbound_connected"]
    assert "outbound_transcript" in names and ids == sorted(set(ids))
    again = EventSocket(server.http_port, f"/api/events?after={ids[3]}")
    assert [again.receive()["id"] for _ in ids[4:]] == ids[4:]


def test_cancel_while_ringing_and_while_queued(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="1")
    ringing = callee("no-answer")
    first = server.create(ringing.address)
    second = server.create(callee("cooperative").address)
    server.wait_for(first, {"ringing"}, seconds=20)
    assert server.call(second)["state"] == "queued"
    assert server.request("POST", f"/api/outbound/{second}/cancel", "{}")[0] == 202
    assert server.request("POST", f"/api/outbound/{first}/cancel", "{}")[0] == 202
    assert (
        server.wait_for(first, seconds=10)["state"] == "cancelled" and server.wait_for(second)["state"] == "cancelled"
    )
    deadline = time.time() + 5
    while not any(event["event"] == "cancelled" for event in ringing.events()):
        assert time.time() < deadline, "the callee never saw the CANCEL"
        time.sleep(0.05)
