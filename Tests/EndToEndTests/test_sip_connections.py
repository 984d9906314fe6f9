"""More SIP connections than there is room for, incomplete messages, and peers that read nothing."""

import contextlib
import socket
import time

import pytest
from operators import PASSWORD, Registering, add_operator
from sip_wire import STRANGER, Good, connect, expect_no_new_sockets, is_closed, memory, request, sockets, statuses

# Of Sources/C/Sofia/streams.c.
TOTAL, STRANGERS, STRANGERS_OF_ONE = 512, 384, 32
FIRST_SECONDS, MESSAGE_SECONDS = 15, 15


def test_incomplete_messages_time_out(stack):
    """Of each kind one: they are closed by their time, trickled ones too, and what sofia had for them is gone."""
    good = Good(stack)
    time.sleep(1)
    before = sockets(stack)
    halves = {
        "nothing": b"",
        "a keepalive": b"\r\n\r\n",
        "a line": b"OPTIONS sip:a SIP/2.0\r\n",
        "headers": request(2)[:-2],
        "a body": request(2, b"Content-Length: 60000\r\n", b"x" * 1_000),
        "the second": request(2) + request(2)[:-10],
    }
    open_ones = {}
    for transport in ("TCP", "TLS"):
        for name, data in halves.items():
            stream = connect(stack, transport=transport)
            stream.sendall(data)
            open_ones[f"{name} by {transport}"] = stream
    bare = connect(stack, transport="TCP")
    bare.close()
    handshake = socket.socket()
    handshake.bind((STRANGER, 0))
    handshake.connect(("127.0.0.1", stack.sip_tls_port))
    open_ones["a handshake not begun"] = handshake
    trickle = connect(stack)
    trickle.sendall(b"OPTIONS sip:a SIP/2.0\r\nZ: ")
    begun = time.time()
    while time.time() - begun < MESSAGE_SECONDS + 4:
        with contextlib.suppress(OSError):
            trickle.sendall(b"a")
        good.probe()
        time.sleep(0.5)
    open_ones["a trickle"] = trickle
    left = [name for name, stream in open_ones.items() if not is_closed(stream, 2)]
    assert not left, left
    for stream in open_ones.values():
        stream.close()
    expect_no_new_sockets(stack, before)


def test_peers_that_read_nothing_take_bounded_memory(stack):
    """Thousands of requests whose answers are not read: memory is bounded, and other peers are answered."""
    good, at_first = Good(stack), memory(stack)
    streams = [connect(stack, source=f"127.0.2.{number + 1}") for number in range(10)]
    data = request(7) * 50
    for stream in streams:
        stream.settimeout(0.3)
        with contextlib.suppress(OSError):
            for _ in range(60):
                stream.sendall(data)
        good.probe(2.0)
    grown = memory(stack) - at_first
    print(f"{grown:.0f} MiB more")
    assert grown < 30, "it was 12 at most"
    for stream in streams:
        stream.close()


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
def test_known_peers_keep_their_connections_when_there_are_too_many(stack, transport):
    """Strangers by the hundred, each with the largest half message it can leave there. A registered phone's connection
    and this machine's stay, the phone can open others, and a stranger who comes last is heard."""
    add_operator(stack)
    phone = Registering(stack, "127.0.0.60")
    assert phone.send("kim", phone.authorization("kim", PASSWORD, phone.challenge("kim")))[0] == 200
    good, known = Good(stack), Good(stack, "127.0.0.60")
    good.probe(), known.probe()
    time.sleep(1)
    at_first, first_sockets = memory(stack), sockets(stack)
    half = request(2, transport=transport) + request(
        2, b"Content-Length: 60000\r\n", b"x" * 59_000, transport=transport
    )
    strangers = []
    for number in range(900 if transport == "TCP" else 500):
        try:
            stream = connect(stack, f"127.0.1.{number % 60 + 1}", transport)
            stream.sendall(half)
            strangers.append(stream)
        except OSError:
            pass
        if number % 100 == 99:
            good.probe(2.0), known.probe(2.0)
    grown = memory(stack) - at_first
    held = len(sockets(stack) - first_sockets)
    print(f"{transport}: {len(strangers)} connections, {held} held, {grown:.0f} MiB more")
    assert held <= STRANGERS + 20
    assert grown < 110, "it was 54"
    late = connect(stack, "127.0.2.1", transport)
    late.sendall(request(3, transport=transport))
    assert statuses(late, 1)[0] == [200], "a stranger who comes last is heard"
    again = connect(stack, "127.0.0.60", transport)
    again.sendall(request(3, transport=transport))
    assert statuses(again, 1)[0] == [200]
    good.probe(2.0), known.probe(2.0)
    for stream in [*strangers, late, again]:
        stream.close()
    expect_no_new_sockets(stack, first_sockets)


def test_one_address_may_hold_only_a_few_connections(stack):
    """The connection that has been silent longest is closed first."""
    first = [connect(stack, "127.0.0.9") for _ in range(STRANGERS_OF_ONE)]
    time.sleep(0.3)
    later = [connect(stack, "127.0.0.9") for _ in range(STRANGERS_OF_ONE)]
    time.sleep(0.3)
    assert all(is_closed(stream, 1) for stream in first)
    assert not any(is_closed(stream, 0.02) for stream in later)
    for stream in [*first, *later]:
        stream.close()
