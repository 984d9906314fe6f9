"""RFC 4475 and RFC 5118 messages, and thousands of mutated ones: answered as they should be, and never the end of the
server.

The messages lie beside the project's checkout (`../shared/torture`); without them these tests are skipped, visibly.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import socket
import ssl
import time

import pytest
from conftest import ROOT
from operators import add_operator
from ports import free_port

TORTURE = pathlib.Path(os.environ.get("TRUNKLINE_TORTURE", ROOT.parent / "shared/torture"))
pytestmark = pytest.mark.skipif(not TORTURE.is_dir(), reason=f"the torture messages are not there ({TORTURE})")
CALM = {"TRUNKLINE_INBOUND_RING_MS": "60000", "TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS": "10000"}


def probe(server, seconds=1.0):
    """OPTIONS, as a supervisor would send it: answered, and how fast."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        own.settimeout(0.5)
        port, begun = own.getsockname()[1], time.time()
        message = (
            f"OPTIONS sip:127.0.0.1:{server.sip_port} SIP/2.0\r\n"
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{random.getrandbits(64):x}\r\nMax-Forwards: 70\r\n"
            f"From: <sip:probe@127.0.0.1>;tag={random.getrandbits(32):x}\r\nTo: <sip:127.0.0.1>\r\n"
            f"Call-ID: probe-{random.getrandbits(64):x}\r\nCSeq: 1 OPTIONS\r\n"
            "Content-Length: 0\r\n\r\n"
        ).encode()
        # UDP may lose it: sent again after T1 (RFC 3261 §17.1.2.2).
        while time.time() - begun < seconds:
            own.sendto(message, ("127.0.0.1", server.sip_port))
            try:
                assert own.recv(65_536).startswith(b"SIP/2.0 200"), "the probe was not answered with 200"
                return time.time() - begun
            except TimeoutError:
                continue
        raise AssertionError(f"the probe was not answered within {seconds} s")


def header(data, *names):
    """The first header of these names, unfolded."""
    text = re.sub(r"\r?\n[ \t]+", " ", data.decode(errors="replace"))
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() in names:
            return value.strip()
    return ""


def answers(data, server, seconds=0.8, transport=None):
    """Statuses that come back over UDP to where the message came from, or to the port that its Via names."""
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", 0))
    sockets = [own]
    sent_by = re.match(r"SIP\s*/\s*2.0\s*/\s*\w+\s+(?:\[[^]]*\]|[^:;,\s]+)(?:\s*:\s*(\d+))?", header(data, "via", "v"))
    port = int(sent_by[1] or 5060) if sent_by else 5060
    with contextlib.suppress(OSError, OverflowError):
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other.bind(("127.0.0.1", port))
        sockets.append(other)
    named = re.match(r"SIP\s*/\s*2.0\s*/\s*(\w+)", header(data, "via", "v"))
    transport = transport or (named[1].upper() if named else "UDP")
    if transport in ("TCP", "TLS"):
        # An answer goes back the way the message came.
        stream = socket.create_connection(
            ("127.0.0.1", server.sip_tls_port if transport == "TLS" else server.sip_port), timeout=2
        )
        if transport == "TLS":
            stream = server.tls.wrap_socket(stream, server_hostname="localhost")
        sockets = [stream]
        stream.sendall(data)
    else:
        own.sendto(data, ("127.0.0.1", server.sip_port))
    for one in sockets:
        one.setblocking(False)
    statuses, deadline, call_id, begun = [], time.time() + seconds, header(data, "call-id", "i"), b""
    while time.time() < deadline:
        for one in sockets:
            try:
                answer = one.recv(65_536)
            except (BlockingIOError, ConnectionResetError, ssl.SSLWantReadError):
                continue
            if transport == "TLS":
                # A record a header.
                begun += answer
                if b"\r\n\r\n" not in begun:
                    continue
                answer, _, begun = begun.partition(b"\r\n\r\n")
            # Final answers to other messages are repeated until they are acknowledged; this test acknowledges none.
            if answer.startswith(b"SIP/2.0 ") and (not call_id or header(answer, "call-id", "i") == call_id):
                statuses.append(int(answer[8:11]))
                if statuses[-1] >= 200:
                    deadline = min(deadline, time.time() + 0.05)
        time.sleep(0.005)
    for one in sockets:
        one.close()
    return statuses


