"""Real servers, real callees, real sockets on loopback. One folder a server; every process is ended by its pid."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
import warnings

import pytest
from _pytest.runner import runtestprotocol
from mock_realtime import MockRealtime
from must_run import pytest_runtest_makereport  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRUNKLINE = os.environ.get("TRUNKLINE", str(ROOT / ".build/debug/trunkline"))
KEY = "end-to-end-test-key-0123456789"
ENDED = {"completed", "no_answer", "busy", "rejected", "failed", "cancelled"}

ATTEND = "Will you attend the dinner on Friday?"
PARKING = "Do you need a parking space?"
MOVED = "Have you moved to a new address?"
GUESTS = "How many guests will you bring?"


def pytest_configure(config):
    config.addinivalue_line("markers", "may_skip(reason): needs a right that no package gives: skipped under CI too")
    config.addinivalue_line("markers", "long: takes minutes or hours; not part of `make test`")
    config.addinivalue_line("markers", "alone: measures tens of milliseconds; nothing else may run beside it")


class Stalls:
    """Whether this machine kept a thread that only wanted to sleep waiting for long: others share it."""

    LIMIT = 0.03

    def __enter__(self):
        self.worst, self.running = 0, True
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        while self.running:
            due = time.monotonic() + 0.005
            time.sleep(0.005)
            self.worst = max(self.worst, time.monotonic() - due)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Calls are held in real time. A test that failed while the machine stood still says nothing: then, and only then, it is tried again."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    # What measures tens of milliseconds needs a longer quiet moment.
    for left in reversed(range(6 if item.get_closest_marker("alone") else 3)):
        with Stalls() as stalls:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = any(report.failed for report in reports)
        if left == 0 or not failed or stalls.worst < Stalls.LIMIT:
            break
        reason = next((report.longreprtext.splitlines() or ["?"])[-1] for report in reports if report.failed)
        again = UserWarning(f"the machine stood still for {stalls.worst * 1000:.0f} ms: tried again after {reason}")
        item.ihook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": warnings.WarningMessage(again, UserWarning, str(item.path), item.location[1] or 0),
                "when": "runtest",
                "nodeid": item.nodeid,
                "location": None,
            }
        )
        item._initrequest()
        time.sleep(3)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


# Ports that the kernel gives nobody by itself (it gives 32768 and above), in blocks; RTP's lie below.
FIRST_PORT, BLOCK, BLOCKS = 20_500, 1_000, 12
# From one port to the next: baresip, for one, listens behind its own too.
STEP = 4


class Ports:
    """A block of ports that only this process takes ports from, whatever runs beside it; each is given again only after all others."""

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
    """A port that is free for TCP and UDP, and that no test beside this one is given; with a count the first of so many, even."""
    global ports
    ports = ports or Ports()
    return ports.next(count)


class Server:
    """`trunkline serve` with its own folder and ports."""

    def __init__(self, folder, tls=None, launcher=(), **environment):
        self.launcher = list(launcher)
        self.tls = tls if isinstance(tls, ssl.SSLContext) else tls and ssl.create_default_context(cafile=tls)
        self.folder = pathlib.Path(folder)
        self.http_port = free_port()
        self.sip_port = free_port()
        self.environment = {
            "TRUNKLINE_API_KEY": KEY,
            "TRUNKLINE_DATA": str(self.folder / "data"),
            "TRUNKLINE_OUTBOUND_RETRY_ENABLED": "false",
            "TRUNKLINE_SECURITY_RATE_LIMIT_PER_SECOND": "1000",
            "TRUNKLINE_SECURITY_RATE_LIMIT_BURST": "1000",
            "TRUNKLINE_OUTBOUND_DUPLICATE_WINDOW": "0",
            "TRUNKLINE_OUTBOUND_RESULT_SUMMARY_MODEL": "template",
            "TRUNKLINE_SIP_GATEWAY_KEEPALIVE_SECONDS": "0",
            "TRUNKLINE_HTTP_WEB_ROOT": str(ROOT / "web"),
            **environment,
        }
        self.process = None
        self.is_killed = False

    def start(self):
        self.log = open(self.folder / "server.log", "ab")
        self.is_killed = False
        self.process = subprocess.Popen(
            [*self.launcher, TRUNKLINE, "serve", "--http-port", str(self.http_port), "--sip-port", str(self.sip_port)],
            cwd=self.folder,
            env={**clean_environment(), "SWIFT_BACKTRACE": "enable=yes,color=no", **self.environment},
            stdout=self.log,
            stderr=self.log,
        )
        deadline = time.time() + 30
        while time.time() < deadline:
            if self.process.poll() is not None:
                log = (self.folder / "server.log").read_text()
                raise RuntimeError("the server ended: " + log)
            with contextlib.suppress(OSError):
                if self.request("GET", "/ready", key=None)[0] == 200:
                    return self
            time.sleep(0.05)
        raise RuntimeError("the server did not become ready")

    def kill(self, number=signal.SIGTERM):
        if self.process and not self.is_killed and (self.process.poll() or 0) < 0:
            raise AssertionError(f"the server died by signal {-self.process.returncode}:\n" + self.log_end())
        self.is_killed = True
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        return self.process.returncode if self.process else None

    def log_end(self, size=6_000):
        return (self.folder / "server.log").read_text(errors="replace")[-size:]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http_port}"

    def request(self, method, path, body=None, key=KEY, headers=None, raw=False):
        connection = (
            http.client.HTTPSConnection("localhost", self.http_port, timeout=10, context=self.tls)
            if self.tls
            else http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=10)
        )
        headers = dict(headers or {})
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = None
        if body is not None:
            data = body if isinstance(body, (bytes, str)) else json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            content = response.read()
        except ConnectionError as error:
            code = self.process and self.process.poll()
            error.add_note(
                f"the server {'lives' if code is None else f'ended with {code}'}; the end of its log:\n{self.log_end()}"
            )
            raise
        self.last_headers = {name.lower(): value for name, value in response.getheaders()}
        connection.close()
        if raw:
            return response.status, content
        try:
            return response.status, json.loads(content)
        except ValueError:
            return response.status, content.decode(errors="replace")

    def create(self, callee, questions=(ATTEND, GUESTS), **fields):
        status, answer = self.request(
            "POST",
            "/api/outbound/",
            {
                "caller_number": "025550100",
                "callee_number": callee,
                "purpose": "to prepare the company dinner on Friday",
                "caller_display_name": "Riverside Restaurant",
                "questions": list(questions),
                **fields,
            },
        )
        assert status == 202, answer
        return answer["outbound_id"]

    def call(self, call_id):
        return self.request("GET", f"/api/outbound/{call_id}")[1]

    def result(self, call_id):
        return self.request("GET", f"/api/outbound/{call_id}/result")[1]

    def wait_for(self, call_id, states=ENDED, seconds=100):
        deadline = time.time() + seconds
        while time.time() < deadline:
            call = self.call(call_id)
            if call["state"] in states:
                return call
            time.sleep(0.1)
        raise AssertionError(f"the call is still {self.call(call_id)['state']}: {self.result(call_id)}")

    def events(self, call_id):
        return [event["event"] for event in self.request("GET", f"/api/outbound/{call_id}/events")[1]["items"]]


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("TRUNKLINE")}


class Callee:
    """`trunkline callee` in a process of its own; its events are read from its log."""

    def __init__(self, folder, persona):
        self.port = free_port()
        self.path = pathlib.Path(folder) / f"callee-{persona}-{self.port}.log"
        self.log = open(self.path, "wb")
        self.process = subprocess.Popen(
            [
                TRUNKLINE,
                "callee",
                "--persona",
                persona,
                "--port",
                str(self.port),
                "--rtp-port",
                str(random.randrange(30_000, 60_000, 2_000)),
            ],
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=clean_environment(),
        )
        deadline = time.time() + 20
        while not any(event["event"] == "ready" for event in self.events()):
            assert self.process.poll() is None and time.time() < deadline, self.path.read_text()
            time.sleep(0.05)

    @property
    def address(self):
        return f"sip:callee@127.0.0.1:{self.port}"

    def events(self):
        lines = []
        for line in self.path.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                lines.append(json.loads(line))
        return lines

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=20)


@pytest.fixture
def callee(tmp_path):
    running = []

    def start(persona):
        running.append(Callee(tmp_path, persona))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def make_server(tmp_path):
    running = []

    def start(tls=None, launcher=(), **environment):
        folder = tmp_path / f"server{len(running)}"
        folder.mkdir()
        running.append(Server(folder, tls, launcher, **environment).start())
        return running[-1]

    yield start
    for one in running:
        one.kill()


@pytest.fixture
def server(make_server):
    return make_server()


def mocks(kind):
    """A fixture that starts any number of mocks of a kind and stops them all."""

    @pytest.fixture
    def fixture():
        running = []

        def start(*arguments, **options):
            running.append(kind(*arguments, **options))
            return running[-1]

        yield start
        for one in running:
            one.stop()

    return fixture


model = mocks(MockRealtime)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A CA, and certificates of it for this machine; `other` is a CA that signed none of them."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    for name in ("ca", "other"):
        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.pem",
            "-days",
            "2",
            "-subj",
            f"/CN={name} of the test",
        )
    # sofia-sip looks for an address among the names.
    (folder / "names").write_text("subjectAltName=DNS:localhost,DNS:127.0.0.1,IP:127.0.0.1\n")
    for name in ("one", "two"):
        openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
            "-subj",
            f"/CN={name}",
        )
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            f"{name}.pem",
        )
    return folder
