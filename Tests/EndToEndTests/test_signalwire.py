"""Calls that SignalWire brings and places: REST, webhooks, streams, transfers."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import uuid
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

import pytest
from conftest import ATTEND, mocks
from mock_signalwire import PROJECT, PUBLIC, SIGNING_KEY, TOKEN, MockSignalWire, SignalWireStream
from ports import free_port
from provider_calls import (
    ASKS,
    CALLER,
    OURS,
    begin,
    check_interrupted_call,
    inbound,
    interrupt_and_answer,
    record,
    start,
    the_call,
    told,
    wait,
)
from realtime_calls import realtime
from test_operations import run
from spoken_words import spoken
from twilio_calls import asked

CALLEE = "+821098765432"
VOICE = f"{PUBLIC}/signalwire/voice"

signalwire_mock = mocks(MockSignalWire)


def dial(server):
    return server.create(CALLEE, [ATTEND], caller_number=OURS)


def by_the_vendor(**asked):
    """What the vendor's client does and says."""
    packages = pathlib.Path(sys.prefix) / "signalwire"
    assert packages.is_dir(), "run scripts/setup --test"
    done = subprocess.run(
        [sys.executable, str(pathlib.Path(__file__).with_name("signalwire_client.py"))],
        input=json.dumps({"project": PROJECT, "token": TOKEN, "key": SIGNING_KEY, **asked}),
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_mock_is_what_the_vendors_client_expects(make_server, signalwire_mock):
    """The vendor's client works with the mock, takes its signatures for right, and places a call with the very request
    that we place it with."""
    mock = signalwire_mock(lambda call: call.over.wait(10))
    hook = f"{PUBLIC}/signalwire/status?call=ID"
    form = {"CallSid": str(uuid.uuid4()), "From": CALLER, "To": OURS, "CallStatus": "ringing"}
    answer = by_the_vendor(
        url=mock.url,
        create={
            "to": CALLEE,
            "from_": OURS,
            "url": f"{VOICE}?call=ID",
            "method": "POST",
            "timeout": 30,
            "status_callback": hook,
            "status_callback_method": "POST",
            "status_callback_event": ["initiated", "ringing", "answered", "completed"],
            "machine_detection": "Enable",
            "async_amd": "true",
            "async_amd_status_callback": hook,
            "async_amd_status_callback_method": "POST",
        },
        signed=[(VOICE, form, mock.sign(VOICE, form)), (VOICE + "?x=1", form, mock.sign(VOICE, form))],
    )
    assert answer == {
        "created": "queued",
        "fetched": True,
        "moved": True,
        "cancelled": "canceled",
        "missing": 404,
        "valid": [True, False],
    }
    server = start(make_server, mock)
    call_id = dial(server)
    wait(lambda: len(asked(mock)) == 2)
    wanted, ours = asked(mock)
    assert {name: [value.replace("ID", call_id) for value in values] for name, values in wanted.items()} == ours
    server.request("POST", f"/api/outbound/{call_id}/cancel", {})
    assert server.wait_for(call_id, seconds=10)["state"] == "cancelled"


def test_a_call_that_comes_in(make_server, signalwire_mock):
    """Streamed with the call's token as the upgrade's bearer; talked through, with a barge-in; hung up."""
    mock = signalwire_mock()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    thread = begin(phone)
    wait(lambda: phone.carrier, what="the stream")
    stream = ElementTree.fromstring(phone.twiml[0]).find("./Connect/Stream")
    vendors = by_the_vendor(
        stream={
            "url": f"wss{PUBLIC.removeprefix('https')}/media/signalwire",
            "codec": "PCMU@8000h",
            "realtime": True,
            "authBearerToken": stream.get("authBearerToken"),
        }
    )["stream"]
    assert ElementTree.canonicalize(phone.twiml[0]) == ElementTree.canonicalize(vendors)
    interrupt_and_answer(phone.carrier)
    check_interrupted_call(server, phone.sid)
    thread.join(10)
    assert phone.status == "completed"


def test_a_call_that_we_place(make_server, signalwire_mock):
    def phone(call):
        call.ring()
        call.answer()

    mock = signalwire_mock(phone)
    server = start(make_server, mock)
    call_id = dial(server)
    wait(lambda: mock.calls, what="the call")
    phone_call = the_call(mock)
    wait(lambda: phone_call.carrier and phone_call.carrier.played_ms() > 1000 and phone_call.carrier.is_quiet(1))
    phone_call.carrier.say_file(spoken("Yes, I will."))
    call, result = server.wait_for(call_id, seconds=30), server.result(call_id)
    assert (call["state"], call["end_reason"], call["call_id"]) == ("completed", "task_completed", phone_call.sid), (
        call,
        result,
    )
    assert result["answers"][0]["value"] is True and not result["transcript"][-1].get("interrupted")
    assert server.events(call_id)[:4] == [
        "outbound_queued",
        "outbound_dialing",
        "outbound_ringing",
        "outbound_connected",
    ]
    assert phone_call.over.wait(5) and phone_call.events == ["initiated", "ringing", "in-progress", "completed"]


def test_calls_that_signalwire_refuses_fail_with_a_reason(make_server, signalwire_mock):
    mock = signalwire_mock(refuse={"status": 422, "code": 21211, "message": "The number is not verified."})
    server = start(make_server, mock)
    call = server.wait_for(dial(server), seconds=10)
    assert call["state"] == "failed" and "not verified" in call["failure_reason"], call
    assert CALLEE not in (server.folder / "server.log").read_text()


def test_the_call_ends_at_an_answering_machine(make_server, signalwire_mock, model):
    def phone(call):
        call.ring()
        call.tell("in-progress")
        threading.Timer(0.7, call.machine, ["machine_start"]).start()
        call.follow(call.field("Url"))

    mock = signalwire_mock(phone)
    settings = {**realtime(model([{"text": "Hello?", "ms": 5000}])), "TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"}
    call = (server := start(make_server, mock, **settings)).wait_for(dial(server), seconds=15)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "voicemail", "voicemail"), call


