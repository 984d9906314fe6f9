"""A name server of the test's own, and a server that asks only it."""

import random
import socket
import struct
import subprocess
import threading

import pytest


class NameServer(threading.Thread):
    """DNS (RFC 1035) on port 53 of an address of its own. `records`: (name, type) to a list of data; None: no answer
    ever comes."""

    TYPES = {"A": 1, "NAPTR": 35, "SRV": 33}

    def __init__(self, records):
        super().__init__(daemon=True)
        self.records, self.asked = records, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # All of 127/8 is this machine's; a test that ran before may still hold its own.
        self.address = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        self.socket.bind((self.address, 53))
        self.start()

    @staticmethod
    def name(text):
        return b"".join(bytes([len(part)]) + part.encode() for part in text.split(".") if part) + b"\0"

    def data(self, kind, value):
        if kind == "A":
            return socket.inet_aton(value)
        if kind == "SRV":
            priority, port, target = value
            return struct.pack(">HHH", priority, 1, port) + self.name(target)
        order, service, replacement = value
        strings = b"".join(bytes([len(part)]) + part.encode() for part in ("s", service, ""))
        return struct.pack(">HH", order, 1) + strings + self.name(replacement)

    def run(self):
        while True:
            query, source = self.socket.recvfrom(4_096)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
                at += 1 + query[at]
            code = struct.unpack(">H", query[at + 1 : at + 3])[0]
            kind = {number: kind for kind, number in self.TYPES.items()}.get(code, str(code))
            question, name = query[12 : at + 5], ".".join(labels)
            self.asked.append((name, kind))
            found = self.records.get((name, kind), [])
            if found is None:
                continue
            answers = b"".join(
                b"\xc0\x0c" + struct.pack(">HHIH", code, 1, 60, len(data)) + data
                for data in (self.data(kind, one) for one in found)
            )
            exists = any(name == known for known, _ in self.records)
            self.socket.sendto(
                query[:2]
                + (b"\x85\x80" if exists else b"\x85\x83")
                + struct.pack(">HHHH", 1, len(found), 0, 0)
                + question
                + answers,
                source,
            )


def with_names(tmp_path, address):
    """What the server is started with, so that it asks only the name server of this address."""
    (tmp_path / "resolv.conf").write_text(f"nameserver {address}\n")
    return ["unshare", "-m", "sh", "-c", f'mount --bind {tmp_path / "resolv.conf"} /etc/resolv.conf && exec "$@"', "sh"]


may_mount = pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="a name server of its own needs a mount namespace",
)
