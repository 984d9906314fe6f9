"""A media stream that proves itself by the shared token (bridge.stream_token)."""

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
