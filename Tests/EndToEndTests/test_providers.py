"""What calls by every provider have in common. What is one provider's own is in its file (`test_plivo.py`, …)."""

import dataclasses

import pytest
from conftest import ATTEND, mocks
from mock_exotel import MockExotel
from mock_plivo import MockPlivo
from mock_signalwire import MockSignalWire
from mock_telnyx import MockTelnyx
from mock_twilio import MockTwilio
from mock_vonage import MockVonage
from provider_calls import ASKS, record, result_of, start, talk, the_call, told, wait
from realtime_calls import realtime


@dataclasses.dataclass(frozen=True)
class ProviderCase:
    mock: type
    caller: str  # as the provider spells it
    ours: str
    callee: str = "+821098765432"
    is_bare: bool = False  # the provider's numbers have no `+`
    reports_ringing: bool = True
    cancels: bool = True  # its API ends a call that rings

    def shown(self, number):
        return "+" + number if self.is_bare else number

    def dial(self, server):
        return server.create(self.callee, [ATTEND], caller_number=self.shown(self.ours))


PLIVO = ProviderCase(MockPlivo, "14155551234", "14155550000", is_bare=True)
VONAGE = ProviderCase(MockVonage, "447700900000", "442079460000", is_bare=True)
EXOTEL = ProviderCase(
    MockExotel, "09876543210", "+918047491899", callee="+919876501234", reports_ringing=False, cancels=False
)
TWILIO = ProviderCase(MockTwilio, "+821098765432", "+15550199")
SIGNALWIRE = ProviderCase(MockSignalWire, "+821098765432", "+15550199")
TELNYX = ProviderCase(MockTelnyx, "+821098765432", "+15550199", reports_ringing=False)
WITH_PROVIDER_CALLS = [PLIVO, VONAGE, EXOTEL]


def title(value):
    return value.mock.name if isinstance(value, ProviderCase) else str(value) if isinstance(value, str) else None


provider = mocks(lambda case, *arguments, **options: case.mock(*arguments, **options))


def ring_and_answer(call):
    if hasattr(call, "ring"):
        call.ring()
    call.answer()


@pytest.mark.parametrize(
    "case, sound, options",
    [
        (PLIVO, "mulaw/8000", {}),
        (PLIVO, "l16/16000", {}),
        (VONAGE, "l16/16000", {}),
        (VONAGE, "l16/8000", {"uses_get": True}),
        (EXOTEL, "l16/8000", {}),
        (EXOTEL, "l16/16000", {}),
    ],
    ids=title,
)
def test_an_incoming_call(make_server, provider, case, sound, options):
    """Talked through, with a barge-in; it ends after the goodbye."""
    mock = provider(case)
    server = start(make_server, mock, **{f"TRUNKLINE_{mock.name.upper()}_STREAM_FORMAT": sound}, **ASKS)
    call = mock.incoming(case.caller, case.ours, **options)
    thread = call.begin()
    talk(call)
    found = record(server)
    result = result_of(server, found)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.id), result
    assert (found["caller_number"], found["called_number"]) == (case.shown(case.caller), case.shown(case.ours))
    assert result["answers"][0]["status"] == "answered" and result["transcript"][0]["interrupted"], result
    assert told(server, found)[:2] == ["inbound_ringing", "inbound_connected"]
    thread.join(10)
    assert call.failure is None and call.over.is_set(), call.failure
    assert call.stream.clears and call.stream.wire.rate == int(sound.split("/")[1])
    assert len(call.answers) == 1, "nothing follows the stream"


@pytest.mark.parametrize("case", WITH_PROVIDER_CALLS, ids=title)
def test_an_outgoing_call(make_server, provider, case):
    mock = provider(case, ring_and_answer)
    server = start(make_server, mock)
    call_id = case.dial(server)
    call = the_call(mock)
    talk(call, "Yes, I will.")
    found, result = server.wait_for(call_id, seconds=30), server.result(call_id)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.id), result
    assert result["answers"][0]["value"] is True, result
    states = ["queued", "dialing"] + ["ringing"] * case.reports_ringing + ["connected"]
    assert server.events(call_id)[: len(states)] == [f"outbound_{state}" for state in states]
    wait(call.over.is_set, what="the end")
    assert call.failure is None, call.failure


