"""Whose packets are the call's: a stranger who floods the port of a real call, before and after the phone's first packet, gets and changes nothing."""

import re
import socket
import struct
import threading
import time

import pytest
from test_inbound import FAST
from test_sip_requests import Caller, sdp


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
            self.socket.sendto(rtp(sequence, self.ssrc, 0x20 if self.ssrc == 666 else 0xFF), self.target)
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


@pytest.mark.parametrize("delay", [0.0, 0.25])
def test_a_stranger_who_is_first_gets_nothing(make_server, delay):
    server = make_server(**FAST)
    caller = Caller(server)
    phone = Speaker("127.0.0.1", None, 1)
    assert caller.request("INVITE", body=sdp(port=phone.port)) == 200
    target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", caller.answer)[1]))
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
    assert caller.request("BYE") == 200
    caller.close()


def test_one_behind_nat_is_heard_until_the_signalled_address_speaks(make_server):
    """Never two destinations at once."""
    server = make_server(**FAST)
    caller = Caller(server)
    signalled = Speaker("127.0.0.1", None, 1)
    assert caller.request("INVITE", body=sdp(port=signalled.port)) == 200
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
