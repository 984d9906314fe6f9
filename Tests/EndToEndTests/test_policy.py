"""Whom we dial, and when; what stands in the way says its name."""

import concurrent.futures
import datetime
import signal
import time
import zoneinfo

import pytest
from conftest import ATTEND

GOOD = {"caller_number": "025550100", "purpose": "p", "questions": ["Will you come?"]}


def post(server, callee, **more):
    return server.request("POST", "/api/outbound/", {**GOOD, "callee_number": callee, **more})


def audits(server, action):
    return [item["detail"] for item in server.request("GET", f"/api/audit?action={action}")[1]["items"]]


def test_numbers_that_are_never_dialled(make_server):
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9", TRUNKLINE_OUTBOUND_ALLOWED_PREFIXES="+82,+1,+881"
    )
    rules = []
    for callee, rule in [
        ("119", "emergency_number"),
        ("+82 2 119", "emergency_number"),
        ("060-700-1234", "premium_number"),
        ("+1 900 555 0123", "premium_number"),
        ("+881 6 1234 5678", "premium_number"),
        ("+33 1 42 68 53 00", "prefix_not_allowed"),
        ("sip:a@elsewhere.example", "no_route"),
        ("sip:911@127.0.0.1", "emergency_number"),
        ("SIP:+82-2-119@127.0.0.1:5080", "emergency_number"),
        ("tel:119", "emergency_number"),
        ("sip:+1-900-555-0123@127.0.0.1", "premium_number"),
        ("sip:+33142685300@127.0.0.1", "prefix_not_allowed"),
    ]:
        status, answer = post(server, callee)
        assert (status, answer["code"]) == (422, rule), (callee, answer)
        rules.insert(0, rule)
        assert audits(server, "dial.blocked") == rules, "the reason is kept"
        assert f"trunkline_dials_blocked_total {len(rules)}" in server.request("GET", "/metrics")[1]
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


@pytest.mark.parametrize(
    "address",
    [
        "sip:%39%31%31@127.0.0.1",
        "sip:911;phone-context=+1@127.0.0.1",
        "sips:911@127.0.0.1",
        "tel:911;phone-context=+1",
        "sip:911:x@127.0.0.1",
        "<sip:911@127.0.0.1>",
        "Bob <sip:911@127.0.0.1>",
        "sip:911@x@127.0.0.1",
        "sip:+19005550123000000@127.0.0.1",
        "+1555Ⅷ234572",
        "０１０1234567",
        "browser:x",
    ],
)
@pytest.mark.shared
def test_addresses_that_could_hide_a_number_are_refused_everywhere(server, address):
    """A SIP address is judged as the number it stands for; what does not say which number that is, is no address."""
    places = [
        ("/api/outbound/", {**GOOD, "callee_number": address}, "callee_number"),
        ("/api/outbound/check", {**GOOD, "callee_number": address}, "callee_number"),
        ("/api/do-not-call", {"number": address}, "number"),
        ("/api/operators", {"name": "a", "sip_user": "a", "address": address}, "address"),
    ]
    for path, body, field in places:
        status, answer = server.request("POST", path, body)
        assert (status, [error["field"] for error in answer.get("errors", [])]) == (422, [field]), (path, answer)
    assert (
        server.request("GET", "/api/outbound/")[1]["total"]
        == server.request("GET", "/api/do-not-call")[1]["total"]
        == 0
    )


