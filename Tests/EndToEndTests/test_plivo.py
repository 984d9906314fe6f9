"""Calls that Plivo brings, places and carries: webhooks, signatures, REST, streams."""

import xml.etree.ElementTree as ElementTree

import plivo
import pytest
from conftest import ATTEND, mocks
from mock_plivo import ACCOUNT, TOKEN, MockPlivo, PlivoWire, signed
from plivo import plivoxml
from webhook_calls import PUBLIC, refused, talk, wait
from realtime_calls import realtime
from test_twilio_inbound import ASKS, inbound, record, result_of, told

CALLER, OURS, CALLEE = "14155551234", "14155550000", "+821098765432"
carrier = mocks(MockPlivo)


def start(make_server, mock, **settings):
    server = make_server(
        **{
            "TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "plivo",
            "TRUNKLINE_PLIVO_API_URL": mock.url,
            "PLIVO_AUTH_ID": ACCOUNT,
            "PLIVO_AUTH_TOKEN": TOKEN,
            "APP_PUBLIC_BASE_URL": PUBLIC,
            **settings,
        }
    )
    mock.port = server.http_port
    return server


def dial(server, **fields):
    return server.create(CALLEE, [ATTEND], caller_number="+" + OURS, **fields)


def the_call(mock):
    return next(iter(mock.calls.values()))


@pytest.mark.parametrize("sound", ["mulaw/8000", "l16/16000"])
def test_an_incoming_call(make_server, carrier, sound):
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_PLIVO_STREAM_FORMAT=sound, **ASKS)
    call = mock.incoming(CALLER, OURS)
    thread = call.begin()
    talk(call)
    found = record(server)
    result = result_of(server, found)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.uuid), result
    assert (found["caller_number"], found["called_number"]) == ("+" + CALLER, "+" + OURS)
    assert result["answers"][0]["status"] == "answered" and result["transcript"][0]["interrupted"], result
    assert told(server, found)[:2] == ["inbound_ringing", "inbound_connected"]
    thread.join(10)
    assert call.failure is None and call.over.is_set(), call.failure
    assert len(call.stream.clears) >= 1
    # The XML, by the vendor's own package.
    ours = ElementTree.fromstring(call.answers[0]).find("Stream")
    encoding = {"mulaw": "audio/x-mulaw", "l16": "audio/x-l16"}[sound.split("/")[0]]
    wanted = plivoxml.ResponseElement()
    wanted.add(
        plivoxml.StreamElement(
            "wss://voice.example.com/media/plivo",
            bidirectional=True,
            keepCallAlive=True,
            contentType=f"{encoding};rate={sound.split('/')[1]}",
            extraHeaders=ours.get("extraHeaders"),
            statusCallbackUrl=f"{PUBLIC}/plivo/status",
            statusCallbackMethod="POST",
        )
    )
    assert ElementTree.canonicalize(call.answers[0]) == ElementTree.canonicalize(wanted.to_string(False))
    assert ours.get("extraHeaders").removeprefix("token=").isalnum() and len(ours.get("extraHeaders")) < 512


def test_an_outgoing_call_is_what_the_vendors_client_places(make_server, carrier, monkeypatch):
    def phone(call):
        call.ring()
        call.answer()

    mock = carrier()
    monkeypatch.setattr("plivo.rest.client.API_VOICE_BASE_URI", mock.url + "/v1/Account")
    client = plivo.RestClient(ACCOUNT, TOKEN)
    hook = f"{PUBLIC}/plivo/status?call=ID"
    theirs = client.calls.create(
        from_=OURS,
        to_=CALLEE.removeprefix("+"),
        answer_url=f"{PUBLIC}/plivo/answer?call=ID",
        ring_url=hook,
        hangup_url=hook,
        time_limit=14400,
        ring_timeout=30,
        machine_detection="true",
        machine_detection_url=hook,
    )
    placed = the_call(mock)
    placed.fields = {}  # no webhooks
    assert theirs.request_uuid == placed.request_uuid
    assert client.live_calls.get(placed.uuid).call_status == "ringing"
    assert client.calls.transfer(placed.uuid, legs="aleg", aleg_url=f"{PUBLIC}/plivo/transfer").call_uuids
    client.calls.cancel(placed.request_uuid)
    wait(placed.over.is_set, what="the cancel")
    assert client.calls.get(placed.uuid).hangup_cause_code == 1000
    with pytest.raises(plivo.exceptions.ResourceNotFoundError):
        client.calls.delete(placed.uuid)
    mock.calls.clear()

    mock.phone = phone
    server = start(make_server, mock)
    call_id = dial(server)
    wait(lambda: mock.calls, what="the call")
    call = the_call(mock)
    talk(call, "Yes, I will.")
    found, result = server.wait_for(call_id, seconds=30), server.result(call_id)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.uuid), result
    assert result["answers"][0]["value"] is True, result
    assert server.events(call_id)[:4] == [
        "outbound_queued",
        "outbound_dialing",
        "outbound_ringing",
        "outbound_connected",
    ]
    wanted, ours = mock.asked("POST", "/Call/")
    # What the client adds of itself, and Plivo takes for granted.
    extra = {"fallback_method", "machine_detection_time", "error_if_parent_not_found"}
    wanted = {k: v.replace("ID", call_id) if isinstance(v, str) else v for k, v in wanted.items() if k not in extra}
    assert wanted == ours


