"""Calls in the browser: Chromium's microphone plays a file and answers the AI; an operator listens in and takes over
from the page; and by hand."""

import base64
import contextlib
import json
import re
import subprocess
import time

import numpy
import pytest
from conftest import ATTEND, KEY
from dashboard_pages import logged_in, problems
from inbound_calls import FAST, wait_for_call
from operators import stereo, wait_until
from phones import seconds_of, speech, tone
from playwright.sync_api import expect, sync_playwright
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


@pytest.fixture
def chromium():
    """A browser whose microphone plays a file, once."""
    with sync_playwright() as playwright:
        running = []

        def start(microphone):
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium",
                args=[
                    "--no-sandbox",
                    "--use-fake-ui-for-media-stream",
                    "--use-fake-device-for-media-stream",
                    f"--use-file-for-fake-audio-capture={microphone}%noloop",
                    "--autoplay-policy=no-user-gesture-required",
                ],
            )
            running.append(browser)
            return browser

        yield start
        for browser in running:
            browser.close()


def quiet(path):
    """As loud as people are: Chromium raises it."""
    subprocess.run(["sox", str(path), str(path) + ".quiet.wav", "vol", "0.1"], check=True)
    return str(path) + ".quiet.wav"


def log_in(browser, server):
    page = logged_in(browser, server)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    return page, errors


def moves(page, side):
    """A level meter shows that there is sound."""
    wait_until(
        lambda: page.evaluate(f"document.querySelector('[data-meter={side}]').value > 0.01"),
        15,
        f"nothing is heard: {side}",
    )


def test_an_agent_can_be_tried_in_the_browser(make_server, chromium, tmp_path):
    server = make_server()
    page, errors = log_in(
        chromium(quiet(speech(tmp_path / "mic.wav", [11.5, "Yes, I will.", 9.5, "Yes, I will.", 30]))), server
    )
    page.get_by_role("link", name="New call").first.click()
    page.get_by_label("Purpose").fill("to prepare the dinner on Friday")
    page.get_by_label("Question", exact=True).first.fill(ATTEND)
    page.get_by_label("Callee").fill("sip:lee@127.0.0.1:9")
    page.get_by_label("Caller number shown").fill("025550100")
    page.get_by_text("Advanced settings").click()
    page.get_by_label("Maximum duration, s").fill("90")
    page.get_by_label("Call again if nobody answers").uncheck()
    page.get_by_role("button", name="Call my browser first").click()
    expect(page).to_have_url(re.compile(r"/outbound/ob-[0-9a-f]{8}$"))
    expect(page.locator(".state.big")).to_have_text("Connected", timeout=10_000)
    expect(page.get_by_text("You are on the line.")).to_be_visible()
    # What is said is heard: the far end's meter moves.
    moves(page, "theirs")
    expect(page.locator(".state.big")).to_have_text("Completed", timeout=60_000)
    call_id = page.url[-11:]
    result = server.result(call_id)
    answer = result["answers"][0]
    assert (answer["status"], answer["value"]) == ("answered", True), result
    assert result["callee_number"].startswith("browser:") and server.call(call_id)["end_reason"] == "task_completed"
    expect(page.locator('[data-part="phone"]')).to_be_hidden()
    # Then the number itself, as the form stood.
    page.get_by_role("link", name="Now call the number").click()
    expect(page.get_by_label("Callee")).to_have_value("sip:lee@127.0.0.1:9")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page).to_have_url(re.compile(rf"/outbound/(?!{call_id})ob-[0-9a-f]{{8}}$"))
    onward = server.call(page.url[-11:])
    assert (onward["callee_number"], onward["purpose"], onward["max_duration"]) == (
        "sip:lee@127.0.0.1:9",
        "to prepare the dinner on Friday",
        90,
    )
    assert onward["retry_on_no_answer"] is False and [one["text"] for one in onward["questions"]] == [ATTEND]
    expect(page.get_by_role("link", name="Now call the number")).to_be_hidden()
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="New call").first.click()
    expect(page.get_by_label("Purpose")).to_have_value("")
    assert not errors, errors


