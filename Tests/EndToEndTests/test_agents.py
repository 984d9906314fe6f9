"""Agents: documents with versions, and the calls that begin with them."""

import json
import os
import subprocess
import threading
import time

import pytest
from api_client import fields
from conftest import KEY

SALON = {
    "slug": "salon",
    "name": "Salon bookings",
    "variables": [{"name": "name", "required": True}, {"name": "tier", "default": "none"}],
    "purpose": "to book a visit for {{name}}, tier {{tier}}",
    "questions": ["When would you like to come, {{name}}?"],
    "turns": {"finished_ms": 450},
}
PLAIN = {name: SALON[name] for name in ("slug", "name")}
CALL = {"caller_number": "025550100", "callee_number": "sip:nobody@127.0.0.1:9", "agent": "salon"}


def put(server, body, tag=None, query="", slug="salon"):
    return server.request("PUT", f"/api/agents/{slug}{query}", body, headers={"If-Match": tag} if tag else None)


@pytest.mark.shared
def test_the_configuration_is_an_agent(server):
    status, answer = server.request("GET", "/api/agents")
    assert status == 200
    default = answer["items"][0]
    assert (default["slug"], default["version"], default["live"]) == ("default", 0, 0)
    assert default["language"] == "en" and default["mode"] == "cascade"
    status, document = server.request("GET", "/api/agents/default")
    assert status == 200 and document["slug"] == "default" and document["limits"]["max_turns"] == 20
    effective = server.request("GET", "/api/agents/default/effective")[1]
    assert effective["limits.max_turns"] == {"value": 20, "from": "configuration"}
    for method, path in [("PUT", ""), ("DELETE", ""), ("POST", "/publish")]:
        status, answer = server.request(method, "/api/agents/default" + path, {"version": 1, **PLAIN})
        assert (status, answer["code"]) == (409, "configured_in_file"), answer
    status, answer = server.request("POST", "/api/agents", {**PLAIN, "slug": "default"})
    assert (status, answer["code"]) == (409, "slug_taken")


@pytest.mark.shared
def test_every_mistake_is_told_and_nothing_stored(server):
    mistakes = {
        "slug": "Salon!",
        "purpose": "to call {{nobody}}",
        "publish_gate": "smoke",
        "questions": [
            {"text": "Which?", "type": "choice", "choices": ["one"]},
            {"text": "Why?", "ask_if": {"question": "q3", "equals": "x"}},
        ],
        "flow": {"type": "graph"},
        "tools": ["fly"],
        "mcp": ["nowhere"],
        "voice": {"tts_provider": "cartesia", "stt_provider": "ears"},
        "context": {"role": "x" * (257 << 10)},
    }
    wanted = sorted(
        [
            "slug",
            "name",
            "purpose",
            "publish_gate",
            "questions[0].choices",
            "questions[1].ask_if.question",
            "flow.type",
            "tools[0]",
            "mcp[0]",
            "voice.tts_provider",
            "voice.stt_provider",
            "context.role",
            "document",
        ]
    )
    for path in ("/api/agents", "/api/agents/check"):
        status, answer = server.request("POST", path, mistakes)
        assert (status, fields(answer)) == (422, wanted), answer
    messages = {error["field"]: error["message"] for error in answer["errors"]}
    assert messages["voice.tts_provider"] == "cartesia is not set up (CARTESIA_API_KEY)"
    assert [
        agent["slug"] for agent in server.request("GET", "/api/agents")[1]["items"] if agent["slug"] == "Salon!"
    ] == []
    for body, type, status in [
        ("{", "application/json", 400),
        ("a: &x 1\nb: *x", "application/yaml", 400),
        ("a", "text/plain", 415),
    ]:
        assert server.request("POST", "/api/agents", body, headers={"Content-Type": type})[0] == status, body


@pytest.mark.shared
def test_the_schema_describes_the_document(server):
    status, schema = server.request("GET", "/api/schemas/agent.json")
    assert status == 200 and schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(SALON)
    assert not jsonschema.Draft202012Validator(schema).is_valid({**SALON, "turns": {"finished_ms": 1}})


