"""Recogniser, language model and voice from services, each spoken to in its vendor's wire format."""

import json
import subprocess
import time

import pytest
from conftest import ATTEND, TRUNKLINE, clean_environment, mocks
from mock_speech import KEY, MockSpeech, spoken_ms
from realtime_calls import realtime, sound_of_the_ai

speech = mocks(MockSpeech)

GREETING = "Hello, this is Riverside Restaurant. Will you attend the dinner on Friday?"
GOODBYE = "Thank you, goodbye."
ANSWERED = (
    "report_task_state",
    {
        "questions": [
            {"id": "q1", "status": "answered", "answer": "Yes, I will be there.", "value": True, "confidence": 0.9}
        ]
    },
)
END = ("end_call", {"reason": "task_completed"})
TALK = [
    {"text": GREETING, "tools": [("report_task_state", {"asking": "q1"})]},
    {"text": GOODBYE, "tools": [ANSWERED, END]},
]


@pytest.mark.parametrize(
    "stt, llm, tts",
    [
        ("deepgram", "openai", "cartesia"),
        ("openai", "openai", "elevenlabs"),
        ("deepgram", "openai", "openai"),
        ("embedded", "openai", "cartesia"),
        ("deepgram", "groq", "deepgram"),
        ("openai", "gemini", "deepgram"),
        ("deepgram", "ollama", "cartesia"),
    ],
)
def test_a_call(make_server, callee, speech, allowed, stt, llm, tts):
    mock = speech(TALK, ["Yes, I will be there."], {"ollama": "needs no key"} if llm == "ollama" else {})
    server = make_server(**mock.settings(stt, llm, tts))
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "task_completed", "human"), (
        call,
        result,
    )
    answer = result["answers"][0]
    assert (answer["status"], answer["value"], answer["confidence"]) == ("answered", True, 0.9) and answer["evidence"]
    said = [(entry["speaker"], entry["text"]) for entry in result["transcript"]]
    assert said[0] == ("ai", GREETING) and said[1][0] == "customer" and said[2] == ("ai", GOODBYE)
    assert stt == "embedded" or said[1][1] == "Yes, I will be there."
    # Every sentence to its last sample.
    expected = sum(
        spoken_ms(sentence)
        for sentence in ("Hello, this is Riverside Restaurant.", "Will you attend the dinner on Friday?", GOODBYE)
    )
    assert sound_of_the_ai(server, call_id) == pytest.approx(expected, abs=1000 * allowed(0.08))
    waterfall = result["latency"]["each"][0]
    assert {"end_of_turn_ms", "speech_to_text_ms", "language_model_ms", "text_to_speech_ms"} <= set(waterfall), (
        waterfall
    )
    # What the model was told is what was said and heard.
    messages = mock.chats[1]["messages"]
    assert messages[0]["role"] == "system" and ATTEND in messages[0]["content"] and "dinner" in messages[0]["content"]
    assert [message["role"] for message in messages[1:]] == ["user", "assistant", "user"] and messages[2][
        "content"
    ] == GREETING
    assert messages[3]["content"] == said[1][1] and {tool["function"]["name"] for tool in mock.chats[1]["tools"]} == {
        "report_task_state",
        "end_call",
        "send_dtmf",
    }
    assert {chat["model"] for chat in mock.chats} == {
        {
            "openai": "gpt-4.1-mini",
            "groq": "llama-3.3-70b-versatile",
            "gemini": "gemini-2.5-flash",
            "ollama": "llama3.1",
        }[llm]
    }
    if stt == "openai":
        assert mock.transcriptions[0]["language"] == "en" and 0.5 < mock.transcriptions[0]["seconds"] < 5
    if tts == "cartesia":
        assert len({ask["context_id"] for ask in mock.speaks if "transcript" in ask}) == 2, "one context a turn"


