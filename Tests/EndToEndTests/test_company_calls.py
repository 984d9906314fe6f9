"""Calls of companies: their places, their quotas, and whose the inbound ones are."""

import concurrent.futures
import contextlib
import re
import time

from api_client import GOOD, EventSocket
from companies import OURS, A, B, Member
from inbound_calls import FAST, Phone
from ports import free_port
from sipp_scenarios import SDP


def test_one_call_at_a_time_and_so_many_a_day(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="20", TRUNKLINE_OUTBOUND_CALLS_PER_SECOND="0")
    alpha = Member(server, A)
    alpha.post("/api/numbers", {"number": OURS})
    quotas = {"concurrent_calls": 1, "calls_per_day": 8}
    assert server.request("PATCH", f"/api/companies/{A}", {"quotas": quotas})[0] == 200
    far = [callee("silent") for _ in range(3)]
    answers = [
        alpha.request("POST", "/api/outbound/", {**GOOD, "caller_number": OURS, "callee_number": one.address})
        for one in (far * 3)
    ]
    assert [status for status, _ in answers[:8]] == [202] * 8
    status, refused = answers[8]
    assert (status, refused["code"]) == (429, "quota_exceeded")
    assert refused["params"] | {"resets_at": ""} == {"quota": "calls_per_day", "limit": 8, "used": 8, "resets_at": ""}
    # The installation has room, the company has not: never more than one, and the next when it is over.
    seen, deadline = set(), time.time() + 60
    while len(seen) < 3 and time.time() < deadline:
        active = alpha.get("/api/outbound/active")["items"]
        live = [call["outbound_id"] for call in active if call["state"] != "queued"]
        assert len(live) <= 1, live
        seen.update(live)
        for call in active:
            if call["state"] == "connected":
                alpha.request("POST", f"/api/outbound/{call['outbound_id']}/hangup", {})
        time.sleep(0.02)
    assert len(seen) >= 3
    usage = server.request("GET", f"/api/companies/{A}/usage")[1]
    assert (
        usage["storage_bytes"] > 0
        and usage["calls"] >= 2
        and any(one["component"] == "telephony/sip" for one in usage["components"])
    )
    events = [event["event"] for event in alpha.get(f"/api/outbound/{answers[6][1]['outbound_id']}/events")["items"]]
    assert "quota_near" in events


def test_one_call_at_a_time_of_two_hundred_that_are_asked_for_at_once(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="20", TRUNKLINE_OUTBOUND_CALLS_PER_SECOND="0")
    alpha = Member(server, A)
    alpha.post("/api/numbers", {"number": OURS})
    assert server.request("PATCH", f"/api/companies/{A}", {"quotas": {"concurrent_calls": 1}})[0] == 200
    far = callee("rejects")

    def create(number):
        address = far.address.replace("callee@", f"callee{number}@")
        body = {**GOOD, "caller_number": OURS, "callee_number": address}
        return alpha.request("POST", "/api/outbound/", body)[0]

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        creating = [pool.submit(create, number) for number in range(200)]
        most, deadline = 0, time.time() + 120
        while time.time() < deadline:
            states = alpha.get("/api/outbound/active")["states"]
            live = sum(count for state, count in states.items() if state != "queued")
            most = max(most, live)
            assert live <= 1, states
            if all(one.done() for one in creating) and states["queued"] < 150:
                break
        assert [one.result() for one in creating] == [202] * 200
    assert most == 1


def answer(phone):
    """A whole call: what the conversation needs to begin."""
    body = SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port())
    phone.send("INVITE", "Content-Type: application/sdp\r\n", body)
    text = phone.receive()
    assert text.startswith("SIP/2.0 200"), text
    phone.send("ACK", to=re.search(r"^To: (.*)\r$", text, re.M)[1])


def heard(server, path, key):
    """The first messages of a listener."""
    socket, messages = EventSocket(server.http_port, path, key=key), []
    with contextlib.suppress(AssertionError):
        while len(messages) < 5:
            messages.append(socket.receive()["event"])
    return messages


def test_an_inbound_call_is_its_numbers_companys(make_server):
    server = make_server(**FAST)
    alpha, beta = Member(server, A), Member(server, B)
    alpha.post("/api/numbers", {"number": OURS})
    assert server.request("PATCH", f"/api/companies/{A}", {"quotas": {"concurrent_calls": 1}})[0] == 200
    first, second, other = Phone(server, OURS), Phone(server, OURS), Phone(server, "0255509999")
    answer(first)
    assert second.invite() == 503, "the company has one call already"
    assert other.invite() == 200, "the others have room"
    own = alpha.get("/api/inbound/")["items"]
    assert [call["called_number"] if "called_number" in call else call["callee_number"] for call in own] == [OURS]
    call_id = own[0]["inbound_id"]
    assert alpha.get(f"/api/inbound/{call_id}")["state"] in ("ringing", "connected")
    assert beta.get("/api/inbound/")["items"] == []
    levels = EventSocket(server.http_port, "/api/levels", key=alpha.key)
    told = [levels.receive()["levels"]]
    while not told[-1] and len(told) < 20:
        told.append(levels.receive()["levels"])
    assert list(told[-1]) == [call_id]
    assert EventSocket(server.http_port, "/api/levels", key=beta.key).receive() == {"levels": {}}
    listening = f"/api/inbound/{call_id}/listen"
    assert "media" in heard(server, listening, alpha.key) and "media" not in heard(server, listening, beta.key)
    for method, path in [("GET", ""), ("POST", "/hangup"), ("GET", "/events"), ("DELETE", "")]:
        assert beta.request(method, f"/api/inbound/{call_id}{path}", {} if method == "POST" else None)[0] == 404
    assert [call["inbound_id"] for call in server.request("GET", "/api/inbound/")[1]["items"]] != [call_id]
    assert (
        server.request("PATCH", f"/api/companies/{A}", {"state": "suspended", "quotas": {"concurrent_calls": None}})[0]
        == 200
    )
    assert Phone(server, OURS).invite() == 480
    assert server.request("DELETE", f"/api/companies/{A}")[0] == 409, "a call of it is live, and goes on"
