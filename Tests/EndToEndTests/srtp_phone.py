"""A phone with SRTP by hand: libsrtp2 by ctypes, SIP over TLS, and every packet of both ends at hand."""

import base64
import os
import random
import re
import select
import socket
import ssl
import struct
import threading
import time

import numpy
from mock_realtime import mulaw
from ports import free_port
from srtp_library import KEY_BYTES, SUITES, Encrypt
from test_sip_requests import Caller

BEAT = 0.02  # seconds of a packet
SAMPLES = 160
EVENT = 101  # payload type of telephone-event


_tones = {}


def tone(hertz, begin):
    """20 ms of a tone in PCMU, from a sample on; each tone repeats after a second."""
    if hertz not in _tones:
        wave = 8_000 * numpy.sin(2 * numpy.pi * hertz * numpy.arange(8_000) / 8_000)
        _tones[hertz] = bytes(mulaw(int(sample)) for sample in wave) * 2
    begin %= 8_000
    return _tones[hertz][begin : begin + SAMPLES]


def rtp(sequence, timestamp, ssrc, payload, kind=0):
    return struct.pack("!BBHII", 0x80, kind, sequence & 0xFFFF, timestamp & 0xFFFF_FFFF, ssrc) + payload


def own_socket(source="127.0.0.1"):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((source, 0))
    made.setblocking(False)
    return made


class Ear(threading.Thread):
    """What comes to some sockets, with its time: [(socket, datagram, seconds)]."""

    def __init__(self, *sockets):
        super().__init__(daemon=True)
        self.sockets, self.heard, self.running = sockets, [], True
        self.start()

    def run(self):
        while self.running:
            for one in select.select(self.sockets, [], [], 0.05)[0]:
                self.heard.append((one, one.recv(2_048), time.monotonic()))

    def stop(self):
        self.running = False
        self.join()


