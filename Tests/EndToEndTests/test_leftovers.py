"""Every way a call can end, of those that come in, of operators and of those we place: nothing of it is left. Twice
each in `make test`, twenty times in `make test-long`, where an INVITE whose answer is never acknowledged is among
them."""

import contextlib
import os
import re
import threading
import time

import pytest
from inbound_calls import FAST, REFUSED, Phone
from operators import Desk, Talking, add_operator, wait_until
from ports import free_port
from sipp_scenarios import SDP

# How often everything happens, and for how many seconds something of it may be left: an INVITE whose 200 is never
# acknowledged is given up after 64 × T1.
TWICE, OFTEN = (2, 10), (20, 40)
rounds = pytest.mark.parametrize("times, seconds", [TWICE, pytest.param(*OFTEN, marks=pytest.mark.long)])
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


def offers_an_unknown_codec(phone):
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


def descriptors(server):
    """Sockets by kind; the database opens and closes files as it likes."""
    folder, count = f"/proc/{server.process.pid}/fd", 0
    for name in os.listdir(folder):
        # One that was closed since the list was made is not there any more.
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(f"{folder}/{name}").startswith("socket:")
    return count


def every_call(server, path):
    calls, cursor = [], ""
    while True:
        page = server.request("GET", f"{path}?limit=200{cursor}")[1]
        calls += page["items"]
        if not page["next_cursor"]:
            return calls
        cursor = f"&cursor={page['next_cursor']}"


def run_all(server, scenarios, prepare, times, seconds):
    """All at once, so many times; so many seconds later there must be as many sockets as before."""
    time.sleep(1)
    before, failures = descriptors(server), []

    def run(scenario):
        ends = prepare(scenario)
        try:
            scenario(*ends)
        except (AssertionError, OSError) as error:
            failures.append((scenario.__name__, repr(error)))

    for _ in range(times):
        threads = [threading.Thread(target=run, args=(scenario,)) for scenario in scenarios]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures, failures[:5]
    active = lambda: [server.request("GET", f"/api/{kind}/active")[1]["items"] for kind in ("inbound", "outbound")]
    # Each call had a pair of sockets or two; one or two of the server's own (a name service's, a client's) come and go.
    wait_until(
        lambda: active() == [[], []] and descriptors(server) <= before + 3,
        seconds,
        lambda: f"{descriptors(server) - before} sockets are left, and {active()}",
    )


@rounds
def test_nothing_is_left_of_calls_that_came_in(make_server, times, seconds):
    server = make_server(**FAST, TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="500")
    scenarios = [
        hangs_up,
        hangs_up_before_the_ack,
        gives_up,
        offers_an_unknown_codec,
        offers_late,
        asks_twice,
    ]
    if times == OFTEN[0]:
        scenarios.append(never_acknowledges)
    run_all(server, scenarios, lambda _: (Phone(server),), times, seconds)
    calls = every_call(server, "/api/inbound/")
    # A caller who gives up before we have begun leaves no record.
    assert times * (len(scenarios) - 1) <= len(calls) <= times * len(scenarios)
    assert {call["state"] for call in calls} <= {"completed", "failed"}


# Operators: a caller, the telephone that rings for him, and a colleague's.


def talks(caller, desk):
    caller.send("INVITE", OFFER, caller.body)
    desk.take()
    answer = caller.receive()
    assert answer.startswith("SIP/2.0 200"), answer
    caller.to = re.search(r"^To: (.*)\r$", answer, re.M)[1]
    caller.send("ACK")


def the_caller_hangs_up(caller, desk, _):
    talks(caller, desk)
    assert caller.status("BYE", sequence=2) == 200
    desk.reply(desk.request("BYE"))


def the_operator_hangs_up(caller, desk, _):
    talks(caller, desk)
    desk.say("BYE", 2)
    assert desk.receive().startswith("SIP/2.0 200")
    bye = caller.receive()
    assert bye.startswith("BYE ")
    Desk.reply(caller, bye)


def the_operator_is_busy(caller, desk, _):
    caller.send("INVITE", OFFER, caller.body)
    desk.reply(desk.request("INVITE"), "486 Busy Here", tag=f";tag={desk.tag}")
    desk.request("ACK")
    answer = caller.receive()
    assert answer.startswith("SIP/2.0 200"), "the AI answers"
    to = re.search(r"^To: (.*)\r$", answer, re.M)[1]
    caller.send("ACK", to=to)
    assert caller.status("BYE", sequence=2, to=to) == 200


def the_caller_does_not_wait(caller, desk, _):
    branch = caller.send("INVITE", OFFER, caller.body)
    invite = desk.request("INVITE")
    desk.reply(invite, "180 Ringing", tag=f";tag={desk.tag}")
    caller.send("CANCEL", branch=branch)
    desk.reply(desk.request("CANCEL"))
    desk.reply(invite, "487 Request Terminated", tag=f";tag={desk.tag}")
    desk.request("ACK")


def the_operator_sends_him_on(caller, desk, colleague):
    talks(caller, desk)
    desk.refer(f"sip:{colleague.extension}@127.0.0.1:{desk.server.sip_port}")
    colleague.take()
    desk.reply(desk.request("BYE"))
    assert caller.status("BYE", sequence=2) == 200
    colleague.reply(colleague.request("BYE"))


