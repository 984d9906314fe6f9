"""An event loop that hangs: noticed, said by /health, and never the end of SIGTERM. The loop's thread is stopped as a debugger would."""

import ctypes
import os
import pathlib
import signal
import time

import pytest

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WAIT_FOR_THREADS = 0x40000000


def hold(pid, name):
    """Stops one thread of a process for good, and returns its id."""
    found = [
        int(task.name)
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
        if (task / "comm").read_text().strip() == name
    ]
    assert found, f"there is no thread {name}"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if libc.ptrace(request, found[0], None, None) < 0:
            pytest.skip(f"this machine lets nobody trace a process: {os.strerror(ctypes.get_errno())}")
    return found[0]


def health(server):
    try:
        return server.request("GET", "/health", key=None)
    except OSError:
        return None


def wait_for_end(server, thread, seconds):
    """The process's exit code, None where it lives, and the seconds that it took."""
    begun = time.time()
    while server.process.poll() is None and time.time() - begun < seconds:
        # A thread that is traced is buried by its tracer, and its process only after it.
        try:
            os.waitpid(thread, os.WNOHANG | WAIT_FOR_THREADS)
        except ChildProcessError:
            pass
        time.sleep(0.1)
    code = server.process.poll()
    if code is None:
        server.process.kill()
        os.waitpid(thread, WAIT_FOR_THREADS)
        server.process.wait(timeout=10)
    server.is_killed = True
    return code, time.time() - begun


def test_a_loop_that_hangs_is_reported_and_the_process_ends_for_its_supervisor(make_server):
    server = make_server(TRUNKLINE_LOOPS="2", SWIFT_BACKTRACE="enable=no")
    thread = hold(server.process.pid, "loop-0")
    time.sleep(3.5)
    # The acceptor gives connections to the loop that turns; one that hangs cannot answer.
    answers = [health(server) for _ in range(3)]
    assert all(answer and answer[0] == 503 and "loop-0 has not turned for" in answer[1] for answer in answers), answers
    code, _ = wait_for_end(server, thread, 15)
    assert code == -signal.SIGABRT
    log = server.log_end()
    assert log.count("an event loop does not turn") == 1 and "the process ends" in log and "doing" in log


def test_sigterm_ends_the_process_whatever_a_loop_does(make_server):
    server = make_server(TRUNKLINE_LOOPS="1", SWIFT_BACKTRACE="enable=no")
    thread = hold(server.process.pid, "loop-0")
    server.process.send_signal(signal.SIGTERM)
    code, seconds = wait_for_end(server, thread, 40)
    assert code is not None and seconds < 35
