"""Every way a call that comes in can end, twenty times over: 35 s later nothing of it is left."""
import os
import re
import threading
import time

from conftest import free_port
from test_inbound import FAST, REFUSED, Phone, inbound
from test_sipp import SDP

TIMES = 20
BODY = SDP.replace("      ", "").replace("\n", "\r\n").split("\r\n\r\n", 1)[1]
OFFER = "Content-Type: application/sdp\r\n"


def answered(phone):
    phone.send("INVITE", OFFER, BODY.format(rtp=free_port()))
    answer = phone.receive()
    assert answer.startswith("SIP/2.0 200"), answer
    return re.search(r"^To: (.*)\r$", answer, re.M)[1]


def hangs_up(phone):
    to = answered(phone)
    phone.send("ACK", to=to)
    time.sleep(0.3)
    assert phone.status("BYE", sequence=2, to=to) == 200


def never_acknowledges(phone):
    answered(phone)


def hangs_up_before_the_ack(phone):
    to = answered(phone)
    phone.send("BYE", sequence=2, to=to)


def gives_up(phone):
    branch = phone.send("INVITE", OFFER, BODY.format(rtp=free_port()))
    phone.send("CANCEL", branch=branch)
    phone.receive()


def offers_what_nobody_speaks(phone):
    phone.send("INVITE", OFFER, REFUSED)
    assert phone.receive().startswith("SIP/2.0 488")


def offers_late(phone):
    phone.send("INVITE")
    answer = phone.receive()
    to = re.search(r"^To: (.*)\r$", answer, re.M)[1]
    phone.send("ACK", OFFER, BODY.format(rtp=free_port()), to=to)
    time.sleep(0.3)
    phone.send("BYE", sequence=2, to=to)


def asks_twice(phone):
    to = answered(phone)
    phone.send("ACK", to=to)
    phone.send("INVITE", OFFER, BODY.format(rtp=free_port()) + "a=sendonly\r\n", sequence=2, to=to)
    assert "a=recvonly" in phone.receive()
    phone.send("ACK", sequence=2, to=to)
    phone.send("BYE", sequence=3, to=to)


SCENARIOS = [hangs_up, never_acknowledges, hangs_up_before_the_ack, gives_up, offers_what_nobody_speaks, offers_late, asks_twice]


def descriptors(server):
    """Sockets by kind; the database opens and closes files as it likes."""
    kinds = [os.readlink(f"/proc/{server.process.pid}/fd/{name}") for name in os.listdir(f"/proc/{server.process.pid}/fd")]
    return sum(kind.startswith("socket:") for kind in kinds)


def test_nothing_is_left(make_server):
    server = make_server(**FAST, TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="500")
    time.sleep(1)
    before, failures = descriptors(server), []

    def run(scenario):
        phone = Phone(server)
        try:
            scenario(phone)
        except (AssertionError, OSError) as error:
            failures.append((scenario.__name__, repr(error)))
        finally:
            phone.socket.close()

    for _ in range(TIMES):
        threads = [threading.Thread(target=run, args=(scenario,)) for scenario in SCENARIOS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures, failures[:5]
    # An INVITE whose 200 nobody acknowledges is given up after 64 × T1.
    time.sleep(35)
    assert server.request("GET", "/api/inbound/active")[1]["items"] == []
    # 140 calls had a pair of sockets each; one or two of the server's own (a name service's, a client's) come and go.
    assert descriptors(server) <= before + 3, "sockets are left"
    calls, cursor = [], ""
    while True:
        page = server.request("GET", f"/api/inbound/?limit=200{cursor}")[1]
        calls += page["items"]
        if not page["next_cursor"]:
            break
        cursor = f"&cursor={page['next_cursor']}"
    # Who gives up before we have begun has not called.
    assert TIMES * (len(SCENARIOS) - 1) <= len(calls) <= TIMES * len(SCENARIOS) and {call["state"] for call in calls} <= {"completed", "failed"}, {call["state"] for call in calls}
