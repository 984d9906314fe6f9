"""Calls that Twilio brings: whose number it is decides what is said, and the record stands among the calls that came
in."""

import time

import pytest
from conftest import mocks
from mock_twilio import MockTwilio
from provider_calls import ASKS, CALLER, OURS, begin, inbound, record, result_of, start, told, wait
from realtime_calls import realtime
from spoken_words import spoken

WAYS = ["stream", "turns"]

carrier = mocks(MockTwilio)


def check_whole_call(server, call, phone):
    result = result_of(server, call)
    assert (call["state"], call["end_reason"], call["call_id"]) == ("completed", "task_completed", phone.sid), (
        call,
        result,
    )
    assert (call["caller_number"], call["called_number"], call["purpose"]) == (CALLER, OURS, "You take reservations.")
    assert call["carrier"] == "twilio" and call["dialect"] in ("twilio", None)
    streamed = int(call["dialect"] == "twilio")
    for query, total in [("carrier=twilio", 1), ("dialect=twilio", streamed), ("carrier=sip", 0), ("dialect=plivo", 0)]:
        assert server.request("GET", f"/api/inbound/?{query}")[1]["total"] == total, query
    entries = result["transcript"]
    assert entries[0]["speaker"] == "ai" and entries[0]["text"].startswith(
        "Riverside Restaurant, good day. Shall we call you back?"
    ), entries
    assert not any("calling about" in entry["text"] for entry in entries), entries
    assert [answer["question_text"] for answer in result["answers"]] == ["Shall we call you back?"]
    assert result["answers"][0]["status"] == "answered" and "es" in result["answers"][0]["answer_text"], result[
        "answers"
    ]
    assert entries[-1]["speaker"] == "ai" and not entries[-1].get("interrupted"), "the goodbye was heard to its end"
    names = told(server, call)
    assert names[:2] == ["inbound_ringing", "inbound_connected"] and names[-1] == "inbound_completed", names
    assert (
        not any(name.startswith("outbound") for name in names)
        and server.request("GET", "/api/outbound/")[1]["total"] == 0
    )
    assert server.request("GET", result["recording_url"], raw=True)[0] == 200
    assert inbound(server)[0]["caller_number"] == "+82****5432"


