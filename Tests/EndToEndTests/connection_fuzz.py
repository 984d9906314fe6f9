"""Whole connections to a running server: well-formed ones cut at any place, whose answers are known, and damaged ones,
which may be answered or refused but must neither end the server nor make it slow for others. Connection N of a seed is
always the same."""

import os
import random
import re
import socket
import ssl
import subprocess
import threading
import time

from connection_http import http
from connection_parts import HOST, PROBE_LIMIT, Broken, web
from connection_sip import sip, sip_tcp, sip_udp
from connection_websocket import stream, websocket

# MiB that the server may have grown by at the end, against what it had after so many connections: pools fill, and each
# INVITE that is taken is a call.
MEMORY_LIMIT, WARM_UP = 96, 400


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


# HTTP


# SIP


# WebSockets


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
