"""SIP by hand over UDP, TCP and TLS: requests as bytes, their answers, and a client that must be answered all along."""

import contextlib
import os
import pathlib
import random
import re
import socket
import ssl
import time

import pytest
from ports import free_port

STRANGER = "127.0.0.5"
# A sanitizer (scripts/sanitize) needs more memory, and keeps what was freed for a while.
MEMORY_FACTOR = 20 if "ASAN_OPTIONS" in os.environ else 1


def request(port, length=b"Content-Length: 0\r\n", body=b"", method="OPTIONS", transport="TCP", more=b""):
    """A good request but for what is given; the port is a number of ours that tells it from others."""
    return (
        (
            f"{method} sip:127.0.0.1 SIP/2.0\r\n"
            f"Via: SIP/2.0/{transport} 127.0.0.1:{port};branch=z9hG4bK{random.getrandbits(64):016x}\r\n"
            "Max-Forwards: 70\r\n"
            f"From: <sip:probe@127.0.0.1>;tag={random.getrandbits(32):08x}\r\nTo: <sip:127.0.0.1>\r\n"
            f"Call-ID: {random.getrandbits(64):016x}\r\nCSeq: 1 {method}\r\n"
        ).encode()
        + more
        + length
        + b"\r\n"
        + body
    )


def connect(server, source=STRANGER, transport="TCP"):
    stream = socket.socket()
    stream.bind((source, 0))
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)  # what was sent was nearly taken
    stream.settimeout(5)
    stream.connect(("127.0.0.1", server.sip_tls_port if transport == "TLS" else server.sip_port))
    return server.tls.wrap_socket(stream, server_hostname="localhost") if transport == "TLS" else stream


def statuses(stream, wanted, seconds=4.0):
    """Statuses of the answers, until there are as many as wanted or the connection is closed; and whether it was."""
    found, heard, deadline = [], b"", time.time() + seconds
    stream.settimeout(0.1)
    while len(found) < wanted and time.time() < deadline:
        try:
            data = stream.recv(65_536)
        except (TimeoutError, ssl.SSLWantReadError):
            continue
        except OSError:
            return found, True
        if not data:
            return found, True
        heard += data
        found = [int(status) for status in re.findall(rb"(?:^|\r\n)SIP/2\.0 (\d{3}) ", heard)]
    return found, False


def is_closed(stream, seconds):
    stream.settimeout(0.2)
    deadline = time.time() + seconds
    while time.time() < deadline:
        try:
            if not stream.recv(65_536):
                return True
        except (TimeoutError, ssl.SSLWantReadError):
            continue
        except OSError:
            return True
    return False


class Good:
    """A client of this machine: by UDP, and by a connection that it keeps."""

    def __init__(self, server, source="127.0.0.1"):
        self.server, self.worst = server, 0.0
        self.stream = connect(server, source)

    def probe(self, limit=1.0):
        begun = time.time()
        self.stream.sendall(request(1))
        assert statuses(self.stream, 1)[0] == [200], f"the good client was not answered; {self.server.log_end()}"
        self.worst = max(self.worst, time.time() - begun)
        assert self.worst < limit, f"the good client waited {self.worst:.2f} s"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            own.settimeout(2)
            own.sendto(request(own.getsockname()[1], transport="UDP"), ("127.0.0.1", self.server.sip_port))
            assert own.recv(65_536).startswith(b"SIP/2.0 200")


def memory(server):
    """MiB of the process."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{server.process.pid}/status").read_text())[1]) / 1024


def sockets(server):
    """The inodes of the server's open sockets."""
    found = set()
    for entry in os.scandir(f"/proc/{server.process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            found.add(os.readlink(entry.path))
    return {name for name in found if name.startswith("socket:")}


def expect_no_new_sockets(server, before, seconds=10):
    """Waits until at most one more is open than before: another part of the server may be using one."""
    deadline = time.time() + seconds
    while len(new := sockets(server) - before) > 1 and time.time() < deadline:
        time.sleep(0.2)
    assert len(new) <= 1, f"sockets are left: {new}\n{described(new)}"


def described(inodes):
    """The kernel's lines on these sockets: addresses in hexadecimal, state, queues."""
    tables = [pathlib.Path(f"/proc/net/{name}") for name in ("tcp", "udp", "unix")]
    lines = [line for table in tables for line in table.read_text().splitlines()]
    return "\n".join(line for line in lines if any(f" {inode[8:-1]} " in line for inode in inodes))


@pytest.fixture
def stack(make_server, certificates):
    port = free_port()
    server = make_server(
        tls=str(certificates / "ca.pem"),
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / "one.pem"),
        TRUNKLINE_TLS_KEY=str(certificates / "one.key"),
        TRUNKLINE_SIP_TLS_PORT=str(port),
    )
    server.sip_tls_port = port
    return server