def test_a_streamed_call(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    thread = begin(phone)
    wait(lambda: phone.carrier and phone.carrier.played_ms() > 1500 and phone.carrier.is_quiet(1), what="the greeting")
    ringing = record(server, ("connected",))
    assert ringing["answered_at"] and ringing["state"] == "connected"
    phone.carrier.say_file(spoken("Yes, please."))
    call = record(server)
    check_whole_call(server, call, phone)
    assert call["dialect"] == "twilio"
    # What was played is what was said: nothing of the goodbye was left in a buffer.
    said = sum(
        entry["end"] - entry["timestamp"] for entry in result_of(server, call)["transcript"] if entry["speaker"] == "ai"
    )
    assert 20 * len(phone.carrier.play_log) >= 950 * said > 4000
    assert not phone.carrier.clears and not phone.carrier.queue
    thread.join(10)
    assert phone.status == "completed" and "<Hangup" in phone.twiml[-1]


def test_a_call_by_turns(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE="turns", **ASKS)
    phone = mock.incoming(CALLER, OURS)
    phone.plays_in_real_time, phone.answers = True, [spoken("Yes, please.")]
    begin(phone).join(60)
    check_whole_call(server, record(server), phone)
    assert len(phone.played) == 2 and "<Hangup" in phone.twiml[-1]
    assert not [form for method, path, form in mock.requests if form.get("Status")], (
        "Twilio hangs up by itself, after the goodbye"
    )


def test_a_stream_from_a_twiml_bin_works_with_and_without_numbers(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    first = mock.incoming(CALLER, OURS)
    begin(first, lambda: first.stream_from_a_bin({"from": CALLER, "to": OURS}))
    wait(lambda: first.carrier and first.carrier.played_ms() > 1000, what="the greeting")
    first.carrier.hang_up()
    call = record(server)
    assert (call["caller_number"], call["called_number"], call["end_reason"]) == (CALLER, OURS, "callee_hangup"), call
    assert (
        told(server, call)[:2] == ["inbound_ringing", "inbound_connected"] and told(server, call)[-1] == "inbound_ended"
    )
    second = mock.incoming(CALLER, OURS)
    begin(second, second.stream_from_a_bin)
    wait(lambda: second.carrier and second.carrier.played_ms() > 1000, what="the greeting")
    second.carrier.hang_up()
    wait(lambda: len(inbound(server)) == 2 and inbound(server)[0]["state"] == "completed")
    call = record(server)
    assert (call["caller_number"], call["called_number"], call["call_id"]) == ("unknown", "unknown", second.sid), call


@pytest.mark.parametrize("way", WAYS)
def test_a_number_has_its_own_template(make_server, carrier, way):
    """A number is answered by its template alone; a number without one is refused, and so is its stream."""
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE=way, TRUNKLINE_INBOUND_NUMBERS="+15550111", **ASKS)
    template = server.request(
        "POST",
        "/api/templates",
        {
            "name": "Tables",
            "purpose": "You sell tables.",
            "questions": [{"text": "For how many people?", "type": "number"}],
            "greeting": "Tables, good morning.",
        },
    )[1]
    assert server.request("POST", "/api/numbers", {"number": OURS, "template_id": template["id"]})[0] == 201
    phone = mock.incoming(CALLER, OURS)
    phone.answers = ["4"]
    begin(phone)
    if way == "stream":
        wait(
            lambda: phone.carrier and phone.carrier.played_ms() > 1000 and phone.carrier.is_quiet(1),
            what="the greeting",
        )
        phone.carrier.press("4")
        phone.carrier.press("#")
    call, result = record(server), None
    result = result_of(server, call)
    assert call["purpose"] == "You sell tables." and result["answers"][0]["value"] == 4, result
    assert result["transcript"][0]["text"].startswith("Tables, good morning."), result["transcript"]

    stranger = mock.incoming(CALLER, "+15550122")
    begin(stranger).join(10)
    assert stranger.refused == "rejected" and stranger.carrier is None and not stranger.played
    refused = mock.incoming(CALLER, "+15550122")
    begin(refused, lambda: refused.stream_from_a_bin({"from": CALLER, "to": "+15550122"})).join(10)
    assert refused.carrier.close_code == 1008
    assert len(inbound(server)) == 1 and server.request("GET", "/api/outbound/")[1]["total"] == 0
    assert "+15550122" not in (server.folder / "server.log").read_text()


@pytest.mark.parametrize("way", WAYS)
def test_a_call_beyond_the_limit_is_busy(make_server, carrier, way):
    """The bound is that of all incoming calls, and a place is free again when its call has ended, or was given up."""
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE=way, TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="1", **ASKS)
    gone = mock.incoming(CALLER, OURS)
    assert mock.webhook(gone.field("Url"), gone.parameters())[0] == 200
    busy = mock.incoming(CALLER, OURS)
    begin(busy).join(10)
    assert busy.refused == "busy" and busy.carrier is None
    gone.end("completed")  # the caller hangs up before anything is heard
    call = record(server)
    assert call["call_id"] == gone.sid and (call["state"], call["end_reason"]) == (
        ("failed", None) if way == "stream" else ("completed", "callee_hangup")
    ), call
    assert way == "turns" or "gave up" in call["failure_reason"]
    phone = mock.incoming(CALLER, OURS)
    phone.plays_in_real_time, phone.answers = True, [spoken("Yes, please.")]
    wait(lambda: begin(phone) is not None and (time.sleep(0.5) or phone.refused is None), 5)
    if way == "stream":
        wait(lambda: phone.carrier and phone.carrier.played_ms() > 500, what="the greeting")
        phone.carrier.hang_up()
    wait(lambda: len(inbound(server)) == 2 and inbound(server)[0]["state"] == "completed", 40)
    assert inbound(server)[0]["inbound_id"] != call["inbound_id"]


