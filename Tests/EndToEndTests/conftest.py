"""Real servers, real callees, real sockets on loopback. One folder a server; every process is ended by its pid."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import ssl
import subprocess
import time

import pytest
from mock_realtime import MockRealtime
from ports import free_port
from stalls import Stalls

pytest_plugins = ["must_run", "certificate_files", "sip_wire"]

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRUNKLINE = os.environ.get("TRUNKLINE", str(ROOT / ".build/debug/trunkline"))
KEY = "end-to-end-test-key-0123456789"
# Seconds between two looks at a call that is waited for: each costs a debug build some milliseconds of a core.
POLL = 0.25
# Seconds that a server has to stop when its test is over.
STOP_SECONDS = 1
ENDED = {"completed", "no_answer", "busy", "rejected", "failed", "cancelled"}

ATTEND = "Will you attend the dinner on Friday?"
PARKING = "Do you need a parking space?"
MOVED = "Have you moved to a new address?"
GUESTS = "How many guests will you bring?"


def pytest_configure(config):
    config.addinivalue_line("markers", "may_skip(reason): needs a right that no package gives: skipped under CI too")
    config.addinivalue_line("markers", "alone: judges times that need the machine to itself: run after all others")
    config.addinivalue_line("markers", "early: waits for half a minute: begun before the others")
    config.addinivalue_line("markers", "long: repeats what a quicker test shows, or takes minutes: `make test-long`")
    config.addinivalue_line("markers", "shared: asks only for what is refused, so that tests can share one server")
    config.stalls = Stalls()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Each worker begins with some of the tests that wait longest, so that none of them is waited for at the end.
    pytest-xdist gives each an equal part of the list, in its order."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    early = [item for item in items if item.get_closest_marker("early")]
    others = [item for item in items if not item.get_closest_marker("early")]
    arranged = []
    for worker in range(workers):
        size = (len(items) - len(arranged)) // (workers - worker)
        first = early[worker::workers]
        arranged += first + others[: max(0, size - len(first))]
        del others[: max(0, size - len(first))]
    items[:] = arranged + others


@pytest.fixture
def allowed(pytestconfig):
    """`took < allowed(0.1)`: a tenth of a second, and as long as the machine stood still meanwhile."""
    begun = time.monotonic()
    return lambda seconds: seconds + pytestconfig.stalls.worst(begun)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure says whether the machine stood still while the test ran. The test is not run again."""
    report = yield
    if report.failed:
        worst = item.config.stalls.worst(time.monotonic() - call.duration)
        report.sections.append(("the machine", f"stood still for {worst * 1000:.0f} ms at most"))
    return report


# What most tests can do without: the long first and last sentence of calls that we place (without them a conversation
# takes half of its time), and recognisers for many calls at once, each of which is loaded at the start.
SHORT = {
    "TRUNKLINE_SPEECH_DECODERS": "2",
    "TRUNKLINE_OUTBOUND_AI_GREETING_TEMPLATE": "Hello.",
    "TRUNKLINE_OUTBOUND_AI_CLOSING_TEMPLATE": "Thank you. Goodbye.",
}
# The server's own, for the tests that are about them.
AS_SHIPPED = dict.fromkeys(SHORT)


class Server:
    """`trunkline serve` with its own folder and ports. A setting that is None is not set."""

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
        self.environment = {name: value for name, value in self.environment.items() if value is not None}
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

    def kill(self, number=signal.SIGTERM, seconds=40):
        if self.process and not self.is_killed and (self.process.poll() or 0) < 0:
            raise AssertionError(f"the server died by signal {-self.process.returncode}:\n" + self.log_end())
        self.is_killed = True
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        return self.process.returncode if self.process else None

    def discard(self):
        """Stops it at the end of a test. Calls that the test has left in progress are not brought to their end, for
        which they would have 20 s."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.kill(seconds=STOP_SECONDS)
        return None

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
                "purpose": "the dinner on Friday",
                "caller_display_name": "Riverside Restaurant",
                "questions": list(questions),
                **fields,
            },
        )
        assert status == 202, answer
        return answer["outbound_id"]

    def short_call(self, callee, *arguments, **fields):
        """The id of a call that was hung up when the AI had said something: a recording, a transcript, a result."""
        call_id = self.create(callee.address, *arguments, **fields)
        self.wait_for(call_id, {"connected"})
        deadline = time.time() + 20
        while not self.result(call_id)["transcript"]:
            assert time.time() < deadline, "the AI says nothing"
            time.sleep(POLL)
        assert self.request("POST", f"{call_path(call_id)}/hangup", {})[0] == 202
        assert self.wait_for(call_id)["state"] == "completed"
        return call_id

    def call(self, call_id):
        return self.request("GET", call_path(call_id))[1]

    def result(self, call_id):
        return self.request("GET", f"{call_path(call_id)}/result")[1]

    def wait_for(self, call_id, states=ENDED, seconds=100):
        deadline = time.time() + seconds
        while time.time() < deadline:
            call = self.call(call_id)
            if call["state"] in states:
                return call
            time.sleep(POLL)
        raise AssertionError(f"the call is still {self.call(call_id)['state']}: {self.result(call_id)}")

    def events(self, call_id):
        return [event["event"] for event in self.request("GET", f"{call_path(call_id)}/events")[1]["items"]]


def call_path(call_id):
    """Of a call that we placed or that came in: its id tells."""
    return f"/api/{'inbound' if call_id.startswith('in-') else 'outbound'}/{call_id}"


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
def phone(tmp_path):
    """Starts baresip as a telephone of a user at the server."""
    from phones import Phone

    running = []

    def start(user, server, microphone, **options):
        folder = tmp_path / f"phone{len(running)}"
        running.append(Phone(folder, user, f"127.0.0.1:{server.sip_port}", microphone, **options))
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
        running.append(Server(folder, tls, launcher, **{**SHORT, **environment}).start())
        return running[-1]

    yield start
    for one in running:
        one.discard()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("shared"), **SHORT).start()
    yield running
    running.discard()


@pytest.fixture
def server(request):
    """A server of the test's own; the one that all tests marked `shared` use, for those."""
    is_shared = request.node.get_closest_marker("shared")
    return request.getfixturevalue("shared_server") if is_shared else request.getfixturevalue("make_server")()


# Less for a machine without a graphics card to do; what is shown stays the same.
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-extensions", "--disable-background-networking"]


@pytest.fixture(scope="module")
def chromium_process():
    """Debian's Chromium, started once for the tests of a file that follow each other."""
    from playwright.sync_api import expect, sync_playwright

    # Nine other workers share two cores; a page whose refreshes are slow makes them up to five seconds apart
    # (`mostInterval` in fresh.js).
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        yield started
        started.close()


@pytest.fixture
def browser(chromium_process):
    """A browser without pages; those that a test leaves open are closed."""
    yield chromium_process
    for context in chromium_process.contexts:
        context.close()


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
