"""What is made of a call when it is over: cost by component, a model's summary, and the older orchestrator's routes."""

import json
import signal
import time
from decimal import Decimal

import pytest
from api_client import EventSocket
from conftest import ATTEND, GUESTS, SHORT, Server, mocks
from mock_realtime import MockRealtime
from mock_speech import MockSpeech
from realtime_calls import realtime
from test_cascade import ANSWERED, END, GOODBYE, GREETING, TALK
from test_webhooks import FAST, Receiver, ended

speech = mocks(MockSpeech)
receiver = mocks(Receiver)

PRICES = ",".join(
    [
        "telephony/sip started_minute 0.01",
        "speech-to-text/deepgram minute 0.0077",
        "text-to-speech/cartesia 1k_characters 0.05",
        "language-model/openai 1m_input_tokens 0.40",
        "language-model/openai 1m_cached_input_tokens 0.10",
        "language-model/openai 1m_output_tokens 1.60",
    ]
)
MODEL = {"TRUNKLINE_OUTBOUND_RESULT_SUMMARY_MODEL": "openai/gpt-4.1-mini"}


def by_name(result):
    return {component["component"]: component for component in result["cost"]["components"]}


def wait_for_event(server, call_id, name, seconds=20):
    deadline = time.time() + seconds
    while time.time() < deadline:
        if name in server.events(call_id):
            return server.result(call_id)
        time.sleep(0.05)
    raise AssertionError(server.events(call_id))


def test_cost_by_component(make_server, callee, speech):
    mock = speech(TALK, ["Yes, I will be there."])
    server = make_server(
        **mock.settings(),
        TRUNKLINE_COSTS_PRICES=PRICES,
        TRUNKLINE_COSTS_CURRENCY="EUR",
        TRUNKLINE_AGENT_TURN_SPECULATE="false",
    )
    call_id = server.create(callee("load").address, [ATTEND])
    server.wait_for(call_id, seconds=40)
    cost = server.result(call_id)["cost"]
    parts = by_name({"cost": cost})
    assert set(parts) == {
        "telephony/sip",
        "speech-to-text/deepgram",
        "language-model/openai",
        "text-to-speech/cartesia",
    }, parts
    assert cost["currency"] == "EUR" and cost["total"] == cost["known"]
    assert Decimal(cost["total"]) == sum(Decimal(part["amount"]) for part in parts.values())
    assert parts["telephony/sip"]["amount"] == "0.01"
    # Two requests of 800 new, 200 kept and 50 written tokens.
    assert {line["unit"]: line["quantity"] for line in parts["language-model/openai"]["lines"]} == {
        "1m_input_tokens": "0.0016",
        "1m_cached_input_tokens": "0.0004",
        "1m_output_tokens": "0.0001",
    }
    assert parts["language-model/openai"]["amount"] == "0.00084" and not parts["language-model/openai"]["estimated"]
    spoken = sum(
        len(sentence)
        for sentence in ("Hello, this is Riverside Restaurant.", "Will you attend the dinner on Friday?", GOODBYE)
    )
    assert parts["text-to-speech/cartesia"]["amount"] == str((Decimal(spoken) * Decimal("0.00005")).normalize())
    heard = Decimal(parts["speech-to-text/deepgram"]["lines"][0]["quantity"])
    assert 1 < heard * 60 < 10


def test_usage_without_a_price_has_an_unknown_cost(make_server, callee):
    server = make_server(TRUNKLINE_COSTS_PRICES="telephony/sip minute 0.6")
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id)
    result = server.result(call_id)
    parts = by_name(result)
    assert result["cost"]["total"] == "unknown" and parts["speech-to-text/embedded"]["amount"] == "unknown"
    assert float(parts["telephony/sip"]["amount"]) == pytest.approx(result["duration_seconds"] / 100, abs=0.01)
    assert result["cost"]["known"] == parts["telephony/sip"]["amount"]
    assert int(parts["text-to-speech/embedded"]["lines"][0]["quantity"]) > 50


