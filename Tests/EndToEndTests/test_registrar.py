"""Phones of operators register (RFC 3261 section 10); addresses that guess numbers and passwords are blocked."""

import re
import shutil
import subprocess

import pytest
from operators import PASSWORD, Passing, Registering, add_operator, registered
from ports import free_port


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_registrations_are_checked_by_the_rules_of_digest(make_server, algorithm):
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
    assert phone.send("lee", prove(3))[0] == 403, "a phone cannot register for another operator"
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


def test_unknown_users_and_wrong_passwords_get_the_same_answer(server):
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


def test_scanners_are_blocked(server):
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


@pytest.mark.parametrize("tool", ["svwar", "svcrack"])
def test_the_tools_of_scanners_find_nothing(make_server, tmp_path, tool):
    """SIPVicious itself, with the right number and the right password in its dictionary, against a server that hears it
    by another address than its own."""
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