@pytest.mark.parametrize(
    "stt, llm, tts, faults",
    [
        (
            "deepgram,openai,embedded",
            "openai,embedded",
            "cartesia,elevenlabs,openai,embedded",
            {
                "deepgram": "401",
                "transcription": "429",
                "chat": "429",
                "cartesia": "401",
                "elevenlabs": "429",
                "speech": "500",
            },
        ),
        (
            "deepgram,openai,embedded",
            "openai,embedded",
            "elevenlabs,openai,cartesia,embedded",
            {
                "deepgram": "500",
                "transcription": "garbage",
                "chat": "500",
                "cartesia": "429",
                "elevenlabs": "500",
                "speech": "401",
            },
        ),
        (
            "openai,deepgram,embedded",
            "openai,embedded",
            "openai,cartesia,elevenlabs,embedded",
            {
                "deepgram": "429",
                "transcription": "401",
                "chat": "garbage",
                "cartesia": "500",
                "elevenlabs": "401",
                "speech": "429",
            },
        ),
        (
            "openai,embedded",
            "openai,embedded",
            "cartesia,elevenlabs,openai,embedded",
            {
                "transcription": "500",
                "chat": "401",
                "cartesia": "garbage",
                "elevenlabs": "garbage",
                "speech": "garbage",
            },
        ),
        ("deepgram,embedded", "openai", "cartesia,elevenlabs", {"deepgram": "stall", "cartesia": "stall"}),
        ("openai,embedded", "openai", "elevenlabs,openai", {"transcription": "stall", "elevenlabs": "stall"}),
        ("deepgram", "openai,embedded", "openai,embedded", {"chat": "stall", "speech": "stall"}),
        ("deepgram,embedded", "openai", "cartesia,elevenlabs", {"deepgram": "cut", "cartesia": "cut"}),
        ("deepgram", "openai,embedded", "elevenlabs,openai", {"chat": "cut", "elevenlabs": "cut"}),
        ("deepgram", "openai", "openai,embedded", {"speech": "cut", "deepgram": "garbage"}),
        ("deepgram", "openai", "deepgram,openai", {"aura": "401"}),
        ("deepgram", "openai", "deepgram,openai", {"aura": "429"}),
        ("deepgram", "openai", "deepgram,openai", {"aura": "500"}),
        ("deepgram", "openai", "deepgram,openai", {"aura": "stall"}),
        ("deepgram", "openai", "deepgram,openai", {"aura": "garbage"}),
        ("deepgram", "openai", "deepgram,openai", {"aura": "cut"}),
    ],
    ids=lambda value: "-".join(f"{name}:{fault}" for name, fault in value.items()) if isinstance(value, dict) else "",
)
def test_failing_services_degrade_the_call(make_server, callee, speech, stt, llm, tts, faults):
    """A key refused, too many requests, the server's own errors, silence, nonsense, an end in the middle: the next
    engine takes over."""
    mock = speech(TALK, ["Yes, I will be there."] * 4, faults)
    server = make_server(**mock.settings(stt, llm, tts))
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=60), server.result(call_id)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), (call, result)
    assert result["answers"][0]["status"] == "answered" and "dinner on Friday" in result["transcript"][0]["text"]
    log = (server.folder / "server.log").read_text()
    names = {
        "deepgram": "speech-to-text/deepgram",
        "transcription": "speech-to-text/openai",
        "chat": "language-model/openai",
        "cartesia": "text-to-speech/cartesia",
        "elevenlabs": "text-to-speech/elevenlabs",
        "aura": "text-to-speech/deepgram",
        "speech": "text-to-speech/openai",
    }
    # A recogniser may speak nonsense between its results.
    missing = [
        name
        for service, name in names.items()
        if service in faults and (service, faults[service]) != ("deepgram", "garbage") and name not in log
    ]
    assert not missing, (missing, log)
    assert KEY not in log and "Riverside" not in log and "be there" not in log
    statuses = {item["name"]: item for item in server.request("GET", "/api/providers")[1]["items"]}
    assert list(statuses) == [
        f"{kind}/{name}"
        for kind, names in (("speech-to-text", stt), ("language-model", llm), ("text-to-speech", tts))
        for name in names.split(",")
    ]
    assert all(item["usable"] == (item["cool_down_seconds"] == 0) for item in statuses.values())
    if faults.get("cartesia") == "401" and tts.startswith("cartesia"):
        assert (
            not statuses["text-to-speech/cartesia"]["usable"]
            and statuses["text-to-speech/cartesia"]["cool_down_seconds"] > 500
        )


def test_failures_of_an_engine_without_a_fallback_are_reported(make_server, callee, speech):
    mock = speech(TALK, ["Yes, I will be there."], {"aura": "401"})
    server = make_server(**mock.settings("deepgram", "openai", "deepgram"))
    call = server.wait_for(server.create(callee("load").address, [ATTEND]), seconds=40)
    assert call["end_reason"] == "provider_error", call
    statuses = {item["name"]: item for item in server.request("GET", "/api/providers")[1]["items"]}
    voice = statuses["text-to-speech/deepgram"]
    assert not voice["usable"] and "401" in voice["last_failure"] and voice["cool_down_seconds"] > 500, statuses
    assert statuses["language-model/openai"]["usable"]


