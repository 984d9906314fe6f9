"""Whole connections to a running server: well-formed ones cut at any place, whose answers are known, and damaged ones,
which may be answered or refused but must neither end the server nor make it slow for others. Connection N of a seed is
always the same."""

import base64
import contextlib
import json
import os
import random
import re
import select
import socket
import ssl
import struct
import subprocess
import threading
import time

KEY = "end-to-end-test-key-0123456789"
HOST = "127.0.0.1"
# Seconds in which others must be answered, and in which a well-formed connection must be.
PROBE_LIMIT, ANSWER_LIMIT = 1.0, 5.0
# MiB that the server may have grown by at the end, against what it had after so many connections: pools fill, and each
# INVITE that is taken is a call.
MEMORY_LIMIT, WARM_UP = 96, 400


class Broken(Exception):
    """A property does not hold."""


def web(server, timeout):
    """A connection to the HTTP server, by TLS where it speaks TLS."""
    own = socket.create_connection((HOST, server.http_port), timeout=timeout)
    return server.tls.wrap_socket(own, server_hostname="localhost") if server.tls else own


def with_tls(folder):
    """Settings of a server that speaks TLS with a certificate of its own, and the context of its clients."""
    certificate, key = os.path.join(folder, "own.pem"), os.path.join(folder, "own.key")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    settings = {"TRUNKLINE_TLS_CERTIFICATE": certificate, "TRUNKLINE_TLS_KEY": key}
    return settings, ssl.create_default_context(cafile=certificate)


class Probe(threading.Thread):
    """Whether others are served meanwhile: HTTP /health on a new connection, SIP OPTIONS over UDP."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.running, self.worst, self.trouble = server, True, {"http": 0.0, "sip": 0.0}, None
        self.start()

    def run(self):
        while self.running:
            for name, ask in (("http", self.health), ("sip", self.options)):
                # What is late once may be the machine's fault; what is late three times is the server's.
                for left in (2, 1, 0):
                    begun = time.monotonic()
                    try:
                        ask()
                        took = time.monotonic() - begun
                    except OSError:
                        took = max(PROBE_LIMIT, time.monotonic() - begun)
                    if took < PROBE_LIMIT:
                        self.worst[name] = max(self.worst[name], took)
                        break
                    if left == 0 and self.running:
                        self.trouble = self.trouble or f"{name} was not answered within {PROBE_LIMIT} s, three times"
            time.sleep(0.05)

    def health(self):
        with web(self.server, PROBE_LIMIT) as own:
            own.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            if not own.recv(100).startswith(b"HTTP/1.1 200"):
                raise OSError

    def options(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind((HOST, 0))
            own.settimeout(PROBE_LIMIT)
            own.sendto(sip("OPTIONS", random.getrandbits(64), own.getsockname()[1]), (HOST, self.server.sip_port))
            if not own.recv(4_096).startswith(b"SIP/2.0 200"):
                raise OSError


def damaged(chance, data, times=6):
    """A few mutations."""
    data = bytearray(data)
    for _ in range(chance.randint(1, times)):
        at = chance.randrange(max(1, len(data)))
        match chance.randrange(8):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[at : at + chance.randint(1, 40)]
            case 2:
                data[at:at] = chance.randbytes(chance.randint(1, 30))
            case 3:
                data[at:at] = data[at : at + chance.randint(1, 200)]
            case 4:
                data[at:at] = chance.choice(
                    [
                        b"\r\n",
                        b"\r\n\r\n",
                        b":",
                        b"\x00",
                        b" ",
                        b"\t",
                        b",",
                        b";",
                        b"=",
                        b"%00",
                        b"%",
                        b"99999999999999999999",
                        b"-1",
                        b"0x10",
                        b"\xff",
                    ]
                )
            case 5:
                data = data[:at]
            case 6:
                data[at:at] = b"A" * chance.choice([300, 5_000, 70_000])
            case 7:
                data[at : at + 1] = b"\n" if data[at : at + 1] == b"\r" else b"\r"
    return bytes(data)


def send_cut(chance, own, data):
    """In one segment, or in several cut anywhere."""
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice([0, 0, 1, 2, 5])))
    for begin, end in zip([0, *places], [*places, len(data)]):
        if data[begin:end]:
            own.sendall(data[begin:end])
            if end < len(data) and chance.random() < 0.5:
                time.sleep(0.002)


def receive(own, seconds, is_enough):
    """What comes until there is enough of it, nothing more comes, or the time is over."""
    data, deadline = b"", time.monotonic() + seconds
    while not is_enough(data) and (left := deadline - time.monotonic()) > 0:
        # What TLS has read already does not show on the socket.
        has_read = isinstance(own, ssl.SSLSocket) and own.pending()
        if not has_read and not select.select([own], [], [], left)[0]:
            break
        try:
            piece = own.recv(65_536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    return data


def part(chance, own):
    """The connection's end: orderly, by reset, or by leaving."""
    match chance.randrange(3):
        case 0:
            with contextlib.suppress(OSError):
                own.shutdown(socket.SHUT_WR)
                receive(own, 0.02, lambda data: False)
        case 1:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    own.close()


