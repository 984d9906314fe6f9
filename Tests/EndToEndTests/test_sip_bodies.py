"""Bodies of SIP over connections: behind a cut head, of 200 MB, and from a trunk on a connection that we opened."""

import contextlib
import socket
import threading
import time

import pytest
from sip_wire import MEMORY_FACTOR, Good, connect, memory, request, statuses
from test_sip_stream import KILLING

# MiB that a server may grow by in each of these tests: twice what it did. A server that has just started grows by up to
# 18 anyway.
GROWTH = 40 * MEMORY_FACTOR


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
@pytest.mark.parametrize("place", range(5))
def test_a_body_behind_a_cut_blank_line_is_no_part_of_the_head(stack, transport, place):
    """Commas and NULs are counted and replaced in a head alone, also if the blank line came in two segments."""
    body = b"," * 2_000 + b"\0"
    length = b"Content-Type: text/plain\r\nContent-Length: %d\r\n" % len(body)
    for before in (b"", request(2, transport=transport)):
        message = before + request(3, length, body, transport=transport)
        end = message.index(b"\r\n\r\n", len(before)) + place
        with contextlib.closing(connect(stack, "127.0.0.1", transport)) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.sendall(message[:end])
            # The first segment has been read when the request before it is answered, or nearly surely after this.
            first = statuses(stream, 1, 4 if before else 0.1)[0]
            assert first == [200] * bool(before)
            stream.sendall(message[end:])
            assert statuses(stream, 1) == ([200], False), (len(before), place)


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
def test_bodies_of_200_megabytes_are_not_taken(stack, transport):
    """Four connections, each with such a body in its second message: refused before a mebibyte was taken."""
    good, at_first, taken = Good(stack), memory(stack), []
    head = KILLING.split(b"OPTIONS")[0] + request(2, b"Content-Length: 209715200\r\n", transport=transport)

    def send(number):
        stream, sent = connect(stack, f"127.0.3.{number + 1}", transport), 0
        with contextlib.suppress(OSError):
            stream.sendall(head)
            while sent < 209_715_200:
                stream.sendall(b"b" * 65_536)
                sent += 65_536
        taken.append(sent)
        stream.close()

    threads = [threading.Thread(target=send, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        good.probe(2.0)
        time.sleep(0.1)
    grown = memory(stack) - at_first
    print(f"{transport}: {grown:.1f} MiB more; {taken} bytes were taken")
    assert len(taken) == 4 and max(taken) < 1 << 20
    assert grown < GROWTH


def answer(invite, status, body=""):
    """To an INVITE of ours; `body` begins with its Content-Length."""
    wanted = ("Via", "From", "To", "Call-ID", "CSeq")
    lines = [line for line in invite.split("\r\n") if line.split(":")[0] in wanted]
    lines = [f"{line};tag=trunk" if line.startswith("To:") else line for line in lines]
    return "\r\n".join([f"SIP/2.0 {status}", *lines, body or "Content-Length: 0\r\n\r\n"]).encode()


# What a trunk answers, and how often the last bytes follow.
ANSWERS = {
    "the requests that once ended the process": (lambda invite: KILLING, b"", 0),
    "an answer of 2 GiB behind another": (
        lambda invite: (
            answer(invite, "100 Trying")
            + answer(invite, "200 OK", "Content-Type: application/sdp\r\nContent-Length: 2147483648\r\n\r\nv=0")
        ),
        b"",
        0,
    ),
    "a body of 200 MB behind another answer": (
        lambda invite: answer(invite, "180 Ringing") + answer(invite, "200 OK", "Content-Length: 209715200\r\n\r\n"),
        b"b" * 65_536,
        3_200,
    ),
    "an endless header": (lambda invite: answer(invite, "100 Trying") + b"SIP/2.0 200 OK\r\nZ: ", b"a" * 65_536, 100),
    "a list without end": (
        lambda invite: answer(invite, "100 Trying") + b"SIP/2.0 200 OK\r\nm: <sip:a>",
        b",<sip:a>" * 8_192,
        100,
    ),
}


class Trunk(threading.Thread):
    """Accepts one connection and answers the first request in it."""

    def __init__(self, kind):
        super().__init__(daemon=True)
        self.first, self.more, self.count = ANSWERS[kind]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.sent, self.was_called = self.listener.getsockname()[1], 0, False
        self.start()

    def run(self):
        stream, _ = self.listener.accept()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        stream.settimeout(5)
        heard = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in heard:
                heard += stream.recv(65_536)
            self.was_called = heard.startswith(b"INVITE ")
            stream.sendall(self.first(heard.decode()))
            for _ in range(self.count):
                stream.sendall(self.more)
                self.sent += len(self.more)
            while stream.recv(65_536):
                pass
        stream.close()


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_trunk_harms_nothing_on_a_connection_that_we_opened(make_server, kind):
    trunk = Trunk(kind)
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{trunk.port};transport=tcp",
        TRUNKLINE_OUTBOUND_RING_TIMEOUT="2",
    )
    good, at_first = Good(server), memory(server)
    call_id = server.create("01098765432")
    while server.call(call_id)["state"] in ("queued", "dialing", "ringing"):
        good.probe(2.0)
        time.sleep(0.1)
    call = server.wait_for(call_id, seconds=60)
    grown = memory(server) - at_first
    print(f"{kind}: {call['state']}, {grown:.1f} MiB more, {trunk.sent} bytes were taken")
    assert trunk.was_called and call["state"] in ("failed", "no_answer"), call
    assert trunk.sent < 1 << 20 and grown < GROWTH
    good.probe(2.0)
    assert server.process.poll() is None
    trunk.listener.close()
