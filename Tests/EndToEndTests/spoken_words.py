"""What a person says, as a WAV file."""

import functools
import subprocess


@functools.cache
def spoken(text, rate=8000, pause=(0.4, 2), voice="en-us", speed=140):
    """16 bit, with so many seconds of silence before and behind it."""
    loud = subprocess.run(
        ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", text], capture_output=True, check=True
    ).stdout
    return subprocess.run(
        ["sox", "-t", "wav", "-", "-t", "wav", "-r", str(rate), "-b", "16", "-c", "1", "-"]
        + ["gain", "-6", "pad", *map(str, pause)],
        input=loud,
        capture_output=True,
        check=True,
    ).stdout
