"""Keys, templates, answers corrected by hand, the audit log, metrics, what is encrypted, backup and restore."""

import json
import sqlite3
import subprocess
import time

import pytest
from conftest import ATTEND, KEY, PARKING, TRUNKLINE, clean_environment
from test_api import EventSocket
from operators import wait_until

ENCRYPTION_KEY, NEW_KEY = "ab" * 32, "cd" * 32


def run(server, *arguments, **environment):
    return subprocess.run(
        [TRUNKLINE, *arguments],
        cwd=server.folder,
        env={**clean_environment(), **server.environment, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_keys_are_made_and_revoked(server):
    status, made = server.request("POST", "/api/keys", {"name": "reporting", "role": "viewer"})
    assert status == 201 and made["key"].startswith("tk_") and made["is_valid"]
    key = made["key"]
    assert server.request("GET", "/api/outbound/", key=key)[0] == 200
    for method, path, body in [
        ("POST", "/api/keys", "{}"),
        ("GET", "/api/audit", None),
        ("POST", "/api/outbound/", "{}"),
        ("POST", "/api/do-not-call", "{}"),
    ]:
        assert server.request(method, path, body, key=key)[0] == 403, path
    listed = server.request("GET", "/api/keys")[1]["items"]
    assert sorted(item["name"] for item in listed) == ["admin", "reporting"] and key not in json.dumps(listed)
    watcher = EventSocket(server.http_port, "/api/events", key=key)
    assert watcher.status == 101
    assert server.request("DELETE", f"/api/keys/{made['id']}")[0] == 204
    assert server.request("GET", "/api/outbound/", key=key)[0] == 401
    started = time.monotonic()
    watcher.socket.settimeout(5)
    assert watcher.socket.recv(2)[0] & 15 == 8 and time.monotonic() - started < 5, "its socket is closed"
    admin = next(item["id"] for item in server.request("GET", "/api/keys")[1]["items"] if item["name"] == "admin")
    assert server.request("DELETE", f"/api/keys/{admin}")[0] == 409, "the last admin key stays"
    assert [item["action"] for item in server.request("GET", "/api/audit")[1]["items"]] == ["key.revoke", "key.create"]
    for bad, field in [
        ({"role": "viewer"}, "name"),
        ({"name": "a", "role": "king"}, "role"),
        ({"name": "a", "role": "viewer", "expires_in_days": 0}, "expires_in_days"),
    ]:
        status, answer = server.request("POST", "/api/keys", bad)
        assert status == 422 and answer["errors"][0]["field"] == field


def test_keys_by_the_command_line(server):
    made = run(server, "keys", "create", "--name", "night shift", "--role", "operator")
    assert made.returncode == 0, made.stderr
    key_id, key = made.stdout.split()
    deadline = time.time() + 5
    while server.request("GET", "/api/outbound/", key=key)[0] != 200:
        assert time.time() < deadline, "a running server knows it within 5 s"
        time.sleep(0.1)
    assert run(server, "keys", "revoke", key_id).returncode == 0
    deadline = time.time() + 5
    while server.request("GET", "/api/outbound/", key=key)[0] != 401:
        assert time.time() < deadline
        time.sleep(0.1)
    assert f"{key_id}  revoked  operator  night shift" in run(server, "keys", "list").stdout
    assert run(server, "keys", "revoke", "key-00000000").returncode != 0


def test_users_log_in_by_name_and_password(server):
    def user(*arguments, **options):
        return subprocess.run(
            [TRUNKLINE, "users", *arguments],
            cwd=server.folder,
            env={**clean_environment(), **server.environment},
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    def log_in(name, password):
        return server.request("POST", "/api/session", {"username": name, "password": password}, key=None)

    assert user("save", "Mina", "--role", "operator", input="correct horse battery\n").returncode == 0
    assert user("save", "Short", input="short\n").returncode != 0
    status, answer = log_in("Mina", "correct horse battery")
    assert (status, answer) == (200, {"name": "Mina", "role": "operator"})
    cookie = {"Cookie": server.last_headers["set-cookie"].split(";")[0], "Sec-Fetch-Site": "same-origin"}
    assert server.request("GET", "/api/outbound/", key=None, headers=cookie)[0] == 200
    assert server.request("GET", "/api/audit", key=None, headers=cookie)[0] == 403
    assert (
        server.request(
            "POST", "/api/templates", {"name": "a", "purpose": "b", "questions": ["c"]}, key=None, headers=cookie
        )[0]
        == 201
    )
    assert b"correct horse" not in everything(server) and "Mina  operator" in user("list").stdout
    for _ in range(20):
        if log_in("Nobody", "wrong password here")[0] == 429:
            break
    status, answer = log_in("Mina", "correct horse battery")
    assert status == 429 and int(server.last_headers["retry-after"]) > 0, "guessing is slow"
    assert user("remove", "Mina").returncode == 0
    deadline = time.time() + 5
    while server.request("GET", "/api/outbound/", key=None, headers=cookie)[0] != 401:
        assert time.time() < deadline, "his login ends with him"
        time.sleep(0.1)
    assert [item["action"] for item in server.request("GET", "/api/audit?action=session.begin")[1]["items"]] == [
        "session.begin"
    ]
    status, answer = server.request("POST", "/api/session", {"username": "Mina", "api_key": KEY}, key=None)
    assert status == 422 and sorted(error["field"] for error in answer["errors"]) == ["api_key", "password"]


def test_templates(server):
    body = {
        "name": "Dinner",
        "purpose": "to prepare the dinner",
        "questions": [ATTEND, {"text": PARKING, "type": "boolean", "ask_if": {"question": "q1", "equals": "yes"}}],
    }
    status, made = server.request("POST", "/api/templates", body)
    assert status == 201 and [question["id"] for question in made["questions"]] == ["q1", "q2"]
    assert server.request("POST", "/api/templates", body)[0] == 409, "the name is taken"
    path = f"/api/templates/{made['id']}"
    assert server.request("PUT", path, {**body, "name": "Lunch", "language": "ko"})[1]["language"] == "ko"
    assert [item["name"] for item in server.request("GET", "/api/templates")[1]["items"]] == ["Lunch"]
    status, answer = server.request("PUT", path, {"name": "", "questions": [], "x": 1})
    assert status == 422 and sorted(error["field"] for error in answer["errors"]) == [
        "name",
        "purpose",
        "questions",
        "x",
    ]
    assert server.request("DELETE", path)[0] == 204 and server.request("GET", path)[0] == 404


def test_an_answer_corrected_by_hand_keeps_who_and_when(server, callee):
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id)
    before = server.result(call_id)["answers"][0]
    status, result = server.request(
        "POST",
        f"/api/outbound/{call_id}/answers/q1",
        {"status": "answered", "answer_text": "No, I am ill.", "answer_summary": "no"},
    )
    answer = result["answers"][0]
    assert status == 200 and (answer["answer_text"], answer["confidence"], answer["confidence_source"]) == (
        "No, I am ill.",
        None,
        "human",
    )
    assert answer["evidence"] == before["evidence"]
    correction = server.result(call_id)["corrections"][0]
    assert (
        correction["by"] == "admin"
        and correction["before"]["answer_text"] == before["answer_text"]
        and correction["at"]
    )
    assert server.request("POST", f"/api/outbound/{call_id}/answers/q9", {})[0] == 404
    status, answer = server.request("POST", f"/api/outbound/{call_id}/answers/q1", {"status": "perhaps"})
    assert status == 422 and [error["field"] for error in answer["errors"]] == ["status", "value"]
    assert server.events(call_id)[-1] == "outbound_progress"
    assert [item["detail"] for item in server.request("GET", "/api/audit?action=answer.correct")[1]["items"]] == ["q1"]


CANARIES = ("Wistful Canary", "canary-question", "canary-callee")


def everything(server):
    """All bytes of the database, its log and the recordings."""
    return b"".join(path.read_bytes() for path in (server.folder / "data").rglob("*") if path.is_file())


def test_what_is_stored_of_people_is_encrypted(make_server, callee):
    server = make_server(TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY)
    cooperative = callee("load").address.replace("callee@", "canary-callee@")
    call_id = server.create(
        cooperative, [ATTEND, "canary-question: what colour is it?"], caller_display_name="Wistful Canary"
    )
    server.wait_for(call_id)
    server.request("POST", "/api/do-not-call", {"number": "+82 10 7777 8888"})
    result = server.result(call_id)
    said = [entry["text"] for entry in result["transcript"]] + [
        answer["answer_text"] for answer in result["answers"] if answer["answer_text"]
    ]
    assert len(said) > 3
    stored = everything(server)
    found = [words for words in [*CANARIES, *said, "77778888", "025550100"] if words.encode() in stored]
    assert not found, found
    assert (
        server.request("GET", "/api/outbound/?q=0100")[1]["total"] == 0
        and server.request("GET", "/api/outbound/?q=025550100")[1]["total"] == 1
    )
    assert server.request("GET", "/api/outbound/?q=dinner")[1]["total"] == 1
    path = f"/api/outbound/{call_id}/recording"
    status, whole = server.request("GET", path, raw=True)
    assert status == 200 and whole[:4] == b"RIFF" and len(whole) > 200_000 and whole[100_000:100_400] not in stored
    for start, end in [(0, 43), (40, 60), (8_230, 8_240), (20_000, 60_000), (len(whole) - 5, len(whole) - 1)]:
        assert server.request("GET", path, headers={"Range": f"bytes={start}-{end}"}, raw=True) == (
            206,
            whole[start : end + 1],
        )
    # A row that was put elsewhere is not opened there.
    server.kill()
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        entries = database.execute("SELECT position, entry FROM transcript ORDER BY position").fetchall()
        database.execute("UPDATE transcript SET entry = ? WHERE position = ?", (entries[0][1], entries[1][0]))
    server.start()
    status, answer = server.request("GET", f"/api/outbound/{call_id}/result")
    assert status == 503 and "does not belong" in answer["detail"]
    # Without the key nothing starts; with another one what was encrypted can still be read.
    server.kill()
    bad = run(
        server,
        "serve",
        "--http-port",
        "0",
        "--sip-port",
        str(server.sip_port),
        TRUNKLINE_SECURITY_ENCRYPTION_KEY=NEW_KEY,
    )
    assert bad.returncode == 1 and "security.former_keys" in bad.stderr
    server.environment |= {
        "TRUNKLINE_SECURITY_ENCRYPTION_KEY": NEW_KEY,
        "TRUNKLINE_SECURITY_FORMER_KEYS": ENCRYPTION_KEY,
    }
    server.start()
    assert server.call(call_id)["callee_number"] == cooperative
    # Encrypted anew: then the old key is not needed any more.
    server.kill()
    again = run(server, "encrypt")
    assert again.returncode == 1 and "1 rows and 0 recordings cannot be opened" in again.stdout, (
        "the one that was put elsewhere"
    )
    assert run(server, "encrypt").stdout.startswith("0 rows and 0 recordings")
    del server.environment["TRUNKLINE_SECURITY_FORMER_KEYS"]
    server.start()
    assert server.call(call_id)["callee_number"] == cooperative and server.request("GET", path, raw=True) == (
        200,
        whole,
    )


def test_what_was_stored_before_there_was_a_key_is_encrypted_later(make_server, callee):
    server = make_server()
    call_id = server.create(callee("busy").address, [ATTEND], caller_display_name="Wistful Canary")
    server.wait_for(call_id)
    before = server.result(call_id), server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)
    # The SIP messages are written half a second after the call: by a server without a key, so before we encrypt.
    wait_until(lambda: server.request("GET", f"/api/outbound/{call_id}/sip")[1]["items"], 10, "no SIP messages")
    assert b"Wistful Canary" in everything(server)
    server.environment["TRUNKLINE_SECURITY_ENCRYPTION_KEY"] = ENCRYPTION_KEY
    done = run(server, "encrypt")
    assert done.returncode == 0 and "and 1 recordings" in done.stdout, done.stderr
    server.kill()
    server.start()
    assert (server.result(call_id), server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)) == before
    assert b"Wistful Canary" not in everything(server)


