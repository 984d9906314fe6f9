"""Operators: their phones register, ring, are bridged with callers, and the AI takes the call where nobody answers."""

import contextlib
import hashlib
import random
import re
import select
import shutil
import socket
import subprocess
import threading
import time
import wave

import numpy
import pytest
from conftest import TRUNKLINE, clean_environment, free_port
from phones import Phone, seconds_of, silence, speech, tone
from test_inbound import NUMBER, Phone as ByHand, inbound, wait_for_call

PASSWORD = "correct-horse-battery"
FAST = {"TRUNKLINE_INBOUND_RING_MS": "100", "TRUNKLINE_AGENT_SILENCE_PROMPT_MS": "3000"}


@pytest.fixture
def phone(tmp_path):
    running = []

    def start(user, server, microphone, **options):
        running.append(
            Phone(tmp_path / f"phone{len(running)}", user, f"127.0.0.1:{server.sip_port}", microphone, **options)
        )
        return running[-1]

    yield start
    for one in running:
        one.stop()


def add_operator(server, name="Kim Minsu", user="kim", number="1001", password=PASSWORD, **fields):
    status, known = server.request(
        "POST", "/api/operators", {"name": name, "sip_user": user, "sip_password": password, "number": number, **fields}
    )
    assert status == 201, known
    return known["id"]


def wait_until(check, seconds=15, what="it did not happen"):
    deadline = time.time() + seconds
    while time.time() < deadline:
        value = check()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(what() if callable(what) else what)


def registered(server, known, is_registered=True):
    wait_until(
        lambda: server.request("GET", f"/api/operators/{known}")[1]["registered"] == is_registered,
        what="the phone is not registered",
    )


def stereo(server, call_id, folder):
    status, data = server.request("GET", f"/api/inbound/{call_id}/recording", raw=True)
    assert status == 200
    path = folder / "recording.wav"
    path.write_bytes(data)
    with wave.open(str(path)) as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float).reshape(-1, 2)


def test_operators_by_the_api(server):
    known = add_operator(server, away_message="Kim is at lunch.", ring_timeout=12)
    status, one = server.request("GET", f"/api/operators/{known}")
    assert (
        status == 200
        and one["name"] == "Kim Minsu"
        and one["has_password"]
        and not one["registered"]
        and one["ring_timeout"] == 12
    )
    assert PASSWORD not in str(one) and "secret" not in one
    assert server.request("POST", "/api/operators", {"name": "Lee", "sip_user": "kim"})[0] == 409
    assert server.request("POST", "/api/operators", {"name": "Lee", "sip_user": "lee", "number": "1001"})[0] == 409
    status, problem = server.request(
        "POST",
        "/api/operators",
        {"name": "", "sip_user": "a b", "sip_password": "short", "status": "asleep", "ring_timeout": 1},
    )
    assert status == 422 and {error["field"] for error in problem["errors"]} >= {
        "name",
        "sip_user",
        "sip_password",
        "status",
        "ring_timeout",
    }, problem
    status, changed = server.request(
        "PUT", f"/api/operators/{known}/status", {"status": "away", "away_message": "Back at two."}
    )
    assert (
        status == 200
        and changed["status"] == "away"
        and changed["away_message"] == "Back at two."
        and changed["has_password"]
    )
    assert [item["id"] for item in server.request("GET", "/api/operators")[1]["items"]] == [known]
    assert server.request("PUT", f"/api/operators/{known}", {"name": "Kim", "sip_user": "kim2"})[0] == 422, (
        "a new user needs a new password"
    )
    assert (
        server.request("DELETE", f"/api/operators/{known}")[0] == 204
        and server.request("GET", f"/api/operators/{known}")[0] == 404
    )
    actions = [entry["action"] for entry in server.request("GET", "/api/audit")[1]["items"]]
    assert {"operator.create", "operator.status", "operator.delete"} <= set(actions)