def test_the_call_ends_when_the_caller_hangs_up(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    begin(phone)
    wait(lambda: phone.carrier and phone.carrier.played_ms() > 600, what="the greeting")
    phone.carrier.hang_up()
    call = record(server)
    assert (call["state"], call["end_reason"]) == ("completed", "callee_hangup") and told(server, call)[
        -1
    ] == "inbound_ended"
    assert result_of(server, call)["transcript"][0]["interrupted"] is True


@pytest.mark.parametrize("way", WAYS)
def test_late_repeated_lost_and_foreign_callbacks_do_no_harm(make_server, carrier, way):
    """A webhook told twice is one call; a report of the end that comes late, twice or never changes nothing that has
    ended."""
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE=way, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    # Otherwise a call by turns is over before the reports about it have come.
    phone.plays_in_real_time = True
    begin(phone)
    wait(lambda: record(server, ("connected", "completed")), what="the answer")
    hook = phone.field("StatusCallback")
    for foreign in (
        {"CallSid": "CA" + "9" * 32, "CallStatus": "completed"},
        {"CallSid": phone.sid, "CallStatus": "ringing"},
        {"CallSid": phone.sid, "CallStatus": "in-progress"},
        {"CallSid": phone.sid, "CallStatus": "no such state"},
    ):
        assert mock.webhook(hook, foreign)[0] == 204
    status, _ = mock.webhook(phone.field("Url"), phone.parameters())
    assert status == 200 and len(inbound(server)) == 1
    phone.over.set()
    for _ in range(2):
        assert mock.webhook(hook, {**phone.parameters(), "CallStatus": "completed"})[0] == 204
    call = record(server)
    assert (call["state"], call["end_reason"]) == ("completed", "callee_hangup"), call
    # After the end: nothing begins anew.
    assert mock.webhook(hook, {**phone.parameters(), "CallStatus": "in-progress"})[0] == 204
    assert "<Hangup/>" in mock.webhook(phone.field("Url"), phone.parameters())[1]
    assert (
        len(inbound(server)) == 1
        and told(server, call)[-1] == "inbound_ended"
        and told(server, call).count("inbound_ended") == 1
    )
    assert record(server)["completed_at"] == call["completed_at"]


def test_a_call_whose_stream_never_starts_fails(make_server, carrier):
    """Nothing is heard of the call any more: it ends by itself, and Twilio is told to hang up."""
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    assert mock.webhook(phone.field("Url"), phone.parameters())[0] == 200
    assert record(server, ("ringing",))["state"] == "ringing"
    call = record(server, seconds=25)
    assert call["state"] == "failed" and "stream" in call["failure_reason"], call
    wait(lambda: any(form.get("Status") == ["completed"] for _, _, form in mock.requests), what="the hang-up")


def test_a_call_whose_stream_fails_is_held_by_turns(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    phone.streams_work, phone.plays_in_real_time, phone.answers = False, True, [spoken("Yes, please.")]
    begin(phone).join(60)
    check_whole_call(server, record(server), phone)


@pytest.mark.parametrize("way", WAYS)
def test_an_operator_can_hang_up(make_server, carrier, way):
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_TWILIO_MODE=way, **ASKS)
    phone = mock.incoming(CALLER, OURS)
    phone.plays_in_real_time = True
    begin(phone)
    call = record(server, ("connected",))
    assert server.request("POST", f"/api/inbound/{call['inbound_id']}/hangup", {})[0] == 202
    call = record(server)
    assert (call["state"], call["end_reason"]) == ("completed", "operator_hangup"), call
    assert phone.over.wait(10)


def test_the_maximum_duration_ends_the_call(make_server, carrier):
    mock = carrier()
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_MAX_CALL_DURATION="10", **ASKS)
    phone = mock.incoming(CALLER, OURS)
    begin(phone)
    call = record(server, seconds=40)
    assert call["end_reason"] in ("max_duration", "silence") and call["state"] == "completed", call


def test_a_speech_model_is_told_that_it_answers(make_server, carrier, model):
    """Realtime mode: the instructions are those of a call that came in, with the number's purpose."""
    speech = model([{"text": "Riverside Restaurant, good day.", "ms": 700}] * 3)
    mock = carrier()
    server = start(make_server, mock, **{**realtime(speech), "TRUNKLINE_BRIDGE_OPEN_STREAMS": "false", **ASKS})
    phone = mock.incoming(CALLER, OURS)
    begin(phone)
    # Nearly all of its 700 ms: how exactly a sentence is heard, test_realtime measures.
    wait(lambda: phone.carrier and phone.carrier.played_ms() >= 600, what="the greeting")
    words = next(
        message["session"]["instructions"] for _, _, message in speech.log if message["type"] == "session.update"
    )
    assert (
        "You take reservations." in words and "Shall we call you back?" in words and "Riverside" in str(speech.log)
    ), words
    phone.carrier.hang_up()
    call = record(server)
    assert (call["caller_number"], call["called_number"], call["end_reason"]) == (CALLER, OURS, "callee_hangup")