def test_a_conversation_goes_from_model_to_cascade_and_back(make_server, callee, model, speech):
    """The speech model is away, then the language model breaks, and the speech model is there again."""
    realtime_model = model(
        [{"text": "Where were we?", "ms": 500}, {"text": GOODBYE, "ms": 500, "tools": [ANSWERED, END]}],
        ["Yes."],
        reject=503,
    )
    mock = speech(TALK, ["Yes, I will be there."] * 3)
    server = make_server(
        **{
            **realtime(realtime_model, TRUNKLINE_AGENT_FALLBACK="true", TRUNKLINE_BRIDGE_OPEN_STREAMS="false"),
            **mock.settings(),
        }
    )
    call_id = server.create(callee("load").address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    deadline = time.time() + 30
    while not mock.chats and time.time() < deadline:
        time.sleep(0.02)
    mock.faults["chat"], realtime_model.reject = "500", None
    call, result = server.wait_for(call_id, seconds=60), server.result(call_id)
    said = [entry["text"] for entry in result["transcript"]]
    assert call["end_reason"] == "task_completed" and said[0] == GREETING and GOODBYE in said, (call, said)
    told = [
        part["text"]
        for item in realtime_model.messages("conversation.item.create")
        for part in item["item"].get("content", [])
    ]
    assert GREETING in told, "the model knows what was said before it"


def test_a_broken_recogniser_connection_loses_no_words(make_server, callee, speech):
    mock = speech(TALK, ["Yes, I will be there."], {"deepgram": "cut once"})
    server = make_server(**mock.settings("deepgram", "openai", "cartesia"))
    call_id = server.create(callee("load").address, [ATTEND])
    server.wait_for(call_id, seconds=40)
    result = server.result(call_id)
    assert result["transcript"][1]["text"] == "Yes, I will be there." and result["answers"][0]["status"] == "answered"
    first, second = mock.listens
    # The turn of about a second and a half is on the second connection from its begin, though the first one had begun
    # to hear it.
    said = result["transcript"][1]
    assert first["bytes"] >= 6_400 and second["bytes"] >= (said["end"] - said["timestamp"]) * 16_000


def test_a_model_without_functions(make_server, callee, speech):
    """The state comes in the text, cut anywhere, and is neither spoken nor stored."""
    state = (
        '[TASK_STATE]{"questions":[{"id":"q1","status":"answered","answer":"Yes.","value":true}],'
        '"should_end_call":true}[/TASK_STATE]'
    )
    whole = GOODBYE + " " + state
    mock = speech(
        [{"text": GREETING}, {"pieces": [whole[index : index + 7] for index in range(0, len(whole), 7)]}],
        ["Yes."],
        {"ollama": "none"},
    )
    server = make_server(**mock.settings("deepgram", "ollama", "cartesia", TRUNKLINE_LLM_OLLAMA_TOOLS="false"))
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert call["end_reason"] == "task_completed" and result["answers"][0]["value"] is True, result
    assert "tools" not in mock.chats[0] and "[TASK_STATE]" in mock.chats[0]["messages"][0]["content"]
    assert [entry["text"] for entry in result["transcript"] if entry["speaker"] == "ai"] == [GREETING, GOODBYE]
    assert not [ask for ask in mock.speaks if "TASK" in ask.get("transcript", "") or "{" in ask.get("transcript", "")]


def test_a_response_with_only_tool_calls_is_continued(make_server, callee, speech):
    """A model that reports first and speaks only when it is told what that gave."""
    mock = speech([TALK[0], {"tools": [ANSWERED]}, {"text": GOODBYE, "tools": [END]}], ["Yes."])
    server = make_server(**mock.settings())
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert call["end_reason"] == "task_completed" and [entry["text"] for entry in result["transcript"]] == [
        GREETING,
        "Yes.",
        GOODBYE,
    ]
    told = mock.chats[2]["messages"][-2:]
    assert told[0]["tool_calls"][0]["function"]["name"] == "report_task_state" and told[1]["role"] == "tool"
    assert told[1]["tool_call_id"] == told[0]["tool_calls"][0]["id"] and json.loads(told[1]["content"])["pending"] == []


def test_long_conversations_are_summarised(make_server, callee, speech):
    words = "I have been thinking about this dinner for a long time and there is much to say about it. " * 24
    mock = speech(
        lambda asked: (
            {"text": GOODBYE, "tools": [ANSWERED, END]}
            if "Yes." in asked["messages"][-1]["content"]
            else {"text": "More."}
        ),
        [words] * 7 + ["Yes."],
    )
    server = make_server(**mock.settings(), TRUNKLINE_OUTBOUND_AI_MAX_TURNS="40")
    call_id = server.create(callee("load").address, [ATTEND], max_duration=100)
    assert server.wait_for(call_id, seconds=120)["end_reason"] == "task_completed"
    assert mock.summaries and "Other party: I have been thinking" in mock.summaries[0]["messages"][1]["content"]
    last = mock.chats[-1]["messages"]
    assert last[1]["role"] == "system" and "They agreed on Friday." in last[1]["content"]
    assert sum(len(message["content"]) for message in last) < 10_000 < 6 * len(words)


def test_barge_in_stops_the_voice(make_server, callee, speech, allowed):
    long = " ".join(f"word{index}" for index in range(60)) + "."
    mock = speech([{"text": long}, {"text": GOODBYE, "tools": [END]}], ["Stop it, please."] * 3)
    server = make_server(**mock.settings())
    call_id = server.create(callee("interrupts").address, [ATTEND])
    server.wait_for(call_id, seconds=60)
    result = server.result(call_id)
    first = result["transcript"][0]
    assert first["interrupted"] and first["heard_text_source"] == "words" and long.startswith(first["heard_text"]), (
        first
    )
    # As much of it is told as its sound in the recording holds, to a word.
    heard_ms = sound_of_the_ai(server, call_id, span=(first["timestamp"], result["transcript"][1]["timestamp"] + 0.5))
    assert spoken_ms(first["heard_text"]) == pytest.approx(heard_ms, abs=1000 * allowed(7 * 0.025))
    assert [ask for ask in mock.speaks if ask.get("cancel")], "the service goes on speaking"
    told = mock.chats[1]["messages"][2]
    assert told["role"] == "assistant" and told["content"] == first["heard_text"] + " —"


@pytest.mark.parametrize("speculates", [True, False])
def test_the_model_is_asked_before_the_final_transcript(make_server, callee, speech, speculates):
    """A speculative response: the model thinks while the turn's end is waited for and the final transcript made. What
    that saves, TurnTakingTests counts in virtual time; here the order alone matters."""
    mock = speech(
        [{"text": "Well?"}, {"text": GOODBYE, "tools": [ANSWERED, END]}], ["Yes I will be there"] * 2, final_delay=0.4
    )
    server = make_server(**mock.settings(), TRUNKLINE_AGENT_TURN_SPECULATE=str(speculates).lower())
    call_id = server.create(callee("load").address, [ATTEND])
    assert server.wait_for(call_id, seconds=60)["end_reason"] == "task_completed"
    assert len(server.result(call_id)["latency"]["each"]) == 1
    # The first question is the greeting.
    before = mock.order[: mock.order.index("heard")].count("asked")
    assert (before >= 2) if speculates else (before == 1), mock.order


def test_the_provider_check_reports_each_service(tmp_path, speech):
    mock = speech(faults={"cartesia": "none"})

    def check(**settings):
        return subprocess.run(
            [TRUNKLINE, "providers", "check"],
            cwd=tmp_path,
            env={**clean_environment(), **mock.settings(**settings)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    good = check(stt="deepgram,openai,embedded", llm="openai", tts="cartesia,elevenlabs,deepgram,openai")
    assert good.returncode == 0 and good.stdout.count("works") == 8, good.stdout + good.stderr
    mock.faults["deepgram"] = "401"
    bad = check(stt="deepgram", llm="openai", tts="cartesia", OPENAI_API_KEY="wrong")
    assert (
        bad.returncode == 1
        and "401" in bad.stdout
        and "speech-to-text/deepgram" in bad.stdout
        and bad.stdout.count("works") == 1
    ), bad.stdout + bad.stderr
    assert KEY not in bad.stdout


def test_a_call_screening_assistant_is_answered(make_server, callee, speech):
    mock = speech(
        lambda asked: (
            {"text": GOODBYE, "tools": [ANSWERED, END]}
            if asked["messages"][-1]["content"] == "Yes."
            else {"text": "Well?"}
        ),
        ["Please say your name and why you are calling.", "Hello?", "Yes."],
    )
    server = make_server(**mock.settings())
    call_id = server.create(callee("load").address, [ATTEND])
    call = server.wait_for(call_id, seconds=60)
    assert (call["end_reason"], call["answered_by"]) == ("task_completed", "human"), server.result(call_id)[
        "transcript"
    ]
    told = [chat["messages"][-1]["content"] for chat in mock.chats]
    assert any("automatic assistant that screens calls" in content for content in told), told


def test_a_voice_menu_is_answered_by_a_key(make_server, callee, speech):
    mock = speech(heard=["For sales press 1. To speak with somebody press 4.", "Yes, I will be there."] + ["Yes."] * 3)
    server = make_server(**mock.settings("deepgram", "embedded", "cartesia"), TRUNKLINE_AGENT_HOLD_MS="1500")
    one = callee("load")
    call = server.wait_for(server.create(one.address, [ATTEND]), seconds=60)
    assert call["end_reason"] == "task_completed"
    assert [event["digit"] for event in one.events() if event["event"] == "dtmf"] == ["4"], one.events()
