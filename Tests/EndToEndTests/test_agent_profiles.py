"""Calls whose agent chooses provider, model, voice and words, against the vendors' wire formats.

A call's profile is put into its record while the server is down: what makes profiles is tested elsewhere.
"""

import contextlib
import json
import sqlite3
import time
from datetime import UTC, datetime, timedelta

import pytest
from conftest import ATTEND, POLL, mocks, model  # noqa: F401
from mock_gemini import MockGemini
from mock_speech import MockSpeech
from test_cascade import ANSWERED, END

speech, gemini = mocks(MockSpeech), mocks(MockGemini)

FIRST, CLOSING, DISCLOSURE = "Salon Ann, good day!", "See you on Friday!", "An AI is calling."
EMPTY = {
    "speechToText": {},
    "languageModel": {},
    "textToSpeech": {},
    "speechModel": {},
    "turns": {},
    "knowledge": {},
}


def call_with(server, callee, profile):
    """A call that has this profile, from its request to its end."""
    due = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    call_id = server.create(callee("load").address, [ATTEND], scheduled_at=due)
    server.kill()
    with sqlite3.connect(server.folder / "data" / "calls.sqlite") as database:
        (record,) = database.execute("SELECT record FROM calls WHERE id = ?", [call_id]).fetchone()
        record = json.loads(record)
        record["profile"] = {**EMPTY, **profile}
        database.execute("UPDATE calls SET record = ? WHERE id = ?", [json.dumps(record).encode(), call_id])
    database.close()
    server.start()
    call = server.wait_for(call_id, seconds=40)
    return call, server.result(call_id)


def in_store(server, statement):
    with contextlib.closing(sqlite3.connect(server.folder / "data" / "calls.sqlite")) as database:
        return database.execute(statement).fetchone()[0]


def said(result):
    return [entry["text"] for entry in result["transcript"] if entry["speaker"] == "ai"]


@pytest.mark.parametrize("voice", ["cartesia", "elevenlabs", "deepgram"])
def test_a_cascade_of_its_own(make_server, callee, speech, voice):
    mock = speech([{"text": "Never asked."}, {"text": "", "tools": [ANSWERED, END]}], ["Yes, I will be there."])
    server = make_server(**mock.settings("openai", "openai", "openai"))
    chosen = {"cartesia": "064b", "elevenlabs": "Rachel2", "deepgram": "aura-2-celeste-en"}[voice]
    call, result = call_with(
        server,
        callee,
        {
            "role": "You are Ann of the salon.",
            "safetyRules": ["Never name prices."],
            "firstMessage": FIRST,
            "closing": CLOSING,
            "disclosure": DISCLOSURE,
            "speechToText": {"provider": "deepgram", "model": "nova-2", "keyterms": ["manicure"], "language": "en-GB"},
            "languageModel": {"provider": "groq", "model": "small-8b", "temperature": 0.9},
            "textToSpeech": {"provider": voice, "voice": chosen, "speed": 1.1},
        },
    )
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), (call, result)
    assert said(result) == [f"{DISCLOSURE} {FIRST}", CLOSING]
    assert result["answers"][0]["value"] is True
    query = mock.listens[0]["query"]
    assert (query["model"], query["language"], query["keywords"]) == ("nova-2", "en-GB", "manicure")
    assert {chat["model"] for chat in mock.chats} == {"small-8b"}
    assert {chat["temperature"] for chat in mock.chats} == {0.9}
    # The first question to the model comes after the caller's first words.
    roles = [message["role"] for message in mock.chats[0]["messages"]]
    assert roles == ["system", "user", "assistant", "user"] and FIRST in mock.chats[0]["messages"][2]["content"]
    prompt = mock.chats[0]["messages"][0]["content"]
    assert "You are Ann of the salon." in prompt and "- Never name prices." in prompt
    if voice == "cartesia":
        asked = [ask for ask in mock.speaks if "transcript" in ask]
        assert {ask["voice"]["id"] for ask in asked} == {"064b"}
        assert {ask["generation_config"]["speed"] for ask in asked} == {1.1}
    elif voice == "elevenlabs":
        assert set(map(json.dumps, mock.voice_settings)) == {json.dumps(["Rachel2", {"speed": 1.1}])}
    assert ("POST", "/v1/audio/speech") not in mock.requests and not mock.transcriptions