def test_an_agents_life(make_server):
    server = make_server()
    status, answer = server.request("POST", "/api/agents?note=first", SALON, headers={"Idempotency-Key": "a"})
    assert status == 201 and answer["version"] == answer["live"] == 1, answer
    assert server.last_headers["etag"] == '"v1"' and server.last_headers["location"] == "/api/agents/salon"
    assert server.request("POST", "/api/agents?note=first", SALON, headers={"Idempotency-Key": "a"})[0] == 201
    assert server.request("POST", "/api/agents", SALON)[1]["code"] == "slug_taken"
    status, checked = server.request("POST", "/api/agents/check", SALON)
    assert status == 200 and checked["document"] == SALON

    # Another version, by who has seen the first.
    faster = {**SALON, "turns": {"finished_ms": 300}}
    status, answer = put(server, faster, '"v1"', "?note=faster")
    assert (status, answer["version"], answer["live"], answer["unchanged"], answer["warnings"]) == (
        201,
        2,
        2,
        False,
        [],
    )
    status, answer = put(server, SALON, '"v1"')
    assert (status, answer["code"]) == (412, "changed_meanwhile")
    status, answer = put(server, faster)
    assert (status, answer["unchanged"], answer["version"]) == (200, True, 2)
    assert [warning["code"] for warning in answer["warning_details"]] == ["last_writer_wins"]
    assert fields(put(server, {**faster, "slug": "other"})[1]) == ["slug"]
    assert put(server, PLAIN, slug="nobody")[0] == 404

    # A draft: calls go on with version 2.
    draft = {**faster, "closing": "Bye, {{name}}."}
    status, answer = put(server, draft, '"v2"', "?publish=false")
    assert (status, answer["version"], answer["live"]) == (201, 3, 2)
    item = next(item for item in server.request("GET", "/api/agents")[1]["items"] if item["slug"] == "salon")
    assert (item["live"], item["latest"], item["name"]) == (2, 3, "Salon bookings")
    assert server.request("GET", "/api/agents/salon")[1] == draft
    assert server.request("GET", "/api/agents/salon?version=1")[1] == SALON
    assert server.request("GET", "/api/agents/salon?version=4")[0] == 404
    status, patch = server.request("GET", "/api/agents/salon/versions/1/diff?to=3")
    assert patch == [
        {"op": "add", "path": "/closing", "value": "Bye, {{name}}."},
        {"op": "replace", "path": "/turns/finished_ms", "value": 300},
    ]
    assert fields(server.request("GET", "/api/agents/salon/versions/1/diff")[1]) == ["to"]
    effective = server.request("GET", "/api/agents/salon/effective")[1]
    assert effective["turns.finished_ms"] == {"value": 300, "from": "agent"}
    assert effective["limits.max_turns"] == {"value": 20, "from": "configuration"}
    assert effective["closing"]["from"] != "agent"
    assert server.request("GET", "/api/agents/salon/effective?version=3")[1]["closing"]["from"] == "agent"

    # Back to the first, and the versions as they are then.
    status, answer = server.request("POST", "/api/agents/salon/publish", {"version": 1, "note": "too fast"})
    assert (status, answer["live"], answer["latest"]) == (200, 1, 3)
    assert server.request("POST", "/api/agents/salon/publish", {"version": 9})[0] == 404
    versions = server.request("GET", "/api/agents/salon/versions?limit=2")[1]
    assert [(item["version"], item["note"], item["live"]) for item in versions["items"]] == [
        (3, "", False),
        (2, "faster", False),
    ]
    versions = server.request("GET", f"/api/agents/salon/versions?cursor={versions['next_cursor']}")[1]
    assert versions["items"][0]["published"]["note"] == "too fast" and versions["next_cursor"] is None
    actions = [entry["action"] for entry in server.request("GET", "/api/audit")[1]["items"]]
    assert actions == ["agent.publish", "agent.change", "agent.change", "agent.create"]

    # Out of use: its versions stay, its slug is not used again.
    assert server.request("POST", "/api/numbers", {"number": "025550100", "agent": "salon@2"})[0] == 422
    body = {"slug": "plain", "name": "P", "purpose": "p", "questions": ["q"]}
    assert server.request("POST", "/api/agents", body)[0] == 201
    status, answer = server.request("POST", "/api/numbers", {"number": "025550100", "agent": "plain@1"})
    assert status == 201 and answer["agent"] == "plain@1", answer
    status, answer = server.request("DELETE", "/api/agents/plain")
    assert (status, answer["code"], answer["params"]["numbers"]) == (409, "in_use", ["025550100"])
    assert fields(server.request("POST", "/api/numbers", {"number": "1234", "agent": "x", "template_id": "y"})[1])
    assert server.request("DELETE", "/api/agents/salon")[0] == 204
    assert server.request("DELETE", "/api/agents/salon")[1]["code"] == "agent_archived"
    assert server.request("POST", "/api/agents", SALON)[1]["code"] == "slug_taken"
    assert server.request("GET", "/api/agents/salon?version=1")[1] == SALON
    assert server.request("POST", "/api/outbound/", {**CALL, "variables": {"name": "A"}})[0] == 422


