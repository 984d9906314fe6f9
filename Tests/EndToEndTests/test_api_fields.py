"""Input of the API: which bodies, fields, numbers, times and texts are refused, and how the answer names them."""

import json
import urllib.parse

import pytest
from api_client import GOOD, fields


@pytest.mark.parametrize(
    "change, bad",
    [
        ({"callee_number": "12"}, ["callee_number"]),
        ({"callee_number": "911"}, ["callee_number"]),
        ({"purpose": " "}, ["purpose"]),
        ({"purpose": "x" * 2001}, ["purpose"]),
        ({"questions": ["q"] * 21}, ["questions"]),
        ({"questions": [""]}, ["questions[0]"]),
        ({"max_duration": "long", "priority": 0, "unknown": 1}, ["max_duration", "priority", "unknown"]),
        ({"agent": "a"}, ["agent"]),
        ({"scheduled_at": "2020-01-01T00:00:00Z"}, ["scheduled_at"]),
        ({"callee_number": "sip:a@example.org"}, ["callee_number"]),
    ],
)
@pytest.mark.shared
def test_bad_fields_are_named_and_nothing_is_stored(server, change, bad):
    status, answer = server.request("POST", "/api/outbound/", {**GOOD, **change})
    assert status == 422 and fields(answer) == bad and answer["status"] == 422, answer
    assert server.last_headers["content-type"] == "application/problem+json"
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_problems_have_codes_and_parameters(server):
    """The message is for people; programs and the dashboard's translations go by code and parameters."""
    _, answer = server.request("POST", "/api/outbound/", {**GOOD, "purpose": "x" * 2001, "priority": 0})
    assert answer["code"] == "invalid" and answer["detail_code"] == "fields_not_acceptable", answer
    assert answer["params"] == {"count": 2} and answer["errors"] == [
        {
            "field": "purpose",
            "message": "is longer than 2000 characters",
            "code": "too_long",
            "params": {"limit": 2000},
        },
        {
            "field": "priority",
            "message": "must lie in 1…10, not 0",
            "code": "not_in_range",
            "params": {"least": 1, "most": 10, "given": 0},
        },
    ], answer
    _, answer = server.request("GET", "/api/outbound/ob-00000000")
    assert (answer["code"], answer["detail_code"], answer["params"]) == ("not_found", "no_call", {}), answer
    schemas = server.request("GET", "/openapi.json")[1]["components"]["schemas"]
    codes = schemas["Problem"]["properties"]["detail_code"]["enum"]
    assert {"too_long", "not_in_range", "no_call", "required", "in_the_past"} <= set(codes)
    # A warning is said with its code too.
    _, answer = server.request("POST", "/api/outbound/check", {**GOOD, "max_duration": 3600})
    assert [one["code"] for one in answer["warning_details"]] == ["duration_lowered"], answer
    assert answer["warnings"] == [answer["warning_details"][0]["message"]]


def test_forms_are_described(server):
    """What the dashboard's forms go by is what the document says, with this server's own defaults."""
    assert server.request("GET", "/api/forms/outbound", key=None)[0] == 401
    assert server.request("GET", "/api/forms/nothing")[0] == 404
    status, form = server.request("GET", "/api/forms/outbound")
    assert status == 200 and form["required"] == ["caller_number", "callee_number"], form
    members = form["properties"]
    # An agent may have them, so that they may be left out.
    assert members["purpose"]["anyOf"][0]["maxLength"] == 2000 and members["questions"]["anyOf"][0]["maxItems"] == 20
    assert (members["priority"]["default"], members["max_retries"]["default"]) == (5, 2)
    documented = server.request("GET", "/openapi.json")[1]["components"]["schemas"]["NewCall"]["properties"]
    assert documented.keys() == members.keys() and documented["purpose"] == members["purpose"]
    for name in ("templates", "operators", "numbers", "do-not-call", "knowledge", "keys"):
        assert server.request("GET", f"/api/forms/{name}")[0] == 200, name


@pytest.mark.shared
def test_bad_bodies_and_paths_are_refused(server):
    assert server.request("POST", "/api/outbound/", b"{not json")[0] == 400
    assert server.request("POST", "/api/outbound/", b"[]")[0] == 400
    assert server.request("POST", "/api/outbound/", b"")[0] == 400
    assert server.request("POST", "/api/outbound/", b'{"purpose":"a","purpose":"b"}')[0] == 422
    assert server.request("POST", "/api/outbound/", b"x", headers={"Content-Type": "text/plain"})[0] == 415
    try:
        assert server.request("POST", "/api/outbound/", b"x" * 3_000_000)[0] == 413
    except (ConnectionResetError, BrokenPipeError):
        pass  # refused while we were still writing
    assert server.request("GET", "/health", key=None)[0] == 200, "still alive"
    assert server.request("GET", "/api/outbound/ob-00000000")[0] == 404
    assert server.request("GET", "/api/outbound/../../etc/passwd")[0] == 404
    assert server.request("GET", "/web/../Package.swift", key=None)[0] == 404
    assert server.request("DELETE", "/api/outbound/")[0] == 405
    assert server.request("GET", "/api/outbound/?limit=0")[0] == 422
    assert server.request("GET", "/api/outbound/?limit=201&state=x&nonsense=1")[1]["errors"].__len__() == 3
    assert server.request("GET", "/nothing")[0] == 404
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


