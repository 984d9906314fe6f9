"""Calls that Vonage brings, places and carries: signed webhooks, NCCOs, REST, streams."""

import json
import time

import pytest
import vonage
from conftest import ATTEND, mocks
from mock_vonage import APPLICATION, PRIVATE_KEY, SECRET, MockVonage, VonageWire, compact, signed
from provider_calls import ASKS, inbound, record, refused, start, the_call, wait
from provider_server import PUBLIC
from vonage_http_client import HttpClientOptions
from vonage_http_client.errors import NotFoundError
from vonage_voice.models import CreateCallRequest, Talk

CALLER, OURS, CALLEE = "447700900000", "442079460000", "+821098765432"
carrier = mocks(MockVonage)


def dial(server):
    return server.create(CALLEE, [ATTEND], caller_number="+" + OURS)


def vendors_client(mock):
    """With the mock in the place of api.nexmo.com."""
    client = vonage.Vonage(
        vonage.Auth(application_id=APPLICATION, private_key=PRIVATE_KEY),
        HttpClientOptions(api_host=mock.url.removeprefix("http://")),
    )
    session = client.http_client._session
    request = session.request
    session.request = lambda method, url, **more: request(method, url.replace("https://", "http://"), **more)
    return client.voice


def test_an_outgoing_call_is_what_the_vendors_client_places(make_server, carrier):
    mock = carrier()
    client = vendors_client(mock)
    theirs = client.create_call(
        CreateCallRequest(
            to=[{"type": "phone", "number": CALLEE.removeprefix("+")}],
            from_={"type": "phone", "number": OURS},
            answer_url=[f"{PUBLIC}/vonage/answer?call=ID"],
            answer_method="POST",
            event_url=[f"{PUBLIC}/vonage/event?call=ID"],
            event_method="POST",
            ringing_timer=30,
            length_timer=14400,
            machine_detection="continue",
        )
    )
    placed = the_call(mock)
    placed.fields = {}  # no webhooks
    assert client.get_call(theirs.uuid).status == "started"
    client.transfer_call_ncco(theirs.uuid, [Talk(text="Hello")])
    assert placed.next_ncco == [{"action": "talk", "text": "Hello"}]
    client.hangup(theirs.uuid)
    wait(placed.over.is_set, what="the end")
    assert client.get_call(theirs.uuid).status == "cancelled"
    with pytest.raises(NotFoundError):
        client.hangup("00000000-0000-0000-0000-000000000000")
    mock.calls.clear()

    server = start(make_server, mock)
    call_id = dial(server)
    the_call(mock)
    wanted, ours = mock.asked("POST", "/v1/calls")
    assert json.loads(json.dumps(wanted).replace("ID", call_id)) == ours


def test_bad_webhooks_and_streams_are_refused(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    call = mock.incoming(CALLER, OURS)
    fields, url = call.about(), f"{PUBLIC}/vonage/answer"
    body = compact(fields)
    for headers in (
        {"X-None": "1"},
        {"Authorization": "Basic dTpw"},
        signed(body, secret="another secret of the same length!!"),
        signed(body + " "),
        signed(body, iat=int(time.time()) - 3600),
        signed(body, api_key="other"),
        signed(body, application_id="00000000-0000-0000-0000-000000000000"),
    ):
        status, text = mock.webhook(url, fields, headers)
        assert status == 403 and "Authorization" in text, (status, text)
    for path, bad, field in (
        ("answer", {"from": CALLER}, "uuid"),
        ("answer", {**fields, "uuid": "../x"}, "uuid"),
        ("event", {**fields, "uuid": call.conversation, "status": "ringing"}, "uuid"),
        ("event", fields, "status"),
        ("event", {"status": "ringing"}, "uuid"),
        ("transferred", fields, "status"),
    ):
        status, text = mock.webhook(f"{PUBLIC}/vonage/{path}", bad)
        assert status == 422 and f'"{field}"' in text, (status, text)
    for body in ("", "{", "[]", '{"uuid":"a","uuid":"b"}'):
        status, text = mock.send("POST", url, body.encode(), signed(body))
        assert status == 400 and "invalid_json" in text, (status, text)
    assert not inbound(server)
    # Reports of unknown calls, in any order, change nothing.
    for report in ("completed", "answered", "machine", "ringing", "new"):
        for query in ("", "?call=ob-00000000"):
            assert mock.webhook(f"{PUBLIC}/vonage/event{query}", {**fields, "status": report})[0] == 204
    assert mock.webhook(f"{PUBLIC}/vonage/event", {"reason": "Syntax error", "timestamp": "x"})[0] == 204
    assert mock.webhook(url + "?call=ob-00000000", fields) == (200, "[]")

    def wire(**headers):
        return VonageWire("audio/l16;rate=16000", headers)

    path = "/media/vonage"
    assert refused(mock.port, path, wire(uuid=call.uuid)) == 1008
    assert refused(mock.port, path, wire(uuid=call.uuid, token="x" * 50)) == 1008
    asked = json.loads(mock.webhook(url, fields)[1])
    headers = asked[0]["endpoint"][0]["headers"]
    assert headers["uuid"] == call.uuid and len(json.dumps(headers)) < 512
    other = headers | {"uuid": "00000000-0000-0000-0000-000000000000"}
    assert refused(mock.port, path, wire(**other)) == 1008, "another call's"
    # The same webhook once more: the same call, and another token.
    assert json.loads(mock.webhook(url, fields)[1]) != asked
    wait(lambda: len(inbound(server)) == 1, what="its record")
    for _ in range(2):
        assert mock.webhook(f"{PUBLIC}/vonage/event", {**fields, "status": "completed"})[0] == 204
    assert record(server)["state"] == "failed"
    assert mock.webhook(url, fields) == (200, "[]") and len(inbound(server)) == 1, "after the end nothing begins anew"
    log = (server.folder / "server.log").read_text()
    assert CALLER not in log and SECRET not in log and "Syntax error" not in log
