"""Inbound calls: a phone whose SIP is written by hand, and the calls as the API lists them."""

import random
import socket
import time

from ports import free_port
from sipp_scenarios import SDP

NUMBER = "0255501234"
FAST = {"TRUNKLINE_INBOUND_RING_MS": "0", "TRUNKLINE_AGENT_SILENCE_PROMPT_MS": "1000"}
INBOUND_ENDED = {"completed", "failed"}


def inbound(server):
    return server.request("GET", "/api/inbound/")[1]["items"]


def wait_for_call(server, states=INBOUND_ENDED, seconds=60):
    deadline = time.time() + seconds
    while time.time() < deadline:
        items = inbound(server)
        if items and items[0]["state"] in states:
            return server.request("GET", f"/api/inbound/{items[0]['inbound_id']}")[1]
        time.sleep(0.1)
    raise AssertionError(inbound(server))


class Phone:
    """SIP by hand over UDP, as far as a refusal needs it."""

    def __init__(self, server, number=NUMBER):
        self.server, self.number = server, number
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5)
        self.port = self.socket.getsockname()[1]
        self.call_id = f"hand-{random.getrandbits(64):x}"
        self.tag = f"{random.getrandbits(32):x}"
        self.to = f"<sip:{number}@127.0.0.1:{server.sip_port}>"

    def send(self, method, headers="", body="", sequence=1, branch=None, to=None):
        branch = branch or f"z9hG4bK{random.getrandbits(64):x}"
        content = f"{headers}Content-Length: {len(body)}\r\n\r\n{body}"
        self.socket.sendto(
            (
                f"{method} sip:{self.number}@127.0.0.1:{self.server.sip_port} SIP/2.0\r\n"
                f"Via: SIP/2.0/UDP 127.0.0.1:{self.port};branch={branch}\r\nMax-Forwards: 70\r\n"
                f"From: \"Lee\" <sip:01098765432@127.0.0.1:{self.port}>;tag={self.tag}\r\nTo: {to or self.to}\r\n"
                f"Call-ID: {self.call_id}\r\nCSeq: {sequence} {method}\r\n"
                f"Contact: <sip:lee@127.0.0.1:{self.port}>\r\n{content}"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )
        return branch

    def receive(self, final=True):
        while True:
            text = self.socket.recv(65_536).decode()
            if not text.startswith("SIP/2.0"):
                return text
            status = int(text.split(" ")[1])
            if status >= 200 or not final:
                return text

    def status(self, *arguments, **options):
        self.send(*arguments, **options)
        return int(self.receive().split(" ")[1])

    def invite(self, headers="Content-Type: application/sdp\r\n", body=None):
        return self.status(
            "INVITE",
            headers,
            SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port())
            if body is None
            else body,
        )


REFUSED = (
    "v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 9\r\n"
    "a=rtpmap:9 G722/8000\r\n"
)