class Media:
    """Our RTP and RTCP: what was sent genuinely, and what came from the server, opened with its key."""

    def __init__(self, suite=SUITES[0], tag=1, source="127.0.0.1"):
        self.suite, self.tag, self.key = suite, tag, os.urandom(KEY_BYTES)
        self.encrypt, self.ssrc = Encrypt(self.key, suite), random.getrandbits(32) | 1
        self.sequence, self.timestamp = random.getrandbits(15), random.getrandbits(32)
        self.sent, self.opening, self.rtp_target, self.their_key = [], None, None, None
        while True:
            port = free_port(2)
            self.rtp, self.rtcp = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
            try:
                self.rtp.bind((source, port))
                self.rtcp.bind((source, port + 1))
                break
            except OSError:
                self.close_sockets()
        self.port = port
        # Opened in the order that they came; the other sockets never hear anything that opens.
        self.packets, self.reports, self.unopened, self.ear = [], [], [], None

    def crypto(self):
        return f"a=crypto:{self.tag} {self.suite} inline:{base64.b64encode(self.key).decode()}\r\n"

    def sdp(self, port=None, more=""):
        return (
            "v=0\r\no=a 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
            f"m=audio {port or self.port} RTP/SAVP 0 {EVENT}\r\na=rtpmap:{EVENT} telephone-event/8000\r\n"
            f"{self.crypto()}{more}"
        )

    def agreed(self, sdp):
        """What the server's SDP says: its port, and the key that it encrypts with."""
        assert "RTP/SAVP" in sdp, sdp
        self.rtp_target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", sdp)[1]))
        self.rtcp_target = ("127.0.0.1", self.rtp_target[1] + 1)
        tag, suite, key = re.search(r"a=crypto:(\d+) (\S+) inline:([A-Za-z0-9+/=]+)", sdp).groups()
        assert (int(tag), suite) == (self.tag, self.suite), sdp
        if key != self.their_key:
            self.opening = Encrypt(base64.b64decode(key), suite, opens=True)
        self.their_key = key
        if self.ear is None:
            self.ear = Ear(self.rtp, self.rtcp)

    def listen(self):
        """Opens what has come since."""
        heard, self.ear.heard = self.ear.heard, []
        for one, datagram, at in heard:
            control = one is self.rtcp
            plain = (self.opening.unprotect_control if control else self.opening.unprotect)(datagram)
            if plain is None:
                self.unopened.append(datagram)
            elif control:
                # The index stands in the clear before the tag (RFC 3711 §3.4).
                self.reports.append((plain, at, struct.unpack("!I", datagram[-14:-10])[0] & 0x7FFF_FFFF))
            else:
                self.packets.append(plain)

    def next(self, payload, kind=0, timestamp=None):
        """The next packet of ours, plain and encrypted."""
        self.sequence = (self.sequence + 1) & 0xFFFF
        plain = rtp(self.sequence, self.timestamp if timestamp is None else timestamp, self.ssrc, payload, kind)
        return plain, self.encrypt.protect(plain)

    def speak(self, packets, hertz, beside=None, by=None):
        """A tone; `beside` hears of every packet before it is sent, for what others do at that moment."""
        due = time.monotonic()
        for _ in range(packets):
            plain, encrypted = self.next(tone(hertz, self.timestamp))
            if beside:
                beside(plain, encrypted)
            (by or self.rtp).sendto(encrypted, self.rtp_target)
            self.sent.append(encrypted)
            self.timestamp += SAMPLES
            due += BEAT
            time.sleep(max(0, due - time.monotonic()))
        self.listen()

    def press(self, key):
        """RFC 4733: five updates and three ends, of one timestamp."""
        begin = self.timestamp
        for tick in range(1, 9):
            end = 0x80 if tick > 5 else 0
            payload = struct.pack("!BBH", "0123456789*#".index(key), end | 10, min(tick, 6) * SAMPLES)
            encrypted = self.next(payload, EVENT, begin)[1]
            self.rtp.sendto(encrypted, self.rtp_target)
            self.sent.append(encrypted)
            self.timestamp += SAMPLES
            time.sleep(BEAT)

    def report(self, late=0.02):
        """A plain receiver report on the server's packets; `late`: seconds by which we understate how long we held its
        report, a little more than clocks and their rounding differ: a negative round trip counts for nothing."""
        sender, at, _ = next(item for item in reversed(self.reports) if item[0][1] == 200)
        ssrc, seconds, fraction = struct.unpack("!III", sender[4:16])
        middle = (seconds << 16 | fraction >> 16) & 0xFFFF_FFFF
        held = int(max(0, time.monotonic() - at - late) * 65_536)
        return struct.pack("!BBHIIIIIII", 0x81, 201, 7, self.ssrc, ssrc, 0, 0, 0, middle, held)

    def wait_for_report(self, hertz=1_000):
        """Speaks until the server has reported; it does so after 5 s at most."""
        deadline = time.monotonic() + 8
        while not self.reports:
            assert time.monotonic() < deadline, "no SRTCP came from the server"
            self.speak(10, hertz)

    def close_sockets(self):
        self.rtp.close()
        self.rtcp.close()

    def close(self):
        if self.ear:
            self.ear.stop()
            self.listen()
        self.close_sockets()


class Line:
    """SIP over TLS with the methods of a UDP socket: one message a call of `recv`."""

    def __init__(self, stream):
        self.stream, self.waiting = stream, b""

    def settimeout(self, seconds):
        self.stream.settimeout(seconds)

    def getsockname(self):
        return self.stream.getsockname()

    def sendto(self, data, _):
        data = data.replace(b"SIP/2.0/UDP", b"SIP/2.0/TLS")
        self.stream.sendall(re.sub(rb"(Contact: <sip:[^>;]+)>", rb"\1;transport=tls>", data))

    def recv(self, _):
        while True:
            head, found, rest = self.waiting.partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^(?:content-length|l)\s*:\s*(\d+)", head)
            if found and len(rest) >= int(length[1]):
                self.waiting = rest[int(length[1]) :]
                return head + found + rest[: int(length[1])]
            data = self.stream.recv(65_536)
            if not data:
                raise ConnectionError("the server closed the connection")
            self.waiting += data

    def close(self):
        self.stream.close()


