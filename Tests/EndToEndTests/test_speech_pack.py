"""Silero VAD and sherpa-onnx, loaded from a folder: the real libraries and the real model."""

import json
import shutil
import subprocess

import pytest
import toy_recognizer
from conftest import ATTEND, GUESTS, ROOT, TRUNKLINE, clean_environment
from ports import free_port
from realtime_calls import stream

PACK = ROOT / "speech-pack"
TOKEN = "a-token-of-twenty-characters"


@pytest.mark.early
def test_a_call_can_be_held_with_silero(make_server, callee):
    server = make_server(TRUNKLINE_SPEECH_PACK_DIR=str(PACK), TRUNKLINE_AGENT_VAD_PROVIDER="silero")
    call_id = server.create(callee("cooperative").address, [ATTEND, GUESTS])
    call, result = server.wait_for(call_id), server.result(call_id)
    assert call["end_reason"] == "task_completed" and [answer["value"] for answer in result["answers"]] == [True, 4], (
        result
    )
    assert "voice activity: Silero" in (server.folder / "server.log").read_text()


def serve(folder, **environment):
    return subprocess.run(
        [TRUNKLINE, "serve", "--http-port", str(free_port()), "--sip-port", str(free_port())],
        cwd=folder,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_missing_files_are_named(tmp_path):
    result = serve(tmp_path, TRUNKLINE_AGENT_VAD_PROVIDER="silero")
    assert result.returncode == 1 and "silero_vad.onnx" in result.stderr and "make speech-pack" in result.stderr


@pytest.mark.parametrize(
    "broken, setting",
    [
        ("libonnxruntime.so", {"TRUNKLINE_AGENT_VAD_PROVIDER": "silero"}),
        ("silero_vad.onnx", {"TRUNKLINE_AGENT_VAD_PROVIDER": "silero"}),
        ("libsherpa-onnx-c-api.so", {"TRUNKLINE_STT_PROVIDERS": "sherpa,embedded"}),
    ],
)
def test_a_broken_part_is_named(tmp_path, broken, setting):
    pack = tmp_path / "pack"
    shutil.copytree(PACK, pack)
    (pack / broken).write_bytes(b"no library")
    result = serve(tmp_path, TRUNKLINE_SPEECH_PACK_DIR=str(pack), **setting)
    assert result.returncode == 1 and broken in result.stderr and "make speech-pack" in result.stderr


def test_without_the_pack_the_built_in_detector_is_used(make_server, tmp_path):
    """`auto`, and a folder with less than is needed: the server runs, and says what it misses."""
    pack = tmp_path / "empty"
    pack.mkdir()
    server = make_server(TRUNKLINE_SPEECH_PACK_DIR=str(pack))
    assert "the built-in detector is used" in (server.folder / "server.log").read_text()


@pytest.mark.parametrize(
    "kind, files, words",
    [
        ("stt", [], ["stt/LANGUAGE", "docs/local-models.md"]),
        ("stt", ["encoder.onnx", "decoder.onnx", "tokens.txt"], ["stt/en/joiner.onnx"]),
        ("stt", ["encoder.onnx", "decoder.onnx", "joiner.onnx", "tokens.txt"], ["stt/en"]),
        ("tts", [], ["tts/LANGUAGE"]),
        ("tts", ["model.onnx"], ["tts/en/tokens.txt"]),
        ("tts", ["model.onnx", "tokens.txt"], ["tts/en"]),
    ],
)
def test_missing_files_of_a_local_model_are_named(tmp_path, kind, files, words):
    pack = tmp_path / "pack"
    shutil.copytree(PACK, pack)
    if files:
        (pack / kind / "en").mkdir(parents=True)
    for name in files:
        (pack / kind / "en" / name).write_text("no model\n")
    result = serve(
        tmp_path, **{f"TRUNKLINE_{kind.upper()}_PROVIDERS": "sherpa,embedded", "TRUNKLINE_SPEECH_PACK_DIR": str(pack)}
    )
    assert result.returncode != 0 and all(word in result.stderr for word in words), result.stderr


@pytest.mark.parametrize("language, question, word", [("ru", "Вы придёте?", "да"), ("ko", "오시나요?", "네")])
def test_a_language_with_a_recogniser_in_the_pack_is_understood(make_server, tmp_path, language, question, word):
    """By sherpa-onnx, with a recogniser of that one word: a call asks by voice, and not by keypad."""
    pack = tmp_path / "pack"
    shutil.copytree(PACK, pack)
    toy_recognizer.write(pack / "stt" / language, word)
    server = make_server(
        TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN,
        TRUNKLINE_STT_PROVIDERS="sherpa,embedded",
        TRUNKLINE_SPEECH_PACK_DIR=str(pack),
    )
    questions = [{"id": "q1", "text": question, "kind": "boolean", "choices": [], "isRequired": True}]
    brief = {"purpose": "p", "callerDisplayName": "", "questions": questions, "language": language, "maxTurns": 20}
    carrier = stream(server, parameters={"token": TOKEN, "brief": json.dumps(brief), "outbound_id": "ob-0a1b2c3d"})
    carrier.wait(lambda: carrier.played_ms() > 500 and carrier.is_quiet(1), seconds=30, what="the question")
    carrier.say(900)
    call, result = server.wait_for("ob-0a1b2c3d"), server.result("ob-0a1b2c3d")
    answer = result["answers"][0]
    assert (answer["value"], answer["answer_text"], answer.get("settled")) == (True, word, None), result
    assert call["end_reason"] == "task_completed"
