"""The lists of the API: pages, cursors and query parameters."""

import struct
import time
import urllib.parse

from api_client import GOOD, LISTS, EventSocket, fields
from conftest import ATTEND


def test_invented_cursors_are_refused(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_ENABLED="false", TRUNKLINE_WEBHOOKS_URL="http://127.0.0.1:9/")
    for number in range(3):
        assert (
            server.request("POST", "/api/outbound/", {**GOOD, "callee_number": f"sip:a{number}@127.0.0.1:9"})[0] == 202
        )
        assert server.request("POST", "/api/do-not-call", {"number": f"0101234567{number}"})[0] == 201
        assert server.request("POST", "/api/numbers", {"number": f"025551111{number}"})[0] == 201
    given = {path: server.request("GET", f"{path}?limit=1")[1]["next_cursor"] for path in LISTS}
    assert [path for path in LISTS if not given[path]] == ["/api/inbound/", "/api/inbound/active"], given
    for path in LISTS:
        own = given[path]
        if own:
            rest = server.request("GET", f"{path}?limit=1&cursor={own}")
            assert rest[0] == 200 and rest[1]["items"] != server.request("GET", f"{path}?limit=1")[1]["items"], path
        made_up = [
            "",
            "!",
            "0",
            "-1",
            "zzzzzzzzzzzzzzzzzzzz",
            "9223372036854775808",
            "1y2p0ij32e8e7",
            "YWJj",
            "AAAA====",
            "+5",
            " 5",
            "null",
            "a" * 33,
        ]
        if own:
            made_up += [
                own.upper(),
                own[:-1],
                own + "0",
                own.replace("-", "-0"),
                own.replace("-", "--"),
                own.replace("-", "-+"),
            ]
        for cursor in made_up + [other for place, other in given.items() if other and place != path]:
            status, answer = server.request("GET", f"{path}?cursor={urllib.parse.quote(cursor)}")
            assert (status, fields(answer)) == (422, ["cursor"]), (path, cursor, answer)
    for query in (
        "after=-1",
        "after=x",
        "after=",
        "after=9223372036854775808",
        "after=1&after=2",
        "since=1",
        "after=%2B1",
    ):
        assert EventSocket(server.http_port, f"/api/events?{query}").status == 422, query
    # Of a database that there was before: nothing of what comes is hidden by it.
    watcher = EventSocket(server.http_port, "/api/events?after=9223372036854775807")
    server.request("POST", "/api/outbound/", {**GOOD, "callee_number": "sip:later@127.0.0.1:9"})
    assert watcher.receive()["callee_number"] == "sip:later@127.0.0.1:9"


def test_long_unknown_and_repeated_query_parameters_are_refused(server):
    for path in LISTS:
        for name in ("limit", "cursor"):
            status, answer = server.request("GET", f"{path}?{name}={'1' * 100}")
            assert (status, fields(answer)) == (422, [name]) and "longer than" in answer["errors"][0]["message"], answer
        status, answer = server.request("GET", f"{path}?limit=1&limit=2&unknown=1")
        assert (status, fields(answer)) == (422, ["limit", "unknown"]), answer
    for path, name, limit in [
        ("/api/outbound/", "q", 200),
        ("/api/inbound/", "q", 200),
        ("/api/do-not-call", "q", 200),
        ("/api/numbers", "q", 200),
        ("/api/outbound/", "state", 64),
        ("/api/outbound/active", "state", 64),
        ("/api/outbound/", "from", 64),
        ("/api/outbound/", "to", 64),
        ("/api/audit", "action", 64),
        ("/api/webhooks/deliveries", "state", 64),
        ("/api/webhooks/deliveries", "outbound_id", 64),
    ]:
        for value in ("x" * (limit + 1), "x" * 3000, "x" * 4_097, "x" * 8_000, "a%7Fb", "a%E2%80%AEb") + (
            () if name == "q" else ("",)
        ):
            status, answer = server.request("GET", f"{path}?{name}={value}")
            assert (status, fields(answer)) == (422, [name]), (path, name, value[:20], answer)
    assert (
        server.request("GET", "/api/outbound/?q=" + "x" * 200)[0]
        == server.request("GET", "/api/outbound/?q=")[0]
        == 200
    )
    call_id = server.request("POST", "/api/outbound/", GOOD)[1]["outbound_id"]
    for path in (
        "/api/outbound/stats",
        f"/api/outbound/{call_id}",
        f"/api/outbound/{call_id}/result",
        "/api/templates",
        "/api/operators",
        "/api/keys",
        "/api/knowledge",
        "/api/session",
        "/api/providers",
        "/openapi.json",
    ):
        status, answer = server.request("GET", path + "?nonsense=1")
        assert (status, fields(answer)) == (422, ["nonsense"]), (path, answer)
    assert server.request("GET", "/health?x=1", key=None)[0] == 200, "probes may add what they like"


