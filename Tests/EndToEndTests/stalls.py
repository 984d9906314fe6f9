"""Watches whether the machine stands still. Calls are held in real time, and a machine that is shared with others stops
for tens of milliseconds often and for a second at times; a test that measures less allows for it, and a failure tells
it."""

import collections
import threading
import time

# Seconds between two looks; a look that comes more than this too late is a stall.
PERIOD = 0.01
# Stalls remembered.
LIMIT = 10_000


class Stalls:
    """How much too late a thread woke that only wanted to sleep."""

    def __init__(self):
        # (when it was over, how long it lasted), seconds of the monotonic clock.
        self.seen = collections.deque(maxlen=LIMIT)
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            due = time.monotonic() + PERIOD
            time.sleep(PERIOD)
            late = time.monotonic() - due
            if late > PERIOD:
                self.seen.append((due + late, late))

    def worst(self, since):
        """The longest stall since a moment, seconds."""
        return max((length for moment, length in list(self.seen) if moment >= since), default=0.0)
