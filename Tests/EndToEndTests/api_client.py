"""What the tests of the API share: a request that is accepted, and the sockets of its events."""

import base64
import json
import os
import socket
import struct

from conftest import KEY

GOOD = {
    "caller_number": "025550100",
    "callee_number": "sip:nobody@127.0.0.1:9",
    "purpose": "p",
    "questions": ["Will you come?"],
}


def fields(answer):
    return sorted(error["field"] for error in answer.get("errors", []))


LISTS = [
    "/api/outbound/",
    "/api/inbound/",
    "/api/outbound/active",
    "/api/inbound/active",
    "/api/do-not-call",
    "/api/numbers",
    "/api/audit",
    "/api/webhooks/deliveries",
]


class EventSocket:
    """A minimal WebSocket client: handshake and text frames."""

    def __init__(self, port, path, key=KEY):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=15)
        nonce = base64.b64encode(os.urandom(16)).decode()
        auth = f"Authorization: Bearer {key}\r\n" if key else ""
        self.socket.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n{auth}\r\n"
            ).encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(1)
            if not piece:
                break
            head += piece
        self.status = int(head.split()[1])

    def receive(self):
        head = self._exactly(2)
        length = head[1] & 127
        if length == 126:
            length = struct.unpack(">H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self._exactly(8))[0]
        data = self._exactly(length)
        return json.loads(data) if head[0] & 15 == 1 else self.receive()

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            assert piece, "closed"
            data += piece
        return data
