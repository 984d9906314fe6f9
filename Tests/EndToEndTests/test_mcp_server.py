"""`POST /mcp` as models use it: PyPI's clients of both eras."""

import contextlib
import json
import subprocess
import sys
import time

import pytest
from conftest import GUESTS, KEY, ROOT

TOOLS = ["list_agents", "check_call", "place_call", "get_call", "get_transcript", "list_calls", "end_call"]
FOR_VIEWERS = ["list_agents", "get_call", "get_transcript", "list_calls"]


class Client:
    """A client of one of the two versions of `mcp`, which speaks one era or finds it out."""

    def __init__(self, server, version="mcp-2026", mode="auto", key=KEY):
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "Tests/EndToEndTests/mcp_client.py"), server.url + "/mcp", key, mode],
            env={"PYTHONPATH": str(ROOT / ".build/test-venv" / version)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.agreed = self._read()

    def _read(self):
        line = self.process.stdout.readline()
        assert line, "the client ended"
        return json.loads(line)

    def ask(self, **asked):
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return self._read()

    def tools(self):
        return self.ask(list=True)["tools"]

    def call(self, tool, **arguments):
        """The structured result; the text says the same."""
        answer = self.ask(tool=tool, arguments=arguments)
        assert "error" not in answer, answer
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
        assert not answer["isError"], answer
        return answer["structuredContent"]

    def refused(self, tool, **arguments):
        answer = self.ask(tool=tool, arguments=arguments)
        assert answer["isError"], answer
        return answer["structuredContent"]

    def stop(self):
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def client():
    running = []

    def start(*arguments, **options):
        running.append(Client(*arguments, **options))
        return running[-1]

    yield start
    for one in running:
        one.stop()


ERAS = [
    pytest.param("mcp-2026", "auto", "2026-07-28", id="current"),
    pytest.param("mcp-2026", "legacy", "2025-11-25", id="current-legacy"),
    pytest.param("mcp-2025", "legacy", "2025-11-25", id="legacy"),
]


@pytest.mark.parametrize(("version", "mode", "agreed"), ERAS)
def test_pypi_clients_call_every_tool(make_server, callee, client, version, mode, agreed):
    server = make_server(TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100")
    model = client(server, version, mode)
    assert model.agreed["version"] == agreed and model.agreed["modern"] == (agreed == "2026-07-28")
    assert model.agreed["server"]["name"] == "trunkline" and "untrusted" in model.agreed["instructions"]
    tools = model.tools()
    assert [tool["name"] for tool in tools] == TOOLS
    place = next(tool for tool in tools if tool["name"] == "place_call")
    assert place["annotations"]["destructiveHint"] and place["annotations"]["openWorldHint"]
    assert set(place["inputSchema"]["required"]) == {"callee_number"}
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools if tool["name"] in FOR_VIEWERS)

    assert model.call("list_agents")["agents"][0]["slug"] == "default"
    silent = callee("silent")
    call = {"callee_number": silent.address, "purpose": "the dinner on Friday", "questions": [GUESTS]}
    checked = model.call("check_call", **call)
    assert checked["acceptable"] and checked["next_permitted_at"] and checked["held_by"] == []
    assert model.call("list_calls")["total"] == 0, "a check stores nothing"

    placed = model.call("place_call", **call, idempotency_key="once")
    assert model.call("place_call", **call, idempotency_key="once") == placed
    call_id = placed["outbound_id"]
    assert model.call("list_calls", q="dinner", limit=5)["total"] == 1
    server.wait_for(call_id, {"connected"})
    assert not model.call("get_call", outbound_id=call_id, wait_seconds=1)["final"]
    deadline = time.time() + 20
    while not (entries := model.call("get_transcript", outbound_id=call_id)["entries"]):
        assert time.time() < deadline, "the AI says nothing"
        time.sleep(0.25)
    assert entries[0]["speaker"] == "ai" and entries[0]["turn"] == 0 and "untrusted" not in entries[0]
    assert model.call("end_call", outbound_id=call_id)["outbound_id"] == call_id
    ended = model.call("get_call", outbound_id=call_id, wait_seconds=25)
    assert ended["final"] and ended["state"] == "completed" and ended["end_reason"] == "operator_hangup"
    again = model.refused("end_call", outbound_id=call_id)
    assert again["code"] == "conflict"
    audit = server.request("GET", "/api/audit")[1]["items"]
    assert {(entry["action"], entry["actor"]) for entry in audit if entry["action"].startswith("call.")} == {
        ("call.create", "admin via mcp"),
        ("call.hangup", "admin via mcp"),
    }
    assert server.call(call_id)["requested_by"] == "admin"


def test_a_conversation_is_waited_for_and_its_words_are_marked(make_server, callee, client):
    server = make_server(TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100")
    model = client(server)
    call_id = model.call(
        "place_call", callee_number=callee("cooperative").address, purpose="the dinner on Friday", questions=[GUESTS]
    )["outbound_id"]
    begun = time.monotonic()
    for _ in range(6):
        result = model.call("get_call", outbound_id=call_id, wait_seconds=25)
        if result["final"]:
            break
    assert result["final"] and result["state"] == "completed", result
    # It waited, and not longer than the call.
    assert time.monotonic() - begun > 2
    assert result["task_completed"] and result["untrusted"] and result["summary"]
    assert result["answers"][0]["status"] == "answered" and result["answers"][0]["untrusted"]
    begun = time.monotonic()
    assert model.call("get_call", outbound_id=call_id, wait_seconds=25)["final"]
    assert time.monotonic() - begun < 5
    entries = model.call("get_transcript", outbound_id=call_id)["entries"]
    assert all(entry.get("untrusted", False) == (entry["speaker"] == "customer") for entry in entries)
    assert {entry["speaker"] for entry in entries} == {"ai", "customer"}
    rest = model.call("get_transcript", outbound_id=call_id, after_turn=entries[0]["turn"])["entries"]
    assert rest == entries[1:]


def test_roles_see_and_call_what_is_theirs(make_server, client):
    server = make_server(TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100")
    key = server.request("POST", "/api/keys", {"name": "reader", "role": "viewer"})[1]["key"]
    reader = client(server, key=key)
    assert [tool["name"] for tool in reader.tools()] == FOR_VIEWERS
    for tool in set(TOOLS) - set(FOR_VIEWERS):
        assert reader.refused(tool)["code"] == "forbidden", tool
    assert reader.call("list_calls")["items"] == []
    key = server.request("POST", "/api/keys", {"name": "caller", "role": "operator"})[1]["key"]
    assert [tool["name"] for tool in client(server, key=key).tools()] == TOOLS


def test_bad_arguments_are_all_named(make_server, client):
    server = make_server()
    model = client(server)

    def fields(tool, **arguments):
        return {error["field"]: error["code"] for error in model.refused(tool, **arguments)["errors"]}

    assert fields("place_call") == dict.fromkeys(["caller_number", "callee_number", "purpose", "questions"], "required")
    bad = {
        "callee_number": 5,
        "purpose": "",
        "questions": [""],
        "variables": {"a": 1},
        "idempotency_key": "x" * 300,
        "agent": "nobody",
        "scheduled_at": "2020-01-01T00:00:00Z",
        "language": "e",
        # A field of the API that is no argument of the tool.
        "webhook_url": "https://example.com/",
        "caller_number": "025550100",
    }
    for tool in ("place_call", "check_call"):
        assert fields(tool, **bad) == {
            "callee_number": "not_text",
            "purpose": "blank",
            "questions[0]": "blank",
            "idempotency_key": "too_long",
            "agent": "unknown_agent",
            "scheduled_at": "in_the_past",
            "language": "not_language_tag",
            "webhook_url": "unknown_field",
        }
    assert fields("get_call", outbound_id=[], wait_seconds=26) == {
        "outbound_id": "not_text",
        "wait_seconds": "not_in_range",
    }
    assert fields("list_calls", state="x", limit=51, cursor="x", from_=1) == {
        "state": "not_choice",
        "limit": "not_in_range",
        "cursor": "not_cursor",
        "from_": "unknown_field",
    }
    assert fields("get_transcript") == {"outbound_id": "required"}
    assert fields("list_agents", x=1) == {"x": "unknown_field"}
    assert model.refused("get_call", outbound_id="ob-00000000", wait_seconds=25)["status"] == 404
    assert model.refused("end_call", outbound_id="in-00000000")["status"] == 404


def test_rules_for_dialling_hold_here_too(make_server, client):
    server = make_server(
        TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100",
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9",
        TRUNKLINE_OUTBOUND_CALLING_HOURS="09:00-09:05",
        TRUNKLINE_OUTBOUND_CALLING_HOURS_ZONE="Asia/Seoul",
        TRUNKLINE_OUTBOUND_ALLOWED_CALLERS="025550100",
    )
    model = client(server)
    call = {"callee_number": "01012345678", "purpose": "the dinner", "questions": [GUESTS]}
    checked = model.call("check_call", **call)
    if checked["held_by"]:
        assert checked["held_by"][0]["rule"] == "calling_hours"
        assert checked["next_permitted_at"] == checked["held_by"][0]["until"]
    assert server.request("POST", "/api/do-not-call", {"number": "01012345678"})[0] in (200, 201)
    for tool in ("check_call", "place_call"):
        refused = model.refused(tool, **call)
        assert refused["code"] == "do_not_call" and refused["errors"][0]["field"] == "callee_number"
    key = {"idempotency_key": "k"}
    assert model.call("place_call", **{**call, "callee_number": "01099998888"}, **key)
    refused = model.refused("place_call", **{**call, "callee_number": "01077778888"}, **key)
    assert refused["code"] == "idempotency_key_reused" and refused["errors"][0]["field"] == "idempotency_key"
