"""`trunkline stream check` and `tap`: the kit against our own server in every dialect, against servers that do wrong,
and a tap between."""

import contextlib
import json
import subprocess
import threading
import time

import pytest
from conftest import TRUNKLINE, clean_environment
from ports import free_port
from sip_phone import SIPPhone
from test_operations import run
from twilio.request_validator import RequestValidator
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

TOKEN = "a-token-for-the-kit"
DIALECTS = ["twilio", "telnyx", "plivo", "vonage", "signalwire", "exotel", "genesys", "asterisk", "jambonz"]
# What a server that has not ended the stream, pressed no key and was never too fast leaves open, and what a secret is
# needed for.
UNSEEN = {"server-ends", "digits", "digit", "xoff", "wrong-signature", "no-signature"}
QUESTION = {
    "id": "q1",
    "text": "Which of our shops did you order at?",
    "kind": "text",
    "choices": [],
    "isRequired": True,
}
BRIEF = json.dumps(
    {"purpose": "the order", "callerDisplayName": "", "questions": [QUESTION], "language": "en", "maxTurns": 20}
)


@pytest.fixture
def our_server(make_server):
    return make_server(
        TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN,
        TRUNKLINE_INBOUND_NUMBERS="+15550199",
        TRUNKLINE_INBOUND_QUESTIONS=QUESTION["text"],
    )


def check(url, dialect, *more, cwd):
    return run("stream", "check", url, "--dialect", dialect, *more, cwd=cwd, seconds=120)


def findings(result):
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    return report, {rule["name"]: rule for rule in report["rules"]}


@pytest.mark.parametrize("dialects", [DIALECTS[:3], DIALECTS[3:6], DIALECTS[6:]], ids="+".join)
def test_our_server_passes_in_every_dialect(our_server, tmp_path, dialects):
    """Without a brief: by its token the stream is a call that comes in, and tells its numbers."""
    results = {}

    def one(dialect):
        url = f"ws://127.0.0.1:{our_server.http_port}/media/{dialect}"
        more = ["--token", TOKEN, "--parameter", "from=+15550100", "--parameter", "to=+15550199", "--json"]
        results[dialect] = check(url, dialect, *more, cwd=tmp_path)

    threads = [threading.Thread(target=one, args=[dialect]) for dialect in dialects]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for dialect in dialects:
        report, rules = findings(results[dialect])
        wrong = [rule for rule in report["rules"] if rule["verdict"] == "fail"]
        assert (results[dialect].returncode, wrong) == (0, []), dialect
        unseen = {name for name, rule in rules.items() if rule["verdict"] == "not_seen"}
        assert unseen <= UNSEEN, (dialect, unseen)
        assert {figure["name"] for figure in report["figures"]} >= {"first sound", "clear after speech"}
    came_in = our_server.request("GET", "/api/inbound/")[1]["items"]
    assert sorted((call["carrier"], call["dialect"]) for call in came_in) == [
        ("stream", dialect) for dialect in sorted(dialects)
    ]
    for item in came_in:
        call = our_server.call(item["inbound_id"])
        assert (call["caller_number"], call["called_number"]) == ("+15550100", "+15550199"), call
    assert our_server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_a_wrong_token_is_found_out(our_server, tmp_path):
    url = f"ws://127.0.0.1:{our_server.http_port}/media/twilio"
    result = check(url, "twilio", "--token", "wrong", "--json", cwd=tmp_path)
    _, rules = findings(result)
    assert result.returncode == 1 and rules["let-in"]["verdict"] == "fail" and "1008" in rules["let-in"]["seen"]
    assert rules["wrong-token"]["verdict"] == "pass"
    assert check(url, "twilio", "--token", "wrong", "--only", "wrong-token", cwd=tmp_path).returncode == 0


