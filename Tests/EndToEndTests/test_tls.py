"""TLS on all sides: certificates that are expired, self-signed or another name's, and versions before 1.2, are refused
with a reason."""

import http.server
import socket
import ssl
import subprocess
import threading
import time

import pytest
from conftest import TRUNKLINE, clean_environment, mocks
from mock_realtime import MockRealtime
from realtime_calls import ended, realtime, stream
from test_webhook_targets import given_up, queued

OLD = [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1]
GOOD = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def versions(context, version):
    """Only this version; OpenSSL itself refuses the old ones unless it is told not to."""
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    return context


BAD = ["expired", "early", "wrong", "self"]


class Service:
    """An https: server that says yes to everything, by a certificate and versions."""

    def __init__(self, certificate, version=None):
        self.asked = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                service.asked.append(self.path)
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_GET

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass

            def finish_request(self, request, address):
                super().finish_request(context.wrap_socket(request, server_side=True), address)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        if version:
            versions(context, version)
        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


service = mocks(Service)


@pytest.mark.parametrize("version", OLD + GOOD, ids=lambda version: version.name)
def test_the_server_accepts_only_tls_1_2_and_1_3(make_server, certificates, version):
    server = make_server(
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / "one.pem"),
        TRUNKLINE_TLS_KEY=str(certificates / "one.key"),
        tls=certificates / "ca.pem",
    )
    client = versions(ssl.create_default_context(cafile=certificates / "ca.pem"), version)
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=10) as plain:
        if version in OLD:
            with pytest.raises((ssl.SSLError, ConnectionError)):
                client.wrap_socket(plain, server_hostname="localhost")
        else:
            with client.wrap_socket(plain, server_hostname="localhost") as secure:
                assert secure.version() == version.name.replace("_", ".")
                secure.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert secure.recv(100).startswith(b"HTTP/1.1 200")
    assert server.request("GET", "/health", key=None)[0] == 200


def llm_check(folder, certificates, port, host="localhost"):
    """What `trunkline providers check` says of a language model there (the curl client)."""
    done = subprocess.run(
        [TRUNKLINE, "providers", "check"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **clean_environment(),
            "TRUNKLINE_TLS_CA_FILE": str(certificates / "ca.pem"),
            "TRUNKLINE_LLM_OPENAI_URL": f"https://{host}:{port}/v1",
            "OPENAI_API_KEY": "sk-of-this-test",
            "TRUNKLINE_LLM_PROVIDERS": "openai",
        },
    )
    return done


@pytest.mark.parametrize("name", BAD)
def test_a_language_model_with_a_bad_certificate_is_refused(tmp_path, bad, service, name):
    target = service(bad / f"{name}.pem")
    done = llm_check(tmp_path, bad, target.port)
    assert done.returncode == 1 and not target.asked and "certificate" in done.stdout.lower(), (
        done.stdout,
        done.stderr,
    )


@pytest.mark.parametrize("version", OLD + GOOD, ids=lambda version: version.name)
def test_a_language_model_needs_tls_1_2(tmp_path, bad, service, version):
    target = service(bad / "one.pem", version)
    done = llm_check(tmp_path, bad, target.port)
    assert bool(target.asked) == (version in GOOD), (done.stdout, done.stderr)
    if version in OLD:
        assert done.returncode == 1 and (
            "version" in done.stdout.lower() or "tls" in done.stdout.lower() or "ssl" in done.stdout.lower()
        ), done.stdout


@pytest.mark.parametrize("name", BAD)
def test_a_webhook_to_a_bad_certificate_is_not_sent(make_server, bad, service, name):
    target = service(bad / f"{name}.pem")
    server = make_server(
        TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE="0",
        TRUNKLINE_WEBHOOKS_ALLOW_PRIVATE="true",
        TRUNKLINE_TLS_CA_FILE=str(bad / "ca.pem"),
    )
    assert queued(server, f"https://localhost:{target.port}/hook")[0] == 202
    found = given_up(server)
    assert not target.asked and found["last_status"] is None and "certificate" in found["last_error"].lower(), found


@pytest.mark.parametrize("version", OLD + GOOD, ids=lambda version: version.name)
def test_a_webhook_needs_tls_1_2(make_server, bad, service, version):
    target = service(bad / "one.pem", version)
    server = make_server(
        TRUNKLINE_WEBHOOKS_RETRY_SCHEDULE="0",
        TRUNKLINE_WEBHOOKS_ALLOW_PRIVATE="true",
        TRUNKLINE_TLS_CA_FILE=str(bad / "ca.pem"),
    )
    assert queued(server, f"https://localhost:{target.port}/hook")[0] == 202
    if version in OLD:
        found = given_up(server)
        assert not target.asked and found["last_status"] is None and found["last_error"], found
    else:
        deadline = time.time() + 20
        while not target.asked:
            assert time.time() < deadline
            time.sleep(0.05)


speech_model = mocks(MockRealtime)


@pytest.mark.parametrize("name", BAD)
def test_a_speech_model_with_a_bad_certificate_is_refused(make_server, speech_model, bad, name):
    """The WebSocket client: nothing is said to it, the call ends and the log says why."""
    mock = speech_model(tls=(bad / f"{name}.pem", bad / f"{name}.key"))
    server = make_server(**realtime(mock, TRUNKLINE_TLS_CA_FILE=str(bad / "ca.pem")))
    stream(server)
    call = server.call(ended(server, seconds=20))
    assert call["end_reason"] == "provider_error" and mock.sessions == 0, call
    reason = call["failure_reason"].lower()
    assert "certificate" in reason or "tls" in reason or "hostname" in reason, (reason, server.log_end())


@pytest.mark.parametrize("version", OLD + GOOD, ids=lambda version: version.name)
def test_a_speech_model_needs_tls_1_2(make_server, speech_model, bad, version):
    # The versions are set before the first connection.
    mock = speech_model([{"text": "Good morning.", "ms": 300}] * 3, tls=(bad / "one.pem", bad / "one.key"))
    versions(mock.tls, version)
    server = make_server(**realtime(mock, TRUNKLINE_TLS_CA_FILE=str(bad / "ca.pem")))
    carrier = stream(server)
    if version in OLD:
        assert server.call(ended(server, seconds=20))["end_reason"] == "provider_error" and mock.sessions == 0
    else:
        carrier.wait(lambda: carrier.played_ms() >= 200, what="the greeting")
        carrier.hang_up()
