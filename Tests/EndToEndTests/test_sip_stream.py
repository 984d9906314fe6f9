"""SIP over TCP and TLS as strangers may write it: any length, any place in a segment, half messages that stay, and more
connections than there is room for.

A good client beside it is answered all along, the process lives, and its memory stays within a bound.
"""

import concurrent.futures
import contextlib
import itertools
import socket
import time

import pytest
from sip_wire import MEMORY_FACTOR, STRANGER, Good, connect, is_closed, memory, request, statuses

# Of Sources/C/Sofia/streams.h.
MESSAGE_BYTES, FIELD_COUNT = 65_535, 512

KILLING = (
    b"PRACK sip:cept: a/b\r\nContent-Length: 0\r\n\r\nOPTIONS 0.0.Type: n/sdp\r\nContent-Length: 2147483648\r\n\r\nx18"
)


# A length, whether its message is to be answered by 200, and else by what: 413 is too long, 400 is no length. Nothing:
# the connection is closed.
LENGTHS = [
    (b"Content-Length: 65536\r\n", [413]),
    (b"Content-Length: 65535\r\n", [413]),
    (b"Content-Length: 209715200\r\n", [413]),
    (b"Content-Length: 2147483647\r\n", [413]),
    (b"Content-Length: 2147483648\r\n", [413]),
    (b"Content-Length: 4294967295\r\n", [413]),
    (b"Content-Length: 4294967296\r\n", [400]),
    (b"Content-Length: 4294967297\r\n", [400]),
    (b"Content-Length: 18446744073709551616\r\n", [400]),
    (b"Content-Length: 99999999999999999999999\r\n", [400]),
    (b"Content-Length: -1\r\n", [400]),
    (b"Content-Length: -2147483648\r\n", [400]),
    (b"l: 2147483648\r\n", [413]),
    (b"l:2147483648\r\n", [413]),
    (b"L : 2147483648\r\n", [413]),
    (b"Content-Length:\r\n 2147483648\r\n", [413]),
    (b"Content-Length:\r\n\t\r\n\t2147483648\r\n", [413]),
    (b"Content-Length: 0\r\nContent-Length: 2147483648\r\n", [400, 413]),
    (b"Content-Length: 2147483648\r\nContent-Length: 0\r\n", [400, 413]),
    (b"Content-Length: 0, 2147483648\r\n", [400, 413]),
    (b"Content-Length: 2147483648;x\r\n", [400, 413]),
    (b"Content-Length: 0x80000000\r\n", [400, 413]),
    (b"Content-Length: abc\r\n", [400]),
    (b"Content-Length: +2147483648\r\n", [400, 413]),
    (b"Content-Length:\r\n", [400]),
    (b"Content-Type: a/b\r\nContent-Length: 2147483648\r\nZ: " + b"y" * 3_000 + b"\r\n", [413]),
]


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
def test_the_input_that_once_ended_the_process_is_refused(stack, transport):
    good = Good(stack)
    first, second = KILLING.split(b"OPTIONS")
    second = b"OPTIONS" + second
    inputs = [
        KILLING,
        second,
        second + first,
        first * 40 + second,
        second * 3,
        first + b"\r\n\r\n" + second,
        KILLING * 2,
        request(2) + second,
    ]
    for data in inputs:
        for pieces in ([data], [data[: len(data) // 2], data[len(data) // 2 :]], [bytes([byte]) for byte in data]):
            if len(pieces) > 400:
                continue
            with connect(stack, transport=transport) as stream, contextlib.suppress(OSError):
                for piece in pieces:
                    stream.sendall(piece)
                statuses(stream, 9, seconds=0.05)
        good.probe()
    assert stack.process.poll() is None


def test_the_input_that_once_ended_the_process_is_refused_by_udp(server):
    """The same bytes as datagrams: whole, each message alone, cut, and many of them."""
    good = Good(server)
    first, second = KILLING.split(b"OPTIONS")
    second = b"OPTIONS" + second
    datagrams = [KILLING, first, second, second + first, first * 40 + second, second * 3, KILLING * 600]
    datagrams += [first + b"\r\n\r\n" + second, KILLING[: len(KILLING) // 2], KILLING[len(KILLING) // 2 :]]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((STRANGER, 0))
        datagrams += [request(own.getsockname()[1], transport="UDP") + second]
        for data in datagrams:
            for _ in range(20):
                own.sendto(data[:65_000], ("127.0.0.1", server.sip_port))
            good.probe()
    assert server.process.poll() is None


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
@pytest.mark.parametrize("before", [b"\r\n", b"\r\n\r\n", b"\r\n\r\n\r\n\r\n\r\n", b"\n"])
def test_empty_lines_before_a_message_are_skipped(stack, transport, before):
    # RFC 3261 §7.5: a keep-alive (RFC 5626 §3.5.1) comes in one segment with the message behind it.
    with contextlib.closing(connect(stack, transport=transport)) as stream:
        stream.sendall(before + request(1, transport=transport) + before + request(2, transport=transport))
        assert statuses(stream, 2) == ([200, 200], False)


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
@pytest.mark.parametrize("place", [0, 1, 7])
def test_wrong_content_lengths_are_refused(stack, transport, place):
    """Alone, as the second message of a segment and as the eighth; in one piece, cut, and byte by byte."""
    good, wrong = Good(stack), []
    for (length, wanted), cut in itertools.product(LENGTHS, ["whole", "at the body", "bytes"]):
        if cut == "bytes" and (transport == "TLS" or len(length) > 1_000):
            continue
        stream = connect(stack, source="127.0.0.1", transport=transport)
        before, bad = (
            b"".join(request(2, transport=transport) for _ in range(place)),
            request(3, length, b"x18", transport=transport),
        )
        pieces = {
            "whole": [before + bad],
            "at the body": [before + bad[:-3], bad[-3:]],
            "bytes": [before] + [bytes([byte]) for byte in bad],
        }[cut]
        with contextlib.suppress(OSError):
            for piece in pieces:
                stream.sendall(piece)
                if cut == "at the body":
                    time.sleep(0.002)
        found, closed = statuses(stream, place + 1)
        # Those before it are good; what is wrong closes the stream at once, and their answers may be late for it.
        if set(found[:-1]) - {200} or not found or found[-1] not in wanted:
            wrong.append((length[:60], cut, found))
        assert closed or is_closed(stream, 4), "a stream whose end of message is not known is of no use"
        stream.close()
        good.probe()
    assert not wrong, wrong


def test_wrong_content_lengths_are_refused_by_udp(server):
    """The length of a datagram is known: a larger Content-Length is refused at once, without waiting for more."""
    good, wrong = Good(server), []
    for length, wanted in LENGTHS:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            own.settimeout(2)
            own.sendto(request(own.getsockname()[1], length, b"x18", transport="UDP"), ("127.0.0.1", server.sip_port))
            status = int(own.recv(65_536)[8:11])
        if status not in [*wanted, 400]:
            wrong.append((length, status))
        good.probe()
    assert not wrong, wrong


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
def test_messages_up_to_the_limit_are_answered(stack, transport):
    """What is as long as may be is heard, wherever it stands; a byte more is not. So are many good ones in a burst."""
    for size, wanted in ((10, 200), (4_096, 200), (60_000, 200), (MESSAGE_BYTES, 200), (MESSAGE_BYTES + 1, 413)):
        for before in (0, 1):
            stream = connect(stack, source="127.0.0.1", transport=transport)
            length = 0
            for _ in range(4):  # its length has digits, which count
                message = request(
                    4,
                    f"Content-Type: text/plain\r\nContent-Length: {length:05}\r\n".encode(),
                    b"b" * length,
                    transport=transport,
                )
                length = max(0, length + size - len(message))
            with contextlib.suppress(OSError):
                stream.sendall(request(2, transport=transport) * before + message)
            found = statuses(stream, 1 + before)[0]
            assert found == [200] * before + [wanted] or wanted == 413 == found[-1], (size, before, len(message), found)
            stream.close()
    stream = connect(stack, source="127.0.0.1", transport=transport)
    burst = [request(5, transport=transport, more=b"Z: " + b"y" * 500 + b"\r\n") for _ in range(300)]
    stream.settimeout(20)
    stream.sendall(b"".join(burst[:150]))
    found = statuses(stream, 150, 10)[0]
    stream.sendall(b"".join(burst[150:]))
    assert found + statuses(stream, 150, 10)[0] == [200] * 300


ENDLESS = {
    "a first line": (b"OPTIONS sip:", b"a"),
    "white space": (b" ", b" \t"),
    "line breaks": (b" \r\n", b"\r\n \r\n"),
    "one header": (b"OPTIONS sip:a SIP/2.0\r\nZ: ", b"a"),
    "many headers": (b"OPTIONS sip:a SIP/2.0\r\n", b"Z:a\r\n"),
    "a folded header": (b"OPTIONS sip:a SIP/2.0\r\nZ:", b"\r\n a"),
    "NUL": (b"", b"\0"),
    "contacts": (b"REGISTER sip:a SIP/2.0\r\nm: <sip:a>", b",<sip:a>"),
    "parameters": (b"OPTIONS sip:a SIP/2.0\r\nm: <sip:a>", b";a"),
    "an answer": (b"SIP/2.0 200 ", b"a"),
}


@pytest.mark.parametrize("transport", ["TCP", pytest.param("TLS", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ENDLESS)
def test_endless_headers_close_the_connection(stack, transport, kind):
    """The first and the second message of a stream; it is closed before 400 KiB are taken."""
    good, at_first = Good(stack), memory(stack)
    begin, more = ENDLESS[kind]

    def send(before, size):
        """How many bytes of it are taken."""
        stream, sent = connect(stack, transport=transport), 0
        stream.settimeout(3)
        piece = (more * (size // len(more) + 1))[: size // len(more) * len(more)]
        with contextlib.suppress(OSError):
            stream.sendall(before + begin)
            while sent < 3_000_000:
                stream.sendall(piece)
                sent += len(piece)
        stream.close()
        return sent

    # All at once: a connection is closed two seconds after its answer.
    befores = (b"", request(2, transport=transport), KILLING.split(b"OPTIONS")[0])
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        sending = [pool.submit(send, before, size) for before in befores for size in (100, 8_192)]
        while not all(one.done() for one in sending):
            good.probe(2.0)
            time.sleep(0.05)
    taken = [one.result() for one in sending]
    # White space between messages is nothing (RFC 3261 §7.5), and nothing is kept of it.
    assert max(taken) < 600_000 or kind in ("white space", "line breaks"), f"{taken} bytes of {kind} were taken"
    good.probe(2.0)
    grown = memory(stack) - at_first
    print(f"{kind} by {transport}: {grown:.0f} MiB more")
    assert grown < 30 * MEMORY_FACTOR, "it was 13 at most"


LISTS = [
    "m",
    "Contact",
    "v",
    "Via",
    "Route",
    "Record-Route",
    "Accept",
    "Accept-Language",
    "Accept-Encoding",
    "Allow",
    "Supported",
    "k",
    "Require",
    "Warning",
    "Call-Info",
    "Alert-Info",
    "Error-Info",
    "Path",
    "Service-Route",
    "P-Asserted-Identity",
    "P-Preferred-Identity",
    "Authorization",
    "Proxy-Authorization",
    "Allow-Events",
    "u",
    "In-Reply-To",
    "Reason",
    "History-Info",
    "Security-Client",
    "Accept-Contact",
    "Reject-Contact",
    "Request-Disposition",
    "Unsupported",
    "Proxy-Require",
    "Content-Language",
    "e",
    "Privacy",
    "Diversion",
    "Content-Disposition",
    "Authentication-Info",
    "From",
    "To",
    "Refer-To",
    "Event",
    "Retry-After",
    "RAck",
    "Replaces",
]
VALUES = [b"<sip:a>", b"*", b"a", b"a/b", b"SIP/2.0/UDP a", b"", b"1 a \"b\"", b"Digest a=b", b"a;b", b"(", b'"']


@pytest.mark.parametrize("transport", ["UDP", "TCP"])
def test_long_lists_of_values_do_not_end_the_process(server, transport):
    """Each value of a list is read by a call within the call that read the one before it: as many as a message can hold
    must not end the stack."""
    good = Good(server)
    for name in LISTS:
        for value in VALUES:
            one = b"," + value
            more = name.encode() + b": " + value + one * ((60_000 - len(value)) // len(one)) + b"\r\n"
            message = request(9, more=more, transport=transport)
            if transport == "UDP":
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
                    own.sendto(message, ("127.0.0.1", server.sip_port))
            else:
                with connect(server, "127.0.0.1") as stream, contextlib.suppress(OSError):
                    stream.sendall(message)
        good.probe(5.0)
    assert server.process.poll() is None


def test_thousands_of_fields_take_bounded_memory(stack):
    """A field of three bytes is 200 bytes in memory: as many as a message holds, in as many connections as there may
    be, are bounded all the same."""
    good, at_first = Good(stack), memory(stack)
    bomb = b"OPTIONS sip:a SIP/2.0\r\n" + b"Z:\r\n" * 16_000
    streams = []
    for number in range(200):
        stream = connect(stack, f"127.0.3.{number % 50 + 1}")
        with contextlib.suppress(OSError):
            stream.sendall(bomb)
        streams.append(stream)
    # Just few enough fields, and then the largest of parameters.
    few = b"OPTIONS sip:a SIP/2.0\r\n" + b"Z:\r\n" * (FIELD_COUNT - 10) + b"m: <sip:a>" + b";a" * 30_000 + b"\r\nY: "
    for number in range(300):
        stream = connect(stack, f"127.0.4.{number % 50 + 1}")
        with contextlib.suppress(OSError):
            stream.sendall(few)
        streams.append(stream)
    good.probe(3.0)
    grown = memory(stack) - at_first
    print(f"{grown:.0f} MiB more")
    assert grown < 30, "it was 14"
    for stream in streams:
        stream.close()