def test_its_provider_fails_and_the_configured_one_goes_on(make_server, callee, speech):
    mock = speech(
        [{"text": "Never asked."}, {"text": "", "tools": [ANSWERED, END]}],
        ["Yes, I will be there."],
        {"cartesia": "429"},
    )
    server = make_server(**mock.settings("deepgram", "openai", "openai"))
    profile = {"firstMessage": FIRST, "closing": CLOSING, "textToSpeech": {"provider": "cartesia", "voice": "064b"}}
    call, result = call_with(server, callee, profile)
    assert call["end_reason"] == "task_completed" and said(result) == [FIRST, CLOSING]
    assert mock.speeches == [FIRST, CLOSING]


def test_embedded_is_a_promise(make_server, callee, speech):
    """Every provider is set up, and none of them hears of the call."""
    mock = speech([], ["Yes."])
    server = make_server(
        **mock.settings("deepgram", "openai", "cartesia"),
        TRUNKLINE_KNOWLEDGE_EMBEDDINGS_URL=mock.http_url,
        TRUNKLINE_OUTBOUND_RESULT_SUMMARY_MODEL="openai",
    )
    profile = {"mode": "embedded", "firstMessage": FIRST, "closing": CLOSING, "role": "Ann."}
    call, result = call_with(server, callee, profile)
    assert call["state"] == "completed", call
    assert said(result)[0] == f"{FIRST} {ATTEND}", said(result)
    assert call["end_reason"] != "task_completed" or said(result)[-1].endswith(CLOSING)
    # What was to be done after the call is done.
    deadline = time.time() + 10
    while in_store(server, "SELECT COUNT(*) FROM ended_calls"):
        assert time.time() < deadline, "the call is not analysed"
        time.sleep(POLL)
    assert not mock.requests and not mock.listens and not mock.speaks and not mock.summaries


def test_a_speech_model_of_its_own(make_server, callee, speech, model):  # noqa: F811
    mock = model(
        [
            {"text": FIRST, "ms": 1000},
            {"text": "", "ms": 0, "tools": [ANSWERED, END]},
            {"text": CLOSING, "ms": 1000},
        ],
        ["Yes, I will be there."],
    )
    server = make_server(
        **speech().settings("embedded", "embedded", "embedded"),
        TRUNKLINE_REALTIME_OPENAI_URL=mock.url,
    )
    call, result = call_with(
        server,
        callee,
        {
            "mode": "realtime",
            "firstMessage": FIRST,
            "closing": CLOSING,
            "speechToText": {"keyterms": ["manicure"]},
            "speechModel": {"provider": "openai", "model": "gpt-realtime-mini", "voice": "cedar"},
            "turns": {"finishedMs": 400},
        },
    )
    assert call["end_reason"] == "task_completed" and said(result) == [FIRST, CLOSING], result
    assert "model=gpt-realtime-mini" in mock.headers[0][0]
    told = [message for _, _, message in mock.log]
    session = next(message for message in told if message["type"] == "session.update")["session"]
    assert session["model"] == "gpt-realtime-mini" and session["audio"]["output"]["voice"] == "cedar"
    assert session["audio"]["input"]["transcription"]["prompt"] == "Keywords: manicure"
    assert session["audio"]["input"]["turn_detection"]["silence_duration_ms"] == 400
    asked = [
        message.get("response", {}).get("instructions") for message in told if message["type"] == "response.create"
    ]
    exactly = "Say exactly these words to the other party now, and nothing else: "
    assert asked[0] == exactly + FIRST and asked[-1] == exactly + CLOSING, asked


def test_gemini_with_its_own_voice(make_server, callee, gemini):
    mock = gemini([{"text": FIRST, "ms": 1000}, {"text": CLOSING, "ms": 800, "tools": [END]}])
    server = make_server(TRUNKLINE_REALTIME_GEMINI_URL=mock.url, GEMINI_API_KEY="key-of-this-test")
    call_with(
        server,
        callee,
        {
            "mode": "realtime",
            "firstMessage": FIRST,
            "speechModel": {"provider": "gemini", "model": "gemini-live-x", "voice": "Kore"},
            "turns": {"finishedMs": 400},
        },
    )
    setup = mock.setups[0]
    assert setup["model"] == "models/gemini-live-x"
    voice = setup["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"]
    assert voice == "Kore"
    assert setup["realtimeInputConfig"]["automaticActivityDetection"]["silenceDurationMs"] == 400
