"""What Telnyx may tell and who may tell it: signatures, tokens, the order of events, and events that are no good."""

import base64
import json
import time
from urllib.parse import urlencode, urlsplit

import pytest
from conftest import mocks
from mock_telnyx import PUBLIC, PUBLIC_KEY, MockTelnyx, TelnyxStream, new_id, signed
from nacl.signing import SigningKey
from ports import free_port
from provider_calls import ASKS, CALLER, OURS, begin, inbound, record, result_of, start, told, wait
from telnyx_calls import names
from test_operations import run

telnyx_mock = mocks(MockTelnyx)


def test_late_repeated_lost_and_foreign_events_do_no_harm(make_server, telnyx_mock):
    mock = telnyx_mock()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    # The answer is told before the call, both twice.
    for event in ("call.answered", "call.initiated", "call.initiated", "call.answered"):
        phone.tell(event, direction="incoming")
    wait(lambda: phone.carrier and phone.carrier.played_ms() > 300, what="the greeting")
    wait(
        lambda: [call["state"] for call in inbound(server)] == ["connected"], what="the record, stored beside the call"
    )
    assert len(inbound(server)) == 1 and names(phone) == ["answer"]
    stranger = mock.incoming("+15550111", OURS)
    for event in ("call.hangup", "streaming.stopped", "streaming.failed", "call.dtmf.received", "call.something.new"):
        stranger.tell(event, hangup_cause="user_busy", failure_reason="connection_failed")
    other = base64.b64encode(b"another program's state").decode()
    stranger.tell("call.speak.ended", client_state=other)
    stranger.tell("call.machine.detection.ended", result="machine", client_state=other)
    # The hang-up of a call that we know nothing of, in the name of one that we never placed.
    stranger.tell("call.hangup", client_state=base64.b64encode(b"call out-00000000").decode())
    assert len(inbound(server)) == 1 and inbound(server)[0]["state"] == "connected" and not stranger.commands
    phone.over.set()
    phone.carrier.hang_up()
    for _ in range(2):
        phone.tell("call.hangup", hangup_cause="normal_clearing")
    call = record(server)
    assert (call["state"], call["end_reason"]) == ("completed", "callee_hangup"), call
    # After the end: nothing begins anew.
    phone.tell("call.initiated", direction="incoming")
    phone.tell("call.answered")
    time.sleep(0.5)
    assert len(inbound(server)) == 1 and names(phone) == ["answer"]
    assert told(server, call).count("inbound_ended") == 1
    assert record(server)["completed_at"] == call["completed_at"]
    # One that has ended before we heard of it.
    gone = mock.incoming(CALLER, OURS)
    gone.over.set()
    gone.tell("call.hangup", hangup_cause="originator_cancel")
    gone.tell("call.initiated", direction="incoming")
    wait(lambda: len(inbound(server)) == 2 and inbound(server)[0]["state"] == "failed", what="the end")


def test_calls_that_we_do_not_take(make_server, telnyx_mock):
    mock = telnyx_mock()
    server = start(
        make_server,
        mock,
        TRUNKLINE_INBOUND_NUMBERS=OURS,
        TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="1",
        **ASKS,
    )
    wrong = mock.incoming(CALLER, "+15550122")
    wrong.begin()
    wait(lambda: wrong.commands)
    assert wrong.commands[0][0] == "reject" and wrong.commands[0][1]["cause"] == "CALL_REJECTED"
    first, second = mock.incoming(CALLER, OURS), mock.incoming(CALLER, OURS)
    first.begin()
    second.begin()
    wait(lambda: second.commands)
    assert second.commands[0][0] == "reject" and second.commands[0][1]["cause"] == "USER_BUSY"
    refused = mock.incoming_by_texml(CALLER, "+15550122")
    begin(refused).join(10)
    assert refused.refused == "rejected" and refused.carrier is None
    # The first caller leaves.
    wait(lambda: first.carrier and first.carrier.played_ms() > 300)
    first.end()
    assert record(server)["end_reason"] == "callee_hangup" and len(inbound(server)) == 1


