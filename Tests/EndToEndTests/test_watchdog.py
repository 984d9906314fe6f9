"""A thread that hangs: it is noticed, /health reports it, and SIGTERM still ends the process.
The thread is stopped as a debugger would.

LoopWatchdogTests checks what the log says of each activity: where a debugger stops a thread is chance.
"""

import contextlib
import ctypes
import http.client
import os
import pathlib
import re
import signal
import time

import pytest
from conftest import ATTEND

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_CONT, PTRACE_DETACH = 0x4206, 0x4207, 7, 17
# Of the calls in which a thread waits for something to do (poll, ppoll, select, epoll_wait, epoll_pwait, futex; x86_64
# and arm64). Stopped anywhere else it may hold a lock of malloc, and every other thread would stop with it.
WAITING = {"x86_64": {7, 271, 23, 232, 281, 202}, "aarch64": {73, 72, 22, 98}}[os.uname().machine]
WAIT_FOR_THREADS = 0x40000000
# The watchdog's (2 s until it reports, 10 s until it ends the process), with the half second between two looks, and
# the limit of SIGTERM.
REPORT_SECONDS, ABORT_SECONDS, LOOK_SECONDS, STOP_SECONDS = 2, 10, 0.5, 30
# What a thread may be doing (EventLoop.Activity, UserAgent.Activity).
DOING = {
    "loop-0": "nothing|a task of a call|a function posted to it|the 20 ms tick of its calls|"
    "a connection to our HTTP server|a WebSocket that we opened|RTP",
    "sip": "messages and timers of the SIP stack|an event of the SIP stack|a command to the SIP stack",
}


class Held:
    """A thread of a server that is stopped for good, until `release`."""

    def __init__(self, server, name):
        self.server = server
        found = [
            int(task.name)
            for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
            if (task / "comm").read_text().strip() == name
        ]
        assert found, f"there is no thread {name}"
        self.thread, self.is_released = found[0], False
        if not self.trace(PTRACE_SEIZE):
            pytest.skip(f"this machine does not allow tracing a process: {os.strerror(ctypes.get_errno())}")
        for _ in range(1_000):
            assert self.trace(PTRACE_INTERRUPT), os.strerror(ctypes.get_errno())
            os.waitpid(self.thread, WAIT_FOR_THREADS)
            if self.call() in WAITING:
                break
            assert self.trace(PTRACE_CONT), os.strerror(ctypes.get_errno())
            time.sleep(0.002)
        else:
            raise AssertionError(f"the thread {name} never waits")
        self.begun = time.time()

    def call(self):
        """The system call in which the stopped thread is; -1: in none."""
        return int((pathlib.Path(f"/proc/{self.server.process.pid}/task/{self.thread}/syscall").read_text()).split()[0])

    def trace(self, request):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        return libc.ptrace(request, self.thread, None, None) == 0

    def reap(self, options=0):
        """A thread that is traced is buried by its tracer, and its process only after it."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.thread, options | WAIT_FOR_THREADS)

    def release(self):
        assert self.trace(PTRACE_DETACH), os.strerror(ctypes.get_errno())
        self.is_released = True

    def wait_for_end(self, seconds):
        """The process's exit code, None where it lives, and the seconds since the thread was stopped."""
        deadline = time.time() + seconds
        while self.server.process.poll() is None and time.time() < deadline:
            self.reap(os.WNOHANG)
            time.sleep(0.1)
        self.server.is_killed = True
        return self.server.process.poll(), time.time() - self.begun

    def end(self):
        """Whatever a test has found: nothing is left behind that waits for this tracer."""
        if self.server.process.poll() is None:
            self.server.is_killed = True
            self.server.process.kill()
            deadline = time.time() + 10
            while self.server.process.poll() is None and time.time() < deadline:
                self.reap(os.WNOHANG)
                time.sleep(0.05)


@pytest.fixture
def hold():
    """Ends before `make_server` does, which every test here asks for first."""
    held = []

    def start(server, name):
        held.append(Held(server, name))
        return held[-1]

    yield start
    for one in held:
        if not one.is_released:
            one.end()


