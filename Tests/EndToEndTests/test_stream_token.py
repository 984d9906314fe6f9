"""A media stream that proves itself by the shared token (bridge.stream_token)."""

import json
from concurrent.futures import ThreadPoolExecutor

from realtime_calls import realtime, stream

TOKEN = "a-token-of-twenty-characters"


def inbound(server):
    return server.request("GET", "/api/inbound/")[1]["items"]


def test_a_stream_with_the_shared_token_is_a_call_that_comes_in(make_server, model):
    """A carrier without webhooks: its parameters say who calls whom, and `inbound` what the AI does. A brief is another
    Trunkline's, and one that cannot be read lets nobody in."""
    mock = model([{"text": "Good morning.", "ms": 600}] * 3)
    settings = {"TRUNKLINE_BRIDGE_OPEN_STREAMS": "false", "TRUNKLINE_BRIDGE_STREAM_TOKEN": TOKEN}
    server = make_server(
        **realtime(mock, **settings, TRUNKLINE_INBOUND_NUMBERS="+15550199", TRUNKLINE_INBOUND_PURPOSE="Take orders.")
    )
    numbers = {"from": "+15550100", "to": "+15550199"}
    for parameters in (
        numbers,
        numbers | {"token": "x" * 30},
        numbers | {"token": TOKEN, "brief": "{"},
        numbers | {"token": TOKEN, "to": "+15550198"},
    ):
        refused = stream(server, parameters=parameters)
        refused.wait(lambda: not refused.open, what="the refusal")
        assert refused.close_code == 1008 and mock.sessions == 0, parameters
    for count in (1, 2):  # a call may bring a stream again
        carrier = stream(server, call_sid="CA5", parameters=numbers | {"token": TOKEN})
        carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
        carrier.hang_up()
        carrier.wait(lambda: [call["state"] for call in inbound(server)] == ["completed"] * count, what="the end")
    call = server.request("GET", f"/api/inbound/{inbound(server)[0]['inbound_id']}")[1]
    assert (call["caller_number"], call["called_number"], call["call_id"]) == ("+15550100", "+15550199", "CA5")
    assert (call["carrier"], call["dialect"], call["purpose"]) == ("stream", "twilio", "Take orders.")
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_another_trunklines_call_is_the_same_call_here(make_server, model):
    """Its brief says what the AI does, and its id which way the call goes."""
    mock = model([{"text": "Good morning.", "ms": 600}] * 3)
    server = make_server(**realtime(mock, TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN))
    question = {"id": "q1", "text": "When?", "kind": "text", "choices": [], "isRequired": True}
    brief = {"purpose": "p", "callerDisplayName": "", "questions": [question], "language": "en", "maxTurns": 20}
    told = {"token": TOKEN, "from": "+15550100", "to": "+15550199", "brief": json.dumps(brief)}
    for ids, way in (
        ({"outbound_id": "ob-0a1b2c3d"}, "outbound"),
        ({"inbound_id": "in-0a1b2c3d"}, "inbound"),
        ({}, "inbound"),
        ({"outbound_id": "in-00000001", "inbound_id": "../x"}, "inbound"),
    ):
        before = server.request("GET", f"/api/{way}/")[1]["total"]
        carrier = stream(server, parameters=told | ids)
        carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
        carrier.hang_up()
        found = server.request("GET", f"/api/{way}/")[1]
        assert found["total"] == before + 1, (ids, found)
        call = server.wait_for(found["items"][0][f"{way}_id"], seconds=10)
        assert call[f"{way}_id"] in ids.values() or len(ids) != 1, call
        other = "callee_number" if way == "outbound" else "called_number"
        assert (call["caller_number"], call[other], call["purpose"]) == ("+15550100", "+15550199", "p"), call


def test_an_id_that_is_known_here_is_not_taken_again(make_server, model):
    """A call that is dialled twice comes twice: the second one's record, transcript and recording are its own."""
    mock = model([{"text": "Good morning.", "ms": 600}, {"text": "Good evening.", "ms": 600}])
    server = make_server(**realtime(mock, TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN))
    brief = {"purpose": "p", "callerDisplayName": "", "questions": [], "language": "en", "maxTurns": 20}
    brief["questions"] = [{"id": "q1", "text": "When?", "kind": "text", "choices": [], "isRequired": True}]
    told = {"token": TOKEN, "brief": json.dumps(brief), "outbound_id": "ob-0a1b2c3d"}
    ids = []
    for text in ("Good morning.", "Good evening."):
        carrier = stream(server, parameters=told)
        carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
        carrier.hang_up()
        carrier.wait(lambda: len(server.request("GET", "/api/outbound/")[1]["items"]) > len(ids), what="the record")
        new = [call["outbound_id"] for call in server.request("GET", "/api/outbound/")[1]["items"]]
        ids += [call_id for call_id in new if call_id not in ids]
        server.wait_for(ids[-1], seconds=10)
        assert [entry["text"] for entry in server.result(ids[-1])["transcript"]] == [text], ids
    assert len(ids) == 2 and ids[0] == "ob-0a1b2c3d"
    assert [entry["text"] for entry in server.result(ids[0])["transcript"]] == ["Good morning."]


def test_an_id_that_several_streams_tell_at_one_time_is_taken_once(make_server, model):
    mock = model([{"text": "Good morning.", "ms": 600}] * 10)
    server = make_server(**realtime(mock, TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN))
    question = {"id": "q1", "text": "When?", "kind": "text", "choices": [], "isRequired": True}
    brief = {"purpose": "p", "callerDisplayName": "", "questions": [question], "language": "en", "maxTurns": 20}
    told = {"token": TOKEN, "brief": json.dumps(brief), "outbound_id": "ob-0a1b2c3d"}
    with ThreadPoolExecutor(10) as threads:
        carriers = list(threads.map(lambda _: stream(server, parameters=told), range(10)))
    carriers[0].wait(lambda: server.request("GET", "/api/outbound/")[1]["total"] == 10, what="ten records")
    for carrier in carriers:
        carrier.hang_up()
    assert server.wait_for("ob-0a1b2c3d", seconds=10)["state"] == "completed"
