"""Calls that come in: baresip and sipp call the AI; a socket of our own sends what no good phone would."""

import shutil
import signal
import subprocess
import time
import wave

import numpy
import pytest
from inbound_calls import FAST, NUMBER, REFUSED, Phone, inbound, wait_for_call
from ports import free_port
from sipp_scenarios import SDP
from test_baresip import CONFIG, read_wav


@pytest.mark.parametrize(
    "body, headers, status",
    [
        (REFUSED, "Content-Type: application/sdp\r\n", 488),
        ("v=0 nonsense", "Content-Type: application/sdp\r\n", 488),
        ("hello", "Content-Type: text/plain\r\n", 415),
        (REFUSED, "Content-Type: application/sdp\r\nRequire: nothing-we-know\r\n", 420),
    ],
)
def test_unacceptable_offers_are_refused(make_server, body, headers, status):
    server = make_server(**FAST)
    phone = Phone(server)
    phone.send("INVITE", headers, body)
    answer = phone.receive()
    assert int(answer.split(" ")[1]) == status, answer
    assert status != 415 or "application/sdp" in answer.lower().split("accept:")[1]
    assert status != 420 or "nothing-we-know" in answer.split("Unsupported:")[1]
    if status == 488:
        assert wait_for_call(server)["failure_reason"] in (
            "the offer has no codec we speak (PCMU, PCMA)",
            "SDP has no audio",
        ), inbound(server)


def test_callers_that_may_not_call_are_refused(make_server):
    server = make_server(TRUNKLINE_INBOUND_NUMBERS=NUMBER, TRUNKLINE_INBOUND_TRUSTED_SOURCES="192.0.2.1")
    assert Phone(server).invite() == 403
    other = make_server(TRUNKLINE_INBOUND_NUMBERS="025559999")
    assert Phone(other).invite() == 404
    closed = make_server(TRUNKLINE_INBOUND_ENABLED="false")
    assert Phone(closed).invite() == 404
    assert inbound(server) == inbound(other) == inbound(closed) == []


def test_methods_outside_a_call_get_their_status(server):
    assert Phone(server).status("OPTIONS") == 200
    assert Phone(server).status("BYE", to=f"<sip:{NUMBER}@127.0.0.1>;tag=none") == 481
    assert Phone(server).status("MESSAGE", "Content-Type: text/plain\r\n", "hello") in (405, 501)
    assert Phone(server).status("FROBNICATE") in (405, 501)


def test_a_call_beyond_the_limit_is_told_when_to_try_again(make_server, tmp_path):
    server = make_server(
        **FAST, TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="1", TRUNKLINE_INBOUND_NUMBERS="+82 2 5550 1234"
    )
    first, second = Phone(server), Phone(server)
    assert first.invite() == 200
    second.send("INVITE", "Content-Type: application/sdp\r\n", REFUSED)
    answer = second.receive()
    assert answer.startswith("SIP/2.0 503") and "Retry-After: 30" in answer


def test_a_call_cancelled_by_the_caller_fails(make_server):
    server = make_server(TRUNKLINE_INBOUND_RING_MS="20000")
    phone = Phone(server)
    branch = phone.send(
        "INVITE",
        "Content-Type: application/sdp\r\n",
        SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port()),
    )
    while " 180 " not in phone.receive(final=False):
        pass
    phone.send("CANCEL", branch=branch)
    statuses = {int(phone.receive().split(" ")[1]) for _ in range(2)}
    assert statuses == {200, 487}
    call = wait_for_call(server)
    assert (call["state"], call["caller_number"], call["called_number"]) == ("failed", "01098765432", NUMBER), call
    assert [
        event["event"] for event in server.request("GET", f"/api/inbound/{call['inbound_id']}/events")[1]["items"]
    ] == ["inbound_ringing", "inbound_failed"]