def test_active_calls_are_listed_in_pages(server, callee):
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    waiting = [server.create(f"sip:{number}@127.0.0.1:9", [ATTEND], scheduled_at=tomorrow) for number in range(5)]
    talking = server.create(callee("silent").address, [ATTEND])
    server.wait_for(talking, {"connected"})
    active = lambda query="": server.request("GET", f"/api/outbound/active{query}")[1]
    ids = lambda page: [item["outbound_id"] for item in page["items"]]
    states = {"queued": 5, "dialing": 0, "ringing": 0, "connected": 1}
    assert ids(active()) == waiting + [talking] and active()["total"] == 6 and active()["states"] == states
    live = active("?state=dialing,ringing,connected&limit=50")
    assert ids(live) == [talking] and live["total"] == 1 and live["states"] == states and live["next_cursor"] is None
    first = active("?state=queued&limit=3")
    rest = active(f"?state=queued&limit=3&cursor={first['next_cursor']}")
    assert ids(first) + ids(rest) == waiting and first["total"] == rest["total"] == 5 and rest["next_cursor"] is None
    for query, field in (
        ("state=completed", "state"),
        ("state=queued,", "state"),
        ("limit=201", "limit"),
        ("cursor=!", "cursor"),
        ("since=1", "since"),
    ):
        status, problem = server.request("GET", f"/api/outbound/active?{query}")
        assert status == 422 and [one["field"] for one in problem["errors"]] == [field], query


def test_a_call_is_listed_counted_recorded_and_hung_up(server, callee):
    hanging = callee("silent")
    call_id = server.create(hanging.address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    time.sleep(3)
    assert server.request("GET", "/api/outbound/active")[1]["total"] == 1
    assert server.call(call_id)["queues"]
    assert server.request("POST", f"/api/outbound/{call_id}/cancel", "{}")[0] == 409
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")[0] == 202
    call = server.wait_for(call_id)
    assert call["end_reason"] == "operator_hangup"
    page = server.request("GET", "/api/outbound/?state=completed&q=dinner")[1]
    assert page["total"] == 1 and "***" in page["items"][0]["callee_number"]
    assert server.call(call_id)["callee_number"] == hanging.address, "whole on its own page"
    assert server.request("GET", "/api/outbound/stats")[1]["states"]["completed"] == 1
    status, head = server.request(
        "GET", f"/api/outbound/{call_id}/recording", headers={"Range": "bytes=0-43"}, raw=True
    )
    assert status == 206 and head[:4] == b"RIFF" and struct.unpack("<H", head[22:24])[0] == 2
    status, whole = server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)
    seconds = (len(whole) - 44) / 32_000
    assert status == 200 and abs(seconds - call["duration_seconds"]) < 0.3
    assert server.request("POST", f"/api/outbound/{call_id}/retry", "{}")[0] == 202
    server.wait_for(call_id, {"connected"})
    assert server.call(call_id)["attempt_count"] == 2
    server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")
    server.wait_for(call_id)