def verdict(data, statuses, acceptable):
    """Which of the acceptable outcomes it was; None: none of them."""
    final = [status for status in statuses if status >= 200]
    # Within a dialog that we do not know, 481 is what RFC 3261 §12.2.2 wants.
    if set(statuses) == {481} and "accept" in acceptable and re.search(r";\s*tag\s*=", header(data, "to", "t")):
        return "accept"
    for outcome in acceptable:
        if (
            outcome == "accept"
            and statuses
            and all(
                status < 400 or status in (401, 403, 404, 405, 407, 415, 420, 480, 486, 488, 489, 501) or status >= 600
                for status in statuses
            )
        ):
            return outcome
        if outcome in ("drop", "response-parsed") and not statuses:
            return outcome
        if outcome.isdigit() and final and final[-1] == int(outcome):
            return outcome
    return None


@pytest.mark.parametrize("folder, wanted", [("rfc4475", 50), ("rfc5118", 12)])
def test_torture_messages_get_the_required_answers(make_server, certificates, folder, wanted):
    # The second collection is calls of one Call-ID: without a phone to ring they do not meet each other.
    port = free_port()
    server = make_server(
        tls=str(certificates / "ca.pem"),
        **CALM,
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / "one.pem"),
        TRUNKLINE_TLS_KEY=str(certificates / "one.key"),
        TRUNKLINE_SIP_TLS_PORT=str(port),
        **({} if folder == "rfc4475" else {"TRUNKLINE_INBOUND_NUMBERS": "1"}),
    )
    server.sip_tls_port = port
    add_operator(server)
    cases = json.loads((TORTURE / folder / "expected.json").read_text())["cases"]
    wrong, exact = [], 0
    for case in cases:
        data = (TORTURE / folder / case["file"]).read_bytes()
        if folder == "rfc5118":
            # They share branches and Call-IDs: who comes second would be taken for the first one again.
            name = case["name"].encode()
            data = re.sub(rb"(?im)^(Call-ID:[ \t]*)", rb"\1" + name, re.sub(rb"(branch=z9hG4bK)", rb"\1" + name, data))
        statuses = answers(data, server)
        found = verdict(data, statuses, case["acceptable"])
        if found is None and not statuses:
            # Without a name service an answer by UDP does not find the host that the Via names.
            statuses = answers(data, server, transport="TCP")
            found = verdict(data, statuses, case["acceptable"])
        probe(server)
        assert server.request("GET", "/health", key=None)[0] == 200
        if found is None:
            wrong.append((case["name"], case["acceptable"], statuses))
        else:
            exact += 1
    print(f"{folder}: {exact} of {len(cases)} as wanted; not: {wrong}")
    assert exact == len(cases) == wanted, "; ".join(map(str, wrong))
    assert server.process.poll() is None


def mutated(random_, seeds):
    data = bytearray(random_.choice(seeds))
    for _ in range(random_.randint(1, 6)):
        place = random_.randrange(max(1, len(data)))
        kind = random_.randrange(8)
        if kind == 0:
            data[place : place + 1] = bytes([random_.randrange(256)])
        elif kind == 1:
            del data[place : place + random_.randint(1, 40)]
        elif kind == 2:
            data[place:place] = bytes(random_.randrange(256) for _ in range(random_.randint(1, 30)))
        elif kind == 3:
            data[place:place] = data[place : place + random_.randint(1, 200)]
        elif kind == 4:
            data[place:place] = random_.choice(
                [
                    b"\r\n",
                    b";",
                    b"<",
                    b">",
                    b'"',
                    b"%00",
                    b",",
                    b"@",
                    b":",
                    b"\x00",
                    b"=",
                    b"sip:",
                    b"tel:",
                    b"99999999999999999999",
                    b"-1",
                    b"[::]",
                ]
            )
        elif kind == 5:
            data = data[:place]
        elif kind == 6:
            data[place:place] = b"A" * random_.choice([300, 1_000, 5_000])
        else:
            other = random_.choice(seeds)
            data[place:] = other[random_.randrange(len(other)) :]
    return bytes(data[:65_000])