# What a double would change, deep inside too; a dict of these would be compared as doubles, so the texts are.
METADATA = (
    '{"big":9007199254740993,"deep":[{"a":[123456789012345678901234567890,{"b":-0}]}],"exact":0.1000,'
    '"far":1e400,"near":1e-400,"order":"2026","text":"a\\u0000\\tb é"}'
)


def test_metadata_comes_back_as_it_was_sent(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_ENABLED="false")
    body = (json.dumps(GOOD)[:-1] + ',"metadata":' + METADATA + "}").encode()
    call_id = server.request("POST", "/api/outbound/", body)[1]["outbound_id"]

    def is_untouched():
        return all(
            ('"metadata":' + METADATA).encode() in server.request("GET", path, raw=True)[1]
            for path in (f"/api/outbound/{call_id}", "/api/outbound/")
        )

    assert is_untouched(), server.request("GET", f"/api/outbound/{call_id}", raw=True)[1]
    server.kill(9)
    server.start()
    assert is_untouched(), "after a crash"
    assert server.request("POST", f"/api/outbound/{call_id}/cancel")[0] == 202
    assert server.request("POST", f"/api/outbound/{call_id}/retry")[0] == 202 and is_untouched(), "after a retry"
    long = json.dumps(GOOD)[:-1] + ',"metadata":{"n":' + "9" * 1025 + "}}"
    status, answer = server.request("POST", "/api/outbound/", long)
    assert status == 400 and "a number is longer than 1024 characters" in answer["detail"], answer


def test_numbers_that_a_double_cannot_hold_are_refused(make_server, callee):
    """Answers and conditions are calculated with: doubles hold them, or they are not taken."""
    server = make_server()
    question = {"text": "How many guests will you bring?", "type": "number"}
    for number in ("9007199254740993", "1e400", "0.12345678901234567890"):
        body = json.dumps(
            {**GOOD, "questions": ["Will you come?", {"text": "b", "ask_if": {"question": "q1", "equals": "N"}}]}
        ).replace('"N"', number)
        status, answer = server.request("POST", "/api/outbound/", body)
        assert status == 422 and fields(answer) == ["questions[1].ask_if.equals"], answer
    call_id = server.short_call(callee("silent"), [question])
    for number, status in (("9007199254740993", 422), ("1e400", 422), ("12.50", 200)):
        assert server.request("POST", f"/api/outbound/{call_id}/answers/q1", '{"value":%s}' % number)[0] == status, (
            number
        )
    assert server.result(call_id)["answers"][0]["value"] == 12.5
    assert server.request("POST", f"/api/outbound/{call_id}/answers/q1", {"answer_text": "x" * 2001})[0] == 422


@pytest.mark.parametrize(
    "time",
    [
        "2030-02-30T10:00:00Z",
        "2030-01-01T25:00:00Z",
        "2030-01-01T10:60:00Z",
        "2030-01-01T10:00:61Z",
        "99999-01-01T00:00:00Z",
        "2030-01-01T10:00:00+09",
        "2030-01-01T10:00:00",
        "2030-01-01",
        "",
        " ",
    ],
)
@pytest.mark.shared
def test_impossible_times_are_refused_in_every_field(server, time):
    """RFC 3339 §5.6; the whole table is in TimestampTests."""
    status, answer = server.request("POST", "/api/outbound/", {**GOOD, "scheduled_at": time})
    assert (status, fields(answer)) == (422, ["scheduled_at"]), answer
    for path in ("/api/outbound/", "/api/inbound/"):
        for name in ("from", "to"):
            status, answer = server.request("GET", f"{path}?{name}={urllib.parse.quote(time)}")
            assert (status, fields(answer)) == (422, [name]), answer
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_every_valid_spelling_of_a_time_is_accepted(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_ENABLED="false")
    for time, utc in [
        ("2030-01-01t10:00:00.5z", "2030-01-01T10:00:00.500Z"),
        ("2030-01-01T10:00:00-00:00", "2030-01-01T10:00:00.000Z"),
        ("2030-01-02T09:59:00+23:59", "2030-01-01T10:00:00.000Z"),
        ("2030-06-30T23:59:60Z", "2030-07-01T00:00:00.000Z"),
    ]:
        call_id = server.request("POST", "/api/outbound/", {**GOOD, "scheduled_at": time})[1]["outbound_id"]
        assert server.call(call_id)["scheduled_at"] == utc
    assert server.request("GET", "/api/outbound/?from=2020-01-01T09:00:00+09:00")[1]["total"] == 4, (
        "a + that was not escaped"
    )


