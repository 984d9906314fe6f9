"""Calls that Twilio places and carries for us: REST, webhooks, streams, turns."""

import threading
import time
import xml.etree.ElementTree as ElementTree

import pytest
import twilio.rest
from conftest import ATTEND, mocks
from mock_twilio import ACCOUNT, PUBLIC, TOKEN, MockTwilio
from operators import add_operator
from ports import free_port
from provider_calls import start, the_call, through
from realtime_calls import realtime
from test_operations import run
from twilio.http.http_client import TwilioHttpClient
from twilio.twiml.voice_response import Dial, VoiceResponse
from twilio_calls import CALLEE, CALLER, asked, dial

carrier = mocks(MockTwilio)


class ToTheMock(TwilioHttpClient):
    """The vendor's client, with the mock in the place of api.twilio.com."""

    def __init__(self, mock):
        super().__init__()
        self.mock = mock

    def request(self, method, uri, *arguments, **options):
        return super().request(method, uri.replace("https://api.twilio.com", self.mock.url), *arguments, **options)


def test_the_mock_is_what_the_vendors_client_expects(make_server, carrier):
    """The vendor's client works with the mock, and places a call with the very request that we place it with."""
    mock = carrier(lambda call: call.over.wait(10))
    client = twilio.rest.Client(ACCOUNT, TOKEN, http_client=ToTheMock(mock))
    hook = f"{PUBLIC}/twilio/status?call=ID"
    theirs = client.calls.create(
        to=CALLEE,
        from_=CALLER,
        url=f"{PUBLIC}/twilio/voice?call=ID",
        method="POST",
        timeout=30,
        time_limit=240,
        status_callback=hook,
        status_callback_method="POST",
        status_callback_event=["initiated", "ringing", "answered", "completed"],
        machine_detection="Enable",
        async_amd="true",
        async_amd_status_callback=hook,
        async_amd_status_callback_method="POST",
    )
    assert theirs.status == "queued" and client.calls(theirs.sid).fetch().sid == theirs.sid
    assert client.calls(theirs.sid).update(status="canceled").status == "canceled"
    with pytest.raises(twilio.base.exceptions.TwilioRestException) as error:
        client.calls("CA" + "0" * 32).fetch()
    assert (error.value.status, error.value.code) == (404, 20404)

    server = start(make_server, mock)
    call_id = dial(server)
    deadline = time.time() + 10
    while len(asked(mock)) < 2 and time.time() < deadline:
        time.sleep(0.02)
    wanted, ours = asked(mock)
    assert {name: [value.replace("ID", call_id) for value in values] for name, values in wanted.items()} == ours
    server.request("POST", f"/api/outbound/{call_id}/cancel", {})
    assert server.wait_for(call_id, seconds=10)["state"] == "cancelled"
    assert {"Status": ["canceled"]} in [form for _, _, form in mock.requests]


def test_a_call_with_a_speech_model(make_server, carrier, model, allowed):
    """Placed by REST, answered, streamed with a one-time token, talked through, hung up after the goodbye."""

    def phone(call):
        call.ring()
        call.answer()

    speech = model(
        [
            {"text": "Hello, this is Riverside Restaurant. Will you attend?", "ms": 1500},
            {
                "text": "Thank you, goodbye.",
                "ms": 800,
                "tools": [
                    (
                        "report_task_state",
                        {"questions": [{"id": "q1", "status": "answered", "answer": "Yes.", "value": True}]},
                    ),
                    ("end_call", {"reason": "task_completed"}),
                ],
            },
        ],
        ["Yes."],
    )
    mock = carrier(phone)
    server = start(make_server, mock, **{**realtime(speech), "TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"})
    call_id = dial(server)
    server.wait_for(call_id, {"connected"}, seconds=10)
    phone_call = the_call(mock)
    while not (phone_call.carrier and phone_call.carrier.played_ms() >= 1480):
        time.sleep(0.02)
    phone_call.carrier.say(600)
    call, result = server.wait_for(call_id, seconds=20), server.result(call_id)
    assert (call["state"], call["end_reason"], call["call_id"]) == ("completed", "task_completed", phone_call.sid), call
    assert call["attempts"][0]["outcome"] == "connected" and result["answers"][0]["value"] is True
    assert [entry["speaker"] for entry in result["transcript"]] == ["ai", "customer", "ai"]
    assert phone_call.carrier.played_ms() == pytest.approx(2300, abs=1000 * allowed(0.06)), (
        "the goodbye is heard to its end"
    )
    assert server.events(call_id)[:4] == [
        "outbound_queued",
        "outbound_dialing",
        "outbound_ringing",
        "outbound_connected",
    ]
    assert phone_call.over.wait(5) and phone_call.events == ["initiated", "ringing", "in-progress", "completed"]
    assert ElementTree.fromstring(phone_call.twiml[-1]).find("Hangup") is not None, "the call's TwiML goes on, and ends"


