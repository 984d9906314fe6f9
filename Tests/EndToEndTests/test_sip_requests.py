"""SIP requests outside a dialog, and bodies that would make us send audio to an address without a phone."""

import random
import socket
import time

import pytest
from inbound_calls import FAST as INBOUND

OUTSIDE = [
    # Method, headers of its own, status without and with a tag of an unknown dialog.
    ("REFER", "Refer-To: <sip:x@127.0.0.1>\r\n", 603, 481),
    ("REFER", "", 603, 481),
    ("REFER", "Refer-To: <sip:x@127.0.0.1>\r\nRefer-Sub: false\r\n", 603, 481),
    ("REFER", "Refer-To: <sip:x@127.0.0.1>\r\nRefer-To: <sip:y@127.0.0.1>\r\n", None, None),
    ("SUBSCRIBE", "Event: presence\r\nExpires: 60\r\n", 405, 405),
    ("SUBSCRIBE", "Event: refer\r\nExpires: 60\r\n", 405, 405),
    ("SUBSCRIBE", "Expires: 60\r\n", 405, 405),
    ("SUBSCRIBE", "Event: presence\r\nExpires: 0\r\n", 405, 405),
    ("NOTIFY", "Event: refer\r\nSubscription-State: active\r\n", 481, 481),
    ("NOTIFY", "Event: message-summary\r\nSubscription-State: terminated\r\n", 481, 481),
    ("NOTIFY", "", 481, 481),
    ("MESSAGE", "", 405, 405),
    ("PUBLISH", "Event: presence\r\n", 405, 405),
    ("PUBLISH", "", 405, 405),
    ("INFO", "", 481, 481),
    ("UPDATE", "", 481, 481),
    ("PRACK", "RAck: 1 1 INVITE\r\n", 481, 481),
    ("PRACK", "", 481, 481),
    ("BYE", "", 481, 481),
    ("CANCEL", "", 481, 481),
    ("FOO", "", 501, 501),
    ("ACK", "", "silence", "silence"),
]


class Caller:
    """A phone in a few lines: one socket, one call."""

    def __init__(self, server, to="0255501234", source="127.0.0.1"):
        self.server, self.to = server, to
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        self.source, self.port = source, self.socket.getsockname()[1]
        self.tag, self.call_id = f"{random.getrandbits(32):08x}", f"{random.getrandbits(64):016x}"
        self.sequence, self.remote_tag, self.branch, self.heard = 0, "", "", []

    def send(self, method, headers="", body="", contact=None, sequence=None, branch=None):
        if method not in ("ACK", "CANCEL"):
            self.sequence += 1
            self.branch = f"z9hG4bK{random.getrandbits(64):016x}"
        if body:
            headers += "Content-Type: application/sdp\r\n"
        message = (
            f"{method} sip:{self.to}@127.0.0.1 SIP/2.0\r\n"
            f"Via: SIP/2.0/UDP {self.source}:{self.port};branch={branch or self.branch}\r\nMax-Forwards: 70\r\n"
            f"From: <sip:caller@{self.source}>;tag={self.tag}\r\n"
            f"To: <sip:{self.to}@127.0.0.1>{self.remote_tag and ';tag=' + self.remote_tag}\r\n"
            f"Call-ID: {self.call_id}\r\nCSeq: {sequence or self.sequence} {method}\r\n"
            f"Contact: {contact or f'<sip:caller@{self.source}:{self.port}>'}\r\n"
            f"{headers}Content-Length: {len(body)}\r\n\r\n{body}"
        )
        self.socket.sendto(message.encode(), ("127.0.0.1", self.server.sip_port))

    def receive(self, seconds):
        self.socket.settimeout(max(0.01, seconds))
        try:
            return self.socket.recv(65_536).decode()
        except TimeoutError:
            return None

    def request(self, method, headers="", body="", seconds=5, **more):
        """The final status of a request of ours; None: none came."""
        self.send(method, headers, body, **more)
        deadline, sent, sequence = time.time() + seconds, self.sequence, self.sequence
        while time.time() < deadline:
            message = self.receive(deadline - time.time())
            if message is None:
                return None
            if not message.startswith("SIP/2.0 "):
                self.heard.append(message)
                continue
            status = int(message[8:11])
            if status < 200 or f"CSeq: {sent} {method}" not in message:
                continue
            self.answer = message
            if method == "INVITE":
                if status < 300:
                    for line in message.split("\r\n"):
                        if line.lower().startswith("to:") and "tag=" in line:
                            self.remote_tag = line.split("tag=")[1].split(";")[0]
                self.send("ACK", sequence=sequence, branch=None if status < 300 else self.branch)
            return status
        return None

    def close(self):
        self.socket.close()


