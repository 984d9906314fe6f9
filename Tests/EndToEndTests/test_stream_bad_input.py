"""What no carrier should send, in each dialect, to a server that holds a good call meanwhile: the call ends right, and
the log has one line of each bad thing, without its content."""

import contextlib
import socket
import time

import pytest
from bad_streams import DIALECTS, SECRET
from conftest import ATTEND, GUESTS, SHORT, Callee, Server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """With a call in progress, whose end is looked at when all has been sent."""
    folder = tmp_path_factory.mktemp("bad-input")
    running = Server(folder, **SHORT, TRUNKLINE_BRIDGE_OPEN_STREAMS="true").start()
    callee = Callee(folder, "cooperative")
    call_id = running.create(callee.address, [ATTEND, GUESTS])
    yield running
    try:
        call = running.wait_for(call_id)
        assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), running.log_end()
        assert [answer["value"] for answer in running.result(call_id)["answers"]] == [True, 4]
        assert SECRET not in running.log_end(1 << 24)
    finally:
        callee.stop()
        running.discard()


def told(server):
    """Lines of the log about bad streams."""
    return [line for line in server.log_end(1 << 24).splitlines() if "media stream" in line]


def wait_for_lines(server, count, what):
    deadline = time.monotonic() + 5
    while len(told(server)) < count:
        assert time.monotonic() < deadline, f"no line tells of {what}: {told(server)[-3:]}"
        time.sleep(0.01)
    assert len(told(server)) == count, (what, told(server)[-3:])


def open_stream(server, dialect):
    return connect(f"ws://127.0.0.1:{server.http_port}/media/{dialect}", max_size=1 << 20, compression=None)


def read_to_end(stream, seconds=5):
    """The messages until the server closes, and its code."""
    messages = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            messages.append(stream.recv(timeout=seconds))
    return messages, stream.protocol.close_code


def hears_us(stream, seconds=10):
    """The conversation goes on: something is said."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = stream.recv(timeout=seconds)
        if isinstance(message, bytes) or '"media"' in message or "playAudio" in message:
            return True
    return False


@pytest.mark.parametrize("name", DIALECTS)
def test_bad_messages_are_left_out(server, name):
    dialect, lines = DIALECTS[name](), len(told(server))
    with open_stream(server, name) as stream:
        stream.send(dialect.sound())
        # Asterisk's sound may overtake its start.
        lines += int(name != "asterisk")
        wait_for_lines(server, lines, "sound before the start")
        for message in dialect.begin():
            stream.send(message)
        stream.send(dialect.sound())
        for what, message in dialect.bad().items():
            stream.send(message)
            lines += 1
            wait_for_lines(server, lines, what)
        for message in dialect.ignored():
            stream.send(message)
        stream.send(dialect.sound())
        assert hears_us(stream), "the stream does not go on"
        # The same again is no news.
        for message in dialect.bad().values():
            stream.send(message)
        stream.send(dialect.sound())
        time.sleep(0.3)
        wait_for_lines(server, lines, "the same again")
    for what, message in dialect.fatal().items():
        with open_stream(server, name) as stream:
            for first in dialect.begin():
                stream.send(first)
            stream.recv(timeout=5)
            stream.send(message)
            said, code = read_to_end(stream)
            assert code == 1003 and any(dialect.words in text for text in said if isinstance(text, str)), (what, said)
        lines += 1
        wait_for_lines(server, lines, what)


@pytest.mark.parametrize("name", DIALECTS)
def test_what_cannot_go_on_is_closed_with_its_reason(server, name):
    dialect, lines = DIALECTS[name](), len(told(server))
    with open_stream(server, name) as stream:
        for message in dialect.unspoken():
            stream.send(message)
        said, code = read_to_end(stream)
    assert code == 1003, (code, said)
    assert not dialect.words or any(dialect.words in text for text in said), said
    wait_for_lines(server, lines + 1, "a format that is not spoken")
    # A message of 1 MiB, as text and as binary.
    for huge in ('{"event":"' + SECRET + "x" * (1 << 20) + '"}', b"\0" * (1 << 20)):
        with open_stream(server, name) as stream:
            with contextlib.suppress(ConnectionClosed):
                stream.send(huge)
            assert read_to_end(stream)[1] == 1009
    wait_for_lines(server, lines + 3, "too large a message")
    # Nothing but what is not understood: it is given up.
    with open_stream(server, name) as stream:
        with contextlib.suppress(ConnectionClosed):
            for number in range(60):
                stream.send(f"{SECRET} {number} {{")
        assert read_to_end(stream)[1] == 1003
    wait_for_lines(server, lines + 4, "a stream of nonsense")


def test_streams_that_never_start_are_closed(server):
    """Each dialect's, and connections that stay half open."""
    lines = len(told(server))
    halves = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(20)]
    for number, half in enumerate(halves):
        half.sendall(b"GET /media/twilio HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nSec-"[: 70 - number * 3])
    with contextlib.ExitStack() as open_ones:
        streams = [open_ones.enter_context(open_stream(server, name)) for name in DIALECTS]
        begun = time.monotonic()
        for stream in streams:
            assert read_to_end(stream, 12) == ([], 1008)
        assert time.monotonic() - begun > 4
    wait_for_lines(server, lines + len(DIALECTS), "streams that did not start")
    for half in halves:
        half.close()
    with pytest.raises(InvalidStatus), open_stream(server, "nobody"):
        pass
    assert server.request("GET", "/ready", key=None)[0] == 200