def test_a_conversation_is_tried_as_text(make_server):
    server = make_server()
    questions = [{"text": "Will you come, {{name}}?", "type": "boolean"}, {"text": "How many?", "type": "number"}]
    assert server.request("POST", "/api/agents", {**SALON, "questions": questions})[0] == 201
    body = {"variables": {"name": "Anna"}, "turns": ["yes", {"keys": "4"}]}
    began = time.monotonic()
    status, answer = server.request("POST", "/api/agents/salon/simulate", body)
    assert time.monotonic() - began < 0.5
    assert status == 200 and answer["is_over"] and answer["end_reason"] == "task_completed", answer
    assert answer["agent"] == {"slug": "salon", "version": 1}
    assert answer["transcript"][0]["text"].endswith("Will you come, Anna?")
    assert [answer["value"] for answer in answer["answers"]] == [True, 4]
    status, answer = server.request("POST", "/api/agents/salon/simulate", {"turns": [{"silence": True}, {"keys": "x"}]})
    assert (status, fields(answer)) == (422, ["turns[1]", "variables.name"])
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_yaml_goes_in_and_comes_out(make_server):
    server = make_server()
    text = "slug: salon\nname: Salon\npurpose: |-\n  one\n  two\ntools: [end_call]\nlimits: {max_turns: 7}\n"
    status, answer = server.request("POST", "/api/agents", text, headers={"Content-Type": "application/yaml"})
    assert status == 201, answer
    document = server.request("GET", "/api/agents/salon")[1]
    assert document["purpose"] == "one\ntwo" and document["limits"] == {"max_turns": 7}
    status, written = server.request("GET", "/api/agents/salon", headers={"Accept": "application/yaml"}, raw=True)
    assert status == 200 and server.last_headers["content-type"].startswith("application/yaml")
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(written) == document
    status, answer = server.request(
        "PUT", "/api/agents/salon", written, headers={"Content-Type": "application/yaml", "If-Match": '"v1"'}
    )
    assert (status, answer["unchanged"]) == (200, True)


def test_who_may_publish(make_server):
    server = make_server(TRUNKLINE_AGENTS_PUBLISH_ROLE="admin")
    keys = {
        role: server.request("POST", "/api/keys", {"name": role, "role": role})[1]["key"]
        for role in ("viewer", "operator")
    }
    assert server.request("POST", "/api/agents", SALON, key=keys["operator"])[0] == 403
    assert server.request("POST", "/api/agents", SALON)[0] == 201
    changed = {**SALON, "name": "S"}
    assert server.request("PUT", "/api/agents/salon", changed, key=keys["operator"])[0] == 403
    assert server.request("PUT", "/api/agents/salon?publish=false", changed, key=keys["viewer"])[0] == 403
    assert server.request("PUT", "/api/agents/salon?publish=false", changed, key=keys["operator"])[0] == 201
    assert server.request("POST", "/api/agents/salon/publish", {"version": 2}, key=keys["operator"])[0] == 403
    assert server.request("POST", "/api/agents/salon/publish", {"version": 2})[0] == 200
    assert server.request("GET", "/api/agents/salon", key=keys["viewer"])[1] == changed