def test_usage_is_estimated_if_the_vendor_does_not_report_it(make_server, callee, speech):
    mock = speech(TALK, ["Yes, I will be there."], {"chat": "no usage"})
    server = make_server(**mock.settings(), TRUNKLINE_COSTS_PRICES=PRICES)
    call_id = server.create(callee("load").address, [ATTEND])
    server.wait_for(call_id, seconds=40)
    model = by_name(server.result(call_id))["language-model/openai"]
    assert model["estimated"] and Decimal(model["amount"]) > 0


def test_tokens_of_a_speech_model(make_server, callee):
    usage = {
        "total_tokens": 900,
        "input_tokens": 700,
        "output_tokens": 200,
        "input_token_details": {
            "text_tokens": 300,
            "audio_tokens": 400,
            "cached_tokens": 100,
            "cached_tokens_details": {"text_tokens": 60, "audio_tokens": 40},
        },
        "output_token_details": {"text_tokens": 50, "audio_tokens": 150},
    }
    model = MockRealtime(
        [{"text": GREETING, "ms": 600}, {"text": GOODBYE, "ms": 500, "tools": [ANSWERED, END]}], ["Yes."], usage=usage
    )
    try:
        prices = (
            "realtime/openai 1m_input_tokens 4,realtime/openai 1m_cached_input_tokens 0.4,"
            "realtime/openai 1m_audio_input_tokens 32,realtime/openai 1m_output_tokens 16,"
            "realtime/openai 1m_audio_output_tokens 64,telephony/sip minute 0"
        )
        server = make_server(**realtime(model, TRUNKLINE_BRIDGE_OPEN_STREAMS="false", TRUNKLINE_COSTS_PRICES=prices))
        call_id = server.create(callee("load").address, [ATTEND])
        server.wait_for(call_id, seconds=40)
        result = server.result(call_id)
        lines = {line["unit"]: line["quantity"] for line in by_name(result)["realtime/openai"]["lines"]}
        count = round(Decimal(lines["1m_audio_output_tokens"]) * 1_000_000 / 150)
        assert count >= 2
        assert {unit: Decimal(lines[unit]) * 1_000_000 / count for unit in lines if unit != "milliseconds"} == {
            "1m_input_tokens": 240,
            "1m_cached_input_tokens": 100,
            "1m_output_tokens": 50,
            "1m_audio_input_tokens": 360,
            "1m_audio_output_tokens": 150,
        }
        each = Decimal("240") * 4 + 100 * Decimal("0.4") + 360 * 32 + 50 * 16 + 150 * 64
        assert Decimal(result["cost"]["total"]) == count * each / 1_000_000
    finally:
        model.stop()


def test_a_model_summarises_the_call(make_server, callee, speech, receiver):
    mock, hook = speech(TALK, ["Yes, I will be there."]), receiver()
    server = make_server(**mock.settings(), **MODEL, **FAST, TRUNKLINE_COSTS_PRICES=PRICES)
    call_id = server.create(callee("load").address, [ATTEND], webhook_url=hook.url)
    server.wait_for(call_id, seconds=40)
    result = wait_for_event(server, call_id, "outbound_analyzed")
    assert (result["summary"], result["summary_source"]) == ("They come on Friday.", "model")
    assert (result["sentiment"], result["sentiment_source"]) == ("positive", "model")
    asked = mock.summaries[-1]
    assert asked["model"] == "gpt-4.1-mini" and "Other party: Yes, I will be there." in asked["messages"][1]["content"]
    # What the summary cost is in it.
    lines = {line["unit"]: line["quantity"] for line in by_name(result)["language-model/openai"]["lines"]}
    assert Decimal(lines["1m_output_tokens"]) * 1_000_000 % 50 == 20
    assert hook.wait_for(
        lambda events: any(
            event["event"] == "outbound_analyzed" and event["summary"] == "They come on Friday." for event in events
        )
    )
    names = [event["event"] for _, event in hook.received]
    assert names.index("outbound_completed") < names.index("outbound_analyzed")


