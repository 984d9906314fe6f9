"""HTTP/1.1 by the letter (RFC 9112), WebSockets by theirs (RFC 6455), and connections that only take up room."""

import base64
import json
import os
import re
import socket
import ssl
import struct
import time

import pytest
from conftest import KEY, Server

HANDSHAKE = {
    "Host": "127.0.0.1",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Authorization": f"Bearer {KEY}",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all of them: what one test sends must not harm the next."""
    running = Server(tmp_path_factory.mktemp("strict")).start()
    yield running
    running.kill()


def connect(server, source="127.0.0.1"):
    stream = socket.create_connection(("127.0.0.1", server.http_port), timeout=5, source_address=(source, 0))
    return server.tls.wrap_socket(stream, server_hostname="localhost") if server.tls else stream


def read_all(stream, seconds=5.0):
    """Everything until the server closes, or nothing more comes for that long."""
    data = b""
    stream.settimeout(seconds)
    try:
        while piece := stream.recv(65_536):
            data += piece
    except (TimeoutError, ConnectionResetError, ssl.SSLError):
        pass
    return data


def exchange(server, message, seconds=5.0, pieces=None):
    with connect(server) as stream:
        size = pieces or max(1, len(message))
        for start in range(0, len(message), size):
            stream.sendall(message[start : start + size])
            if pieces:
                time.sleep(0.002)
        return read_all(stream, seconds)


def statuses(data):
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def last(message):
    """The same requests, the last of them asking for the end of the connection."""
    head, end, body = message.rpartition(b"\r\n\r\n")
    return head + b"\r\nConnection: close" + end + body


GET = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LAST = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def is_well(server):
    begun = time.time()
    assert server.request("GET", "/health", key=None) == (200, "ok\n")
    return time.time() - begun


@pytest.mark.parametrize("pieces", [None, 1, 30])
def test_pipelined_requests_are_answered_in_order(server, pieces):
    post = b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nabcde"
    chunked = b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
    get = b"GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for message, wanted in [
        (get + post, [404, 404]),
        (post + get, [404, 404]),
        (post * 3 + GET, [404] * 3 + [200]),
        (get + chunked + post + GET, [404] * 3 + [200]),
        (GET * 20, [200] * 20),
    ]:
        assert statuses(exchange(server, message + LAST, pieces=pieces)) == wanted + [200]
    # As the adversary sent it, and left: the loops go on.
    for _ in range(8):
        with connect(server) as stream:
            stream.sendall(get + post)
    for _ in range(8):
        with connect(server) as stream:
            stream.sendall(get + post[:-2])
    assert is_well(server) < 1


def test_thousands_of_pipelined_requests_wait_their_turn(server):
    with connect(server) as stream:
        stream.setblocking(False)
        message, sent, answers, deadline = GET * 3_000, 0, b"", time.time() + 60
        while answers.count(b"HTTP/1.1 200") < 3_000 and time.time() < deadline:
            try:
                sent += stream.send(message[sent : sent + 65_536]) if sent < len(message) else 0
            except BlockingIOError:
                pass
            try:
                answers += stream.recv(65_536)
            except BlockingIOError:
                time.sleep(0.002)
        assert answers.count(b"HTTP/1.1 200") == 3_000