def test_of_many_changes_of_one_state_one_is_made(make_server):
    server = make_server(
        TRUNKLINE_SECURITY_RATE_LIMIT_PER_SECOND="100000", TRUNKLINE_SECURITY_RATE_LIMIT_BURST="100000"
    )
    assert server.request("POST", "/api/agents", PLAIN)[0] == 201
    statuses = []

    def change(index):
        statuses.append(put(server, {**PLAIN, "name": f"Salon {index}"}, '"v1"')[0])

    threads = [threading.Thread(target=change, args=[index]) for index in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [412] * 199
    assert len(server.request("GET", "/api/agents/salon/versions")[1]["items"]) == 2


def test_a_killed_server_has_both_version_and_pointer(make_server):
    server = make_server()
    assert server.request("POST", "/api/agents", PLAIN)[0] == 201
    accepted = []

    def change():
        try:
            for index in range(1_000):
                status, answer = put(server, {**PLAIN, "name": f"Salon {index}"})
                if status == 201:
                    accepted.append(answer["version"])
                elif status == 429:
                    time.sleep(0.05)
        except (OSError, ValueError):
            pass

    for _ in range(3):
        thread = threading.Thread(target=change)
        thread.start()
        time.sleep(1)
        server.kill(9)
        thread.join()
        server.start()
        agent = next(item for item in server.request("GET", "/api/agents")[1]["items"] if item["slug"] == "salon")
        assert agent["live"] == agent["latest"] >= max(accepted), "what was acknowledged is there, pointer and version"
        newest = server.request("GET", "/api/agents/salon/versions?limit=1")[1]["items"][0]
        assert newest["version"] == agent["latest"] and newest["live"]
        assert server.request("GET", "/api/agents/salon")[1]["name"] == agent["name"]


def test_agents_as_files(make_server, tmp_path):
    server = make_server()
    folder = tmp_path / "agents"
    folder.mkdir()
    binary = os.environ.get("TRUNKLINE", ".build/debug/trunkline")

    def run(*arguments):
        return subprocess.run(
            [binary, "agents", *arguments, "--server", server.url],
            env={**os.environ, "TRUNKLINE_API_KEY": KEY},
            capture_output=True,
            text=True,
            timeout=60,
        )

    file = folder / "salon.yaml"
    file.write_text("slug: salon\nname: Salon\ncolor: red\nflow: {type: graph}\n")
    for command in (["check", str(file)], ["push", str(folder)], ["push", str(folder), "--check"]):
        done = run(*command)
        assert done.returncode == 1 and "color: is not a known field" in done.stderr, done
        assert "flow.type: is not supported yet" in done.stderr
    assert server.request("GET", "/api/agents/salon")[0] == 404

    file.write_text(json.dumps(SALON))  # JSON is YAML too
    assert run("check", str(file)).returncode == 0
    assert run("push", str(folder), "--check").returncode == 0
    assert server.request("GET", "/api/agents/salon")[0] == 404
    done = run("push", str(folder), "--note", "by hand")
    assert done.returncode == 0 and "salon@1" in done.stdout, done
    assert "unchanged" in run("push", str(folder)).stdout
    file.unlink()
    assert run("pull", str(folder)).returncode == 0
    assert "unchanged" in run("push", str(folder)).stdout
    text = file.read_text()
    assert text.startswith("slug: salon\nname: Salon bookings\n")
    file.write_text(text.replace("450", "500"))
    assert "salon@2" in run("push", str(folder), "--draft").stdout
    agent = next(item for item in server.request("GET", "/api/agents")[1]["items"] if item["slug"] == "salon")
    assert (agent["live"], agent["latest"]) == (1, 2)
    assert run("check", str(folder / "none.yaml")).returncode == 1
