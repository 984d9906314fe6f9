"""SRTP (RFC 3711, keys by SDES) in whole calls over TLS, in and out: what is not encrypted with the call's key, or was
heard before, is not heard, not recorded, moves nothing and ends nothing.

What the server heard is told by its count of packets, which leaves out all that it refuses, by its recording, and by
keys pressed.
"""

import struct
import time
import wave

import numpy
import pytest
from conftest import ENDED, GUESTS
from inbound_calls import FAST
from operators import wait_until
from phones import seconds_of
from srtp_library import SUITES, Encrypt, stranger
from srtp_phone import Ear, EncryptedCallee, EncryptedCaller, Media, own_socket, rtp, tone
from test_sip_tls import with_tls

# Genuine sound, what was said before it, and what strangers send, hertz.
GENUINE, BEFORE, FOREIGN = 1_000, 1_400, 500
ELSEWHERE = "127.0.0.66"


@pytest.fixture
def call(make_server, certificates, allowed):
    """Starts a server, and a call with it to or from a phone of ours."""
    running = []

    def start(direction="in", suite=SUITES[0], media=None, signalled=None, **more):
        media = media or Media(suite)
        settings = {**FAST, "TRUNKLINE_INBOUND_QUESTIONS": GUESTS, **more}
        if direction == "in":
            peer = EncryptedCaller(with_tls(make_server, certificates, "two", **settings), media, signalled)
        else:
            peer = EncryptedCallee(certificates, media)
            settings["TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY"] = peer.gateway
            peer.call(with_tls(make_server, certificates, "two", **settings), [GUESTS])
        peer.allowed = allowed
        running.append(peer)
        return peer

    yield start
    for peer in running:
        peer.close()


def ended(peer, folder):
    """The result of a call that is over, and its caller's channel."""
    path = peer.find()
    wait_until(lambda: peer.server.request("GET", path)[1]["state"] in ENDED, what=lambda: peer.server.log_end())
    result = peer.server.request("GET", f"{path}/result")[1]
    status, data = peer.server.request("GET", f"{path}/recording", raw=True)
    assert status == 200
    (folder / "recording.wav").write_bytes(data)
    with wave.open(str(folder / "recording.wav")) as file:
        return result, numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float)[0::2]


def only_genuine(peer, folder, seconds):
    """Everything genuine was heard once, and nothing else; all that came back was encrypted with the key of its SDP."""
    peer.hang_up()
    result, recorded = ended(peer, folder)
    media = result["media"]
    genuine, heard = len(peer.media.sent), media["packets_received"]
    # A packet may still be on its way when the BYE is read; what was forged or repeated comes by the hundred.
    assert genuine - 5 <= heard <= genuine, media
    # Packets that the machine kept may come too late to be played: a few on a busy one, one each 20 ms while it stood
    # still.
    assert media["packets_lost"] + media["packets_late"] <= 5 + 50 * peer.allowed(0), media
    assert seconds_of(recorded, FOREIGN) == 0, "a stranger is in the recording"
    assert seconds / 2 <= seconds_of(recorded, GENUINE) <= seconds + 0.21, "what is genuine is in the recording once"
    peer.media.listen()
    assert len(peer.media.packets) > 50 and not peer.media.unopened
    return result, recorded


def said_goodbye(media):
    """The last of the server's SRTCP is a receiver report without blocks and BYE."""
    return any(report[1] == 201 and report[9:10] == b"\xcb" for report, _, _ in media.reports)


def press_42(peer):
    """A wrong key, or one heard twice, changes the result."""
    for key in "42#":
        peer.media.press(key)


def pressed(result):
    return [entry["text"] for entry in result["transcript"] if entry["speaker"] == "customer"]


@pytest.mark.parametrize("direction, suite", [("in", SUITES[0]), ("in", SUITES[1]), ("out", SUITES[0])])
def test_an_encrypted_call_is_heard_on_both_sides(call, tmp_path, direction, suite):
    peer = call(direction, suite)
    peer.media.speak(60, GENUINE)
    press_42(peer)
    peer.media.speak(40, GENUINE)
    result, _ = only_genuine(peer, tmp_path, 2.0)
    assert pressed(result) == ["[42]"], result["transcript"]


