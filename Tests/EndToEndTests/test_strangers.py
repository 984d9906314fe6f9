"""Strangers who open connections, WebSockets and downloads and do nothing useful with them: they give way, and a good
client beside them is answered. A stranger's connection is one that has not authenticated.

The tests marked `alone` judge each answer by a tenth of a second, so `scripts/test` runs them after all others."""

import contextlib
import os
import socket
import time

import pytest
from carrier import Carrier
from http_wire import (
    HANDSHAKE,
    PROMPT,
    answer_seconds,
    assert_prompt,
    connect,
    frame,
    frames,
    is_well,
    read_all,
    upgrade,
)
from realtime_calls import realtime

# Of ConnectionTable.Limits, on two event loops.
LOOPS = 2
OF_ONE_SOURCE, TOGETHER, GRACE_SECONDS = 128 * LOOPS, 512 * LOOPS, 1.0
# Seconds after which the server ends a media stream without a `start` by itself.
START_SECONDS = 5
PAGE = b"GET /web/index.html HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def asks_for_a_stream(path):
    fields = {**HANDSHAKE, "Authorization": None}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


def upgraded(server, path, source="127.0.0.1"):
    """A WebSocket whose first message does not come."""
    stream = connect(server, source)
    stream.sendall(asks_for_a_stream(path))
    return stream


def slow_reader(server, source="127.0.0.1"):
    """Asks for a megabyte and takes next to nothing of it."""
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    stream.settimeout(5)
    stream.bind((source, 0))
    stream.connect(("127.0.0.1", server.http_port))
    stream.sendall(PAGE * 60)
    return stream


def take_a_byte(streams):
    for stream in streams:
        with contextlib.suppress(OSError):
            stream.setblocking(False)
            stream.recv(1)


def sockets(server):
    """A file that is being read has a descriptor too."""
    count = 0
    for entry in os.scandir(f"/proc/{server.process.pid}/fd"):
        with contextlib.suppress(OSError):
            count += os.readlink(entry.path).startswith("socket:")
    return count


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def is_open(stream):
    """Its 101 may have come; the end has not."""
    stream.setblocking(False)
    try:
        while piece := stream.recv(65_536):
            # A close frame of the server.
            if b"\x88" in piece.rpartition(b"\r\n\r\n")[2][:1]:
                return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def close(streams):
    for stream in streams:
        stream.close()


@pytest.fixture
def server(make_server, model):
    """Its open streams let a call in by any `start`: those of strangers never come."""
    return make_server(**realtime(model([{"text": "A long story.", "ms": 60_000}])), TRUNKLINE_LOOPS=str(LOOPS))


class GoodClient:
    """A connection that is kept open, the dashboard's events, and a call by media stream."""

    def __init__(self, server):
        self.server, self.waits = server, []
        self.stream = connect(server)
        self.events, status, _ = upgrade(server, "/api/events")
        assert status == 101
        self.call = Carrier(f"ws://127.0.0.1:{server.http_port}/media/twilio", call_sid="CA1")
        self.call.wait(lambda: self.call.played_ms() > 0, what="the greeting")

    def looks(self, after):
        self.waits += [answer_seconds(self.stream, after), is_well(self.server)]

    def is_still_there(self):
        self.events.sendall(frame(9, b"there?"))
        assert (10, b"there?") in frames(read_all(self.events, 1)), "the events are gone"
        heard = self.call.played_ms()
        self.call.wait(lambda: self.call.played_ms() > heard, what="more of the call")

    def close(self):
        self.stream.close()
        self.events.close()
        self.call.hang_up()


@pytest.mark.parametrize("path", ["/media/browser", "/media/twilio"])
def test_websockets_that_say_nothing_give_way(server, path):
    good, strangers = GoodClient(server), []
    try:
        begun = time.monotonic()
        for number in range(600):
            strangers.append(upgraded(server, path))
            if number % 60 == 59:
                good.looks(after=number)
        # Those of one source are the most that a source may have.
        left = []

        def have_given_way():
            left[:] = [stranger for stranger in strangers if is_open(stranger)]
            return len(left) <= OF_ONE_SOURCE

        wait_until(have_given_way, 4, "strangers' WebSockets do not give way")
        if time.monotonic() - begun < START_SECONDS:
            assert left and set(left) & set(strangers[-100:]), "the newest stay"
        assert not is_open(strangers[0]), "the oldest are closed first"
        assert_prompt(good.waits)
        good.is_still_there()
    finally:
        close(strangers)
        good.close()
    is_well(server)


