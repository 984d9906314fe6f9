"""Which packets belong to a call: packets that another host sends to the call's port, before or after the phone's first
packet, neither change the call nor receive its sound."""

import random
import re
import socket
import struct
import threading
import time
import wave

import numpy
import pytest
from conftest import ATTEND, ENDED
from inbound_calls import FAST, inbound
from test_operators import wait_until
from test_sip_requests import Caller, sdp

# What strangers send, and what the phone does (silence), as PCMU.
STRANGE, QUIET = 0x20, 0xFF
# A stranger's sample is 7 932, the phone's 0, and between them is what concealment and resampling may add.
LOUD = 1_000


def rtp(sequence, ssrc, sound):
    return struct.pack("!BBHII", 0x80, 0, sequence & 0xFFFF, sequence * 160 & 0xFFFFFFFF, ssrc) + bytes([sound]) * 160


class Speaker(threading.Thread):
    """Sends a packet every 20 ms, or as fast as it can, to a port; and counts what comes back."""

    def __init__(self, source, target, ssrc, tick=0.02):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.target, self.ssrc, self.tick, self.heard, self.times, self.running = target, ssrc, tick, 0, [], True

    def run(self):
        sequence = 1
        while self.running:
            self.socket.sendto(rtp(sequence, self.ssrc, STRANGE if self.ssrc == 666 else QUIET), self.target)
            sequence += 1
            time.sleep(self.tick)
            self.listen()

    def listen(self):
        while True:
            try:
                self.socket.recv(2_048)
                self.heard += 1
                self.times.append(time.time())
            except BlockingIOError:
                return

    def stop(self):
        self.running = False
        self.join()
        self.listen()
        self.socket.close()


class Callee:
    """A phone that is called: answers by hand, with a port for its media that was not spoken from yet."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(10)
        self.port, self.tag = self.socket.getsockname()[1], f"{random.getrandbits(32):08x}"
        self.address = f"sip:callee@127.0.0.1:{self.port}"

    def receive(self, method):
        while True:
            message, self.peer = self.socket.recvfrom(65_536)
            text = message.decode()
            if text.startswith(method):
                return text

    def respond(self, request, status, body=""):
        kept = "".join(
            f"{line}\r\n" for line in request.split("\r\n") if re.match(r"(Via|v|From|f|Call-ID|i|CSeq):", line, re.I)
        )
        to = re.search(r"^(?:To|t): ?(.*)\r$", request, re.M | re.I)[1]
        to += "" if ";tag=" in to else f";tag={self.tag}"
        content = "Content-Type: application/sdp\r\n" if body else ""
        self.socket.sendto(
            (
                f"SIP/2.0 {status}\r\n{kept}To: {to}\r\nContact: <{self.address}>\r\n"
                f"{content}Content-Length: {len(body)}\r\n\r\n{body}"
            ).encode(),
            self.peer,
        )


def invite(caller, phone):
    assert caller.request("INVITE", body=sdp(port=phone.port)) == 200, "who is ready takes calls"


def recorded(server, path, folder):
    """What was heard of the other end, once the call is over."""
    wait_until(lambda: server.request("GET", path)[1]["state"] in ENDED, what=lambda: server.log_end())
    status, data = server.request("GET", f"{path}/recording", raw=True)
    assert status == 200
    (folder / "recording.wav").write_bytes(data)
    with wave.open(str(folder / "recording.wav")) as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(int)[0::2]


def flood(phone, target, delay):
    """Two other hosts send from the start, one of them ten times as fast as a phone; the phone follows after `delay`
    seconds."""
    strangers = [Speaker(f"127.0.0.{number}", target, 666, tick) for number, tick in ((21, 0.02), (22, 0.002))]
    for stranger in strangers:
        stranger.start()
    time.sleep(delay)
    phone.target = target
    phone.start()
    time.sleep(3)
    for stranger in strangers:
        stranger.stop()
    phone.stop()
    assert [stranger.heard for stranger in strangers] == [0, 0], "the call's audio went to a stranger"
    assert phone.heard > 50


@pytest.mark.parametrize("delay", [0.0, 0.25])
def test_earlier_packets_of_another_host_change_nothing_in_an_outbound_call(make_server, tmp_path, delay):
    server = make_server(**FAST)
    callee, phone = Callee(), Speaker("127.0.0.1", None, 1)
    call_id = server.create(callee.address, [ATTEND])
    invite = callee.receive("INVITE")
    target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", invite)[1]))
    # While it rings, too: the offer has told the port, and ours is not announced yet.
    early = Speaker("127.0.0.23", target, 666, 0.005)
    early.start()
    callee.respond(invite, "180 Ringing")
    time.sleep(0.5)
    callee.respond(invite, "200 OK", sdp(port=phone.port))
    callee.receive("ACK")
    flood(phone, target, delay)
    early.stop()
    assert early.heard == 0, "the call's audio went to a stranger"
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] == 202
    callee.respond(callee.receive("BYE"), "200 OK")
    sound = recorded(server, f"/api/outbound/{call_id}", tmp_path)
    assert len(sound) > 16_000 and abs(sound).max() < LOUD, "a stranger is in the recording"
    callee.socket.close()


@pytest.mark.parametrize("delay", [0.0, 0.25])
def test_earlier_packets_of_another_host_change_nothing_in_an_inbound_call(make_server, tmp_path, delay):
    server = make_server(**FAST)
    caller = Caller(server)
    phone = Speaker("127.0.0.1", None, 1)
    invite(caller, phone)
    flood(phone, ("127.0.0.1", int(re.search(r"m=audio (\d+)", caller.answer)[1])), delay)
    assert caller.request("BYE") == 200
    caller.close()
    sound = recorded(server, f"/api/inbound/{inbound(server)[0]['inbound_id']}", tmp_path)
    assert len(sound) > 16_000 and abs(sound).max() < LOUD, "a stranger is in the recording"


def test_a_phone_behind_nat_is_heard_until_the_signalled_address_sends(make_server):
    """Never two destinations at once."""
    server = make_server(**FAST)
    caller = Caller(server)
    signalled = Speaker("127.0.0.1", None, 1)
    invite(caller, signalled)
    target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", caller.answer)[1]))
    mapped = Speaker("127.0.0.33", target, 2)
    mapped.start()
    time.sleep(2)
    assert mapped.heard > 20, "behind its NAT it is heard, and hears us"
    signalled.listen()
    before = signalled.heard
    time.sleep(0.5)
    signalled.listen()
    assert signalled.heard == before, "two destinations"
    signalled.target = target
    spoke = time.time()
    signalled.start()
    time.sleep(1.5)
    mapped.stop()
    signalled.stop()
    assert not [at for at in mapped.times if at > spoke + 0.2], "it was not given up"
    assert signalled.heard - before > 20
    assert caller.request("BYE") == 200
    caller.close()
