"""Calls by open media streams with a speech model: the settings, the stream, and what came of the call."""

import io
import time
import wave

import numpy
from carrier import Carrier
from conftest import call_path


def realtime(model, **more):
    return {
        "TRUNKLINE_AGENT_MODE": "realtime",
        "TRUNKLINE_REALTIME_OPENAI_URL": model.url,
        "TRUNKLINE_AGENT_FALLBACK": "false",
        "TRUNKLINE_BRIDGE_OPEN_STREAMS": "true",
        "OPENAI_API_KEY": "sk-of-this-test",
        **more,
    }


def stream(server, **options):
    return Carrier(f"ws://127.0.0.1:{server.http_port}/media/twilio", **options)


def the_call(server, seconds=10, wanted=lambda call: True):
    deadline = time.time() + seconds
    while time.time() < deadline:
        items = server.request("GET", "/api/inbound/")[1]["items"]
        if items and wanted(items[0]):
            return items[0]["inbound_id"]
        time.sleep(0.05)
    raise AssertionError("there is no such call")


def ended(server, seconds=10):
    return the_call(server, seconds, lambda call: call["state"] in ("completed", "failed"))


def sound_of_the_ai(server, call_id, span=None):
    """Milliseconds of the AI's sound in the recording, in a span of it (seconds)."""
    data = server.request("GET", f"{call_path(call_id)}/recording", raw=True)[1]
    with wave.open(io.BytesIO(data)) as file:
        right = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").reshape(-1, 2)[:, 1]
    if span:
        right = right[int(span[0] * 8000) : int(span[1] * 8000)]
    # A tone crosses zero: gaps of up to two milliseconds are filled, and what that adds at both ends of a sound is
    # taken off.
    loud = numpy.convolve(numpy.abs(right.astype(float)) > 100, numpy.ones(17), "same") > 0
    sounds = numpy.count_nonzero(numpy.diff(loud.astype(int)) == 1) + int(loud[0])
    return (loud.sum() - 16 * sounds) / 8
