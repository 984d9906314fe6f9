"""Calls that Telnyx brings and places: Call Control, TeXML, streams, transfers."""

import threading
import time
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

import pytest
from conftest import mocks
from mock_telnyx import API_KEY, CONNECTION, HOOK, PUBLIC, PUBLIC_KEY, MockTelnyx, WideTelnyxStream, signed
from nacl.signing import SigningKey
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
    wait,
)
from realtime_calls import realtime
from telnyx_calls import CALLEE, CLOSED, dial, names, state_of
from twilio.twiml.voice_response import Connect, Dial, Stream, VoiceResponse
from spoken_words import spoken

telnyx_mock = mocks(MockTelnyx)


def test_the_mock_is_what_the_vendors_client_expects(make_server, telnyx_mock):
    """The vendor's client works with the mock, takes its webhooks for signed, and places a call with the very request
    that we place it with."""
    import telnyx

    mock = telnyx_mock(lambda call: call.over.wait(10))
    client = telnyx.Telnyx(api_key=API_KEY, base_url=mock.url, public_key=PUBLIC_KEY, max_retries=0)
    theirs = client.calls.dial(
        connection_id=CONNECTION,
        from_=OURS,
        to=CALLEE,
        timeout_secs=30,
        time_limit_secs=240,
        webhook_url=HOOK,
        webhook_url_method="POST",
        client_state="",
        answering_machine_detection="detect",
        command_id="",
    ).data
    call = mock.calls[theirs.call_control_id]
    assert client.calls.retrieve_status(call.id).data.is_alive
    # The commands that we give.
    call.is_answered.set()
    stream = {
        "stream_url": f"wss{PUBLIC.removeprefix('https')}/media/telnyx",
        "stream_track": "inbound_track",
        "stream_codec": "L16",
        "stream_bidirectional_mode": "rtp",
        "stream_bidirectional_codec": "L16",
    }
    for action, fields in [
        (client.calls.actions.transfer, {"to": CALLER, "target_leg_client_state": "", "webhook_url": HOOK}),
        (client.calls.actions.speak, {"payload": "Hello.", "voice": "female", "language": "en-US"}),
        (client.calls.actions.answer, stream),
        (
            client.calls.actions.start_streaming,
            {
                **stream,
                "stream_bidirectional_sampling_rate": 16000,
                "custom_parameters": [{"name": "token", "value": "t"}],
            },
        ),
        (client.calls.actions.hangup, {}),
    ]:
        assert action(call.id, **fields).data.result == "ok"
    wait(call.over.is_set, what="the end")
    assert names(call) == ["transfer", "speak", "answer", "streaming_start", "hangup"]
    assert not client.calls.retrieve_status(call.id).data.is_alive
    with pytest.raises(telnyx.UnprocessableEntityError) as error:
        client.calls.actions.hangup(call.id)
    assert error.value.body["errors"][0]["code"] == "90018"
    with pytest.raises(telnyx.AuthenticationError):
        telnyx.Telnyx(api_key="KEY", base_url=mock.url, max_retries=0).calls.retrieve_status(call.id)
    # Webhooks.
    body = call.body("call.hangup", hangup_cause="user_busy")
    event = client.webhooks.unwrap(body.decode(), headers=signed(body)).data
    assert (event.event_type, event.payload.hangup_cause) == ("call.hangup", "user_busy")
    for headers in (signed(body + b" "), signed(body, time.time() - 301), signed(body, key=SigningKey.generate())):
        with pytest.raises(ValueError):
            client.webhooks.unwrap(body.decode(), headers={**headers})

    server = start(make_server, mock)
    call_id = dial(server)
    wait(lambda: len([1 for _, path, _ in mock.requests if path == "/v2/calls"]) == 2)
    wanted, ours = [fields for _, path, fields in mock.requests if path == "/v2/calls"]
    assert {**wanted, "client_state": ours["client_state"], "command_id": ours["command_id"]} == ours
    assert state_of(ours) == f"call {call_id}" and len(ours["command_id"]) == 36
    server.request("POST", f"/api/outbound/{call_id}/cancel", {})
    assert server.wait_for(call_id, seconds=10)["state"] == "cancelled"
    assert names(list(mock.calls.values())[-1]) == ["hangup"]


