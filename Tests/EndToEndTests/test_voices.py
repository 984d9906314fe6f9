"""Callers whose voices the recogniser understands worst (BENCHMARKS.md, `trunkline bench recognition`), with the speech
pack: over SIP, and in Chromium."""

import subprocess
import time

import pytest
from conftest import ATTEND, GUESTS, POLL, ROOT
from playwright.sync_api import expect
from sip_phone import SIPPhone
from spoken_words import spoken
from test_browser import chromium, log_in  # noqa: F401

PACK = {"TRUNKLINE_SPEECH_PACK_DIR": str(ROOT / "speech-pack")}
DAY = "Which day suits you?"
MENU = {"text": "Fish, meat or vegetables?", "type": "choice", "choices": ["fish", "meat", "vegetables"]}
# espeak-ng's name of a voice, and words a minute.
VOICES = {"croak": ("en-us+croak", 160), "scotland": ("en-gb-scotland", 160), "fast": ("en-gb-x-rp", 200)}
# What a question has in it, the answer, and what an answer that is asked back must have in it.
ANSWERS = [
    ("attend", "Of course I can.", "yes"),
    ("guests", "Twelve.", "12"),
    ("suits", "On Friday, please.", "friday"),
    ("vegetables", "Fish.", "fish"),
]


def mulaw(text, voice):
    wave = spoken(text, pause=(0, 0.1), voice=VOICES[voice][0], speed=VOICES[voice][1])
    return subprocess.run(
        ["sox", "-t", "wav", "-", "-t", "ul", "-r", "8000", "-c", "1", "-"],
        input=wave,
        capture_output=True,
        check=True,
    ).stdout


class Caller:
    """Answers each question when it has been asked, and says whether an answer was understood rightly."""

    def __init__(self, server, voice):
        self.server, self.voice, self.phone, self.said = server, voice, SIPPhone(), 0
        self.meaning, self.answer = "", ""
        self.call_id = server.create(self.phone.address, [ATTEND, GUESTS, DAY, MENU], max_duration=120)

    def is_over(self):
        if self.phone.over.is_set():
            return True
        asked = [entry["text"] for entry in self.server.result(self.call_id)["transcript"] if entry["speaker"] == "ai"]
        if len(asked) > self.said and self.phone.is_quiet():
            self.said = len(asked)
            self.phone.speak(mulaw(self.reply(asked[-1].lower()), self.voice))
        return False

    def reply(self, question):
        if "did you say" in question:
            return "Yes." if self.meaning in question else "No, that is wrong."
        for words, answer, meaning in ANSWERS:
            if words in question.split(". ")[-1]:
                self.answer, self.meaning = answer, meaning
        return self.answer


@pytest.mark.long
def test_the_worst_voices_are_understood_over_sip(make_server):
    server = make_server(**PACK)
    assert "speech recognition: Moonshine" in (server.folder / "server.log").read_text()
    callers = [Caller(server, voice) for voice in VOICES]
    deadline = time.time() + 120
    try:
        while not all([caller.is_over() for caller in callers]):
            assert time.time() < deadline, [server.result(caller.call_id) for caller in callers]
            time.sleep(POLL)
        for caller in callers:
            server.wait_for(caller.call_id, seconds=10)
            result = server.result(caller.call_id)
            values = [answer["value"] for answer in result["answers"]]
            assert values[:2] + values[3:] == [True, 12, "fish"], (caller.voice, result)
            assert "friday" in values[2].lower(), (caller.voice, result)
            assert {answer["settled"] for answer in result["answers"]} <= {None, "confirmed"}, result
    finally:
        for caller in callers:
            caller.phone.close()


@pytest.mark.parametrize(
    "voice, question, answer, value",
    [
        pytest.param("croak", GUESTS, "Twelve.", 12, marks=pytest.mark.long),
        pytest.param("scotland", DAY, "On Friday, please.", "Friday", marks=pytest.mark.long),
        pytest.param("fast", ATTEND, "Of course I can.", True),
        pytest.param("scotland", ATTEND, "No, that is wrong.", False, marks=pytest.mark.long),
    ],
)
def test_the_worst_voices_are_understood_in_the_browser(
    make_server,
    chromium,  # noqa: F811
    tmp_path,
    voice,
    question,
    answer,
    value,
):
    """Chromium's microphone plays a file: silence while the AI asks, and the answer, until it is settled."""
    server = make_server(**PACK)
    assert "speech recognition: Moonshine" in (server.folder / "server.log").read_text()
    parts = []
    for index, silence in enumerate((9, 7, 7, 7)):
        part = tmp_path / f"{index}.wav"
        part.write_bytes(
            spoken(answer, rate=16_000, pause=(silence, 0.2), voice=VOICES[voice][0], speed=VOICES[voice][1])
        )
        parts.append(str(part))
    subprocess.run(["sox", *parts, str(tmp_path / "mic.wav"), "vol", "0.2", "pad", "0", "30"], check=True)
    page, errors = log_in(chromium(tmp_path / "mic.wav"), server)
    page.get_by_role("link", name="New call").first.click()
    page.get_by_label("Purpose").fill("the dinner")
    page.get_by_label("Question", exact=True).first.fill(question)
    page.get_by_label("Callee").fill("sip:lee@127.0.0.1:9")
    page.get_by_label("Caller number shown").fill("025550100")
    page.get_by_role("button", name="Call my browser first").click()
    expect(page.locator(".state.big")).to_have_text("Connected", timeout=10_000)
    expect(page.locator(".state.big")).to_have_text("Completed", timeout=60_000)
    result = server.result(page.url[-11:])
    found = result["answers"][0]["value"]
    assert found == value or isinstance(value, str) and value in found, result
    assert not errors, errors