@pytest.mark.parametrize("goes", ["completed", "no-answer"])
def test_a_call_can_be_transferred_to_an_operator(make_server, signalwire_mock, model, goes):
    """REST points the call to a URL of ours, whose markup dials; without an answer SignalWire's voice says so."""
    mock = signalwire_mock()
    speech = model([{"text": "I will put you through.", "ms": 500, "tools": [("transfer_to_operator", {})]}])
    settings = {**realtime(speech, TRUNKLINE_OPERATORS_NUMBER="+15550177", **ASKS)}
    server = start(make_server, mock, **{**settings, "TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"})
    phone = mock.incoming(CALLER, OURS)
    phone.operator = goes
    begin(phone).join(20)
    assert record(server)["end_reason"] == "transferred"
    vendors = by_the_vendor(
        dial={
            "action": f"{PUBLIC}/signalwire/transferred?language=en",
            "method": "POST",
            "timeout": 30,
            "caller_id": OURS,
        },
        number="+15550177",
    )["dial"]
    assert ElementTree.canonicalize(phone.twiml[1]) == ElementTree.canonicalize(vendors)
    assert ("nobody can take your call" in phone.twiml[2]) == (goes == "no-answer")
    ours = [form for _, path, form in mock.requests if path.endswith(f"{phone.sid}.json") and form]
    assert ours == [{"Url": [f"{PUBLIC}/signalwire/transfer"], "Method": ["POST"]}]
    # Asked again, it is over.
    status, text = mock.webhook(f"{PUBLIC}/signalwire/transfer", phone.parameters())
    assert status == 200 and "<Hangup/>" in text


def test_late_repeated_lost_and_foreign_callbacks_do_no_harm(make_server, signalwire_mock):
    mock = signalwire_mock()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    begin(phone)
    wait(lambda: phone.carrier and phone.carrier.played_ms() > 300, what="the greeting")
    hook = phone.field("StatusCallback")
    for more in (
        {"CallSid": str(uuid.uuid4()), "CallStatus": "completed"},
        {"CallSid": phone.sid, "CallStatus": "ringing"},
        {"CallSid": phone.sid, "CallStatus": "no such state"},
        {"CallSid": phone.sid, "StreamEvent": "stream-error", "StreamError": "codec_error"},
    ):
        assert mock.webhook(hook, more)[0] == 204
    assert mock.webhook(VOICE, phone.parameters())[0] == 200 and len(inbound(server)) == 1
    phone.over.set()
    for _ in range(2):
        assert mock.webhook(hook, {**phone.parameters(), "CallStatus": "completed"})[0] == 204
    call = record(server)
    assert (call["state"], call["end_reason"]) == ("completed", "callee_hangup"), call
    assert "<Hangup/>" in mock.webhook(VOICE, phone.parameters())[1]
    assert len(inbound(server)) == 1 and told(server, call).count("inbound_ended") == 1


