"""Calls that Plivo brings, places and carries: webhooks, signatures, REST, streams."""

import xml.etree.ElementTree as ElementTree

import plivo
import pytest
from conftest import ATTEND, mocks
from mock_plivo import ACCOUNT, TOKEN, MockPlivo, PlivoWire, signed
from plivo import plivoxml
from provider_calls import ASKS, inbound, record, refused, start, the_call, wait
from provider_server import PUBLIC

CALLER, OURS, CALLEE = "14155551234", "14155550000", "+821098765432"
carrier = mocks(MockPlivo)


def dial(server, **fields):
    return server.create(CALLEE, [ATTEND], caller_number="+" + OURS, **fields)


@pytest.mark.parametrize("sound", ["mulaw/8000", "l16/16000"])
def test_the_answer_is_what_the_vendors_package_makes(make_server, carrier, sound):
    mock = carrier()
    start(make_server, mock, TRUNKLINE_PLIVO_STREAM_FORMAT=sound)
    status, text = mock.webhook(f"{PUBLIC}/plivo/answer", mock.incoming(CALLER, OURS).parameters())
    ours = ElementTree.fromstring(text).find("Stream")
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
    assert status == 200 and ElementTree.canonicalize(text) == ElementTree.canonicalize(wanted.to_string(False))
    assert ours.get("extraHeaders").removeprefix("token=").isalnum() and len(ours.get("extraHeaders")) < 512


def test_an_outgoing_call_is_what_the_vendors_client_places(make_server, carrier, monkeypatch):
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

    server = start(make_server, mock)
    call_id = dial(server)
    the_call(mock)
    wanted, ours = mock.asked("POST", "/Call/")
    # What the client adds of itself, and Plivo takes for granted.
    extra = {"fallback_method", "machine_detection_time", "error_if_parent_not_found"}
    wanted = {k: v.replace("ID", call_id) if isinstance(v, str) else v for k, v in wanted.items() if k not in extra}
    assert wanted == ours


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
    assert mock.webhook(url, form)[1] != text
    wait(lambda: len(inbound(server)) == 1, what="its record")
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
