"""Fuzzed SIP connections."""

import contextlib
import re
import socket
import time

from connection_parts import ANSWER_LIMIT, HOST, Broken, damaged, part, receive, send_cut

# A length in a second message of a segment that ended the process.
SIP_KILLER = (
    b"PRACK sip:cept: a/b\r\nContent-Length: 0\r\n\r\nOPTIONS 0.0.Type: n/sdp\r\nContent-Length: 2147483648\r\n\r\nx18"
)


def sip(method, identity, port, transport="UDP", body=b"", length=None, more=""):
    return (
        f"{method} sip:100@{HOST} SIP/2.0\r\n"
        f"Via: SIP/2.0/{transport} {HOST}:{port};branch=z9hG4bK{identity:x};rport\r\n"
        f"Max-Forwards: 70\r\nFrom: <sip:f@{HOST}>;tag={identity & 0xFFFF:x}\r\n"
        f"To: <sip:100@{HOST}>\r\nCall-ID: fuzz-{identity:x}\r\nCSeq: 1 {method}\r\n"
        f"Contact: <sip:f@{HOST}:{port}>\r\n{more}Content-Length: {len(body) if length is None else length}\r\n\r\n"
    ).encode() + body


SDP = (
    b"v=0\r\no=f 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    b"m=audio 40000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n"
)


def sip_message(chance, port, transport, length=None):
    method = chance.choice(
        [
            "OPTIONS",
            "INVITE",
            "REGISTER",
            "BYE",
            "CANCEL",
            "ACK",
            "SUBSCRIBE",
            "REFER",
            "UPDATE",
            "INFO",
            "MESSAGE",
            "FROBNICATE",
        ]
    )
    more = chance.choice(
        [
            "",
            "Session-Expires: 1800\r\n",
            "Refer-To: <sip:x@y?Replaces=a%40b>\r\n",
            "Supported: 100rel, timer\r\nRequire: x\r\n",
            "Expires: 60\r\n",
            'Authorization: Digest username="k", realm="trunkline", nonce="1.2.3", uri="sip:x", '
            'response="0", qop=auth, nc=00000001, cnonce="a"\r\n',
        ]
    )
    body = SDP if method in ("INVITE", "UPDATE") else b""
    return sip(
        method,
        chance.getrandbits(63),
        port,
        transport,
        body,
        length,
        ("Content-Type: application/sdp\r\n" if body else "") + more,
    )


def sip_udp(chance, server, gentle):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((HOST, 0))
        if not gentle and chance.random() < 0.1:
            own.sendto(SIP_KILLER, (HOST, server.sip_port))
        for _ in range(chance.randint(1, 20)):
            data = sip_message(
                chance,
                own.getsockname()[1],
                "UDP",
                chance.choice([None, None, 0, 5, 70_000, "-1", "99999999999999999999", ""]),
            )
            own.sendto((damaged(chance, data) if chance.random() < 0.8 else data)[:65_000], (HOST, server.sip_port))
        # A flood fills the socket's buffer, and then others are lost in the kernel: that is not what is tried here.
        time.sleep(0.01)


def sip_tcp(chance, server, gentle):
    """Several messages in a segment, cut anywhere: each is answered. Then lengths that lie."""
    with socket.create_connection((HOST, server.sip_port), timeout=ANSWER_LIMIT) as own:
        port = own.getsockname()[1]
        if not gentle and chance.random() < 0.1:
            with contextlib.suppress(OSError):
                send_cut(chance, own, SIP_KILLER)
                receive(own, 0.03, lambda data: False)
            return
        if chance.random() < 0.5:
            identities = [chance.getrandbits(63) for _ in range(1 if gentle else chance.choice([1, 2, 5, 20]))]
            # Empty lines between messages keep a connection alive (RFC 5626 §3.5.1).
            data = b"".join(
                chance.choice([b"", b"\r\n\r\n"])
                + sip("OPTIONS", identity, port, "TCP", chance.choice([b"", b"x" * chance.randrange(2_000)]))
                for identity in identities
            )
            send_cut(chance, own, data)
            wanted = {f"fuzz-{identity:x}" for identity in identities}
            known = lambda data: set(re.findall(r"(?im)^call-id:\s*(\S+)", data.decode(errors="replace")))  # noqa: E731
            got = receive(own, ANSWER_LIMIT, lambda data: known(data) >= wanted)
            if known(got) < wanted or any(
                not line.startswith("SIP/2.0 ") for line in re.findall(r"(?m)^SIP.*", got.decode(errors="replace"))
            ):
                raise Broken(
                    f"{len(identities)} OPTIONS in one segment, {len(known(got) & wanted)} were answered: {data!r}"
                )
            return
        lies = [None, None, 0, 3] + (
            [] if gentle else [70_000, 4_294_967_295, "-1", "99999999999999999999", "", "5 5", "0x10"]
        )
        data = b"".join(
            sip_message(chance, port, "TCP", chance.choice(lies)) for _ in range(1 if gentle else chance.randint(1, 6))
        )
        with contextlib.suppress(OSError):
            send_cut(chance, own, damaged(chance, data) if chance.random() < 0.7 else data)
            receive(own, 0.03, lambda data: False)
            part(chance, own)