def forged(plain, encrypted, keys, step):
    """Packets that must not be heard, in the place that a genuine one is about to take: foreign keys, none, damage."""
    _, _, sequence, timestamp, ssrc = struct.unpack("!BBHII", plain[:12])
    sound = tone(FOREIGN, timestamp)
    with_wrong_key, ahead = (keys.protect(rtp(sequence + more, timestamp, ssrc, sound)) for more in (0, 50))
    another = keys.protect(rtp(sequence, timestamp, 0x6666_6666, sound))
    number = int.from_bytes(encrypted)
    flip = lambda bit: (number ^ 1 << bit).to_bytes(len(encrypted))
    bits = len(encrypted) * 8
    return [
        with_wrong_key,
        ahead,
        another,
        rtp(sequence, timestamp, ssrc, sound),
        rtp(sequence, timestamp, ssrc, sound + bytes(10)),
        # Each bit of the tag in its turn, and bits all over the rest.
        flip(step % 80),
        flip(80 + step * 13 % (bits - 80)),
        encrypted[: step * 3 % len(encrypted)],
        encrypted[:-1],
        encrypted + b"\0",
        encrypted[:12],
        encrypted[:-10],
        b"",
    ]


@pytest.mark.parametrize("direction", ["in", "out"])
def test_packets_without_valid_authentication_are_dropped(call, tmp_path, direction):
    """From the phone's own address and port, as one may forge them, and from another."""
    peer = call(direction)
    keys, other, steps = stranger(), own_socket(ELSEWHERE), iter(range(10_000))
    ear = Ear(other)

    def attack(plain, encrypted):
        for datagram in forged(plain, encrypted, keys, next(steps)):
            for one in (peer.media.rtp, other):
                one.sendto(datagram, peer.media.rtp_target)

    peer.media.speak(100, GENUINE, beside=attack)
    press_42(peer)
    peer.media.speak(50, GENUINE, beside=attack)
    result, _ = only_genuine(peer, tmp_path, 3.0)
    assert pressed(result) == ["[42]"], result["transcript"]
    ear.stop()
    assert not ear.heard, "the call's audio went to a stranger"
    other.close()


@pytest.mark.parametrize("direction", ["in", "out"])
def test_replayed_packets_are_dropped(call, tmp_path, direction):
    """Packets at once again, within the window of 128 and behind it, from the phone's own address and from another."""
    peer = call(direction)
    other = own_socket(ELSEWHERE)
    ear = Ear(other)
    peer.media.speak(60, BEFORE)
    press_42(peer)

    def replay(*_):
        sent = peer.media.sent
        # One of long ago, one of the window, the newest; all that was said before goes by twice.
        for packet in (sent[len(sent) % 76], sent[-min(100, len(sent))], sent[-1]):
            for one in (peer.media.rtp, other):
                one.sendto(packet, peer.media.rtp_target)

    peer.media.speak(152, GENUINE, beside=replay)
    result, recorded = only_genuine(peer, tmp_path, 3.04)
    assert pressed(result) == ["[42]"], result["transcript"]
    assert 0.6 <= seconds_of(recorded, BEFORE) <= 1.41, "what was said once is recorded once"
    ear.stop()
    assert not ear.heard, "the call's audio went to a stranger"
    other.close()


def test_another_host_is_not_taken_for_a_phone_behind_nat(call):
    """The phone speaks from an address that was not signalled. Before that, and when it falls silent, strangers flood
    the port: with a foreign key, in the clear, with captured packets. One with the key is taken: so others could be."""
    nat, moved, other, silent = own_socket("127.0.0.33"), own_socket("127.0.0.34"), own_socket(ELSEWHERE), own_socket()
    peer = call(signalled=silent.getsockname()[1])
    media, keys = peer.media, stranger()
    ears = {one: Ear(one) for one in (nat, moved, other)}

    def flood(seconds, captured=()):
        until, sequence = time.monotonic() + seconds, 1
        while time.monotonic() < until:
            plain = rtp(sequence, sequence * 160, media.ssrc, tone(FOREIGN, 0))
            for datagram in (keys.protect(plain), plain, *captured[sequence % max(1, len(captured)) :][:1]):
                other.sendto(datagram, media.rtp_target)
            sequence += 1
            time.sleep(0.01)

    flood(1.0)
    assert not ears[other].heard, "a stranger was taken before the phone spoke"
    media.speak(60, GENUINE, by=nat)
    assert len(ears[nat].heard) > 10, "behind its NAT it is heard"
    before = len(ears[nat].heard)
    flood(2.5, media.sent)
    assert not ears[other].heard, "a stranger was taken when the phone was silent"
    assert len(ears[nat].heard) - before > 100, "the phone hears us all along"
    media.speak(40, GENUINE, by=moved)
    assert len(ears[moved].heard) > 10, "its NAT has given it another port"
    peer.hang_up()
    for ear in ears.values():
        ear.stop()
    assert not ears[other].heard
    heard = [datagram for one in (nat, moved) for _, datagram, _ in ears[one].heard]
    assert all(media.opening.unprotect(datagram) for datagram in heard), "not all of it was encrypted"
    for one in (nat, moved, other, silent):
        one.close()