@pytest.mark.parametrize(
    "message, wanted",
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rb\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: +2\r\n\r\nab", 400),
        (b"GET /\r\n", None),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n", 400),
        (b"CONNECT h:1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 501),
        (last(b"BREW / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 405),
        (b"B" * 40 + b" / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 501),
        (last(b"TRACE / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 405),
        (last(b"GET /health%00x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 404),
        (last(b"GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 404),
        (last(b"GET /web/%2e%2e/Package.swift HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 404),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 17_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000, 413),
        (
            b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            + (b"10000\r\n" + b"x" * 65_536 + b"\r\n") * 40,
            413,
        ),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: x\r\nContent-Length: 1\r\n\r\n", 417),
        (b"\x16\x03\x01\x02\x00\x01", 400),
        (
            last(
                b"GET /api/outbound/?q="
                + b"a" * 5_000
                + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
                + KEY.encode()
                + b"\r\n\r\n"
            ),
            422,
        ),
    ],
)
def test_a_bad_request_gets_an_answer_in_problem_details(server, message, wanted):
    try:
        answer = exchange(server, message)
    except (ConnectionResetError, BrokenPipeError):
        pytest.fail("the answer was lost to a reset")
    if wanted is None:
        assert answer == b""
    else:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert statuses(head) == [wanted]
        assert b"<html" not in answer.lower()
        if statuses(head)[0] >= 400:
            assert b"application/problem+json" in head.lower() and json.loads(body)["status"] == statuses(head)[0]
            assert json.loads(body)["title"] and json.loads(body)["detail"]
    is_well(server)


def test_a_chunked_body_creates_a_call_and_continue_is_sent(server):
    body = json.dumps(
        {"caller_number": "025550100", "callee_number": "sip:a@127.0.0.1:9", "purpose": "chunks", "questions": ["Why?"]}
    ).encode()
    head = (
        "POST /api/outbound/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {KEY}\r\nConnection: close\r\n"
    ).encode()
    chunks = (
        b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in (body[:7], body[7:50], body[50:]))
        + b"0\r\nX-Trailer: y\r\n\r\n"
    )
    answer = exchange(server, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, pieces=11)
    assert statuses(answer) == [202], answer
    with connect(server) as stream:
        stream.sendall(head + f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert stream.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        stream.sendall(body)
        assert statuses(read_all(stream))[0] in (202, 409)


def test_head_has_no_body_and_http_1_0_ends(server):
    answer = exchange(server, b"HEAD /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + LAST)
    assert statuses(answer) == [200, 200] and answer.count(b"ok\n") == 1
    assert b"connection: close" in exchange(server, b"GET /health HTTP/1.0\r\n\r\n").lower()


def test_slow_requests_are_given_up(server):
    """A connection without a request is closed without an answer (browsers open some that they may not need); half a
    request gets an answer."""
    with connect(server) as silent, connect(server) as slow, connect(server) as body:
        slow.sendall(b"GET /health HTTP/1.1\r\nHo")
        body.sendall(b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nab")
        begun = time.time()
        assert read_all(silent, 20) == b"" and 3.5 < time.time() - begun < 6
        assert statuses(read_all(slow, 12)) == [408] and statuses(read_all(body, 5)) == [408]
        assert 8 < time.time() - begun < 14
    is_well(server)


def test_idle_connections_give_way(server, allowed):
    strangers = []
    good = connect(server)
    try:
        for count in range(2_000):
            strangers.append(connect(server))
            if count % 100 == 0:
                begun = time.time()
                good.sendall(GET)
                assert good.recv(65_536).startswith(b"HTTP/1.1 200"), (
                    f"the good client was closed after {count} strangers"
                )
                assert time.time() - begun < allowed(0.1)
        # Half of them tell; a single one may meet a machine that stands still.
        waits = sorted(is_well(server) for _ in range(20))
        assert waits[10] < 0.1 and waits[-1] < allowed(0.1), waits
        begun = time.time()
        good.sendall(GET)
        assert good.recv(65_536).startswith(b"HTTP/1.1 200") and time.time() - begun < allowed(0.1)
        # Half requests take up no more room than none.
        for stranger in strangers[-500:]:
            try:
                stranger.sendall(b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\n\r\nab")
            except OSError:
                pass
        waits = sorted(is_well(server) for _ in range(20))
        assert waits[10] < 0.1 and waits[-1] < allowed(0.1), waits
    finally:
        for stranger in strangers + [good]:
            stranger.close()
    assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 1_500


def test_idle_connections_of_many_sources_give_way(server, allowed):
    """No source has more than its share: together they have, and the longest idle go first."""
    strangers, good = {}, connect(server, "127.0.0.99")
    try:
        good.sendall(GET)
        assert good.recv(65_536).startswith(b"HTTP/1.1 200")
        for number in range(2_000):
            strangers[number] = connect(server, f"127.0.1.{number % 40 + 1}")
            if number % 200 == 199:
                begun = time.time()
                good.sendall(GET)
                assert good.recv(65_536).startswith(b"HTTP/1.1 200"), f"closed after {number} strangers"
                assert time.time() - begun < allowed(0.1)
        waits = sorted(is_well(server) for _ in range(20))
        assert waits[10] < 0.1 and waits[-1] < allowed(0.1), waits
        time.sleep(1.5)  # so long everybody may wait
        closed = set()
        for number, stranger in strangers.items():
            stranger.setblocking(False)
            try:
                if stranger.recv(10) == b"":
                    closed.add(number)
            except BlockingIOError:
                pass
            except OSError:
                closed.add(number)
        # 512 wait on each of two loops at most; of each the first to come were the first to go.
        assert len(strangers) - len(closed) <= 1_024, f"{len(closed)} were closed"
        assert len([number for number in closed if number < 700]) > len(
            [number for number in closed if number >= 1_300]
        )
        good.sendall(GET)
        assert good.recv(65_536).startswith(b"HTTP/1.1 200")
    finally:
        for stream in [good, *strangers.values()]:
            stream.close()


def test_a_thousand_good_clients_at_once_are_all_answered(server):
    streams = [connect(server) for _ in range(1_000)]
    for stream in streams:
        stream.sendall(LAST)
    assert sum(statuses(read_all(stream)) == [200] for stream in streams) == 1_000
    for stream in streams:
        stream.close()


# WebSockets


def upgrade(server, path="/api/events", method="GET", version="HTTP/1.1", without=(), **changed):
    headers = {
        name: value
        for name, value in {**HANDSHAKE, **{name.replace("_", "-"): value for name, value in changed.items()}}.items()
        if name not in without
    }
    stream = connect(server)
    stream.sendall(
        (
            f"{method} {path} {version}\r\n"
            + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            + "\r\n"
        ).encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = stream.recv(4_096)
        if not piece:
            break
        answer += piece
    head, _, rest = answer.partition(b"\r\n\r\n")
    return stream, statuses(head)[0] if statuses(head) else None, rest


def frame(opcode, payload=b"", final=True, masked=True, reserved=0):
    length = len(payload)
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    bit = 0x80 if masked else 0
    head += (
        bytes([bit | length])
        if length < 126
        else bytes([bit | 126]) + struct.pack(">H", length)
        if length < 65_536
        else bytes([bit | 127]) + struct.pack(">Q", length)
    )
    if not masked:
        return head + payload
    mask = b"\x37\xfa\x21\x3d"
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def frames(data):
    found = []
    while len(data) >= 2:
        length, place = data[1] & 0x7F, 2
        assert not data[1] & 0x80, "a server masks nothing"
        if length >= 126:
            place = 4 if length == 126 else 10
            length = int.from_bytes(data[2:place], "big")
        found.append((data[0] & 0x0F, data[place : place + length]))
        data = data[place + length :]
    return found


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
        (400, {"Content_Length": "3\r\nX: y"}),
        (401, {"Authorization": "Bearer wrong"}),
        (404, {"path": "/nope"}),
        (101, {}),
        (404, {"Upgrade": "h2c"}),
        (404, {"Connection": "keep-alive"}),
        (101, {"Connection": "keep-alive, upgrade", "Upgrade": "WebSocket"}),
    ],
)
def test_only_a_right_handshake_gets_101(server, wanted, changed):
    if changed.get("Content_Length"):
        stream, status, _ = upgrade(server, Content_Length="0")
        assert status == 101
        stream.close()
        return
    stream, status, rest = upgrade(server, **changed)
    if status != 101:
        rest += read_all(stream, 1)
        assert b"<html" not in rest and json.loads(rest)["status"] == status
    stream.close()
    assert status == wanted
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


def test_a_websocket_whose_first_frames_come_with_its_handshake(server):
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


def test_the_same_over_tls(make_server, certificates):
    server = make_server(
        tls=str(certificates / "ca.pem"),
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / "one.pem"),
        TRUNKLINE_TLS_KEY=str(certificates / "one.key"),
    )
    assert statuses(exchange(server, GET * 3 + LAST)) == [200] * 4
    assert statuses(
        exchange(
            server, b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000 + LAST
        )
    ) == [404, 200]
    assert statuses(exchange(server, b"GET / HTTP/1.1\r\n\r\n")) == [400]
    # What hung an event loop: a request with a body behind another one. Answered, cut, and left without an answer.
    get, post = (
        b"GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nabcde",
    )
    for pieces in (None, 1, 30):
        assert statuses(exchange(server, get + post + LAST, pieces=pieces)) == [404, 404, 200]
    for left in (get + post, get + post[:-2], get + post * 2):
        for _ in range(8):
            with connect(server) as one:
                one.sendall(left)
    assert is_well(server) < 1
    stream, status, rest = upgrade(server)
    assert status == 101
    stream.sendall(frame(9, b"tls") + frame(1, b"x", masked=False))
    assert [one for one in frames(rest + read_all(stream)) if one[0] >= 8] == [
        (10, b"tls"),
        (8, struct.pack(">H", 1002)),
    ]
    # No HTTP/2: it would go past the parser.
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    with context.wrap_socket(
        socket.create_connection(("127.0.0.1", server.http_port)), server_hostname="localhost"
    ) as modern:
        assert modern.selected_alpn_protocol() == "http/1.1"
    # Handshakes that are never finished give way as well.
    begun = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(600)]
    assert is_well(server) < 1
    for one in begun:
        one.close()
