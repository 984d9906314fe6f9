"""sipp as the callee, in scenarios of our own: every way an INVITE can end, and BYE from both sides."""

import time

import pytest
from conftest import ATTEND
from ports import free_port
from realtime_calls import realtime
from sipp_scenarios import OK_TO_LAST, SDP, TAKE_FROM, Sipp, answer, in_dialog, reply

REFUSALS = {
    "486 Busy Here": "busy",
    "600 Busy Everywhere": "busy",
    "603 Decline": "rejected",
    "608 Rejected": "rejected",
    "404 Not Found": "failed",
    "403 Forbidden": "failed",
    "480 Temporarily Unavailable": "no_answer",
    "408 Request Timeout": "no_answer",
    "503 Service Unavailable": "failed",
    "500 Server Internal Error": "failed",
    "488 Not Acceptable Here": "failed",
}


def test_every_refusal_has_its_state(server, tmp_path):
    calls = {}
    for status, state in REFUSALS.items():
        peer = Sipp(
            tmp_path,
            reply("180 Ringing")
            + reply(status, extra="Retry-After: 1" if status.startswith("503") else "")
            + '  <recv request="ACK"/>\n',
        )
        calls[status] = (peer, server.create(peer.address, [ATTEND]), state)
    for status, (peer, call_id, state) in calls.items():
        call = server.wait_for(call_id, seconds=40)
        assert call["state"] == state and call["attempts"][0]["code"] == int(status[:3]) and call["failure_reason"], (
            status,
            call,
        )
        assert call["attempt_count"] == 1
        assert peer.finish() == 0, f"{status}: sipp was not satisfied"


def test_a_redirect_is_not_followed(server, tmp_path):
    victim = Sipp(tmp_path, reply("603 Decline"))
    peer = Sipp(
        tmp_path,
        reply("302 Moved Temporarily", extra=f"Contact: <sip:fraud@127.0.0.1:{victim.port}>")
        + '  <recv request="ACK"/>\n',
    )
    call = server.wait_for(server.create(peer.address, [ATTEND]), seconds=20)
    assert call["state"] == "failed" and call["attempts"][0]["code"] == 302
    assert peer.finish() == 0
    time.sleep(0.5)
    assert "INVITE" not in victim.messages
    victim.process.kill()
    victim.process.wait()


def test_no_answer_is_cancelled_at_the_ring_timeout(make_server, tmp_path):
    server = make_server(TRUNKLINE_OUTBOUND_RING_TIMEOUT="2")
    peer = Sipp(tmp_path, reply("180 Ringing") + '  <recv request="CANCEL"/>\n' + OK_TO_LAST)
    call = server.wait_for(server.create(peer.address, [ATTEND]), seconds=30)
    assert call["state"] == "no_answer" and "2 s" in call["failure_reason"]
    assert peer.finish() == 0, "no CANCEL came"


def test_our_invite_has_the_documented_headers(server, tmp_path):
    peer = Sipp(tmp_path, reply("486 Busy Here") + '  <recv request="ACK"/>\n')
    call_id = server.create(peer.address, [ATTEND])
    call = server.wait_for(call_id, seconds=20)
    assert peer.finish() == 0
    text = peer.messages
    assert f"X-Outbound-Call-ID: {call_id}" in text and f"Call-ID: outbound-{call_id}-" in text and ";tag=outb-" in text
    assert call["call_id"].startswith(f"outbound-{call_id}-")
    assert (
        "s=Talk" in text
        and "a=rtcp:" in text
        and "m=audio" in text
        and "telephone-event/8000" in text
        and "Riverside Restaurant" in text
    )


def test_a_bye_from_the_callee_ends_the_call(server, tmp_path):
    bye = '  <pause milliseconds="1500"/>\n' + in_dialog(server, "BYE", 2) + '  <recv response="200"/>\n'
    peer = Sipp(tmp_path, answer(free_port()) + bye, invite=TAKE_FROM)
    call_id = server.create(peer.address, [ATTEND])
    call = server.wait_for(call_id, seconds=30)
    assert call["state"] == "completed" and call["end_reason"] == "callee_hangup"
    assert server.result(call_id)["answers"][0]["status"] in ("not_asked", "unclear")
    assert peer.finish() == 0, "our answer to BYE was not right"


