"""The API as a program sees it: auth, bad input, lists, events, recordings."""

import base64
import os
import json
import socket
import struct
import time
import urllib.parse

import pytest
from conftest import ATTEND, KEY, PARKING

GOOD = {
    "caller_number": "025550100",
    "callee_number": "sip:nobody@127.0.0.1:9",
    "purpose": "p",
    "questions": ["Will you come?"],
}


def fields(answer):
    return sorted(error["field"] for error in answer.get("errors", []))


@pytest.mark.shared
def test_nothing_is_open_without_a_key(server):
    for method, path in [
        ("POST", "/api/outbound/"),
        ("GET", "/api/outbound/"),
        ("GET", "/api/outbound/active"),
        ("GET", "/api/outbound/stats"),
        ("GET", "/api/outbound/ob-00000000"),
        ("GET", "/api/outbound/ob-00000000/recording"),
        ("GET", "/api/session"),
        ("POST", "/api/outbound/ob-00000000/hangup"),
    ]:
        assert server.request(method, path, key=None, body="{}" if method == "POST" else None)[0] == 401, path
        assert server.request(method, path, key="wrong-key", body="{}" if method == "POST" else None)[0] == 401, path
    assert server.request("GET", "/health", key=None)[0] == 200
    status, page = server.request("GET", "/", key=None)
    assert (
        status == 200 and "Trunkline" in page and "script-src 'self'" in server.last_headers["content-security-policy"]
    )


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
    assert status == 200 and form["required"] == ["caller_number", "callee_number", "purpose", "questions"], form
    members = form["properties"]
    assert members["purpose"]["maxLength"] == 2000 and members["questions"]["maxItems"] == 20
    assert (members["priority"]["default"], members["max_retries"]["default"]) == (5, 2)
    documented = server.request("GET", "/openapi.json")[1]["components"]["schemas"]["NewCall"]["properties"]
    assert documented.keys() == members.keys() and documented["purpose"] == members["purpose"]
    for name in ("templates", "operators", "numbers", "do-not-call", "knowledge", "keys"):
        assert server.request("GET", f"/api/forms/{name}")[0] == 200, name


@pytest.mark.shared
def test_bad_bodies_and_paths(server):
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


def test_a_repeated_request_is_one_call(make_server):
    server = make_server()
    first = server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "k-1"})
    reordered = json.dumps(dict(reversed(GOOD.items())), indent=2)
    assert (
        server.request("POST", "/api/outbound/", reordered, headers={"Idempotency-Key": "k-1"}) == first
        and first[0] == 202
    )
    assert server.last_headers["location"] == "/api/outbound/" + first[1]["outbound_id"]
    status, answer = server.request(
        "POST", "/api/outbound/", {**GOOD, "purpose": "another"}, headers={"Idempotency-Key": "k-1"}
    )
    assert status == 422 and answer["code"] == "idempotency_key_reused"
    assert server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "x" * 256})[0] == 422
    server.kill(9)
    server.start()
    assert server.request("POST", "/api/outbound/", GOOD, headers={"Idempotency-Key": "k-1"}) == first, (
        "after a crash too"
    )
    assert server.request("GET", "/api/outbound/")[1]["total"] == 1


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


def test_numbers_that_would_be_changed_are_refused(make_server, callee):
    """Answers and conditions are calculated with: doubles hold them, or they are not taken."""
    server = make_server()
    question = {"text": "How many guests will you bring?", "type": "number"}
    for number in ("9007199254740993", "1e400", "0.12345678901234567890"):
        body = json.dumps(
            {**GOOD, "questions": ["Will you come?", {"text": "b", "ask_if": {"question": "q1", "equals": "N"}}]}
        ).replace('"N"', number)
        status, answer = server.request("POST", "/api/outbound/", body)
        assert status == 422 and fields(answer) == ["questions[1].ask_if.equals"], answer
    call_id = server.create(callee("cooperative").address, [question])
    server.wait_for(call_id)
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
def test_impossible_times_are_refused_wherever_a_time_is_taken(server, time):
    """RFC 3339 §5.6; the whole table is in TimestampTests."""
    status, answer = server.request("POST", "/api/outbound/", {**GOOD, "scheduled_at": time})
    assert (status, fields(answer)) == (422, ["scheduled_at"]), answer
    for path in ("/api/outbound/", "/api/inbound/"):
        for name in ("from", "to"):
            status, answer = server.request("GET", f"{path}?{name}={urllib.parse.quote(time)}")
            assert (status, fields(answer)) == (422, [name]), answer
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0


def test_times_of_every_spelling_are_taken(make_server):
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


