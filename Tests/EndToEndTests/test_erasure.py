"""What is erased is in no file any more, and no file can be read by others."""

import os
import signal
import sqlite3
import stat
import subprocess
import time

import pytest
from conftest import GUESTS, SHORT, TRUNKLINE, Server
from ports import free_port

# In everything that is kept of a call: request, transcript, answers, summary, events, search index. No number.
WORDS = ["Quizzaciously", "Zyzzyvaflock", "Xerophthalmic", "kwyjibometa"]
NUMBERS = ["01087654391", "1087654391", "0255512347"]


def files(server):
    return [path for path in (server.folder / "data").rglob("*") if path.is_file()]


def found(server, words):
    """Words that are in some file: as they are, in lower case, in UTF-16, whole or their ends (an index stores them
    without their beginnings)."""
    hits = set()
    for path in files(server):
        data = path.read_bytes()
        lower = data.lower()
        for word in words:
            needles = [word.lower().encode(), word.lower()[3:].encode()]
            wide = [word.encode("utf-16-le"), word.encode("utf-16-be"), word.lower().encode("utf-16-le")]
            if any(needle in lower for needle in needles) or any(needle in data for needle in wide):
                hits.add((word, path.name))
    return hits


def place(server, callee, word="Quizzaciously", persona="busy"):
    return server.create(
        callee(persona).address,
        [GUESTS, "Do you like the Zyzzyvaflock?"][: 2 if persona == "busy" else 1],
        purpose=f"to ask about a {word} dinner",
        caller_display_name="Xerophthalmic",
        metadata={"note": "kwyjibometa"},
        caller_number=NUMBERS[2],
    )


def make(server, callee):
    """A call that is over."""
    call_id = place(server, callee)
    server.wait_for(call_id, seconds=60)
    return call_id


@pytest.mark.early
def test_no_word_of_an_erased_call_is_in_any_file(make_server, callee):
    server = make_server()
    kept = place(server, callee, "Floccinaucinihil")
    erased = [place(server, callee), place(server, callee, persona="cooperative")]
    for call_id in (kept, *erased):
        server.wait_for(call_id, seconds=60)
    assert {word for word, _ in found(server, WORDS)} == set(WORDS), "the test finds what is there"
    assert server.result(erased[1])["answers"][0]["status"] == "answered"
    transcript = server.request("GET", f"/api/outbound/{erased[1]}/transcript")[1]["transcript"]
    assert transcript
    for call_id in erased:
        assert server.request("DELETE", f"/api/outbound/{call_id}")[0] == 204
    assert not found(server, ["Quizzaciously"]), "only the calls erased had it"
    assert server.request("DELETE", f"/api/outbound/{kept}")[0] == 204
    assert not found(server, [*WORDS, "Floccinaucinihil", NUMBERS[2]])
    assert not found(server, [entry["text"] for entry in transcript])
    assert server.request("GET", "/api/outbound/?q=quizz")[1]["total"] == 0
    server.kill()
    assert not found(server, [*WORDS, "Floccinaucinihil"])


def test_removed_knowledge_is_in_no_file(make_server):
    server = make_server()
    ids = [
        server.request(
            "POST", "/api/knowledge", {"question": f"What is a Quizzaciously {n}?", "answer": "A Zyzzyvaflock."}
        )[1]["id"]
        for n in range(3)
    ]
    assert found(server, WORDS[:2])
    for item in ids:
        assert server.request("DELETE", f"/api/knowledge/{item}")[0] == 204
    assert not found(server, WORDS[:2])


def test_an_erasure_interrupted_by_a_crash_is_finished_at_the_next_start(make_server, callee):
    """Deleted, and killed before the index was merged: what the first transaction leaves."""
    server = make_server()
    call_id = make(server, callee)
    server.kill()
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        database.execute("PRAGMA secure_delete = ON")
        database.execute("DELETE FROM calls WHERE id = ?", (call_id,))
        for table in ("transcript", "events", "deliveries", "dials"):
            database.execute(f"DELETE FROM {table} WHERE call_id = ?", (call_id,))
        database.execute("INSERT INTO meta (name, value) VALUES ('erasure', ?)", (b"a mark",))
    database.close()
    assert found(server, ["Quizzaciously"])
    server.start()
    deadline = time.time() + 10
    while found(server, ["Quizzaciously"]):
        assert time.time() < deadline, found(server, ["Quizzaciously"])
        time.sleep(0.1)