def test_slow_readers_give_way(server):
    status, page = server.request("GET", "/web/index.html", key=None, raw=True)
    assert status == 200 and len(page) > 10_000, "what is read slowly must be long"
    good, strangers, before = GoodClient(server), [], sockets(server)
    try:
        for number in range(400):
            strangers.append(slow_reader(server))
            if number % 40 == 39:
                take_a_byte(strangers)
                good.looks(after=number)
        # A byte a second, which must not make them younger.
        for _ in range(3):
            take_a_byte(strangers)
            time.sleep(GRACE_SECONDS)
        # The strangers have not seen it: their end waits behind what they do not take.
        wait_until(lambda: sockets(server) <= before + OF_ONE_SOURCE + 20, 5, "slow readers do not give way")
        assert_prompt(good.waits)
        good.is_still_there()
    finally:
        close(strangers)
        good.close()
    is_well(server)


def crowd(server, number):
    """One of a crowd from forty addresses: most are idle, some hold a WebSocket, some read slowly."""
    source = f"127.0.1.{number % 40 + 1}"
    if number % 8 == 3:
        return upgraded(server, "/media/browser", source)
    if number % 8 == 7:
        return slow_reader(server, source)
    return connect(server, source)


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["idle", "idle from many addresses", "mixed"])
def test_every_answer_beside_two_thousand_strangers_comes_in_a_tenth_of_a_second(server, pytestconfig, kind):
    open_one = {
        "idle": lambda number: connect(server),
        "idle from many addresses": lambda number: connect(server, f"127.0.1.{number % 40 + 1}"),
        "mixed": lambda number: crowd(server, number),
    }[kind]
    good, strangers, waits = GoodClient(server), [], []

    def judged(answer):
        begun = time.monotonic()
        took = answer()
        waits.append((took, pytestconfig.stalls.worst(begun)))

    try:
        for number in range(2_000):
            strangers.append(open_one(number))
            if number % 20 == 19:
                judged(lambda after=number: answer_seconds(good.stream, after))
                judged(lambda: is_well(server))
        end = time.monotonic() + 3 * GRACE_SECONDS
        while time.monotonic() < end:
            take_a_byte(strangers[7::8])
            judged(lambda: answer_seconds(good.stream, 2_000))
            judged(lambda: is_well(server))
            time.sleep(0.02)
        held = sockets(server)
        good.is_still_there()
    finally:
        close(strangers)
        good.close()
    took = sorted(seconds for seconds, _ in waits)
    print(
        f"{kind}: {len(took)} answers, median {took[len(took) // 2] * 1000:.1f} ms, "
        f"99 % {took[len(took) * 99 // 100] * 1000:.1f} ms, worst {took[-1] * 1000:.1f} ms; "
        f"{held} sockets; the machine stood still for {max(stall for _, stall in waits) * 1000:.0f} ms at most"
    )
    # Where the machine itself stood still, nobody answers.
    late = [(seconds, stall) for seconds, stall in waits if seconds >= PROMPT + stall]
    assert not late, late
    assert held <= TOGETHER + 200


def test_a_client_that_authenticated_may_wait_and_read_slowly(server):
    """Its connections are not strangers': many tabs, long downloads."""
    strangers, tabs = [], []
    try:
        for _ in range(200):
            tab, status, _ = upgrade(server, "/api/events")
            assert status == 101
            tabs.append(tab)
        for _ in range(600):
            strangers.append(upgraded(server, "/media/browser"))
        time.sleep(2 * GRACE_SECONDS)
        assert sum(is_open(tab) for tab in tabs) == len(tabs)
    finally:
        close(strangers + tabs)
    is_well(server)