def health(server):
    """Not longer than a look of the watchdog: a connection that a loop which hangs was given is never answered."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=LOOK_SECONDS)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return None
    finally:
        connection.close()


def problem(server, seconds):
    """What /health says, asked until it finds a problem, and after how many seconds."""
    begun = time.time()
    while time.time() - begun < seconds:
        answer = health(server)
        if answer and answer[0] == 503:
            return answer[1], time.time() - begun
        time.sleep(0.05)
    return None, time.time() - begun


@pytest.mark.parametrize("name", ["loop-0", "sip"])
def test_a_thread_that_hangs_is_reported_and_the_process_ends_for_its_supervisor(make_server, hold, allowed, name):
    server = make_server(TRUNKLINE_LOOPS="2", SWIFT_BACKTRACE="enable=no")
    thread = hold(server, name)
    # The acceptor gives connections to the loop that turns; one that hangs cannot answer.
    found, seconds = problem(server, 6)
    assert found and f"{name} has not turned for" in found, found
    assert REPORT_SECONDS - LOOK_SECONDS <= seconds < allowed(REPORT_SECONDS + 3 * LOOK_SECONDS)
    answers = [health(server) for _ in range(3)]
    assert all(answer and answer[0] == 503 and f"{name} has not turned for" in answer[1] for answer in answers), answers
    assert server.process.poll() is None
    code, seconds = thread.wait_for_end(15)
    assert code == -signal.SIGABRT
    # The watchdog counts its looks, not the time: on a busy machine each of the twenty may come late.
    assert ABORT_SECONDS - LOOK_SECONDS <= seconds < allowed(2 * ABORT_SECONDS), seconds
    log = server.log_end()
    stuck = re.findall(r"an event loop does not turn.*", log)
    lost = re.findall(r"an event loop does not come back: the process ends.*", log)
    assert len(stuck) == len(lost) == 1, log
    for line in stuck + lost:
        assert re.search(rf"\bloop={name}\b", line) and re.search(rf"doing=.*({DOING[name]})", line), line


def test_an_http_client_that_hangs_is_reported_and_ends_nothing(make_server, hold):
    """Calls go on without it: what it is asked for has time limits of its own."""
    server = make_server(TRUNKLINE_LOOPS="1", SWIFT_BACKTRACE="enable=no")
    thread = hold(server, "http-client")
    found, _ = problem(server, 6)
    assert found and "http-client has not turned for" in found, found
    while time.time() < thread.begun + ABORT_SECONDS + 4 * LOOK_SECONDS:
        time.sleep(LOOK_SECONDS)
        assert server.process.poll() is None and health(server)[0] == 503
    thread.release()
    deadline = time.time() + 5
    while (answer := health(server)) != (200, "ok\n") and time.time() < deadline:
        time.sleep(0.1)
    log = server.log_end()
    assert answer == (200, "ok\n") and "a thread turns again" in log
    assert re.search(r"a thread does not turn.*\bthread=http-client\b", log), log


def test_a_loop_that_recovers_is_healthy_again(make_server, hold):
    """A stop of less than 10 s, by a slow disk perhaps, ends nothing."""
    server = make_server(TRUNKLINE_LOOPS="2", SWIFT_BACKTRACE="enable=no")
    thread = hold(server, "loop-0")
    assert problem(server, 6)[0]
    thread.release()
    deadline = time.time() + 5
    while (answer := health(server)) != (200, "ok\n") and time.time() < deadline:
        time.sleep(0.1)
    assert answer == (200, "ok\n") and "an event loop turns again" in server.log_end()


@pytest.mark.parametrize("name", ["loop-0", "sip"])
@pytest.mark.early
def test_sigterm_ends_the_process_whatever_a_thread_does(make_server, hold, name):
    server = make_server(TRUNKLINE_LOOPS="1", SWIFT_BACKTRACE="enable=no")
    thread = hold(server, name)
    server.process.send_signal(signal.SIGTERM)
    code, seconds = thread.wait_for_end(STOP_SECONDS + 10)
    log = server.log_end()
    if name == "sip":
        # Nothing else waits for it longer than 5 s.
        assert code is not None and seconds < STOP_SECONDS, log
        return
    assert code == 1 and "did not stop in time" in log, (code, log)
    assert STOP_SECONDS - 1 <= seconds < STOP_SECONDS + 5


def test_sigterm_ends_the_process_while_a_call_hangs(make_server, callee, hold):
    """The call cannot be ended, as its loop hangs: the watchdog ends the process before the limit of SIGTERM."""
    server = make_server(TRUNKLINE_LOOPS="1", SWIFT_BACKTRACE="enable=no")
    server.wait_for(server.create(callee("silent").address, [ATTEND]), {"connected"})
    thread = hold(server, "loop-0")
    server.process.send_signal(signal.SIGTERM)
    code, seconds = thread.wait_for_end(STOP_SECONDS + 10)
    log = server.log_end()
    assert code == -signal.SIGABRT and "an event loop does not come back: the process ends" in log, (code, log)
    assert seconds < ABORT_SECONDS + 4 * LOOK_SECONDS