@pytest.mark.parametrize("goes", ["completed", "no-answer"])
def test_a_call_can_be_transferred_to_an_operator(make_server, carrier, model, allowed, goes):
    """The stream ends, Twilio dials the operator; without an answer its own voice says so."""

    def phone(call):
        call.operator = goes
        call.ring()
        call.answer()

    mock = carrier(phone)
    server = start(
        make_server,
        mock,
        **realtime(
            model([{"text": "I will put you through.", "ms": 500, "tools": [("transfer_to_operator", {})]}]),
            TRUNKLINE_OPERATORS_NUMBER="+15550177",
        ),
    )
    call = server.wait_for(dial(server), seconds=20)
    assert (call["state"], call["end_reason"]) == ("completed", "transferred"), call
    phone_call = the_call(mock)
    assert phone_call.over.wait(5) and phone_call.carrier.played_ms() == pytest.approx(500, abs=1000 * allowed(0.04)), (
        "the announcement was heard to its end"
    )
    wanted = VoiceResponse()
    dialled = Dial(action=f"{PUBLIC}/twilio/transferred?language=en", method="POST", timeout=30, caller_id=CALLER)
    dialled.number("+15550177")
    wanted.append(dialled)
    assert ElementTree.canonicalize(phone_call.twiml[1]) == ElementTree.canonicalize(str(wanted))
    assert ("nobody can take your call" in phone_call.twiml[2]) == (goes == "no-answer")
    ours = [form for _, path, form in mock.requests if path.endswith(f"{phone_call.sid}.json") and form]
    assert len(ours) == 1 and ours[0]["TimeLimit"] == ["14400"], "the operator's call is not hung up"


def test_the_conversation_goes_on_if_the_operator_cannot_be_dialled(make_server, carrier, model, allowed):
    """Twilio refuses: the caller stays with the AI."""

    def phone(call):
        call.redirect = lambda twiml: (_ for _ in ()).throw(ValueError)
        call.ring()
        call.answer()

    mock = carrier(phone)
    speech = model(
        [
            {"text": "I will put you through.", "ms": 300, "tools": [("transfer_to_operator", {})]},
            {"text": "I am sorry.", "ms": 300, "tools": [("end_call", {"reason": "task_completed"})]},
        ]
    )
    server = start(make_server, mock, **realtime(speech, TRUNKLINE_OPERATORS_NUMBER="+15550177"))
    call = server.wait_for(dial(server), seconds=40)
    assert call["end_reason"] == "task_completed" and the_call(mock).carrier.played_ms() == pytest.approx(
        600, abs=1000 * allowed(0.06)
    ), call


@pytest.mark.parametrize(
    "refusal,words",
    [
        (
            {"status": 400, "code": 21211, "message": "The 'To' number is not a valid phone number.", "more_info": ""},
            "not a valid phone number",
        ),
        ({"status": 429, "code": 20429, "message": "Too Many Requests", "more_info": ""}, "Too Many Requests"),
        ({"status": 500}, "no reason given"),
    ],
)
def test_calls_that_twilio_refuses_fail_with_a_reason(make_server, carrier, refusal, words):
    mock = carrier(refuse=refusal)
    server = start(make_server, mock)
    call = server.wait_for(dial(server), seconds=10)
    assert call["state"] == "failed" and words in call["failure_reason"], call
    assert len(asked(mock)) == 1, "a call is never placed twice"
    assert CALLEE not in (server.folder / "server.log").read_text()


def test_a_wrong_key_is_named_as_the_reason(make_server, carrier):
    mock = carrier(user="SK" + "1" * 32, password="key-secret")
    server = start(make_server, mock)
    call = server.wait_for(dial(server), seconds=10)
    assert call["state"] == "failed" and "401" in call["failure_reason"]
    server = start(make_server, mock, TWILIO_API_KEY_SID="SK" + "1" * 32, TWILIO_API_KEY_SECRET="key-secret")
    dial(server)
    deadline = time.time() + 10
    while not mock.calls and time.time() < deadline:
        time.sleep(0.02)
    assert mock.calls, "an API key works as the auth token does"


def test_the_call_ends_at_an_answering_machine(make_server, carrier, model):
    def phone(call):
        call.ring()
        call.tell("in-progress")
        threading.Timer(0.7, call.machine, ["machine_start"]).start()
        call.follow(call.field("Url"))

    mock = carrier(phone)
    server = start(
        make_server,
        mock,
        **{**realtime(model([{"text": "Hello?", "ms": 5000}])), "TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"},
    )
    call = server.wait_for(dial(server), seconds=15)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "voicemail", "voicemail"), call


def test_lost_callbacks_lose_no_call(make_server, carrier):
    """Twilio tells nothing: it is asked once the ringing must be over."""
    mock = carrier(lambda call: setattr(call, "status", "busy"))
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    call = server.wait_for(dial(server), seconds=20)
    assert call["state"] == "busy", call