class Registering:
    """REGISTER by hand."""

    def __init__(self, server, source="127.0.0.1"):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        self.socket.settimeout(3)
        self.port, self.source, self.server = self.socket.getsockname()[1], source, server
        self.call_id, self.sequence = f"{random.getrandbits(64):x}", 0

    def send(self, user, headers="", contact=True):
        self.sequence += 1
        contact = f"Contact: <sip:{user}@{self.source}:{self.port}>\r\n" if contact is True else contact
        self.socket.sendto(
            (
                f"REGISTER sip:127.0.0.1:{self.server.sip_port} SIP/2.0\r\nVia: SIP/2.0/UDP {self.source}:{self.port};branch=z9hG4bK{random.getrandbits(64):x}\r\n"
                f"Max-Forwards: 70\r\nFrom: <sip:{user}@127.0.0.1>;tag={random.getrandbits(32):x}\r\nTo: <sip:{user}@127.0.0.1>\r\nCall-ID: {self.call_id}\r\n"
                f"CSeq: {self.sequence} REGISTER\r\n{contact}{headers}Content-Length: 0\r\n\r\n"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )
        answer = self.socket.recv(65_536).decode()
        return int(answer.split(" ")[1]), answer

    def challenge(self, user, algorithm="MD5"):
        status, answer = self.send(user)
        assert status == 401, answer
        line = next(
            line
            for line in answer.splitlines()
            if line.startswith("WWW-Authenticate") and f"algorithm={algorithm}" in line
        )
        return dict(re.findall(r'(\w+)="?([^",]+)"?', line))

    @staticmethod
    def authorization(user, password, challenge, algorithm="MD5", count=1, realm=None):
        make = lambda text: hashlib.new(algorithm.replace("-", "").lower(), text.encode()).hexdigest()
        realm, uri = realm or challenge["realm"], "sip:127.0.0.1"
        first, second = make(f"{user}:{realm}:{password}"), make(f"REGISTER:{uri}")
        response = make(f"{first}:{challenge['nonce']}:{count:08x}:abc:auth:{second}")
        return (
            f'Authorization: Digest username="{user}", realm="{realm}", nonce="{challenge["nonce"]}", uri="{uri}", response="{response}", '
            f'algorithm={algorithm}, qop=auth, nc={count:08x}, cnonce="abc"\r\n'
        )


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_the_registrar_keeps_its_rules(make_server, algorithm):
    server = make_server(TRUNKLINE_SIP_DIGEST="SHA-256,MD5")
    known = add_operator(server)
    phone = Registering(server)
    challenge = phone.challenge("kim", algorithm)
    prove = lambda count, **options: phone.authorization("kim", PASSWORD, challenge, algorithm, count, **options)
    status, answer = phone.send("kim", prove(1) + "Expires: 120\r\n")
    assert status == 200 and re.search(rf"Contact: <sip:kim@127.0.0.1:{phone.port}>;expires=1(20|19)", answer), answer
    registered(server, known)
    assert phone.send("kim", prove(1))[0] == 401, "a count of a nonce is taken once"
    assert "stale=true" in phone.send("kim", prove(1))[1]
    status, answer = phone.send("kim", prove(2) + "Expires: 10\r\n")
    assert status == 423 and "Min-Expires: 60" in answer
    assert phone.send("lee", prove(3))[0] == 403, "nobody registers for somebody else"
    # Several phones, and all of them taken back.
    status, answer = phone.send(
        "kim", prove(4), contact="Contact: <sip:kim@127.0.0.1:7001>;expires=70, <sip:kim@127.0.0.1:7002>;expires=80\r\n"
    )
    assert status == 200 and answer.count("Contact: ") == 3, answer
    assert phone.send("kim", prove(5) + "Expires: 60\r\n", contact="Contact: *\r\n")[0] == 400
    assert phone.send("kim", prove(6) + "Expires: 0\r\n", contact="Contact: *\r\n")[0] == 200
    registered(server, known, False)
    many = "Contact: " + ", ".join(f"<sip:kim@127.0.0.1:{7100 + index}>" for index in range(9)) + "\r\n"
    assert phone.send("kim", prove(7), contact=many)[0] == 403
    assert phone.send("kim", 'Authorization: Digest username="kim", username="lee"\r\n')[0] == 400


def test_who_is_unknown_and_who_is_wrong_hear_the_same(server):
    add_operator(server)
    answers = []
    for user in ("kim", "nobody"):
        phone = Registering(server)
        challenge = phone.challenge(user)
        status, answer = phone.send(user, phone.authorization(user, "wrong password!", challenge))
        lines = [
            re.sub(r'nonce="[^"]+"|tag=\S+|branch=\S+|rport=\d+|:\d{4,5}|Call-ID.*|CSeq.*', "", line)
            for line in answer.splitlines()
        ]
        answers.append((status, [line.replace(user, "USER") for line in lines]))
    assert answers[0] == answers[1] and answers[0][0] == 401


def test_scanners_are_shut_out(server):
    add_operator(server)
    guesser = Registering(server, "127.0.0.77")
    for attempt in range(10):
        challenge = guesser.challenge("kim")
        assert guesser.send("kim", guesser.authorization("kim", f"wrong password {attempt}", challenge))[0] == 401
    with pytest.raises(TimeoutError):
        guesser.send("kim")
    scanner = Registering(server, "127.0.0.78")
    assert scanner.send("kim", "User-Agent: friendly-scanner\r\n")[0] == 403
    with pytest.raises(TimeoutError):
        scanner.send("kim")
    # Others are not touched by it.
    other = Registering(server, "127.0.0.79")
    assert other.send("kim", other.authorization("kim", PASSWORD, other.challenge("kim")))[0] == 200


def test_a_caller_reaches_the_operator(make_server, phone, tmp_path):
    """Both hear each other, and both stand in the recording; the operator hangs up."""
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, tone(tmp_path / "desk.wav", 500), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    assert server.request("GET", f"/api/operators/{known}")[1]["in_call"]
    time.sleep(4)
    desk.command("hangup")
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"], call["operator_name"]) == ("completed", "transferred", "Kim Minsu"), call
    assert [(item["outcome"], item["operator_id"]) for item in call["transfers"]] == [("connected", known)]
    assert not server.request("GET", f"/api/operators/{known}")[1]["in_call"]
    assert seconds_of(caller.heard(), 500) > 3 and seconds_of(desk.heard(), 1000) > 3
    both = stereo(server, call_id, tmp_path)
    assert seconds_of(both[:, 0], 1000) > 3 and seconds_of(both[:, 1], 500) > 3
    names = [event["event"] for event in server.request("GET", f"/api/inbound/{call_id}/events")[1]["items"]]
    assert names == [
        "inbound_ringing",
        "operator_ringing",
        "inbound_connected",
        "operator_connected",
        "inbound_completed",
    ] or names == [
        "inbound_ringing",
        "operator_ringing",
        "operator_connected",
        "inbound_connected",
        "inbound_completed",
    ]


@pytest.mark.parametrize("why", ["away", "no phone", "no answer", "declines"])
def test_the_ai_answers_for_an_operator(make_server, phone, tmp_path, why):
    server = make_server(**FAST)
    known = add_operator(server, ring_timeout=5)
    if why in ("no answer", "declines"):
        desk = phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD, answers=False)
        registered(server, known)
    if why == "away":
        server.request(
            "PUT",
            f"/api/operators/{known}/status",
            {"status": "away", "away_message": "Kim Minsu is at lunch until two."},
        )
    caller = phone("01098765432", server, silence(tmp_path / "caller.wav"))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    if why == "declines":
        wait_until(lambda: "ncoming call" in desk.text(), what=desk.text)
        desk.command("hangup")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    transcript = wait_until(lambda: server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"], 20)
    assert transcript[0]["text"].startswith(
        "Kim Minsu is at lunch until two." if why == "away" else "Hello, Kim Minsu cannot take your call right now."
    )
    transfers = server.request("GET", f"/api/inbound/{call_id}")[1]["transfers"]
    assert (
        [item["reason"] for item in transfers]
        == {"away": [], "no phone": [], "no answer": ["nobody answered"], "declines": ["busy"]}[why]
        or why == "declines"
        and transfers[0]["reason"] in ("declined", "busy")
    ), transfers


def test_asked_for_a_person_the_ai_hands_over(make_server, phone, tmp_path):
    """The whole way: the operator is away, the AI answers, the caller wants a person, a colleague is briefed and bridged."""
    server = make_server(**FAST, TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?")
    add_operator(server, status="away")
    known = add_operator(server, "Lee Jiwoo", "lee", "1002")
    desk = phone("lee", server, tone(tmp_path / "desk.wav", 500), password=PASSWORD)
    registered(server, known)
    mic = speech(tmp_path / "mic.wav", [9.5, "I want to speak to an operator please.", 60])
    caller = phone("01098765432", server, mic)
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(
        lambda: any(item["outcome"] == "connected" for item in get()["transfers"]),
        45,
        lambda: str(get()) + str(server.request("GET", f"/api/inbound/{call_id}/transcript")[1]),
    )
    time.sleep(3)
    desk.command("hangup")
    call = wait_for_call(server)
    assert (call["state"], call["end_reason"], call["transfers"][0]["name"]) == (
        "completed",
        "transferred",
        "Lee Jiwoo",
    ), call
    said = [
        entry["text"]
        for entry in server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"]
        if entry["speaker"] == "ai"
    ]
    assert said[-1] == "One moment please, I will put you through to a colleague."
    # He was told what it is about (seconds of speech), the caller heard music meanwhile, then both heard each other.
    briefing = desk.heard()
    assert numpy.count_nonzero(numpy.abs(briefing) > 600) > 8000, "no briefing was heard"
    both = stereo(server, call_id, tmp_path)
    assert seconds_of(both[:, 1], 500) > 2 and seconds_of(caller.heard(), 500) > 2
    assert max(seconds_of(both[:, 1], hertz) for hertz in (261.63, 329.63, 392.0)) > 0.3, "no music was heard"


def test_nobody_takes_it_and_the_ai_goes_on(make_server, phone, tmp_path):
    """An operator has the call handed over; nobody answers; the AI says so, and asks on."""
    server = make_server(**FAST, TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?")
    known = add_operator(server, ring_timeout=5)
    phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD, answers=False)
    registered(server, known)
    caller = phone("01098765432", server, silence(tmp_path / "caller.wav"))
    caller.dial(f"sip:0255501234@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    transcript = lambda: [
        entry["text"] for entry in server.request("GET", f"/api/inbound/{call_id}/transcript")[1]["transcript"]
    ]
    time.sleep(1)
    path = f"/api/inbound/{call_id}/transfer"
    assert server.request("POST", path, {"operator_id": "op-00000000"})[0] == 422
    assert server.request("POST", path, {"mode": "sideways"})[0] == 422
    assert server.request("POST", path, {"operator_id": known})[0] == 202
    wait_until(
        lambda: any("I am sorry, nobody can take your call" in text for text in transcript()),
        30,
        lambda: str(transcript()),
    )
    wait_until(lambda: "Shall we call you back?" in transcript()[-1], 10, lambda: str(transcript()))
    call = server.request("GET", f"/api/inbound/{call_id}")[1]
    assert call["state"] == "connected" and call["transfers"][0]["reason"] == "nobody answered"
    server.request("PUT", f"/api/operators/{known}/status", {"status": "away"})
    assert server.request("POST", path, {"operator_id": known})[0] == 409


def test_the_operator_sends_the_caller_on(make_server, phone, tmp_path):
    """A blind transfer by the operator's own telephone (REFER): a colleague gets the caller."""
    server = make_server(**FAST)
    first, second = add_operator(server), add_operator(server, "Lee Jiwoo", "lee", "1002")
    desk = phone("kim", server, tone(tmp_path / "kim.wav", 500), password=PASSWORD)
    other = phone("lee", server, tone(tmp_path / "lee.wav", 700), password=PASSWORD)
    registered(server, first)
    registered(server, second)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    time.sleep(2)
    desk.command("transfer", f"sip:1002@127.0.0.1:{server.sip_port}")
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(
        lambda: [item["outcome"] for item in get()["transfers"]] == ["connected", "connected"],
        15,
        lambda: str(get()) + desk.text()[-2000:],
    )
    time.sleep(2)
    assert (
        not server.request("GET", f"/api/operators/{first}")[1]["in_call"]
        and server.request("GET", f"/api/operators/{second}")[1]["in_call"]
    )
    caller.command("hangup")
    call = wait_for_call(server)
    assert call["state"] == "completed" and call["transfers"][1]["name"] == "Lee Jiwoo"
    assert (
        seconds_of(caller.heard(), 500) > 1
        and seconds_of(caller.heard(), 700) > 1.5
        and seconds_of(other.heard(), 1000) > 1.5
    )


def test_hold_with_music(make_server, phone, tmp_path):
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, tone(tmp_path / "kim.wav", 500), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    wait_for_call(server, {"connected"})
    time.sleep(2)
    desk.command("hold")
    time.sleep(3)
    desk.command("resume")
    time.sleep(2)
    caller.command("hangup")
    assert wait_for_call(server)["state"] == "completed"
    heard = caller.heard()
    assert seconds_of(heard, 500) > 3, "before and after"
    assert max(seconds_of(heard, hertz) for hertz in (261.63, 329.63, 392.0)) > 0.3, "music meanwhile"


def test_the_sip_messages_of_a_call(make_server, phone, tmp_path):
    """By the API while it goes on and afterwards, by the command, and nothing in it that proves who somebody is."""
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, silence(tmp_path / "caller.wav"))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    live = server.request("GET", f"/api/inbound/{call_id}/sip")[1]
    assert any(
        item["summary"].startswith("INVITE sip:1001@") and item["direction"] == "received" for item in live["items"]
    ), live
    assert any(
        item["summary"].startswith("INVITE sip:kim") and item["direction"] == "sent" for item in live["items"]
    ), "the operator's leg too"
    time.sleep(1)
    caller.command("hangup")
    wait_for_call(server)
    kept = wait_until(
        lambda: [
            item
            for item in server.request("GET", f"/api/inbound/{call_id}/sip")[1]["items"]
            if item["summary"].startswith("BYE")
        ]
    )
    assert {item["direction"] for item in kept} == {"sent", "received"}
    time.sleep(1)
    run = lambda *words: subprocess.run(
        [TRUNKLINE, "sip", "trace", call_id, "--data", str(server.folder / "data"), *words],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    ladder = run()
    assert (
        ladder.returncode == 0
        and "INVITE sip:1001@" in ladder.stdout
        and "200 OK" in ladder.stdout
        and "BYE" in ladder.stdout
    ), ladder
    assert "Call-ID" in run("--full").stdout and PASSWORD not in run("--full").stdout
    missing = subprocess.run(
        [TRUNKLINE, "sip", "trace", "in-00000000", "--data", str(server.folder / "data")],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert missing.returncode == 1 and "there is no call" in missing.stderr
    viewer = server.request("POST", "/api/keys", {"name": "v", "role": "viewer"})[1]["key"]
    assert server.request("GET", f"/api/inbound/{call_id}/sip", key=viewer)[0] == 403


@pytest.mark.parametrize("tool", ["svwar", "svcrack"])
def test_the_tools_of_scanners_find_nothing(make_server, tmp_path, tool):
    """SIPVicious itself, with the right number and the right password in its dictionary, against a server that hears it by another address than its own."""
    server = make_server(TRUNKLINE_SIP_HOST="127.0.0.1")
    add_operator(server)
    (tmp_path / "words").write_text("\n".join(["1000", "1001", "kim", "letmein", PASSWORD]) + "\n")
    # It sends from 127.0.0.1 whatever it is told, and this machine is never blocked: what it sends is passed on from
    # elsewhere.
    there = Passing(("127.0.0.1", server.sip_port), "127.0.0.91")
    words = ["-P", str(free_port()), "-p", str(there.port), "-d", str(tmp_path / "words"), "-t", "0.1"]
    done = subprocess.run(
        [shutil.which(tool), *words, *(["-u", "kim"] if tool == "svcrack" else []), "127.0.0.1"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    found = done.stdout + done.stderr
    assert PASSWORD not in found and not re.search(r"\|\s*(kim|1001)\s*\|", found), found
    assert there.count > 0 and "a source of SIP is blocked" in (server.folder / "server.log").read_text()
    assert Registering(server, "127.0.0.92").challenge("kim"), "others are not touched by it"


class Passing(threading.Thread):
    """UDP, passed on from another address, and answers back."""

    def __init__(self, target, source):
        super().__init__(daemon=True)
        self.outer, self.inner = (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        )
        self.outer.bind(("127.0.0.1", 0))
        self.inner.bind((source, 0))
        self.port, self.target, self.peer, self.count = self.outer.getsockname()[1], target, None, 0
        self.start()

    def run(self):
        while True:
            for one in select.select([self.outer, self.inner], [], [], 1)[0]:
                data, source = one.recvfrom(65_536)
                if one is self.outer:
                    self.peer, self.count = source, self.count + 1
                    self.inner.sendto(data, self.target)
                elif self.peer:
                    self.outer.sendto(data, self.peer)


def digest(phone_uri, user, password, answer, method="INVITE"):
    line = next(line for line in answer.splitlines() if line.startswith("WWW-Authenticate") and "algorithm=MD5" in line)
    given = dict(re.findall(r'(\w+)="?([^",]+)"?', line))
    make = lambda text: hashlib.md5(text.encode()).hexdigest()
    realm, nonce = given["realm"], given["nonce"]
    response = make(f"{make(f'{user}:{realm}:{password}')}:{nonce}:00000001:abc:auth:{make(f'{method}:{phone_uri}')}")
    return (
        f'Authorization: Digest username="{user}", realm="{realm}", nonce="{nonce}", uri="{phone_uri}", response="{response}", '
        f'algorithm=MD5, qop=auth, nc=00000001, cnonce="abc"\r\n'
    )


class Talking(ByHand):
    """A caller by hand who hears: counts the RTP that comes to him."""

    def __init__(self, server, number=NUMBER):
        super().__init__(server, number)
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.bind(("127.0.0.1", 0))
        self.rtp.setblocking(False)
        self.body = f"v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio {self.rtp.getsockname()[1]} RTP/AVP 0\r\n"

    def call(self, headers="", sequence=1):
        branch = self.send("INVITE", f"{headers}Content-Type: application/sdp\r\n", self.body, sequence)
        answer = self.receive()
        status, to = int(answer.split(" ")[1]), re.search(r"^To: (.*)$", answer, re.M).group(1).strip()
        self.send("ACK", to=to, sequence=sequence, branch=None if status < 300 else branch)
        return status, to, answer

    def packets(self):
        count = 0
        with contextlib.suppress(BlockingIOError):
            while self.rtp.recv(2_000):
                count += 1
        return count


def test_another_phone_takes_a_callers_place(make_server):
    """INVITE with Replaces (RFC 3891): who proves that he belongs here goes on with the conversation, and nobody else does."""
    server = make_server(**FAST)
    add_operator(server)
    first = Talking(server)
    status, to, _ = first.call()
    assert status == 200
    first.to = to
    call_id = inbound(server)[0]["inbound_id"]
    time.sleep(0.5)
    assert first.packets() > 10
    replaces = lambda tag, more="": f"Replaces: {first.call_id};to-tag={tag};from-tag={first.tag}{more}\r\n"
    tag = re.search(r"tag=([^;>\s]+)", to).group(1)

    def proven(line):
        phone = Talking(server)
        status, _, answer = phone.call(line)
        assert status == 401, "whoever it is"
        uri = f"sip:{NUMBER}@127.0.0.1:{server.sip_port}"
        return phone, *phone.call(line + digest(uri, "kim", PASSWORD, answer), sequence=2)[:2]

    assert proven(replaces("nobody"))[1] == 481
    assert proven(replaces(tag, ";early-only"))[1] == 486
    second, status, second.to = proven(replaces(tag))
    assert status == 200
    bye = first.receive()
    assert bye.startswith("BYE ")
    first.socket.sendto(
        (
            "SIP/2.0 200 OK\r\n"
            + "".join(
                line + "\r\n"
                for line in bye.splitlines()
                if line.split(":")[0] in ("Via", "From", "To", "Call-ID", "CSeq")
            )
            + "Content-Length: 0\r\n\r\n"
        ).encode(),
        ("127.0.0.1", server.sip_port),
    )
    first.packets(), second.packets()
    time.sleep(0.6)
    assert first.packets() == 0 and second.packets() > 20
    assert server.request("GET", f"/api/inbound/{call_id}")[1]["state"] == "connected"
    assert second.status("BYE", to=second.to, sequence=3) == 200
    assert wait_for_call(server)["state"] == "completed"
    both = lambda: [item["summary"] for item in server.request("GET", f"/api/inbound/{call_id}/sip")[1]["items"]]
    wait_until(
        lambda: (
            sum(summary.startswith("INVITE") for summary in both()) >= 2
            and sum(summary.startswith("BYE") for summary in both()) == 2
        ),
        what=both,
    )
    # What has ended has no place to give.
    assert proven(replaces(tag))[1] in (481, 603)


def test_another_phone_takes_an_operators_place(make_server, phone, tmp_path):
    """The same for the person whom a caller talks with: a colleague picks the call up, and the caller notices nothing but the voice."""
    server = make_server(**FAST)
    known = add_operator(server)
    desk = phone("kim", server, silence(tmp_path / "desk.wav"), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 440))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    wait_until(lambda: server.request("GET", f"/api/operators/{known}")[1]["in_call"])
    came = lambda: [
        item["text"]
        for item in server.request("GET", f"/api/inbound/{call_id}/sip")[1]["items"]
        if item["direction"] == "received"
    ]
    answer = wait_until(
        lambda: [
            text
            for text in came()
            if text.startswith("SIP/2.0 200") and "Call-ID: operator-" in text and "INVITE" in text
        ]
    )[0]
    part = lambda pattern: re.search(pattern, answer, re.M | re.I)[1]
    line = (
        f"Replaces: {part('^(?:Call-ID|i): *([^ ;]+?) *$')};to-tag={part('^(?:From|f):.*tag=([^; ]+?) *$')};"
        f"from-tag={part('^(?:To|t):.*tag=([^; ]+?) *$')}\r\n"
    ).replace("\r\r", "\r")
    colleague = Talking(server)
    status, _, answer_ = colleague.call(line)
    assert status == 401
    uri = f"sip:{NUMBER}@127.0.0.1:{server.sip_port}"
    status, colleague.to, _ = colleague.call(line + digest(uri, "kim", PASSWORD, answer_), sequence=2)
    assert status == 200
    colleague.packets()
    time.sleep(0.6)
    assert colleague.packets() > 20 and server.request("GET", f"/api/inbound/{call_id}")[1]["state"] == "connected"
    ours = lambda: [
        item["text"]
        for item in server.request("GET", f"/api/inbound/{call_id}/sip")[1]["items"]
        if item["direction"] == "sent"
    ]
    wait_until(
        lambda: any(text.startswith("BYE ") and "Call-ID: operator-" in text for text in ours()),
        what="the former phone is not told",
    )
    caller.command("hangup")
    assert wait_for_call(server)["state"] == "completed"
    assert colleague.receive().startswith("BYE ")


class Desk(Talking):
    """An operator's telephone by hand: takes the call that comes to it, and sends the caller on."""

    def request(self, method):
        while not (text := self.receive()).startswith(method + " "):
            if not text.startswith("SIP/2.0"):
                self.reply(text)
        return text

    def reply(self, request, status="200 OK", headers="", body="", tag=""):
        field = lambda name: re.search(rf"^{name}: *(.*?)\r?$", request, re.M)[1]
        lines = [line for line in request.splitlines() if line.startswith(("Via:", "Record-Route:"))]
        self.socket.sendto(
            (
                "\r\n".join(
                    [
                        f"SIP/2.0 {status}",
                        *lines,
                        f"From: {field('From')}",
                        f"To: {field('To')}{tag}",
                        f"Call-ID: {field('Call-ID')}",
                        f"CSeq: {field('CSeq')}",
                        f"Contact: <sip:kim@127.0.0.1:{self.port}>",
                    ]
                )
                + f"\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )

    def take(self):
        invite = self.request("INVITE")
        self.reply(invite, headers="Content-Type: application/sdp\r\n", body=self.body, tag=f";tag={self.tag}")
        self.request("ACK")
        field = lambda name: re.search(rf"^{name}: *(.*?)\r?$", invite, re.M)[1]
        self.call_id, self.far = field("Call-ID"), field("From")
        self.own, self.invite = f"{field('To')};tag={self.tag}", invite

    def say(self, method, sequence, headers=""):
        """A request of ours within the call."""
        self.socket.sendto(
            (
                f"{method} sip:trunkline@127.0.0.1:{self.server.sip_port} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{self.port};branch=z9hG4bK{random.getrandbits(64):x}\r\n"
                f"Max-Forwards: 70\r\nFrom: {self.own}\r\nTo: {self.far}\r\nCall-ID: {self.call_id}\r\nCSeq: {sequence} {method}\r\n"
                f"Contact: <sip:kim@127.0.0.1:{self.port}>\r\n{headers}Content-Length: 0\r\n\r\n"
            ).encode(),
            ("127.0.0.1", self.server.sip_port),
        )

    def refer(self, to):
        self.say("REFER", 2, f"Refer-To: <{to}>\r\n")

    def drain(self):
        """What came and is of no interest."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(65_536):
                pass
        self.socket.settimeout(5)


def escaped(text):
    return text.replace(";", "%3B").replace("=", "%3D").replace("@", "%40")


@pytest.mark.parametrize("is_asked_by_us", [True, False], ids=["through-us", "past-us"])
def test_the_operator_asks_a_colleague_first(make_server, phone, tmp_path, is_asked_by_us):
    """An attended transfer by the operator's own telephone (REFER with Replaces, RFC 5589 section 7): he has called the colleague, by us or straight
    from phone to phone, and gives up his place in that call to the caller."""
    server = make_server(**FAST)
    desk, other = Desk(server), None
    first = add_operator(server, password=None, address=f"sip:kim@127.0.0.1:{desk.port}")
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    if is_asked_by_us:
        second = add_operator(server, "Lee Jiwoo", "lee", "1002")
        other = phone("lee", server, tone(tmp_path / "lee.wav", 700), password=PASSWORD)
    else:
        other = Desk(server)
        second = add_operator(
            server, "Lee Jiwoo", "lee", "1002", password=None, address=f"sip:lee@127.0.0.1:{other.port}"
        )
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    desk.take()
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    if is_asked_by_us:
        registered(server, second)
        line = Talking(server, "1002")
        status, to, _ = line.call()
        assert status == 200, status
        replaces = f"{line.call_id};to-tag={re.search('tag=([^;> ]+)', to)[1].strip()};from-tag={line.tag}"
    else:
        replaces = "past-us@phone;to-tag=lee;from-tag=kim"
    time.sleep(1.5)
    desk.refer(f"sip:1002@127.0.0.1:{server.sip_port}?Replaces={escaped(replaces)}")
    assert desk.receive().startswith("SIP/2.0 202")
    if not is_asked_by_us:
        invite = other.request("INVITE")
        assert re.search(rf"^Replaces: *{re.escape(replaces)}\r?$", invite, re.M), invite
        other.reply(invite, headers="Content-Type: application/sdp\r\n", body=other.body, tag=f";tag={other.tag}")
        other.request("ACK")
    get = lambda: server.request("GET", f"/api/inbound/{call_id}")[1]
    wait_until(
        lambda: [item["outcome"] for item in get()["transfers"]] == ["connected", "connected"], 15, lambda: str(get())
    )
    assert get()["transfers"][1]["name"] == "Lee Jiwoo"
    # He hears how it went, and that both his calls are over.
    told = []
    while "200 OK" not in (told or [""])[-1]:
        notify = desk.request("NOTIFY")
        told.append(notify.split("\r\n\r\n")[1])
        desk.reply(notify)
    desk.reply(desk.request("BYE"))
    if is_asked_by_us:
        assert line.receive().startswith("BYE ")
    time.sleep(2.5)
    assert (
        not server.request("GET", f"/api/operators/{first}")[1]["in_call"]
        and server.request("GET", f"/api/operators/{second}")[1]["in_call"]
    )
    if is_asked_by_us:
        caller.command("hangup")
        wait_until(lambda: all(item["state"] == "completed" for item in inbound(server)), 15)
        assert seconds_of(caller.heard(), 700) > 1.5 and seconds_of(other.heard(), 1000) > 1.5
        assert not server.request("GET", f"/api/operators/{second}")[1]["in_call"]
    else:
        assert other.packets() > 80


def test_a_colleague_who_cannot_make_room(make_server, phone, tmp_path):
    """A Replaces that names no dialog of anybody's: the operator hears so, and goes on talking with the caller."""
    server = make_server(**FAST)
    desk = Desk(server)
    add_operator(server, password=None, address=f"sip:kim@127.0.0.1:{desk.port}")
    known = add_operator(server, "Lee Jiwoo", "lee", "1002")
    phone("lee", server, silence(tmp_path / "lee.wav"), password=PASSWORD)
    registered(server, known)
    caller = phone("01098765432", server, tone(tmp_path / "caller.wav", 1000))
    caller.dial(f"sip:1001@127.0.0.1:{server.sip_port}")
    desk.take()
    call_id = wait_for_call(server, {"connected"})["inbound_id"]
    desk.refer(f"sip:1002@127.0.0.1:{server.sip_port}?Replaces=nobody%3Bto-tag%3Da%3Bfrom-tag%3Db")
    assert desk.receive().startswith("SIP/2.0 202")
    told = ""
    while not re.search("SIP/2.0 [2-6]", told):
        notify = desk.request("NOTIFY")
        told = notify.split("\r\n\r\n")[1]
        desk.reply(notify)
    assert "SIP/2.0 480" in told
    desk.packets()
    time.sleep(1)
    assert desk.packets() > 30 and server.request("GET", f"/api/inbound/{call_id}")[1]["state"] == "connected"


def test_sessions_are_refreshed_or_given_up(make_server):
    """RFC 4028, two calls of 90 s each: one that we refresh in time, and one whose caller should and does not (section 10: a BYE by a third before the end)."""
    server = make_server(**FAST)
    began, pairs = time.monotonic(), {}
    for number, refresher in enumerate(["uas", "uac"]):
        desk, caller = Desk(server), Talking(server, f"100{number}")
        add_operator(
            server,
            f"Kim {number}",
            f"kim{number}",
            f"100{number}",
            password=None,
            address=f"sip:kim{number}@127.0.0.1:{desk.port}",
        )
        caller.send(
            "INVITE",
            f"Session-Expires: 90;refresher={refresher}\r\nMin-SE: 90\r\nSupported: timer\r\nAllow: INVITE, ACK, BYE, UPDATE\r\n"
            "Content-Type: application/sdp\r\n",
            caller.body,
        )
        desk.take()
        answer = caller.receive()
        assert answer.startswith("SIP/2.0 200") and f"refresher={refresher}" in answer.replace("; ", ";"), answer
        caller.to = re.search(r"^To: (.*)\r$", answer, re.M)[1]
        caller.send("ACK")
        for end, told in ((caller, answer), (desk, desk.invite)):
            end.far_rtp = int(re.search(r"^m=audio (\d+)", told, re.M)[1])
        pairs[refresher] = (caller, desk)
    seen, sequence = {}, 0
    while len(seen) < 2 and time.monotonic() - began < 100:
        sequence += 1
        for refresher, ends in pairs.items():
            for end in ends:
                # A sign of life now and then: a silent line is hung up.
                end.rtp.sendto(
                    b"\x80\x00"
                    + sequence.to_bytes(2, "big")
                    + (sequence * 160).to_bytes(4, "big")
                    + b"test"
                    + b"\xff" * 160,
                    ("127.0.0.1", end.far_rtp),
                )
            caller = ends[0]
            caller.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                request = caller.receive()
                assert refresher not in seen or request.split(" ")[0] == seen[refresher][0], request
                seen.setdefault(refresher, (request.split(" ")[0], time.monotonic() - began))
                # A refresh is answered with what has been agreed on.
                Desk.reply(
                    caller,
                    request,
                    headers="Session-Expires: 90;refresher=uac\r\nRequire: timer\r\n"
                    if request.startswith("UPDATE")
                    else "",
                )
    assert seen["uas"][0] == "UPDATE" and 20 < seen["uas"][1] < 80, seen
    assert seen["uac"][0] == "BYE" and 50 < seen["uac"][1] < 92, seen
    wait_until(
        lambda: sorted(item["state"] for item in inbound(server)) == ["completed", "connected"],
        what=lambda: str(inbound(server)),
    )