def test_a_reinvite_holds_and_resumes_the_call(server, tmp_path):
    def reinvite(cseq, body, expected, name):
        return (
            '  <pause milliseconds="500"/>\n'
            + in_dialog(server, "INVITE", cseq, body)
            + '  <recv response="100" optional="true"/>\n'
            f'  <recv response="200"><action><ereg regexp="a={expected}" search_in="body" '
            f'check_it="true" assign_to="{name}"/></action></recv>\n' + in_dialog(server, "ACK", cseq, retransmit=False)
        )

    rtp = free_port()
    hold = reinvite(2, SDP.format(rtp=rtp) + "      a=sendonly\n", "recvonly", "held")
    resume = reinvite(3, SDP.format(rtp=rtp), "sendrecv", "back")
    steps = (
        answer(rtp)
        + hold
        + resume
        + '  <recv request="BYE" timeout="30000"/>\n'
        + OK_TO_LAST
        + '  <Reference variables="held,back"/>\n'
    )
    peer = Sipp(tmp_path, steps, invite=TAKE_FROM)
    call_id = server.create(peer.address, [ATTEND])
    server.wait_for(call_id, {"connected"}, seconds=20)
    deadline = time.time() + 15
    while peer.messages.count("ACK sip:") < 3:
        assert time.time() < deadline and peer.process.poll() is None, peer.messages[-2000:]
        time.sleep(0.2)
    assert server.call(call_id)["state"] == "connected"
    server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")
    assert peer.finish() == 0, "a re-INVITE was not answered as it should be"


def notify(server, cseq, status):
    """RFC 3515 §2.4.4: how the call we were referred to goes."""
    over = not status.startswith("1")
    return (
        in_dialog(
            server,
            "NOTIFY",
            cseq,
            f"""\
      Event: refer
      Subscription-State: {"terminated;reason=noresource" if over else "active;expires=60"}
      Content-Type: message/sipfrag;version=2.0
      Content-Length: [len]

      SIP/2.0 {status}
""",
        )
        + '  <recv response="200"/>\n'
    )


def refer(status):
    check = (
        '<action><ereg regexp="sip:operator@127.0.0.1:9" search_in="hdr" header="Refer-To:" check_it="true" '
        'assign_to="target"/></action>'
    )
    return f'  <recv request="REFER" timeout="20000">{check}</recv>\n' + reply(status)


GREETING, PUT_THROUGH, SORRY = (
    "Hello, this is Riverside Restaurant.",
    "I will put you through.",
    "I am sorry, nobody answers.",
)
ASKED = {"text": GREETING, "ms": 400, "tools": [("transfer_to_operator", {})]}


def transferring(make_server, tmp_path, model, turns, steps):
    """A call whose model wants an operator at once; the callee does what `steps` say."""
    mock = model(turns)
    server = make_server(
        **realtime(
            mock,
            TRUNKLINE_OPERATORS_TRANSFER_MODE="blind",
            TRUNKLINE_OPERATORS_NUMBER="sip:operator@127.0.0.1:9",
            TRUNKLINE_OUTBOUND_RING_TIMEOUT="3",
        )
    )
    bye = '  <recv request="BYE" timeout="30000"/>\n' + OK_TO_LAST
    peer = Sipp(
        tmp_path,
        answer(free_port()) + steps(server, bye) + '  <Reference variables="from,target"/>\n',
        invite=TAKE_FROM,
    )
    call_id = server.create(peer.address, [ATTEND])
    call = server.wait_for(call_id, seconds=40)
    assert peer.finish() == 0, peer.messages[-3000:]
    return mock, call, [entry["text"] for entry in server.result(call_id)["transcript"]]


def test_a_call_can_be_transferred_to_an_operator(make_server, tmp_path, model):
    mock, call, said = transferring(
        make_server,
        tmp_path,
        model,
        [ASKED],
        lambda server, bye: (
            refer("202 Accepted") + notify(server, 2, "180 Ringing") + notify(server, 3, "200 OK") + bye
        ),
    )
    assert (call["state"], call["end_reason"]) == ("completed", "transferred") and said == [GREETING], (call, said)
    assert "transfer_to_operator" in {tool["name"] for tool in mock.messages("session.update")[0]["session"]["tools"]}