class Page:
    """A page of an integrator's: microphone and speaker over the media stream, by hand."""

    def __init__(self, stack, server, call_id, ticket):
        self.socket = stack.enter_context(connect(server.url.replace("http", "ws") + ticket["url"]))
        self.send("connected", protocol="Call", version="1.0.0")
        self.send(
            "start",
            start={
                "streamSid": "MZ1",
                "callSid": call_id,
                "tracks": ["inbound"],
                "customParameters": {"token": ticket["token"]},
                "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
            },
        )

    def send(self, event, **members):
        self.socket.send(json.dumps({"event": event, "streamSid": "MZ1", **members}))

    def hear(self, seconds):
        """Bytes of sound that come meanwhile; marks are echoed at once."""
        sound, deadline = b"", time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = json.loads(self.socket.recv(timeout=left))
            except TimeoutError:
                break
            if message["event"] == "media":
                sound += base64.b64decode(message["media"]["payload"])
            if message["event"] == "mark":
                self.send("mark", mark=message["mark"])
        return sound


def ticket(server, call_id, key=KEY, status=201):
    found, answer = server.request(
        "POST", f"/api/{'inbound' if call_id.startswith('in-') else 'outbound'}/{call_id}/browser", key=key
    )
    assert found == status, answer
    return answer


def refused(call):
    with pytest.raises(ConnectionClosed) as closed:
        call()
    assert closed.value.rcvd.code == 1008
    return True


@pytest.fixture
def sockets():
    with contextlib.ExitStack() as stack:
        yield stack


def test_a_browser_call_rings_only_for_the_user_who_requested_it(make_server, sockets):
    server = make_server()
    other = server.request("POST", "/api/keys", {"name": "somebody else", "role": "operator"})[1]["key"]
    viewer = server.request("POST", "/api/keys", {"name": "who looks", "role": "viewer"})[1]["key"]
    call_id = server.create("browser:", [ATTEND])
    server.wait_for(call_id, {"ringing"})
    assert server.call(call_id)["callee_number"].startswith("browser:")
    ticket(server, call_id, other, 409)
    ticket(server, call_id, viewer, 403)
    given = ticket(server, call_id)
    assert refused(lambda: Page(sockets, server, call_id, {**given, "token": "nonsense"}).hear(5))
    assert refused(lambda: Page(sockets, server, "ob-00000000", given).hear(5)), "a token is one call's"
    assert refused(lambda: Page(sockets, server, call_id, given).hear(5)), "and a try with another call has spent it"
    given = ticket(server, call_id)
    page = Page(sockets, server, call_id, given)
    assert len(page.hear(3)) > 8_000
    assert server.call(call_id)["state"] == "connected"
    assert refused(lambda: Page(sockets, server, call_id, given).hear(5)), "it is good once"
    for _ in range(40):
        if page.hear(0.5) == b"":
            break
    page.send("dtmf", dtmf={"track": "inbound_track", "digit": "1"})
    try:
        page.hear(20)
    except ConnectionClosed as closed:
        assert closed.rcvd.code == 1000
    result = server.result(server.wait_for(call_id)["outbound_id"])
    assert (result["state"], result["answers"][0]["value"]) == ("completed", True), result
    ticket(server, call_id, status=409)


def test_a_browser_call_without_an_answer_ends_as_no_answer(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_RING_TIMEOUT="2")
    call_id = server.create("browser:", [ATTEND])
    server.wait_for(call_id, {"ringing"})
    # Another one waits until this one is over: a person has one browser call at a time.
    second = server.create("browser:", [ATTEND])
    time.sleep(0.5)
    assert server.call(second)["state"] == "queued"
    call = server.wait_for(call_id, seconds=10)
    assert (call["state"], call["failure_reason"], call["next_attempt_at"]) == (
        "no_answer",
        "not answered within 2 s",
        None,
    )
    server.wait_for(second, {"ringing"})
    assert server.request("POST", f"/api/outbound/{second}/cancel")[0] == 202
    assert server.wait_for(second, seconds=5)["state"] == "cancelled"
    status, problem = server.request(
        "POST",
        "/api/outbound/",
        {
            "caller_number": "025550100",
            "callee_number": "browser:somebody",
            "purpose": "to try it",
            "questions": [ATTEND],
        },
    )
    assert status == 422 and problem["errors"] == [
        {
            "field": "callee_number",
            "message": "must be browser: alone: such a call rings in the browser of the user who requests it",
            "code": "only_own_browser",
            "params": {},
        }
    ], problem


