"""Kamailio in front, by deploy/kamailio: a proxy that stays in the dialog, and a registrar for the phones."""

import socket
import subprocess
import time

import pytest
from conftest import ROOT
from inbound_calls import NUMBER, wait_for_call
from operators import FAST, PASSWORD, add_operator, registered, stereo, wait_until
from phones import seconds_of, speech, tone
from ports import free_port
from test_trunks import NUMBERED


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
    """Our INVITE by digest through the proxy, which stays in the dialog (Record-Route): a whole conversation, both
    answers."""
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


@pytest.mark.early
def test_the_whole_way_behind_kamailio(make_server, phone, kamailio, tmp_path):
    """A phone registers at Kamailio and calls an operator of ours who is away; the AI answers, and hands over to a
    colleague."""
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
    assert seconds_of(caller.heard(), 500) > 1.5 and seconds_of(stereo(server, call_id, tmp_path)[:, 1], 500) > 1.5
