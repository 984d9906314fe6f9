"""Trunks: several of them, registration, keep-alive, redirection, session timers, reliable ringing, SRTP; Kamailio in
front."""

import re
import socket
import threading
import time

import pytest
from conftest import ATTEND
from inbound_calls import NUMBER, inbound, wait_for_call
from inbound_calls import Phone as Hand
from operators import FAST, PASSWORD, Desk, add_operator, registered, stereo, wait_until
from phones import seconds_of, tone
from ports import free_port
from sipp_scenarios import OK_TO_LAST, SDP, Sipp, answer, reply

NUMBERED = "01012345678"


def test_the_next_trunk_takes_the_call(make_server, tmp_path):
    """The first says 503, the second is not there, the third rings; what failed is tried last from then on."""
    first = Sipp(tmp_path, reply("503 Service Unavailable") + '  <recv request="ACK"/>\n')
    busy = reply("486 Busy Here") + '  <recv request="ACK"/>\n'
    third = Sipp(tmp_path, busy)
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{first.port}, 127.0.0.1:9;transport=tcp, 127.0.0.1:{third.port}"
    )
    call = server.wait_for(server.create(NUMBERED, [ATTEND]), seconds=60)
    assert call["state"] == "busy" and call["attempt_count"] == 1, call
    assert first.finish() == 0 and third.finish() == 0
    again = Sipp(tmp_path, busy)
    assert again  # a port of its own; no call goes there
    again.process.kill()
    call = server.wait_for(server.create(NUMBERED, [ATTEND]), seconds=60)
    assert call["state"] == "failed", "none of them is there any more"


@pytest.mark.parametrize("follows, allowed", [("false", True), ("true", True), ("true", False)])
def test_redirections_are_followed_only_if_allowed(make_server, tmp_path, follows, allowed):
    """3xx is followed where that is wanted, and only to hosts that we call anyway."""
    target = Sipp(tmp_path, reply("486 Busy Here") + '  <recv request="ACK"/>\n')
    host = f"127.0.0.1:{target.port}" if allowed else "203.0.113.5"
    first = Sipp(
        tmp_path,
        reply("302 Moved Temporarily", extra="X-Nothing: 1").replace(
            "Contact: <sip:127.0.0.1:[local_port]>", f"Contact: <sip:01099998888@{host}>"
        )
        + '  <recv request="ACK"/>\n',
    )
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{first.port}", TRUNKLINE_SIP_FOLLOW_REDIRECTS=follows
    )
    call = server.wait_for(server.create(NUMBERED, [ATTEND]), seconds=30)
    assert call["state"] == ("busy" if follows == "true" and allowed else "failed"), call
    assert first.finish() == 0
    if call["state"] == "busy":
        assert target.finish() == 0
    else:
        target.process.kill()


class Registrar(threading.Thread):
    """A trunk that keeps registrations and answers OPTIONS: by hand, over UDP."""

    def __init__(self, realm="trunk", refusals=0):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port, self.realm, self.refusals, self.requests, self.is_silent = (
            self.socket.getsockname()[1],
            realm,
            refusals,
            [],
            False,
        )
        self.start()

    def run(self):
        while True:
            try:
                data, source = self.socket.recvfrom(65_536)
            except OSError:
                return
            text = data.decode()
            self.requests.append(text)
            if self.is_silent:
                continue
            method = text.split(" ")[0]
            status, extra = "200 OK", ""
            if method == "REGISTER" and "Authorization" not in text:
                status, extra = (
                    "401 Unauthorized",
                    f'WWW-Authenticate: Digest realm="{self.realm}", nonce="n{len(self.requests)}", '
                    f'algorithm=MD5, qop="auth"\r\n',
                )
            elif method == "REGISTER" and self.refusals:
                self.refusals -= 1
                status = "403 Forbidden"
            elif method == "REGISTER":
                contact = re.search(r"^Contact: (<[^>]+>)", text, re.M)[1]
                extra = f"Contact: {contact};expires=60\r\n"
            lines = [line for line in text.split("\r\n") if re.match(r"(Via|From|To|Call-ID|CSeq):", line)]
            lines = [line + ";tag=x" if line.startswith("To:") and "tag=" not in line else line for line in lines]
            self.socket.sendto(
                (
                    "SIP/2.0 " + status + "\r\n" + "\r\n".join(lines) + "\r\n" + extra + "Content-Length: 0\r\n\r\n"
                ).encode(),
                source,
            )

    def of(self, method):
        return [text for text in self.requests if text.startswith(method)]


