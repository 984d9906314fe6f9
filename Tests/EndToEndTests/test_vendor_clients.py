"""The mocks answer as the vendors' services do: the vendors' own clients, from PyPI, talk to them.

Each client is imported by its test: together they take three seconds, and every worker reads every file.
"""

import asyncio
import io
import json
import time
import wave

import pytest
from conftest import mocks
from mock_gemini import MockGemini
from mock_speech import KEY, MockSpeech, spoken_ms
from test_cascade import GREETING, TALK

speech = mocks(MockSpeech)
gemini = mocks(MockGemini)


def test_openai_client(speech):
    from openai import OpenAI

    mock = speech(TALK, ["Yes, I will."])
    client = OpenAI(api_key=KEY, base_url=mock.http_url)
    text, arguments = "", ""
    tools = [
        {
            "type": "function",
            "function": {
                "name": "report_task_state",
                "description": "x",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    for chunk in client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hi"}], tools=tools, stream=True
    ):
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for call in delta.tool_calls or []:
            arguments += call.function.arguments or ""
    assert text.strip() == GREETING and json.loads(arguments) == {"asking": "q1"}
    assert (
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "sum up"}])
        .choices[0]
        .message.content
    )
    sound = client.audio.speech.create(model="m", voice="marin", input="Good morning.", response_format="pcm").read()
    assert len(sound) == spoken_ms("Good morning.") * 48
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(16_000)
        writer.writeframes(bytes(32_000))
    assert (
        client.audio.transcriptions.create(model="m", language="en", file=("turn.wav", file.getvalue())).text
        == "Yes, I will."
    )
    assert mock.transcriptions[0]["seconds"] == 1
    with pytest.raises(Exception) as error:
        OpenAI(api_key="wrong", base_url=mock.http_url, max_retries=0).models.list()
    assert error.value.status_code == 401


def test_deepgram_client(speech):
    from deepgram import DeepgramClient
    from deepgram.environment import DeepgramClientEnvironment

    mock = speech(heard=["Yes, I will."])
    client = DeepgramClient(
        api_key=KEY,
        environment=DeepgramClientEnvironment(
            base=mock.http_url, production=mock.ws_url, agent=mock.ws_url, agent_rest=mock.http_url
        ),
    )
    with client.listen.v1.connect(
        model="nova-3", encoding="linear16", sample_rate="8000", interim_results="true"
    ) as connection:
        connection.send_media(bytes(9_600))
        interim = connection.recv()
        assert (
            interim.type == "Results"
            and not interim.is_final
            and interim.channel.alternatives[0].transcript == "Yes, I"
        )
        connection.send_keep_alive()
        connection.send_finalize()
        final = connection.recv()
        assert final.is_final and final.from_finalize and final.channel.alternatives[0].transcript == "Yes, I will."
        connection.send_close_stream()
    deadline = time.time() + 5
    while len(mock.listens[0]["messages"]) < 3 and time.time() < deadline:
        time.sleep(0.01)
    assert mock.listens[0]["messages"] == ["KeepAlive", "Finalize", "CloseStream"]


def test_deepgram_voice_client(speech):
    from deepgram import DeepgramClient
    from deepgram.environment import DeepgramClientEnvironment
    from deepgram.speak.v1.types import SpeakV1Text

    mock = speech()
    client = DeepgramClient(
        api_key=KEY,
        environment=DeepgramClientEnvironment(
            base=mock.http_url, production=mock.ws_url, agent=mock.ws_url, agent_rest=mock.http_url
        ),
    )
    with client.speak.v1.connect(model="aura-2-thalia-en", encoding="linear16", sample_rate="8000") as connection:
        assert connection.recv().type == "Metadata"
        for number, text in enumerate(("Good morning.", "How are you?")):
            connection.send_text(SpeakV1Text(text=text))
            connection.send_flush()
            sound = 0
            while isinstance(message := connection.recv(), bytes):
                sound += len(message)
            assert (message.type, message.sequence_id, sound) == ("Flushed", number, spoken_ms(text) * 16)
        connection.send_clear()
        assert connection.recv().type == "Cleared"
        connection.send_close()