@pytest.fixture
def baresip(tmp_path):
    """Calls an address with a microphone file; returns the folder with what it heard."""
    processes = []

    def dial(address, microphone):
        folder = tmp_path / f"baresip{len(processes)}"
        folder.mkdir()
        port, rtp = free_port(), free_port(22)
        shutil.copy(microphone, folder / "mic.wav")
        (folder / "config").write_text(CONFIG.format(port=port, folder=folder, rtp=rtp, rtp_end=rtp + 20))
        (folder / "accounts").write_text("<sip:01098765432@127.0.0.1>;regint=0;audio_codecs=PCMU/8000/1\n")
        (folder / "contacts").write_text("")
        log = open(folder / "baresip.log", "wb")
        processes.append(
            subprocess.Popen(
                ["baresip", "-4", "-f", str(folder), "-v", "-t", "90", "-e", f"/dial {address}"],
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        )
        return folder

    yield dial
    for process in processes:
        process.terminate()
        process.wait(timeout=10)


def what_was_heard(folder, seconds=10):
    """baresip writes the head of its recording when it closes it."""
    deadline = time.time() + seconds
    while True:
        try:
            return read_wav(sorted(folder.glob("dump-*-dec.wav"))[-1])[0]
        except (wave.Error, EOFError, IndexError):
            assert time.time() < deadline, "baresip did not close its recording"
            time.sleep(0.1)


@pytest.mark.early
def test_baresip_calls_the_ai(make_server, baresip, tmp_path):
    """Two questions are asked and answered by a microphone that says yes again and again; all of it stands in the
    record."""
    subprocess.run(
        ["sox", "-n", "-r", "8000", "-c", "1", "-b", "16", str(tmp_path / "silence.wav"), "trim", "0", "2.0"],
        check=True,
    )
    subprocess.run(["flite", "-t", "Yes, please.", "-o", str(tmp_path / "yes16.wav")], check=True)
    subprocess.run(
        ["sox", str(tmp_path / "yes16.wav"), "-r", "8000", "-c", "1", "-b", "16", str(tmp_path / "yes.wav")], check=True
    )
    subprocess.run(
        ["sox"]
        + [
            str(tmp_path / name)
            for name in ["silence.wav", "silence.wav", "silence.wav"] + ["yes.wav", "silence.wav"] * 8
        ]
        + [str(tmp_path / "mic.wav")],
        check=True,
    )
    server = make_server(
        TRUNKLINE_INBOUND_NUMBERS=NUMBER,
        TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?|Is it urgent?",
        TRUNKLINE_INBOUND_GREETING_TEMPLATE="Riverside Restaurant, good day.",
    )
    folder = baresip(f"sip:{NUMBER}@127.0.0.1:{server.sip_port}", tmp_path / "mic.wav")
    call = wait_for_call(server, seconds=80)
    result = server.request("GET", f"/api/inbound/{call['inbound_id']}/result")[1]
    assert call["state"] == "completed" and call["inbound_id"].startswith("in-"), (call, result)
    assert (
        (call["caller_number"], call["called_number"]) == ("01098765432", NUMBER)
        and "callee_number" not in call
        and "outbound_id" not in result
    )
    assert (
        result["transcript"][0]["text"].startswith("Riverside Restaurant, good day.")
        and result["transcript"][0]["speaker"] == "ai"
    )
    assert [answer["question_text"] for answer in result["answers"]] == ["Shall we call you back?", "Is it urgent?"]
    assert (
        all(answer["status"] in ("answered", "unclear") for answer in result["answers"])
        and result["answers"][0]["evidence"]
    )
    names = [event["event"] for event in server.request("GET", f"/api/inbound/{call['inbound_id']}/events")[1]["items"]]
    assert (
        names[:2] == ["inbound_ringing", "inbound_connected"]
        and names[-1] in ("inbound_completed", "inbound_ended")
        and "inbound_progress" in names
    )
    # Listed masked, whole on its own page, and not among the calls we placed.
    assert (
        inbound(server)[0]["caller_number"] == "010****5432"
        and server.request("GET", "/api/outbound/")[1]["total"] == 0
    )
    assert server.request("GET", f"/api/outbound/{call['inbound_id']}")[0] == 404
    assert (
        server.request("GET", "/api/inbound/?q=01098765432")[1]["total"]
        == server.request("GET", "/api/inbound/?q=5432")[1]["total"]
        == 1
    )
    assert server.request("GET", "/api/inbound/?q=0255550000")[1]["total"] == 0
    # What baresip heard is what the recording says was heard.
    (folder / "recording.wav").write_bytes(server.request("GET", result["recording_url"], raw=True)[1])
    with wave.open(str(folder / "recording.wav")) as file:
        stereo = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float).reshape(-1, 2)
    heard = what_was_heard(folder)
    loud = lambda samples: numpy.count_nonzero(numpy.abs(samples) > 600)
    assert loud(stereo[:, 1]) == pytest.approx(loud(heard), rel=0.05) and loud(stereo[:, 0]) > 1000


