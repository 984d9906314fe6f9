"""Gemini Live behind the same interface as the other speech models."""

import asyncio

import pytest
from carrier import Carrier
from conftest import ATTEND, mocks
from google import genai
from mock_gemini import MockGemini
from test_realtime import ended, sound_of_the_ai

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


def test_the_mock_is_what_the_vendors_client_expects(gemini):
    mock = gemini([{"text": "Good morning.", "ms": 300, "tools": [("end_call", {"reason": "refused"})]}])

    async def talk():
        client = genai.Client(api_key="key-of-this-test", http_options={"api_version": "v1beta"})
        # It would insist on TLS.
        client._api_client._websocket_base_url = lambda options=None: f"ws://127.0.0.1:{mock.port}"
        client._api_client._websocket_ssl_ctx = {}
        sound, words = 0, ""
        async with client.aio.live.connect(
            model="gemini-2.5-flash-native-audio", config={"response_modalities": ["AUDIO"]}
        ) as session:
            await session.send_client_content(turns={"role": "user", "parts": [{"text": "Hello"}]}, turn_complete=True)
            async for message in session.receive():
                if message.tool_call:
                    call = message.tool_call.function_calls[0]
                    assert (call.name, call.args) == ("end_call", {"reason": "refused"})
                    await session.send_tool_response(
                        function_responses=[{"id": call.id, "name": call.name, "response": {"ok": True}}]
                    )
                content = message.server_content
                if content and content.model_turn:
                    sound += sum(len(part.inline_data.data) for part in content.model_turn.parts)
                if content and content.output_transcription:
                    words += content.output_transcription.text
                if content and content.turn_complete:
                    return sound, words

    assert asyncio.run(asyncio.wait_for(talk(), 15)) == (300 * 48, "Good morning.")
    # What the vendor's client sends is what ours does.
    assert set(mock.setups[0]) <= {
        "model",
        "generationConfig",
        "systemInstruction",
        "tools",
        "realtimeInputConfig",
        "inputAudioTranscription",
        "outputAudioTranscription",
        "sessionResumption",
        "contextWindowCompression",
    }
    kinds = [next(iter(message)) for _, message in mock.log]
    assert kinds == ["clientContent", "toolResponse"]
    assert set(mock.log[1][1]["toolResponse"]["functionResponses"][0]) == {"id", "name", "response"}
    assert any(name.lower() == "x-goog-api-key" for name in mock.headers[0])


def test_a_sip_call_with_gemini(make_server, callee, gemini):
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
    assert sound_of_the_ai(server, call_id) == pytest.approx(3000, abs=60)
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


def test_an_interruption_is_told_in_words(make_server, gemini):
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
