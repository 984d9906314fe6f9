"""Our own certificate, of HTTPS and SIP over TLS, where it is bad: what cannot work is refused at the start by the name
of its setting; what careful clients refuse is told by the doctor, and they refuse it while the rest of the server
lives."""

import shutil
import socket
import ssl
import subprocess

import pytest
from conftest import KEY
from ports import free_port
from sip_wire import request, statuses
from test_operations import run
from test_sip_requests import Caller

# The setting that the message names, and how the pair is made of good ones.
UNUSABLE = {
    **dict.fromkeys(
        ("no PEM", "empty", "cut", "a key for a certificate", "DER", "a folder", "missing"), "tls.certificate"
    ),
    **dict.fromkeys(
        ("a key of another certificate", "no PEM as key", "a certificate for a key", "an encrypted key", "missing key"),
        "tls.key",
    ),
}


def unusable(kind, certificates, folder):
    """Certificate and key, of which one cannot be used."""
    certificate, key, made = certificates / "one.pem", certificates / "one.key", folder / "made.pem"
    text = certificate.read_text()
    match kind:
        case "a key of another certificate":
            key = certificates / "two.key"
        case "no PEM" | "no PEM as key":
            made.write_text("This is no PEM.\n")
        case "empty":
            made.write_text("")
        case "cut":
            made.write_text(text[: len(text) // 2])
        case "a key for a certificate":
            shutil.copy(key, made)
        case "a certificate for a key":
            shutil.copy(certificate, made)
        case "DER":
            made.write_bytes(ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN") :]))
        case "a folder":
            made.mkdir()
        case "an encrypted key":
            subprocess.run(
                ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", key, "-out", made],
                check=True,
                capture_output=True,
            )
    if kind in ("no PEM as key", "a certificate for a key", "an encrypted key", "missing key"):
        return certificate, made
    return (certificate if kind == "a key of another certificate" else made), key


def settings(certificate, key):
    return {"TRUNKLINE_TLS_CERTIFICATE": str(certificate), "TRUNKLINE_TLS_KEY": str(key), "TRUNKLINE_API_KEY": KEY}


@pytest.mark.parametrize("sip", [True, False], ids=["https-and-sip", "https"])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_unusable_certificates_are_refused_at_start_up(certificates, tmp_path, kind, sip):
    certificate, key = unusable(kind, certificates, tmp_path)
    more = {"TRUNKLINE_SIP_TLS_PORT": str(free_port())} if sip else {}
    result = run(
        "serve",
        "--http-port",
        str(free_port()),
        "--sip-port",
        str(free_port()),
        cwd=tmp_path,
        seconds=10,
        **settings(certificate, key),
        **more,
    )
    wrong = key if UNUSABLE[kind] == "tls.key" else certificate
    assert result.returncode == 1 and UNUSABLE[kind] in result.stderr and str(wrong) in result.stderr, result.stderr
    assert "port taken" not in result.stderr and "pass phrase" not in result.stderr, result.stderr


@pytest.mark.parametrize("kind", ["expired", "early", "a key of another certificate", "no PEM"])
def test_the_doctor_checks_the_certificate(certificates, bad, tmp_path, kind):
    words = {"expired": "expired", "early": "not valid before"}
    pair = (bad / f"{kind}.pem", bad / f"{kind}.key") if kind in words else unusable(kind, certificates, tmp_path)
    ports = {"TRUNKLINE_HTTP_PORT": str(free_port()), "TRUNKLINE_SIP_PORT": str(free_port())}
    result = run("doctor", cwd=tmp_path, **settings(*pair), **ports)
    told = (result.stdout + result.stderr).splitlines()
    lines = [line for line in told if "tls.certificate" in line or "tls.key" in line]
    assert lines and not lines[0].startswith("good"), told
    assert words.get(kind, "") in lines[0], lines


@pytest.mark.parametrize("name, code", [("expired", 10), ("early", 9), ("wrong", 62), ("self", 18)])
def test_verifying_clients_refuse_a_bad_certificate(make_server, bad, name, code):
    """By the code of OpenSSL (X509_V_ERR_…): two clients, SIP and HTTPS. The careless are answered, as is plain SIP."""
    port, lenient = free_port(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    lenient.check_hostname, lenient.verify_mode = False, ssl.CERT_NONE
    pair = settings(bad / f"{name}.pem", bad / f"{name}.key")
    server = make_server(tls=lenient, **pair, TRUNKLINE_SIP_TLS_PORT=str(port))
    for one in (port, server.http_port):
        trust = ssl.create_default_context(cafile=bad / "ca.pem")
        plain = socket.create_connection(("127.0.0.1", one), timeout=5)
        with plain, pytest.raises(ssl.SSLCertVerificationError) as refused:
            trust.wrap_socket(plain, server_hostname="localhost")
        assert refused.value.verify_code == code, refused.value
        done = subprocess.run(
            [
                "openssl",
                "s_client",
                "-connect",
                f"127.0.0.1:{one}",
                "-servername",
                "localhost",
                "-verify_hostname",
                "localhost",
                "-CAfile",
                bad / "ca.pem",
                "-verify_return_error",
                "-brief",
            ],
            input="",
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert done.returncode != 0 and f"num={code}:" in done.stderr, done.stderr
    with lenient.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=5)) as encrypted:
        encrypted.sendall(request(1, transport="TLS"))
        assert statuses(encrypted, 1)[0] == [200], "who does not look is answered"
    with socket.create_connection(("127.0.0.1", server.sip_port), timeout=5) as stream:
        stream.sendall(request(1))
        assert statuses(stream, 1)[0] == [200]
    caller = Caller(server)
    assert caller.request("OPTIONS") == 200
    caller.close()
    assert server.request("GET", "/health", key=None)[0] == 200 and server.process.poll() is None