def test_an_open_snapshot_delays_only_the_erasure_from_files(make_server, callee):
    """A backup, or another process, holds a snapshot: the call is erased at once, and its last bytes are gone when that
    ends."""
    server = make_server()
    call_id = make(server, callee)
    reader = sqlite3.connect(server.folder / "data/calls.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM calls").fetchone()
    started = time.monotonic()
    assert server.request("DELETE", f"/api/outbound/{call_id}")[0] == 204
    assert time.monotonic() - started < 8 and server.request("GET", f"/api/outbound/{call_id}")[0] == 404
    assert server.request("GET", "/health", key=None)[0] == 200
    reader.execute("COMMIT")
    reader.close()
    server.kill(signal.SIGTERM)
    server.start()
    deadline = time.time() + 10
    while found(server, WORDS):
        assert time.time() < deadline, found(server, WORDS)
        time.sleep(0.1)


def modes(folder):
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("umask", ["022", "000"])
def test_only_the_owner_may_read_the_files(tmp_path, callee, umask):
    """Whatever the umask; the second forbids nothing."""
    (tmp_path / "server").mkdir()
    launcher = ["sh", "-c", f'umask {umask}; exec "$0" "$@"']
    server = Server(tmp_path / "server", launcher=launcher, **SHORT).start()
    try:
        server.short_call(callee("silent"), [GUESTS])
        data = server.folder / "data"
        seen = modes(data)
        assert {"calls.sqlite", "calls.sqlite-wal", "calls.sqlite-shm"} <= set(seen) and any(
            "recordings/" in name for name in seen
        ), seen
        assert set(seen.values()) == {"0o600"}, seen
        assert {stat.S_IMODE(path.stat().st_mode) for path in [data, data / "recordings"]} == {0o700}
        command = subprocess.run(
            [*launcher, str(TRUNKLINE), "backup", str(tmp_path / "copy")],
            cwd=server.folder,
            env={**os.environ, **server.environment},
            capture_output=True,
            text=True,
        )
        assert command.returncode == 0, command.stderr
        copied = modes(tmp_path / "copy")
        assert {mode for name, mode in copied.items() if name != "manifest.json"} == {"0o600"}, copied
    finally:
        server.kill()
    # Files of an older version, which others could read.
    for path in [*data.glob("calls.sqlite*"), *(data / "recordings").iterdir()]:
        path.chmod(0o644)
    server.start()
    try:
        server.short_call(callee("silent"), [GUESTS])
        assert set(modes(data).values()) == {"0o600"}, modes(data)
    finally:
        server.kill()


def test_with_tls_only_the_owner_may_read_the_files(tmp_path, callee, certificates):
    """The copy of certificate and key for SIP, and temporary files: no file but the test's own log is for others."""
    folder = tmp_path / "server"
    (folder / "temporary").mkdir(parents=True)
    server = Server(
        folder,
        tls=str(certificates / "ca.pem"),
        launcher=["sh", "-c", 'umask 000; exec "$0" "$@"'],
        TMPDIR=str(folder / "temporary"),
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / "one.pem"),
        TRUNKLINE_TLS_KEY=str(certificates / "one.key"),
        TRUNKLINE_SIP_TLS_PORT=str(free_port()),
        **SHORT,
    ).start()
    try:
        server.short_call(callee("silent"), [GUESTS])
        seen = modes(folder)
        assert "data/sip-tls/agent.pem" in seen and seen["data/sip-tls/agent.pem"] == "0o600", seen
        ours = {name: mode for name, mode in seen.items() if name != "server.log"}
        assert {mode[-2:] for mode in ours.values()} == {"00"}, ours
        assert stat.S_IMODE((folder / "data/sip-tls").stat().st_mode) == 0o700
    finally:
        server.kill()
