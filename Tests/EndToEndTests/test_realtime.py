"""Speech to speech: a provider's media stream or a SIP leg on one side, a realtime model on the other."""

import json
import time

import numpy
import pytest
from conftest import ATTEND, call_path
from mock_realtime import LINEAR
from realtime_calls import ended, realtime, sound_of_the_ai, stream, the_call


def test_a_sip_call_with_a_speech_model(make_server, callee, model, allowed):
    mock = model(
        [
            {"text": "Hello, this is Riverside Restaurant. Will you attend?", "ms": 2000},
            {
                "text": "",
                "tools": [
                    (
                        "report_task_state",
                        {
                            "questions": [
                                {
                                    "id": "q1",
                                    "status": "answered",
                                    "answer": "Yes, I will be there.",
                                    "value": True,
                                    "confidence": 0.9,
                                }
                            ]
                        },
                    )
                ],
            },
            {"text": "Thank you, goodbye.", "ms": 1000, "tools": [("end_call", {"reason": "task_completed"})]},
        ],
        ["Yes, I will be there."],
    )
    server = make_server(**realtime(mock))
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "task_completed", "human"), call
    answer = result["answers"][0]
    assert (answer["status"], answer["value"], answer["confidence"]) == ("answered", True, 0.9)
    assert [(entry["speaker"], entry["text"]) for entry in result["transcript"]] == [
        ("ai", "Hello, this is Riverside Restaurant. Will you attend?"),
        ("customer", "Yes, I will be there."),
        ("ai", "Thank you, goodbye."),
    ]
    evidence = answer["evidence"]
    said = result["transcript"][evidence["turn"]]
    assert said["speaker"] == "customer" and abs(said["timestamp"] * 1000 - evidence["start_ms"]) < 2
    # The goodbye was drained to its last sample before the hang-up.
    assert sound_of_the_ai(server, call_id) == pytest.approx(3000, abs=1000 * allowed(0.04))
    assert result["latency"]["turns"] == 1 and 400 <= result["latency"]["voice_to_voice"]["p50_ms"] < 1000 * allowed(2)
    path, headers = mock.headers[0]
    assert (
        path.endswith("?model=gpt-realtime")
        and headers["Authorization"] == "Bearer sk-of-this-test"
        and "OpenAI-Beta" not in headers
    )
    session = mock.messages("session.update")[0]["session"]
    assert session["audio"]["input"]["format"] == session["audio"]["output"]["format"] == {"type": "audio/pcmu"}
    assert {tool["name"] for tool in session["tools"]} == {
        "report_task_state",
        "end_call",
        "send_dtmf",
    } and ATTEND in session["instructions"]
    assert mock.clashes == 0 and len(mock.messages("conversation.item.create")) == 2


