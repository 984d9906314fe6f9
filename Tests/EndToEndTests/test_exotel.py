"""Calls that Exotel brings, places and carries: the URLs of its flow, REST, streams."""

import base64
import json

import pytest
from conftest import ATTEND, mocks
from mock_exotel import ACCOUNT, APP, KEY, TOKEN, WEBHOOK_TOKEN, ExotelWire, MockExotel
from webhook_calls import PUBLIC, refused, talk, wait
from test_twilio_inbound import ASKS, inbound, record, result_of, told

CALLER, OURS, CALLEE = "09876543210", "+918047491899", "+919876501234"
carrier = mocks(MockExotel)


def start(make_server, mock, **settings):
    server = make_server(
        **{
            "TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "exotel",
            "TRUNKLINE_EXOTEL_API_URL": mock.url,
            "EXOTEL_ACCOUNT_SID": ACCOUNT,
            "EXOTEL_API_KEY": KEY,
            "EXOTEL_API_TOKEN": TOKEN,
            "EXOTEL_APP_ID": APP,
            "EXOTEL_WEBHOOK_TOKEN": WEBHOOK_TOKEN,
            "APP_PUBLIC_BASE_URL": PUBLIC,
            **settings,
        }
    )
    mock.port = server.http_port
    return server


def dial(server):
    return server.create(CALLEE, [ATTEND], caller_number=OURS)


def the_call(mock):
    return next(iter(mock.calls.values()))


@pytest.mark.parametrize("rate", [8000, 16000])
def test_an_incoming_call(make_server, carrier, rate):
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_EXOTEL_STREAM_FORMAT=f"l16/{rate}", **ASKS)
    call = mock.incoming(CALLER, OURS)
    thread = call.begin()
    talk(call)
    found = record(server)
    result = result_of(server, found)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.sid), result
    assert (found["caller_number"], found["called_number"]) == (CALLER, OURS)
    assert result["answers"][0]["status"] == "answered" and result["transcript"][0]["interrupted"], result
    assert told(server, found)[:2] == ["inbound_ringing", "inbound_connected"]
    thread.join(10)
    assert call.failure is None and call.over.is_set() and call.stream.wire.rate == rate, call.failure


def test_an_outgoing_call(make_server, carrier):
    mock = carrier(lambda call: call.answer())
    server = start(make_server, mock)
    call_id = dial(server)
    wait(lambda: mock.calls, what="the call")
    call = the_call(mock)
    talk(call, "Yes, I will.")
    found, result = server.wait_for(call_id, seconds=30), server.result(call_id)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.sid), result
    assert result["answers"][0]["value"] is True, result
    assert server.events(call_id)[:3] == ["outbound_queued", "outbound_dialing", "outbound_connected"]
    assert mock.asked("POST", "connect.json") == [
        {
            "From": CALLEE,
            "CallerId": OURS,
            "Url": f"http://my.exotel.com/{ACCOUNT}/exoml/start_voice/{APP}",
            "CallType": "trans",
            "TimeLimit": mock.asked("POST", "connect.json")[0]["TimeLimit"],
            "TimeOut": "30",
            "CustomField": call_id,
            "StatusCallback": f"{PUBLIC}/exotel/status?token={WEBHOOK_TOKEN}&call={call_id}",
            "StatusCallbackContentType": "application/json",
            "StatusCallbackEvents[0]": "answered",
            "StatusCallbackEvents[1]": "terminal",
        }
    ]
    wait(call.over.is_set, what="the end")


@pytest.mark.parametrize("told,state", [("busy", "busy"), ("no-answer", "no_answer"), ("failed", "failed")])
def test_calls_that_are_not_answered(make_server, carrier, told, state):
    mock = carrier(lambda call: call.end(told))
    server = start(make_server, mock)
    assert server.wait_for(dial(server), seconds=10)["state"] == state


def test_lost_reports_lose_no_call_and_a_refusal_has_its_reason(make_server, carrier):
    mock = carrier(lambda call: setattr(call, "status", "busy"))
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    assert server.wait_for(dial(server), seconds=20)["state"] == "busy"
    wrong = start(make_server, mock, EXOTEL_API_TOKEN="another")
    found = wrong.wait_for(dial(wrong), seconds=10)
    assert found["state"] == "failed" and "Authentication failed" in found["failure_reason"], found


def test_bad_webhooks_and_streams_are_refused(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    call = mock.incoming(CALLER, OURS)
    for path in ("stream", "status"):
        for token in (None, "x", WEBHOOK_TOKEN + "x", WEBHOOK_TOKEN.upper()):
            status, text = call.applet(path, token=token)
            assert status == 403 and "token" in text and WEBHOOK_TOKEN not in text, (status, text)
        for bad in ({"CallSid": ""}, {"CallSid": "../x"}):
            status, text = call.applet(path, **bad)
            assert status == 422 and '"CallSid"' in text, (status, text)
    status, text = call.applet("stream", Direction="outbound-dial")
    assert status == 422 and '"CustomField"' in text, "a call of ours is no call that comes in"
    assert call.applet("stream", CustomField="ob-00000000")[0] == 404
    url = f"{PUBLIC}/exotel/status?token={WEBHOOK_TOKEN}"
    assert mock.send("POST", url, "{", {"Content-Type": "application/json"})[0] == 400
    assert not inbound(server)
    # Reports of unknown calls, in any order, change nothing.
    for report in ("completed", "in-progress", "new"):
        body = json.dumps({"CallSid": call.sid, "Status": report})
        assert mock.send("POST", url, body, {"Content-Type": "application/json"})[0] == 200
        assert mock.send("POST", url + "&call=ob-00000000", body, {"Content-Type": "application/json"})[0] == 200
    path = "/media/exotel"
    assert refused(mock.port, path, ExotelWire(call.sid)) == 1008
    assert refused(mock.port, path + "?token=" + "x" * 50, ExotelWire(call.sid)) == 1008
    # The secret may be the password of Basic authentication, too.
    basic = {"Authorization": "Basic " + base64.b64encode(f"exotel:{WEBHOOK_TOKEN}".encode()).decode()}
    status, text = call.applet("stream", token=None, headers=basic)
    assert status == 200, text
    query = json.loads(text)["url"].split("?")[1]
    assert refused(mock.port, f"{path}?{query}", ExotelWire("b6cfaf5f5cef3ca0fc937749ef960e25")) == 1008, "another's"
    # The same webhook once more: the same call, and another token.
    assert call.applet("stream")[1] != text and len(inbound(server)) == 1
    for _ in range(2):
        form = f"CallSid={call.sid}&Status=completed"
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        assert mock.send("POST", url, form, kind)[0] == 200
    assert record(server)["state"] == "failed"
    assert call.applet("stream")[0] == 404 and len(inbound(server)) == 1, "after the end nothing begins anew"
    log = (server.folder / "server.log").read_text()
    assert CALLER not in log and WEBHOOK_TOKEN not in log


def test_an_operator_hangs_up(make_server, carrier):
    mock = carrier(lambda call: call.answer())
    server = start(make_server, mock)
    call_id = dial(server)
    server.wait_for(call_id, {"connected"}, seconds=10)
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] in (200, 202)
    assert server.wait_for(call_id, seconds=10)["end_reason"] == "operator_hangup"
    wait(the_call(mock).over.is_set, what="the end of the stream")
