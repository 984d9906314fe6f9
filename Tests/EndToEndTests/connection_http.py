"""Fuzzed HTTP connections."""

import contextlib
import re

from connection_parts import ANSWER_LIMIT, KEY, Broken, damaged, part, receive, send_cut, web


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


def http(chance, server, gentle):
    """Pipelined requests in one segment or cut anywhere: as many answers, in their order."""
    if not gentle and chance.random() < 0.1:
        with web(server, ANSWER_LIMIT) as own:
            send_cut(chance, own, HTTP_KILLER)
            # Every other one leaves before it is answered.
            if chance.random() < 0.5:
                got = answers(receive(own, ANSWER_LIMIT, lambda data: len(answers(data, [])) >= 2), [])
                # h is no name of this server.
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