def test_an_interrupted_turn_ends_with_the_words_that_were_heard(make_server, model, allowed):
    """What the carrier played, what the model is told was heard, the transcript and the recording agree: within 40 ms,
    and as long as the machine stood still, for two clocks are compared. Where the carrier had nothing to play for a
    moment, they may differ by as much. RealtimeCallTests has ten in virtual time."""
    points = [240, 610, 1300, 2000]
    mock = model(
        [{"text": " ".join(f"word{n}" for n in range(30)), "ms": 3000} for _ in points], ["stop it"] * len(points)
    )
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_SPEAKS_FIRST="false"))
    carrier = stream(server)
    carrier.wait(lambda: mock.messages("session.update"))
    carrier.say(600)
    played, dry = [], []
    for index, point in enumerate(points):
        begun = len(carrier.play_log)
        carrier.wait(lambda: len(carrier.play_log) * 20 - begun * 20 >= point, what=f"{point} ms of reply {index}")
        clears = len(carrier.clears)
        carrier.say(600)
        carrier.wait(lambda: len(carrier.clears) > clears, what="clear")
        time.sleep(0.15)
        ticks = carrier.play_ticks[begun:]
        played.append(len(ticks) * 20)
        dry.append((ticks[-1] - ticks[0] + 1) * 20 - played[-1])
        carrier.wait(lambda: len(mock.truncated) > index, what="truncate")
        if index == len(points) - 1:
            break
        carrier.wait(lambda: mock.responses > index + 1, what="the next response")
    time.sleep(0.5)
    carrier.hang_up()
    call_id = ended(server)
    result = server.result(call_id)
    cut = [entry for entry in result["transcript"] if entry["speaker"] == "ai" and entry["interrupted"]]
    assert len(cut) == len(points) and result["interruptions"] == len(points)
    for truncated, heard, gaps, entry in zip(mock.truncated, played, dry, cut, strict=True):
        told = (entry["end"] - entry["timestamp"]) * 1000
        recorded = sound_of_the_ai(server, call_id, (entry["timestamp"] - 0.05, entry["end"] + 0.3))
        figures, near = (truncated, heard, gaps, told, recorded), 1000 * allowed(0.04)
        assert abs(truncated - recorded) <= near, figures
        # A gap is the server's, which knows it, or that of a carrier which reads late.
        assert truncated - near <= told <= truncated + gaps + near, figures
        assert truncated - gaps - near <= heard <= truncated + near, figures
        assert entry["text"].startswith(entry["heard_text"]) and entry["heard_text_source"] == "estimate"
        assert len(entry["heard_text"].split()) == pytest.approx(truncated / 100, abs=1.5)


def test_a_backchannel_does_not_interrupt_the_sentence(make_server, model, allowed):
    mock = model(
        [{"text": "A sentence that goes on for three whole seconds.", "ms": 3000}, {"text": "What?", "ms": 500}],
        ["hello", "mm-hm"],
    )
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_SPEAKS_FIRST="false"))
    carrier = stream(server)
    carrier.wait(lambda: mock.messages("session.update"))
    carrier.say(600)
    carrier.wait(lambda: carrier.played_ms() >= 800)
    carrier.say(160)  # over our sentence, and over at once
    carrier.wait(lambda: carrier.clears, what="the pause")
    carrier.wait(lambda: carrier.played_ms() >= 2940, what="the rest of the sentence")
    time.sleep(0.8)
    # Where it stopped over there is known to 40 ms. The model answered the sound; that answer is not played, and it is
    # told to stop.
    assert abs(carrier.played_ms() - 3000) <= 1000 * allowed(0.04) and mock.truncated == []
    carrier.hang_up()
    result = server.result(ended(server))
    ai = [entry for entry in result["transcript"] if entry["speaker"] == "ai"]
    assert [(entry["text"], entry["interrupted"]) for entry in ai] == [
        ("A sentence that goes on for three whole seconds.", False)
    ]
    assert result["interruptions"] == 0


def test_a_model_connection_lost_during_a_call_is_opened_again(make_server, model):
    mock = model(
        [{"text": "Good morning.", "ms": 600}, {"text": "I am back.", "ms": 600}],
        ["hello", "hello again"],
        die_after=2.5,
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.wait(lambda: mock.sessions == 2, what="a second session")
    carrier.say(600)
    carrier.wait(lambda: carrier.played_ms() >= 1160, what="the answer")
    carrier.hang_up()
    call_id = ended(server)
    assert [entry["text"] for entry in server.result(call_id)["transcript"]] == ["Good morning.", "hello", "I am back."]
    # The second session knows what was said before.
    texts = [
        part["text"] for item in mock.messages("conversation.item.create") for part in item["item"].get("content", [])
    ]
    assert texts == ["Good morning."]


def test_a_session_is_replaced_before_its_limit_without_a_gap(make_server, model, allowed):
    """In a quiet moment; what is said while the next one is opened is heard, and nothing is said twice."""
    mock = model(
        [{"text": "Good morning, this takes a little while.", "ms": 2000}, {"text": "Still the same call.", "ms": 600}],
        ["hello"],
    )
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_OPENAI_SESSION_LIMIT="1"))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 1980, what="the greeting")
    assert mock.sessions == 1, "not while we speak"
    carrier.say(600)
    carrier.wait(lambda: mock.sessions >= 2, what="the session that takes over")
    carrier.wait(lambda: carrier.played_ms() >= 2580, what="the answer")
    # The greeting came without a hole: its two seconds took two, and as long as the machine stood still.
    assert (carrier.play_ticks[99] - carrier.play_ticks[0]) * 0.02 <= 99 * 0.02 + allowed(0.1)
    carrier.wait(lambda: mock.messages("conversation.item.create"), what="the next session is told what was said")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == [
        "Good morning, this takes a little while.",
        "hello",
        "Still the same call.",
    ]
    assert mock.clashes == 0
    texts = [
        part["text"] for item in mock.messages("conversation.item.create") for part in item["item"].get("content", [])
    ]
    assert texts[0] == "Good morning, this takes a little while.", "the next session knows what was said"


