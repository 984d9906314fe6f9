"""What a soak run does to its servers: calls of every kind, and every fault that is cheap to cause. Each kind is a
function that is called again and again on a thread of its own; it counts its failures and goes on."""

import base64
import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from carrier import Carrier
from conftest import ATTEND, GUESTS, KEY, Callee
from inbound_calls import Phone
from soak_peers import BEARER, SIP, InboundCall, RawSocket, mutated
from websockets.sync.client import connect


class Load:
    """Kinds of load for the servers `embedded`, `realtime` and `cascade`; `pace` 2 does everything twice as often."""

    def __init__(self, folder, servers, models, pace=1.0, seed=1):
        self.folder, self.servers, self.models, self.pace = folder, servers, models, pace
        self.stopping, self.chance = threading.Event(), random.Random(seed)
        self.done, self.failed, self.last_failure = {}, {}, {}
        self.callees, self.threads, self.lock = {}, [], threading.Lock()

    # Running

    def fill(self):
        """Fills the servers' caches, which are bounded but fill slowly in use: SQLite's pages (2 MiB a connection) by
        calls that are cancelled before they begin, the SIP trace (32 MiB) by requests that are refused."""
        for server in self.servers.values():
            later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
            with ThreadPoolExecutor(8) as several:
                calls = list(
                    several.map(
                        lambda _: server.create("sip:nobody@127.0.0.1:9", [ATTEND], scheduled_at=later),
                        range(FILL_CALLS),
                    )
                )  # noqa: B023
                # noqa: B023
                list(several.map(lambda call: server.request("POST", f"/api/outbound/{call}/cancel", {}), calls))
                for _ in range(4):
                    # noqa: B023
                    list(several.map(lambda call: server.request("GET", f"/api/outbound/{call}/events"), calls))
            for _ in range(FILL_DIALOGS):
                phone = Phone(server)
                branch = phone.send("MESSAGE", FILL_HEADERS)
                # Sent again it is traced again, and costs sofia no further transaction: its memory stays as small as it
                # was.
                phone.socket.settimeout(FILL_TIMER)
                for _ in range(FILL_REPEATS):
                    # What is above the rate of strangers is dropped: it is sent again, as UDP clients do.
                    with contextlib.suppress(TimeoutError):
                        phone.receive()
                    phone.send("MESSAGE", FILL_HEADERS, branch=branch)
                phone.socket.close()

    def start(self):
        kinds = [  # seconds between two of a kind, on average
            (self.talk, 25),
            (self.short_calls, 30),
            (self.busy_queue, 300),
            (self.killed_callee, 240),
            (self.inbound_lossy, 45),
            (self.inbound_vanishes, 120),
            (self.stream, 25),
            (self.stream_is_cut, 50),
            (self.slow_stream, 150),
            (self.cascade_call, 25),
            (self.speech_faults, 60),
            (self.event_socket, 40),
            (self.slow_event_socket, 120),
            (self.listener, 60),
            (self.api, 5),
            (self.wrong_key, 20),
            (self.half_open, 60),
            (self.garbage_sip, 10),
            (self.garbage_http, 10),
            (self.garbage_rtp, 15),
        ]
        for number, (kind, seconds) in enumerate(kinds):
            self.threads.append(
                threading.Thread(
                    target=self.repeat, args=(kind, seconds / self.pace, random.Random(number)), daemon=True
                )
            )
            self.threads[-1].start()

    def repeat(self, kind, seconds, chance):
        name = kind.__name__
        while not self.stopping.wait(min(chance.expovariate(1 / seconds), 4 * seconds)):
            try:
                kind(chance)
                self.done[name] = self.done.get(name, 0) + 1
            except Exception as error:
                if self.stopping.is_set():
                    return
                self.failed[name] = self.failed.get(name, 0) + 1
                self.last_failure[name] = repr(error)[:200]

    def stop(self):
        """No more of anything; calls that are on the line may end."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
        with self.lock:
            for callee in self.callees.values():
                callee.stop()

    def callee(self, persona):
        """One process for each persona, for the whole run."""
        with self.lock:
            one = self.callees.get(persona)
            if one is None or one.process.poll() is not None:
                one = self.callees[persona] = Callee(self.folder, persona)
            # No test here reads its log from the beginning.
            if os.path.getsize(one.path) > 4 << 20:
                os.truncate(one.path, 0)
            return one

    def wait(self, seconds):
        return self.stopping.wait(seconds)

    # Outbound

    def talk(self, chance):
        """A whole conversation with the embedded engines."""
        server = self.servers["embedded"]
        persona = chance.choice(["cooperative", "keypad", "hangs-up", "interrupts", "voicemail"])
        call = server.create(self.callee(persona).address, [ATTEND, GUESTS][: chance.randrange(1, 3)])
        self.until_ended(server, call, 90)

    def short_calls(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        persona = chance.choice(["rejects", "no-answer", "load"])
        call = server.create(
            self.callee(persona).address if chance.random() < 0.8 else "sip:nobody@127.0.0.1:9", [ATTEND]
        )
        self.wait(chance.uniform(0.2, 6))
        server.request("POST", f"/api/outbound/{call}/cancel", {})

    def busy_queue(self, chance):
        """More than can be held at once; some are taken back while they wait."""
        server = self.servers["embedded"]
        calls = [server.create(self.callee("rejects").address, [ATTEND]) for _ in range(30)]
        for call in chance.sample(calls, 8):
            server.request("POST", f"/api/outbound/{call}/cancel", {})

    def killed_callee(self, chance):
        server, callee = self.servers["embedded"], Callee(self.folder, "silent")
        server.create(callee.address, [ATTEND])
        self.wait(chance.uniform(1, 8))
        callee.process.send_signal(signal.SIGKILL)
        callee.process.wait()
        callee.path.unlink()

    def cascade_call(self, chance):
        """Recogniser, language model and voice by services (mocks) that fail now and then."""
        server = self.servers["cascade"]
        with self.models["speech"].lock:
            self.models["speech"].heard[:] = ["Yes, I will."] * 4
        self.until_ended(server, server.create(self.callee("load").address, [ATTEND]), 60)

    def until_ended(self, server, call, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.wait(0.5):
            if server.call(call)["state"] not in ("queued", "dialing", "ringing", "connected", "scheduled", "retrying"):
                return
        server.request("POST", f"/api/outbound/{call}/cancel", {})

    # Inbound

    def inbound_lossy(self, chance):
        """Over a network that loses, delays and doubles."""
        server = self.servers["embedded"]
        with contextlib.closing(InboundCall(server)) as call:
            call.talk(chance, seconds=chance.uniform(3, 10), loss=0.1, stop=self.stopping)
            call.bye()

    def inbound_vanishes(self, chance):
        """The caller's phone is switched off in the middle: neither RTP nor BYE comes any more."""
        with contextlib.closing(InboundCall(self.servers["embedded"])) as call:
            call.talk(chance, seconds=chance.uniform(0.5, 3), loss=0, stop=self.stopping)

    # Streams

    def a_stream(self):
        server = self.servers["realtime"]
        return Carrier(
            f"ws://127.0.0.1:{server.http_port}/media/twilio",
            call_sid=f"CA{random.getrandbits(64):x}",
            stream_sid=f"MZ{random.getrandbits(64):x}",
        )

    def stream(self, chance):
        carrier = self.a_stream()
        try:
            deadline = time.monotonic() + chance.uniform(4, 15)
            while carrier.open and time.monotonic() < deadline and not self.wait(1):
                if chance.random() < 0.3:
                    carrier.say(500)
                if chance.random() < 0.1:
                    carrier.press("1")
        finally:
            carrier.hang_up()

    def stream_is_cut(self, chance):
        """The carrier is gone without a word; what it sent before made no sense."""
        carrier = self.a_stream()
        self.wait(chance.uniform(0.3, 3))
        with contextlib.suppress(Exception):
            carrier.socket.send(
                chance.choice(
                    [
                        "{",
                        "[]",
                        '{"event":"media"}',
                        '{"event":"media","streamSid":"MZ","media":{"payload":"!"}}',
                        "x" * 60_000,
                    ]
                )
            )
        carrier.open = False
        with contextlib.suppress(OSError):
            carrier.socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            carrier.socket.socket.close()

    def slow_stream(self, chance):
        """Takes nothing of what it is sent for a while."""
        server = self.servers["realtime"]
        with contextlib.closing(RawSocket(server, "/media/twilio")) as raw:
            sid = f"MZ{random.getrandbits(64):x}"
            raw.text(
                json.dumps(
                    {
                        "event": "start",
                        "streamSid": sid,
                        "start": {"streamSid": sid, "callSid": "CA1", "mediaFormat": {"encoding": "audio/x-mulaw"}},
                    }
                )
            )
            payload = base64.b64encode(b"\xff" * 160).decode()
            for _ in range(int(chance.uniform(100, 400))):
                raw.text(json.dumps({"event": "media", "streamSid": sid, "media": {"payload": payload}}))
                if self.wait(0.02):
                    break

    # Who looks on

    def event_socket(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        with connect(
            f"ws://127.0.0.1:{server.http_port}/api/events{chance.choice(['', '?after=0'])}", additional_headers=BEARER
        ) as events:
            deadline = time.monotonic() + chance.uniform(2, 20)
            while time.monotonic() < deadline and not self.stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    events.recv(timeout=1)

    def slow_event_socket(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        with contextlib.closing(RawSocket(server, "/api/events?after=0")):
            self.wait(chance.uniform(5, 30))

    def listener(self, chance):
        """Listens in on a call of the embedded server."""
        server = self.servers["embedded"]
        live = [
            call for call in server.request("GET", "/api/outbound/?limit=5")[1]["items"] if call["state"] == "connected"
        ]
        for call in live[:1]:
            address = f"ws://127.0.0.1:{server.http_port}/api/outbound/{call['outbound_id']}/listen"
            with contextlib.suppress(Exception), connect(address, additional_headers=BEARER) as sound:
                deadline = time.monotonic() + 6
                while time.monotonic() < deadline:
                    sound.recv(timeout=2)

    def api(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        items = server.request("GET", "/api/outbound/?limit=20")[1]["items"]
        for path in ("/metrics", "/api/outbound/stats", "/health", "/api/inbound/"):
            server.request("GET", path)
        for call in items[:1]:
            for part in ("", "/result", "/events", "/transcript"):
                server.request("GET", f"/api/outbound/{call['outbound_id']}{part}")
            server.request(
                "GET", f"/api/outbound/{call['outbound_id']}/recording", raw=True, headers={"Range": "bytes=0-9999"}
            )

    # Faults

    def speech_faults(self, chance):
        faults = self.models["speech"].faults
        service = chance.choice(["chat", "deepgram", "cartesia", "speech"])
        faults[service] = chance.choice(
            ["garbage once", "cut once", "stall once"] + ([] if service == "deepgram" else ["500"])
        )
        self.wait(8)
        faults.pop(service, None)
        # The mocks remember everything for their tests.
        for name in ("chats", "summaries", "transcriptions", "speeches", "requests", "listens", "speaks"):
            getattr(self.models["speech"], name).clear()
        for name in ("log", "truncated", "headers"):
            getattr(self.models["realtime"], name).clear()

    def wrong_key(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        assert server.request("GET", "/api/outbound/", key="wrong-key-0123456789abcdef")[0] == 401
        with (
            contextlib.suppress(Exception),
            connect(f"ws://127.0.0.1:{server.http_port}/api/events", additional_headers={"Authorization": "Bearer no"}),
        ):
            pass

    def half_open(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        with contextlib.ExitStack() as stack:
            for port, text in (
                (server.http_port, b"POST /api/outbound/ HTTP/1.1\r\nHost: x\r\nContent-Le"),
                (server.http_port, b""),
                (server.sip_port, b"OPTIONS sip:x SIP/2.0\r\nVia"),
            ):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
                one.sendall(text)
            self.wait(chance.uniform(5, 40))

    def garbage_sip(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            for _ in range(5):
                own.sendto(
                    mutated(chance, SIP.format(port=own.getsockname()[1], id=chance.getrandbits(64)).encode()),
                    ("127.0.0.1", server.sip_port),
                )

    def garbage_http(self, chance):
        server = self.servers[chance.choice(sorted(self.servers))]
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.http_port), timeout=3) as own:
            own.sendall(
                mutated(
                    chance,
                    (
                        "GET /api/outbound/?limit=5 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        f"Authorization: Bearer {KEY}\r\nConnection: close\r\n\r\n"
                    ).encode(),
                )
            )
            own.shutdown(socket.SHUT_WR)
            own.recv(65_536)

    def garbage_rtp(self, chance):
        """At ports where a call may be."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            for port in self.rtp_ports():
                own.sendto(
                    mutated(chance, struct.pack(">BBHII", 0x80, 0, 1, 160, 7) + b"\xff" * 160), ("127.0.0.1", port)
                )

    def rtp_ports(self):
        """UDP ports of the servers, but SIP's."""
        ports = set()
        for server in self.servers.values():
            inodes = set()
            with contextlib.suppress(OSError):
                folder = f"/proc/{server.process.pid}/fd"
                for name in os.listdir(folder):
                    with contextlib.suppress(OSError):
                        inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"{folder}/{name}")))
            for line in open("/proc/net/udp").read().splitlines()[1:]:
                words = line.split()
                port = int(words[1].split(":")[1], 16)
                if words[9] in inodes and port != server.sip_port:
                    ports.add(port)
        return ports


# More than SQLite's caches and the SIP trace hold; a message of a little less than what the trace keeps of one.
FILL_CALLS, FILL_DIALOGS, FILL_REPEATS = 1_500, 500, 16
# Timer E of RFC 3261 §17.1.2.2, seconds.
FILL_TIMER = 0.5
FILL_HEADERS = "".join(f"X-Fill-{number}: {'x' * 64}\r\n" for number in range(45))
