"""Trunks: several of them, registration, keep-alive, redirection, session timers, reliable ringing, SRTP; Kamailio in front."""

import pathlib
import random
import re
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import ATTEND, ROOT, free_port
from phones import seconds_of, silence, speech, tone
from test_inbound import NUMBER, Phone as Hand, inbound, wait_for_call
from test_operators import FAST, PASSWORD, Desk, add_operator, phone, registered, stereo, wait_until  # noqa: F401
from test_sipp import OK_TO_LAST, SDP, Sipp, answer, reply

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
    assert again  # a port of its own; nobody calls it
    again.process.kill()
    call = server.wait_for(server.create(NUMBERED, [ATTEND]), seconds=60)
    assert call["state"] == "failed", "none of them is there any more"


@pytest.mark.parametrize("follows, allowed", [("false", True), ("true", True), ("true", False)])
def test_redirections(make_server, tmp_path, follows, allowed):
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
                    f'WWW-Authenticate: Digest realm="{self.realm}", nonce="n{len(self.requests)}", algorithm=MD5, qop="auth"\r\n',
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


def test_a_trunk_proves_itself_and_speaks_for_its_callers(make_server):
    """By password from anywhere; P-Asserted-Identity counts only then. Others are asked for theirs, whatever number they try."""
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
        f'Authorization: Digest username="carrier", realm="trunkline", nonce="{challenge["nonce"]}", uri="sip:x", response="{response}", '
        'algorithm=MD5, qop=auth, nc=00000001, cnonce="abc"\r\n'
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
    assert inbound(server)[0]["caller_number"] == "031****8888"
    # Who proves nothing speaks for nobody.
    open_server = make_server(**FAST)
    other = Hand(open_server)
    assert (
        other.status(
            "INVITE", "P-Asserted-Identity: <sip:0317778888@carrier.example>\r\nContent-Type: application/sdp\r\n", body
        )
        == 200
    )
    assert inbound(open_server)[0]["caller_number"] == "010****5432"


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
        "Session-Expires: 90;refresher=uas\r\nMin-SE: 90\r\nSupported: timer\r\nAllow: INVITE, ACK, BYE, UPDATE\r\nContent-Type: application/sdp\r\n",
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
    assert seconds_of(both[:, 0], 1000) > 2 and seconds_of(both[:, 1], 500) > 2 and seconds_of(caller.heard(), 500) > 2


def test_what_is_not_encrypted_is_refused_where_it_must_be(make_server, tmp_path):
    server = make_server(**FAST, TRUNKLINE_SIP_SRTP="required")
    assert Hand(server).invite() == 488
    # We offer it, and whoever answers without is hung up on: there is no way down.
    peer = Sipp(tmp_path, answer(free_port()) + '  <recv request="BYE" timeout="20000"/>\n' + OK_TO_LAST)
    call = server.wait_for(server.create(peer.address, [ATTEND]), seconds=20)
    assert call["state"] == "failed" and "not secured" in call["failure_reason"], call
    assert (
        peer.finish() == 0
        and "RTP/SAVP" in peer.messages
        and "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" in peer.messages
    )


