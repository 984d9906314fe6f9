"""Keys, templates, answers corrected by hand, the audit log, metrics, what is encrypted, backup and restore."""

import json
import subprocess
import time

import pytest
from api_client import EventSocket
from conftest import ATTEND, KEY, PARKING, TRUNKLINE, clean_environment
from stored_data import everything, run


def test_keys_are_made_and_revoked(server):
    status, made = server.request("POST", "/api/keys", {"name": "reporting", "role": "viewer"})
    assert status == 201 and made["key"].startswith("tk_") and made["is_valid"]
    key = made["key"]
    assert server.request("GET", "/api/outbound/", key=key)[0] == 200
    for method, path, body in [
        ("POST", "/api/keys", "{}"),
        ("GET", "/api/audit", None),
        ("POST", "/api/outbound/", "{}"),
        ("POST", "/api/do-not-call", "{}"),
    ]:
        assert server.request(method, path, body, key=key)[0] == 403, path
    listed = server.request("GET", "/api/keys")[1]["items"]
    assert sorted(item["name"] for item in listed) == ["admin", "reporting"] and key not in json.dumps(listed)
    watcher = EventSocket(server.http_port, "/api/events", key=key)
    assert watcher.status == 101
    assert server.request("DELETE", f"/api/keys/{made['id']}")[0] == 204
    assert server.request("GET", "/api/outbound/", key=key)[0] == 401
    started = time.monotonic()
    watcher.socket.settimeout(5)
    assert watcher.socket.recv(2)[0] & 15 == 8 and time.monotonic() - started < 5, "its socket is closed"
    admin = next(item["id"] for item in server.request("GET", "/api/keys")[1]["items"] if item["name"] == "admin")
    assert server.request("DELETE", f"/api/keys/{admin}")[0] == 409, "the last admin key stays"
    assert [item["action"] for item in server.request("GET", "/api/audit")[1]["items"]] == ["key.revoke", "key.create"]
    for bad, field in [
        ({"role": "viewer"}, "name"),
        ({"name": "a", "role": "king"}, "role"),
        ({"name": "a", "role": "viewer", "expires_in_days": 0}, "expires_in_days"),
    ]:
        status, answer = server.request("POST", "/api/keys", bad)
        assert status == 422 and answer["errors"][0]["field"] == field


def test_keys_are_managed_on_the_command_line(server):
    made = run(server, "keys", "create", "--name", "night shift", "--role", "operator")
    assert made.returncode == 0, made.stderr
    key_id, key = made.stdout.split()
    deadline = time.time() + 5
    while server.request("GET", "/api/outbound/", key=key)[0] != 200:
        assert time.time() < deadline, "a running server knows it within 5 s"
        time.sleep(0.1)
    assert run(server, "keys", "revoke", key_id).returncode == 0
    deadline = time.time() + 5
    while server.request("GET", "/api/outbound/", key=key)[0] != 401:
        assert time.time() < deadline
        time.sleep(0.1)
    assert f"{key_id}  revoked  operator  night shift" in run(server, "keys", "list").stdout
    assert run(server, "keys", "revoke", "key-00000000").returncode != 0


