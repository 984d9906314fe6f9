"""HTTP/1.1 by the letter (RFC 9112), WebSockets by theirs (RFC 6455), and connections that only take up room."""

import json
import os
import socket
import ssl
import struct
import time

import pytest
from conftest import KEY, Server
from http_wire import (
    GET,
    LAST,
    answer_seconds,
    assert_prompt,
    connect,
    exchange,
    frame,
    frames,
    is_well,
    last,
    read_all,
    statuses,
    upgrade,
)
from sip_wire import memory


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all of them: what one test sends must not harm the next."""
    running = Server(tmp_path_factory.mktemp("strict")).start()
    yield running
    running.discard()


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


def test_thousands_of_pipelined_requests_are_all_answered(server):
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


def test_a_refused_body_may_be_sent_slowly(server):
    """The answer comes before the body, and a client that reads it only afterwards has it all the same."""
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(head)
        for _ in range(20):
            connection.sendall(b"x" * 150_000)
            time.sleep(0.1)
        assert statuses(read_all(connection, 5)) == [413]


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


def test_head_gets_no_body_and_http_1_0_is_closed(server):
    answer = exchange(server, b"HEAD /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + LAST)
    assert statuses(answer) == [200, 200] and answer.count(b"ok\n") == 1
    assert b"connection: close" in exchange(server, b"GET /health HTTP/1.0\r\n\r\n").lower()


def test_slow_requests_time_out(server):
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


def test_idle_connections_are_closed_for_new_ones(server):
    strangers, waits = [], []
    good = connect(server)
    try:
        for count in range(2_000):
            strangers.append(connect(server))
            if count % 100 == 0:
                waits.append(answer_seconds(good, after=count))
        assert_prompt(waits)
        assert_prompt(is_well(server) for _ in range(20))
        answer_seconds(good, after=2_000)
        # Half requests take up no more room than none.
        for stranger in strangers[-500:]:
            try:
                stranger.sendall(b"POST /y HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\n\r\nab")
            except OSError:
                pass
        assert_prompt(is_well(server) for _ in range(20))
    finally:
        for stranger in strangers + [good]:
            stranger.close()
    assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 1_500


def test_half_bodies_of_strangers_take_bounded_memory(server):
    """Bodies come before a key is asked for. Those of one event loop have 64 MiB together."""
    before, strangers = memory(server), []
    head = b"POST /api/knowledge HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000\r\n\r\n"
    try:
        for number in range(160):
            stranger = connect(server, f"127.0.2.{number % 8 + 1}")
            strangers.append(stranger)
            try:
                stranger.sendall(head + b"x" * 3_900_000)
            except OSError:
                pass
        assert memory(server) - before < 300, "600 MB were sent"
        is_well(server)
    finally:
        for stranger in strangers:
            stranger.close()
    is_well(server)


def test_idle_connections_of_many_sources_are_closed_for_new_ones(server):
    """No source has more than its share: together they have, and the longest idle go first."""
    strangers, waits, good = {}, [], connect(server, "127.0.0.99")
    try:
        good.sendall(GET)
        assert good.recv(65_536).startswith(b"HTTP/1.1 200")
        for number in range(2_000):
            strangers[number] = connect(server, f"127.0.1.{number % 40 + 1}")
            if number % 200 == 199:
                waits.append(answer_seconds(good, after=number))
        assert_prompt(waits)
        assert_prompt(is_well(server) for _ in range(20))
        time.sleep(1.5)  # every connection may wait this long
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


def test_http_and_websockets_are_as_strict_over_tls(make_server, certificates):
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
