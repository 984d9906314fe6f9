"""Calls that a provider brings or places, whichever it is: what is set, what is said, and what must come of it."""

import threading
import time

from provider_server import PUBLIC
from spoken_words import spoken
from wires import WireStream

CALLER, OURS = "+821098765432", "+15550199"
ASKS = {
    "TRUNKLINE_INBOUND_QUESTIONS": "Shall we call you back?",
    "TRUNKLINE_INBOUND_GREETING_TEMPLATE": "Riverside Restaurant, good day.",
    "TRUNKLINE_INBOUND_PURPOSE": "You take reservations.",
    # More than the second of silence that a test takes for the end of a sentence.
    "TRUNKLINE_AGENT_SILENCE_PROMPT_MS": "3000",
}


def through(mock, **more):
    usual = {"TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": mock.name, "APP_PUBLIC_BASE_URL": PUBLIC}
    return {**usual, **mock.settings(), **more}


def start(make_server, mock, **settings):
    """A server that places its calls by this provider, and takes those that it brings."""
    server = make_server(**through(mock, **settings))
    mock.port = server.http_port
    return server


def the_call(mock):
    """The first one that was placed or has come in."""
    wait(lambda: mock.calls, what="the call")
    return next(iter(mock.calls.values()))


def inbound(server):
    return server.request("GET", "/api/inbound/")[1]["items"]


def record(server, states=("completed", "failed"), seconds=30):
    """The newest call that came in, once it is in one of the states."""
    deadline = time.time() + seconds
    while time.time() < deadline:
        items = inbound(server)
        if items and items[0]["state"] in states:
            return server.request("GET", f"/api/inbound/{items[0]['inbound_id']}")[1]
        time.sleep(0.05)
    raise AssertionError((inbound(server), server.request("GET", "/api/outbound/")[1]["items"]))


def told(server, call):
    return [event["event"] for event in server.request("GET", f"/api/inbound/{call['inbound_id']}/events")[1]["items"]]


def result_of(server, call):
    return server.request("GET", f"/api/inbound/{call['inbound_id']}/result")[1]


def begin(call, action=None):
    """The call, in a thread of its own."""
    thread = threading.Thread(target=action or call.answer, daemon=True)
    thread.start()
    return thread


def wait(condition, seconds=15, what="it"):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, f"{what} did not happen"
        time.sleep(0.02)


def interrupt_and_answer(stream):
    """Talks while the greeting is played, is asked again, and answers."""
    stream.wait(lambda: stream.played_ms() > 600, what="the greeting")
    stream.say(600)
    stream.wait(lambda: stream.clears, what="silence")
    at = stream.clears[0] + 0.5
    stream.wait(lambda: stream.played_ms(at) > 400 and stream.is_quiet(1), 20, "the question, asked again")
    stream.say_file(spoken("Yes, please.", stream.rate))


def check_interrupted_call(server, call_sid):
    """The record of such a call: whose it is, what was said, heard and answered."""
    call = record(server)
    result = result_of(server, call)
    assert (call["state"], call["end_reason"], call["call_id"]) == ("completed", "task_completed", call_sid), (
        call,
        result,
    )
    assert (call["caller_number"], call["called_number"], call["purpose"]) == (CALLER, OURS, "You take reservations.")
    entries = result["transcript"]
    assert entries[0]["speaker"] == "ai" and entries[0]["interrupted"] is True, entries
    assert entries[-1]["speaker"] == "ai" and not entries[-1].get("interrupted"), "the goodbye was heard to its end"
    assert [(answer["question_text"], answer["status"]) for answer in result["answers"]] == [
        ("Shall we call you back?", "answered")
    ], result
    assert "es" in result["answers"][0]["answer_text"], result["answers"]
    names = told(server, call)
    assert names[:2] == ["inbound_ringing", "inbound_connected"] and names[-1] == "inbound_completed", names
    assert server.request("GET", result["recording_url"], raw=True)[0] == 200
    assert inbound(server)[0]["caller_number"] == "+82****5432" and len(inbound(server)) == 1
    return call


def talk(call, words="Yes, please."):
    """Interrupts the first sentence, and then answers whenever it is quiet."""
    wait(lambda: call.failure or call.stream and call.stream.played_ms() > 700, what="the greeting")
    assert call.failure is None, call.failure
    call.stream.say(words)
    wait(lambda: call.stream.clears, what="the barge-in")
    for _ in range(6):
        wait(lambda: not call.stream.open or call.stream.is_quiet(1.5), 40, "a pause")
        if not call.stream.open:
            return
        call.stream.say(words)


def refused(port, path, wire, headers=None):
    """The close code of a stream that is not let in."""
    stream = WireStream(f"ws://127.0.0.1:{port}{path}", wire, headers)
    wait(lambda: not stream.open, what="the refusal")
    return stream.close_code