def ending(*words, rings=True, **more):
    """A phone that does not answer."""

    def phone(call):
        if rings:
            call.ring()
        call.end(*words, **more)

    return phone


def hung_up(cause, sip):
    """A phone of Telnyx's that does not answer."""

    def phone(call):
        call.begin()
        call.end(cause, sip)

    return phone


# Of each provider: what a phone does, and the state that comes of it.
NOT_ANSWERED = [
    (
        TWILIO,
        [
            (ending("busy", SipResponseCode="486"), "busy"),
            (ending("no-answer", SipResponseCode="487"), "no_answer"),
            (ending("failed", SipResponseCode="404"), "failed"),
            (ending("failed", SipResponseCode="603"), "rejected"),
            (ending("failed"), "failed"),
        ],
    ),
    (
        SIGNALWIRE,
        [
            # SignalWire's name for the trunk's code is another than Twilio's.
            (ending("busy", SipResultCode="486"), "busy"),
            (ending("no-answer", SipResultCode="487"), "no_answer"),
            (ending("failed", SipResultCode="603"), "rejected"),
            (ending("failed"), "failed"),
        ],
    ),
    (
        TELNYX,
        [
            (hung_up("user_busy", "486"), "busy"),
            (hung_up("timeout", "487"), "no_answer"),
            (hung_up("no_answer", "480"), "no_answer"),
            (hung_up("originator_cancel", "487"), "no_answer"),
            (hung_up("call_rejected", "603"), "rejected"),
            (hung_up("not_found", "404"), "failed"),
            (hung_up("normal_clearing", "200"), "failed"),
            (hung_up("unspecified", "503"), "failed"),
        ],
    ),
    (
        PLIVO,
        [
            (ending("busy", 3010, ""), "busy"),
            (ending("no-answer", 3000, ""), "no_answer"),
            (ending("timeout", 3000, ""), "no_answer"),
            (ending("failed", 3020, ""), "rejected"),
            (ending("failed", 2000, ""), "failed"),
        ],
    ),
    (
        VONAGE,
        [
            (ending("busy"), "busy"),
            (ending("timeout"), "no_answer"),
            (ending("unanswered"), "no_answer"),
            (ending("rejected"), "rejected"),
            (ending("failed"), "failed"),
        ],
    ),
    (
        EXOTEL,
        [
            (ending("busy", rings=False), "busy"),
            (ending("no-answer", rings=False), "no_answer"),
            (ending("failed", rings=False), "failed"),
        ],
    ),
]


@pytest.mark.parametrize("case, phones", NOT_ANSWERED, ids=title)
def test_calls_that_are_not_answered(make_server, provider, case, phones):
    mock = provider(case)
    server = start(make_server, mock)
    for count, (phone, state) in enumerate(phones, 1):
        mock.phone = phone
        found = server.wait_for(case.dial(server), seconds=10)
        assert found["state"] == state, (count, found)
        assert [method for method, _, _ in mock.requests] == ["POST"] * count, "placed once, and not hung up again"


@pytest.mark.parametrize("case", WITH_PROVIDER_CALLS, ids=title)
def test_an_operator_cancels_and_hangs_up(make_server, provider, model, case):
    mock = provider(case, lambda call: call.ring())
    server = start(make_server, mock, **realtime(model([{"text": "A long story.", "ms": 20000}])))
    if case.cancels:
        call_id = case.dial(server)
        server.wait_for(call_id, {"ringing"}, seconds=10)
        server.request("POST", f"/api/outbound/{call_id}/cancel", {})
        assert server.wait_for(call_id, seconds=10)["state"] == "cancelled"
        wait(the_call(mock).over.is_set, what="the cancel")
        mock.calls.clear()
    mock.phone = ring_and_answer
    call_id = case.dial(server)
    server.wait_for(call_id, {"connected"}, seconds=10)
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] in (200, 202)
    assert server.wait_for(call_id, seconds=10)["end_reason"] == "operator_hangup"
    wait(the_call(mock).over.is_set, what="the hang-up")