@rounds
def test_nothing_is_left_of_operators_calls(make_server, times, seconds):
    server = make_server(**FAST, TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS="500")
    scenarios = [
        the_caller_hangs_up,
        the_operator_hangs_up,
        the_operator_is_busy,
        the_caller_does_not_wait,
        the_operator_sends_him_on,
    ]
    desks = {}
    for place, scenario in enumerate(scenarios):
        desks[scenario] = [Desk(server), Desk(server)]
        for number, desk in enumerate(desks[scenario]):
            desk.extension = f"1{place}{number}"
            add_operator(
                server,
                f"Kim {desk.extension}",
                f"kim{desk.extension}",
                desk.extension,
                password=None,
                address=f"sip:kim@127.0.0.1:{desk.port}",
            )

    def prepare(scenario):
        for desk in desks[scenario]:
            known = next(
                item for item in server.request("GET", "/api/operators")[1]["items"] if item["number"] == desk.extension
            )
            wait_until(
                lambda: not server.request("GET", f"/api/operators/{known['id']}")[1]["in_call"],
                what=f"{scenario.__name__}: still in a call",
            )
            # What the last call still had to say.
            desk.drain()
        return Talking(server, desks[scenario][0].extension), *desks[scenario]

    run_all(server, scenarios, prepare, times, seconds)
    assert not any(item["in_call"] for item in server.request("GET", "/api/operators")[1]["items"])
    calls = every_call(server, "/api/inbound/")
    assert len(calls) == times * len(scenarios) and {call["state"] for call in calls} == {"completed", "failed"}


# Calls that we place: a telephone that rings, and the request for the call.


def he_answers_and_leaves(server, desk):
    call = server.create(desk.address)
    desk.take()
    time.sleep(0.3)
    desk.say("BYE", 2)
    assert desk.receive().startswith("SIP/2.0 200")
    return call, "completed"


def an_operator_ends_it(server, desk):
    call = server.create(desk.address)
    desk.take()
    server.wait_for(call, {"connected"})
    assert server.request("POST", f"/api/outbound/{call}/hangup")[0] == 202
    desk.reply(desk.request("BYE"))
    return call, "completed"


def refuses(status):
    def refusal(server, desk):
        call = server.create(desk.address, retry_on_no_answer=False)
        desk.reply(desk.request("INVITE"), status, tag=f";tag={desk.tag}")
        desk.request("ACK")
        return call, {"486": "busy", "603": "rejected", "500": "failed", "302": "failed"}[status[:3]]

    refusal.__name__ = "refuses_" + status[:3]
    return refusal


def it_is_cancelled(server, desk):
    call = server.create(desk.address)
    invite = desk.request("INVITE")
    desk.reply(invite, "180 Ringing", tag=f";tag={desk.tag}")
    server.wait_for(call, {"ringing"})
    assert server.request("POST", f"/api/outbound/{call}/cancel")[0] == 202
    desk.reply(desk.request("CANCEL"))
    desk.reply(invite, "487 Request Terminated", tag=f";tag={desk.tag}")
    desk.request("ACK")
    return call, "cancelled"


def he_answers_what_is_cancelled(server, desk):
    """The 200 crosses the CANCEL."""
    call = server.create(desk.address)
    invite = desk.request("INVITE")
    desk.reply(invite, "180 Ringing", tag=f";tag={desk.tag}")
    server.wait_for(call, {"ringing"})
    assert server.request("POST", f"/api/outbound/{call}/cancel")[0] == 202
    cancel = desk.request("CANCEL")
    desk.reply(invite, headers=OFFER, body=desk.body, tag=f";tag={desk.tag}")
    desk.reply(cancel)
    desk.reply(desk.request("BYE"))
    return call, "cancelled"


def he_speaks_nothing_of_ours(server, desk):
    call = server.create(desk.address)
    desk.reply(desk.request("INVITE"), headers=OFFER, body=REFUSED, tag=f";tag={desk.tag}")
    desk.reply(desk.request("BYE"))
    return call, "failed"


@rounds
def test_nothing_is_left_of_calls_that_we_place(make_server, times, seconds):
    server = make_server(
        TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="50",
        TRUNKLINE_OUTBOUND_CALLS_PER_SECOND="0",
        TRUNKLINE_OUTBOUND_DUPLICATE_WINDOW="0",
    )
    scenarios = [
        he_answers_and_leaves,
        an_operator_ends_it,
        *(refuses(status) for status in ("486 Busy Here", "603 Decline", "500 Server Error", "302 Moved")),
        it_is_cancelled,
        he_answers_what_is_cancelled,
        he_speaks_nothing_of_ours,
    ]
    desks = {scenario: Desk(server) for scenario in scenarios}
    ended = []

    def checked(scenario):
        def run(server, desk):
            call, state = scenario(server, desk)
            found = server.wait_for(call, seconds=20)["state"]
            assert found == state, (scenario.__name__, found)
            ended.append(call)

        run.__name__ = scenario.__name__
        return run

    def prepare(run):
        desk = desks[by_run[run]]
        desk.drain()
        desk.address = f"sip:{by_run[run].__name__}@127.0.0.1:{desk.port}"
        return server, desk

    by_run = {checked(scenario): scenario for scenario in scenarios}
    run_all(server, list(by_run), prepare, times, seconds)
    assert len(ended) == len(every_call(server, "/api/outbound/")) == times * len(scenarios)
