"""Operators by the API, and their telephones by hand: registering, talking, transferring, taking another one's
place."""

import contextlib
import hashlib
import random
import re
import select
import socket
import threading
import time
import wave

import numpy
from inbound_calls import NUMBER
from inbound_calls import Phone as ByHand

PASSWORD = "correct-horse-battery"
FAST = {"TRUNKLINE_INBOUND_RING_MS": "100", "TRUNKLINE_AGENT_SILENCE_PROMPT_MS": "3000"}


def add_operator(server, name="Kim Minsu", user="kim", number="1001", password=PASSWORD, **fields):
    status, known = server.request(
        "POST", "/api/operators", {"name": name, "sip_user": user, "sip_password": password, "number": number, **fields}
    )
    assert status == 201, known
    return known["id"]


def wait_until(check, seconds=15, what="it did not happen"):
    deadline = time.time() + seconds
    while time.time() < deadline:
        value = check()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(what() if callable(what) else what)


def registered(server, known, is_registered=True):
    wait_until(
        lambda: server.request("GET", f"/api/operators/{known}")[1]["registered"] == is_registered,
        what="the phone is not registered",
    )


def stereo(server, call_id, folder):
    status, data = server.request("GET", f"/api/inbound/{call_id}/recording", raw=True)
    assert status == 200
    path = folder / "recording.wav"
    path.write_bytes(data)
    with wave.open(str(path)) as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float).reshape(-1, 2)