def test_only_what_telnyx_has_signed_just_now_is_taken(make_server, telnyx_mock):
    mock = telnyx_mock()
    server = start(make_server, mock, **ASKS)
    call = mock.incoming(CALLER, OURS)
    body = call.body("call.initiated", direction="incoming")
    form = urlencode({"CallSid": call.id, "From": CALLER, "To": OURS}).encode()

    def refused(headers, data=body, kind="application/json", path="/telnyx/voice"):
        status, text = mock.post(PUBLIC + path, data, kind, headers)
        assert status == 403, (status, text)
        return json.loads(text)["detail"]

    assert refused({}) == "telnyx-signature-ed25519 is missing"
    good = signed(body)
    assert refused({"telnyx-signature-ed25519": good["telnyx-signature-ed25519"]}) == "telnyx-timestamp is missing"
    wrong = "telnyx-signature-ed25519 is not right for this URL and body"
    assert refused(signed(body + b" ")) == wrong and refused({**good, "telnyx-signature-ed25519": "bm8="}) == wrong
    assert refused(signed(body, key=SigningKey.generate())) == wrong
    assert refused({**good, "telnyx-timestamp": str(int(good["telnyx-timestamp"]) + 1)}) == wrong
    # A recorded webhook, sent again later.
    old = "telnyx-timestamp is too far from the time here"
    assert refused(signed(body, time.time() // 1 - 310)) == wrong, "seconds alone are a timestamp"
    assert refused(signed(body, int(time.time()) - 310)) == old and refused(signed(body, int(time.time()) + 310)) == old
    for path in ("/telnyx/voice", "/telnyx/status", "/telnyx/transferred"):
        assert (
            refused(signed(form, key=SigningKey.generate()), form, "application/x-www-form-urlencoded", path) == wrong
        )
    assert not inbound(server) and not call.commands

    def unreadable(data, field, kind="application/json", path="/telnyx/voice"):
        status, text = mock.post(PUBLIC + path, data, kind)
        answer = json.loads(text)
        assert status == 422 and [error["field"] for error in answer["errors"]] == [field], answer

    unreadable(b"{", "body")
    unreadable(b"[]", "body")
    unreadable(b"{}", "data.event_type")
    unreadable(b'{"data":{"event_type":7}}', "data.event_type")
    unreadable(b'{"data":{"event_type":"call.answered","payload":[]}}', "data.payload")
    unreadable(b'{"data":{"event_type":"call.answered","payload":{}}}', "data.payload.call_control_id")
    unreadable(call.body("call.initiated", call_control_id="../calls"), "data.payload.call_control_id")
    for path in ("/telnyx/voice", "/telnyx/status"):
        unreadable(b"From=1", "CallSid", "application/x-www-form-urlencoded", path)
        unreadable(b"CallSid=CA1", "CallSid", "application/x-www-form-urlencoded", path)
        unreadable(b"CallSid=%ZZ", "body", "application/x-www-form-urlencoded", path)
    unreadable(form, "DialCallStatus", "application/x-www-form-urlencoded", "/telnyx/transferred")
    assert server.request("GET", "/telnyx/voice", key=None)[0] in (404, 405)


def test_a_stream_needs_its_calls_token(make_server, telnyx_mock):
    mock = telnyx_mock()
    server = start(make_server, mock, **ASKS)
    address = f"ws://127.0.0.1:{server.http_port}/media/telnyx"

    def refused(url=address, call=None, **options):
        stream = TelnyxStream(url, call_sid=call or new_id(), **options)
        stream.wait(lambda: not stream.open, what="the refusal")
        assert stream.close_code == 1008 and not stream.play_log

    refused()
    refused(parameters={"token": "wrong"})
    refused(headers={"x-telnyx-streaming-auth-token": "wrong"})
    # The token of another call; and a token twice.
    phone = mock.incoming(CALLER, OURS)
    phone.stream_of = lambda fields: None
    phone.begin()
    wait(lambda: phone.commands)
    url = urlsplit(phone.commands[0][1]["stream_url"])
    refused(f"{address}?{url.query}")
    assert record(server, ("ringing",))["state"] == "ringing"
    second = mock.incoming(CALLER, OURS)
    second.begin()
    wait(lambda: second.carrier and second.carrier.played_ms() > 300)
    refused(f"{address}?{urlsplit(second.commands[0][1]['stream_url']).query}", second.id)
    second.end()
    wait(lambda: result_of(server, inbound(server)[0]))


@pytest.mark.parametrize(
    "settings,words",
    [
        ({"TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "telnyx"}, "TELNYX_CONNECTION_ID"),
        ({"TELNYX_PUBLIC_KEY": "AAAA"}, "Base64 of 32 bytes"),
        ({"TELNYX_PUBLIC_KEY": PUBLIC_KEY}, "APP_PUBLIC_BASE_URL"),
        ({"TRUNKLINE_TELNYX_STREAM_FORMAT": "opus"}, "TRUNKLINE_TELNYX_STREAM_FORMAT must be"),
    ],
)
def test_unusable_settings_end_the_start(tmp_path, settings, words):
    ended = run("serve", "--http-port", "0", "--sip-port", str(free_port()), cwd=tmp_path, **settings)
    assert ended.returncode != 0 and words in ended.stderr, ended