@pytest.mark.parametrize("fault", ["500", "429", "401"])
def test_without_the_model_the_template_stays(make_server, callee, speech, fault):
    mock = speech(TALK, ["Yes, I will be there."])
    server = make_server(**mock.settings("deepgram", "embedded", "cartesia"), **MODEL)
    mock.faults["chat"] = fault
    call_id = server.create(callee("load").address, [ATTEND])
    call = server.wait_for(call_id, seconds=40)
    deadline = time.time() + 15
    while "no summary by the model" not in (log := (server.folder / "server.log").read_text()):
        assert time.time() < deadline, log
        time.sleep(0.1)
    result = server.result(call_id)
    assert call["state"] == "completed" and result["summary_source"] == "template" and result["sentiment"] is None


def test_a_killed_server_makes_its_summaries_at_the_next_start(make_server, callee, speech):
    mock = speech(TALK, ["Yes, I will be there."])
    mock.review_delay = 30
    server = make_server(**mock.settings(), **MODEL)
    call_id = server.create(callee("load").address, [ATTEND])
    server.wait_for(call_id, seconds=40)
    assert server.result(call_id)["summary_source"] == "template"
    server.kill(signal.SIGKILL)
    mock.review_delay = 0
    server.start()
    result = wait_for_event(server, call_id, "outbound_analyzed")
    assert result["summary_source"] == "model"


# The older orchestrator.

RECEIVED = {
    "user": {"name": "Kim Minji", "phone": "", "age": 71, "number": 9007199254740993},
    "vulnerability": {"title": "Heat warning", "description": "The city warns of heat this week"},
    "questions": [
        {"question": "Where is the cooling centre?", "answer": "It is in the town hall."},
        {"question": ATTEND},
        {"question": GUESTS},
    ],
}