def sdp(address="127.0.0.1", port=40_000, line="c=IN IP4 {}\r\n", media="", more=""):
    return (
        f"v=0\r\no=a 1 1 IN IP4 127.0.0.1\r\ns=-\r\n{line.format(address)}t=0 0\r\nm=audio {port} RTP/AVP 0 8 101\r\n"
        f"{media}a=rtpmap:101 telephone-event/8000\r\n{more}"
    )


@pytest.mark.parametrize("tag", ["", "abc"])
def test_requests_outside_a_dialog_get_one_answer_and_cause_no_traffic(server, tag):
    """One final answer to each, and no packet to any other address, not even to the Contact: it may be a victim's."""
    victim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    victim.bind(("127.0.0.1", 0))
    victim.settimeout(0.01)
    wrong, callers = [], []
    for method, headers, outside, stray in OUTSIDE:
        caller = Caller(server)
        caller.remote_tag = tag
        if method == "CANCEL":
            caller.sequence, caller.branch = 1, "z9hG4bKnobody"
        status = caller.request(
            method,
            headers,
            seconds=1 if method == "ACK" else 3,
            contact=f"<sip:victim@127.0.0.1:{victim.getsockname()[1]}>",
        )
        wanted = stray if tag else outside
        if wanted == "silence":
            wanted = None
        elif wanted is None:
            wanted = status if status and status >= 400 else "a refusal"
        if status != wanted:
            wrong.append((method, headers, status))
        callers.append(caller)
    assert not wrong, wrong
    time.sleep(2.5)  # a NOTIFY would be repeated by now
    with pytest.raises(TimeoutError):
        assert not victim.recv(65_536)
    for caller in callers:
        again = caller.receive(0.01)
        assert again is None or again.startswith("SIP/2.0"), again
        caller.close()
    victim.close()


def test_a_refer_from_a_caller_is_refused(make_server):
    """Within its dialog: declined, and no subscription is left."""
    server = make_server(**INBOUND)
    caller = Caller(server)
    assert caller.request("INVITE", body=sdp()) == 200
    assert caller.request("REFER", "Refer-To: <sip:1900555@127.0.0.1>\r\n") == 603
    assert caller.request("INFO", "Content-Type: text/plain\r\n") == 200, "what is within a dialog is taken"
    assert caller.request("SUBSCRIBE", "Event: presence\r\nExpires: 60\r\n") == 405
    assert caller.request("NOTIFY", "Event: refer\r\nSubscription-State: active\r\n") == 481
    deadline = time.time() + 2
    while time.time() < deadline:
        message = caller.receive(deadline - time.time())
        assert message is None or not message.startswith("NOTIFY"), message
    assert caller.request("BYE") == 200
    caller.close()