class Registering:
    """REGISTER by hand."""

    def __init__(self, server, source="127.0.0.1"):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        self.socket.settimeout(3)
        self.port, self.source, self.server = self.socket.getsockname()[1], source, server
        self.call_id, self.sequence = f"{random.getrandbits(64):x}", 0

    def send(self, user, headers="", contact=True):
        self.sequence += 1
        contact = f"Contact: <sip:{user}@{self.source}:{self.port}>\r\n" if contact is True else contact
        self.socket.sendto(
            (
                f"REGISTER sip:127.0.0.1:{self.server.sip_port} SIP/2.0\r\n"
                f"Via: SIP/2.0/UDP {self.source}:{self.port};branch=z9hG4bK{random.getrandbits(64):x}\r\n"
                f"Max-Forwards: 70\r\nFrom: <sip:{user}@127.0.0.1>;tag={random.getrandbits(32):x}\r\n"
                f"To: <sip:{user}@127.0.0.1>\r\nCall-ID: {self.call_id}\r\n"
                f"CSeq: {self.sequence} REGISTER\r\n{contact}{headers}Content-Length: 0\r\n\r\n"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )
        answer = self.socket.recv(65_536).decode()
        return int(answer.split(" ")[1]), answer

    def challenge(self, user, algorithm="MD5"):
        status, answer = self.send(user)
        assert status == 401, answer
        line = next(
            line
            for line in answer.splitlines()
            if line.startswith("WWW-Authenticate") and f"algorithm={algorithm}" in line
        )
        return dict(re.findall(r'(\w+)="?([^",]+)"?', line))

    @staticmethod
    def authorization(user, password, challenge, algorithm="MD5", count=1, realm=None):
        make = lambda text: hashlib.new(algorithm.replace("-", "").lower(), text.encode()).hexdigest()
        realm, uri = realm or challenge["realm"], "sip:127.0.0.1"
        first, second = make(f"{user}:{realm}:{password}"), make(f"REGISTER:{uri}")
        response = make(f"{first}:{challenge['nonce']}:{count:08x}:abc:auth:{second}")
        return (
            f'Authorization: Digest username="{user}", realm="{realm}", nonce="{challenge["nonce"]}", '
            f'uri="{uri}", response="{response}", algorithm={algorithm}, qop=auth, nc={count:08x}, cnonce="abc"\r\n'
        )


class Passing(threading.Thread):
    """UDP, passed on from another address, and answers back."""

    def __init__(self, target, source):
        super().__init__(daemon=True)
        self.outer, self.inner = (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        )
        self.outer.bind(("127.0.0.1", 0))
        self.inner.bind((source, 0))
        self.port, self.target, self.peer, self.count = self.outer.getsockname()[1], target, None, 0
        self.start()

    def run(self):
        while True:
            for one in select.select([self.outer, self.inner], [], [], 1)[0]:
                data, source = one.recvfrom(65_536)
                if one is self.outer:
                    self.peer, self.count = source, self.count + 1
                    self.inner.sendto(data, self.target)
                elif self.peer:
                    self.outer.sendto(data, self.peer)


def digest(phone_uri, user, password, answer, method="INVITE"):
    line = next(line for line in answer.splitlines() if line.startswith("WWW-Authenticate") and "algorithm=MD5" in line)
    given = dict(re.findall(r'(\w+)="?([^",]+)"?', line))
    make = lambda text: hashlib.md5(text.encode()).hexdigest()
    realm, nonce = given["realm"], given["nonce"]
    response = make(f"{make(f'{user}:{realm}:{password}')}:{nonce}:00000001:abc:auth:{make(f'{method}:{phone_uri}')}")
    return (
        f'Authorization: Digest username="{user}", realm="{realm}", nonce="{nonce}", '
        f'uri="{phone_uri}", response="{response}", algorithm=MD5, qop=auth, nc=00000001, cnonce="abc"\r\n'
    )


class Talking(ByHand):
    """A caller written by hand that counts the RTP packets that it receives."""

    def __init__(self, server, number=NUMBER):
        super().__init__(server, number)
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.bind(("127.0.0.1", 0))
        self.rtp.setblocking(False)
        self.body = (
            "v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
            f"m=audio {self.rtp.getsockname()[1]} RTP/AVP 0\r\n"
        )

    def call(self, headers="", sequence=1):
        branch = self.send("INVITE", f"{headers}Content-Type: application/sdp\r\n", self.body, sequence)
        answer = self.receive()
        status, to = int(answer.split(" ")[1]), re.search(r"^To: (.*)$", answer, re.M).group(1).strip()
        self.send("ACK", to=to, sequence=sequence, branch=None if status < 300 else branch)
        return status, to, answer

    def packets(self):
        count = 0
        with contextlib.suppress(BlockingIOError):
            while self.rtp.recv(2_000):
                count += 1
        return count


class Desk(Talking):
    """An operator's telephone by hand: takes the call that comes to it, and sends the caller on."""

    def request(self, method):
        while not (text := self.receive()).startswith(method + " "):
            if not text.startswith("SIP/2.0"):
                self.reply(text)
        return text

    def reply(self, request, status="200 OK", headers="", body="", tag=""):
        field = lambda name: re.search(rf"^{name}: *(.*?)\r?$", request, re.M)[1]
        lines = [line for line in request.splitlines() if line.startswith(("Via:", "Record-Route:"))]
        self.socket.sendto(
            (
                "\r\n".join(
                    [
                        f"SIP/2.0 {status}",
                        *lines,
                        f"From: {field('From')}",
                        f"To: {field('To')}{tag}",
                        f"Call-ID: {field('Call-ID')}",
                        f"CSeq: {field('CSeq')}",
                        f"Contact: <sip:kim@127.0.0.1:{self.port}>",
                    ]
                )
                + f"\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )

    def take(self):
        invite = self.request("INVITE")
        self.reply(invite, headers="Content-Type: application/sdp\r\n", body=self.body, tag=f";tag={self.tag}")
        self.request("ACK")
        field = lambda name: re.search(rf"^{name}: *(.*?)\r?$", invite, re.M)[1]
        self.call_id, self.far = field("Call-ID"), field("From")
        self.own, self.invite = f"{field('To')};tag={self.tag}", invite

    def say(self, method, sequence, headers=""):
        """A request of ours within the call."""
        self.socket.sendto(
            (
                f"{method} sip:trunkline@127.0.0.1:{self.server.sip_port} SIP/2.0\r\n"
                f"Via: SIP/2.0/UDP 127.0.0.1:{self.port};branch=z9hG4bK{random.getrandbits(64):x}\r\n"
                f"Max-Forwards: 70\r\nFrom: {self.own}\r\nTo: {self.far}\r\nCall-ID: {self.call_id}\r\n"
                f"CSeq: {sequence} {method}\r\n"
                f"Contact: <sip:kim@127.0.0.1:{self.port}>\r\n{headers}Content-Length: 0\r\n\r\n"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )

    def refer(self, to):
        self.say("REFER", 2, f"Refer-To: <{to}>\r\n")

    def drain(self):
        """What came and is of no interest."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(65_536):
                pass
        self.socket.settimeout(5)


def escaped(text):
    return text.replace(";", "%3B").replace("=", "%3D").replace("@", "%40")