@pytest.fixture
def kamailio(tmp_path, certificates):
    running = []

    def start(server_port, gateway="127.0.0.1:9", tls_port=None):
        port = free_port()
        defines = {
            "LISTEN_UDP": f'udp:127.0.0.1:{port}',
            "LISTEN_TCP": f'tcp:127.0.0.1:{port}',
            "TRUNKLINE_URI": f'"sip:127.0.0.1:{server_port}"',
            "GATEWAY": f'"{gateway}"',
            "PASSWORD": f'"{PASSWORD}"',
            "TRUNKLINE_NUMBERS": f'"^{NUMBER}|1001$"',
        }
        if tls_port:
            defines |= {
                "LISTEN_TLS": f'tls:127.0.0.1:{tls_port}',
                "TLS_KEY": f'"{certificates}/one.key"',
                "TLS_CERTIFICATE": f'"{certificates}/one.pem"',
                "TLS_CA": f'"{certificates}/ca.pem"',
            }
        arguments = [word for name, value in defines.items() for word in ("-A", f"{name}={value}")]
        log = tmp_path / f"kamailio-{port}.log"
        run = tmp_path / f"kamailio-{port}"
        run.mkdir()
        running.append(
            subprocess.Popen(
                [
                    "kamailio",
                    "-f",
                    str(ROOT / "deploy/kamailio/kamailio.cfg"),
                    "-DD",
                    "-E",
                    "-m",
                    "64",
                    "-M",
                    "8",
                    "-Y",
                    str(run),
                    "-P",
                    str(run / "pid"),
                    *arguments,
                ],
                stdout=open(log, "wb"),
                stderr=subprocess.STDOUT,
                cwd=run,
                start_new_session=True,
            )
        )
        deadline = time.time() + 15
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port
            assert running[-1].poll() is None and time.time() < deadline, log.read_text()
            time.sleep(0.1)

    yield start
    for process in running:
        process.terminate()
        process.wait(timeout=15)


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_a_call_through_kamailio(make_server, callee, kamailio, certificates, transport):
    """Our INVITE by digest through the proxy, which stays in the dialog (Record-Route): a whole conversation, both answers."""
    one = callee("cooperative")
    gateway = one.address.split("@")[1]
    tls_port = free_port() if transport == "tls" else None
    port = kamailio(9, gateway=gateway, tls_port=tls_port)
    options = (
        {}
        if transport != "tls"
        else {
            "TRUNKLINE_TLS_CERTIFICATE": str(certificates / "two.pem"),
            "TRUNKLINE_TLS_KEY": str(certificates / "two.key"),
            "TRUNKLINE_TLS_CA_FILE": str(certificates / "ca.pem"),
            "TRUNKLINE_SIP_TLS_PORT": str(free_port()),
            "TRUNKLINE_SIP_SRTP": "off",
            "tls": str(certificates / "ca.pem"),
        }
    )
    address = (
        f"127.0.0.1:{port}"
        if transport == "udp"
        else f"127.0.0.1:{port};transport=tcp"
        if transport == "tcp"
        else f"127.0.0.1:{tls_port};transport=tls"
    )
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=address,
        TRUNKLINE_SIP_GATEWAY_USERNAME="trunkline",
        TRUNKLINE_SIP_GATEWAY_PASSWORD=PASSWORD,
        TRUNKLINE_SIP_GATEWAY_REALM="trunkline",
        **options,
    )
    call_id = server.create(NUMBERED)
    call = server.wait_for(call_id, seconds=90)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), call
    assert [answer["status"] for answer in server.result(call_id)["answers"]] == ["answered", "answered"]
    wait_until(lambda: any(event["event"] == "ended" for event in one.events()), 5, "no BYE came through")


def test_the_whole_way_behind_kamailio(make_server, phone, kamailio, tmp_path):
    """A phone registers at Kamailio and calls an operator of ours who is away; the AI answers, and hands over to a colleague."""
    server = make_server(
        **FAST, TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?", TRUNKLINE_INBOUND_TRUSTED_SOURCES="127.0.0.1"
    )
    port = kamailio(server.sip_port)
    add_operator(server, status="away")
    known = add_operator(server, "Lee Jiwoo", "lee", "1002")
    desk = phone("lee", server, tone(tmp_path / "desk.wav", 500), password=PASSWORD)
    registered(server, known)

    class Front:
        sip_port = port

    caller = phone(
        "01098765432",
        Front,
        speech(tmp_path / "mic.wav", [9.5, "I want to speak to an operator please.", 60]),
        password=PASSWORD,
    )
    wait_until(lambda: "200 OK" in caller.text() or "registered" in caller.text(), what=caller.text)
    caller.dial(f"sip:1001@127.0.0.1:{port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(lambda: any(item["outcome"] == "connected" for item in get()["transfers"]), 45, lambda: str(get()))
    time.sleep(3)
    desk.command("hangup")
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"], call["caller_number"]) == ("completed", "transferred", "01098765432"), (
        call
    )
    assert seconds_of(caller.heard(), 500) > 2 and seconds_of(stereo(server, call_id, tmp_path)[:, 1], 500) > 2


class NameServer(threading.Thread):
    """DNS (RFC 1035) on port 53 of an address of its own. `records`: (name, type) to a list of data; None: no answer ever comes."""

    TYPES = {"A": 1, "NAPTR": 35, "SRV": 33}

    def __init__(self, records):
        super().__init__(daemon=True)
        self.records, self.asked = records, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # All of 127/8 is this machine's; a test that ran before may still hold its own.
        self.address = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        self.socket.bind((self.address, 53))
        self.start()

    @staticmethod
    def name(text):
        return b"".join(bytes([len(part)]) + part.encode() for part in text.split(".") if part) + b"\0"

    def data(self, kind, value):
        if kind == "A":
            return socket.inet_aton(value)
        if kind == "SRV":
            priority, port, target = value
            return struct.pack(">HHH", priority, 1, port) + self.name(target)
        order, service, replacement = value
        strings = b"".join(bytes([len(part)]) + part.encode() for part in ("s", service, ""))
        return struct.pack(">HH", order, 1) + strings + self.name(replacement)

    def run(self):
        while True:
            query, source = self.socket.recvfrom(4_096)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
                at += 1 + query[at]
            code = struct.unpack(">H", query[at + 1 : at + 3])[0]
            kind = {number: kind for kind, number in self.TYPES.items()}.get(code, str(code))
            question, name = query[12 : at + 5], ".".join(labels)
            self.asked.append((name, kind))
            found = self.records.get((name, kind), [])
            if found is None:
                continue
            answers = b"".join(
                b"\xc0\x0c" + struct.pack(">HHIH", code, 1, 60, len(data)) + data
                for data in (self.data(kind, one) for one in found)
            )
            exists = any(name == known for known, _ in self.records)
            self.socket.sendto(
                query[:2]
                + (b"\x85\x80" if exists else b"\x85\x83")
                + struct.pack(">HHHH", 1, len(found), 0, 0)
                + question
                + answers,
                source,
            )


