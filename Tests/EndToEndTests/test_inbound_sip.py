"""Inbound calls, message by message: late offers, and callers that no request can be sent to."""

import re
import subprocess
import time

import pytest
from inbound_calls import FAST, NUMBER, Phone, wait_for_call
from ports import free_port
from sipp_scenarios import SDP

UAC = """<?xml version="1.0" encoding="UTF-8"?>
<scenario name="late offer">
  <send retrans="500"><![CDATA[
      INVITE sip:{number}@[remote_ip]:[remote_port] SIP/2.0
      Via: SIP/2.0/[transport] 127.0.0.1:[local_port];branch=[branch]
      From: <sip:01011112222@127.0.0.1:[local_port]>;tag=[call_number]
      To: <sip:{number}@[remote_ip]:[remote_port]>
      Call-ID: [call_id]
      CSeq: 1 INVITE
      Contact: <sip:x@127.0.0.1:[local_port]>
      Max-Forwards: 70
      Content-Length: 0

  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="200" rrs="true"/>
  <send><![CDATA[
      ACK [next_url] SIP/2.0
      Via: SIP/2.0/[transport] 127.0.0.1:[local_port];branch=[branch]
      From: <sip:01011112222@127.0.0.1:[local_port]>;tag=[call_number]
      [last_To:]
      Call-ID: [call_id]
      CSeq: 1 ACK
      Max-Forwards: 70
{sdp}
  ]]></send>
  <pause milliseconds="2000"/>
  <send retrans="500"><![CDATA[
      BYE [next_url] SIP/2.0
      Via: SIP/2.0/[transport] 127.0.0.1:[local_port];branch=[branch]
      From: <sip:01011112222@127.0.0.1:[local_port]>;tag=[call_number]
      [last_To:]
      Call-ID: [call_id]
      CSeq: 2 BYE
      Max-Forwards: 70
      Content-Length: 0

  ]]></send>
  <recv response="200"/>
</scenario>
"""


@pytest.mark.parametrize("transport", ["u1", "t1"])
def test_a_late_offer_is_answered_in_the_ack(make_server, tmp_path, transport):
    server = make_server(TRUNKLINE_INBOUND_RING_MS="0", TRUNKLINE_LOG_LEVEL="debug")
    (tmp_path / "uac.xml").write_text(UAC.format(number=NUMBER, sdp=SDP.format(rtp=free_port())))
    done = subprocess.run(
        [
            "sipp",
            f"127.0.0.1:{server.sip_port}",
            "-sf",
            str(tmp_path / "uac.xml"),
            "-i",
            "127.0.0.1",
            "-p",
            str(free_port()),
            "-m",
            "1",
            "-t",
            transport,
            "-nostdin",
            "-timeout",
            "20",
        ],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=40,
    )
    call = wait_for_call(server)
    assert done.returncode == 0 and (call["state"], call["end_reason"], call["caller_number"]) == (
        "completed",
        "callee_hangup",
        "01011112222",
    ), call
    names = [event["event"] for event in server.request("GET", f"/api/inbound/{call['inbound_id']}/events")[1]["items"]]
    assert names[-1] == "inbound_ended" and "inbound_connected" in names
    log = (server.folder / "server.log").read_text()
    assert "01011112222" not in log and NUMBER not in log


@pytest.mark.parametrize(
    "contact",
    [
        "<isbn:2983792873>",
        "<sip:lee@127.0.0.1:99999>",
        "<sip:lee@127.0.0.1:5066;transport=carrier-pigeon>",
        "<mailto:lee@example.com>",
    ],
)
def test_a_caller_with_an_unreachable_contact_does_no_harm(make_server, contact):
    """sofia would make our BYE again and again until its stack is full, which ends the process: the call ends instead,
    and others come in."""
    server = make_server(**FAST)
    phone = Phone(server)
    send = phone.socket.sendto
    body = SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1].format(rtp=free_port())

    class Rewriting:
        def sendto(self, data, target):
            return send(re.sub(rb"Contact: <[^>]*>", b"Contact: " + contact.encode(), data), target)

        def __getattr__(self, name):
            return getattr(plain, name)

    plain, phone.socket = phone.socket, Rewriting()
    phone.send("INVITE", "Content-Type: application/sdp\r\n", body)
    answer = phone.receive()
    if answer.startswith("SIP/2.0 200"):
        phone.send("ACK", to=re.search(r"^To: (.*)\r$", answer, re.M)[1])
        call = wait_for_call(server, {"connected"})
        assert server.request("POST", f"/api/inbound/{call['inbound_id']}/hangup", {})[0] == 202
        wait_for_call(server)
    time.sleep(1)
    assert server.process.poll() is None and Phone(server).status("OPTIONS") == 200
    no_contact = Phone(server)
    text = (
        f"INVITE sip:{NUMBER}@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{no_contact.port};branch=z9hG4bKnone\r\n"
        "Max-Forwards: 70\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:c@d>\r\nCall-ID: none\r\nCSeq: 1 INVITE\r\n"
        "Content-Length: 0\r\n\r\n"
    )
    no_contact.socket.sendto(text.encode(), ("127.0.0.1", server.sip_port))
    assert no_contact.receive().startswith("SIP/2.0 400")