ADDRESSES = [
    ("broadcast", dict(address="255.255.255.255")),
    ("multicast", dict(address="224.0.0.1")),
    ("multicast with a TTL", dict(address="239.1.2.3/127")),
    ("link-local", dict(address="169.254.7.7")),
    ("a metadata service", dict(address="169.254.169.254")),
    ("this network", dict(address="0.1.2.3")),
    ("reserved", dict(address="240.0.0.1")),
    ("no address", dict(line="")),
    ("a name", dict(address="localhost")),
    ("IPv6", dict(line="c=IN IP6 ::1\r\n")),
    ("an empty address", dict(address="")),
    ("no number", dict(address="1.2.3")),
    ("too large a number", dict(address="127.0.0.256")),
    ("octal", dict(address="0177.0.0.1")),
    ("a decimal number", dict(address="2130706433")),
    ("a hexadecimal number", dict(address="0x7f.0.0.1")),
    ("port 0", dict(port=0)),
    ("port 53", dict(port=53)),
    ("port 1023", dict(port=1_023)),
    ("port 65536", dict(port=65_536)),
    ("port -1", dict(port=-1)),
    ("its own line is multicast", dict(media="c=IN IP4 224.0.0.1\r\n")),
    ("its own line is link-local", dict(media="c=IN IP4 169.254.169.254\r\n")),
]


def test_offers_with_impossible_audio_addresses_are_refused(make_server):
    """In an INVITE, in a re-INVITE, in an UPDATE, and in the answer to an offer of ours."""
    server = make_server(**INBOUND, TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="100")
    wrong = []
    for name, where in ADDRESSES:
        caller = Caller(server)
        if (status := caller.request("INVITE", body=sdp(**where))) != 488:
            wrong.append(("INVITE", name, status))
        caller.close()
    caller = Caller(server)
    assert caller.request("INVITE", body=sdp()) == 200
    for name, where in ADDRESSES:
        if (status := caller.request("INVITE", body=sdp(**where))) != 488:
            wrong.append(("re-INVITE", name, status))
        if (status := caller.request("UPDATE", body=sdp(**where))) != 488:
            wrong.append(("UPDATE", name, status))
    # The call has lived through it; hold by 0.0.0.0 (RFC 3264 §8.4), and a good address, are taken.
    assert caller.request("INVITE", body=sdp("0.0.0.0")) == 200
    assert caller.request("INVITE", body=sdp()) == 200
    assert caller.request("UPDATE", body=sdp("0.0.0.0")) == 200 and "m=audio" in caller.answer, (
        "an offer is answered (RFC 3311 §5.2)"
    )
    assert caller.request("UPDATE", body=sdp()) == 200 and "m=audio" in caller.answer
    assert caller.request("UPDATE") == 200 and "m=audio" not in caller.answer
    assert caller.request("BYE") == 200
    caller.close()
    held = Caller(server)
    assert held.request("INVITE", body=sdp("0.0.0.0")) == 200, "a call that begins on hold (RFC 3725)"
    assert held.request("BYE") == 200
    held.close()
    assert not wrong, wrong


def test_an_answer_with_an_impossible_audio_address_ends_the_call(server):
    for address in ("224.0.0.1", "169.254.169.254", "255.255.255.255"):
        callee = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        callee.bind(("127.0.0.1", 0))
        callee.settimeout(10)
        call_id = server.create(f"sip:callee@127.0.0.1:{callee.getsockname()[1]}")
        heard = []
        body = sdp(address)
        while "BYE" not in heard and len(heard) < 20:
            data, source = callee.recvfrom(65_536)
            text = data.decode()
            heard.append(text.split(" ")[0])
            if heard[-1] in ("INVITE", "BYE"):
                lines = [
                    line for line in text.split("\r\n") if line.split(":")[0] in ("Via", "From", "Call-ID", "CSeq")
                ]
                to = next(line for line in text.split("\r\n") if line.startswith("To:"))
                to += "" if "tag=" in to else ";tag=callee"
                own = body if heard[-1] == "INVITE" else ""
                callee.sendto(
                    (
                        "\r\n".join(
                            [
                                "SIP/2.0 200 OK",
                                *lines,
                                to,
                                f"Contact: <sip:callee@127.0.0.1:{callee.getsockname()[1]}>",
                                *(["Content-Type: application/sdp"] if own else []),
                                f"Content-Length: {len(own)}",
                            ]
                        )
                        + "\r\n\r\n"
                        + own
                    ).encode(),
                    source,
                )
        assert heard[-1] == "BYE" and "ACK" in heard, heard
        assert server.wait_for(call_id, seconds=20)["state"] == "failed"
        callee.close()
