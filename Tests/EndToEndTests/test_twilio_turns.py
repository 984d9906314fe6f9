"""Calls through Twilio by turns, without a media stream: the caller is recorded and hears files."""

import io
import time
import wave
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlsplit

import pytest
from conftest import ATTEND, GUESTS, mocks
from mock_twilio import ACCOUNT, MockTwilio
from twilio.twiml.voice_response import Play, Record, VoiceResponse
from spoken_words import spoken
from provider_calls import start, the_call
from twilio_calls import dial

carrier = mocks(MockTwilio)


def test_a_call_is_held_by_turns(make_server, carrier):
    """No streams: each of our turns is played from a file, each of the callee's is recorded. The callee is silent at
    first, and then answers."""

    def phone(call):
        call.answers = [None, spoken("Yes, I will."), "4"]
        call.ring()
        call.answer()

    mock = carrier(phone)
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE="turns")
    call_id = dial(server, questions=[ATTEND, GUESTS])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    phone_call = the_call(mock)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), (call, result, phone_call.twiml)
    assert [answer["status"] for answer in result["answers"]] == ["answered", "answered"] and result["answers"][0][
        "value"
    ] is True
    assert result["answers"][1]["value"] == 4
    speakers = [entry["speaker"] for entry in result["transcript"]]
    assert speakers.count("customer") == 2 and speakers[0] == speakers[-1] == "ai", result["transcript"]
    evidence = result["answers"][0]["evidence"]
    assert result["transcript"][evidence["turn"]]["speaker"] == "customer" and evidence["end_ms"] > evidence["start_ms"]
    data = server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)[1]
    with wave.open(io.BytesIO(data)) as file:
        seconds = file.getnframes() / 8000
    assert seconds >= sum(phone_call.played), "the recording holds every turn"
    # The first TwiML, by Twilio's own package.
    wanted, first = VoiceResponse(), ElementTree.fromstring(phone_call.twiml[0])
    next_url = first.find("Record").get("action")
    wanted.append(Play(first.find("Play").text))
    wanted.append(Record(action=next_url, method="POST", timeout=2, max_length=30, play_beep=False, trim="do-not-trim"))
    wanted.redirect(next_url, method="POST")
    assert ElementTree.canonicalize(phone_call.twiml[0]) == ElementTree.canonicalize(str(wanted))
    # What was played cannot be had without its code, nor with another's.
    played = urlsplit(first.find("Play").text)
    for query in (
        "",
        "expires=99999999999&code=00",
        played.query.replace("expires=", "expires=1"),
        played.query[:-1] + "x",
    ):
        assert server.request("GET", f"{played.path}?{query}", key=None)[0] == 403
    assert phone_call.over.wait(10)


def test_a_call_whose_stream_fails_is_held_by_turns(make_server, carrier):
    def phone(call):
        call.streams_work, call.answers = False, [spoken("No, I cannot come.")]
        call.ring()
        call.answer()

    mock = carrier(phone)
    server = start(make_server, mock)
    call = server.wait_for(dial(server), seconds=30)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), call
    assert len(the_call(mock).played) >= 2


@pytest.mark.parametrize(
    "recording", [b"no wav file", b"RIFF\xff\xff\xff\xffWAVEfmt \x10", spoken("Yes")[:44], "elsewhere"]
)
def test_unusable_recordings_count_as_silence(make_server, carrier, recording):
    """The question is asked again; a webhook that Twilio repeats gets the same turn; after a hang-up the
    transcript is kept."""
    mock = carrier(lambda call: call.ring())
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE="turns")
    call_id = dial(server)
    server.wait_for(call_id, {"ringing"}, seconds=10)
    call = the_call(mock)
    first = ElementTree.fromstring(mock.webhook(call.field("Url"), call.parameters())[1])
    call.play(first.find("Play").text)
    name = "RE" + "1" * 32
    base = "http://127.0.0.1:9" if recording == "elsewhere" else mock.url
    mock.recordings[name] = recording
    form = call.parameters(RecordingUrl=f"{base}/2010-04-01/Accounts/{ACCOUNT}/Recordings/{name}", RecordingSid=name)
    action = first.find("Record").get("action")
    answers = [mock.webhook(action, form)]
    time.sleep(1.1)  # links count their life in seconds
    answers.append(mock.webhook(action, form))
    assert answers[0] == answers[1] and answers[0][0] == 200
    second = ElementTree.fromstring(answers[0][1])
    assert second.find("Play") is not None and second.find("Record").get("action") != action
    call.tell("in-progress")
    call.end("completed")
    found, result = server.wait_for(call_id, seconds=10), server.result(call_id)
    assert (found["state"], found["end_reason"]) == ("completed", "callee_hangup"), found
    assert [entry["speaker"] for entry in result["transcript"]] == ["ai", "ai"] and result["transcript"][1][
        "interrupted"
    ], result
    assert mock.webhook(action, form)[1].count("<Hangup/>") == 1


@pytest.mark.parametrize(
    "turn", ["9223372036854775807", "-9223372036854775808", "-1", "7", "99999999999999999999", "x"]
)
def test_impossible_turn_numbers_do_no_harm(make_server, carrier, turn):
    mock = carrier(lambda call: call.ring())
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE="turns")
    call_id = dial(server)
    server.wait_for(call_id, {"ringing"}, seconds=10)
    call = the_call(mock)
    first = mock.webhook(call.field("Url"), call.parameters())[1]
    status, text = mock.webhook(f"{call.field('Url')}&turn={turn}", call.parameters())
    # A number that is none is the beginning, which Twilio repeats.
    played = [ElementTree.fromstring(twiml).findtext("Play", "").split("?")[0] for twiml in (first, text)]
    assert status == 200 and (
        played[0] == played[1] if turn in ("99999999999999999999", "x") else "<Hangup/>" in text
    ), text
    server.wait_for(call_id, {"connected"}, seconds=10)
