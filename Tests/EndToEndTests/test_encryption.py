"""Encrypted data that was changed on the disk: a clear error for that call, nothing of it shown, everything else goes
on; keys changed under `kill -9`."""

import contextlib
import itertools
import json
import random
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import ATTEND, SHORT, TRUNKLINE, Callee, Server, clean_environment
from operators import add_operator, wait_until
from stored_data import ENCRYPTION_KEY, NEW_KEY, run

# Of an encrypted row: 01 │ key's id, 4 │ nonce, 12 │ ciphertext │ tag, 16
PLACES = {"version": 0, "key id": 2, "nonce": 8, "ciphertext": 20, "tag": -3}


SEALED = {"TRUNKLINE_SECURITY_ENCRYPTION_KEY": ENCRYPTION_KEY, "TRUNKLINE_WEBHOOKS_URL": "http://127.0.0.1:9/", **SHORT}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A data folder with three ended calls, three entries of each list, and everything encrypted."""
    folder = tmp_path_factory.mktemp("original")
    server, callee = Server(folder, **SEALED).start(), Callee(folder, "busy")
    # At one time: a number is called once at a time, and the callee takes any.
    calls = [
        server.create(
            callee.address.replace("callee@", f"callee{number}@"),
            [ATTEND],
            caller_display_name="Wistful Canary",
            webhook_url="http://127.0.0.1:9/own",
        )
        for number in range(3)
    ]
    for call_id in calls:
        server.wait_for(call_id)
    for digit in "123":
        assert server.request("POST", "/api/do-not-call", {"number": f"+82 10 7777 888{digit}"})[0] == 201
        assert server.request("POST", "/api/numbers", {"number": f"+82 2 555 010{digit}"})[0] == 201
        assert (
            server.request(
                "POST", "/api/templates", {"name": f"T{digit}", "purpose": "canary-purpose", "questions": ["canary?"]}
            )[0]
            == 201
        )
        add_operator(server, f"Operator {digit}", f"user{digit}", f"100{digit}", "canary-password")
    # Half a second after a call's end.
    wait_until(lambda: stored(folder, "sip_traces") == len(calls), what="the SIP messages are not stored")
    callee.stop()
    server.kill()
    return folder / "data", calls


def stored(folder, table):
    with contextlib.closing(sqlite3.connect(folder / "data/calls.sqlite")) as database:
        return database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]


@pytest.fixture
def encrypted(original, tmp_path):
    """A server, not started, with a copy of it."""
    data, calls = original
    shutil.copytree(data, tmp_path / "data")
    server = Server(tmp_path, **SEALED)
    yield server, calls
    if server.process:
        server.kill()


def change(server, table, column, where, new):
    """Changes the bytes of one encrypted value; returns what it was."""
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        rowids = "rowid" if table not in ("transcript",) else "position"
        key, value = database.execute(f"SELECT {rowids}, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
        database.execute(f"UPDATE {table} SET {column} = ? WHERE {where} AND {rowids} = ?", (new(value), key))
    database.close()
    return value


def flip(place):
    def at(value):
        value = bytearray(value)
        value[place] ^= 0x40
        return bytes(value)

    return at


def looks(server, calls):
    """What the pages ask for; the status of each."""
    paths = {name: f"/api/outbound/{calls[0]}{name}" for name in ("", "/result", "/transcript", "/events")}
    paths |= {
        name: name
        for name in (
            "/api/outbound/",
            "/api/outbound/active",
            "/api/outbound/stats",
            "/api/do-not-call",
            "/api/numbers",
            "/api/templates",
            "/api/operators",
            "/api/webhooks/deliveries",
            "/health",
            f"/api/outbound/{calls[1]}/result",
            "/api/inbound/",
        )
    }
    return {name: server.request("GET", path) for name, path in paths.items()}


COLUMNS = [
    ("calls", "record"),
    ("calls", "webhook"),
    ("transcript", "entry"),
    ("events", "payload"),
    ("deliveries", "message"),
    ("do_not_call", "entry"),
    ("caller_numbers", "entry"),
    ("templates", "entry"),
    ("sip_traces", "entry"),
    ("operators", "entry"),
]
# What tells the rows of a table apart.
KEYS = {"transcript": "call_id || '/' || position", "sip_traces": "call_id", "meta": "name"} | {
    "do_not_call": "key",
    "caller_numbers": "key",
}


# Tables of a call, and the column that holds its id.
OF_A_CALL = {"calls": "id", **dict.fromkeys(("transcript", "events", "deliveries", "sip_traces"), "call_id")}
DAMAGES = {name: flip(place) for name, place in PLACES.items()} | {
    "cut": lambda value: value[:20],
    "only the head": lambda value: value[:5],
}


@pytest.mark.parametrize("table, column", COLUMNS)
def test_damage_to_an_encrypted_column_is_detected(encrypted, table, column):
    """Flipped bits in each part, cut, nothing but the head: nothing crashes, the lists go on; a start with such a row
    is a start."""
    server, calls = encrypted
    where = f"{OF_A_CALL[table]} = '{calls[0]}'" if table in OF_A_CALL else "1 = 1"
    server.start()
    for name, damage in DAMAGES.items():
        was = change(server, table, column, where, damage)
        seen = looks(server, calls)
        lists = {
            path: status
            for path, (status, _) in seen.items()
            if path.startswith("/") and path not in ("/result", "/transcript", "/events")
        }
        assert set(lists.values()) == {200}, (name, lists)
        if (table, column) == ("calls", "record"):
            for path in ("", "/result"):
                status, answer = seen[path]
                assert status == 503 and ("encrypted" in answer["detail"] or "damaged" in answer["detail"]), (
                    name,
                    answer,
                )
            assert [item["outbound_id"] for item in seen["/api/outbound/"][1]["items"]] == [calls[2], calls[1]]
        if table == "transcript":
            assert seen["/transcript"][0] == 503 and "Canary" not in str(seen["/transcript"]), (
                name,
                seen["/transcript"],
            )
        assert server.process.poll() is None
        change(server, table, column, where, lambda _, was=was: was)
    change(server, table, column, where, DAMAGES["tag"])
    server.kill()
    server.start()
    assert server.request("GET", f"/api/outbound/{calls[1]}/result")[0] == 200
    assert f"1 rows of {table} cannot be opened" in run(server, "doctor").stdout
    if table == "deliveries":
        assert server.request("GET", "/api/webhooks/deliveries")[0] == 200, (
            "what cannot be read keeps nothing else waiting"
        )


def test_exchanged_rows_and_columns_are_detected(encrypted):
    server, calls = encrypted
    server.start()
    server.kill()
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        records = dict(database.execute("SELECT id, record FROM calls"))
        webhook = database.execute("SELECT webhook FROM calls WHERE id = ?", (calls[0],)).fetchone()[0]
        database.execute("UPDATE calls SET record = ? WHERE id = ?", (records[calls[1]], calls[0]))
    database.close()
    server.start()
    status, answer = server.request("GET", f"/api/outbound/{calls[0]}")
    assert status == 503 and "does not belong where it stands" in answer["detail"]
    assert server.request("GET", f"/api/outbound/{calls[1]}")[0] == 200
    server.kill()
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        database.execute("UPDATE calls SET record = ? WHERE id = ?", (webhook, calls[0]))
    database.close()
    server.start()
    status, answer = server.request("GET", f"/api/outbound/{calls[0]}")
    assert status == 503 and "does not belong" in answer["detail"] and "127.0.0.1" not in json.dumps(answer)


def swap(server, table, column):
    """Swaps two encrypted values of a column: of one call and one name, where a table has such rows; the newest calls,
    the last of which `doctor` opens to see whether the key is right."""
    key = KEYS.get(table, "id")
    order = {"calls": "position DESC"}.get(table, "1")
    alike = {
        "transcript": "call_id",
        "events": "call_id || name",
        "deliveries": "call_id || event",
    }.get(table, "1")
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        rows = database.execute(
            f"SELECT {key}, {column}, {alike} FROM {table} WHERE {column} IS NOT NULL ORDER BY 3, {order}"
        ).fetchall()
        pairs = [(a, b) for a, b in itertools.pairwise(rows) if a[2] == b[2]]
        assert pairs, f"{table} has no two rows that are alike: {[(row[0], row[2]) for row in rows]}"
        one, other = pairs[0]
        for place, value in ((one, other), (other, one)):
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (value[1], place[0]))
    database.close()


@pytest.mark.parametrize("table, column", COLUMNS)
def test_exchanged_values_of_every_encrypted_column_are_detected(encrypted, table, column):
    """Two rows of one column swapped, then a value of another column: neither is shown, and the server starts."""
    server, calls = encrypted
    assert "cannot be opened" not in run(server, "doctor").stdout
    swap(server, table, column)
    assert f"2 rows of {table} cannot be opened" in run(server, "doctor").stdout
    server.start()
    for path, (status, answer) in looks(server, calls).items():
        assert status == 200 or status == 503 and "does not belong where it stands" in answer["detail"], (path, answer)
    server.kill()
    swap(server, table, column)
    assert "cannot be opened" not in run(server, "doctor").stdout
    foreign = ("templates", "entry") if table != "templates" else ("do_not_call", "entry")
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        value = database.execute(f"SELECT {foreign[1]} FROM {foreign[0]} LIMIT 1").fetchone()[0]
    database.close()
    where = f"call_id = '{calls[0]}'" if table == "transcript" else f"{column} IS NOT NULL"
    change(server, table, column, where, lambda _: value)
    assert f"1 rows of {table} cannot be opened" in run(server, "doctor").stdout
    server.start()
    for path, (status, answer) in looks(server, calls).items():
        assert status in (200, 503), (path, answer)
        assert table == "templates" or path == "/api/templates" or "canary-purpose" not in json.dumps(answer), path


@pytest.mark.parametrize("damage", [*DAMAGES, "another column's"])
def test_damage_to_the_index_secret_ends_the_start(encrypted, damage):
    """`meta.value`: without it no number would be found, so the server says so and does not start."""
    server, _ = encrypted
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        foreign = database.execute("SELECT entry FROM templates LIMIT 1").fetchone()[0]
    database.close()
    change(server, "meta", "value", "name = 'number_index'", DAMAGES.get(damage, lambda _: foreign))
    with pytest.raises(RuntimeError, match="encrypt|damaged|does not belong|is missing"):
        server.start()
    assert server.process.returncode > 0, "it ends by itself"


@pytest.mark.parametrize("damage", [*PLACES, "exchanged", "cut", "another call's"])
def test_damage_to_an_encrypted_recording_is_detected(encrypted, damage):
    """No sample of a damaged piece is given out; the call, its result and the other recording are as they were."""
    server, calls = encrypted
    folder = server.folder / "data/recordings"
    path, other = (next(folder.glob(f"{call_id}*")) for call_id in calls[:2])
    data, piece = bytearray(path.read_bytes()), 8_192 + 33
    assert len(data) > 3 * piece
    if damage in PLACES:
        data[piece + PLACES[damage] if PLACES[damage] >= 0 else 2 * piece + PLACES[damage]] ^= 0x40
    elif damage == "exchanged":
        data[: 2 * piece] = data[piece : 2 * piece] + data[:piece]
    elif damage == "cut":
        data = data[: piece + 100]
    else:
        data = other.read_bytes()
    path.write_bytes(data)
    server.start()
    try:
        status, found = server.request("GET", f"/api/outbound/{calls[0]}/recording", raw=True)
        # The pieces before may have been sent; none of the damaged one follows.
        assert status != 200 or len(found) < 44 + 2 * 8_192, (status, len(found))
    except Exception as error:
        assert "IncompleteRead" in repr(error) or "RemoteDisconnected" in repr(error), error
    assert server.request("GET", f"/api/outbound/{calls[0]}/result")[0] == 200
    status, whole = server.request("GET", f"/api/outbound/{calls[1]}/recording", raw=True)
    assert status == 200 and whole[:4] == b"RIFF" and server.process.poll() is None


def key_id(server):
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        return database.execute("SELECT record FROM calls").fetchone()[0][:5]


def test_a_change_of_keys_survives_kill_9(make_server, callee):
    """`trunkline encrypt` is killed at random moments and begun again: nothing is lost, and at the end nothing of the
    old key is left."""
    server = make_server(TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY)
    call_id = server.short_call(callee("silent"), [ATTEND], caller_display_name="Wistful Canary")
    for number in range(600):
        assert server.request("POST", "/api/do-not-call", {"number": f"+8210{20_000_000 + number}"})[0] == 201
    server.kill()
    # Recordings to be encrypted take most of the time: as many as make some seconds of it.
    folder = server.folder / "data/recordings"
    with sqlite3.connect(server.folder / "data/calls.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM do_not_call").fetchone()[0] == 600
    # Recordings that no call knows are encrypted too.
    for number in range(120):
        (folder / f"ob-{number:08x}-1.wav").write_bytes(b"RIFF" + bytes(40) + random.Random(number).randbytes(800_000))
    server.start()
    before = (
        server.call(call_id),
        server.result(call_id),
        server.request("GET", f"/api/outbound/{call_id}/recording", raw=True),
    )
    server.kill()
    old = key_id(server)
    server.environment |= {
        "TRUNKLINE_SECURITY_ENCRYPTION_KEY": NEW_KEY,
        "TRUNKLINE_SECURITY_FORMER_KEYS": ENCRYPTION_KEY,
    }
    kills, chance = 0, random.Random(3)
    while kills < 20:
        process = subprocess.Popen(
            [TRUNKLINE, "encrypt"],
            cwd=server.folder,
            env={**clean_environment(), **server.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            process.wait(timeout=chance.uniform(0.03, 0.15))
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        if kills == 7:
            # Half encrypted, a server reads all of it.
            server.start()
            assert (
                server.call(call_id),
                server.result(call_id),
                server.request("GET", f"/api/outbound/{call_id}/recording", raw=True),
            ) == before
            server.kill()
    assert kills >= 5, "it was interrupted"
    done = run(server, "encrypt")
    assert "cannot be opened" not in done.stdout, (done.stdout, done.stderr)
    left = {
        (path.name, path.read_bytes().count(old))
        for path in (server.folder / "data").rglob("*")
        if path.is_file() and old in path.read_bytes()
    }
    assert not left, (left, done.stdout, done.stderr)
    assert not list(folder.glob("*.partial"))
    del server.environment["TRUNKLINE_SECURITY_FORMER_KEYS"]
    server.start()
    assert (
        server.call(call_id),
        server.result(call_id),
        server.request("GET", f"/api/outbound/{call_id}/recording", raw=True),
    ) == before
    assert server.request("GET", "/api/do-not-call?limit=200")[1]["total"] == 600
    assert run(server, "doctor").stdout.count("cannot be opened") == 0