def test_users_log_in_by_name_and_password(server):
    def user(*arguments, **options):
        return subprocess.run(
            [TRUNKLINE, "users", *arguments],
            cwd=server.folder,
            env={**clean_environment(), **server.environment},
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    def log_in(name, password):
        return server.request("POST", "/api/session", {"username": name, "password": password}, key=None)

    assert user("save", "Mina", "--role", "operator", input="correct horse battery\n").returncode == 0
    assert user("save", "Short", input="short\n").returncode != 0
    status, answer = log_in("Mina", "correct horse battery")
    assert (status, answer) == (200, {"name": "Mina", "role": "operator"})
    cookie = {"Cookie": server.last_headers["set-cookie"].split(";")[0], "Sec-Fetch-Site": "same-origin"}
    assert server.request("GET", "/api/outbound/", key=None, headers=cookie)[0] == 200
    assert server.request("GET", "/api/audit", key=None, headers=cookie)[0] == 403
    assert (
        server.request(
            "POST", "/api/templates", {"name": "a", "purpose": "b", "questions": ["c"]}, key=None, headers=cookie
        )[0]
        == 201
    )
    assert b"correct horse" not in everything(server) and "Mina  operator" in user("list").stdout
    for _ in range(20):
        if log_in("Nobody", "wrong password here")[0] == 429:
            break
    status, answer = log_in("Mina", "correct horse battery")
    assert status == 429 and int(server.last_headers["retry-after"]) > 0, "guessing is slow"
    assert user("remove", "Mina").returncode == 0
    deadline = time.time() + 5
    while server.request("GET", "/api/outbound/", key=None, headers=cookie)[0] != 401:
        assert time.time() < deadline, "his login ends with him"
        time.sleep(0.1)
    assert [item["action"] for item in server.request("GET", "/api/audit?action=session.begin")[1]["items"]] == [
        "session.begin"
    ]
    status, answer = server.request("POST", "/api/session", {"username": "Mina", "api_key": KEY}, key=None)
    assert status == 422 and sorted(error["field"] for error in answer["errors"]) == ["api_key", "password"]


def test_templates_are_created_changed_and_used(server):
    body = {
        "name": "Dinner",
        "purpose": "to prepare the dinner",
        "questions": [ATTEND, {"text": PARKING, "type": "boolean", "ask_if": {"question": "q1", "equals": "yes"}}],
    }
    status, made = server.request("POST", "/api/templates", body)
    assert status == 201 and [question["id"] for question in made["questions"]] == ["q1", "q2"]
    assert server.request("POST", "/api/templates", body)[0] == 409, "the name is taken"
    path = f"/api/templates/{made['id']}"
    assert server.request("PUT", path, {**body, "name": "Lunch", "language": "ko"})[1]["language"] == "ko"
    assert [item["name"] for item in server.request("GET", "/api/templates")[1]["items"]] == ["Lunch"]
    status, answer = server.request("PUT", path, {"name": "", "questions": [], "x": 1})
    assert status == 422 and sorted(error["field"] for error in answer["errors"]) == [
        "name",
        "purpose",
        "questions",
        "x",
    ]
    assert server.request("DELETE", path)[0] == 204 and server.request("GET", path)[0] == 404


def test_a_corrected_answer_names_its_editor_and_time(server, callee):
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id)
    before = server.result(call_id)["answers"][0]
    status, result = server.request(
        "POST",
        f"/api/outbound/{call_id}/answers/q1",
        {"status": "answered", "answer_text": "No, I am ill.", "answer_summary": "no"},
    )
    answer = result["answers"][0]
    assert status == 200 and (answer["answer_text"], answer["confidence"], answer["confidence_source"]) == (
        "No, I am ill.",
        None,
        "human",
    )
    assert answer["evidence"] == before["evidence"]
    correction = server.result(call_id)["corrections"][0]
    assert (
        correction["by"] == "admin"
        and correction["before"]["answer_text"] == before["answer_text"]
        and correction["at"]
    )
    assert server.request("POST", f"/api/outbound/{call_id}/answers/q9", {})[0] == 404
    status, answer = server.request("POST", f"/api/outbound/{call_id}/answers/q1", {"status": "perhaps"})
    assert status == 422 and [error["field"] for error in answer["errors"]] == ["status", "value"]
    assert server.events(call_id)[-1] == "outbound_progress"
    assert [item["detail"] for item in server.request("GET", "/api/audit?action=answer.correct")[1]["items"]] == ["q1"]


def test_an_operators_text_is_spoken_to_the_callee(server, callee):
    """It is heard by the callee, and stands in the transcript."""
    silent = callee("silent")
    call_id = server.create(silent.address, [ATTEND])
    server.wait_for(call_id, {"connected"})
    time.sleep(1)
    status, answer = server.request(
        "POST", f"/api/outbound/{call_id}/say", {"text": "A colleague will call you back tomorrow. Thank you."}
    )
    assert status == 202, answer
    deadline = time.time() + 20
    while not any("colleague" in entry["text"] for entry in server.result(call_id)["transcript"]):
        assert time.time() < deadline, server.result(call_id)["transcript"]
        time.sleep(0.1)
    assert server.request("POST", f"/api/outbound/{call_id}/say", {"text": " "})[0] == 422
    server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")
    server.wait_for(call_id)
    assert server.request("POST", f"/api/outbound/{call_id}/say", {"text": "Hello?"})[0] == 409
    assert [item["target"] for item in server.request("GET", "/api/audit?action=call.say")[1]["items"]] == [call_id]


