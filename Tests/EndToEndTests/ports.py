"""Ports that nothing else on the machine takes."""

import random
import socket

# Ports that the kernel does not assign by itself (it assigns 32768 and above), in blocks; RTP's lie below.
FIRST_PORT, BLOCK, BLOCKS = 20_500, 1_000, 12
# From one port to the next: baresip, for one, listens behind its own too.
STEP = 4


class Ports:
    """A block of ports that only this process takes ports from, whatever runs beside it; each is given again only after
    all others."""

    def __init__(self):
        self.number = 0
        for block in random.sample(range(BLOCKS), BLOCKS):
            # An abstract name lives as long as the process that holds it (unix(7)).
            self.claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                self.claim.bind(f"\0trunkline-test-ports-{block}")
            except OSError:
                self.claim.close()
                continue
            self.first = FIRST_PORT + block * BLOCK
            return
        raise RuntimeError("no block of ports is free: which test runs were left behind?")

    def next(self, count):
        for _ in range(BLOCK):
            if self.number + count > BLOCK:
                self.number = 0
            port = self.first + self.number
            self.number += -(-count // STEP) * STEP
            if all(self.is_free(port + more) for more in range(count)):
                return port
        raise RuntimeError("no port is free")

    @staticmethod
    def is_free(port):
        try:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


ports = None


def free_port(count=1):
    """A port that is free for TCP and UDP, and that no test beside this one is given; with a count the first of so
    many, even."""
    global ports
    ports = ports or Ports()
    return ports.next(count)