def test_an_operator_hangs_up_and_foreign_reports_change_nothing(make_server, carrier, model):
    def phone(call):
        call.ring()
        call.answer()

    mock = carrier(phone)
    server = start(
        make_server,
        mock,
        **{**realtime(model([{"text": "A long story.", "ms": 20000}])), "TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"},
    )
    call_id = dial(server)
    server.wait_for(call_id, {"connected"}, seconds=10)
    phone_call = the_call(mock)
    while not (phone_call.carrier and phone_call.carrier.played_ms() >= 300):
        time.sleep(0.02)
    hook = f"{PUBLIC}/twilio/status?call={call_id}"
    assert mock.webhook(hook, {"CallSid": "CA" + "9" * 32, "CallStatus": "completed"})[0] == 204
    assert mock.webhook(hook, {"CallSid": phone_call.sid, "CallStatus": "ringing"})[0] == 204
    assert mock.webhook(hook, {"CallSid": phone_call.sid, "CallStatus": "completed"}, signature="bm8=")[0] == 403
    assert (
        mock.webhook(f"{PUBLIC}/twilio/voice?call=ob-00000000", {"CallSid": phone_call.sid})[1].count("<Hangup/>") == 1
    )
    assert server.call(call_id)["state"] == "connected"
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] in (200, 202)
    call = server.wait_for(call_id, seconds=10)
    assert (call["state"], call["end_reason"]) == ("completed", "operator_hangup")
    assert phone_call.over.wait(5)


@pytest.mark.parametrize(
    "settings,words",
    [
        ({"TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "twilio"}, "TWILIO_ACCOUNT_SID"),
        ({"TRUNKLINE_TWILIO_MODE": "turns"}, "TWILIO_ACCOUNT_SID"),
        ({"TWILIO_ACCOUNT_SID": "AC1"}, "32 hex digits"),
        ({"TWILIO_API_KEY_SID": "SK1"}, "needed both"),
    ],
)
def test_unusable_settings_end_the_start(tmp_path, settings, words):
    ended = run("serve", "--http-port", "0", "--sip-port", str(free_port()), cwd=tmp_path, **settings)
    assert ended.returncode != 0 and words in ended.stderr, ended


def test_numbers_twilio_cannot_dial_are_refused(make_server, carrier):
    server = start(make_server, carrier())
    body = {"caller_number": "55501", "callee_number": CALLEE, "purpose": "x", "questions": [ATTEND]}
    status, answer = server.request("POST", "/api/outbound/", body)
    assert status == 422 and [error["field"] for error in answer["errors"]] == ["caller_number"]
    status, answer = server.request(
        "POST", "/api/outbound/", {**body, "caller_number": CALLER, "callee_number": "109876"}
    )
    assert status == 422 and "E.164" in str(answer)


@pytest.mark.parametrize(
    "number, words",
    [
        ("911", "emergency"),
        ("+82 2 119", "emergency"),
        ("00182 2 119", "emergency"),
        ("sip:911@127.0.0.1", "emergency"),
        ("+1 900 555 0123", "extra"),
        ("sip:+1-900-555-0123@127.0.0.1", "extra"),
        ("+33 1 42 68 53 00", "prefix"),
    ],
)
def test_an_operators_number_keeps_the_dialling_rules(tmp_path, carrier, number, words):
    """The carrier would dial it at the first transfer: the start ends."""
    ended = run(
        "serve",
        "--http-port",
        "0",
        "--sip-port",
        str(free_port()),
        cwd=tmp_path,
        **through(carrier()),
        TRUNKLINE_OPERATORS_NUMBER=number,
        TRUNKLINE_OUTBOUND_ALLOWED_PREFIXES="+1,+82",
    )
    assert ended.returncode != 0 and "operators.number" in ended.stderr and words in ended.stderr, ended


def test_a_carriers_transfer_keeps_the_dialling_rules(make_server, carrier, model):
    """Of a request, and of an operator whose address was good when it was stored."""

    def phone(call):
        call.ring()
        call.answer()

    mock = carrier(phone)
    server = start(make_server, mock, **realtime(model([{"text": "A long story.", "ms": 20_000}])))
    known = add_operator(server, address="+442079460000")
    server.kill()
    server.environment["TRUNKLINE_OUTBOUND_ALLOWED_PREFIXES"] = "+1,+82"
    server.start()
    call_id = dial(server)
    server.wait_for(call_id, {"connected"}, seconds=10)
    path = f"/api/outbound/{call_id}/transfer"
    for to in ("911", "sip:911@127.0.0.1", "00182 2 119", "+1 900 555 0123", "+33142685300", "sip:+33142685300@h"):
        status, answer = server.request("POST", path, {"to": to})
        assert status == 422 and answer["errors"][0]["field"] == "to", (to, answer)
    for mode in ("blind", "attended"):
        assert server.request("POST", path, {"operator_id": known, "mode": mode})[0] in (202, 409)
    time.sleep(2)
    assert not any("<Dial" in text for text in the_call(mock).twiml), "Twilio was not asked to dial anybody"
    assert server.call(call_id)["state"] == "connected"
    # Where the rules allow it, the same request is carried out: the test can fail.
    assert server.request("POST", path, {"to": "+15550177", "mode": "blind"})[0] == 202
    call = server.wait_for(call_id, seconds=20)
    assert call["end_reason"] == "transferred" and any("+15550177" in text for text in the_call(mock).twiml)
