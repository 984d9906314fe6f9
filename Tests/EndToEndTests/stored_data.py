"""What a server has stored: its keys, its files, and the commands that work on them."""

import subprocess

from conftest import TRUNKLINE, clean_environment

ENCRYPTION_KEY, NEW_KEY = "ab" * 32, "cd" * 32


def run(server, *arguments, **environment):
    return subprocess.run(
        [TRUNKLINE, *arguments],
        cwd=server.folder,
        env={**clean_environment(), **server.environment, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def everything(server):
    """All bytes of the database, its log and the recordings."""
    return b"".join(path.read_bytes() for path in (server.folder / "data").rglob("*") if path.is_file())
