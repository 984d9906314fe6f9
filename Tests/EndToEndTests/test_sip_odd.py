"""Odd messages of the kinds in RFC 4475 and RFC 5118, in our own words: those that once got a wrong answer or none; and
bodies that an ACK must not have."""

import time

import pytest
from inbound_calls import FAST, inbound
from operators import add_operator, wait_until
from test_sip_requests import Caller, sdp
from test_torture import CALM, answers, probe, verdict

METHOD = "%odd-Method_9*+`.!~'"

ODD = [
    # RFC 4475 §3.1.1.2: every character that a token, a user or a quoted text may have.
    (
        "501",
        (
            f"{METHOD} sip:9_odd.user~(so-so!)&x=1+y$/a?b,c;;*:p&w,d=$.!@example.com SIP/2.0\r\n"
            "Via: SIP/2.0/TCP client.example.net;branch=z9hG4bK.!%7*_+`'~-\r\n"
            'To: "bell \\\x07 nothing \\\x00 delete \\\x7f" <sip:9_odd.user~(so-so!)@example.com>\r\n'
            'From: one~` two\'+_ three*%!.- <sip:plain@example.com>;x~\'+*_!.-%="щука";tag=_t~9\'+`*%!-.\r\n'
            'Call-ID: odd%ZK-!.*_+\'@odd`~)(><:\\/"][?}{\r\n'
            f"CSeq: 77 {METHOD}\r\nMax-Forwards: 255\r\nx-odd-!.%*+_`'~: ☎\r\nContent-Length: 0\r\n\r\n"
        ),
    ),
    # RFC 4475 §3.1.2.8: white space in a Request-URI, within a dialog that is not known.
    (
        "400",
        (
            "INVITE sip:kim@example.com; lr SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.7:5060;branch=z9hG4bKodd2\r\n"
            "To: <sip:kim@example.com>;tag=far\r\nFrom: <sip:lee@example.net>;tag=near\r\nCall-ID: odd-space\r\n"
            "CSeq: 2130706432 INVITE\r\nMax-Forwards: 5\r\nContact: <sip:lee@client.example.net>\r\n"
            "Content-Length: 0\r\n\r\n"
        ),
    ),
    # RFC 5118 §4.2: an IPv6 address without brackets.
    (
        "400",
        (
            "REGISTER sip:2001:db8::7 SIP/2.0\r\nVia: SIP/2.0/UDP [2001:db8::9:7];branch=z9hG4bKodd3\r\n"
            "To: <sip:kim@example.com>\r\nFrom: <sip:kim@example.com>;tag=odd\r\nCall-ID: odd-brackets\r\n"
            'CSeq: 7 REGISTER\r\nMax-Forwards: 70\r\nContact: "Kim" <sip:kim@[2001:db8::7]>\r\n'
            "Content-Length: 0\r\n\r\n"
        ),
    ),
    # RFC 5118 §4.9: IPv4 addresses written as IPv6 ones.
    (
        "accept 488",
        (
            "INVITE sip:kim@example.com SIP/2.0\r\nVia: SIP/2.0/UDP [::ffff:192.0.2.70]:19823;branch=z9hG4bKodd4\r\n"
            "Via: SIP/2.0/UDP [::ffff:192.0.2.7];branch=z9hG4bKodd5\r\nTo: <sip:kim@example.com>\r\n"
            "From: <sip:lee@example.net>;tag=odd\r\nCall-ID: odd-mapped\r\nCSeq: 612 INVITE\r\nMax-Forwards: 70\r\n"
            'Contact: "Lee" <sip:lee@[::ffff:192.0.2.7]>\r\nContent-Type: application/sdp\r\n'
            "Content-Length: 121\r\n\r\n"
            "v=0\r\no=lee 1 1 IN IP6 ::ffff:192.0.2.7\r\ns=-\r\nc=IN IP6 ::ffff:192.0.2.7\r\nt=0 0\r\n"
            "m=audio 6000 RTP/AVP 0\r\na=sendrecv\r\n"
        ),
    ),
]


@pytest.mark.parametrize("wanted, message", ODD, ids=["intmeth", "lwsruri", "ipv6-bad", "ipv4-mapped"])
def test_odd_messages_get_the_required_answer(make_server, wanted, message):
    server = make_server(**CALM, TRUNKLINE_INBOUND_NUMBERS="1")
    add_operator(server)
    head, _, body = message.partition("\r\n\r\n")
    data = message.encode()
    if body:
        data = data.replace(b"Content-Length: 121", b"Content-Length: %d" % len(body.encode()))
    statuses = answers(data, server) or answers(data, server, transport="TCP")
    assert verdict(data, statuses, wanted.split()), statuses
    probe(server)
    assert server.process.poll() is None


BAD_ANSWERS = {
    "no SDP": "this is no session description",
    "nothing in common": sdp().partition("m=")[0] + "m=video 9 RTP/AVP 31\r\n",
    "a multicast address": sdp("224.0.0.1"),
    "a refused stream": sdp(port=0),
}


def called(caller, body):
    """INVITE, and the 200 to it; the ACK is the test's own."""
    caller.send("INVITE", body=body)
    deadline = time.time() + 10
    while time.time() < deadline:
        message = caller.receive(5)
        if message and message.startswith("SIP/2.0 200"):
            line = next(line for line in message.split("\r\n") if line.lower().startswith("to:"))
            caller.remote_tag = line.split("tag=")[1].split(";")[0]
            return
    raise AssertionError("the call was not answered")


@pytest.mark.parametrize("kind", BAD_ANSWERS)
def test_a_body_in_an_ack_changes_no_call_whose_offer_was_answered(make_server, kind):
    """RFC 3261 §13.2.1: the ACK has an answer only if the 200 had the offer."""
    server = make_server(**FAST)
    caller = Caller(server)
    called(caller, sdp())
    caller.send("ACK", body=BAD_ANSWERS[kind], sequence=caller.sequence)
    deadline = time.time() + 2
    while time.time() < deadline:
        assert not (caller.receive(0.2) or "").startswith("BYE"), "the call was ended"
    assert [call["state"] for call in inbound(server)] == ["connected"]
    assert caller.request("BYE") == 200
    caller.close()


@pytest.mark.parametrize("kind", BAD_ANSWERS)
def test_a_bad_answer_in_an_ack_ends_that_call_alone(make_server, kind):
    """The offer was ours, in the 200: a call without sound has no use (RFC 3261 §13.2.2.4: ACK, and then BYE)."""
    server = make_server(**FAST)
    good, bad = Caller(server), Caller(server)
    assert good.request("INVITE", body=sdp()) == 200
    called(bad, "")
    bad.send("ACK", body=BAD_ANSWERS[kind], sequence=bad.sequence)
    deadline, heard = time.time() + 10, ""
    while not heard.startswith("BYE") and time.time() < deadline:
        heard = bad.receive(1) or ""
    assert heard.startswith("BYE"), heard
    # Calls are written in the background.
    wait_until(lambda: [call["state"] for call in inbound(server)].count("connected") == 1, what="the other call ended")
    assert good.request("BYE") == 200 and server.process.poll() is None
    good.close(), bad.close()
