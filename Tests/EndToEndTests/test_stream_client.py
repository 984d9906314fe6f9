"""A SIP leg that is streamed to another server (bridge.stream_url, or a call's own stream)."""

import socket
import time

import pytest
from conftest import ATTEND, GUESTS
from phones import seconds_of
from sip_phone import SIPPhone


@pytest.fixture
def sip_phone():
    phone = SIPPhone()
    yield phone
    phone.close()


@pytest.fixture
def pipecat():
    from pipecat_server import PipecatServer

    running = []

    def start(dialect, rate=None):
        running.append(PipecatServer(dialect, rate))
        return running[-1]

    yield start
    for one in running:
        one.stop()


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "dialect, rate",
    [
        ("twilio", None),
        ("signalwire", None),
        ("telnyx", None),
        ("plivo", None),
        ("exotel", None),
        ("exotel", 16_000),
        ("vonage", None),
        ("vonage", 24_000),
        ("genesys", None),
    ],
)
def test_a_call_is_held_by_pipecat(make_server, sip_phone, pipecat, dialect, rate):
    agent = pipecat(dialect, rate)
    server = make_server(
        TRUNKLINE_BRIDGE_STREAM_URL=agent.url,
        TRUNKLINE_BRIDGE_STREAM_DIALECT=dialect,
        TRUNKLINE_BRIDGE_STREAM_FORMAT=rate and f"l16/{rate}",
        TRUNKLINE_BRIDGE_STREAM_TOKEN="a-token-of-twenty-characters",
    )
    call_id = server.create(sip_phone.address)
    assert agent.opened.wait(10), (agent.errors, server.log_end())
    if dialect in ("twilio", "telnyx", "plivo", "exotel"):
        assert agent.detected == dialect and agent.call.stream_id and agent.call.call_id
    if dialect in ("telnyx", "exotel"):
        assert agent.call.from_number == "025550100" and agent.call.to_number == sip_phone.address
    # The caller's sound and keys, as pipecat decodes them.
    sip_phone.say = 600
    time.sleep(2)
    sip_phone.say = None
    sip_phone.press("5")
    sip_phone.press("#")
    wait_until(lambda: len(agent.digits) == 2)
    assert agent.digits == ["5", "#"]
    assert seconds_of(agent.heard()[::2], 600) >= 1.2
    # What pipecat encodes, as the caller hears it, and its interruption.
    before = len(sip_phone.packets)
    agent.speak(900, 2)
    wait_until(lambda: seconds_of(sip_phone.heard(), 900) >= 1.4)
    time.sleep(1)
    agent.speak(900, 8)
    time.sleep(1)
    agent.interrupt()
    time.sleep(1.5)
    assert 1.4 < seconds_of(sip_phone.heard()[before * 160 :], 900) < 4.5
    assert abs(sip_phone.heard()[-4_000:]).max() < 300, "what was cleared is heard"
    # It ends the call.
    agent.finish()
    call = server.wait_for(call_id, seconds=10)
    assert call["state"] == "completed" and call["failure_reason"] is None, (call, server.log_end())
    assert sip_phone.over.wait(5) and not agent.errors, agent.errors
    assert "outbound_stream_connected" in server.events(call_id)


def test_a_call_brings_its_own_stream(make_server, sip_phone, pipecat):
    agent = pipecat("twilio")
    server = make_server(TRUNKLINE_BRIDGE_STREAM_TOKEN="a-token-of-twenty-characters")
    own = {
        "url": agent.url + "?v=1",
        "dialect": "twilio",
        "headers": {"Authorization": "Bearer of-this-call"},
        "parameters": {"customer": "7"},
    }
    call_id = server.create(sip_phone.address, stream=own)
    assert agent.opened.wait(10), server.log_end()
    assert agent.headers["authorization"] == "Bearer of-this-call"
    assert agent.headers["sec-websocket-protocol"] == "audio.twilio.com"
    assert agent.call.body["customer"] == "7" and agent.call.body["outbound_id"] == call_id
    assert "token" not in agent.call.body
    agent.finish()
    call = server.wait_for(call_id, seconds=10)
    assert call["state"] == "completed"
    assert call["stream"] == {
        "url": agent.url,
        "dialect": "twilio",
        "headers": ["Authorization"],
        "parameters": ["customer"],
    }
    assert "of-this-call" not in str(call)


def test_our_own_agent_takes_the_call_of_a_server_that_is_gone(make_server, callee):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        server = make_server(
            TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{closed.getsockname()[1]}/x",
            TRUNKLINE_BRIDGE_FALLBACK="agent",
        )
        call_id = server.create(callee("cooperative").address, [ATTEND, GUESTS])
        call = server.wait_for(call_id)
    assert call["state"] == "completed" and call["end_reason"] == "task_completed", call
    assert [answer["value"] for answer in server.result(call_id)["answers"]] == [True, 4]
    assert "cannot be reached" in call["stream_failure"] and call["failure_reason"] is None
    failed = next(
        event
        for event in server.request("GET", f"/api/outbound/{call_id}/events")[1]["items"]
        if event["event"] == "outbound_stream_failed"
    )
    assert failed["code"] == "stream_not_reached" and failed["fallback"] == "agent"


def test_the_caller_is_told_of_a_server_that_refuses(make_server, sip_phone):
    """Another Trunkline, which knows no token of ours."""
    other = make_server()
    server = make_server(
        TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{other.http_port}/media/twilio",
        TRUNKLINE_BRIDGE_FAILURE_MESSAGE="We are sorry. Please call again later.",
    )
    call_id = server.create(sip_phone.address)
    call = server.wait_for(call_id, seconds=20)
    assert call["state"] == "failed" and call["end_reason"] == "provider_error", call
    assert call["failure_reason"] == call["stream_failure"] and "refused the upgrade with 404" in call["stream_failure"]
    loud = (abs(sip_phone.heard()) > 600).sum() / 8_000
    assert loud > 0.5 and sip_phone.over.wait(5), "the message was not heard"


def test_a_server_that_never_answers_is_given_up(make_server, sip_phone, allowed):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = make_server(TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{silent.getsockname()[1]}/x")
        call_id = server.create(sip_phone.address)
        assert sip_phone.answered.wait(10)
        begun = time.monotonic()
        assert sip_phone.over.wait(15)
        took = time.monotonic() - begun
    assert 4.5 < took < allowed(6.5)
    assert "did not answer within 5 s" in server.wait_for(call_id)["stream_failure"]