# HTTP


def request(chance, gentle):
    """A request of ours and the statuses that are right for it."""
    bearer = f"Authorization: Bearer {KEY}\r\n"
    bad = b'{"caller_number": 5}'
    post = f"POST /api/outbound/ HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}Content-Type: application/json\r\n"
    size = chance.randint(1, len(bad))
    choices = [
        (b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {200}),
        (f"GET /api/outbound/?limit=1&cursor= HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}\r\n".encode(), {200, 422}),
        (
            b"GET /api/outbound/ HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong-key-0123456789ab\r\n\r\n",
            {401},
        ),
        (f"GET /api/outbound/nobody%20there HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}\r\n".encode(), {404}),
        (b"HEAD /health HTTP/1.1\r\nhOsT:127.0.0.1\r\n\r\n", {200}),
        (f"PUT /api/outbound/ HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}Content-Length: 0\r\n\r\n".encode(), {405}),
    ]
    if not gentle:
        choices += [
            (f"{post}Content-Length: {len(bad)}\r\n\r\n".encode() + bad, {400, 422}),
            (
                f"{post}Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n".encode()
                + bad[:size]
                + b"\r\n"
                + (f"{len(bad) - size:X};a=b\r\n".encode() + bad[size:] + b"\r\n" if size < len(bad) else b"")
                + b"0\r\n\r\n",
                {400, 422},
            ),
        ]
    return chance.choice(choices)


def answers(data, heads):
    """Statuses of complete HTTP responses; `heads`: which of them have no body, for they answer HEAD."""
    statuses = []
    while (end := data.find(b"\r\n\r\n")) >= 0 and data.startswith(b"HTTP/1.1 "):
        head = data[:end].decode("latin-1")
        length = re.search(r"(?im)^content-length:\s*(\d+)", head)
        chunked = re.search(r"(?im)^transfer-encoding:\s*chunked", head)
        data = data[end + 4 :]
        status, is_head = int(head[9:12]), len(statuses) < len(heads) and heads[len(statuses)]
        if status == 100:
            continue
        if chunked and not is_head:
            if (end := data.find(b"0\r\n\r\n")) < 0:
                break
            data = data[end + 5 :]
        elif length and not is_head:
            if len(data) < int(length[1]):
                break
            data = data[int(length[1]) :]
        statuses.append(status)
    return statuses


# A request without a body and one with a body behind it: what hung an event loop for ever.
HTTP_KILLER = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\nPOST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde"
# A length in a second message of a segment that ended the process.
SIP_KILLER = (
    b"PRACK sip:cept: a/b\r\nContent-Length: 0\r\n\r\nOPTIONS 0.0.Type: n/sdp\r\nContent-Length: 2147483648\r\n\r\nx18"
)


def http(chance, server, gentle):
    """Pipelined requests in one segment or cut anywhere: as many answers, in their order."""
    if not gentle and chance.random() < 0.1:
        with web(server, ANSWER_LIMIT) as own:
            send_cut(chance, own, HTTP_KILLER)
            # Every other one leaves before it is answered.
            if chance.random() < 0.5:
                got = answers(receive(own, ANSWER_LIMIT, lambda data: len(answers(data, [])) >= 2), [])
                # Nobody here has the name h.
                if got != [421, 421]:
                    raise Broken(f"a GET and a POST in one segment were answered with {got}")
        return
    if chance.random() < 0.5:
        # Today's server answers one after the other; what comes before the answer is there must wait.
        asked = [request(chance, gentle) for _ in range(1 if gentle else chance.choice([1, 2, 3, 8]))]
        heads = [data.startswith(b"HEAD") for data, _ in asked]
        with web(server, ANSWER_LIMIT) as own:
            send_cut(chance, own, b"".join(data for data, _ in asked))
            got = answers(receive(own, ANSWER_LIMIT, lambda data: len(answers(data, heads)) >= len(asked)), heads)
        if len(got) != len(asked) or any(status not in right for status, (_, right) in zip(got, asked)):
            raise Broken(f"{[data for data, _ in asked]} were answered with {got}")
        return
    smuggled = [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b" Host: y\r\n",
        b"Expect: 100-continue\r\n",
        b"X: " + b"a" * chance.choice([100, 20_000]) + b"\r\n",
        b"Content-Length: 5, 5\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"A: b\r\n" * chance.choice([10, 500]),
    ]
    data = b"".join(request(chance, gentle)[0] for _ in range(1 if gentle else chance.randint(1, 4)))
    if not gentle and chance.random() < 0.5:
        data = data.replace(
            b"Host: 127.0.0.1\r\n", b"Host: 127.0.0.1\r\n" + chance.choice(smuggled), 1
        ) + chance.choice([b"", b"0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\n", b"-1\r\n\r\n"])
    with web(server, ANSWER_LIMIT) as own, contextlib.suppress(OSError):
        send_cut(chance, own, damaged(chance, data))
        receive(own, 0.03, lambda data: False)
        part(chance, own)


