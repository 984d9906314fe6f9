"""INVITE with Replaces (RFC 3891), and transfers that need it: another phone takes a place in a call."""

import re
import time

import pytest
from inbound_calls import NUMBER, inbound, wait_for_call
from operators import FAST, PASSWORD, Desk, Talking, add_operator, digest, escaped, registered, wait_until
from phones import seconds_of, silence, tone


def test_replaces_moves_a_caller_to_another_phone(make_server):
    """INVITE with Replaces (RFC 3891): only a phone that authenticates itself takes over the conversation."""
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
        assert status == 401, "an unproven caller is challenged"
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


def test_replaces_moves_an_operator_to_another_phone(make_server, phone, tmp_path):
    """The same for the person whom a caller talks with: a colleague picks the call up, and the caller notices nothing
    but the voice."""
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


@pytest.mark.parametrize("is_asked_by_us", [True, False], ids=["through-us", "past-us"])
def test_an_operator_can_consult_a_colleague_before_a_transfer(make_server, phone, tmp_path, is_asked_by_us):
    """An attended transfer by the operator's own telephone (REFER with Replaces, RFC 5589 section 7): the
    operator has called the colleague, through us or directly from phone to phone, and transfers that call to the
    caller."""
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
        assert seconds_of(caller.heard(), 700) > 1.2 and seconds_of(other.heard(), 1000) > 1.2
        assert not server.request("GET", f"/api/operators/{second}")[1]["in_call"]
    else:
        assert other.packets() > 80


def test_a_replaces_without_its_dialog_fails_and_the_call_goes_on(make_server, phone, tmp_path):
    """A Replaces that names an unknown dialog: the operator hears so, and goes on talking with the caller."""
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