LISTS = [
    "/api/outbound/",
    "/api/inbound/",
    "/api/outbound/active",
    "/api/inbound/active",
    "/api/do-not-call",
    "/api/numbers",
    "/api/audit",
    "/api/webhooks/deliveries",
]


def test_cursors_that_no_list_gave_are_refused(make_server):
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


def test_query_parameters_are_bounded_known_and_said_once(server):
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


def test_a_dead_callee_fails_with_a_reason(make_server):
    server = make_server(TRUNKLINE_OUTBOUND_RING_TIMEOUT="2")
    call = server.wait_for(server.create("sip:nobody@127.0.0.1:9"), seconds=30)
    assert call["state"] in ("failed", "no_answer") and call["failure_reason"]
    # A gateway whose name does not resolve.
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="no-such-host.invalid", TRUNKLINE_OUTBOUND_RING_TIMEOUT="5")
    call = server.wait_for(server.create("01012345678"), seconds=30)
    assert call["state"] in ("failed", "no_answer") and call["failure_reason"]


def test_session_cookie_and_same_origin(server):
    assert server.request("POST", "/api/session", {"api_key": "wrong"}, key=None)[0] == 401
    status, answer = server.request("POST", "/api/session", {"api_key": KEY}, key=None)
    assert status == 200 and answer["role"] == "admin"
    cookie = server.last_headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    token = cookie.split(";")[0]
    assert server.request("GET", "/api/outbound/", key=None, headers={"Cookie": token})[0] == 200
    evil = {"Cookie": token, "Origin": "http://evil.example"}
    assert server.request("POST", "/api/outbound/", GOOD, key=None, headers=evil)[0] == 403
    own = {"Cookie": token, "Sec-Fetch-Site": "same-origin"}
    assert server.request("POST", "/api/outbound/", GOOD, key=None, headers=own)[0] == 202
    assert server.request("DELETE", "/api/session", key=None, headers=own)[0] == 204
    assert server.request("GET", "/api/outbound/", key=None, headers={"Cookie": token})[0] == 401


class EventSocket:
    """A minimal WebSocket client: handshake and text frames."""

    def __init__(self, port, path, key=KEY):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=15)
        nonce = base64.b64encode(os.urandom(16)).decode()
        auth = f"Authorization: Bearer {key}\r\n" if key else ""
        self.socket.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n{auth}\r\n"
            ).encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(1)
            if not piece:
                break
            head += piece
        self.status = int(head.split()[1])

    def receive(self):
        head = self._exactly(2)
        length = head[1] & 127
        if length == 126:
            length = struct.unpack(">H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self._exactly(8))[0]
        data = self._exactly(length)
        return json.loads(data) if head[0] & 15 == 1 else self.receive()

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            assert piece, "closed"
            data += piece
        return data


def test_events_are_live_and_replayed(server, callee):
    assert EventSocket(server.http_port, "/api/events", key=None).status == 401
    assert EventSocket(server.http_port, "/api/nothing").status == 404
    live = EventSocket(server.http_port, "/api/events?after=0")
    call_id = server.create(callee("busy").address, [PARKING])
    names, ids = [], []
    while not names or names[-1] not in ("outbound_completed", "outbound_ended", "outbound_failed"):
        event = live.receive()
        assert event["outbound_id"] == call_id
        names.append(event["event"])
        ids.append(event["id"])
    assert names[:4] == ["outbound_queued", "outbound_dialing", "outbound_ringing", "outbound_connected"]
    assert "outbound_transcript" in names and ids == sorted(set(ids))
    again = EventSocket(server.http_port, f"/api/events?after={ids[3]}")
    assert [again.receive()["id"] for _ in ids[4:]] == ids[4:]


def test_what_goes_on_comes_in_pages(server, callee):
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


def test_list_statistics_recording_and_actions(server, callee):
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


def test_cancel_while_ringing_and_while_queued(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="1")
    ringing = callee("no-answer")
    first = server.create(ringing.address)
    second = server.create(callee("cooperative").address)
    server.wait_for(first, {"ringing"}, seconds=20)
    assert server.call(second)["state"] == "queued"
    assert server.request("POST", f"/api/outbound/{second}/cancel", "{}")[0] == 202
    assert server.request("POST", f"/api/outbound/{first}/cancel", "{}")[0] == 202
    assert (
        server.wait_for(first, seconds=10)["state"] == "cancelled" and server.wait_for(second)["state"] == "cancelled"
    )
    deadline = time.time() + 5
    while not any(event["event"] == "cancelled" for event in ringing.events()):
        assert time.time() < deadline, "the callee never saw the CANCEL"
        time.sleep(0.05)