@pytest.mark.parametrize("way,kind", [("semantic", "semantic_vad"), ("manual", None)])
def test_other_ways_to_find_a_turns_end(make_server, model, way, kind):
    """The model's semantic detector; or our own, which commits the turn and asks for the response."""
    mock = model([{"text": "Good morning.", "ms": 600}, {"text": "Indeed.", "ms": 600}], ["hello"])
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_OPENAI_TURN_DETECTION=way))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.say(800)
    carrier.wait(lambda: carrier.played_ms() >= 1180, what="the answer")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == [
        "Good morning.",
        "hello",
        "Indeed.",
    ]
    detection = mock.messages("session.update")[0]["session"]["audio"]["input"]["turn_detection"]
    assert (detection and detection["type"]) == kind
    assert len(mock.messages("input_audio_buffer.commit")) == (1 if way == "manual" else 0) and mock.clashes == 0


@pytest.mark.parametrize(
    "trouble", [{"reject": 401}, {"script": [{"stall": True}] * 9}, {"script": [{"fail": "server_error"}] * 9}]
)
def test_an_unavailable_model_ends_the_call_with_a_reason(make_server, model, trouble):
    mock = model(**trouble)
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_RESPONSE_TIMEOUT_MS="1000"))
    carrier = stream(server)
    call_id = ended(server, seconds=30)
    call = server.call(call_id)
    assert (
        call["end_reason"] == "provider_error" and call["state"] == "failed" and "openai" in call["failure_reason"]
    ), call
    carrier.wait(lambda: not carrier.open, what="the end of the stream")
    assert "sk-of-this-test" not in (server.folder / "server.log").read_text()


def test_the_embedded_engines_replace_an_unavailable_model(make_server, callee, model):
    """Without the model the embedded engines hold the conversation."""
    mock = model(reject=503)
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_FALLBACK="true"))
    call_id = server.create(callee("cooperative").address, [ATTEND])
    call = server.wait_for(call_id, seconds=60)
    assert call["end_reason"] == "task_completed" and server.result(call_id)["answers"][0]["value"] is True, call


