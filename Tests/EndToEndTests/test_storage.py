"""Stored data: encryption, erasure, retention, backups, and databases of earlier versions."""

import json
import sqlite3
import time

from conftest import ATTEND
from operators import wait_until
from stored_data import ENCRYPTION_KEY, NEW_KEY, everything, run

CANARIES = ("Wistful Canary", "canary-question", "canary-callee")


def test_personal_data_is_stored_encrypted(make_server, callee):
    server = make_server(TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY)
    cooperative = callee("load").address.replace("callee@", "canary-callee@")
    call_id = server.create(
        cooperative, [ATTEND, "canary-question: what colour is it?"], caller_display_name="Wistful Canary"
    )
    server.wait_for(call_id)
    own_stream = {"url": "wss://canary.test/", "headers": {"Authorization": "canary-secret"}}
    streamed = server.create(
        callee("busy").address, [ATTEND], stream=own_stream, caller_number="025550102", purpose="a stream"
    )
    server.wait_for(streamed)
    server.request("POST", "/api/do-not-call", {"number": "+82 10 7777 8888"})
    result = server.result(call_id)
    said = [entry["text"] for entry in result["transcript"]] + [
        answer["answer_text"] for answer in result["answers"] if answer["answer_text"]
    ]
    assert len(said) > 3
    stored = everything(server)
    found = [
        words
        for words in [*CANARIES, *said, "canary.test", "canary-secret", "77778888", "025550100"]
        if words.encode() in stored
    ]
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
    assert server.call(streamed)["stream"]["headers"] == ["Authorization"]
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


def test_data_stored_without_a_key_is_encrypted_later(make_server, callee):
    server = make_server()
    call_id = server.short_call(callee("silent"), [ATTEND], caller_display_name="Wistful Canary")
    before = server.result(call_id), server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)
    # The SIP messages are written half a second after the call: by a server without a key, so before we encrypt.
    wait_until(lambda: server.request("GET", f"/api/outbound/{call_id}/sip")[1]["items"], 10, "no SIP messages")
    assert b"Wistful Canary" in everything(server)
    # A server without a key writes records of ended calls a little later, too: it is stopped before we encrypt.
    server.kill()
    server.environment["TRUNKLINE_SECURITY_ENCRYPTION_KEY"] = ENCRYPTION_KEY
    done = run(server, "encrypt")
    assert done.returncode == 0 and "and 1 recordings" in done.stdout, done.stderr
    server.start()
    assert (server.result(call_id), server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)) == before
    assert b"Wistful Canary" not in everything(server)


def test_an_erased_call_leaves_no_data(make_server, callee):
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


def test_calls_are_erased_after_their_retention_time(make_server, callee):
    server = make_server()
    call_id = server.short_call(callee("silent"), [ATTEND])
    server.kill()
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        database.execute("UPDATE calls SET created_at = created_at - 864000, completed_at = completed_at - 864000")
    server.environment["TRUNKLINE_SECURITY_RETENTION_DAYS"] = "9"
    server.start()
    deadline = time.time() + 5
    while server.request("GET", f"/api/outbound/{call_id}")[0] != 404:
        assert time.time() < deadline
        time.sleep(0.05)


def test_a_backup_can_be_restored(make_server, callee, tmp_path):
    server = make_server(TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY)
    call_id = server.short_call(callee("silent"), [ATTEND])
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


def test_a_database_of_an_earlier_version_is_migrated(make_server, tmp_path):
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
