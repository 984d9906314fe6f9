"""HTTP and WebSockets by hand: requests as bytes, their answers, and frames."""

import re
import socket
import ssl
import struct
import time

from conftest import KEY

HANDSHAKE = {
    "Host": "127.0.0.1",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Authorization": f"Bearer {KEY}",
}


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


# Seconds that half of all answers may take, and each. Without room for new connections every answer took ten seconds;
# one that takes long while the others are quick has met a busy machine, on which other tests run. Tests marked `alone`
# judge each answer by the first number.
PROMPT, LONGEST = 0.1, 3.0


def assert_prompt(waits):
    waits = sorted(waits)
    assert waits[len(waits) // 2] < PROMPT and waits[-1] < LONGEST, waits


def answer_seconds(good, after):
    """How long a connection that is kept open waits for an answer, after so many strangers."""
    begun = time.monotonic()
    good.sendall(GET)
    assert good.recv(65_536).startswith(b"HTTP/1.1 200"), f"the good client was closed after {after} strangers"
    return time.monotonic() - begun


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
    mask_of_all = (mask * (length // 4 + 1))[:length]
    masked_payload = int.from_bytes(payload) ^ int.from_bytes(mask_of_all)
    return head + mask + masked_payload.to_bytes(length)


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
