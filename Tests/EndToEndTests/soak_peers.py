"""The far ends of a soak run: calls that come in, sockets, and damaged messages."""

import base64
import os
import re
import socket
import struct
import time

from conftest import KEY
from inbound_calls import Phone

OFFER = (
    "v=0\r\no=soak 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=audio {port} RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n"
)

BEARER = {"Authorization": f"Bearer {KEY}"}
SIP = (
    "INVITE sip:100@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{id:x}\r\n"
    "Max-Forwards: 70\r\nFrom: <sip:a@127.0.0.1>;tag=1\r\nTo: <sip:100@127.0.0.1>\r\n"
    "Call-ID: garbage-{id:x}\r\nCSeq: 1 INVITE\r\nContact: <sip:a@127.0.0.1:{port}>\r\n"
    "Content-Type: application/sdp\r\nContent-Length: 4\r\n\r\nv=0\r\n"
)


def mutated(chance, data):
    data = bytearray(data)
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(data))
        kind = chance.randrange(4)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at : at + chance.randrange(1, 20)]
        elif kind == 2:
            data[at:at] = bytes([chance.randrange(256)]) * chance.randrange(1, 200)
        else:
            data[at:at] = data[: chance.randrange(1, 80)]
        if not data:
            return b"\0"
    return bytes(data)


class RawSocket:
    """A WebSocket that never reads."""

    def __init__(self, server, path):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.settimeout(5)
        self.socket.connect(("127.0.0.1", server.http_port))
        self.socket.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                f"Authorization: Bearer {KEY}\r\n\r\n"
            ).encode()
        )
        assert b" 101 " in self.socket.recv(400), "no WebSocket"

    def text(self, text):
        data = text.encode()
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + length + bytes(4) + data)

    def close(self):
        self.socket.close()


class InboundCall:
    """A phone that calls the AI by SIP and sends RTP."""

    def __init__(self, server):
        self.phone = Phone(server)
        self.media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.media.bind(("127.0.0.1", 0))
        self.phone.send("INVITE", "Content-Type: application/sdp\r\n", OFFER.format(port=self.media.getsockname()[1]))
        answer = self.phone.receive()
        if " 200 " not in answer.split("\r\n")[0] + " ":
            self.phone.send("ACK", to=re.search(r"^To: (.*)\r$", answer, re.M)[1])
            raise RuntimeError("refused: " + answer.split("\r\n")[0])
        self.to = re.search(r"^(?:To|t): (.*)\r$", answer, re.M | re.I)[1]
        self.target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", answer)[1]))
        self.phone.send("ACK", to=self.to)

    def talk(self, chance, seconds, loss, stop):
        begun, sequence = time.monotonic(), chance.randrange(65_536)
        held = []
        while time.monotonic() - begun < seconds and not stop.is_set():
            sequence += 1
            packet = struct.pack(">BBHII", 0x80, 0, sequence & 0xFFFF, (sequence * 160) & 0xFFFFFFFF, 7) + bytes(
                chance.choice([0x7F, 0xFF, 0x20]) for _ in range(160)
            )
            if chance.random() >= loss:
                held.append(packet)
            if len(held) > 2 or (held and chance.random() < 0.8):
                self.media.sendto(held.pop(chance.randrange(len(held))), self.target)
                if chance.random() < 0.02:
                    self.media.sendto(packet, self.target)
            time.sleep(0.02)

    def bye(self):
        self.phone.send("BYE", sequence=2, to=self.to)

    def close(self):
        self.media.close()
        self.phone.socket.close()