def test_only_what_signalwire_has_signed_is_taken(make_server, signalwire_mock):
    mock = signalwire_mock()
    server = start(make_server, mock, **ASKS)
    form = {"CallSid": str(uuid.uuid4()), "From": CALLER, "To": OURS, "CallStatus": "ringing"}

    def post(path, body, headers):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode(body) if isinstance(body, dict) else body
        return server.request("POST", path, body, key=None, headers={**kind, **headers})

    def signed(path, body):
        return {"X-SignalWire-Signature": mock.sign(PUBLIC + path, body)}

    for path in ("voice", "status", "transfer", "transferred"):
        path = "/signalwire/" + path
        status, answer = post(path, form, {})
        assert status == 403 and answer["detail"] == "X-SignalWire-Signature is missing"
        for headers in (
            {"X-SignalWire-Signature": "bm8="},
            signed(path, {**form, "From": "+1"}),
            signed(path + "?call=out-1", form),
            {"X-Twilio-Signature": mock.sign(PUBLIC + path, form)},
        ):
            assert post(path, form, headers)[0] == 403, (path, headers)
        for body in ({"From": CALLER}, {**form, "CallSid": "CA1"}):
            status, answer = post(path, body, signed(path, body))
            assert status == 422 and [error["field"] for error in answer["errors"]] == ["CallSid"], answer
    status, answer = post("/signalwire/transferred", form, signed("/signalwire/transferred", form))
    assert status == 422 and [error["field"] for error in answer["errors"]] == ["DialCallStatus"]
    assert post("/signalwire/voice", b"CallSid=%ZZ", signed("/signalwire/voice", {}))[0] == 422
    assert not inbound(server)


def test_a_stream_needs_its_calls_token(make_server, signalwire_mock):
    mock = signalwire_mock()
    server = start(make_server, mock, **ASKS)
    address = f"ws://127.0.0.1:{server.http_port}/media/signalwire"

    def refused(call=None, **options):
        stream = SignalWireStream(address, call_sid=call or str(uuid.uuid4()), **options)
        stream.wait(lambda: not stream.open, what="the refusal")
        assert stream.close_code == 1008 and not stream.play_log

    refused()
    refused(headers={"Authorization": "Bearer wrong"})
    phone = mock.incoming(CALLER, OURS)
    text = mock.webhook(VOICE, phone.parameters())[1]
    token = ElementTree.fromstring(text).find("./Connect/Stream").get("authBearerToken")
    refused(headers={"Authorization": f"Bearer {token}"})
    second = mock.incoming(CALLER, OURS)
    begin(second)
    wait(lambda: second.carrier and second.carrier.played_ms() > 300)
    token = ElementTree.fromstring(second.twiml[0]).find("./Connect/Stream").get("authBearerToken")
    refused(second.sid, headers={"Authorization": f"Bearer {token}"})
    second.end()
    wait(lambda: inbound(server)[0]["state"] == "completed")


@pytest.mark.parametrize(
    "settings,words",
    [
        ({"TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "signalwire"}, "SIGNALWIRE_SPACE"),
        ({"SIGNALWIRE_PROJECT": "AC1"}, "must be a UUID"),
        ({"SIGNALWIRE_SPACE": "https://example.signalwire.com"}, "example.signalwire.com"),
        ({"SIGNALWIRE_SIGNING_KEY": SIGNING_KEY}, "APP_PUBLIC_BASE_URL"),
    ],
)
def test_unusable_settings_end_the_start(tmp_path, settings, words):
    ended = run("serve", "--http-port", "0", "--sip-port", str(free_port()), cwd=tmp_path, **settings)
    assert ended.returncode != 0 and words in ended.stderr, ended