def test_an_operator_can_listen_in_on_a_call(make_server, phone, tmp_path):
    server = make_server(**FAST)
    viewer = server.request("POST", "/api/keys", {"name": "who looks", "role": "viewer"})[1]["key"]
    listen = lambda call_id, key=KEY, **headers: connect(
        f"{server.url.replace('http', 'ws')}/api/inbound/{call_id}/listen",
        additional_headers={"Authorization": f"Bearer {key}", **headers},
    )
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000, level=0.02))
    caller.dial(f"sip:0255501234@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    for key, status in ((viewer, 403), ("nobody", 401)):
        with pytest.raises(InvalidStatus) as refusal, listen(call_id, key):
            pass
        assert refusal.value.response.status_code == status
    with listen("in-00000000") as socket:
        assert refused(lambda: [socket.recv(timeout=5) for _ in range(3)])
    tracks, sids = {"inbound": b"", "outbound": b""}, set()
    with listen(call_id) as socket:
        events = []
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            message = json.loads(socket.recv(timeout=5))
            events.append(message["event"])
            sids.add(message.get("streamSid"))
            if message["event"] == "media":
                tracks[message["media"]["track"]] += base64.b64decode(message["media"]["payload"])
        assert events[:2] == ["connected", "start"] and "stop" not in events
        caller.command("hangup")
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                events.append(json.loads(socket.recv(timeout=10))["event"])
        assert closed.value.rcvd.code == 1000 and events[-1] == "stop"
    assert len(sids - {None}) == 1
    linear = lambda sound: numpy.array([decode(byte) for byte in sound], dtype=float)
    assert seconds_of(linear(tracks["inbound"]), 1000) > 3, "the caller is heard"
    assert len(tracks["outbound"]) > 8_000 and numpy.abs(linear(tracks["outbound"])).max() > 3_000, "and the AI"
    assert "call.listen" in [entry["action"] for entry in server.request("GET", "/api/audit")[1]["items"]]


def decode(byte):
    byte = ~byte & 0xFF
    magnitude = (((byte & 0x0F) << 3) + 132 << (byte >> 4 & 7)) - 132
    return -magnitude if byte & 0x80 else magnitude


def test_an_operator_listens_in_and_takes_over(make_server, chromium, phone, tmp_path):
    """From the page: at first the operator is muted; then the AI announces the operator, who takes over the call."""
    server = make_server(**FAST, TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?")
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000, level=0.02))
    caller.dial(f"sip:0255501234@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    words = ["This is Kim speaking, what can I do for you today my friend?"] * 12
    page, errors = log_in(chromium(quiet(speech(tmp_path / "mic.wav", words))), server)
    page.goto(f"{server.url}/inbound/{call_id}")
    page.get_by_role("button", name="Listen in").click()
    expect(page.get_by_text("They cannot hear you")).to_be_visible()
    for side in ("ai", "theirs"):
        moves(page, side)
    page.get_by_role("button", name="Leave").click()
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("You are on the line.")).to_be_visible()
    assert problems(page) == [], "the page is accessible"
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(
        lambda: [item["outcome"] for item in get().get("transfers") or []] == ["connected"], 20, lambda: str(get())
    )
    moves(page, "theirs")
    time.sleep(4)
    page.get_by_role("button", name="Mute").click()
    time.sleep(3)
    page.get_by_role("button", name="Leave").click()
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"]) == ("completed", "transferred"), call
    said = [
        entry["text"]
        for entry in server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"]
        if entry["speaker"] == "ai"
    ]
    assert said[-1] == "One moment please, I will put you through to a colleague."
    # The recording's right side: the operator's voice, and his silence while he was muted. A browser on a full machine
    # leaves gaps in a voice.
    right = stereo(server, call_id, tmp_path)[:, 1]
    loud = lambda start, end: numpy.mean(numpy.abs(right[start:end]) > 300)
    end = len(right)
    assert loud(end - 6 * 8_000, end - 4 * 8_000) > 0.1 and loud(end - 20_000, end - 6_000) < 0.01
    expect(page.locator(".state.big")).to_have_text("Completed", timeout=10_000)
    assert not errors, errors
