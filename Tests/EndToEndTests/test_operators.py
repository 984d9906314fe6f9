"""Operators: they ring, are bridged with callers, hold and transfer them, and the AI takes the call where none
answers."""

import contextlib
import re
import subprocess
import time

import numpy
import pytest
from conftest import TRUNKLINE, clean_environment
from inbound_calls import inbound, wait_for_call
from operators import FAST, PASSWORD, Desk, Talking, add_operator, registered, stereo, wait_until
from phones import seconds_of, silence, speech, tone


def test_operators_are_managed_by_the_api(server):
    known = add_operator(server, away_message="Kim is at lunch.", ring_timeout=12)
    status, one = server.request("GET", f"/api/operators/{known}")
    assert (
        status == 200
        and one["name"] == "Kim Minsu"
        and one["has_password"]
        and not one["registered"]
        and one["ring_timeout"] == 12
    )
    assert PASSWORD not in str(one) and "secret" not in one
    assert server.request("POST", "/api/operators", {"name": "Lee", "sip_user": "kim"})[0] == 409
    assert server.request("POST", "/api/operators", {"name": "Lee", "sip_user": "lee", "number": "1001"})[0] == 409
    status, problem = server.request(
        "POST",
        "/api/operators",
        {"name": "", "sip_user": "a b", "sip_password": "short", "status": "asleep", "ring_timeout": 1},
    )
    assert status == 422 and {error["field"] for error in problem["errors"]} >= {
        "name",
        "sip_user",
        "sip_password",
        "status",
        "ring_timeout",
    }, problem
    status, changed = server.request(
        "PUT", f"/api/operators/{known}/status", {"status": "away", "away_message": "Back at two."}
    )
    assert (
        status == 200
        and changed["status"] == "away"
        and changed["away_message"] == "Back at two."
        and changed["has_password"]
    )
    assert [item["id"] for item in server.request("GET", "/api/operators")[1]["items"]] == [known]
    assert server.request("PUT", f"/api/operators/{known}", {"name": "Kim", "sip_user": "kim2"})[0] == 422, (
        "a new user needs a new password"
    )
    assert (
        server.request("DELETE", f"/api/operators/{known}")[0] == 204
        and server.request("GET", f"/api/operators/{known}")[0] == 404
    )
    actions = [entry["action"] for entry in server.request("GET", "/api/audit")[1]["items"]]
    assert {"operator.create", "operator.status", "operator.delete"} <= set(actions)


def test_a_caller_reaches_the_operator(make_server, phone, tmp_path):
    """Both hear each other, and both stand in the recording; the operator hangs up."""
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, tone(tmp_path / "desk.wav", 500), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    assert server.request("GET", f"/api/operators/{known}")[1]["in_call"]
    time.sleep(4)
    desk.command("hangup")
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"], call["operator_name"]) == ("completed", "transferred", "Kim Minsu"), call
    assert [(item["outcome"], item["operator_id"]) for item in call["transfers"]] == [("connected", known)]
    assert not server.request("GET", f"/api/operators/{known}")[1]["in_call"]
    assert seconds_of(caller.heard(), 500) > 2 and seconds_of(desk.heard(), 1000) > 2
    both = stereo(server, call_id, tmp_path)
    assert seconds_of(both[:, 0], 1000) > 2 and seconds_of(both[:, 1], 500) > 2
    names = [event["event"] for event in server.request("GET", f"/api/inbound/{call_id}/events")[1]["items"]]
    assert names == [
        "inbound_ringing",
        "operator_ringing",
        "inbound_connected",
        "operator_connected",
        "inbound_completed",
    ] or names == [
        "inbound_ringing",
        "operator_ringing",
        "operator_connected",
        "inbound_connected",
        "inbound_completed",
    ]


