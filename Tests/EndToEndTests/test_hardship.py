"""Full disks, locked databases, no more files, a clock that is set: calls in progress go on, new ones are refused, and
it recovers by itself."""

import contextlib
import os
import pathlib
import resource
import socket
import sqlite3
import subprocess
import time

import pytest
from conftest import ATTEND

GOOD = {
    "caller_number": "025550100",
    "callee_number": "sip:nobody@127.0.0.1:9",
    "purpose": "p",
    "questions": ["a"],
    "scheduled_at": "2099-01-01T00:00:00Z",
}


def post(server):
    return server.request("POST", "/api/outbound/", GOOD)[0]


def wait_until(condition, seconds=20):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline
        time.sleep(0.1)


def test_a_locked_database_loses_nothing_of_a_call(server, callee):
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    with contextlib.closing(sqlite3.connect(server.folder / "data/calls.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert post(server) == 503 and int(server.last_headers["retry-after"]) > 0
        assert server.request("GET", "/api/outbound/")[0] == 200, "what is there can be read"
        time.sleep(3)
        other.execute("ROLLBACK")
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed") and len(result["transcript"]) >= 3, (
        "nothing of the call is lost"
    )
    assert result["answers"][0]["status"] == "answered" and post(server) == 202


@pytest.mark.may_skip("a mount")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_ends_no_call(make_server, callee, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    try:
        server = make_server(TRUNKLINE_DATA=str(disk / "data"))
        call_id = server.create(callee("cooperative").address, [ATTEND])
        server.wait_for(call_id, {"connected"})
        # What a buffer could not get rid of it would try to write again when it is closed.
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(65_536)):
                pass
        # What fits into pages that are there already may still be stored.
        wait_until(lambda: post(server) == 507)
        assert server.request("GET", f"/api/outbound/{call_id}")[0] == 200
        time.sleep(6)
        assert server.process.poll() is None
        (disk / "filler").unlink()
        call, result = server.wait_for(call_id, seconds=60), server.result(call_id)
        assert call["state"] == "completed" and result["answers"][0]["status"] == "answered", (call, result)
        wait_until(lambda: post(server) == 202)
        server.kill()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_lack_of_file_descriptors_ends_no_call(make_server, callee):
    server = make_server()
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 12, 4_096))
    idle = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(40)]
    time.sleep(2)
    assert server.process.poll() is None
    for one in idle:
        one.close()
    assert server.wait_for(call_id, seconds=40)["end_reason"] == "task_completed"
    assert post(server) == 202
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (4_096, 4_096))


LIBFAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


@pytest.fixture
def faketime():
    """What libfaketime keeps beside the processes: made by `faketime`, for the library would put it into the
    environment, and then Swift does not find its arguments any more."""
    assert LIBFAKETIME, "the package faketime is missing: scripts/setup --test"
    holder = subprocess.Popen(
        ["faketime", "-f", "+0", "sh", "-c", "echo $FAKETIME_SHARED; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield holder.stdout.readline().strip()
    holder.stdin.close()
    holder.wait(timeout=10)


@pytest.mark.parametrize(
    "step",
    ["+86400", "-3600", pytest.param("+3600", marks=pytest.mark.long), pytest.param("-86400", marks=pytest.mark.long)],
)
def test_setting_the_clock_ends_no_call(make_server, callee, tmp_path, faketime, step):
    clock = tmp_path / "clock"
    clock.write_text("+0")
    server = make_server(
        FAKETIME_SHARED=faketime,
        LD_PRELOAD=str(LIBFAKETIME),
        FAKETIME_TIMESTAMP_FILE=str(clock),
        FAKETIME_NO_CACHE="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
        TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="1",
    )
    call_id = server.create(callee("cooperative").address, [ATTEND])
    waiting = server.create(callee("rejects").address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    clock.write_text(step)
    call = server.wait_for(call_id, seconds=40)
    assert call["end_reason"] == "task_completed" and 3 < call["duration_seconds"] < 40, call
    assert server.wait_for(waiting, seconds=40)["state"] == "rejected", "what waited is dialled"
    assert post(server) == 202