def test_an_erased_call_leaves_nothing_behind(make_server, callee):
    server = make_server(TRUNKLINE_WEBHOOKS_URL="http://127.0.0.1:9/")
    call_id = server.create(callee("busy").address, [ATTEND], caller_display_name="Wistful Canary")
    assert server.request("DELETE", f"/api/outbound/{call_id}")[0] == 409
    server.wait_for(call_id)
    assert b"Wistful Canary" in everything(server) and list((server.folder / "data/recordings").iterdir())
    assert server.request("DELETE", f"/api/outbound/{call_id}")[0] == 204
    assert (
        server.request("GET", f"/api/outbound/{call_id}")[0] == 404
        and server.request("GET", "/api/outbound/?q=dinner")[1]["total"] == 0
    )
    stored = everything(server)
    assert (
        b"Wistful Canary" not in stored
        and b"busy right now" not in stored
        and not list((server.folder / "data/recordings").iterdir())
    )
    assert server.request("GET", f"/api/webhooks/deliveries?outbound_id={call_id}")[1]["items"] == []
    assert server.request("GET", "/api/audit?action=call.erase")[1]["items"][0]["target"] == call_id


def test_calls_are_erased_when_their_time_is_over(make_server, callee):
    server = make_server()
    call_id = server.create(callee("busy").address, [ATTEND])
    server.wait_for(call_id)
    server.kill()
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        database.execute("UPDATE calls SET created_at = created_at - 864000, completed_at = completed_at - 864000")
    server.environment["TRUNKLINE_SECURITY_RETENTION_DAYS"] = "9"
    server.start()
    deadline = time.time() + 5
    while server.request("GET", f"/api/outbound/{call_id}")[0] != 404:
        assert time.time() < deadline
        time.sleep(0.05)


