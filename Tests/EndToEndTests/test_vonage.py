"""Calls that Vonage brings, places and carries: signed webhooks, NCCOs, REST, streams."""

import json
import time

import pytest
import vonage
from conftest import ATTEND, mocks
from mock_vonage import API_KEY, APPLICATION, PRIVATE_KEY, SECRET, MockVonage, VonageWire, compact, signed
from webhook_calls import PUBLIC, refused, talk, wait
from realtime_calls import realtime
from test_twilio_inbound import ASKS, inbound, record, result_of, told
from vonage_http_client import HttpClientOptions
from vonage_http_client.errors import NotFoundError
from vonage_voice.models import CreateCallRequest, Talk

CALLER, OURS, CALLEE = "447700900000", "442079460000", "+821098765432"
carrier = mocks(MockVonage)


def start(make_server, mock, **settings):
    server = make_server(
        **{
            "TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "vonage",
            "TRUNKLINE_VONAGE_API_URL": mock.url,
            "VONAGE_API_KEY": API_KEY,
            "VONAGE_SIGNATURE_SECRET": SECRET,
            "VONAGE_APPLICATION_ID": APPLICATION,
            "VONAGE_PRIVATE_KEY": PRIVATE_KEY,
            "APP_PUBLIC_BASE_URL": PUBLIC,
            **settings,
        }
    )
    mock.port = server.http_port
    return server


def dial(server):
    return server.create(CALLEE, [ATTEND], caller_number="+" + OURS)


def the_call(mock):
    return next(iter(mock.calls.values()))


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


@pytest.mark.parametrize("rate, uses_get", [(16000, False), (8000, True)])
def test_an_incoming_call(make_server, carrier, rate, uses_get):
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_VONAGE_STREAM_FORMAT=f"l16/{rate}", **ASKS)
    call = mock.incoming(CALLER, OURS, uses_get)
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
    assert [len(ncco) for ncco in call.answers] == [1], "nothing follows the stream"


def test_an_outgoing_call_is_what_the_vendors_client_places(make_server, carrier):
    def phone(call):
        call.ring()
        call.answer()

    mock = carrier(lambda call: None)
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
    placed.fields = {}  # nobody is told
    assert client.get_call(theirs.uuid).status == "started"
    client.transfer_call_ncco(theirs.uuid, [Talk(text="Hello")])
    assert placed.next_ncco == [{"action": "talk", "text": "Hello"}]
    client.hangup(theirs.uuid)
    wait(placed.over.is_set, what="the end")
    assert client.get_call(theirs.uuid).status == "cancelled"
    with pytest.raises(NotFoundError):
        client.hangup("00000000-0000-0000-0000-000000000000")
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
    wanted, ours = mock.asked("POST", "/v1/calls")
    assert json.loads(json.dumps(wanted).replace("ID", call_id)) == ours


@pytest.mark.parametrize("goes", ["completed", "timeout", "busy"])
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
    assert call.failure is None, call.failure
    assert call.answers[1] == [
        {
            "action": "connect",
            "endpoint": [{"type": "phone", "number": "15550177"}],
            "from": OURS,
            "timeout": 30,
            "eventType": "synchronous",
            "eventUrl": [f"{PUBLIC}/vonage/transferred?language=en"],
            "eventMethod": "POST",
        }
    ]
    assert any("nobody can take your call" in text for text in call.spoken) == (goes != "completed")
    assert {"action": "hangup"} not in mock.asked("PUT", call.uuid), "the operator's call is not hung up"


@pytest.mark.parametrize(
    "told,state",
    [
        ("busy", "busy"),
        ("timeout", "no_answer"),
        ("unanswered", "no_answer"),
        ("rejected", "rejected"),
        ("failed", "failed"),
    ],
)
def test_calls_that_are_not_answered(make_server, carrier, told, state):
    mock = carrier(lambda call: (call.ring(), call.end(told)))
    server = start(make_server, mock)
    found = server.wait_for(dial(server), seconds=10)
    assert found["state"] == state and len(mock.asked("POST", "/v1/calls")) == 1, found


def test_a_machine_ends_the_call_and_lost_reports_lose_none(make_server, carrier, model):
    def phone(call):
        call.ring()
        call.status = "answered"
        call.detect("machine")  # told before anything was asked

    mock = carrier(phone)
    server = start(make_server, mock, **realtime(model([{"text": "Hello?", "ms": 500}])))
    found = server.wait_for(dial(server), seconds=15)
    assert (found["state"], found["end_reason"], found["answered_by"]) == ("completed", "voicemail", "voicemail"), found
    wait(the_call(mock).over.is_set, what="the hang-up")

    silent = carrier(lambda call: setattr(call, "status", "busy"))
    server = start(make_server, silent, TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    assert server.wait_for(dial(server), seconds=20)["state"] == "busy"


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
    # Reports of calls that nobody knows, in any order, change nothing.
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
    assert json.loads(mock.webhook(url, fields)[1]) != asked and len(inbound(server)) == 1
    for _ in range(2):
        assert mock.webhook(f"{PUBLIC}/vonage/event", {**fields, "status": "completed"})[0] == 204
    assert record(server)["state"] == "failed"
    assert mock.webhook(url, fields) == (200, "[]") and len(inbound(server)) == 1, "after the end nothing begins anew"
    log = (server.folder / "server.log").read_text()
    assert CALLER not in log and SECRET not in log and "Syntax error" not in log


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