def trunk(server):
    return server.request("GET", "/api/providers")[1]["trunks"][0]


@pytest.mark.early
def test_we_register_with_a_trunk_and_ask_whether_it_is_there(make_server):
    there = Registrar()
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{there.port}",
        TRUNKLINE_SIP_GATEWAY_USERNAME="alice",
        TRUNKLINE_SIP_GATEWAY_PASSWORD="secret-word",
        TRUNKLINE_SIP_GATEWAY_REGISTER="true",
        TRUNKLINE_SIP_GATEWAY_KEEPALIVE_SECONDS="1",
    )
    wait_until(lambda: trunk(server)["registered"] and trunk(server)["reachable"], what=lambda: str(trunk(server)))
    proof = there.of("REGISTER")[-1]
    assert 'username="alice"' in proof and "secret-word" not in proof and len(there.of("OPTIONS")) >= 1
    there.is_silent = True
    wait_until(lambda: trunk(server)["reachable"] is False, 45, lambda: str(trunk(server)))
    there.is_silent = False
    wait_until(lambda: trunk(server)["reachable"], 10, lambda: str(trunk(server)))
    server.kill()
    wait_until(
        lambda: "expires=0" in there.of("REGISTER")[-1].lower().replace(": ", "="), 5, lambda: there.of("REGISTER")[-1]
    )


def test_challenges_of_a_foreign_realm_are_not_answered(make_server):
    there = Registrar(realm="elsewhere")
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{there.port}",
        TRUNKLINE_SIP_GATEWAY_USERNAME="alice",
        TRUNKLINE_SIP_GATEWAY_PASSWORD="secret-word",
        TRUNKLINE_SIP_GATEWAY_REALM="trunk",
        TRUNKLINE_SIP_GATEWAY_REGISTER="true",
    )
    wait_until(lambda: trunk(server)["registered"] is False, what=lambda: str(trunk(server)))
    assert not any("username" in text for text in there.requests)


def test_a_trunk_authenticates_itself_and_asserts_its_callers(make_server):
    """By password from anywhere; P-Asserted-Identity counts only then. Others are asked for theirs, whatever number
    they try."""
    server = make_server(
        **FAST,
        TRUNKLINE_INBOUND_ACCOUNTS="carrier:a-long-password",
        TRUNKLINE_INBOUND_TRUSTED_SOURCES="192.0.2.1",
        TRUNKLINE_INBOUND_NUMBERS=NUMBER,
    )
    hand = Hand(server)
    body = SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port())
    hand.send("INVITE", "Content-Type: application/sdp\r\n", body)
    refusal = hand.receive()
    assert refusal.startswith("SIP/2.0 401"), refusal
    challenge = dict(
        re.findall(
            r'(\w+)="?([^",\r]+)"?', next(line for line in refusal.splitlines() if line.startswith("WWW-Authenticate"))
        )
    )
    import hashlib

    make = lambda text: hashlib.md5(text.encode()).hexdigest()
    response = make(
        f"{make('carrier:trunkline:a-long-password')}:{challenge['nonce']}:00000001:abc:auth:{make('INVITE:sip:x')}"
    )
    proof = (
        f'Authorization: Digest username="carrier", realm="trunkline", nonce="{challenge["nonce"]}", '
        f'uri="sip:x", response="{response}", algorithm=MD5, qop=auth, nc=00000001, cnonce="abc"\r\n'
    )
    hand.call_id += "-2"
    assert (
        hand.status(
            "INVITE",
            "P-Asserted-Identity: <sip:0317778888@carrier.example>\r\n" + proof + "Content-Type: application/sdp\r\n",
            body,
            sequence=2,
        )
        == 200
    )
    assert wait_until(lambda: inbound(server))[0]["caller_number"] == "031****8888"
    # An unproven caller's P-Asserted-Identity is ignored.
    open_server = make_server(**FAST)
    other = Hand(open_server)
    assert (
        other.status(
            "INVITE", "P-Asserted-Identity: <sip:0317778888@carrier.example>\r\nContent-Type: application/sdp\r\n", body
        )
        == 200
    )
    assert wait_until(lambda: inbound(open_server))[0]["caller_number"] == "010****5432"