def test_an_operator_hangs_up_and_speaks(make_server, baresip, tmp_path):
    subprocess.run(
        ["sox", "-n", "-r", "8000", "-c", "1", "-b", "16", str(tmp_path / "mic.wav"), "trim", "0", "60"], check=True
    )
    server = make_server(TRUNKLINE_INBOUND_RING_MS="100")
    baresip(f"sip:{NUMBER}@127.0.0.1:{server.sip_port}", tmp_path / "mic.wav")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    active = server.request("GET", "/api/inbound/active")[1]["items"]
    assert [item["inbound_id"] for item in active] == [call_id] and server.request("GET", "/api/outbound/active")[1][
        "items"
    ] == []
    time.sleep(1)
    assert server.request("POST", f"/api/inbound/{call_id}/say", {"text": "A colleague is coming."})[0] == 202
    deadline = time.time() + 20
    while not any(
        "colleague" in entry["text"]
        for entry in server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"]
    ):
        assert time.time() < deadline
        time.sleep(0.1)
    assert server.request("POST", f"/api/inbound/{call_id}/hangup", {})[0] == 202
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"]) == ("completed", "operator_hangup")
    assert server.request("POST", f"/api/inbound/{call_id}/hangup", {})[0] == 409


def test_a_killed_server_leaves_no_call_ringing(make_server, baresip, tmp_path):
    subprocess.run(
        ["sox", "-n", "-r", "8000", "-c", "1", "-b", "16", str(tmp_path / "mic.wav"), "trim", "0", "60"], check=True
    )
    server = make_server()
    baresip(f"sip:{NUMBER}@127.0.0.1:{server.sip_port}", tmp_path / "mic.wav")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    time.sleep(1)
    server.kill(signal.SIGKILL)
    server.start()
    call = server.request("GET", f"/api/inbound/{call_id}")[1]
    assert (call["state"], call["end_reason"]) == ("failed", "server_restart")


def test_each_number_has_its_own_task(make_server, baresip, tmp_path):
    """A number with a template: its callers hear its greeting and questions, and are not told why *we* call."""
    subprocess.run(
        ["sox", "-n", "-r", "8000", "-c", "1", "-b", "16", str(tmp_path / "mic.wav"), "trim", "0", "60"], check=True
    )
    server = make_server(**FAST, TRUNKLINE_INBOUND_NUMBERS="0255501234")
    template = server.request(
        "POST",
        "/api/templates",
        {
            "name": "Tables",
            "purpose": "You take reservations.",
            "questions": [{"text": "For how many people?", "type": "number"}],
            "greeting": "Riverside Restaurant, reservations.",
        },
    )[1]
    assert server.request("POST", "/api/numbers", {"number": "0255509999", "template_id": "tp-00000000"})[0] == 422
    assert Phone(server).status("INVITE", "Content-Type: application/sdp\r\n", REFUSED) == 488
    assert (
        server.request("POST", "/api/numbers", {"number": "+82 2 5550 9999", "template_id": template["id"]})[0] == 201
    )
    baresip(f"sip:0255509999@127.0.0.1:{server.sip_port}", tmp_path / "mic.wav")
    deadline = time.time() + 30
    while True:
        call = next((item for item in inbound(server) if item["state"] == "connected"), None)
        entries = (
            server.request("GET", f"/api/inbound/{call['inbound_id']}/transcript")[1]["transcript"] if call else []
        )
        if entries:
            break
        assert time.time() < deadline, inbound(server)
        time.sleep(0.1)
    assert entries[0]["text"].startswith("Riverside Restaurant, reservations. For how many people?"), entries
    assert call["purpose"] == "You take reservations." and [question["text"] for question in call["questions"]] == [
        "For how many people?"
    ]
    # Without its template the number is refused again.
    assert server.request("DELETE", f"/api/templates/{template['id']}")[0] == 204
    hand = Phone(server)
    hand.send("INVITE", "Content-Type: application/sdp\r\n", REFUSED, to="<sip:0255509999@127.0.0.1>")
    assert int(hand.receive().split(" ")[1]) in (404, 488)