def test_invalid_messages_of_a_model_do_no_harm(make_server, model):
    mock = model(
        [{"text": "All is well.", "ms": 600, "tools": [("no_such_tool", {}), ("report_task_state", {"questions": 7})]}],
        garbage=True,
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == ["All is well."]
    outputs = [
        json.loads(item["item"]["output"])
        for item in mock.messages("conversation.item.create")
        if item["item"]["type"] == "function_call_output"
    ]
    assert outputs[0] == {"error": "there is no such tool"}


def test_keys_reach_the_model(make_server, model):
    mock = model(
        [{"text": "Press a key, please, whenever you like to.", "ms": 2500}, {"text": "Thank you.", "ms": 400}]
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 500)
    carrier.press("7")
    carrier.wait(lambda: carrier.clears, what="silence")
    carrier.wait(lambda: carrier.play_log and mock.responses == 2, what="the answer")
    time.sleep(0.6)
    carrier.hang_up()
    entries = [(entry["speaker"], entry["text"]) for entry in server.result(ended(server))["transcript"]]
    assert ("customer", "[7]") in entries and entries[-1] == ("ai", "Thank you.")
    assert "pressed the key 7" in json.dumps(mock.messages("conversation.item.create"))


def test_a_dead_carrier_and_a_hang_up_end_the_call(make_server, model):
    mock = model([{"text": "Good morning.", "ms": 600}] * 2)
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_MEDIA_TIMEOUT_MS="1000"))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580)
    with carrier.lock:  # it says nothing more, and does not hang up
        call = server.call(ended(server))
    assert (call["state"], call["end_reason"]) == ("failed", "media_timeout")
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 200)
    call_id = the_call(server, wanted=lambda call: call["state"] == "connected")
    assert server.request("POST", f"{call_path(call_id)}/hangup", "{}")[0] in (200, 202)
    carrier.wait(lambda: not carrier.open, what="the end of the stream")
    assert server.wait_for(call_id)["end_reason"] == "operator_hangup"


BAD = [
    "",
    "{",
    "[]",
    '{"event":7}',
    '{"event":"media"}',
    '{"event":"media","streamSid":"MZ1","media":{"payload":"!!!!"}}',
    '{"event":"media","streamSid":"MZ2","media":{"payload":"AAAA"}}',
    '{"event":"media","streamSid":"MZ1","media":{"payload":"' + "A" * 60_000 + '"}}',
    '{"event":"mark","mark":{}}',
    '{"event":"start","streamSid":"MZ1","start":{}}',
    '{"event":"of-a-later-version"}',
    b"\x00binary",
]


def test_bad_messages_disturb_no_other_call(make_server, model):
    mock = model([{"text": "Good morning.", "ms": 2000}] * 2)
    server = make_server(**realtime(mock))
    good, bad = stream(server, call_sid="CA1"), stream(server, call_sid="CA2")
    good.wait(lambda: good.played_ms() >= 200 and bad.played_ms() >= 200)
    for message in BAD:
        bad.socket.send(message)
    bad.wait(lambda: bad.played_ms() >= 1980, what="the rest, in spite of it all")
    # One after the other: what is sent when the server has closed already would reset the connection, and its code with
    # it.
    for message in BAD * 5:
        if not bad.open:
            break
        bad.socket.send(message)
        time.sleep(0.02)
    bad.wait(lambda: not bad.open, what="the end of a stream that talks nonsense")
    assert bad.close_code == 1003
    with pytest.raises(Exception):
        huge = stream(server, call_sid="CA3")
        huge.socket.send("x" * 1_000_000)
        huge.wait(lambda: not huge.open)
        assert huge.close_code == 1009
        raise RuntimeError("closed")
    good.wait(lambda: good.played_ms() == 2000)
    good.hang_up()


def test_linear_pcm_goes_both_ways(make_server, model, allowed):
    """24 kHz to and from the model: what the caller hears is as long and as clean."""
    mock = model([{"text": "Good morning.", "ms": 1000}, {"text": "Yes.", "ms": 400}], ["hello"])
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_OPENAI_FORMAT="pcm"))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 980, what="the greeting")
    sound = numpy.array([LINEAR[byte] for _, frame in carrier.play_log for byte in frame], dtype=float)
    spectrum = numpy.abs(numpy.fft.rfft(sound[800:7200] * numpy.hanning(6400)))
    assert abs(spectrum.argmax() * 8000 / 6400 - 500) < 5, "a 500 Hz tone is a 500 Hz tone"
    carrier.say(600)
    carrier.wait(lambda: mock.responses == 2, what="the model to hear the caller")
    carrier.hang_up()
    assert mock.messages("session.update")[0]["session"]["audio"]["input"]["format"] == {
        "type": "audio/pcm",
        "rate": 24000,
    }
    assert sound_of_the_ai(server, ended(server)) == pytest.approx(
        1000 + 20 * (len(carrier.play_log) - 50), abs=1000 * allowed(0.08)
    )