def test_an_operator_has_something_said(server, callee):
    """It is heard by the callee, and stands in the transcript."""
    silent = callee("silent")
    call_id = server.create(silent.address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    time.sleep(1)
    status, answer = server.request(
        "POST", f"/api/outbound/{call_id}/say", {"text": "A colleague will call you back tomorrow. Thank you."}
    )
    assert status == 202, answer
    deadline = time.time() + 20
    while not any("colleague" in entry["text"] for entry in server.result(call_id)["transcript"]):
        assert time.time() < deadline, server.result(call_id)["transcript"]
        time.sleep(0.1)
    assert server.request("POST", f"/api/outbound/{call_id}/say", {"text": " "})[0] == 422
    server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")
    server.wait_for(call_id)
    assert server.request("POST", f"/api/outbound/{call_id}/say", {"text": "Hello?"})[0] == 409
    assert [item["target"] for item in server.request("GET", "/api/audit?action=call.say")[1]["items"]] == [call_id]


def test_backup_and_restore(make_server, callee, tmp_path):
    server = make_server(TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY)
    call_id = server.create(callee("busy").address, [ATTEND])
    server.wait_for(call_id)
    backup = tmp_path / "backup"
    done = run(server, "backup", str(backup))
    assert done.returncode == 0 and "1 recordings" in done.stdout, done.stderr
    assert run(server, "backup", str(backup)).returncode != 0, "not over another one"
    later = server.create("sip:nobody@127.0.0.1:9", [ATTEND])
    assert run(server, "restore", str(backup)).returncode != 0, "not over a database"
    restored = make_server(TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY)
    restored.kill()
    fresh = {"TRUNKLINE_DATA": str(tmp_path / "fresh")}
    wrong = run(restored, "restore", str(backup), **fresh, TRUNKLINE_SECURITY_ENCRYPTION_KEY=NEW_KEY)
    assert wrong.returncode != 0 and "key" in wrong.stderr
    done = run(restored, "restore", str(backup), **fresh)
    assert done.returncode == 0 and "1 calls and 1 recordings" in done.stdout, done.stderr
    restored.environment |= fresh
    restored.start()
    assert (
        restored.call(call_id)["state"] == "completed" and restored.request("GET", f"/api/outbound/{later}")[0] == 404
    )
    assert restored.result(call_id)["transcript"] == server.result(call_id)["transcript"]
    assert restored.request("GET", f"/api/outbound/{call_id}/recording", raw=True) == server.request(
        "GET", f"/api/outbound/{call_id}/recording", raw=True
    )


def test_a_database_of_an_earlier_version_is_brought_up_to_date(make_server, tmp_path):
    """What version 0.3 left behind, made by its own SQL."""
    server = make_server()
    server.kill()
    folder = tmp_path / "old"
    folder.mkdir()
    record = {
        "outboundID": "ob-0badcafe",
        "callerNumber": "025550100",
        "calleeNumber": "010-1234-5678",
        "maxDuration": 180,
        "priority": 5,
        "retryOnNoAnswer": True,
        "maxRetries": 2,
        "requestedBy": "admin",
        "state": "completed",
        "createdAt": 700000000.0,
        "attempts": [],
        "attemptsThisRound": 0,
        "answeredBy": "human",
        "answers": [{"questionID": "q1", "status": "answered", "text": "Yes."}],
        "latencies": [],
        "interruptions": 0,
        "answeredAt": 700000001.0,
        "completedAt": 700000031.0,
        "brief": {
            "purpose": "an old dinner",
            "callerDisplayName": "",
            "questions": [{"id": "q1", "text": "Old?", "kind": "text", "choices": [], "isRequired": True}],
            "language": "en",
            "maxTurns": 20,
        },
    }
    entry = {"startMs": 0, "endMs": 900, "speaker": "ai", "text": "Good evening.", "isInterrupted": False}
    with sqlite3.connect(folder / "calls.sqlite") as database:
        database.executescript("""
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('1 calls'), ('2 keys'), ('3 knowledge');
            CREATE TABLE calls (outbound_id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL UNIQUE,
                state TEXT NOT NULL, priority INTEGER NOT NULL, created_at REAL NOT NULL, answered_at REAL,
                completed_at REAL, callee_number TEXT NOT NULL, caller_number TEXT NOT NULL, purpose TEXT NOT NULL,
                record TEXT NOT NULL) STRICT;
            CREATE INDEX calls_by_state ON calls(state, position);
            CREATE INDEX calls_by_time ON calls(created_at);
            CREATE TABLE transcript (outbound_id TEXT NOT NULL REFERENCES calls(outbound_id) ON DELETE CASCADE,
                position INTEGER NOT NULL, entry TEXT NOT NULL,
                PRIMARY KEY (outbound_id, position)) STRICT, WITHOUT ROWID;
            CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, at REAL NOT NULL,
                outbound_id TEXT NOT NULL, payload TEXT NOT NULL) STRICT;
            CREATE INDEX events_by_call ON events(outbound_id, id);
            CREATE TABLE api_keys (hash TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
                created_at REAL NOT NULL) STRICT;
            CREATE TABLE knowledge (id TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, answer TEXT,
                created_at REAL NOT NULL) STRICT;
            CREATE TABLE knowledge_chunks (id INTEGER PRIMARY KEY AUTOINCREMENT,
                knowledge_id TEXT NOT NULL REFERENCES knowledge(id) ON DELETE CASCADE,
                position INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB) STRICT;
            CREATE VIRTUAL TABLE knowledge_index USING fts5(tokens, tokenize = 'unicode61 remove_diacritics 2');""")
        database.execute(
            "INSERT INTO calls VALUES ('ob-0badcafe', 7, 'completed', 5, 1678307200, 1678307201, 1678307231, "
            "'010-1234-5678', '025550100', 'an old dinner', ?)",
            (json.dumps(record),),
        )
        database.execute("INSERT INTO transcript VALUES ('ob-0badcafe', 0, ?)", (json.dumps(entry),))
        database.execute(
            "INSERT INTO events VALUES (41, 'outbound_queued', 1678307200, 'ob-0badcafe', "
            "'{\"purpose\":\"an old dinner\"}')"
        )
    server.environment |= {"TRUNKLINE_DATA": str(folder), "TRUNKLINE_SECURITY_ENCRYPTION_KEY": ENCRYPTION_KEY}
    server.start()
    assert server.call("ob-0badcafe")["callee_number"] == "010-1234-5678"
    result = server.result("ob-0badcafe")
    assert (
        result["transcript"][0]["text"] == "Good evening."
        and result["answers"][0]["answer_text"] == "Yes."
        and result["task_completed"]
    )
    for search in ("5678", "+821012345678", "old din", "ob-0bad"):
        assert (
            server.request("GET", f"/api/outbound/?q={search.replace('+', '%2B').replace(' ', '%20')}")[1]["total"] == 1
        ), search
    assert server.request("GET", "/api/outbound/stats")[1]["states"]["completed"] == 1
    assert server.events("ob-0badcafe") == ["outbound_queued"]
    later = server.create("sip:nobody@127.0.0.1:9")
    assert server.request("GET", f"/api/outbound/{later}/events")[1]["items"][0]["id"] > 41, "ids go on"
    assert b"Good evening" not in everything(server)


def test_doctor(server):
    server_is_up = run(server, "doctor")
    assert (
        server_is_up.returncode == 0 and "the database" in server_is_up.stdout and "http.port" in server_is_up.stdout
    ), server_is_up.stdout
    bad = run(server, "doctor", TRUNKLINE_SPEECH_MODEL_DIR="/nowhere")
    assert bad.returncode == 1 and "BAD" in bad.stdout and "/nowhere" in bad.stdout


def test_only_our_own_names_are_answered_to(make_server):
    server = make_server(TRUNKLINE_HTTP_HOSTS="trunk.example")
    for host, status in [
        ("127.0.0.1", 200),
        ("localhost:99", 200),
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("trunk.example", 200),
    ]:
        assert server.request("GET", "/api/outbound/", headers={"Host": host})[0] == status, host


def test_metrics_name_no_number(server, callee):
    call_id = server.create(callee("busy").address)
    server.wait_for(call_id)
    assert server.request("GET", "/metrics", key=None)[0] == 401
    status, text = server.request("GET", "/metrics")
    assert status == 200 and 'trunkline_calls{state="completed"} 1' in text and "025550100" not in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0


WIDE = {
    "TRUNKLINE_HTTP_HOST": "0.0.0.0",
    "TRUNKLINE_API_KEY": "a-key-for-the-wide-world",
    "TRUNKLINE_SECURITY_ENCRYPTION_KEY": "0" * 64,
}


@pytest.mark.parametrize(
    "settings, complaint",
    [
        (WIDE, "--behind-proxy"),
        ({**WIDE, "TRUNKLINE_HTTP_BEHIND_PROXY": "true"}, None),
        (
            {name: value for name, value in WIDE.items() if "API_KEY" not in name}
            | {"TRUNKLINE_HTTP_BEHIND_PROXY": "true"},
            "TRUNKLINE_API_KEY",
        ),
        (
            {name: value for name, value in WIDE.items() if "ENCRYPTION" not in name}
            | {"TRUNKLINE_HTTP_BEHIND_PROXY": "true"},
            "ENCRYPTION_KEY",
        ),
        ({"TRUNKLINE_ALERTS_URL": "ftp://example.com"}, "alerts.url"),
        ({"TRUNKLINE_RESULT_CALLBACK_URL": "x"}, "result_callback_url"),
        ({"TRUNKLINE_COSTS_PRICES": "telephony/sip hour 1"}, "COSTS_PRICES"),
        ({"TRUNKLINE_OUTBOUND_AI_VOICEMAIL": "leave_message"}, "voicemail_message"),
        ({"TRUNKLINE_OUTBOUND_RESULT_SUMMARY_MODEL": "openai/x"}, "summary_model"),
    ],
)
def test_what_a_configuration_must_not_be(tmp_path, settings, complaint):
    told = subprocess.run(
        [TRUNKLINE, "config", "check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        env={**clean_environment(), **settings},
    )
    assert (told.returncode == 0) == (complaint is None) and (complaint or "") in told.stdout + told.stderr, told


def test_behind_another_server_each_client_has_its_own_limit(make_server):
    server = make_server(
        TRUNKLINE_HTTP_BEHIND_PROXY="true",
        TRUNKLINE_SECURITY_RATE_LIMIT_PER_SECOND="1",
        TRUNKLINE_SECURITY_RATE_LIMIT_BURST="3",
    )
    ask = lambda source: server.request(
        "GET", "/api/session", key="wrong", headers={"X-Forwarded-For": f"203.0.113.9, {source}"}
    )[0]
    assert [ask("198.51.100.1") for _ in range(4)] == [401, 401, 401, 429]
    assert ask("198.51.100.2") == 401, "only what the server in front added itself counts"
