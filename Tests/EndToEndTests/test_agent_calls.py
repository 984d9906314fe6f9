"""Calls that begin with a version of an agent, placed and answered."""

import time

from api_client import GOOD, fields
from inbound_calls import FAST, REFUSED, Phone, inbound
from test_agents import CALL, SALON, put


def test_a_call_stays_with_the_version_it_began_with(make_server):
    # Nothing is dialled: every call waits.
    server = make_server(TRUNKLINE_OUTBOUND_ENABLED="false", TRUNKLINE_OUTBOUND_DUPLICATE_WINDOW="0")
    assert server.request("POST", "/api/agents", SALON)[0] == 201
    status, answer = server.request("POST", "/api/outbound/", CALL)
    assert (status, answer["code"], fields(answer)) == (422, "missing_variable", ["variables.name"])
    status, answer = server.request("POST", "/api/outbound/", {**CALL, "variables": {"name": [], "shoe": 1}})
    assert (status, fields(answer)) == (422, ["variables.name", "variables.shoe"])
    assert fields(server.request("POST", "/api/outbound/", {**GOOD, "variables": {"x": 1}})[1]) == ["variables.x"]
    for name in ("salon@9", "nobody", "Salon"):
        assert fields(server.request("POST", "/api/outbound/", {**CALL, "agent": name})[1]) == ["agent"]

    first = server.request("POST", "/api/outbound/", {**CALL, "variables": {"name": "Anna", "tier": 3}})[1][
        "outbound_id"
    ]
    call = server.call(first)
    assert call["agent"] == {"slug": "salon", "version": 1} and call["variables"] == {"name": "Anna", "tier": "3"}
    assert call["purpose"] == "to book a visit for Anna, tier 3"
    assert [question["text"] for question in call["questions"]] == ["When would you like to come, Anna?"]

    assert put(server, {**SALON, "purpose": "to sell", "questions": ["Yes?"]}, '"v1"')[0] == 201
    assert server.call(first)["agent"]["version"] == 1 and "Anna" in server.call(first)["purpose"]
    own = {**CALL, "callee_number": "sip:other@127.0.0.1:9", "variables": {"name": "Bea"}}
    second = server.request("POST", "/api/outbound/", {**own, "questions": ["Own?"]})[1]["outbound_id"]
    call = server.call(second)
    assert call["agent"]["version"] == 2 and call["purpose"] == "to sell"
    assert [question["text"] for question in call["questions"]] == ["Own?"]
    pinned = {**own, "callee_number": "sip:third@127.0.0.1:9", "agent": "salon@1"}
    third = server.request("POST", "/api/outbound/", pinned)[1]["outbound_id"]
    assert server.call(third)["agent"]["version"] == 1
    used = next(item for item in server.request("GET", "/api/agents")[1]["items"] if item["slug"] == "salon")["used_by"]
    assert used == {"numbers": 0, "campaigns": 0, "queued_calls": 3}
    items = server.request("GET", "/api/outbound/")[1]["items"]
    assert {item["agent"]["version"] for item in items} == {1, 2}
    assert server.result(second)["agent"] == {"slug": "salon", "version": 2}

    # Dialled anew: with its own version, or with the newest.
    for query, version in [("", 1), ("?agent=live", 2)]:
        assert server.request("POST", f"/api/outbound/{first}/cancel", {})[0] == 202
        status, answer = server.request("POST", f"/api/outbound/{first}/retry{query}", {})
        assert (status, answer["agent"]["version"]) == (202, version), answer
    assert server.call(first)["purpose"] == "to sell"

    # Without an agent everything is as before.
    other = server.request("POST", "/api/outbound/", {**GOOD, "callee_number": "sip:fourth@127.0.0.1:9"})[1][
        "outbound_id"
    ]
    call = server.call(other)
    assert call["agent"] == {"slug": "default", "version": 0} and call["purpose"] == "p" and call["variables"] == {}


def test_a_numbers_agent_answers(make_server):
    server = make_server(**FAST, TRUNKLINE_INBOUND_AGENT="reception")

    def ring(number):
        """A call whose offer is refused: its record is all that is wanted."""
        known = len(inbound(server))
        assert Phone(server, number).status("INVITE", "Content-Type: application/sdp\r\n", REFUSED) == 488
        deadline = time.time() + 10
        while len(inbound(server)) == known:
            assert time.time() < deadline, inbound(server)
            time.sleep(0.05)
        call_id = inbound(server)[0]["inbound_id"]
        return server.request("GET", f"/api/inbound/{call_id}")[1]

    hair = {"slug": "hair", "name": "Hair", "purpose": "You book visits for {{caller.number}}.", "language": "en-GB"}
    for body in (hair, {"slug": "reception", "name": "Reception", "purpose": "You take calls."}):
        assert server.request("POST", "/api/agents", body)[0] == 201
    # Callers give no variables.
    assert server.request("POST", "/api/agents", SALON)[0] == 201
    assert fields(server.request("POST", "/api/numbers", {"number": "0255509999", "agent": "salon"})[1]) == [
        "agent.variables.name"
    ]
    assert server.request("POST", "/api/numbers", {"number": "0255509999", "agent": "hair"})[0] == 201
    assert server.request("POST", "/api/numbers", {"number": "0255508888", "agent": "hair@1"})[0] == 201
    assert put(server, {**hair, "purpose": "You sell."}, '"v1"', slug="hair")[0] == 201
    for number, agent, purpose in [
        ("0255509999", {"slug": "hair", "version": 2}, "You sell."),
        ("0255508888", {"slug": "hair", "version": 1}, "You book visits for 01098765432."),
        ("0255507777", {"slug": "reception", "version": 1}, "You take calls."),
    ]:
        call = ring(number)
        assert call["called_number"] == number and call["agent"] == agent, call
        assert call["purpose"] == purpose and call["questions"] == []
        assert server.request("GET", f"/api/inbound/{call['inbound_id']}/result")[1]["agent"] == agent
    used = {item["slug"]: item["used_by"]["numbers"] for item in server.request("GET", "/api/agents")[1]["items"]}
    assert used == {"default": 0, "hair": 2, "reception": 0, "salon": 0}
    assert server.request("DELETE", "/api/agents/reception")[1]["params"]["numbers"] == ["inbound.agent"]
    # As it was after a restart.
    server.kill()
    server.start()
    assert ring("0255508888")["agent"] == {"slug": "hair", "version": 1}