@pytest.mark.shared
def test_what_cannot_be_checked_exits_with_2(server, tmp_path):
    url = f"ws://127.0.0.1:{server.http_port}/media/twilio"
    dead = check(f"ws://127.0.0.1:{free_port()}/", "twilio", cwd=tmp_path)
    assert dead.returncode == 2 and "no answer" in dead.stderr and not dead.stdout
    for arguments, words in [
        (["http://127.0.0.1/", "--dialect", "twilio"], "ws: or wss:"),
        ([url, "--dialect", "nobodys"], "--dialect is one of twilio"),
        ([url], "--dialect is one of"),
        ([url, "--dialect", "twilio", "--format", "l16/16000"], "--format is one of mulaw/8000"),
        ([url, "--dialect", "twilio", "--seconds", "1"], "5 to 600"),
        ([url, "--dialect", "twilio", "--header", "x"], "--header"),
        ([url, "--dialect", "twilio", "--parameter", "x"], "--parameter"),
        ([url, "--dialect", "twilio", "--only", "nothing"], "has no rule nothing"),
    ]:
        result = run("stream", "check", *arguments, cwd=tmp_path)
        assert result.returncode == 2 and words in result.stderr, (arguments, result.stderr)
    # Without a token there is an answer, but no WebSocket.
    refused = check(url, "twilio", "--only", "upgrade", cwd=tmp_path)
    assert refused.returncode == 1 and "HTTP 404" in refused.stdout


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--bearer", "abc"], "Bearer abc"),
        (["--basic", "user:pass word"], "Basic dXNlcjpwYXNzIHdvcmQ="),
        (["--header", "authorization: Own x"], "Own x"),
    ],
)
def test_a_server_sees_what_it_asks_for(tmp_path, options, expected):
    seen = []

    def refuse(connection, request):
        seen.append(request.headers.get("authorization"))
        return connection.respond(403, "no")

    with other_server(lambda socket: None, process_request=refuse) as port:
        result = check(f"ws://127.0.0.1:{port}/", "twilio", *options, "--only", "upgrade", cwd=tmp_path)
    assert result.returncode == 1 and seen == [expected]


def test_the_kit_signs_as_twilio_does(tmp_path):
    """Judged by Twilio's own package: a right signature gets in, a wrong one and none do not."""
    validator, verdicts = RequestValidator("auth-token"), []

    def judge(connection, request):
        url = f"wss://voice.example.com{request.path}"
        given = request.headers.get("x-twilio-signature")
        verdicts.append(given and validator.validate(url, {}, given))
        return None if verdicts[-1] else connection.respond(403, "no")

    def silent(socket):
        for _ in socket:
            pass

    with other_server(silent, process_request=judge) as port:
        result = check(
            f"ws://127.0.0.1:{port}/media?a=1",
            *["twilio", "--secret", "auth-token", "--signed-url", "wss://voice.example.com/media?a=1"],
            *["--seconds", "5", "--json"],
            cwd=tmp_path,
        )
    _, rules = findings(result)
    assert verdicts == [True, False, None]
    for rule in ["upgrade", "let-in", "wrong-signature", "no-signature"]:
        assert rules[rule]["verdict"] == "pass", rules[rule]


@pytest.mark.shared
def test_the_rules_are_listed_with_their_sources(server, tmp_path):
    for dialect in DIALECTS:
        result = run("stream", "check", "--dialect", dialect, "--list", cwd=tmp_path)
        assert result.returncode == 0 and "barge-in" in result.stdout and "https://" in result.stdout


@contextlib.contextmanager
def other_server(handler, **options):
    with serve(handler, "127.0.0.1", 0, **options) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.socket.getsockname()[1]
        server.shutdown()


def test_a_server_that_breaks_rules_is_told_which(tmp_path):
    """Sound in a wrong stream's name, then a close frame with an error's code."""

    def broken(socket):
        for text in socket:
            if json.loads(text)["event"] == "start":
                socket.send(json.dumps({"event": "media", "streamSid": "MZ0", "media": {"payload": "AAAA"}}))
                socket.send(b"sound")
                time.sleep(1.5)
                socket.close(1011)

    with other_server(broken) as port:
        result = check(f"ws://127.0.0.1:{port}/", "twilio", cwd=tmp_path)
    lines = result.stdout.splitlines()
    failed = {line.split()[1] for line in lines if line.startswith("FAIL")}
    assert result.returncode == 1 and failed == {"stream-id", "message-kind", "silence"}, result.stdout
    assert any("rule:   A caller who is silent" in line for line in lines) and "source: https://www.twilio.com" in (
        result.stdout
    )
    assert "3 failed" in lines[-1]


