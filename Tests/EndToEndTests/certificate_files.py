"""Certificates for tests, each as `NAME.pem` with its key `NAME.key`: two CAs, good certificates and bad ones."""

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

HERE = ["localhost", "127.0.0.1"]


def issue(folder, name, by=None, names=HERE, days=(-1, 2)):
    """Writes a certificate and its key. `by` is the issuer's name, None for a certificate that signs itself; `days` are
    the begin and the end of its validity, from now."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    issuer_key, subject = key, x509.Name.from_rfc4514_string(f"CN={name}")
    issuer = subject
    if by:
        issuer = x509.load_pem_x509_certificate((folder / f"{by}.pem").read_bytes()).subject
        issuer_key = serialization.load_pem_private_key((folder / f"{by}.key").read_bytes(), None)
    begin, end = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=day) for day in days)
    extensions = [
        x509.BasicConstraints(ca=not by, path_length=None),
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
    ]
    if names:
        # sofia-sip looks for an address among the host names.
        alternatives = [x509.DNSName(one) for one in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(one)) for one in names if one[0].isdigit()]
        extensions.append(x509.SubjectAlternativeName(alternatives))
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), begin, end)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    pem = serialization.Encoding.PEM
    (folder / f"{name}.pem").write_bytes(builder.sign(issuer_key, hashes.SHA256()).public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / f"{name}.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A CA, and certificates of it for this machine; `other` is a CA that signed none of them."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("ca", "other"):
        issue(folder, name, names=[])
    for name in ("one", "two"):
        issue(folder, name, by="ca")
    return folder


@pytest.fixture(scope="module")
def bad(certificates):
    """Beside those: certificates that must be refused."""
    issue(certificates, "expired", by="ca", days=(-3, -1))
    issue(certificates, "early", by="ca", days=(1, 3))
    issue(certificates, "wrong", by="ca", names=["elsewhere.example.com", "192.0.2.1"])
    issue(certificates, "foreign", by="other")
    issue(certificates, "self")
    return certificates
