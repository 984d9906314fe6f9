"""Calls that Exotel brings, places and carries: the URLs of its flow, REST, streams."""

import base64
import json

from conftest import ATTEND, mocks
from mock_exotel import ACCOUNT, APP, WEBHOOK_TOKEN, ExotelWire, MockExotel
from provider_calls import ASKS, inbound, record, refused, start, the_call, wait
from provider_server import PUBLIC

CALLER, OURS, CALLEE = "09876543210", "+918047491899", "+919876501234"
carrier = mocks(MockExotel)


def dial(server):
    return server.create(CALLEE, [ATTEND], caller_number=OURS)


def test_an_outgoing_call_is_placed_as_documented(make_server, carrier):
    mock = carrier()
    call_id = dial(start(make_server, mock))
    the_call(mock)
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


def test_a_refusal_has_its_reason(make_server, carrier):
    mock = carrier()
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
    assert call.applet("stream")[1] != text
    wait(lambda: len(inbound(server)) == 1, what="its record")
    for _ in range(2):
        form = f"CallSid={call.sid}&Status=completed"
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        assert mock.send("POST", url, form, kind)[0] == 200
    assert record(server)["state"] == "failed"
    assert call.applet("stream")[0] == 404 and len(inbound(server)) == 1, "after the end nothing begins anew"
    log = (server.folder / "server.log").read_text()
    assert CALLER not in log and WEBHOOK_TOKEN not in log
