"""Fuzzed WebSocket connections: media streams and events."""

import base64
import contextlib
import json
import struct

from connection_parts import ANSWER_LIMIT, KEY, Broken, damaged, part, receive, send_cut, web


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
            # A slow client may answer only the last of several pings (§5.5.3), but never one that was not sent. A call
            # may end meanwhile.
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
STREAMS = [f"/media/{name}" for name in "twilio telnyx plivo vonage signalwire exotel genesys asterisk jambonz".split()]
