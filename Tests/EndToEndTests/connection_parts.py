"""The parts of a fuzzed connection: damaged bytes, sending in pieces, and reading the answers."""

import contextlib
import select
import socket
import ssl
import struct
import time

KEY = "end-to-end-test-key-0123456789"
HOST = "127.0.0.1"
# Seconds in which others must be answered, and in which a well-formed connection must be.
PROBE_LIMIT, ANSWER_LIMIT = 1.0, 5.0


class Broken(Exception):
    """A property does not hold."""


def web(server, timeout):
    """A connection to the HTTP server, by TLS where it speaks TLS."""
    own = socket.create_connection((HOST, server.http_port), timeout=timeout)
    return server.tls.wrap_socket(own, server_hostname="localhost") if server.tls else own


def damaged(chance, data, times=6):
    """A few mutations."""
    data = bytearray(data)
    for _ in range(chance.randint(1, times)):
        at = chance.randrange(max(1, len(data)))
        match chance.randrange(8):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[at : at + chance.randint(1, 40)]
            case 2:
                data[at:at] = chance.randbytes(chance.randint(1, 30))
            case 3:
                data[at:at] = data[at : at + chance.randint(1, 200)]
            case 4:
                data[at:at] = chance.choice(
                    [
                        b"\r\n",
                        b"\r\n\r\n",
                        b":",
                        b"\x00",
                        b" ",
                        b"\t",
                        b",",
                        b";",
                        b"=",
                        b"%00",
                        b"%",
                        b"99999999999999999999",
                        b"-1",
                        b"0x10",
                        b"\xff",
                    ]
                )
            case 5:
                data = data[:at]
            case 6:
                data[at:at] = b"A" * chance.choice([300, 5_000, 70_000])
            case 7:
                data[at : at + 1] = b"\n" if data[at : at + 1] == b"\r" else b"\r"
    return bytes(data)


def send_cut(chance, own, data):
    """In one segment, or in several cut anywhere."""
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice([0, 0, 1, 2, 5])))
    for begin, end in zip([0, *places], [*places, len(data)]):
        if data[begin:end]:
            own.sendall(data[begin:end])
            if end < len(data) and chance.random() < 0.5:
                time.sleep(0.002)


def receive(own, seconds, is_enough):
    """What comes until there is enough of it, nothing more comes, or the time is over."""
    data, deadline = b"", time.monotonic() + seconds
    while not is_enough(data) and (left := deadline - time.monotonic()) > 0:
        # What TLS has read already does not show on the socket.
        has_read = isinstance(own, ssl.SSLSocket) and own.pending()
        if not has_read and not select.select([own], [], [], left)[0]:
            break
        try:
            piece = own.recv(65_536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    return data


def part(chance, own):
    """The connection's end: orderly, by reset, or by leaving."""
    match chance.randrange(3):
        case 0:
            with contextlib.suppress(OSError):
                own.shutdown(socket.SHUT_WR)
                receive(own, 0.02, lambda data: False)
        case 1:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    own.close()
