"""A flood of SIP requests: what is above the rates of Sources/C/Sofia/admission.c is dropped, and the
server's memory stays bounded."""

import contextlib
import re
import socket
import time

import pytest
from sip_wire import connect, memory, request, statuses

# Of Sources/C/Sofia/admission.c.
STRANGERS_RATE, STRANGERS_BURST = 250, 1_000
STRANGER_RATE, STRANGER_BURST = 100, 400


def dropped(server):
    return int(re.search(r"^trunkline_sip_requests_dropped_total (\d+)", server.request("GET", "/metrics")[1], re.M)[1])


class Flood:
    """Requests by UDP from several addresses, and how many of them were answered."""

    def __init__(self, server, sources):
        self.server, self.sent, self.answered, self.begun = server, 0, 0, time.monotonic()
        self.sockets = []
        for source in sources:
            own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            own.bind((source, 0))
            own.setblocking(False)
            self.sockets.append(own)

    def send(self, count):
        for _ in range(count):
            own = self.sockets[self.sent % len(self.sockets)]
            text = request(own.getsockname()[1], method="MESSAGE", transport="UDP")
            own.sendto(text, ("127.0.0.1", self.server.sip_port))
            self.sent += 1
            if self.sent % 20 == 0:
                self.listen()
                time.sleep(0.001)  # the kernel's queue has room for a few hundred

    def listen(self):
        for own in self.sockets:
            with contextlib.suppress(BlockingIOError):
                while own.recv(65_536):
                    self.answered += 1

    @property
    def seconds(self):
        return time.monotonic() - self.begun

    def close(self):
        for own in self.sockets:
            own.close()


@pytest.mark.parametrize(
    "strangers, rate, burst", [(1, STRANGER_RATE, STRANGER_BURST), (40, STRANGERS_RATE, STRANGERS_BURST)]
)
def test_unknown_sources_are_rate_limited_and_known_ones_are_answered(make_server, strangers, rate, burst):
    server = make_server()
    before = memory(server)
    with (
        contextlib.closing(Flood(server, [f"127.0.1.{number + 1}" for number in range(strangers)])) as flood,
        contextlib.closing(connect(server, "127.0.0.1")) as known,
    ):
        rounds = 0
        # A busy machine sends little more than the rate lets in: it goes on until enough has been dropped.
        while rounds < 20 or (rounds < 120 and dropped(server) <= 1_000):
            rounds += 1
            flood.send(500)
            begun = time.monotonic()
            known.sendall(request(1))
            assert statuses(known, 1)[0] == [200] and time.monotonic() - begun < 1, server.log_end()
        time.sleep(0.3)
        flood.listen()
        most = burst + rate * flood.seconds
        assert burst * 0.5 < flood.answered <= most * 1.05 + 20, (flood.answered, most)
        assert dropped(server) > 1_000, (flood.sent, most)
        # 18 to 40 KiB for each that was taken in, beside the first use of much; 10 000 would take 260 MiB.
        assert memory(server) - before < 64 + most * 40 / 1024
        # When it is over, the same address is heard again.
        time.sleep(0.5)
        flood.listen()
        answered = flood.answered
        flood.send(1)
        time.sleep(0.3)
        flood.listen()
        assert flood.answered == answered + 1


def test_the_rate_limit_holds_for_connections_too(make_server):
    """TCP has the same rate, and the connection is answered again when it asks less."""
    server = make_server()
    # Not OPTIONS: who asks for too many of them is blocked altogether (SourceGuard).
    message = request(1, method="MESSAGE")
    with contextlib.closing(connect(server, "127.0.1.99")) as stream:
        answers, begun = 0, time.monotonic()
        while not dropped(server):
            assert time.monotonic() - begun < 30 and answers < STRANGER_BURST + STRANGER_RATE * 31
            stream.sendall(b"".join(request(1, method="MESSAGE") for _ in range(20)))
            answers += len(statuses(stream, 20, seconds=0.2)[0])
        assert answers > STRANGER_BURST / 2
        statuses(stream, 1_000, seconds=0.5)
        stream.sendall(message)
        assert len(statuses(stream, 1)[0]) == 1
    with contextlib.closing(connect(server, "127.0.0.1")) as known:
        known.sendall(request(1))
        assert statuses(known, 1)[0] == [200]