def test_every_way_to_place_a_call_applies_the_same_rules(make_server, callee):
    """POST, check, /receive, /transfer, an operator's address and the do-not-call list, of a SIP address that stands
    for a number."""
    server = make_server(TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100", TRUNKLINE_OUTBOUND_DUPLICATE_WINDOW="60")
    assert server.request("POST", "/api/do-not-call", {"number": "010-1234-5678"})[0] == 201
    live = server.create(callee("silent").address)
    server.wait_for(live, {"connected"})
    for address, rule in [
        ("sip:911@127.0.0.1", "emergency"),
        ("sip:+1900-555-0123@127.0.0.1", "extra"),
        ("sip:+82-10-1234-5678@127.0.0.1:9", "do-not-call"),
        ("sip:%39%31%31@127.0.0.1", "sip: address"),
        ("browser:x", ""),
    ]:
        places = [
            ("/api/outbound/", {**GOOD, "callee_number": address}, "callee_number"),
            ("/api/outbound/check", {**GOOD, "callee_number": address}, "callee_number"),
            ("/receive", {"user": {"phone": address}}, "user.phone"),
            (f"/api/outbound/{live}/transfer", {"to": address}, "to"),
        ]
        if rule != "do-not-call":
            places.append(("/api/operators", {"name": "a", "sip_user": "a", "address": address}, "address"))
        for path, body, field in places:
            status, answer = server.request("POST", path, body)
            assert (status, [error["field"] for error in answer.get("errors", [])]) == (422, [field]), (
                path,
                address,
                answer,
            )
            assert rule in answer["errors"][0]["message"], (path, answer)
    assert server.request("POST", f"/api/outbound/{live}/hangup", {})[0] == 202
    server.wait_for(live)
    # A number and the address that stands for it are one callee.
    assert post(server, "sip:+442079460000@127.0.0.1:9")[0] == 202
    status, answer = post(server, "sip:+44-20-7946-0000@127.0.0.1:99")
    assert (status, answer["code"]) == (409, "duplicate_callee"), answer
    assert (
        server.request("GET", "/api/outbound/?q=0000")[1]["total"]
        == server.request("GET", "/api/outbound/?q=%2B442079460000")[1]["total"]
        == 1
    )


def test_the_do_not_call_list_knows_every_spelling(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9", TRUNKLINE_OUTBOUND_RING_TIMEOUT="2")
    status, answer = server.request(
        "POST",
        "/api/do-not-call",
        {"numbers": ["010-1234-5678", "+442079460000", "010 1234 5678"], "reason": "asked us"},
    )
    assert (status, answer) == (201, {"added": 2, "known": 1})
    for spelling in (
        "01012345678",
        "+82 10 1234 5678",
        "+82 (0)10-1234-5678",
        "00182 10 1234 5678",
        "+44 20 7946 0000",
    ):
        status, answer = post(server, spelling)
        assert (status, answer["code"]) == (422, "do_not_call"), (spelling, answer)
    assert post(server, "010-1234-5679")[0] == 202
    page = server.request("GET", "/api/do-not-call?q=%2B821012345678")[1]
    assert [item["reason"] for item in page["items"]] == ["asked us"] and page["total"] == 2
    status, answer = server.request("POST", "/api/do-not-call", {"numbers": ["12", "01099998888"]})
    assert status == 422 and answer["errors"][0]["field"] == "numbers[0]"
    assert server.request("GET", "/api/do-not-call")[1]["total"] == 2, "all of them or none"
    # Listed while it waited.
    later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).isoformat()
    call_id = post(server, callee("cooperative").address, scheduled_at=later)[1]["outbound_id"]
    assert server.request("POST", "/api/do-not-call", {"number": server.call(call_id)["callee_number"]})[0] == 201
    call = server.wait_for(call_id, seconds=20)
    assert call["state"] == "failed" and "do_not_call" in call["failure_reason"] and call["attempt_count"] == 0
    assert [block["rule"] for block in call["blocked"]] == ["do_not_call"] and server.events(call_id)[
        -1
    ] == "outbound_failed"
    assert (
        server.request("DELETE", "/api/do-not-call/01012345678")[0] == 204
        and server.request("DELETE", "/api/do-not-call/01012345678")[0] == 404
    )
    assert post(server, "+821012345678")[0] == 202
    assert "1234" not in (server.folder / "server.log").read_text(), "no number stands in the log"


def test_fifty_requests_for_one_number_dial_it_once(make_server, callee):
    ringing = callee("no-answer")
    server = make_server(
        TRUNKLINE_OUTBOUND_DUPLICATE_WINDOW="60",
        TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="50",
        TRUNKLINE_OUTBOUND_RING_TIMEOUT="3",
    )
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: post(server, ringing.address), range(50)))
    assert sorted({status for status, _ in answers}) == [202, 409]
    accepted = [answer["outbound_id"] for status, answer in answers if status == 202]
    assert len(accepted) == 1 and {answer["code"] for status, answer in answers if status == 409} == {
        "duplicate_callee"
    }
    assert server.wait_for(accepted[0], seconds=20)["state"] == "no_answer"
    assert sum(event["event"] == "invite" for event in ringing.events()) == 1, ringing.events()
    assert post(server, ringing.address)[0] == 409, "dialled less than a minute ago"
    tomorrow = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).isoformat()
    assert post(server, ringing.address, scheduled_at=tomorrow)[0] == 202


def test_calls_wait_for_the_calling_hours_of_the_callee(make_server):
    """A Korean number waits for the Korean morning; the reason is shown."""
    seoul = datetime.datetime.now(zoneinfo.ZoneInfo("Asia/Seoul"))
    opens = (seoul + datetime.timedelta(hours=2)).replace(minute=0)
    closes = opens + datetime.timedelta(hours=1)
    if opens.day != closes.day:
        opens, closes = opens - datetime.timedelta(hours=20), closes - datetime.timedelta(hours=20)
    server = make_server(
        TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9",
        TRUNKLINE_OUTBOUND_CALLING_HOURS=f"{opens.hour:02}:00-{closes.hour:02}:00",
    )
    call_id = post(server, "010-1234-5678")[1]["outbound_id"]
    deadline = time.time() + 10
    while not server.call(call_id)["blocked"] and time.time() < deadline:
        time.sleep(0.05)
    call = server.call(call_id)
    assert (
        call["state"] == "queued"
        and call["blocked"][-1]["rule"] == "calling_hours"
        and "Asia/Seoul" in call["blocked"][-1]["detail"]
    )
    at = datetime.datetime.fromisoformat(call["next_attempt_at"].replace("Z", "+00:00")).astimezone(
        zoneinfo.ZoneInfo("Asia/Seoul")
    )
    assert (at.hour, at.minute) == (opens.hour, 0) and at > seoul
    assert "outbound_retry_scheduled" in server.events(call_id)