def test_a_bye_after_an_accepted_refer_counts_as_transferred(make_server, tmp_path, model):
    _, call, _ = transferring(
        make_server,
        tmp_path,
        model,
        [ASKED],
        lambda server, bye: (
            refer("202 Accepted")
            + '  <pause milliseconds="300"/>\n'
            + in_dialog(server, "BYE", 2)
            + '  <recv response="200"/>\n'
        ),
    )
    assert (call["state"], call["end_reason"]) == ("completed", "transferred"), call


def test_a_transfer_is_announced(make_server, tmp_path, model):
    mock, call, said = transferring(
        make_server,
        tmp_path,
        model,
        [{**ASKED, "text": "", "ms": 0}, {"text": PUT_THROUGH, "ms": 500}],
        lambda server, bye: refer("202 Accepted") + notify(server, 2, "200 OK") + bye,
    )
    assert call["end_reason"] == "transferred" and said == [PUT_THROUGH], said
    assert "putting them through" in mock.messages("response.create")[-1]["response"]["instructions"]


@pytest.mark.parametrize(
    "answers",
    [
        lambda server: refer("202 Accepted") + notify(server, 2, "603 Decline"),
        lambda server: refer("403 Forbidden"),
        lambda server: refer("202 Accepted") + notify(server, 2, "100 Trying"),
    ],
    ids=["declined", "refused", "unanswered"],
)
def test_the_conversation_goes_on_after_a_failed_transfer(make_server, tmp_path, model, answers):
    mock, call, said = transferring(
        make_server,
        tmp_path,
        model,
        [ASKED, {"text": SORRY, "ms": 500, "tools": [("end_call", {"reason": "task_completed"})]}],
        lambda server, bye: answers(server) + bye,
    )
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed") and said == [GREETING, SORRY], (
        call,
        said,
    )
    assert "Nobody could take the call" in str(mock.messages("conversation.item.create"))


def test_our_bye_ends_the_call(server, tmp_path):
    peer = Sipp(tmp_path, answer(free_port()) + '  <recv request="BYE" timeout="30000"/>\n' + OK_TO_LAST)
    call_id = server.create(peer.address, [ATTEND])
    server.wait_for(call_id, {"connected"}, seconds=20)
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")[0] == 202
    assert server.wait_for(call_id)["end_reason"] == "operator_hangup"
    assert peer.finish() == 0, "no BYE came"


def test_an_answer_without_a_codec_of_ours_fails(server, tmp_path):
    body = SDP.format(rtp=free_port()).replace("RTP/AVP 0 101", "RTP/AVP 18").replace("rtpmap:0 PCMU", "rtpmap:18 G729")
    peer = Sipp(tmp_path, reply("200 OK", body) + '  <recv request="ACK"/>\n  <recv request="BYE"/>\n' + OK_TO_LAST)
    call = server.wait_for(server.create(peer.address, [ATTEND]), seconds=20)
    assert call["state"] == "failed" and "codec" in call["failure_reason"]
    assert peer.finish() == 0


def test_a_digest_challenge_of_a_gateway_is_answered(make_server, tmp_path):
    challenge = reply(
        "407 Proxy Authentication Required",
        extra='Proxy-Authenticate: Digest realm="trunk", nonce="abc", algorithm=MD5, qop="auth"',
    )
    steps = (
        challenge + '  <recv request="ACK"/>\n'
        '  <recv request="INVITE"><action><ereg regexp="Digest .*username=.alice." search_in="hdr" '
        'header="Proxy-Authorization:" check_it="true" assign_to="1"/></action></recv>\n'
        + reply("486 Busy Here")
        + '  <recv request="ACK"/>\n  <Reference variables="1"/>\n'
    )
    peer = Sipp(tmp_path, steps)
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{peer.port}",
        TRUNKLINE_SIP_GATEWAY_USERNAME="alice",
        TRUNKLINE_SIP_GATEWAY_PASSWORD="secret-word",
    )
    call = server.wait_for(server.create("010-1234-5678", [ATTEND]), seconds=20)
    assert call["state"] == "busy", call
    assert peer.finish() == 0
    assert (
        "sip:01012345678@127.0.0.1" in peer.messages and "secret-word" not in (server.folder / "server.log").read_text()
    )
    # Without credentials the gateway's refusal is the reason.
    peer = Sipp(tmp_path, challenge + '  <recv request="ACK"/>\n')
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY=f"127.0.0.1:{peer.port}")
    call = server.wait_for(server.create("01012345678", [ATTEND]), seconds=20)
    assert call["state"] == "failed" and "credentials" in call["failure_reason"]
    peer.finish()
