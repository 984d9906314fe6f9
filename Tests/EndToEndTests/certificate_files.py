"""Certificates for tests: two CAs, and certificates of one of them for this machine."""

import subprocess

import pytest


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
