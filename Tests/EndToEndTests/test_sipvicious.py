"""SIPVicious (svmap, svwar, svcrack) against a server, again and again, each time from an address that is not blocked
yet: it finds neither number nor password, the server lives, its memory stays, and a phone is answered meanwhile."""

import itertools
import os
import re
import shutil
import subprocess
import time

import pytest
from operators import PASSWORD, Passing, Registering, add_operator
from ports import free_port
from sip_wire import Good, memory

TOOLS = [tool for tool in ("svmap", "svwar", "svcrack") if shutil.which(tool)]


@pytest.mark.skipif(not TOOLS, reason="sipvicious is not installed")
@pytest.mark.long
@pytest.mark.parametrize("seconds", [int(os.environ.get("TRUNKLINE_SIPVICIOUS_SECONDS", 600))])
def test_sipvicious_does_no_harm(make_server, tmp_path, seconds):
    server = make_server()
    add_operator(server)
    (tmp_path / "words").write_text("\n".join(["1000", "1001", "kim", "letmein", PASSWORD]) + "\n")
    good, phone, begun, at_first, runs = Good(server), Registering(server, "127.0.0.90"), time.time(), None, 0
    assert phone.send("kim", phone.authorization("kim", PASSWORD, phone.challenge("kim")))[0] == 200
    for number in itertools.count():
        tool = TOOLS[number % len(TOOLS)]
        # It sends from 127.0.0.1 whatever it is told; what it sends is passed on from elsewhere.
        there = Passing(("127.0.0.1", server.sip_port), f"127.0.{10 + number // 250}.{number % 250 + 1}")
        words = ["-P", str(free_port()), "-p", str(there.port)]
        words += {
            "svmap": ["-m", ["OPTIONS", "INVITE", "REGISTER"][number // 3 % 3]],
            "svwar": ["-d", str(tmp_path / "words"), "-m", ["REGISTER", "INVITE", "OPTIONS"][number // 3 % 3]],
            "svcrack": ["-d", str(tmp_path / "words"), "-u", "kim"],
        }[tool]
        done = subprocess.run([tool, *words, "127.0.0.1"], capture_output=True, text=True, timeout=180, cwd=tmp_path)
        found = done.stdout + done.stderr
        assert PASSWORD not in found and not re.search(r"\|\s*(kim|1001)\s*\|", found), found
        good.probe(2.0)
        runs += 1
        at_first = at_first or memory(server)
        if time.time() - begun > seconds:
            break
    assert phone.challenge("kim"), "a phone is not touched by it"
    grown = memory(server) - at_first
    print(f"{runs} runs in {time.time() - begun:.0f} s, {grown:.1f} MiB more")
    assert grown < 40 and server.process.poll() is None
