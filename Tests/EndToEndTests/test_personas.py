"""The built-in callee in all its personas, several calls at once on one server."""

import pytest
from conftest import AS_SHIPPED, ATTEND, GUESTS, MOVED, ROOT

CASES = {
    # persona: (state, end reason, statuses, values)
    "cooperative": ("completed", "task_completed", ["answered", "answered", "answered"], [True, False, 4]),
    "opposite": ("completed", "task_completed", ["answered", "answered", "answered"], [False, True, 2]),
    "mumbles": ("completed", "task_completed", ["unclear"] * 3, [None] * 3),
    "busy": ("completed", "callee_busy", None, [None] * 3),
    "refuses": ("completed", "refused", ["refused", "not_asked", "not_asked"], [None] * 3),
    "wrong-number": ("completed", "wrong_number", None, [None] * 3),
    "interrupts": ("completed", "task_completed", ["answered", "answered", "answered"], [True, False, 4]),
    "silent": ("completed", "silence", ["unclear", "not_asked", "not_asked"], [None] * 3),
    "hangs-up": ("completed", "callee_hangup", ["answered", "unclear", "not_asked"], [True, None, None]),
    "voicemail": ("completed", "voicemail", None, [None] * 3),
    "rejects": ("rejected", None, ["not_asked"] * 3, [None] * 3),
    "no-answer": ("no_answer", None, ["not_asked"] * 3, [None] * 3),
    "keypad": ("completed", "task_completed", ["answered"] * 3, [True, True, 1]),
}


@pytest.mark.parametrize("pack", [ROOT / "speech-pack", pytest.param("none", marks=pytest.mark.long)])
@pytest.mark.early
def test_every_persona_gets_its_result(make_server, callee, pack):
    """With Moonshine; and with pocketsphinx."""
    server = make_server(
        **AS_SHIPPED,
        TRUNKLINE_SPEECH_PACK_DIR=str(pack),
        TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="8",
        TRUNKLINE_OUTBOUND_RING_TIMEOUT="3",
        TRUNKLINE_AGENT_SILENCE_PROMPT_MS="4000",
    )
    # The long ones first.
    order = sorted(CASES, key=lambda persona: persona not in ("mumbles", "silent", "interrupts"))
    callees = {persona: callee(persona) for persona in order}
    calls = {persona: server.create(callees[persona].address, (ATTEND, MOVED, GUESTS)) for persona in order}
    wrong = []
    for persona, call_id in calls.items():
        state, reason, statuses, values = CASES[persona]
        call = server.wait_for(call_id, seconds=300)
        result = server.result(call_id)
        got = (
            call["state"],
            call["end_reason"],
            [a["status"] for a in result["answers"]],
            [a["value"] for a in result["answers"]],
        )
        want = (state, reason, statuses or got[2], values)
        if got != want:
            wrong.append(
                f"{persona}: {got}, wanted {want}; "
                f"transcript {[(e['speaker'], e['text'][-40:]) for e in result['transcript']]}; "
                f"callee {callees[persona].events()}"
            )
        assert result["final"] and all(a["status"] != "pending" for a in result["answers"])
        assert all(a["confidence"] is None for a in result["answers"]), "the engine gives no confidence"
        terminal = [
            name
            for name in server.events(call_id)
            if name in ("outbound_completed", "outbound_ended", "outbound_failed", "outbound_cancelled")
        ]
        assert len(terminal) == 1, f"{persona}: {terminal}"
    assert not wrong, "\n".join(wrong)
    # What was cut off is told as it was heard.
    entries = server.result(calls["interrupts"])["transcript"]
    cut = next(entry for entry in entries if entry.get("interrupted"))
    assert (
        cut["speaker"] == "ai"
        and cut["text"].startswith(cut["heard_text"])
        and len(cut["heard_text"]) < len(cut["text"])
    )
    assert any(event["event"] == "barge_in" for event in callees["interrupts"].events())
    assert server.call(calls["voicemail"])["answered_by"] == "voicemail"
    assert server.call(calls["hangs-up"])["task_completed"] is False
    assert "outbound_ended" in server.events(calls["hangs-up"])


