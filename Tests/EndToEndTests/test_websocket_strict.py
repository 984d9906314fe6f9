"""WebSockets by the letter (RFC 6455): handshakes, closing codes, pings."""

import json
import struct
import time

import pytest
from conftest import Server
from http_wire import HANDSHAKE, connect, exchange, frame, frames, is_well, read_all, statuses, upgrade


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all of them: what one test sends must not harm the next."""
    running = Server(tmp_path_factory.mktemp("strict")).start()
    yield running
    running.discard()


@pytest.mark.parametrize(
    "wanted, changed",
    [
        (400, {"Sec_WebSocket_Key": "short"}),
        (400, {"Sec_WebSocket_Key": "!" * 24}),
        (400, {"without": ["Sec-WebSocket-Key"]}),
        (426, {"Sec_WebSocket_Version": "8"}),
        (426, {"without": ["Sec-WebSocket-Version"]}),
        (405, {"method": "POST"}),
        (400, {"version": "HTTP/1.0"}),
        (401, {"Authorization": "Bearer wrong"}),
        (404, {"path": "/nope"}),
        (101, {}),
        (404, {"Upgrade": "h2c"}),
        (404, {"Connection": "keep-alive"}),
        (101, {"Connection": "keep-alive, upgrade", "Upgrade": "WebSocket"}),
    ],
)
def test_only_a_correct_handshake_gets_101(server, wanted, changed):
    stream, status, rest = upgrade(server, **changed)
    if status != 101:
        rest += read_all(stream, 1)
        assert b"<html" not in rest and json.loads(rest)["status"] == status
    stream.close()
    assert status == wanted
    is_well(server)


@pytest.mark.parametrize(
    "wanted, field, body",
    [
        (400, "Content-Length: 3", b"abc"),
        (400, "Transfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n"),
        (101, "Content-Length: 0", b""),
    ],
)
def test_an_upgrade_has_no_body(server, wanted, field, body):
    fields = "".join(f"{name}: {value}\r\n" for name, value in HANDSHAKE.items())
    message = f"GET /api/events HTTP/1.1\r\n{fields}{field}\r\n\r\n".encode() + body
    for pieces in (None, 1):
        answer = exchange(server, message, seconds=1, pieces=pieces)
        assert statuses(answer) == [wanted], answer
    is_well(server)


@pytest.mark.parametrize(
    "sent, code",
    [
        (frame(1, b"hello", masked=False), 1002),
        (frame(9, b"x", masked=False), 1002),
        (frame(1, b"\xc3\x28"), 1007),
        (frame(1, b"\xed\xa0\x80"), 1007),
        (frame(1, b"\xe2\x82", final=False) + frame(0, b"\x28"), 1007),
        (frame(3), 1002),
        (frame(1, b"x", reserved=4), 1002),
        (frame(0, b"x"), 1002),
        (frame(9, b"x" * 126), 1002),
        (frame(8, b"\x03"), 1002),
        (frame(8, struct.pack(">H", 1005)), 1002),
        (frame(8, struct.pack(">H", 1000) + b"\xff"), 1007 + 0),
        (frame(8, struct.pack(">H", 1000) + b"bye"), 1000),
        (frame(8, struct.pack(">H", 4321)), 4321),
        (frame(8), None),
        (b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 1009),
        (frame(2, b"x" * 2_000_000), 1009),
    ],
)
def test_a_websocket_is_closed_with_the_code_that_says_why(server, sent, code):
    stream, status, rest = upgrade(server)
    assert status == 101
    try:
        stream.sendall(sent)
    except (ConnectionResetError, BrokenPipeError):
        pass
    begun = time.time()
    ends = [payload for opcode, payload in frames(rest + read_all(stream)) if opcode == 8]
    assert len(ends) == 1 and time.time() - begun < 3, "one close frame, and then the end of the connection"
    wanted = {1002, 1007} if sent == frame(8, struct.pack(">H", 1000) + b"\xff") else {code}
    assert (int.from_bytes(ends[0][:2], "big") if ends[0] else None) in wanted | (
        {1002} if code == 1007 and sent[:1] == b"\x88" else set()
    )
    stream.close()
    is_well(server)


def test_pings_are_answered_even_before_a_close(server):
    stream, _, rest = upgrade(server)
    stream.sendall(
        frame(1, b"fra", final=False)
        + frame(9, b"one")
        + frame(0, b"gment")
        + frame(9, b"two")
        + frame(8, struct.pack(">H", 1001))
    )
    got = [one for one in frames(rest + read_all(stream)) if one[0] >= 8]
    assert got == [(10, b"one"), (10, b"two"), (8, struct.pack(">H", 1001))]


def test_frames_sent_with_the_handshake_are_read(server):
    stream = connect(server)
    head = (
        "GET /api/events HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in HANDSHAKE.items()) + "\r\n"
    )
    stream.sendall(head.encode() + frame(9, b"early") + frame(8, struct.pack(">H", 1000)))
    answer, _, rest = read_all(stream).partition(b"\r\n\r\n")
    assert statuses(answer) == [101] and [one for one in frames(rest) if one[0] >= 8] == [
        (10, b"early"),
        (8, struct.pack(">H", 1000)),
    ]