def test_ringing_is_acknowledged_where_the_caller_wants_it(make_server):
    """100rel, RFC 3262: our 180 is repeated until PRACK comes."""
    server = make_server(TRUNKLINE_INBOUND_RING_MS="1500")
    hand = Hand(server)
    body = SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port())
    hand.send("INVITE", "Require: 100rel\r\nSupported: 100rel\r\nContent-Type: application/sdp\r\n", body)
    while True:
        ringing = hand.receive(final=False)
        if ringing.startswith("SIP/2.0 180"):
            break
    assert "RSeq:" in ringing and "100rel" in ringing, ringing
    number, to = re.search(r"RSeq: (\d+)", ringing)[1], re.search(r"^To: (.*)\r$", ringing, re.M)[1]
    hand.send("PRACK", f"RAck: {number} 1 INVITE\r\n", sequence=2, to=to)
    statuses = [int(hand.receive().split(" ")[1]) for _ in range(2)]
    assert statuses == [200, 200], "of PRACK, and of INVITE"


def test_a_session_timer_is_kept_by_us(make_server):
    """RFC 4028: the caller asks for 90 s and leaves the refreshing to us; an UPDATE comes before half of it is over."""
    server = make_server(**FAST)
    hand = Hand(server)
    body = SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port())
    hand.send(
        "INVITE",
        "Session-Expires: 90;refresher=uas\r\nMin-SE: 90\r\nSupported: timer\r\nAllow: INVITE, ACK, BYE, UPDATE\r\n"
        "Content-Type: application/sdp\r\n",
        body,
    )
    answer = hand.receive()
    assert (
        answer.startswith("SIP/2.0 200")
        and re.search(r"Session-Expires: 90;\s*refresher=uas", answer)
        and "timer" in answer
    ), answer
    too_short = Hand(server)
    too_short.send("INVITE", "Session-Expires: 30\r\nSupported: timer\r\nContent-Type: application/sdp\r\n", body)
    refusal = too_short.receive()
    assert refusal.startswith("SIP/2.0 422") and "Min-SE: 90" in refusal, refusal


@pytest.mark.parametrize("policy", ["auto", "required"])
def test_encrypted_media_with_baresip(make_server, phone, tmp_path, policy):
    """SRTP by SDES, offered by the phone and by us; recordings of both ends compared."""
    server = make_server(**FAST, TRUNKLINE_SIP_SRTP=policy)
    known = add_operator(server)
    desk = phone(
        "kim",
        server,
        tone(tmp_path / "kim.wav", 500),
        password=PASSWORD,
        extra=";mediaenc=srtp" + ("-mand" if policy == "required" else ""),
    )
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000), extra=";mediaenc=srtp-mand")
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    time.sleep(3)
    caller.command("hangup")
    assert wait_for_call(server)["state"] == "completed"
    both = stereo(server, call_id, tmp_path)
    assert min(seconds_of(both[:, 0], 1000), seconds_of(both[:, 1], 500), seconds_of(caller.heard(), 500)) > 1.5