@pytest.mark.parametrize("goes", ["completed", "no-answer"])
def test_a_call_is_transferred(make_server, carrier, model, goes):
    def phone(call):
        call.operator = goes
        call.answer()

    mock = carrier(phone)
    speech = model([{"text": "I will put you through.", "ms": 500, "tools": [("transfer_to_operator", {})]}])
    server = start(make_server, mock, **realtime(speech, TRUNKLINE_OPERATORS_NUMBER="+15550177"))
    found = server.wait_for(dial(server), seconds=20)
    assert (found["state"], found["end_reason"]) == ("completed", "transferred"), found
    call = the_call(mock)
    wait(call.over.is_set, what="the end")
    wanted = plivoxml.ResponseElement()
    wanted.add(
        plivoxml.DialElement(
            action=f"{PUBLIC}/plivo/transferred?language=en", method="POST", timeout=30, caller_id=OURS
        ).add(plivoxml.NumberElement("15550177"))
    )
    assert ElementTree.canonicalize(call.answers[1]) == ElementTree.canonicalize(wanted.to_string(False))
    assert any("nobody can take your call" in text for text in call.spoken) == (goes == "no-answer")
    assert not mock.asked("DELETE", "/"), "the operator's call is not hung up"


@pytest.mark.parametrize(
    "told,code,state",
    [
        ("busy", 3010, "busy"),
        ("no-answer", 3000, "no_answer"),
        ("timeout", 3000, "no_answer"),
        ("failed", 3020, "rejected"),
        ("failed", 2000, "failed"),
    ],
)
def test_calls_that_are_not_answered(make_server, carrier, told, code, state):
    mock = carrier(lambda call: (call.ring(), call.end(told, code, "")))
    server = start(make_server, mock)
    found = server.wait_for(dial(server), seconds=10)
    assert found["state"] == state and len(mock.asked("POST", "/Call/")) == 1, found


def test_a_machine_ends_the_call_and_lost_reports_lose_none(make_server, carrier, model):
    def phone(call):
        call.ring()
        call.status = "in-progress"
        call.machine(True)  # told before anything was asked

    mock = carrier(phone)
    server = start(make_server, mock, **realtime(model([{"text": "Hello?", "ms": 500}])))
    found = server.wait_for(dial(server), seconds=15)
    assert (found["state"], found["end_reason"], found["answered_by"]) == ("completed", "voicemail", "voicemail"), found
    wait(the_call(mock).over.is_set, what="the hang-up")

    silent = carrier(lambda call: None)

    def busy(call):
        call.uuid = call.request_uuid  # Plivo's usual way: one id
        call.fields = {}
        call.end("busy", 3010, "Busy Line")

    silent.phone = busy
    server = start(make_server, silent, TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    assert server.wait_for(dial(server), seconds=20)["state"] == "busy"


def test_an_operator_cancels_and_hangs_up(make_server, carrier, model):
    mock = carrier(lambda call: call.ring())
    server = start(make_server, mock, **realtime(model([{"text": "A long story.", "ms": 20000}])))
    call_id = dial(server)
    server.wait_for(call_id, {"ringing"}, seconds=10)
    server.request("POST", f"/api/outbound/{call_id}/cancel", {})
    assert server.wait_for(call_id, seconds=10)["state"] == "cancelled"
    wait(the_call(mock).over.is_set, what="the cancel")
    mock.calls.clear()
    mock.phone = lambda call: (call.ring(), call.answer())
    call_id = dial(server)
    server.wait_for(call_id, {"connected"}, seconds=10)
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] in (200, 202)
    assert server.wait_for(call_id, seconds=10)["end_reason"] == "operator_hangup"
    wait(the_call(mock).over.is_set, what="the hang-up")


