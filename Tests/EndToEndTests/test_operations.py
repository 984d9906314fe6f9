"""Start-up errors, restarts, the two-process bridge, the demo."""

import datetime
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import pytest
from conftest import ATTEND, GUESTS, MOVED, PARKING, SHORT, TRUNKLINE, Server, clean_environment
from ports import free_port


def run(*arguments, cwd, seconds=60, **environment):
    return subprocess.run(
        [TRUNKLINE, *arguments],
        cwd=cwd,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@pytest.mark.parametrize(
    "environment, words",
    [
        ({"TRUNKLINE_OUTBOUND_RING_TIMOUT": "3"}, ["TRUNKLINE_OUTBOUND_RING_TIMOUT", "did you mean", "RING_TIMEOUT"]),
        ({"TRUNKLINE_HTTP_PORT": "99999"}, ["TRUNKLINE_HTTP_PORT", "0…65535"]),
        ({"TRUNKLINE_SPEECH_MODEL_DIR": "/nowhere"}, ["/nowhere", "pocketsphinx-en-us"]),
        ({"TRUNKLINE_DATA": "/proc/nowhere"}, ["/proc/nowhere", "--data"]),
        ({"TRUNKLINE_HTTP_HOST": "0.0.0.0", "TRUNKLINE_SECURITY_ENCRYPTION_KEY": "ab" * 32}, ["TRUNKLINE_API_KEY"]),
        (
            {"TRUNKLINE_HTTP_HOST": "0.0.0.0", "TRUNKLINE_API_KEY": "key-of-sixteen-and-more"},
            ["TRUNKLINE_SECURITY_ENCRYPTION_KEY"],
        ),
        ({"TRUNKLINE_SIP_HOST": "0.0.0.0"}, ["sip.host is 0.0.0.0", "TRUNKLINE_SECURITY_ENCRYPTION_KEY"]),
        (
            {"TRUNKLINE_SIP_HOST": "192.0.2.1", "TRUNKLINE_SIP_ADVERTISED_HOST": "127.0.0.1"},
            ["sip.host is 192.0.2.1", "TRUNKLINE_SECURITY_ENCRYPTION_KEY"],
        ),
        # A name that begins like a loopback address may lead anywhere.
        (
            {"TRUNKLINE_SIP_HOST": "127.example.com"},
            ["sip.host is 127.example.com", "TRUNKLINE_SECURITY_ENCRYPTION_KEY"],
        ),
        (
            {"TRUNKLINE_HTTP_HOST": "127.example.com", "TRUNKLINE_API_KEY": "key-of-sixteen-and-more"},
            ["http.host", "TRUNKLINE_SECURITY_ENCRYPTION_KEY"],
        ),
        ({"TRUNKLINE_SECURITY_ENCRYPTION_KEY": "short"}, ["64 hex digits", "openssl"]),
        ({"TRUNKLINE_OUTBOUND_CALLING_HOURS": "9 to 5"}, ["TRUNKLINE_OUTBOUND_CALLING_HOURS", "09:00-20:00"]),
        ({"TRUNKLINE_WEBHOOKS_URL": "http://example.org"}, ["webhooks.url", "https"]),
        ({"TRUNKLINE_CONFIG": "/nowhere.yaml"}, ["/nowhere.yaml"]),
    ],
)
def test_start_up_errors_say_what_to_do(tmp_path, environment, words):
    result = run("serve", "--http-port", str(free_port()), "--sip-port", str(free_port()), cwd=tmp_path, **environment)
    assert result.returncode != 0 and all(word in result.stderr for word in words), result.stderr


def test_the_doctor_refuses_sip_beyond_loopback_without_a_key_too(tmp_path):
    ports = {"TRUNKLINE_HTTP_PORT": str(free_port()), "TRUNKLINE_SIP_PORT": str(free_port())}
    result = run("doctor", cwd=tmp_path, TRUNKLINE_SIP_HOST="0.0.0.0", **ports)
    assert (
        result.returncode == 1
        and "sip.host is 0.0.0.0" in result.stderr
        and "TRUNKLINE_SECURITY_ENCRYPTION_KEY" in result.stderr
    ), result
    # What is told to others is bound to nothing; and with a key both may be wide.
    assert "sip.host" not in run("doctor", cwd=tmp_path, TRUNKLINE_SIP_ADVERTISED_HOST="192.0.2.1", **ports).stderr
    wide = run(
        "doctor", cwd=tmp_path, TRUNKLINE_SIP_HOST="0.0.0.0", TRUNKLINE_SECURITY_ENCRYPTION_KEY="ab" * 32, **ports
    )
    assert "encrypted" in wide.stdout and "sip.host" not in wide.stderr, wide


def test_errors_in_the_file_name_their_line(tmp_path):
    (tmp_path / "c.yaml").write_text("ai_voicebot:\n  http:\n    port: 8080\n  outbound:\n    ring_timout: 5\n")
    result = run("serve", "--config", "c.yaml", cwd=tmp_path)
    assert result.returncode == 1 and "c.yaml:5" in result.stderr and "outbound.ring_timeout" in result.stderr
    (tmp_path / "c.yaml").write_text("sip:\n  gateway:\n    password: secret\n")
    result = run("serve", "--config", "c.yaml", cwd=tmp_path)
    assert result.returncode == 1 and "TRUNKLINE_SIP_GATEWAY_PASSWORD" in result.stderr


def test_every_problem_of_the_settings_is_told_at_once(tmp_path):
    (tmp_path / "c.yaml").write_text("outbound:\n  ring_timeout: 0\n  ring_timout: 5\n")
    result = run("config", "check", "--config", "c.yaml", cwd=tmp_path, TRUNKLINE_HTTP_PORT="x")
    lines = result.stderr.splitlines()
    assert result.returncode == 1 and len(lines) == 3 and all(line.startswith("trunkline: ") for line in lines), result
    wide = run("config", "check", cwd=tmp_path, TRUNKLINE_HTTP_HOST="0.0.0.0").stderr
    assert all(word in wide for word in ["ENCRYPTION_KEY", "TRUNKLINE_API_KEY", "tls.certificate"]), wide


def test_settings_are_listed_with_where_they_came_from(tmp_path):
    (tmp_path / "c.yaml").write_text("outbound:\n  ring_timeout: 7\n")
    (tmp_path / ".env").write_text("TRUNKLINE_SIP_REALM=here\n")
    listed = run(
        "config", "explain", "--config", "c.yaml", "--http-port", "8123", cwd=tmp_path, OPENAI_API_KEY="hush"
    ).stdout
    for line in [
        "outbound.ring_timeout: 7   [c.yaml:2; default: 30]",
        "sip.realm: here   [.env:1; default: trunkline]",
        "http.port: 8123   [--http.port; default: 8080]",
        "realtime.openai.api_key: (secret)   [environment; default: none]",
        "sip.port: 5060   [default]",
    ]:
        assert f"{line}\n" in listed, line
    assert "hush" not in listed
    one = run("config", "explain", "--key", "sip.realm", cwd=tmp_path).stdout
    assert one.startswith("sip.realm: here") and "http.port" not in one


@pytest.mark.parametrize("kind, flag", [(socket.SOCK_STREAM, "--http-port"), (socket.SOCK_DGRAM, "--sip-port")])
def test_a_taken_port_is_named(tmp_path, kind, flag):
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            taken.listen()
        port = taken.getsockname()[1]
        ports = {"--http-port": str(free_port()), "--sip-port": str(free_port()), flag: str(port)}
        result = run("serve", *[word for pair in ports.items() for word in pair], cwd=tmp_path)
    assert result.returncode == 1 and str(port) in result.stderr


def test_help_and_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip()
    for command in (
        [],
        ["serve"],
        ["call"],
        ["callee"],
        ["demo"],
        ["bench"],
        ["keys"],
        ["doctor"],
        ["backup"],
        ["restore"],
    ):
        assert "USAGE" in run(*command, "--help", cwd=tmp_path).stdout


def test_a_killed_server_ends_its_calls_and_keeps_their_transcripts(tmp_path, callee, allowed):
    server = Server(tmp_path, **SHORT).start()
    try:
        talking = server.create(callee("cooperative").address, [ATTEND, GUESTS])
        ringing = server.create(callee("no-answer").address)
        server.wait_for(talking, {"connected"})
        deadline = time.time() + 60
        while not any(entry["speaker"] == "customer" for entry in server.result(talking)["transcript"]):
            assert time.time() < deadline
            time.sleep(0.1)
        time.sleep(0.3)
        later = server.create("sip:later@127.0.0.1:9", scheduled_at="2099-01-01T00:00:00Z")
        killed = time.time()
        server.kill(signal.SIGKILL)
        begun = time.time()
        server.start()
        assert time.time() - begun < 5
        call, result = server.call(talking), server.result(talking)
        assert call["state"] == "failed" and call["end_reason"] == "server_restart"
        assert result["answers"][0]["status"] == "answered" and len(result["transcript"]) >= 2
        assert server.call(ringing)["state"] == "no_answer"
        assert server.call(later)["state"] == "queued"
        status, wav = server.request("GET", f"/api/outbound/{talking}/recording", raw=True)
        assert status == 200 and len(wav) > 32_000, "what was recorded is playable"
        answered = datetime.datetime.fromisoformat(call["answered_at"].replace("Z", "+00:00")).timestamp()
        # 8 kHz, 16 bit, two channels.
        lost = killed - answered - (len(wav) - 44) / 32_000
        # Two seconds are written at a time.
        assert lost < allowed(2.05), f"{lost:.2f} s of the recording are lost"
    finally:
        server.kill()


def test_a_locked_database_is_a_503_and_recovers(server):
    blocker = sqlite3.connect(server.folder / "data/calls.sqlite", timeout=1)
    blocker.execute("BEGIN IMMEDIATE")
    body = {
        "caller_number": "025550100",
        "callee_number": "sip:x@127.0.0.1:9",
        "purpose": "p",
        "questions": ["Will you come?"],
    }
    status, answer = server.request("POST", "/api/outbound/", body)
    assert status == 503 and "locked" in answer["detail"]
    blocker.rollback()
    blocker.close()
    assert server.request("POST", "/api/outbound/", body)[0] == 202


@pytest.fixture
def open_folder():
    """A folder whose parents other users may enter; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_a_database_that_cannot_be_written_ends_the_start(open_folder):
    """As a user to whom the folder is closed; root would be let in whatever the mode."""
    server = Server(open_folder).start()
    server.kill()
    data = open_folder / "data"
    for path in data.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o444)
    data.chmod(0o555)
    other = {"user": 65_534, "group": 65_534, "extra_groups": []} if os.geteuid() == 0 else {}
    result = subprocess.run(
        [TRUNKLINE, "serve", "--http-port", str(free_port()), "--sip-port", str(free_port()), "--data", str(data)],
        cwd="/",
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        **other,
    )
    data.chmod(0o755)
    assert result.returncode == 1 and "not writable" in result.stderr and str(data) in result.stderr, result.stderr


def test_the_maximum_duration_ends_politely(server, callee):
    call_id = server.create(callee("cooperative").address, [ATTEND, PARKING, MOVED, GUESTS], max_duration=12)
    call = server.wait_for(call_id)
    result = server.result(call_id)
    assert call["end_reason"] == "max_duration" and call["state"] == "completed", call
    # The goodbye was heard to its end, some seconds after the time was up, and what was answered by then is kept.
    assert "ime" in result["transcript"][-1]["text"] and "oodbye" in result["transcript"][-1]["text"], result[
        "transcript"
    ][-1]
    assert not result["transcript"][-1].get("interrupted") and 12 <= call["duration_seconds"] < 24, call
    assert result["answers"][0]["status"] == "answered" and result["answers"][-1]["status"] != "answered"


def test_a_call_can_be_split_between_two_servers(make_server, callee):
    """bridge.stream_url: RTP in one process, pipeline in another, Twilio's dialect over a WebSocket between them."""
    pipeline = make_server(TRUNKLINE_BRIDGE_STREAM_TOKEN="a-token-between-the-two")
    gateway = make_server(
        TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{pipeline.http_port}/media/twilio",
        TRUNKLINE_BRIDGE_STREAM_TOKEN="a-token-between-the-two",
    )
    call_id = gateway.create(callee("cooperative").address, [ATTEND, GUESTS])
    there = None
    deadline = time.time() + 100
    while time.time() < deadline and (there is None or there["state"] not in ("completed", "failed")):
        time.sleep(0.2)
        there = pipeline.call(call_id)
        there = there if "state" in there else None
    assert there and there["state"] == "completed", (there, gateway.call(call_id))
    assert [answer["value"] for answer in pipeline.result(call_id)["answers"]] == [True, 4]
    assert gateway.wait_for(call_id, seconds=20)["state"] == "completed"
    # Without the right token nothing is opened.
    stranger = make_server(
        TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{pipeline.http_port}/media/twilio",
        TRUNKLINE_BRIDGE_STREAM_TOKEN="another-token-of-them",
    )
    refused = stranger.create(callee("cooperative").address, [ATTEND])
    stranger.wait_for(refused, seconds=40)
    assert pipeline.request("GET", f"/api/outbound/{refused}")[0] == 404


def test_demo_once_prints_the_result_last(tmp_path):
    result = run(
        "demo",
        "--once",
        "--data",
        str(tmp_path / "d"),
        "--http-port",
        str(free_port()),
        "--sip-port",
        str(free_port()),
        "--callee-port",
        str(free_port()),
        cwd=tmp_path,
        seconds=120,
    )
    assert result.returncode == 0, result.stderr
    last = json.loads(result.stdout.strip().splitlines()[-1])
    assert last["state"] == "completed" and [answer["status"] for answer in last["answers"]] == ["answered", "answered"]


def test_demo_can_be_logged_in_to_each_time(tmp_path):
    port = str(free_port())
    keys = []
    for _ in range(3):
        demo = subprocess.Popen(
            [TRUNKLINE, "demo", "--http-port", port, "--sip-port", str(free_port()), "--callee-port", str(free_port())],
            cwd=tmp_path,
            env=clean_environment(),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said = []
            line = next(
                (line for line in iter(demo.stderr.readline, "") if said.append(line) or line.startswith("dashboard")),
                None,
            )
            assert line, said
            keys.append(line.split("API key ")[1].strip())

            def templates(key):
                request = urllib.request.Request(
                    f"http://127.0.0.1:{port}/api/templates", headers={"Authorization": f"Bearer {key}"}
                )
                try:
                    return [one["name"] for one in json.load(urllib.request.urlopen(request))["items"]]
                except urllib.error.HTTPError as error:
                    return error.code

            deadline = time.time() + 10
            while templates(keys[-1]) != ["Company dinner"]:
                assert time.time() < deadline, templates(keys[-1])
                time.sleep(0.2)
            # The one for a day goes with the next one; the first one stays.
            assert [templates(key) for key in keys[:-1]] == [["Company dinner"], 401][: len(keys) - 1]
        finally:
            os.killpg(demo.pid, signal.SIGTERM)
            demo.wait(timeout=20)
            demo.stderr.close()
    assert len(set(keys)) == 3