def seeds():
    found = [
        path.read_bytes() for folder in ("rfc4475", "rfc5118") for path in sorted((TORTURE / folder).glob("*.dat"))
    ]
    invite = (
        b"INVITE sip:0255501234@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKfuzz\r\n"
        b"Max-Forwards: 70\r\nFrom: \"A\" <sip:a@127.0.0.1>;tag=1\r\n"
        b"To: <sip:0255501234@127.0.0.1>\r\nCall-ID: fuzz-1\r\nCSeq: 1 INVITE\r\nContact: <sip:a@127.0.0.1:9>\r\n"
        b"Supported: timer, 100rel, replaces\r\nSession-Expires: 1800;refresher=uac\r\n"
        b"Authorization: Digest username=\"kim\", realm=\"trunkline\", nonce=\"1.2.3\", uri=\"sip:x\", "
        b"response=\"00\", qop=auth, nc=00000001, cnonce=\"a\"\r\n"
        b"P-Asserted-Identity: <sip:b@127.0.0.1>\r\nReplaces: a@b;to-tag=1;from-tag=2\r\n"
        b"Content-Type: application/sdp\r\nContent-Length: 160\r\n\r\n"
        b"v=0\r\no=a 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0 8 101\r\n"
        b"a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n"
    )
    register = (
        b"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKfuzz2\r\nMax-Forwards: 70\r\n"
        b"From: <sip:kim@127.0.0.1>;tag=1\r\nTo: <sip:kim@127.0.0.1>\r\n"
        b"Call-ID: fuzz-2\r\nCSeq: 1 REGISTER\r\n"
        b"Contact: <sip:kim@127.0.0.1:9>;expires=60;q=0.5, <sip:kim@127.0.0.1:10>\r\nExpires: 60\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    refer = invite.replace(b"INVITE", b"REFER").replace(
        b"Replaces:", b"Refer-To: <sip:x@y?Replaces=a%40b>\r\nReferred-By: <sip:q@z>\r\nX:"
    )
    return found + [invite, register, refer] * 10


def fuzz(server, count, transport):
    """Messages mutated by a seed of its own; the server is probed all the while."""
    chance = random.Random(20_261_122)
    material, worst, begun = seeds(), 0.0, time.time()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stream = None
    for index in range(count):
        data = mutated(chance, material)
        if transport == "udp":
            try:
                out.sendto(data, ("127.0.0.1", server.sip_port))
            except OSError:
                continue
        else:
            try:
                if stream is None or chance.random() < 0.2:
                    if stream:
                        stream.close()
                    stream = socket.create_connection(("127.0.0.1", server.sip_port), timeout=2)
                stream.sendall(data)
            except OSError:
                stream = None
        if index % 200 == 199:
            worst = max(worst, probe(server, 5.0))
            assert server.process.poll() is None, f"the server died of one of the messages {index - 199} to {index}"
    out.close()
    if stream:
        stream.close()
    print(f"{transport}: {count} messages in {time.time() - begun:.0f} s, worst probe {worst * 1000:.0f} ms")
    return worst


@pytest.mark.parametrize(
    "transport, count",
    [
        ("udp", int(os.environ.get("TRUNKLINE_FUZZ_UDP", 6_000))),
        ("tcp", int(os.environ.get("TRUNKLINE_FUZZ_TCP", 2_000))),
    ],
)
def test_mutated_messages_do_not_end_the_process(make_server, transport, count):
    server = make_server(**CALM)
    add_operator(server)
    worst = fuzz(server, count, transport)
    assert worst < 2.0 and server.process.poll() is None
    assert server.request("GET", "/health", key=None)[0] == 200