class EncryptedCaller(Caller):
    """Calls the server over TLS with media of its own."""

    def __init__(self, server, media, signalled=None):
        super().__init__(server)
        self.socket.close()
        self.server, self.media = server, media
        plain = socket.create_connection(("127.0.0.1", server.sip_tls_port), timeout=5)
        self.socket = Line(server.tls.wrap_socket(plain, server_hostname="localhost"))
        self.port = self.socket.getsockname()[1]
        self.offer(signalled)

    def offer(self, port=None, more=""):
        """INVITE, and again within the call."""
        assert self.request("INVITE", body=self.media.sdp(port, more)) == 200, self.server.log_end()
        self.media.agreed(self.answer)

    def find(self):
        items = self.server.request("GET", "/api/inbound/")[1]["items"]
        return f"/api/inbound/{items[0]['inbound_id']}"

    def hang_up(self):
        assert self.request("BYE") == 200, "the call was over before"

    def close(self):
        super().close()
        self.media.close()


class EncryptedCallee(threading.Thread):
    """A trunk over TLS that answers one call with media of its own, as the server offers them."""

    def __init__(self, certificates, media):
        super().__init__(daemon=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificates / "one.pem", certificates / "one.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.media, self.server, self.call_id = media, None, None
        self.answered, self.over, self.ended_by_us = threading.Event(), threading.Event(), threading.Event()
        self.invite = self.line = None
        self.start()

    @property
    def gateway(self):
        return f"127.0.0.1:{self.port};transport=tls"

    def call(self, server, questions):
        self.server, self.call_id = server, server.create("0255501234", questions)
        assert self.answered.wait(10), server.log_end()

    def find(self):
        return f"/api/outbound/{self.call_id}"

    @staticmethod
    def header(text, name):
        return next(line for line in text.split("\r\n") if line.lower().startswith(name.lower() + ":"))

    def reply(self, text, status, body=""):
        wanted = ("Via", "From", "To", "Call-ID", "CSeq")
        lines = [line for line in text.split("\r\n") if line.split(":")[0] in wanted]
        lines = [f"{line};tag=callee" if line.startswith("To:") and "tag=" not in line else line for line in lines]
        lines.append(f"Contact: <sip:callee@127.0.0.1:{self.port};transport=tls>")
        kind = ["Content-Type: application/sdp"] if body else []
        message = [f"SIP/2.0 {status}", *lines, *kind, f"Content-Length: {len(body)}", "", body]
        self.line.stream.sendall("\r\n".join(message).encode())

    def run(self):
        try:
            stream, _ = self.listener.accept()
            self.line = Line(self.context.wrap_socket(stream, server_side=True))
            while True:
                text = self.line.recv(0).decode()
                method = text.split(" ")[0]
                if method == "INVITE":
                    self.invite = text
                    self.media.agreed(text)
                    self.reply(text, "200 OK", self.media.sdp())
                elif method == "ACK":
                    self.answered.set()
                elif method == "SIP/2.0":
                    if " BYE" in self.header(text, "CSeq") and text.startswith("SIP/2.0 200"):
                        self.ended_by_us.set()
                else:
                    self.reply(text, "200 OK")
                    if method == "BYE":
                        self.over.set()
        except OSError:
            pass

    def hang_up(self):
        assert not self.over.is_set(), "the call was over before"
        target = re.search(r"<([^>]+)>", self.header(self.invite, "Contact"))[1]
        ours, theirs = (self.header(self.invite, name).split(":", 1)[1].strip() for name in ("To", "From"))
        self.line.stream.sendall(
            (
                f"BYE {target} SIP/2.0\r\n"
                f"Via: SIP/2.0/TLS 127.0.0.1:{self.port};branch=z9hG4bK{random.getrandbits(64):016x}\r\n"
                f"Max-Forwards: 70\r\nFrom: {ours};tag=callee\r\nTo: {theirs}\r\n"
                f"{self.header(self.invite, 'Call-ID')}\r\n"
                "CSeq: 1 BYE\r\nContent-Length: 0\r\n\r\n"
            ).encode()
        )
        assert self.ended_by_us.wait(5), self.server.log_end()

    def close(self):
        self.listener.close()
        if self.line:
            self.line.close()
        self.media.close()