def test_a_call_that_comes_in(make_server, telnyx_mock):
    """Answered by a command that opens the stream with the call's token; talked through, with a barge-in; hung up."""
    mock = telnyx_mock()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    phone.begin()
    wait(lambda: phone.carrier, what="the stream")
    assert record(server, ("connected",))["state"] == "connected"
    interrupt_and_answer(phone.carrier)
    check_interrupted_call(server, phone.id)
    assert phone.over.wait(5) and names(phone) == ["answer", "hangup"]
    assert phone.commands[0][1]["command_id"] == "answer"


def test_a_wide_stream_is_asked_for_when_the_call_is_answered(make_server, telnyx_mock):
    """L16 at 16 kHz both ways: the command `answer` knows no rate."""
    mock = telnyx_mock()
    server = start(make_server, mock, TRUNKLINE_TELNYX_STREAM_FORMAT="l16/16000", **ASKS)
    phone = mock.incoming(CALLER, OURS)
    phone.open_stream = WideTelnyxStream
    phone.begin()
    wait(lambda: phone.carrier, what="the stream")
    interrupt_and_answer(phone.carrier)
    check_interrupted_call(server, phone.id)
    assert phone.over.wait(5) and names(phone) == ["answer", "streaming_start", "hangup"]
    fields = phone.commands[1][1]
    assert (fields["stream_bidirectional_codec"], fields["stream_bidirectional_sampling_rate"]) == ("L16", 16000)
    assert [item["name"] for item in fields["custom_parameters"]] == ["token"]


def test_a_call_of_texml(make_server, telnyx_mock):
    """The markup by Twilio's package, which writes any attribute; then as any other call."""
    mock = telnyx_mock()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming_by_texml(CALLER, OURS)
    thread = begin(phone)
    wait(lambda: phone.carrier, what="the stream")
    stream = ElementTree.fromstring(phone.twiml[0]).find("./Connect/Stream")
    wanted, connect = VoiceResponse(), Connect()
    inner = Stream(
        url=f"wss{PUBLIC.removeprefix('https')}/media/telnyx?"
        + urlencode({"stream_bidirectional_codec": "PCMU", "stream_bidirectional_sampling_rate": 8000}),
        track="inbound_track",
        codec="PCMU",
        bidirectionalMode="rtp",
        bidirectionalCodec="PCMU",
        bidirectionalSamplingRate=8000,
    )
    inner.parameter(name="token", value=stream.find("Parameter").get("value"))
    connect.append(inner)
    wanted.append(connect)
    wanted.redirect(f"{HOOK}?after=stream", method="POST")
    assert ElementTree.canonicalize(phone.twiml[0]) == ElementTree.canonicalize(str(wanted))
    interrupt_and_answer(phone.carrier)
    check_interrupted_call(server, phone.sid)
    thread.join(10)
    assert phone.status == "completed" and "<Hangup" in phone.twiml[-1]


def test_a_call_that_we_place(make_server, telnyx_mock):
    """Placed by REST, streamed once it is answered, talked through, hung up after the goodbye."""

    def phone(call):
        call.begin()
        call.answer()

    mock = telnyx_mock(phone)
    server = start(make_server, mock)
    call_id = dial(server)
    phone_call = the_call(mock)
    wait(lambda: phone_call.carrier and phone_call.carrier.played_ms() > 1000 and phone_call.carrier.is_quiet(1))
    phone_call.carrier.say_file(spoken("Yes, I will."))
    call, result = server.wait_for(call_id, seconds=30), server.result(call_id)
    assert (call["state"], call["end_reason"], call["call_id"]) == ("completed", "task_completed", phone_call.id), (
        call,
        result,
    )
    assert call["attempts"][0]["outcome"] == "connected" and result["answers"][0]["value"] is True
    assert result["transcript"][-1]["speaker"] == "ai" and not result["transcript"][-1].get("interrupted")
    assert server.events(call_id)[:3] == ["outbound_queued", "outbound_dialing", "outbound_connected"]
    assert phone_call.over.wait(5) and names(phone_call) == ["streaming_start", "hangup"]
    assert "v3:" not in (server.folder / "server.log").read_text().replace(phone_call.id, ""), "no other id is logged"