def with_names(tmp_path, names):
    """What the server is started with, so that it asks `names` and nobody else."""
    (tmp_path / "resolv.conf").write_text(f"nameserver {names.address}\n")
    return ["unshare", "-m", "sh", "-c", f'mount --bind {tmp_path / "resolv.conf"} /etc/resolv.conf && exec "$@"', "sh"]


may_mount = pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="a name server of its own needs a mount namespace",
)


@pytest.mark.may_skip("a mount namespace")
@may_mount
@pytest.mark.parametrize("service, prefix", [("SIP+D2U", "_sip._udp"), ("SIP+D2T", "_sip._tcp"), (None, "_sip._udp")])
def test_a_carrier_is_found_by_its_domain(make_server, tmp_path, service, prefix):
    """RFC 3263: NAPTR says how, SRV where and in which order, A which address; who is not there is passed over."""
    transport = "tcp" if service == "SIP+D2T" else "udp"
    last = Sipp(
        tmp_path,
        reply("486 Busy Here") + '  <recv request="ACK"/>\n',
        options=["-t", "t1"] if transport == "tcp" else [],
    )
    names = NameServer(
        {
            ("carrier.test", "NAPTR"): [(10, service, f"{prefix}.carrier.test")] if service else [],
            (f"{prefix}.carrier.test", "SRV"): [
                (20, last.port, "second.carrier.test"),
                (10, free_port(), "first.carrier.test"),
            ],
            ("first.carrier.test", "A"): ["127.0.0.1"],
            ("second.carrier.test", "A"): ["127.0.0.1"],
        }
    )
    server = make_server(launcher=with_names(tmp_path, names), TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="carrier.test")
    call = server.wait_for(server.create(NUMBERED, [ATTEND]), seconds=60)
    assert call["state"] == "busy", (call["failure_reason"], names.asked)
    assert last.finish() == 0
    assert ("carrier.test", "NAPTR") in names.asked and (f"{prefix}.carrier.test", "SRV") in names.asked


@pytest.mark.may_skip("a mount namespace")
@may_mount
def test_a_silent_name_server_holds_nobody_up(make_server, tmp_path):
    """A name that is never answered for: its call fails with a reason, and every other one goes on meanwhile."""
    names = NameServer(
        {("slow.test", kind): None for kind in ("NAPTR", "SRV", "A", "28")} | {("_sip._udp.slow.test", "SRV"): None}
    )
    server = make_server(
        launcher=with_names(tmp_path, names),
        TRUNKLINE_OUTBOUND_RING_TIMEOUT="8",
        TRUNKLINE_OUTBOUND_SIP_HOSTS="slow.test,127.0.0.1",
    )
    slow = server.create("sip:nobody@slow.test", [ATTEND])
    wait_until(lambda: names.asked, what="nobody asked for the name")
    for _ in range(5):
        begun = time.time()
        assert Hand(server).status("OPTIONS") == 200 and time.time() - begun < 0.5
        time.sleep(0.2)
    quick = Sipp(tmp_path, reply("486 Busy Here") + '  <recv request="ACK"/>\n')
    assert server.wait_for(server.create(quick.address, [ATTEND]), seconds=5)["state"] == "busy"
    call = server.wait_for(slow, seconds=40)
    assert call["state"] in ("failed", "no_answer") and call["failure_reason"], call


def test_of_forked_answers_one_is_taken(make_server):
    """A proxy that forks may bring two answers (RFC 3261 §13.2.2.4): the first has the call, the second is acknowledged and hung up."""
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
                f"SIP/2.0 {status}\r\n{head(invite)}To: {to};tag={tag}\r\nContact: <sip:{tag}@127.0.0.1:{port}>\r\n{kind}"
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
                    f"SIP/2.0 200 OK\r\n{head(message)}To: {re.search(r'^To: (.*)', message.decode(), re.M)[1].strip()}\r\nContent-Length: 0\r\n\r\n"
                ).encode(),
                source,
            )
    assert {("ACK", "one"), ("ACK", "two"), ("BYE", "two")} <= seen and ("BYE", "one") not in seen, seen
    server.wait_for(call_id, {"connected"})


@pytest.mark.parametrize("is_reliable", [True, False])
def test_early_media_need_not_be_agreed_on_twice(make_server, is_reliable):
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