def test_bad_webhooks_and_streams_are_refused(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    call = mock.incoming(CALLER, OURS)
    form, url = call.parameters(), f"{PUBLIC}/plivo/answer"
    for headers in (
        {"X-None": "1"},
        signed("POST", url, form, token="another token"),
        signed("POST", url, {**form, "From": "1"}),
        signed("POST", f"{PUBLIC}/plivo/status", form),
        {**signed("POST", url, form), "X-Plivo-Signature-V3-Nonce": "1"},
    ):
        status, text = mock.webhook(url, form, headers)
        assert status == 403 and "X-Plivo-Signature-V3" in text, (status, text)
    for path, bad, field in (
        ("answer", {"From": CALLER}, "CallUUID"),
        ("answer", {**form, "CallUUID": "../x"}, "CallUUID"),
        ("status", {"Event": "Hangup"}, "CallUUID"),
        ("transferred?language=en", form, "DialStatus"),
        ("transfer?ring=30", form, "to"),
        ("transfer?to=1&ring=x", form, "ring"),
    ):
        status, text = mock.webhook(f"{PUBLIC}/plivo/{path}", bad)
        assert status == 422 and f'"{field}"' in text, (status, text)
    assert not inbound(server)
    # Reports of unknown calls, in any order, change nothing.
    for report in ({"CallStatus": "completed"}, {"CallStatus": "new"}, {"Event": "DroppedStream"}, {"Machine": "true"}):
        fields = {**form, **report}
        assert mock.webhook(f"{PUBLIC}/plivo/status?call=ob-00000000", fields)[0] == 204
        assert mock.webhook(f"{PUBLIC}/plivo/status", fields)[0] == 204
    assert "<Hangup" in mock.webhook(f"{PUBLIC}/plivo/answer?call=ob-00000000", form)[1]

    def wire(extra="", of=call.uuid):
        return PlivoWire("audio/x-mulaw;rate=8000", of, extra)

    path = "/media/plivo"
    assert refused(mock.port, path, wire()) == 1008
    assert refused(mock.port, path, wire("token=" + "x" * 50)) == 1008
    status, text = mock.webhook(url, form)
    token = ElementTree.fromstring(text).find("Stream").get("extraHeaders")
    assert refused(mock.port, path, wire(token, "9834029e-58b6-11e1-b8b7-a5bd0e4e126f")) == 1008, "another call's"
    with pytest.raises(Exception, match="403"):
        refused(mock.port, path, wire(token), signed("GET", "wss://elsewhere.example.com" + path))
    # The same webhook once more: the same call, and another token.
    assert mock.webhook(url, form)[1] != text and len(inbound(server)) == 1
    for _ in range(2):
        fields = {**form, "CallStatus": "completed", "Event": "Hangup"}
        assert mock.webhook(f"{PUBLIC}/plivo/status", fields)[0] == 204
    assert record(server)["state"] == "failed"
    assert "<Hangup" in mock.webhook(url, form)[1] and len(inbound(server)) == 1, "after the end nothing begins anew"
    log = (server.folder / "server.log").read_text()
    assert CALLER not in log and TOKEN not in log


def test_a_stream_of_static_xml_is_known_by_its_signature(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    call = mock.incoming(CALLER, OURS)
    url = "wss://voice.example.com/media/plivo"
    wire = PlivoWire("audio/x-l16;rate=8000", call.uuid, f"from={CALLER};to={OURS}")
    call.begin(call.carry, url, wire, signed("GET", url))
    wait(lambda: call.stream and call.stream.played_ms() > 700, what="the greeting")
    call.over.set()
    found = record(server)
    assert (found["caller_number"], found["call_id"]) == (CALLER, call.uuid), found