@pytest.mark.early
def test_a_call_by_receive_is_placed_and_its_result_posted(make_server, callee, receiver):
    hook = receiver()
    server = make_server(**FAST, TRUNKLINE_RESULT_CALLBACK_URL=hook.url, TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100")
    request = {**RECEIVED, "user": {**RECEIVED["user"], "phone": callee("cooperative").address}}
    status, answer = server.request("POST", "/receive", request)
    assert status == 202, answer
    call_id = answer["outbound_id"]
    call = server.wait_for(call_id)
    assert call["purpose"] == "Speak with Kim Minji about this: The city warns of heat this week. Heat warning"
    assert [question["text"] for question in call["questions"]] == [ATTEND, GUESTS] and call["metadata"]["user"][
        "age"
    ] == 71
    assert hook.wait_for(lambda events: events)
    body = hook.received[0][1]
    assert (
        body["outbound_id"] == call_id
        and body["user"]["name"] == "Kim Minji"
        and body["vulnerability"]["title"] == "Heat warning"
    )
    assert body["user"]["number"] == 9007199254740993, "not as a double"
    assert [pair["status"] for pair in body["questions"]] == ["answered", "answered"] and body["analysis"][
        "task_completed"
    ] is True
    assert body["summary"] and body["transcript"] and body["call_id"].startswith(f"outbound-{call_id}-")
    # Again, by either id.
    assert server.request("POST", "/send_llm_result", {"call_id": body["call_id"]})[0] == 202
    assert hook.wait_for(lambda events: len(events) == 2) and hook.received[1][1] == body
    assert server.request("POST", "/send_llm_result", {"outbound_id": call_id})[0] == 202
    assert hook.wait_for(lambda events: len(events) == 3)


def test_numbers_of_any_size_are_posted_byte_for_byte(make_server, callee, receiver):
    """What the orchestrator sent about a person comes back in the post-back as it was; events have none of it."""
    hook, events = receiver(), receiver()
    server = make_server(
        **FAST,
        TRUNKLINE_RESULT_CALLBACK_URL=hook.url,
        TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100",
        TRUNKLINE_WEBHOOKS_URL=events.url,
    )
    numbers = (
        '{"big":[9007199254740993,123456789012345678901234567890,-0],"exact":0.1000,"far":1e400,"near":1e-400,'
        '"precise":3.14159265358979323846264338327950288}'
    )
    request = {**RECEIVED, "user": {**RECEIVED["user"], "phone": callee("busy").address}}
    body = json.dumps(request, separators=(",", ":"))
    assert '"number":9007199254740993' in body
    body = body.replace('"number":9007199254740993', '"number":' + numbers)
    status, answer = server.request("POST", "/receive", body)
    assert status == 202, answer
    server.wait_for(answer["outbound_id"])
    stored = server.request("GET", f"/api/outbound/{answer['outbound_id']}", raw=True)[1]
    assert ('"number":' + numbers).encode() in stored
    hook.wait_for(lambda events: events)
    assert ('"number":' + numbers).encode() in hook.bodies[0], hook.bodies[0]
    told = events.wait_for(ended)
    socket = EventSocket(server.http_port, "/api/events?after=0")
    live = [socket.receive() for _ in told]
    assert [event["event"] for event in live] == [event["event"] for event in told]
    assert not any("metadata" in event or "user" in event for event in live + told)
    assert not any(b"9007199254740993" in body for body in events.bodies)


def test_expected_questions_of_the_callee_are_answered(make_server, callee, speech):
    mock = speech(
        [{"text": "Hello there."}, {}, {"text": GOODBYE, "tools": [END]}],
        ["Where is the cooling centre?", "Thank you."],
    )
    server = make_server(
        **mock.settings("deepgram", "openai", "cartesia"), TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100"
    )
    request = {**RECEIVED, "user": {"phone": callee("load").address}, "questions": RECEIVED["questions"][:1]}
    call_id = server.request("POST", "/receive", request)[1]["outbound_id"]
    server.wait_for(call_id, seconds=60)
    said = [
        (entry["text"], entry.get("sources"))
        for entry in server.result(call_id)["transcript"]
        if entry["speaker"] == "ai"
    ]
    assert said[1] == ("It is in the town hall.", ["Where is the cooling centre?"]), said
    assert "Where is the cooling centre? — It is in the town hall." in mock.chats[0]["messages"][0]["content"]


@pytest.fixture(scope="module")
def idle_server(tmp_path_factory):
    """Takes requests and places no calls."""
    settings = {"TRUNKLINE_OUTBOUND_CALLER_NUMBER": "025550100", "TRUNKLINE_OUTBOUND_ENABLED": "false"}
    running = Server(tmp_path_factory.mktemp("idle"), **SHORT, **settings).start()
    yield running
    running.discard()


@pytest.mark.parametrize(
    "change, field",
    [
        ({"user": None}, "user"),
        ({"user": {"name": "Kim"}}, "user.phone"),
        ({"user": {"phone": "abc"}}, "user.phone"),
        ({"user": {"phone": 7}}, "user.phone"),
        ({"questions": {}}, "questions"),
        ({"questions": [{"answer": "x"}]}, "questions[0].question"),
        ({"questions": ["x"]}, "questions[0]"),
        ({"questions": [{"question": "x", "answr": "y"}]}, "questions[0].answr"),
        ({"extra": 1}, "extra"),
        ({"vulnerability": 7}, "vulnerability"),
        ({"questions": [{"question": "x"}] * 21}, "questions"),
        ({"vulnerability": {"x": "y" * 20_000}}, "vulnerability"),
    ],
)
def test_bad_requests_of_the_orchestrator(idle_server, change, field):
    status, answer = idle_server.request("POST", "/receive", {"user": {"phone": "sip:a@127.0.0.1:9"}, **change})
    assert status == 422 and field in [error["field"] for error in answer["errors"]], answer
    assert idle_server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_resending_needs_a_call_and_an_address(make_server, receiver):
    server = make_server(TRUNKLINE_OUTBOUND_ENABLED="false")
    call_id = server.create("sip:a@127.0.0.1:9")
    assert server.request("POST", "/send_llm_result", {"outbound_id": call_id})[0] == 409
    other = make_server(TRUNKLINE_OUTBOUND_ENABLED="false", TRUNKLINE_RESULT_CALLBACK_URL=receiver().url)
    assert other.request("POST", "/send_llm_result", {"outbound_id": "ob-00000000"})[0] == 404
    assert other.request("POST", "/send_llm_result", {"call_id": "x"})[0] == 404
    assert other.request("POST", "/send_llm_result", {})[0] == 422
    assert other.request("POST", "/send_llm_result", {"outbound_id": other.create("sip:a@127.0.0.1:9")})[0] == 409
    assert server.request("POST", "/receive", {"user": {"phone": "sip:a@127.0.0.1:9"}})[0] == 409, "no caller number"
