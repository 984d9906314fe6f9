"""A bad network: a relay of our own that loses, delays and reorders what passes."""

import heapq
import random
import re
import socket
import threading
import time
import wave

import numpy
import pytest
from conftest import ATTEND
from inbound_calls import inbound, wait_for_call
from operators import FAST, stereo, wait_until
from phones import speech


class Relay(threading.Thread):
    """UDP between the sender to `port` and `target`. `loss` 0–1, `jitter` in seconds, each way; `burst` packets are
    lost at a time."""

    def __init__(self, target, loss=0.0, jitter=0.0, burst=1, seed=1):
        super().__init__(daemon=True)
        self.target, self.loss, self.jitter, self.burst, self.chance = target, loss, jitter, burst, random.Random(seed)
        self.outer, self.inner = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.outer.bind(("127.0.0.1", 0))
        self.inner.bind(("127.0.0.1", 0))
        self.port, self.peer, self.queue, self.count, self.dropping = self.outer.getsockname()[1], None, [], 0, 0
        self.passed, self.lost, self.lost_inwards = 0, 0, 0
        self.start()

    def run(self):
        for one in (self.outer, self.inner):
            one.setblocking(False)
        while True:
            for one in (self.outer, self.inner):
                while True:
                    try:
                        data, source = one.recvfrom(65_536)
                    except OSError:
                        break
                    if one is self.outer:
                        self.peer = source
                    if self.dropping > 0 or self.chance.random() < self.loss / self.burst:
                        self.dropping = self.burst - 1 if self.dropping == 0 else self.dropping - 1
                        self.lost += 1
                        self.lost_inwards += one is self.outer
                        continue
                    self.passed += 1
                    self.count += 1
                    heapq.heappush(
                        self.queue,
                        (time.time() + self.chance.random() * self.jitter, self.count, data, one is self.outer),
                    )
            while self.queue and self.queue[0][0] <= time.time():
                _, _, data, inwards = heapq.heappop(self.queue)
                if inwards:
                    self.inner.sendto(data, self.target)
                elif self.peer:
                    self.outer.sendto(data, self.peer)
            time.sleep(0.001)


def test_calls_are_set_up_over_a_bad_network(make_server, callee):
    """SIP with 10 % loss each way: every call comes about, because both sides repeat themselves."""
    one = callee("cooperative")
    relay = Relay(("127.0.0.1", one.port), loss=0.10, seed=7)
    server = make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="20", TRUNKLINE_OUTBOUND_MAX_CALL_DURATION="30")
    calls = [server.create(f"sip:callee{index}@127.0.0.1:{relay.port}", [ATTEND]) for index in range(20)]
    for call_id in calls:
        server.wait_for(call_id, {"connected", "completed"}, seconds=40)
        server.request("POST", f"/api/outbound/{call_id}/hangup", {})
    assert relay.lost >= 3, "the network was not bad at all"
    ended = [server.wait_for(call_id, seconds=60) for call_id in calls]
    assert {call["state"] for call in ended} == {"completed"}, [call["failure_reason"] for call in ended]


