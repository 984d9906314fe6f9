"""libsrtp2 by ctypes: encrypts and decrypts RTP and RTCP."""

import ctypes
import os
import threading

SUITES = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"]
# Key and salt of a suite, bytes (RFC 4568 §6.2); what libsrtp may add to a packet.
KEY_BYTES, TRAILER = 30, 144


class _Ssrc(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("value", ctypes.c_uint32)]


class _Crypto(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("cipher", "key", "authentication", "key2", "tag", "services")]


class _Policy(ctypes.Structure):
    """srtp_policy_t of libsrtp 2."""

    _fields_ = [
        ("ssrc", _Ssrc),
        ("rtp", _Crypto),
        ("rtcp", _Crypto),
        ("key", ctypes.c_char_p),
        ("keys", ctypes.c_void_p),
        ("count", ctypes.c_ulong),
        ("ekt", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("repeat", ctypes.c_int),
        ("extensions", ctypes.c_void_p),
        ("extension_count", ctypes.c_int),
        ("next", ctypes.c_void_p),
    ]


_library = None


def library():
    global _library
    if _library is None:
        _library = ctypes.CDLL("libsrtp2.so.1")
        assert _library.srtp_init() == 0
    return _library


class Encrypt:
    """One direction of one key. `protect` and `unprotect` take bytes and give bytes; None: it did not open."""

    def __init__(self, key, suite=SUITES[0], opens=False):
        self.lock, self.session = threading.Lock(), ctypes.c_void_p()
        policy = _Policy()
        short = suite.endswith("_32")
        name = "aes_cm_128_hmac_sha1_32" if short else "rtp_default"
        getattr(library(), f"srtp_crypto_policy_set_{name}")(ctypes.byref(policy.rtp))
        library().srtp_crypto_policy_set_rtp_default(ctypes.byref(policy.rtcp))
        policy.ssrc.type, policy.key, policy.window, policy.repeat = 2 if opens else 3, key, 128, 1
        assert library().srtp_create(ctypes.byref(self.session), ctypes.byref(policy)) == 0

    def _run(self, name, packet):
        buffer = ctypes.create_string_buffer(packet, len(packet) + TRAILER)
        length = ctypes.c_int(len(packet))
        with self.lock:
            status = getattr(library(), name)(self.session, buffer, ctypes.byref(length))
        return buffer.raw[: length.value] if status == 0 else None

    def protect(self, packet):
        return self._run("srtp_protect", packet)

    def unprotect(self, packet):
        return self._run("srtp_unprotect", packet)

    def protect_control(self, packet):
        return self._run("srtp_protect_rtcp", packet)

    def unprotect_control(self, packet):
        return self._run("srtp_unprotect_rtcp", packet)


def stranger():
    """Encryption with a random key, as used by an attacker without the key of the call."""
    return Encrypt(os.urandom(KEY_BYTES))
