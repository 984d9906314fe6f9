"""Carriers found by their domain (RFC 3263), with a name server of the test's own."""

import time

import pytest
from conftest import ATTEND
from inbound_calls import Phone as Hand
from name_server import NameServer, may_mount, with_names
from operators import wait_until
from ports import free_port
from sipp_scenarios import Sipp, reply
from test_trunks import NUMBERED


@pytest.mark.may_skip("a mount namespace")
@may_mount
@pytest.mark.parametrize("service, prefix", [("SIP+D2U", "_sip._udp"), ("SIP+D2T", "_sip._tcp"), (None, "_sip._udp")])
def test_a_carrier_is_found_by_its_domain(make_server, tmp_path, service, prefix):
    """RFC 3263: NAPTR gives the transport, SRV the servers in order, A the address; unreachable servers are skipped."""
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
    server = make_server(
        launcher=with_names(tmp_path, names.address), TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="carrier.test"
    )
    call = server.wait_for(server.create(NUMBERED, [ATTEND]), seconds=60)
    assert call["state"] == "busy", (call["failure_reason"], names.asked)
    assert last.finish() == 0
    assert ("carrier.test", "NAPTR") in names.asked and (f"{prefix}.carrier.test", "SRV") in names.asked


@pytest.mark.may_skip("a mount namespace")
@may_mount
def test_a_silent_name_server_delays_no_other_call(make_server, tmp_path):
    """A name that is never answered for: its call fails with a reason, and every other one goes on meanwhile."""
    names = NameServer(
        {("slow.test", kind): None for kind in ("NAPTR", "SRV", "A", "28")} | {("_sip._udp.slow.test", "SRV"): None}
    )
    server = make_server(
        launcher=with_names(tmp_path, names.address),
        TRUNKLINE_OUTBOUND_RING_TIMEOUT="8",
        TRUNKLINE_OUTBOUND_SIP_HOSTS="slow.test,127.0.0.1",
    )
    slow = server.create("sip:nobody@slow.test", [ATTEND])
    wait_until(lambda: names.asked, what="the name was not asked for")
    for _ in range(5):
        begun = time.time()
        assert Hand(server).status("OPTIONS") == 200 and time.time() - begun < 0.5
        time.sleep(0.2)
    quick = Sipp(tmp_path, reply("486 Busy Here") + '  <recv request="ACK"/>\n')
    assert server.wait_for(server.create(quick.address, [ATTEND]), seconds=5)["state"] == "busy"
    call = server.wait_for(slow, seconds=40)
    assert call["state"] in ("failed", "no_answer") and call["failure_reason"], call


@pytest.mark.may_skip("a mount namespace")
@may_mount
@pytest.mark.parametrize("address", ["255.255.255.255", "2001:db8::53", "127.254.254.254"])
def test_a_name_server_that_cannot_be_reached_stops_nothing(make_server, tmp_path, address):
    """No socket can be connected to the first two (EACCES, ENETUNREACH), and nobody listens at the third. sofia tried
    again without a pause: the SIP thread stood still, and the process was ended after ten seconds. Any INVITE with a
    name in its Contact was enough."""
    server = make_server(launcher=with_names(tmp_path, address), TRUNKLINE_OUTBOUND_SIP_HOSTS="gone.test,127.0.0.1")
    gone = server.create("sip:nobody@gone.test", [ATTEND])
    for _ in range(8):
        begun = time.time()
        assert Hand(server).status("OPTIONS") == 200 and time.time() - begun < 0.5
        time.sleep(0.2)
    assert server.request("GET", "/health", key=None)[0] == 200
    server.request("POST", f"/api/outbound/{gone}/cancel", {})
    assert server.wait_for(gone, seconds=40)["state"] in ("failed", "no_answer", "cancelled")