# SIP


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


# WebSockets


def frame(chance, payload, opcode=1, final=True, masked=True, reserved=0, length=None):
    size = len(payload) if length is None else length
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    bit = 0x80 if masked else 0
    head += (
        bytes([bit | size])
        if size < 126
        else bytes([bit | 126]) + struct.pack(">H", size)
        if size < 65_536
        else bytes([bit | 127]) + struct.pack(">Q", size)
    )
    key = chance.randbytes(4) if masked else b""
    return head + key + (bytes(byte ^ key[index % 4] for index, byte in enumerate(payload)) if masked else payload)


def upgraded(chance, server, path):
    own = web(server, ANSWER_LIMIT)
    own.sendall(
        (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
            f"{base64.b64encode(chance.randbytes(16)).decode()}\r\nAuthorization: Bearer {KEY}\r\n\r\n"
        ).encode()
    )
    head = receive(own, ANSWER_LIMIT, lambda data: b"\r\n\r\n" in data)
    if b" 101 " not in head.split(b"\r\n")[0]:
        own.close()
        raise Broken(f"{path} was not upgraded: {head[:200]}")
    return own, head.split(b"\r\n\r\n", 1)[1]


def frames(data):
    """Unmasked frames of the server's: opcode and payload."""
    found = []
    while len(data) >= 2:
        size, at = data[1] & 0x7F, 2
        if size == 126:
            size, at = int.from_bytes(data[2:4], "big"), 4
        elif size == 127:
            size, at = int.from_bytes(data[2:10], "big"), 10
        if data[1] & 0x80 or len(data) < at + size:
            break
        found.append((data[0] & 15, data[at : at + size]))
        data = data[at + size :]
    return found


def stream_messages(chance):
    sid = f"MZ{chance.getrandbits(64):x}"
    start = {
        "event": "start",
        "streamSid": sid,
        "start": {
            "streamSid": sid,
            "callSid": "CA1",
            "customParameters": {},
            "mediaFormat": {"encoding": "audio/x-mulaw"},
        },
    }
    messages = [{"event": "connected"}, start]
    for _ in range(chance.randint(1, 20)):
        messages.append(
            chance.choice(
                [
                    {
                        "event": "media",
                        "streamSid": sid,
                        "media": {
                            "payload": base64.b64encode(
                                chance.randbytes(chance.choice([0, 1, 160, 161, 7_999]))
                            ).decode()
                        },
                    },
                    {"event": "mark", "streamSid": sid, "mark": {"name": "x"}},
                    {"event": "dtmf", "streamSid": sid, "dtmf": {"digit": "5"}},
                    {"event": "stop", "streamSid": sid},
                ]
            )
        )
    return [json.dumps(message).encode() for message in messages]