@pytest.mark.parametrize(
    "language, question, purpose, words",
    [
        ("ko", "금요일 저녁 식사에 참석하시나요?", "회식 준비를 위해 전화드렸습니다", "일번"),
        ("ru", "Придёте ли вы на ужин в пятницу?", "подготовка ужина", "нажмите один"),
    ],
)
@pytest.mark.early
def test_korean_and_russian_are_spoken_and_answered_by_keypad(server, callee, language, question, purpose, words):
    keypad = callee("keypad")
    call_id = server.create(keypad.address, [question], language=language, purpose=purpose)
    call = server.wait_for(call_id)
    result = server.result(call_id)
    assert (
        call["state"] == "completed"
        and result["answers"][0]["value"] is True
        and result["answers"][0]["answer_text"] == "1"
    )
    assert result["answers"][0]["settled"] == "keypad"
    assert any(words in entry["text"] for entry in result["transcript"])


def test_a_message_is_left_after_the_beep(make_server, callee):
    message = "This is Riverside Restaurant. Please call us back. Thank you."
    server = make_server(**AS_SHIPPED, TRUNKLINE_OUTBOUND_AI_VOICEMAIL_MESSAGE=message)
    machine = callee("voicemail")
    call_id = server.create(machine.address)
    call, result = server.wait_for(call_id), server.result(call_id)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "voicemail", "voicemail"), (
        call,
        result["transcript"],
    )
    last = result["transcript"][-1]
    assert (last["speaker"], last["text"], last["interrupted"]) == ("ai", message, False), result["transcript"]
    # The machine says its 8 s and beeps: nothing of the message is spoken before.
    beep_ends = (
        max(entry["end"] for entry in result["transcript"] if entry["speaker"] == "customer")
        if len(result["transcript"]) > 2
        else 8
    )
    assert last["timestamp"] > beep_ends and last["end"] - last["timestamp"] > 2
    assert all(answer["status"] in ("not_asked", "unclear") for answer in result["answers"])


@pytest.mark.early
def test_an_answering_machine_is_called_again_and_gets_a_message_last(make_server, callee):
    message = "This is Riverside Restaurant. Please call us back. Thank you."
    server = make_server(
        **AS_SHIPPED, TRUNKLINE_OUTBOUND_RETRY_ENABLED="true", TRUNKLINE_OUTBOUND_RETRY_RETRY_INTERVAL="1"
    )
    call_id = server.create(callee("voicemail").address, voicemail="retry", voicemail_message=message, max_retries=1)
    call, result = server.wait_for(call_id), server.result(call_id)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "voicemail", "voicemail"), (
        call,
        result,
    )
    assert [attempt["outcome"] for attempt in call["attempts"]] == ["voicemail", "connected"], call["attempts"]
    # Nothing of the first attempt is left but what it cost.
    assert (
        result["transcript"][-1]["text"] == message
        and sum(entry["text"] == message for entry in result["transcript"]) == 1
    )
    line = next(part for part in result["cost"]["components"] if part["component"] == "telephony/sip")["lines"][0]
    assert int(line["quantity"]) / 1000 > result["duration_seconds"] + 3
    events = server.events(call_id)
    assert (
        events.count("outbound_attempt_failed") == events.count("outbound_retry_scheduled") == 1
        and events.count("outbound_connected") == 2
    )
    assert sum(event in ("outbound_completed", "outbound_ended", "outbound_failed") for event in events) == 1


def test_a_call_can_override_the_setting_for_answering_machines(make_server, callee):
    server = make_server(**AS_SHIPPED, TRUNKLINE_OUTBOUND_AI_VOICEMAIL_MESSAGE="Call us back.")
    call_id = server.create(callee("voicemail").address, voicemail="hang_up")
    call = server.wait_for(call_id)
    assert call["end_reason"] == "voicemail" and call["voicemail"] == "hang_up" and len(call["attempts"]) == 1
    assert "Call us back." not in [entry["text"] for entry in server.result(call_id)["transcript"]]


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"voicemail": "shout"}, "voicemail"),
        ({"voicemail": 1}, "voicemail"),
        ({"voicemail": "leave_message"}, "voicemail_message"),
        ({"voicemail_message": "x" * 1001}, "voicemail_message"),
    ],
)
@pytest.mark.shared
def test_bad_settings_for_answering_machines_are_refused(server, fields, field):
    status, answer = server.request(
        "POST",
        "/api/outbound/",
        {
            "caller_number": "025550100",
            "callee_number": "sip:a@127.0.0.1:9",
            "purpose": "x",
            "questions": ["y"],
            **fields,
        },
    )
    assert status == 422 and [error["field"] for error in answer["errors"]] == [field], answer