def test_the_doctor_reports_problems(server):
    server_is_up = run(server, "doctor")
    assert (
        server_is_up.returncode == 0 and "the database" in server_is_up.stdout and "http.port" in server_is_up.stdout
    ), server_is_up.stdout
    bad = run(server, "doctor", TRUNKLINE_SPEECH_MODEL_DIR="/nowhere")
    assert bad.returncode == 1 and "BAD" in bad.stdout and "/nowhere" in bad.stdout


def test_the_doctor_the_api_and_the_forms_say_the_same_of_a_language(server):
    said = run(server, "doctor").stdout
    assert "good    calls in en: spoken and understood" in said, said
    form = server.request("GET", "/api/forms/outbound")[1]["properties"]["language"]["x-warnings"]
    call = {"caller_number": "025550100", "callee_number": "sip:a@127.0.0.1:9", "purpose": "x", "questions": ["y"]}
    for language in ("en", "ko", "ru"):
        status, answer = server.request("POST", "/api/outbound/check", {**call, "language": language})
        assert status == 200, answer
        assert answer["warning_details"] == ([form[language]] if language in form else []), answer
        for warning in answer["warnings"]:
            assert f"advice  calls in {language}: {warning}" in said, said
    assert form.keys() == {"ko", "ru"} and form["ko"]["code"] == "answers_by_keypad", form


def test_requests_for_other_host_names_are_refused(make_server):
    server = make_server(TRUNKLINE_HTTP_HOSTS="trunk.example")
    for host, status in [
        ("127.0.0.1", 200),
        ("localhost:99", 200),
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("trunk.example", 200),
    ]:
        assert server.request("GET", "/api/outbound/", headers={"Host": host})[0] == status, host


def test_metrics_contain_no_phone_numbers(server, callee):
    server.short_call(callee("silent"))
    assert server.request("GET", "/metrics", key=None)[0] == 401
    status, text = server.request("GET", "/metrics")
    assert status == 200 and 'trunkline_calls{state="completed"} 1' in text and "025550100" not in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0


WIDE = {
    "TRUNKLINE_HTTP_HOST": "0.0.0.0",
    "TRUNKLINE_API_KEY": "a-key-for-the-wide-world",
    "TRUNKLINE_SECURITY_ENCRYPTION_KEY": "0" * 64,
}


@pytest.mark.parametrize(
    "settings, complaint",
    [
        (WIDE, "--behind-proxy"),
        ({**WIDE, "TRUNKLINE_HTTP_BEHIND_PROXY": "true"}, None),
        (
            {name: value for name, value in WIDE.items() if "API_KEY" not in name}
            | {"TRUNKLINE_HTTP_BEHIND_PROXY": "true"},
            "TRUNKLINE_API_KEY",
        ),
        (
            {name: value for name, value in WIDE.items() if "ENCRYPTION" not in name}
            | {"TRUNKLINE_HTTP_BEHIND_PROXY": "true"},
            "ENCRYPTION_KEY",
        ),
        ({"TRUNKLINE_ALERTS_URL": "ftp://example.com"}, "alerts.url"),
        ({"TRUNKLINE_RESULT_CALLBACK_URL": "x"}, "result_callback_url"),
        ({"TRUNKLINE_COSTS_PRICES": "telephony/sip hour 1"}, "COSTS_PRICES"),
        ({"TRUNKLINE_OUTBOUND_AI_VOICEMAIL": "leave_message"}, "voicemail_message"),
        ({"TRUNKLINE_OUTBOUND_RESULT_SUMMARY_MODEL": "openai/x"}, "summary_model"),
    ],
)
def test_bad_configurations_are_refused(tmp_path, settings, complaint):
    told = subprocess.run(
        [TRUNKLINE, "config", "check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        env={**clean_environment(), **settings},
    )
    assert (told.returncode == 0) == (complaint is None) and (complaint or "") in told.stdout + told.stderr, told


def test_behind_a_proxy_each_client_has_its_own_rate_limit(make_server):
    server = make_server(
        TRUNKLINE_HTTP_BEHIND_PROXY="true",
        TRUNKLINE_SECURITY_RATE_LIMIT_PER_SECOND="1",
        TRUNKLINE_SECURITY_RATE_LIMIT_BURST="3",
    )
    ask = lambda source: server.request(
        "GET", "/api/session", key="wrong", headers={"X-Forwarded-For": f"203.0.113.9, {source}"}
    )[0]
    assert [ask("198.51.100.1") for _ in range(4)] == [401, 401, 401, 429]
    assert ask("198.51.100.2") == 401, "only what the server in front added itself counts"