def websocket(chance, server, gentle, path="/api/events", messages=None):
    own, rest = upgraded(chance, server, path)
    with own:
        good = chance.random() < 0.5
        data, pings = b"", []
        for text in messages or [
            chance.randbytes(chance.choice([0, 5, 200])).hex().encode() for _ in range(chance.randint(1, 6))
        ]:
            if not good and chance.random() < 0.5:
                text = damaged(chance, text)
            pieces = [text[: len(text) // 2], text[len(text) // 2 :]] if chance.random() < 0.3 else [text]
            for number, piece in enumerate(pieces):
                data += frame(chance, piece, 1 if number == 0 else 0, number == len(pieces) - 1)
                if chance.random() < 0.3:
                    # Control frames may stand between the fragments (RFC 6455 §5.4).
                    pings.append(chance.randbytes(chance.randrange(126)))
                    data += frame(chance, pings[-1], 9)
        if good:
            pings.append(b"the last one")
            data += frame(chance, pings[-1], 9)
            send_cut(chance, own, data)
            pongs = lambda data: [payload for opcode, payload in frames(data) if opcode == 10]  # noqa: E731
            closed = lambda data: any(opcode == 8 for opcode, _ in frames(data))  # noqa: E731
            got = rest + receive(
                own, ANSWER_LIMIT, lambda data: b"the last one" in pongs(rest + data) or closed(rest + data)
            )
            # Who was slow may answer the last of several pings alone (§5.5.3), but nothing that nobody sent. A call may
            # end meanwhile.
            if any(pong not in pings for pong in pongs(got)) or not (closed(got) or b"the last one" in pongs(got)):
                raise Broken(f"{path}: pings {pings}, pongs {pongs(got)}")
            return
        data += chance.choice(
            [
                frame(chance, b"x", masked=False),
                frame(chance, b"x" * 126, 9),
                frame(chance, b"x", reserved=chance.randrange(1, 8)),
                frame(chance, b"x", chance.choice([3, 7, 11, 15])),
                frame(chance, b"x", 0),
                frame(chance, b"x", 1, False) + frame(chance, b"x", 1),
                frame(chance, b"", 1, length=1 << 62),
                frame(chance, b"", 2, length=(1 << 64) - 1),
                frame(chance, b"\x03", 8),
                frame(chance, struct.pack(">H", 5), 8),
                frame(chance, struct.pack(">H", 1000) + b"\xff\xfe", 8),
                frame(chance, b"\xc3\x28"),
                frame(chance, b"y", 9, False),
                frame(chance, b"z" * 70_000),
                b"".join(frame(chance, b"", 0 if index else 1, False) for index in range(3_000)),
                chance.randbytes(50),
            ]
        )
        with contextlib.suppress(OSError):
            send_cut(chance, own, damaged(chance, data, 3) if chance.random() < 0.3 else data)
            receive(own, 0.03, lambda data: False)
            part(chance, own)


def stream(chance, server, gentle):
    websocket(chance, server, gentle, chance.choice(STREAMS), stream_messages(chance))


# Paths of media streams: a new dialect is one more.
STREAMS = ["/media/twilio"]
KINDS = {"http": http, "https": http, "sip-udp": sip_udp, "sip-tcp": sip_tcp, "websocket": websocket, "stream": stream}
# Kinds whose server speaks TLS.
TLS_KINDS = {"https"}


def memory(server):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server.process.pid}/status").read())[1]) / 1_024


def run(server, kind, seed, seconds=None, count=None, first=0, gentle=False):
    """Makes connections one after the other until the time or their number is over.

    Returns a line about it; raises `Broken` with the command that repeats it.
    """
    begun, index, before = time.monotonic(), first, memory(server)
    probe = Probe(server)
    descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def fail(reason):
        raise Broken(
            f"{kind}, connection {index} of the seed {seed}: {reason}\n"
            f"again by: scripts/fuzz-connections --kind {kind} --seed {seed} --first {index} --count 1"
            f"   (or --first {max(first, index - 20)} --count {index - max(first, index - 20) + 1})\n"
            f"the end of the server's log:\n{server.log_end(3_000)}"
        )

    try:
        while (count is None or index < first + count) and (seconds is None or time.monotonic() - begun < seconds):
            try:
                KINDS[kind](random.Random(f"{seed}-{kind}-{index}"), server, gentle)
            except (Broken, OSError) as error:
                fail("the server died" if server.process.poll() is not None else repr(error))
            if server.process.poll() is not None:
                fail(f"the server died with {server.process.poll()}")
            if probe.trouble:
                fail(probe.trouble)
            index += 1
            if index <= first + WARM_UP:
                before = memory(server)
    finally:
        probe.running = False
        probe.join(5)
    grown = memory(server) - before
    if grown > MEMORY_LIMIT:
        fail(f"the server has grown by {grown:.0f} MiB")
    return (
        f"{kind}: {index - first} connections in {time.monotonic() - begun:.0f} s, "
        f"others waited {probe.worst['http'] * 1000:.0f} ms (HTTP) and "
        f"{probe.worst['sip'] * 1000:.0f} ms (SIP) at most, memory {grown:+.1f} MiB, "
        f"descriptors {len(os.listdir(f'/proc/{server.process.pid}/fd')) - descriptors:+d}"
    )
