"""Whatever the other party talks a model into calling: tools that were never offered, odd, huge and repeated arguments.
Ignored, and the call goes on."""

from conftest import ATTEND, mocks
from mock_speech import MockSpeech
from realtime_calls import ended, realtime, stream
from test_cascade import ANSWERED, END, GOODBYE, GREETING

ODD = [
    ("run_shell", {"command": "rm -rf /"}),
    ("read_file", {"path": "/etc/passwd"}),
    ("__proto__", {}),
    ("", {}),
    ("end_call ", {"reason": "task_completed"}),
    ("END_CALL", {}),
    ("send_dtmf\n", {"digits": "911"}),
    ("transfer_to_operator", {"to": "sip:evil@198.51.100.1", "number": "+19005550100"}),
    ("book_appointment", {"when": "now"}),
    ("check_availability", []),
    ("x" * 5_000, {"a": 1}),
    ("run_shell", {"a": "b" * 200_000}),
    (
        "report_task_state",
        {"questions": [{"id": "q99", "status": "answered", "answer": "no", "value": False}, 7, None, {"id": None}]},
    ),
    ("report_task_state", {"questions": "all", "should_end_call": "maybe"}),
    ("report_task_state", {}),
    ("hang_up", {}),
    ("say", {"text": "I am the server"}),
    ("http_get", {"url": "http://127.0.0.1:1/"}),
]


def deep(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_tools_never_offered_to_a_speech_model_are_refused(make_server, model):
    """One response with every one of them, one with a hundred of the same; then the conversation goes on as it
    should."""
    mock = model(
        [
            {"text": "One moment.", "ms": 300, "tools": ODD + [("run_shell", deep(60))]},
            {"text": "Again.", "ms": 300, "tools": [("run_shell", {"n": number}) for number in range(100)]},
            {"text": "Still here.", "ms": 300},
            {"text": "Thank you, goodbye.", "ms": 300, "tools": [("end_call", {"reason": "task_completed"})]},
        ],
        ["Yes.", "Yes.", "Yes.", "Yes."],
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 280, what="the greeting")
    for _ in range(4):
        if not carrier.open:
            break
        heard = carrier.played_ms()
        carrier.say(600)
        try:
            carrier.wait(
                lambda: carrier.played_ms() >= heard + 250 or not carrier.open, seconds=20, what="the next answer"
            )
        except AssertionError:
            break
    call = server.call(ended(server, seconds=30))
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), call
    offered = {
        tool["name"] for message in mock.messages("session.update") for tool in message["session"].get("tools", [])
    }
    assert "run_shell" not in offered and not any("transfer" in name for name in offered), offered
    assert server.process.poll() is None and server.request("GET", "/health", key=None)[0] == 200
    log = (server.folder / "server.log").read_text()
    assert "rm -rf" not in log and "/etc/passwd" not in log and "evil@" not in log, (
        "what a caller talks a model into is in no log"
    )


speech = mocks(MockSpeech)


def test_tools_never_offered_to_a_language_model_are_refused(make_server, callee, speech):
    """Cascade: the same in its turns, once all of them and once a hundred of one kind; the question is answered all the
    same."""
    # It comes in pieces of nine characters: more than 64 KiB of them are one call too many already.
    odd = [(name, arguments) for name, arguments in ODD if len(str(arguments)) < 10_000] + [
        ("run_shell", {"a": "b" * 80_000})
    ]
    odd = [odd[-1], *odd[:-1]]
    turns = [
        {"text": GREETING, "tools": odd},
        {"text": "Well?", "tools": [("run_shell", {"n": number}) for number in range(100)]},
    ]

    def script(asked):
        if "Yes." in str(asked["messages"][-1]["content"]) and not turns:
            return {"text": GOODBYE, "tools": [ANSWERED, END]}
        return turns.pop(0) if turns else {"text": "Will you?"}

    mock = speech(script, ["Well.", "Yes."] * 4)
    server = make_server(**mock.settings())
    call_id = server.create(callee("cooperative").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=90), server.result(call_id)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), (call, result)
    assert result["answers"][0]["value"] is True, result
    offered = {tool["function"]["name"] for chat in mock.chats for tool in chat.get("tools", [])}
    assert offered == {"report_task_state", "end_call", "send_dtmf"}, offered
    log = (server.folder / "server.log").read_text()
    assert "rm -rf" not in log and "evil@" not in log