@contextlib.contextmanager
def tap(forward, dialect, *more, cwd):
    process = subprocess.Popen(
        [TRUNKLINE, "stream", "tap", "--listen", "0", "--forward", forward, "--dialect", dialect, *more],
        cwd=cwd,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(process.stdout.readline().split("ws://127.0.0.1:")[1].split(",")[0])
        printed = []
        reader = threading.Thread(target=lambda: printed.extend(process.stdout))
        reader.start()
        yield port, printed
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0
        reader.join()


@pytest.mark.parametrize("dialect", ["twilio", "genesys"])
def test_a_tap_between_kit_and_server_changes_nothing(our_server, tmp_path, dialect):
    url = f"ws://127.0.0.1:{our_server.http_port}/media/{dialect}"
    with tap(url, dialect, cwd=tmp_path) as (port, printed):
        more = ["--token", TOKEN, "--parameter", f"brief={BRIEF}", "--json"]
        result = check(f"ws://127.0.0.1:{port}/", dialect, *more, cwd=tmp_path)
        assert result.returncode == 0, result.stdout
    text = "".join(printed)
    sound = "media" if dialect == "twilio" else "sound"
    for words in ["carrier > server", "carrier < server", f"  {sound}  ", " ms  -", "messages to the server"]:
        assert words in text, text[:2_000]
    assert "  ! " not in text and "brief" not in text and "order" not in text, "content, or a problem"


def test_a_tap_whose_output_is_not_read_holds_nobody_up(our_server, tmp_path):
    """Its output is a pipe that is full after 64 KiB: the conversation goes on, and the end comes."""
    url = f"ws://127.0.0.1:{our_server.http_port}/media/twilio"
    process = subprocess.Popen(
        [TRUNKLINE, "stream", "tap", "--listen", "0", "--forward", url, "--dialect", "twilio"],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(process.stdout.readline().split("ws://127.0.0.1:")[1].split(",")[0])
        more = ["--token", TOKEN, "--parameter", f"brief={BRIEF}", "--json"]
        result = check(f"ws://127.0.0.1:{port}/", "twilio", *more, cwd=tmp_path)
        assert result.returncode == 0, result.stdout
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_a_tap_passes_on_what_both_say_of_the_connection(tmp_path):
    seen = {}

    def behind(socket):
        seen.update(path=socket.request.path, headers=dict(socket.request.headers.raw_items()))
        seen["chosen"] = socket.subprotocol
        assert socket.recv() == "hello"
        socket.send(b"\x01\x02")
        socket.close(4001, "because")

    def refuse(connection, request):
        return connection.respond(403, "no") if "/refused" in request.path else None

    with other_server(behind, subprotocols=["two"], process_request=refuse) as far:
        with tap(f"ws://127.0.0.1:{far}/path?own=1", "vonage", cwd=tmp_path) as (port, printed):
            with connect(
                f"ws://127.0.0.1:{port}/x?token=a%20b",
                subprotocols=["one", "two"],
                additional_headers={"X-Own": "yes", "Authorization": "Bearer b"},
            ) as client:
                assert client.subprotocol == "two"
                client.send("hello")
                assert client.recv() == b"\x01\x02"
                with pytest.raises(ConnectionClosed) as closed:
                    client.recv()
                assert closed.value.rcvd.code == 4001
        assert seen["path"] == "/path?own=1&token=a%20b" and seen["chosen"] == "two"
        names = {name.lower(): value for name, value in seen["headers"].items()}
        assert (names["x-own"], names["authorization"]) == ("yes", "Bearer b")
        assert any("the server closed with 4001" in line for line in printed), printed
        with tap(f"ws://127.0.0.1:{far}/refused", "vonage", cwd=tmp_path) as (port, printed):
            with pytest.raises(Exception, match="403"):
                connect(f"ws://127.0.0.1:{port}/")
    with tap(f"ws://127.0.0.1:{free_port()}/", "vonage", cwd=tmp_path) as (port, printed):
        with pytest.raises(Exception, match="502"):
            connect(f"ws://127.0.0.1:{port}/")


@pytest.mark.parametrize("dialect", ["twilio", "vonage", "genesys"])
def test_a_call_that_we_stream_ourselves_keeps_the_rules(our_server, make_server, tmp_path, dialect):
    """A phone, our SIP leg, the tap, and our own server behind it: both roles of ours, read along."""
    phone = SIPPhone()
    try:
        url = f"ws://127.0.0.1:{our_server.http_port}/media/{dialect}"
        with tap(url, dialect, cwd=tmp_path) as (port, printed):
            near = make_server(
                TRUNKLINE_BRIDGE_STREAM_URL=f"ws://127.0.0.1:{port}/",
                TRUNKLINE_BRIDGE_STREAM_DIALECT=dialect,
                TRUNKLINE_BRIDGE_STREAM_TOKEN=TOKEN,
            )
            call = near.create(phone.address)
            deadline = time.monotonic() + 20
            while abs(phone.heard()[-8_000:]).max(initial=0) < 1_000:
                assert time.monotonic() < deadline, near.log_end()
                time.sleep(0.1)
            phone.press("5")
            time.sleep(1.5)
            assert near.request("POST", f"/api/outbound/{call}/hangup")[0] in (200, 202, 204)
            assert near.wait_for(call, seconds=15)["state"] == "completed"
            time.sleep(1)
    finally:
        phone.close()
    text = "".join(printed)
    assert "carrier > server" in text and "carrier < server" in text, text[:2_000]
    assert "  ! " not in text, [line for line in printed if "  ! " in line][:5]
    assert "dtmf" in text and "messages to the server" in text and "brief" not in text