def test_a_caller_number_has_a_daily_limit(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9")
    assert (
        server.request("POST", "/api/numbers", {"number": "02-555-0100", "label": "front desk", "daily_cap": 1})[0]
        == 201
    )
    declining = callee("rejects")
    server.wait_for(post(server, declining.address)[1]["outbound_id"])
    second = post(server, declining.address)[1]["outbound_id"]
    deadline = time.time() + 10
    while not server.call(second)["blocked"] and time.time() < deadline:
        time.sleep(0.05)
    call = server.call(second)
    assert call["state"] == "queued" and call["blocked"][-1]["rule"] == "daily_cap", call
    numbers = server.request("GET", "/api/numbers")[1]["items"]
    assert [(item["label"], item["dials_today"], item["daily_cap"]) for item in numbers] == [("front desk", 1, 1)]
    assert (
        server.request("POST", f"/api/outbound/{second}/cancel", "{}")[0] == 202
        and server.wait_for(second)["state"] == "cancelled"
    )


def test_stored_caller_numbers_widen_the_whitelist(make_server):
    server = make_server(
        TRUNKLINE_OUTBOUND_ALLOWED_CALLERS="02-111-2222", TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9"
    )
    assert post(server, "01012345678")[1]["code"] == "caller_not_allowed"
    assert post(server, "01012345678", caller_number="+82 2 111 2222")[0] == 202, "the same number, spelled otherwise"
    assert server.request("POST", "/api/numbers", {"number": "+82 2 555 0100"})[0] == 201
    assert post(server, "01012345678")[0] == 202
    assert server.request("DELETE", "/api/numbers/025550100")[0] == 204
    assert post(server, "01012345678")[1]["code"] == "caller_not_allowed"


def test_scheduled_calls_survive_a_restart(make_server, callee):
    server = make_server()
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4)).isoformat()
    call_id = post(server, callee("rejects").address, scheduled_at=soon)[1]["outbound_id"]
    server.kill(signal.SIGKILL)
    server.start()
    call = server.wait_for(call_id, seconds=30)
    assert call["state"] == "rejected" and call["started_at"] >= call["scheduled_at"]


def test_no_number_is_dialled_twice_by_a_crash(make_server, callee):
    """What is on disk when the INVITE leaves says that it left."""
    ringing = callee("no-answer")
    server = make_server(TRUNKLINE_OUTBOUND_RETRY_ENABLED="true", TRUNKLINE_OUTBOUND_RETRY_RETRY_INTERVAL="3600")
    call_id = server.create(ringing.address)
    deadline = time.time() + 10
    while not any(event["event"] == "invite" for event in ringing.events()) and time.time() < deadline:
        time.sleep(0.002)
    server.kill(signal.SIGKILL)
    server.start()
    call = server.call(call_id)
    assert call["state"] == "queued" and call["attempt_count"] == 1 and call["next_attempt_at"], call
    time.sleep(2)
    assert sum(event["event"] == "invite" for event in ringing.events()) == 1


def test_questions_that_depend_on_others(make_server, callee):
    """An unmet condition: the question is never asked, and does not keep the task from being completed."""
    server = make_server()
    questions = [
        ATTEND,
        {"text": "How many guests will you bring?", "type": "number", "ask_if": {"question": "q1", "equals": False}},
    ]
    call_id = server.create(callee("cooperative").address, questions)
    call, result = server.wait_for(call_id), server.result(call_id)
    assert call["end_reason"] == "task_completed" and result["task_completed"], result
    assert [answer["status"] for answer in result["answers"]] == ["answered", "not_asked"]
    assert call["questions"][1]["ask_if"] == {"question": "q1", "equals": False}
    for bad, field in [
        ({"question": "q3", "equals": 1}, "questions[1].ask_if.question"),
        ({"question": "q1"}, "questions[1].ask_if.equals"),
        ("q1", "questions[1].ask_if"),
    ]:
        status, answer = post(server, "sip:a@127.0.0.1:9", questions=[ATTEND, {"text": "b", "ask_if": bad}])
        assert status == 422 and answer["errors"][0]["field"] == field, answer