def test_cartesia_client(speech):
    from cartesia import Cartesia

    mock = speech()
    client = Cartesia(api_key=KEY, websocket_base_url=mock.ws_url)
    with client.tts.websocket_connect() as connection:
        context = connection.context(
            "c1",
            model_id="sonic-3",
            voice={"mode": "id", "id": "v"},
            add_timestamps=True,
            output_format={"container": "raw", "encoding": "pcm_s16le", "sample_rate": 8000},
        )
        context.push("Good morning. ", flush=True)
        context.push("How are you? ", flush=True)
        context.no_more_inputs()
        sound, words, flushes = {1: 0, 2: 0, 3: 0}, [], []
        for event in context.receive():
            if event.type == "chunk":
                sound[event.flush_id] += len(event.audio)
            elif event.type == "timestamps":
                words += event.word_timestamps.words
            elif event.type == "flush_done":
                flushes.append(event.flush_id)
    assert flushes == [1, 2] and words == ["Good", "morning.", "How", "are", "you?"]
    assert [sound[1], sound[2]] == [spoken_ms("Good morning.") * 16, spoken_ms("How are you?") * 16]


def test_elevenlabs_client(speech):
    from elevenlabs.client import ElevenLabs

    mock = speech()
    client = ElevenLabs(api_key=KEY, base_url=mock.ws_url.replace("ws:", "http:"))
    # It would insist on TLS.
    client.text_to_speech._ws_base_url = mock.ws_url
    sound = b"".join(
        client.text_to_speech.convert_realtime(
            "v1", text=iter(["Good morning."]), model_id="m", output_format="pcm_16000"
        )
    )
    assert len(sound) == spoken_ms("Good morning.") * 32 and mock.speaks == ["Good morning."]


def test_openai_embeddings_client(speech):
    from openai import OpenAI

    client = OpenAI(api_key=KEY, base_url=speech().http_url)
    answer = client.embeddings.create(model="m", input=["car", "vehicle"], encoding_format="float")
    assert answer.data[0].embedding == answer.data[1].embedding


def test_openai_realtime_client(model):
    import openai

    mock = model([{"text": "Good morning to you.", "ms": 400, "tools": [("end_call", {"reason": "task_completed"})]}])

    async def talk():
        client = openai.AsyncOpenAI(api_key="sk-x", websocket_base_url=mock.url.removesuffix("/realtime"))
        kinds, sound, words = [], 0, ""
        async with client.realtime.connect(model="gpt-realtime") as connection:
            await connection.session.update(
                session={
                    "type": "realtime",
                    "audio": {
                        "input": {"format": {"type": "audio/pcmu"}, "turn_detection": {"type": "server_vad"}},
                        "output": {"format": {"type": "audio/pcmu"}},
                    },
                }
            )
            await connection.response.create()
            async for event in connection:
                kinds.append(event.type)
                assert type(event).__name__ != "BaseModel" and event.event_id
                if event.type == "response.output_audio.delta":
                    sound += len(event.delta)
                if event.type == "response.output_audio_transcript.delta":
                    words += event.delta
                if event.type == "response.function_call_arguments.done":
                    assert (event.name, json.loads(event.arguments)) == ("end_call", {"reason": "task_completed"})
                if event.type == "response.done":
                    assert event.response.status == "completed"
                    return kinds, sound, words

    kinds, sound, words = asyncio.run(asyncio.wait_for(talk(), 10))
    assert kinds[0] == "session.created" and kinds[1] == "session.updated" and "response.output_audio.done" in kinds
    assert sound == 4 * len("A" * 1068) and words.strip() == "Good morning to you."


def test_gemini_live_client(gemini):
    from google import genai

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