@pytest.mark.parametrize(
    "refusal,words",
    [
        ((422, 10016, "Phone number must be in +E164 format", "The 'to' parameter is no number."), "is no number"),
        ((403, 10010, "Authorization failed", "The key lacks a right."), "lacks a right"),
    ],
)
def test_calls_that_telnyx_refuses_fail_with_a_reason(make_server, telnyx_mock, refusal, words):
    mock = telnyx_mock(refuse=refusal)
    server = start(make_server, mock)
    call = server.wait_for(dial(server), seconds=10)
    assert call["state"] == "failed" and words in call["failure_reason"], call
    assert CALLEE not in (server.folder / "server.log").read_text()


def test_the_call_ends_at_an_answering_machine(make_server, telnyx_mock, model):
    def phone(call):
        call.begin()
        call.answer()
        threading.Timer(0.7, call.tell, ["call.machine.detection.ended"], {"result": "machine"}).start()

    mock = telnyx_mock(phone)
    server = start(make_server, mock, **{**realtime(model([{"text": "Hello?", "ms": 5000}])), **CLOSED})
    call = server.wait_for(dial(server), seconds=15)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "voicemail", "voicemail"), call
    assert the_call(mock).over.wait(5)


def test_lost_webhooks_lose_no_call(make_server, telnyx_mock):
    """Telnyx tells nothing: it is asked once the ringing must be over."""
    mock = telnyx_mock(lambda call: call.over.set())
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    assert server.wait_for(dial(server), seconds=20)["state"] == "no_answer"


def transferring(make_server, telnyx_mock, model, phone, operator):
    mock = telnyx_mock(phone, operator)
    speech = model([{"text": "I will put you through.", "ms": 500, "tools": [("transfer_to_operator", {})]}])
    return mock, start(
        make_server, mock, **{**realtime(speech, TRUNKLINE_OPERATORS_NUMBER="+15550177", **ASKS), **CLOSED}
    )


@pytest.mark.parametrize("answers", [True, False])
def test_a_call_can_be_transferred_to_an_operator(make_server, telnyx_mock, model, answers):
    """By a command; if the operator does not answer, Telnyx's own voice says so, and the call ends."""

    def phone(call):
        call.begin()
        call.answer()

    def operator(leg):
        leg.answer() if answers else leg.end("no_answer", "480")

    mock, server = transferring(make_server, telnyx_mock, model, phone, operator)
    call = server.wait_for(dial(server), seconds=20)
    assert (call["state"], call["end_reason"]) == ("completed", "transferred"), call
    caller, leg = mock.calls.values()
    fields = caller.commands[1][1]
    assert names(caller)[:2] == ["streaming_start", "transfer"]
    assert (fields["to"], fields["from"], fields["timeout_secs"]) == ("+15550177", OURS, 30)
    wait(lambda: not caller.carrier.open, what="the end of our stream")
    if answers:
        wait(lambda: caller.peer is leg, what="the bridge")
        time.sleep(1)
        assert not caller.over.is_set() and names(caller) == ["streaming_start", "transfer"], "they talk"
        leg.end()
        caller.end()
        assert not caller.spoken
    else:
        assert caller.over.wait(10) and names(caller) == ["streaming_start", "transfer", "speak", "hangup"]
        assert "nobody can take your call" in caller.spoken[0]
    assert len(server.request("GET", "/api/outbound/")[1]["items"]) == 1 and not inbound(server)


@pytest.mark.parametrize("goes", ["completed", "no-answer"])
def test_a_call_of_texml_can_be_transferred_to_an_operator(make_server, telnyx_mock, model, goes):
    """Its markup goes on when our stream has ended, and dials."""
    mock, server = transferring(make_server, telnyx_mock, model, None, None)
    phone = mock.incoming_by_texml(CALLER, OURS)
    phone.operator = goes
    begin(phone).join(20)
    assert record(server)["end_reason"] == "transferred"
    wanted = VoiceResponse()
    dialled = Dial(action=f"{PUBLIC}/telnyx/transferred?language=en", method="POST", timeout=30, caller_id=OURS)
    dialled.number("+15550177")
    wanted.append(dialled)
    assert ElementTree.canonicalize(phone.twiml[1]) == ElementTree.canonicalize(str(wanted))
    assert ("nobody can take your call" in phone.twiml[2]) == (goes == "no-answer")
    assert not mock.requests, "no command is needed"