@pytest.mark.parametrize("why", ["away", "no phone", "no answer", "declines"])
def test_the_ai_answers_for_an_operator(make_server, phone, tmp_path, why):
    server = make_server(**FAST)
    known = add_operator(server, ring_timeout=5)
    if why in ("no answer", "declines"):
        desk = phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD, answers=False)
        registered(server, known)
    if why == "away":
        server.request(
            "PUT",
            f"/api/operators/{known}/status",
            {"status": "away", "away_message": "Kim Minsu is at lunch until two."},
        )
    caller = phone("01098765432", server, silence(tmp_path / "caller.wav"))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    if why == "declines":
        wait_until(lambda: "ncoming call" in desk.text(), what=desk.text)
        desk.command("hangup")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    transcript = wait_until(lambda: server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"], 20)
    assert transcript[0]["text"].startswith(
        "Kim Minsu is at lunch until two." if why == "away" else "Hello, Kim Minsu cannot take your call right now."
    )
    transfers = server.request("GET", f"/api/inbound/{call_id}")[1]["transfers"]
    assert (
        [item["reason"] for item in transfers]
        == {"away": [], "no phone": [], "no answer": ["nobody answered"], "declines": ["busy"]}[why]
        or why == "declines"
        and transfers[0]["reason"] in ("declined", "busy")
    ), transfers


@pytest.mark.early
def test_the_ai_transfers_a_caller_who_asks_for_a_person(make_server, phone, tmp_path):
    """The whole way: the operator is away, the AI answers, the caller wants a person, a colleague is briefed and
    bridged."""
    server = make_server(**FAST, TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?")
    add_operator(server, status="away")
    known = add_operator(server, "Lee Jiwoo", "lee", "1002")
    desk = phone("lee", server, tone(tmp_path / "desk.wav", 500), password=PASSWORD)
    registered(server, known)
    mic = speech(tmp_path / "mic.wav", [9.5, "I want to speak to an operator please.", 60])
    caller = phone("01098765432", server, mic)
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(
        lambda: any(item["outcome"] == "connected" for item in get()["transfers"]),
        45,
        lambda: str(get()) + str(server.request("GET", f"/api/inbound/{call_id}/transcript")[1]),
    )
    time.sleep(3)
    desk.command("hangup")
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"], call["transfers"][0]["name"]) == (
        "completed",
        "transferred",
        "Lee Jiwoo",
    ), call
    said = [
        entry["text"]
        for entry in server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"]
        if entry["speaker"] == "ai"
    ]
    assert said[-1] == "One moment please, I will put you through to a colleague."
    # He was told what it is about (seconds of speech), the caller heard music meanwhile, then both heard each other.
    briefing = desk.heard()
    assert numpy.count_nonzero(numpy.abs(briefing) > 600) > 8000, "no briefing was heard"
    both = stereo(server, call_id, tmp_path)
    assert seconds_of(both[:, 1], 500) > 1.5 and seconds_of(caller.heard(), 500) > 1.5
    assert max(seconds_of(both[:, 1], hertz) for hertz in (261.63, 329.63, 392.0)) > 0.3, "no music was heard"


def test_the_ai_goes_on_if_no_operator_answers(make_server, phone, tmp_path):
    """An operator requests a transfer; no phone answers; the AI says so, and asks on."""
    server = make_server(**FAST, TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?")
    known = add_operator(server, ring_timeout=5)
    phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD, answers=False)
    registered(server, known)
    caller = phone("01098765432", server, silence(tmp_path / "caller.wav"))
    caller.dial(f"sip:0255501234@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    transcript = lambda: [
        entry["text"] for entry in server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"]
    ]
    time.sleep(1)
    path = f"/api/inbound/{call_id}/transfer"
    assert server.request("POST", path, {"operator_id": "op-00000000"})[0] == 422
    assert server.request("POST", path, {"mode": "sideways"})[0] == 422
    assert server.request("POST", path, {"operator_id": known})[0] == 202
    wait_until(
        lambda: any("I am sorry, nobody can take your call" in text for text in transcript()),
        30,
        lambda: str(transcript()),
    )
    wait_until(lambda: "Shall we call you back?" in transcript()[-1], 10, lambda: str(transcript()))
    call = server.request("GET", f"/api/inbound/{call_id}")[1]
    assert call["state"] == "connected" and call["transfers"][0]["reason"] == "nobody answered"
    server.request("PUT", f"/api/operators/{known}/status", {"status": "away"})
    assert server.request("POST", path, {"operator_id": known})[0] == 409


def test_an_operator_can_transfer_the_caller(make_server, phone, tmp_path):
    """A blind transfer by the operator's own telephone (REFER): a colleague gets the caller."""
    server = make_server(**FAST)
    first, second = add_operator(server), add_operator(server, "Lee Jiwoo", "lee", "1002")
    desk = phone("kim", server, tone(tmp_path / "kim.wav", 500), password=PASSWORD)
    other = phone("lee", server, tone(tmp_path / "lee.wav", 700), password=PASSWORD)
    registered(server, first)
    registered(server, second)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    time.sleep(2)
    desk.command("transfer", f"sip:1002@127.0.0.1:{server.sip_port}")
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(
        lambda: [item["outcome"] for item in get()["transfers"]] == ["connected", "connected"],
        15,
        lambda: str(get()) + desk.text()[-2000:],
    )
    time.sleep(2)
    assert (
        not server.request("GET", f"/api/operators/{first}")[1]["in_call"]
        and server.request("GET", f"/api/operators/{second}")[1]["in_call"]
    )
    caller.command("hangup")
    call = wait_for_call(server)
    assert call["state"] == "completed" and call["transfers"][1]["name"] == "Lee Jiwoo"
    assert (
        seconds_of(caller.heard(), 500) > 1
        and seconds_of(caller.heard(), 700) > 1
        and seconds_of(other.heard(), 1000) > 1
    )


def test_a_caller_on_hold_hears_music(make_server, phone, tmp_path):
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, tone(tmp_path / "kim.wav", 500), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    wait_for_call(server, {"connected"})
    time.sleep(2)
    desk.command("hold")
    time.sleep(3)
    desk.command("resume")
    time.sleep(2)
    caller.command("hangup")
    assert wait_for_call(server)["state"] == "completed"
    heard = caller.heard()
    assert seconds_of(heard, 500) > 2.2, "before and after"
    assert max(seconds_of(heard, hertz) for hertz in (261.63, 329.63, 392.0)) > 0.3, "music meanwhile"


def test_the_sip_messages_of_a_call_can_be_read(make_server, phone, tmp_path):
    """By the API during the call and afterwards, and by the command; they contain no credentials."""
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, silence(tmp_path / "caller.wav"))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    live = server.request("GET", f"/api/inbound/{call_id}/sip")[1]
    assert any(
        item["summary"].startswith("INVITE sip:1001@") and item["direction"] == "received" for item in live["items"]
    ), live
    assert any(
        item["summary"].startswith("INVITE sip:kim") and item["direction"] == "sent" for item in live["items"]
    ), "the operator's leg too"
    time.sleep(1)
    caller.command("hangup")
    wait_for_call(server)
    kept = wait_until(
        lambda: [
            item
            for item in server.request("GET", f"/api/inbound/{call_id}/sip")[1]["items"]
            if item["summary"].startswith("BYE")
        ]
    )
    assert {item["direction"] for item in kept} == {"sent", "received"}
    time.sleep(1)
    run = lambda *words: subprocess.run(
        [TRUNKLINE, "sip", "trace", call_id, "--data", str(server.folder / "data"), *words],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    ladder = run()
    assert (
        ladder.returncode == 0
        and "INVITE sip:1001@" in ladder.stdout
        and "200 OK" in ladder.stdout
        and "BYE" in ladder.stdout
    ), ladder
    assert "Call-ID" in run("--full").stdout and PASSWORD not in run("--full").stdout
    missing = subprocess.run(
        [TRUNKLINE, "sip", "trace", "in-00000000", "--data", str(server.folder / "data")],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert missing.returncode == 1 and "there is no call" in missing.stderr
    viewer = server.request("POST", "/api/keys", {"name": "v", "role": "viewer"})[1]["key"]
    assert server.request("GET", f"/api/inbound/{call_id}/sip", key=viewer)[0] == 403


@pytest.mark.long
def test_sessions_are_refreshed_or_given_up(make_server):
    """RFC 4028, two calls of 90 s each: one that we refresh in time, and one whose caller should and does not (section
    10: a BYE by a third before the end)."""
    server = make_server(**FAST)
    began, pairs = time.monotonic(), {}
    for number, refresher in enumerate(["uas", "uac"]):
        desk, caller = Desk(server), Talking(server, f"100{number}")
        add_operator(
            server,
            f"Kim {number}",
            f"kim{number}",
            f"100{number}",
            password=None,
            address=f"sip:kim{number}@127.0.0.1:{desk.port}",
        )
        caller.send(
            "INVITE",
            f"Session-Expires: 90;refresher={refresher}\r\nMin-SE: 90\r\nSupported: timer\r\n"
            "Allow: INVITE, ACK, BYE, UPDATE\r\n"
            "Content-Type: application/sdp\r\n",
            caller.body,
        )
        desk.take()
        answer = caller.receive()
        assert answer.startswith("SIP/2.0 200") and f"refresher={refresher}" in answer.replace("; ", ";"), answer
        caller.to = re.search(r"^To: (.*)\r$", answer, re.M)[1]
        caller.send("ACK")
        for end, told in ((caller, answer), (desk, desk.invite)):
            end.far_rtp = int(re.search(r"^m=audio (\d+)", told, re.M)[1])
        pairs[refresher] = (caller, desk)
    seen, sequence = {}, 0
    while len(seen) < 2 and time.monotonic() - began < 100:
        sequence += 1
        for refresher, ends in pairs.items():
            for end in ends:
                # A sign of life now and then: a silent line is hung up.
                end.rtp.sendto(
                    b"\x80\x00"
                    + sequence.to_bytes(2, "big")
                    + (sequence * 160).to_bytes(4, "big")
                    + b"test"
                    + b"\xff" * 160,
                    ("127.0.0.1", end.far_rtp),
                )
            caller = ends[0]
            caller.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                request = caller.receive()
                assert refresher not in seen or request.split(" ")[0] == seen[refresher][0], request
                seen.setdefault(refresher, (request.split(" ")[0], time.monotonic() - began))
                # A refresh is answered with what has been agreed on.
                Desk.reply(
                    caller,
                    request,
                    headers="Session-Expires: 90;refresher=uac\r\nRequire: timer\r\n"
                    if request.startswith("UPDATE")
                    else "",
                )
    assert seen["uas"][0] == "UPDATE" and 20 < seen["uas"][1] < 80, seen
    assert seen["uac"][0] == "BYE" and 50 < seen["uac"][1] < 92, seen
    wait_until(
        lambda: sorted(item["state"] for item in inbound(server)) == ["completed", "connected"],
        what=lambda: str(inbound(server)),
    )
