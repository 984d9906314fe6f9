"""Whole conversations of our own engine in every dialect, both ends of them ours: a server streams its SIP leg to
another one, which holds the conversation."""

import base64
import io
import wave

import numpy
import pytest
from conftest import ATTEND, GUESTS

TOKEN = "a-token-of-twenty-characters"
BASIC = {"Authorization": "Basic " + base64.b64encode(f"token:{TOKEN}".encode()).decode()}
# What a call's own stream brings, so that it is let in: the place that the dialect has for a token.
DIALECTS = {
    "twilio": {"parameters": {"token": TOKEN}},
    "telnyx": {"headers": {"x-telnyx-streaming-auth-token": TOKEN}},
    "plivo": {"parameters": {"token": TOKEN}},
    "vonage": {"parameters": {"token": TOKEN}},
    "signalwire": {"headers": {"Authorization": "Bearer " + TOKEN}},
    "exotel": {"headers": BASIC},
    "genesys": {"headers": {"x-api-key": TOKEN}},
    "asterisk": {"query": "?token=" + TOKEN},
    "jambonz": {"headers": BASIC},
}


# Of the recording: the dialect's first format is wider there.
WIDE = {"vonage": 16_000}


@pytest.fixture
def servers(make_server):
    """The one that holds the conversations, and the one with the telephone lines."""
    far = make_server(TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN)
    return far, make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="9")


def place(servers, callee, dialects, persona, questions):
    """A call in each dialect, all at once."""
    far, near = servers
    calls = {}
    for dialect in dialects:
        own = {"dialect": dialect, **DIALECTS[dialect]}
        own["url"] = f"ws://127.0.0.1:{far.http_port}/media/{dialect}" + own.pop("query", "")
        calls[dialect] = near.create(callee(persona).address, questions, stream=own)
    return calls


def ended(servers, dialect, call_id):
    """The record and result of the server that held the conversation, once both have ended it."""
    far, near = servers
    here = near.wait_for(call_id, seconds=100)
    assert here["state"] == "completed" and here["stream_failure"] is None, (dialect, here)
    there, result = far.wait_for(call_id, seconds=10), far.result(call_id)
    assert (there["state"], there["end_reason"]) == ("completed", "task_completed"), (dialect, there, result)
    assert (there["carrier"], there["dialect"]) == ("stream", dialect)
    assert (there["caller_number"], there["callee_number"]) == (here["caller_number"], here["callee_number"])
    return there, result


def recorded(server, result):
    """Samples a second, seconds, and how many of these each of the two is loud."""
    status, data = server.request("GET", result["recording_url"], raw=True)
    assert status == 200
    with wave.open(io.BytesIO(data)) as file:
        assert file.getnchannels() == 2
        rate, sound = file.getframerate(), numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
    return rate, len(sound) / 2 / rate, [(abs(sound[side::2].astype(int)) > 500).sum() / rate for side in (0, 1)]


@pytest.mark.parametrize("dialects", [list(DIALECTS)[at : at + 3] for at in (0, 3, 6)], ids="+".join)
def test_a_conversation_with_a_barge_in(servers, callee, dialects):
    for dialect, call_id in place(servers, callee, dialects, "interrupts", [ATTEND]).items():
        there, result = ended(servers, dialect, call_id)
        assert [answer["value"] for answer in result["answers"]] == [True], (dialect, result)
        cut = next(entry for entry in result["transcript"] if entry.get("interrupted"))
        assert cut["speaker"] == "ai" and len(cut["heard_text"]) < len(cut["text"]), (dialect, cut)
        assert result["latency"]["turns"] >= 2 and result["latency"]["voice_to_voice"]["p50_ms"] > 0, (dialect, result)
        rate, seconds, loud = recorded(servers[0], result)
        assert rate == WIDE.get(dialect, 8_000) and min(loud) > 0.5, (dialect, rate, loud)
        assert abs(seconds - there["duration_seconds"]) < 2, (dialect, seconds, there["duration_seconds"])


def test_answers_by_keypad(servers, callee):
    for dialect, call_id in place(servers, callee, DIALECTS, "keypad", [ATTEND, GUESTS]).items():
        _, result = ended(servers, dialect, call_id)
        assert [(answer["value"], answer["status"]) for answer in result["answers"]] == [
            (True, "answered"),
            (1, "answered"),
        ], (dialect, result)
        graph = servers[0].request("GET", f"/api/outbound/{call_id}/graph")[1]
        frames = {stage["name"]: stage["frames"] for stage in graph["stages"]}
        assert not graph["live"] and frames["receive"] > 100 and frames["pacer"] > 100, (dialect, frames)
