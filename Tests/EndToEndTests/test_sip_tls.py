"""TLS for SIP as server and as client: versions, and certificates that prove nothing."""

import contextlib
import socket
import ssl
import threading
import time
import warnings

import pytest
from ports import free_port
from sip_wire import request, statuses


def with_tls(make_server, certificates, name="one", **more):
    port = free_port()
    server = make_server(
        tls=str(certificates / "ca.pem"),
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / f"{name}.pem"),
        TRUNKLINE_TLS_KEY=str(certificates / f"{name}.key"),
        TRUNKLINE_TLS_CA_FILE=str(certificates / "ca.pem"),
        TRUNKLINE_SIP_TLS_PORT=str(port),
        **more,
    )
    server.sip_tls_port = port
    return server


def speak(server, lowest, highest):
    """The version agreed on; None: refused."""
    context = ssl.create_default_context(cafile=None)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = lowest, highest
    with socket.create_connection(("127.0.0.1", server.sip_tls_port), timeout=5) as stream:
        try:
            with context.wrap_socket(stream) as encrypted:
                encrypted.sendall(request(1, transport="TLS"))
                assert statuses(encrypted, 1)[0] == [200]
                return encrypted.version()
        except (ssl.SSLError, ConnectionError):
            return None


def test_tls_versions_below_1_2_are_refused(make_server, certificates):
    server = with_tls(make_server, certificates)
    version = ssl.TLSVersion
    assert speak(server, version.TLSv1, version.TLSv1) is None
    assert speak(server, version.TLSv1_1, version.TLSv1_1) is None
    assert speak(server, version.TLSv1_2, version.TLSv1_2) == "TLSv1.2"
    assert speak(server, version.TLSv1_3, version.TLSv1_3) == "TLSv1.3"
    assert speak(server, version.TLSv1, version.TLSv1_3) == "TLSv1.3"


class Trunk(threading.Thread):
    """A server of SIP over TLS that writes down what it hears."""

    def __init__(self, certificates, name, lowest=ssl.TLSVersion.TLSv1_2, highest=ssl.TLSVersion.TLSv1_3):
        super().__init__(daemon=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.context.minimum_version, self.context.maximum_version = lowest, highest
        self.context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard = b""
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                stream, _ = self.listener.accept()
                with contextlib.suppress(OSError, ssl.SSLError):
                    encrypted = self.context.wrap_socket(stream, server_side=True)
                    data = encrypted.recv(65_536)
                    self.heard += data
                    lines = [
                        line
                        for line in data.decode().split("\r\n")
                        if line.split(":")[0] in ("Via", "From", "To", "Call-ID", "CSeq")
                    ]
                    encrypted.sendall(
                        ("\r\n".join(["SIP/2.0 486 Busy Here", *lines, "Content-Length: 0"]) + "\r\n\r\n").encode()
                    )
                    time.sleep(1)


@pytest.mark.parametrize("name", ["one", "expired", "self", "wrong", "foreign", "tls1.1"])
def test_servers_without_a_valid_certificate_are_refused(make_server, bad, name):
    """A call to one fails at once, with a reason, and it has heard nothing: no number, no password."""
    old = name == "tls1.1"
    trunk = Trunk(bad, "one" if old else name, *([ssl.TLSVersion.TLSv1_1] * 2 if old else []))
    server = with_tls(
        make_server,
        bad,
        "two",
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{trunk.port};transport=tls",
        TRUNKLINE_SIP_SRTP="off",
    )
    begun = time.time()
    call_id = server.create("0255501234")
    call = server.wait_for(call_id, seconds=60)
    took = time.time() - begun
    if name == "one":
        assert b"INVITE" in trunk.heard and call["state"] == "busy", call
    else:
        assert trunk.heard == b"" and call["state"] == "failed", (call, trunk.heard)
        assert took < 8, f"it took {took:.0f} s"
    trunk.listener.close()