@pytest.mark.parametrize("case", WITH_PROVIDER_CALLS, ids=title)
def test_a_call_goes_on_whose_placing_was_not_confirmed(make_server, provider, case):
    """It rings: placing it once more would ring twice."""
    mock = provider(case, ring_and_answer)
    mock.loses_answers = True
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_RETRY_RETRY_ON="failed")
    call_id = case.dial(server)
    call = the_call(mock)
    talk(call, "Yes, I will.")
    found, result = server.wait_for(call_id, seconds=30), server.result(call_id)
    assert (found["state"], found["end_reason"], found["call_id"]) == ("completed", "task_completed", call.id), result
    assert found["attempts"][0]["reason"] is None and len(mock.requests) == 1, (found, mock.requests)
    wait(call.over.is_set, what="the end")
    assert call.failure is None, call.failure


def test_a_call_of_which_nothing_is_known_is_not_placed_again(make_server, provider):
    mock = provider(PLIVO)  # its phone does nothing, and so nothing is reported
    mock.loses_answers = True
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_RETRY_RETRY_ON="failed", TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    call_id = PLIVO.dial(server)
    wait(lambda: "its answer is missing" in server.log_end(), what="the warning")
    given_up = dataclasses.replace(PLIVO, callee="+821098765433").dial(server)
    wait(lambda: server.log_end().count("its answer is missing") == 2, what="the second warning")
    server.request("POST", f"/api/outbound/{given_up}/cancel", {})
    assert server.wait_for(given_up, seconds=5)["state"] == "cancelled", "an operator does not wait"
    found = server.wait_for(call_id, seconds=20)
    assert found["state"] == "failed" and "did not tell whether it placed" in found["failure_reason"], found
    assert [method for method, _, _ in mock.requests] == ["POST", "POST"], "one for each call"


def plivos_machine(call):
    call.ring()
    call.status = "in-progress"
    call.machine(True)  # told before anything was asked


def vonages_machine(call):
    call.ring()
    call.status = "answered"
    call.detect("machine")  # told before anything was asked


@pytest.mark.parametrize("case, phone", [(PLIVO, plivos_machine), (VONAGE, vonages_machine)], ids=title)
def test_a_machine_ends_the_call(make_server, provider, model, case, phone):
    mock = provider(case, phone)
    server = start(make_server, mock, **realtime(model([{"text": "Hello?", "ms": 500}])))
    found = server.wait_for(case.dial(server), seconds=15)
    assert (found["state"], found["end_reason"], found["answered_by"]) == ("completed", "voicemail", "voicemail"), found
    wait(the_call(mock).over.is_set, what="the hang-up")


def plivos_silence(call):
    call.uuid = call.request_uuid  # Plivo's usual way: one id
    call.fields = {}
    call.end("busy", 3010, "Busy Line")


def is_busy(call):
    call.status = "busy"


@pytest.mark.parametrize("case, phone", [(PLIVO, plivos_silence), (VONAGE, is_busy), (EXOTEL, is_busy)], ids=title)
def test_a_call_whose_reports_are_lost_is_asked_about(make_server, provider, case, phone):
    mock = provider(case, phone)
    server = start(make_server, mock, TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    assert server.wait_for(case.dial(server), seconds=20)["state"] == "busy"


@pytest.mark.parametrize(
    "case, goes",
    [(PLIVO, "completed"), (PLIVO, "no-answer"), (VONAGE, "completed"), (VONAGE, "timeout"), (VONAGE, "busy")],
    ids=title,
)
def test_a_call_is_transferred(make_server, provider, model, case, goes):
    """The provider calls the operator; without an answer its own voice says so."""

    def phone(call):
        call.operator = goes
        call.answer()

    mock = provider(case, phone)
    speech = model([{"text": "I will put you through.", "ms": 500, "tools": [("transfer_to_operator", {})]}])
    server = start(make_server, mock, **realtime(speech, TRUNKLINE_OPERATORS_NUMBER="+15550177"))
    found = server.wait_for(case.dial(server), seconds=20)
    assert (found["state"], found["end_reason"]) == ("completed", "transferred"), found
    call = the_call(mock)
    wait(call.over.is_set, what="the end")
    assert call.failure is None, call.failure
    assert any("nobody can take your call" in text for text in call.spoken) == (goes != "completed")
    assert call.is_dial(call.answers[1], case.ours, "15550177")
    assert not call.was_hung_up(), "the operator's call is not hung up"