class AgentSession:
    """SIP and RTP by hand: calls an operator's number and sends a tone through a relay."""

    def __init__(self, server, samples, **network):
        from inbound_calls import Phone as Hand

        self.hand, self.samples, self.server = Hand(server), samples, server
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.bind(("127.0.0.1", 0))
        self.network = network

    def call(self):
        # The announced address is where the packets will come from: the source lock takes it at once.
        self.relay = Relay(("127.0.0.1", 9), **self.network)
        port = self.relay.inner.getsockname()[1]
        body = (
            f"v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\n"
            "a=rtpmap:0 PCMU/8000\r\n"
        )
        self.hand.send("INVITE", "Content-Type: application/sdp\r\n", body)
        answer = self.hand.receive()
        assert answer.startswith("SIP/2.0 200"), answer
        self.to = re.search(r"^To: (.*)\r$", answer, re.M)[1]
        self.hand.send("ACK", to=self.to)
        self.relay.target = ("127.0.0.1", int(re.search(r"m=audio (\d+)", answer)[1]))

    def send(self, sends_silence=True):
        """The samples, a packet every 20 ms, or only those with a sound in them (DTX)."""
        begun, self.sent = time.time(), 0
        for index in range(len(self.samples) // 160):
            payload = bytes(self.samples[index * 160 : (index + 1) * 160])
            header = (
                bytes([0x80, 0])
                + (index & 0xFFFF).to_bytes(2, "big")
                + (index * 160 & 0xFFFFFFFF).to_bytes(4, "big")
                + b"\0\0\0\x07"
            )
            if sends_silence or any(byte & 0x7F < 0x60 for byte in payload):
                self.rtp.sendto(header + payload, ("127.0.0.1", self.relay.port))
                self.sent += 1
            time.sleep(max(0, begun + (index + 1) * 0.02 - time.time()))

    def hang_up(self):
        self.hand.send("BYE", sequence=2, to=self.to)
        self.hand.receive()


def mu_law(samples):
    """ITU-T G.711, as the table of any textbook has it."""
    samples = numpy.clip(samples.astype(int), -32_635, 32_635)
    sign, magnitude = numpy.where(samples < 0, 0x80, 0), numpy.abs(samples) + 132
    exponent = numpy.floor(numpy.log2(magnitude)).astype(int) - 7
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    return (~(sign | exponent << 4 | mantissa) & 0xFF).astype(numpy.uint8)


@pytest.mark.parametrize(
    "loss, jitter, burst", [(0.05, 0.04, 1), (0.10, 0.0, 5)], ids=["5 % and 40 ms", "10 % in bursts"]
)
def test_media_over_a_bad_network(make_server, tmp_path, allowed, loss, jitter, burst):
    """The recording is as long as the call, what was lost is made up for and counted, and the score says so."""
    server = make_server(**FAST)
    seconds = 12
    wave_ = mu_law(8_000 * numpy.sin(2 * numpy.pi * 440 * numpy.arange(seconds * 8_000) / 8_000))
    session = AgentSession(server, wave_, loss=loss, jitter=jitter, burst=burst, seed=3)
    session.call()
    session.send()
    time.sleep(0.3)
    session.hang_up()
    call = wait_for_call(server)
    assert call["state"] == "completed", call
    media = server.request("GET", f"/api/inbound/{call['inbound_id']}/result")[1]["media"]
    expected = seconds * 50
    assert (
        abs(media["packets_received"] + media["packets_lost"] + media["packets_late"] - expected) < expected * 0.03
    ), media
    assert media["packets_lost"] + media["packets_late"] == pytest.approx(
        session.relay.lost_inwards, abs=50 * allowed(0.12)
    ), (
        media,
        session.relay.lost_inwards,
    )
    assert media["mos"] >= (3.6 if burst == 1 else 3.0) and media["jitter_ms"] >= (5 if jitter else 0), media
    left = stereo(server, call["inbound_id"], tmp_path)[:, 0]
    loud = numpy.flatnonzero(numpy.abs(left) > 300)
    assert abs((loud[-1] - loud[0]) / 8_000 - seconds) < allowed(0.1), "the recording is not as long as what was said"


def test_turns_end_although_a_phone_sends_no_silence(make_server, tmp_path):
    """Discontinuous transmission: that no packet comes is how the AI learns that the caller has finished."""
    server = make_server(**FAST)
    said = speech(tmp_path / "said.wav", [5.0, "yes", 5.0, "no"])
    with wave.open(str(said)) as file:
        assert file.getframerate() == 8_000 and file.getnchannels() == 1
        samples = numpy.frombuffer(file.readframes(file.getnframes()), dtype=numpy.int16)
    session = AgentSession(server, mu_law(samples))
    session.call()
    session.send(sends_silence=False)
    entries = lambda: server.request("GET", f"/api/inbound/{inbound(server)[0]['inbound_id']}/transcript")[1][
        "transcript"
    ]
    heard = wait_until(
        lambda: [item for item in entries() if item["speaker"] != "ai"], seconds=10, what=lambda: str(entries())
    )
    assert 10 < session.sent < len(samples) / 160 * 0.4, "it did send silence"
    assert heard and inbound(server)[0]["state"] == "connected"
    session.hang_up()
    assert wait_for_call(server)["state"] == "completed"