def test_unencrypted_media_is_refused_if_encryption_is_required(make_server, tmp_path):
    server = make_server(**FAST, TRUNKLINE_SIP_SRTP="required")
    assert Hand(server).invite() == 488
    # We offer SRTP. A callee that answers without it is hung up on: there is no downgrade.
    peer = Sipp(tmp_path, answer(free_port()) + '  <recv request="BYE" timeout="20000"/>\n' + OK_TO_LAST)
    call = server.wait_for(server.create(peer.address, [ATTEND]), seconds=20)
    assert call["state"] == "failed" and "not secured" in call["failure_reason"], call
    assert (
        peer.finish() == 0
        and "RTP/SAVP" in peer.messages
        and "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" in peer.messages
    )


def test_only_one_of_several_forked_answers_is_used(make_server):
    """A proxy that forks may bring two answers (RFC 3261 §13.2.2.4): the first has the call, the second is acknowledged
    and hung up."""
    far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    far.bind(("127.0.0.1", 0))
    far.settimeout(5)
    port = far.getsockname()[1]
    server = make_server()
    call_id = server.create(f"sip:fork@127.0.0.1:{port}", [ATTEND])
    invite, source = far.recvfrom(65_536)
    head = lambda message: "".join(
        line + "\r\n"
        for line in message.decode().split("\r\n\r\n")[0].split("\r\n")
        if re.match(r"(Via|From|Call-ID|CSeq):", line)
    )
    to = re.search(r"^To: (.*)\r$", invite.decode(), re.M)[1]

    def answers(status, tag, body=""):
        kind = "Content-Type: application/sdp\r\n" if body else ""
        far.sendto(
            (
                f"SIP/2.0 {status}\r\n{head(invite)}To: {to};tag={tag}\r\nContact: <sip:{tag}@127.0.0.1:{port}>\r\n"
                f"{kind}"
                f"Content-Length: {len(body)}\r\n\r\n{body}"
            ).encode(),
            source,
        )

    sdp = (
        f"v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio {free_port()} RTP/AVP 0\r\n"
    )
    for tag in ("one", "two"):
        answers("180 Ringing", tag)
    for tag in ("one", "two"):
        answers("200 OK", tag, sdp)
    seen = set()
    deadline = time.time() + 5
    while time.time() < deadline and not {("ACK", "one"), ("ACK", "two"), ("BYE", "two")} <= seen:
        message = far.recv(65_536)
        method, target = message.decode().split(" ")[:2]
        seen.add((method, re.match(r"sip:(\w+)@", target)[1]))
        if method == "BYE":
            far.sendto(
                (
                    "SIP/2.0 200 OK\r\n"
                    f"{head(message)}To: {re.search(r'^To: (.*)', message.decode(), re.M)[1].strip()}\r\n"
                    "Content-Length: 0\r\n\r\n"
                ).encode(),
                source,
            )
    assert {("ACK", "one"), ("ACK", "two"), ("BYE", "two")} <= seen and ("BYE", "one") not in seen, seen
    server.wait_for(call_id, {"connected"})


@pytest.mark.parametrize("is_reliable", [True, False])
def test_early_media_is_not_negotiated_twice(make_server, is_reliable):
    """SDP in a 183, acknowledged by PRACK where the far end wants it; the 200 has no body (RFC 6337 section 3.1.1)."""
    server = make_server()
    far = Desk(server)
    call_id = server.create(f"sip:early@127.0.0.1:{far.port}", [ATTEND])
    invite = far.request("INVITE")
    far.reply(
        invite,
        "183 Session Progress",
        ("Require: 100rel\r\nRSeq: 7\r\n" if is_reliable else "") + "Content-Type: application/sdp\r\n",
        far.body,
        f";tag={far.tag}",
    )
    if is_reliable:
        prack = far.request("PRACK")
        assert re.search(r"^RAck: *7 \d+ INVITE\r?$", prack, re.M), prack
        far.reply(prack)
    server.wait_for(call_id, {"ringing"})
    far.reply(invite, tag=f";tag={far.tag}")
    far.request("ACK")
    server.wait_for(call_id, {"connected"})
    time.sleep(1)
    assert far.packets() > 30
