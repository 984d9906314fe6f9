"""A phone by hand that answers one call over SIP and RTP: it says tones and words, presses keys, and keeps what it
hears."""

import re
import select
import socket
import struct
import threading
import time

import numpy
from mock_realtime import LINEAR
from srtp_phone import BEAT, EVENT, SAMPLES, rtp, tone

LEVELS = numpy.array(LINEAR, dtype=float)


class SIPPhone(threading.Thread):
    """`say`: hertz of the tone that it speaks, or None; `words`: packets of mu-law that it says first."""

    def __init__(self):
        super().__init__(daemon=True)
        self.sip, self.rtp = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for one in (self.sip, self.rtp):
            one.bind(("127.0.0.1", 0))
        self.port = self.sip.getsockname()[1]
        self.say, self.keys, self.digits, self.words = None, [], [], []
        self.packets, self.target = [], None
        self.answered, self.over = threading.Event(), threading.Event()
        self.running, self.last_event = True, None
        self.start()

    @property
    def address(self):
        return f"sip:phone@127.0.0.1:{self.port}"

    def run(self):
        sequence, timestamp, due = 0, 0, time.monotonic()
        while self.running:
            ready = select.select([self.sip, self.rtp], [], [], max(0, due - time.monotonic()))[0]
            if self.sip in ready:
                self.signal(*self.sip.recvfrom(65_536))
            if self.rtp in ready:
                self.hear(self.rtp.recv(2_048))
            if time.monotonic() < due:
                continue
            due += BEAT
            if self.target is None:
                continue
            payload = tone(self.say, timestamp) if self.say else b"\xff" * SAMPLES
            if self.words:
                payload = self.words.pop(0)
            kind, at = 0, timestamp
            if self.keys:
                key, tick, at = self.keys[0]
                at = timestamp if at is None else at
                self.keys[0] = (key, tick + 1, at)
                end = 0x80 if tick > 5 else 0
                payload = struct.pack("!BBH", "0123456789*#".index(key), end | 10, min(tick, 6) * SAMPLES)
                kind = EVENT
                if tick == 8:
                    self.keys.pop(0)
            self.rtp.sendto(rtp(sequence, at, 7, payload, kind), self.target)
            sequence, timestamp = sequence + 1, timestamp + SAMPLES

    def hear(self, packet):
        kind, timestamp = packet[1] & 0x7F, struct.unpack("!I", packet[4:8])[0]
        if kind == 0:
            self.packets.append(packet[12:])
        elif kind == EVENT and timestamp != self.last_event:
            self.last_event = timestamp
            self.digits.append("0123456789*#"[packet[12]])

    def signal(self, data, peer):
        text = data.decode()
        method = text.split(" ")[0]
        if method == "INVITE":
            self.target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", text)[1]))
            self.reply(text, peer, "200 OK", self.sdp())
        elif method == "ACK":
            self.answered.set()
        elif method == "BYE":
            self.reply(text, peer, "200 OK")
            self.over.set()

    def sdp(self):
        return (
            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
            f"m=audio {self.rtp.getsockname()[1]} RTP/AVP 0 {EVENT}\r\na=rtpmap:{EVENT} telephone-event/8000\r\n"
        )

    def reply(self, text, peer, status, body=""):
        wanted = ("Via", "From", "To", "Call-ID", "CSeq")
        lines = [line for line in text.split("\r\n") if line.split(":")[0] in wanted]
        lines = [f"{line};tag=phone" if line.startswith("To:") and "tag=" not in line else line for line in lines]
        lines.append(f"Contact: <sip:phone@127.0.0.1:{self.port}>")
        kind = ["Content-Type: application/sdp"] if body else []
        message = [f"SIP/2.0 {status}", *lines, *kind, f"Content-Length: {len(body)}", "", body]
        self.sip.sendto("\r\n".join(message).encode(), peer)

    def speak(self, sound):
        """Mu-law of 8 kHz."""
        self.words += [
            sound[start : start + SAMPLES].ljust(SAMPLES, b"\xff") for start in range(0, len(sound), SAMPLES)
        ]

    def is_quiet(self, seconds=0.5):
        """Nothing has been heard for so long, and nothing is being said."""
        last = self.packets[-int(seconds / BEAT) :]
        return not self.words and bool(last) and numpy.abs(LEVELS[list(b"".join(last))]).max() < 200

    def press(self, key):
        self.keys.append((key, 1, None))

    def heard(self):
        """Samples so far."""
        return LEVELS[numpy.frombuffer(b"".join(self.packets), dtype=numpy.uint8)]

    def close(self):
        self.running = False
        self.join()
        self.sip.close()
        self.rtp.close()