CONTROL = ["\u0000", "\u0001", "\n", "\r", "\t", "\u001b", "\u007f", "\u0085", "\u2028", "\u202e", "\u2066"]


def test_control_characters_are_refused_in_every_text(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_ENABLED="false", TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100")
    template = {"name": "t", "purpose": "p", "questions": ["q?"]}
    operator = {"name": "a", "sip_user": "a", "sip_password": "long enough 1"}
    lines = [
        ("/api/outbound/", GOOD, name)
        for name in (
            "caller_number",
            "callee_number",
            "caller_display_name",
            "scheduled_at",
            "language",
            "agent",
            "webhook_url",
            "voicemail",
        )
    ]
    lines += [("/api/templates", template, name) for name in ("name", "caller_display_name", "language")]
    lines += [
        ("/api/operators", operator, name)
        for name in ("name", "number", "sip_user", "address", "status", "sip_password")
    ]
    lines += [
        ("/api/do-not-call", {}, "number"),
        ("/api/do-not-call", {"number": "01012345678"}, "reason"),
        ("/api/keys", {"role": "viewer"}, "name"),
        ("/api/numbers", {}, "number"),
        ("/api/numbers", {"number": "025550100"}, "label"),
        ("/api/numbers", {"number": "025550100"}, "template_id"),
        ("/send_llm_result", {}, "outbound_id"),
        ("/send_llm_result", {}, "call_id"),
        ("/api/session", {}, "api_key"),
    ]
    for path, body, name in lines:
        for control in CONTROL:
            for text in (f"a{control}b", f"ab{control}"):
                status, answer = server.request("POST", path, {**body, name: text})
                assert status == 422 and name in fields(answer), (path, name, text, answer)
    texts = [
        ("/api/outbound/", GOOD, "purpose"),
        ("/api/outbound/", GOOD, "voicemail_message"),
        ("/api/templates", template, "purpose"),
        ("/api/templates", template, "greeting"),
        ("/api/operators", operator, "away_message"),
    ]
    for path, body, name in texts:
        for control in CONTROL:
            if control not in "\n\t":
                status, answer = server.request("POST", path, {**body, name: f"a{control}b"})
                assert (status, fields(answer)) == (422, [name]), (path, name, control, answer)
    for control in CONTROL:
        if control not in "\n\t":
            status, answer = server.request("POST", "/api/outbound/", {**GOOD, "questions": [f"a{control}b"]})
            assert (status, fields(answer)) == (422, ["questions[0]"]), answer
        status, answer = server.request(
            "POST",
            "/api/outbound/",
            {**GOOD, "questions": [{"text": "q", "type": "choice", "choices": [f"a{control}", "b", "c"]}]},
        )
        assert (status, fields(answer)) == (422, ["questions[0].choices[0]"]), answer
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0
    call_id = server.request("POST", "/api/outbound/", {**GOOD, "purpose": "one\n\ttwo", "questions": ["a\nb"]})[1][
        "outbound_id"
    ]
    call = server.call(call_id)
    assert call["purpose"] == "one\n\ttwo" and call["questions"][0]["text"] == "a\nb"


@pytest.mark.parametrize(
    "field, value",
    [
        *[
            (name, blank)
            for name in ("scheduled_at", "language", "agent", "webhook_url", "voicemail", "voicemail_message")
            for blank in ("", "  ")
        ],
        *[
            ("language", tag)
            for tag in (
                "e",
                "english",
                "en_US",
                "en-",
                "-en",
                "en--US",
                "en-a",
                "en-x",
                "12",
                "en-US-US",
                "한국어",
                "en US",
            )
        ],
        *[
            ("webhook_url", f"http://127.0.0.1{rest}")
            for rest in (
                ":9/a b",
                ":9/ ",
                "/\r\nX: y",
                "/\t",
                "/a\"b",
                "/<x>",
                "/%",
                "/%zz",
                "/é",
                ":0x/",
                ":99999/",
                "/\u00a0",
            )
        ],
        ("webhook_url", " http://127.0.0.1/"),
        ("webhook_url", "http:///x"),
        ("webhook_url", "https://a:b@example.org/"),
        ("webhook_url", "file:///etc/passwd"),
    ],
)
@pytest.mark.shared
def test_blank_and_broken_fields_are_refused(server, field, value):
    status, answer = server.request("POST", "/api/outbound/", {**GOOD, field: value})
    assert (status, fields(answer)) == (422, [field]), answer
    assert server.request("POST", "/api/outbound/check", {**GOOD, field: value})[0] == 422
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0