@pytest.mark.parametrize("direction", ["in", "out"])
def test_forged_and_repeated_srtcp_is_ignored(call, tmp_path, direction):
    """The round trip that the server works out tells whose reports it has read: a forged one makes it 10 s, an old one
    1 s."""
    peer = call(direction)
    media, keys = peer.media, stranger()
    media.wait_for_report()
    goodbye = struct.pack("!BBHIBBHI", 0x80, 201, 1, media.ssrc, 0x81, 203, 1, media.ssrc)
    genuine = media.encrypt.protect_control(media.report())
    media.rtcp.sendto(genuine, media.rtcp_target)

    def attack(plain, encrypted):
        slow = media.report(late=10)
        for packet in (slow, goodbye, slow + goodbye):
            wrong = keys.protect_control(packet)
            for datagram in (packet, wrong, wrong[:-1], packet + bytes(14)):
                media.rtcp.sendto(datagram, media.rtcp_target)
                media.rtp.sendto(datagram, media.rtp_target)
        damaged = bytearray(genuine)
        damaged[len(media.sent) % len(genuine)] ^= 1
        for datagram in (bytes(damaged), genuine[:-4], genuine):
            media.rtcp.sendto(datagram, media.rtcp_target)

    time.sleep(1)
    begun = len(media.sent)
    media.speak(50, GENUINE, beside=attack)
    result, _ = only_genuine(peer, tmp_path, (begun + 50) * 0.02)
    trip = result["media"]["round_trip_ms"]
    assert trip is not None and trip < 500, result["media"]
    wait_until(lambda: media.listen() or said_goodbye(media), what="the server's own goodbye did not come encrypted")


@pytest.mark.parametrize("tag", [1, 2])
def test_counters_continue_if_the_same_key_is_negotiated_again(call, tmp_path, tag):
    """Counters and replay window belong to a key (RFC 3711 §3.2.3), not to its line in the SDP: after a re-INVITE with
    the same key no packet is taken twice, and no index of ours is used twice, which would reveal the plaintext (§9.1).
    """
    peer = call()
    media = peer.media
    media.wait_for_report(BEFORE)
    captured, key, media.tag = list(media.sent), media.their_key, tag
    peer.offer()
    is_same_key = media.their_key == key
    for packet in captured[-60:]:
        media.rtp.sendto(packet, media.rtp_target)
    media.speak(50, GENUINE, beside=lambda *_: media.rtp.sendto(captured[-1], media.rtp_target))
    peer.hang_up()
    result, _ = ended(peer, tmp_path)
    # Its goodbye does not open where its index was used before.
    wait_until(lambda: media.listen() or media.unopened or said_goodbye(media), what="no goodbye")
    assert is_same_key and not media.unopened, "what came did not open: an index was used twice"
    assert result["media"]["packets_received"] == len(media.sent), "a replay was heard"


def test_a_new_key_replaces_the_old_one(call, tmp_path):
    """After a re-INVITE with another key of the phone's, what the old one encrypts is as foreign as anything else."""
    peer = call()
    media = peer.media
    media.speak(50, BEFORE)
    old, fresh = media.encrypt, Media()
    media.key, media.encrypt = fresh.key, Encrypt(fresh.key)
    fresh.close_sockets()
    peer.offer()

    def attack(plain, _):
        _, _, sequence, timestamp, ssrc = struct.unpack("!BBHII", plain[:12])
        media.rtp.sendto(old.protect(rtp(sequence, timestamp, ssrc, tone(FOREIGN, timestamp))), media.rtp_target)

    media.speak(75, GENUINE, beside=attack)
    only_genuine(peer, tmp_path, 1.5)
