"""Gemini Live behind the same interface as the other speech models."""

import pytest
from carrier import Carrier
from conftest import ATTEND, mocks
from mock_gemini import MockGemini
from realtime_calls import ended, sound_of_the_ai

gemini = mocks(MockGemini)


def settings(mock, **more):
    return {
        "TRUNKLINE_AGENT_MODE": "realtime",
        "TRUNKLINE_REALTIME_PROVIDERS": "gemini",
        "TRUNKLINE_REALTIME_GEMINI_URL": mock.url,
        "GEMINI_API_KEY": "key-of-this-test",
        "TRUNKLINE_AGENT_FALLBACK": "false",
        "TRUNKLINE_BRIDGE_OPEN_STREAMS": "true",
        **more,
    }


def test_a_sip_call_with_gemini(make_server, callee, gemini, allowed):
    mock = gemini(
        [
            {"text": "Hello, this is Riverside Restaurant. Will you attend?", "ms": 2000},
            {
                "text": "Thank you, goodbye.",
                "ms": 1000,
                "tools": [
                    (
                        "report_task_state",
                        {
                            "questions": [
                                {"id": "q1", "status": "answered", "answer": "Yes, I will be there.", "value": True}
                            ]
                        },
                    ),
                    ("end_call", {"reason": "task_completed"}),
                ],
            },
        ],
        ["Yes, I will be there."],
    )
    server = make_server(**settings(mock))
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), call
    assert result["answers"][0]["status"] == "answered" and result["answers"][0]["value"] is True
    assert [(entry["speaker"], entry["text"]) for entry in result["transcript"]] == [
        ("ai", "Hello, this is Riverside Restaurant. Will you attend?"),
        ("customer", "Yes, I will be there."),
        ("ai", "Thank you, goodbye."),
    ]
    assert sound_of_the_ai(server, call_id) == pytest.approx(3000, abs=1000 * allowed(0.06))
    setup = mock.setups[0]
    assert setup["model"] == "models/gemini-2.5-flash-native-audio" and setup["generationConfig"][
        "responseModalities"
    ] == ["AUDIO"]
    assert mock.headers[0]["x-goog-api-key"] == "key-of-this-test"


def test_go_away_is_followed_by_a_session_that_resumes(make_server, gemini):
    mock = gemini(
        [{"text": "Good morning.", "ms": 600}, {"text": "Still the same call.", "ms": 600}],
        ["hello"],
        go_away_after=0.5,
    )
    server = make_server(**settings(mock))
    carrier = Carrier(f"ws://127.0.0.1:{server.http_port}/media/twilio")
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.wait(lambda: len(mock.setups) == 2, what="the session that takes over")
    assert mock.setups[1]["sessionResumption"] == {"handle": "handle-1"}
    carrier.say(600)
    carrier.wait(lambda: carrier.played_ms() >= 1160, what="the answer")
    carrier.hang_up()
    texts = [entry["text"] for entry in server.result(ended(server))["transcript"]]
    assert texts == ["Good morning.", "hello", "Still the same call."], texts


def test_the_model_is_told_of_an_interruption_in_words(make_server, gemini):
    mock = gemini(
        [{"text": "A sentence that goes on for three whole seconds.", "ms": 3000}, {"text": "All right.", "ms": 400}],
        ["stop it"],
    )
    server = make_server(**settings(mock))
    carrier = Carrier(f"ws://127.0.0.1:{server.http_port}/media/twilio")
    carrier.wait(lambda: carrier.played_ms() >= 1000)
    carrier.say(600)
    carrier.wait(lambda: carrier.clears, what="silence")
    carrier.wait(lambda: carrier.played_ms() >= 1380, what="the answer")
    carrier.hang_up()
    result = server.result(ended(server))
    assert result["transcript"][0]["interrupted"] and result["interruptions"] == 1
    notes = [
        part["text"]
        for _, message in mock.log
        for turn in message.get("clientContent", {}).get("turns", ())
        for part in turn["parts"]
    ]
    assert any("heard only the first 1." in note for note in notes), notes
