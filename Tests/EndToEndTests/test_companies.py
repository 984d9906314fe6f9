"""Companies: what is one company's is not there for another, whatever is asked (docs/companies.md)."""

import json
import signal
import subprocess

import pytest
from api_client import GOOD, LISTS, EventSocket
from companies import OURS, A, B, Member
from conftest import KEY, TRUNKLINE, clean_environment, mocks
from test_webhooks import SECRET as SIGNED_WITH
from test_webhooks import Receiver

receiver = mocks(Receiver)

SECRET = "Quetzalcoatl"


@pytest.fixture
def pair(server):
    return Member(server, A), Member(server, B)


def furnish(member):
    """One of everything that has an id, with a word that nobody else must see."""
    member.post("/api/numbers", {"number": OURS, "label": SECRET})
    call = {**GOOD, "caller_number": OURS, "purpose": SECRET, "scheduled_at": "2099-01-01T00:00:00Z"}
    return {
        "call": member.post("/api/outbound/", call)["outbound_id"],
        "template": member.post("/api/templates", {"name": SECRET, "purpose": SECRET, "questions": ["A?"]})["id"],
        "operator": member.post("/api/operators", {"name": SECRET, "sip_user": "alphadesk"})["id"],
        "knowledge": member.post("/api/knowledge", {"question": f"Who is {SECRET}?", "answer": SECRET})["id"],
        "do_not_call": member.post("/api/do-not-call", {"number": "01099990000", "reason": SECRET}) and "01099990000",
        "number": OURS,
        "key": member.key_id,
        "agent": member.post("/api/agents", AGENT)["slug"],
        "tool": member.post("/api/tools", TOOL)["name"],
        "secret": member.post("/api/secrets", {"name": "alpha_secret", "value": SECRET})["name"],
        # One is listed when it is stored, and no server is there: any name is as unknown to others.
        "server": "alpha_server",
    }


def ids_of(path, owned):
    """The paths of a route with one company's own ids; some routes have more than one kind."""
    kinds = {
        "/api/outbound/": "call",
        "/api/inbound/": "call",
        "/api/templates/": "template",
        "/api/operators/": "operator",
        "/api/knowledge/": "knowledge",
        "/api/do-not-call/": "do_not_call",
        "/api/numbers/": "number",
        "/api/keys/": "key",
        "/api/agents/": "agent",
        "/api/tools/": "tool",
        "/api/secrets/": "secret",
        "/api/mcp-servers/": "server",
    }
    kind = next((kind for start, kind in kinds.items() if path.startswith(start)), None)
    if kind is None:
        return None
    filled = path
    for name in ("{id}", "{number}", "{slug}", "{name}"):
        filled = filled.replace(name, owned[kind])
    return filled.replace("{qid}", "q1").replace("{version}", "1").replace("/diff", "/diff?to=1")


AGENT = {"slug": "alpha-agent", "name": SECRET, "purpose": SECRET, "questions": ["A?"]}
TOOL = {
    "name": "alpha_tool",
    "description": SECRET,
    "parameters": {"type": "object", "properties": {}},
    "request": {"method": "GET", "url": "https://tools.example/x"},
}
BODIES = {
    "PUT /api/agents/{slug}": AGENT,
    "POST /api/agents/{slug}/publish": {"version": 1},
    "POST /api/agents/{slug}/simulate": {"turns": []},
    "PUT /api/tools/{name}": TOOL,
    "POST /api/tools/{name}/try": {"arguments": {}},
    "POST /api/mcp-servers/{name}/accept": {"tool": "x"},
    "PUT /api/templates/{id}": {"name": "x", "purpose": "x", "questions": ["A?"]},
    "PUT /api/operators/{id}": {"name": "x", "sip_user": "x"},
    "PUT /api/operators/{id}/status": {"status": "away"},
    "POST /api/outbound/{id}/say": {"text": "x"},
    "POST /api/inbound/{id}/say": {"text": "x"},
}
# Ids of another kind: the forms of the dashboard, messages of the outbox and companies have tests of their own.
OTHER = ("/api/forms/", "/api/webhooks/", "/api/companies")


def everything(member, owned):
    """What the owner sees of it all."""
    paths = ["/api/outbound/", "/api/templates", "/api/operators", "/api/knowledge", "/api/do-not-call", "/api/numbers"]
    return [member.get(path)["items"] for path in paths] + [member.get(f"/api/outbound/{owned['call']}")]


def test_anothers_ids_are_not_there_on_any_route(server, pair):
    alpha, beta = pair
    owned = furnish(alpha)
    before = everything(alpha, owned)
    paths = server.request("GET", "/openapi.json")[1]["paths"]
    tried = 0
    for path, methods in sorted(paths.items()):
        if "{" not in path or path.startswith(OTHER):
            continue
        filled = ids_of(path, owned)
        assert filled, f"the test does not know {path}"
        for method in sorted(methods):
            body = BODIES.get(f"{method.upper()} {path}", None if method in ("get", "delete") else {})
            status, answer = beta.request(method.upper(), filled, body)
            assert status == 404, (method, path, status, answer)
            assert SECRET not in json.dumps(answer)
            tried += 1
    assert tried > 30
    assert everything(alpha, owned) == before
    assert alpha.get("/api/keys")["items"][0]["is_valid"]


def test_lists_searches_figures_and_metrics_show_nothing_of_another(server, pair):
    alpha, beta = pair
    owned = furnish(alpha)
    for path in [*LISTS, "/api/templates", "/api/operators", "/api/knowledge"]:
        text = json.dumps(beta.get(path))
        assert SECRET not in text and owned["call"] not in text and OURS not in text, path
    for search in (SECRET, owned["call"], OURS, "01099990000", "1001"):
        assert beta.get(f"/api/outbound/?q={search}")["items"] == []
    assert beta.get("/api/outbound/")["total"] == 0
    assert beta.get("/api/outbound/stats")["states"].get("queued", 0) == 0
    status, found = beta.request("POST", "/api/knowledge/search", {"query": f"Who is {SECRET} please"})
    assert status == 200 and found["items"] == []
    status, metrics = beta.request("GET", "/metrics")
    assert status == 200 and A not in metrics and "process_" not in metrics
    assert f'trunkline_calls{{company="{B}",state="queued"}} 0' in metrics
    status, metrics = server.request("GET", "/metrics")
    assert f'trunkline_calls{{company="{A}",state="queued"}} 1' in metrics
    assert [key["id"] for key in beta.get("/api/keys")["items"]] == [beta.key_id]
    # The number is theirs: nobody else may show it, and only they may call the one they have not listed.
    status, refused = beta.request("POST", "/api/outbound/", {**GOOD, "caller_number": OURS})
    assert (status, refused["code"]) == (403, "caller_not_allowed")
    status, refused = server.request("POST", "/api/outbound/", {**GOOD, "caller_number": OURS})
    assert (status, refused["code"]) == (403, "caller_not_allowed")
    status, refused = beta.request("POST", "/api/numbers", {"number": OURS})
    assert status == 409 and A not in json.dumps(refused)


def test_events_are_told_to_their_company_alone(server, pair):
    alpha, beta = pair
    sockets = {
        member.slug: EventSocket(server.http_port, "/api/events?after=0", key=member.key) for member in (alpha, beta)
    }
    beta.post("/api/numbers", {"number": "0255502002"})
    owned = furnish(alpha)
    call = {**GOOD, "caller_number": "0255502002", "scheduled_at": "2099-01-01T00:00:00Z"}
    own = beta.post("/api/outbound/", call)["outbound_id"]
    assert sockets[A].receive()["outbound_id"] == owned["call"]
    assert sockets[B].receive()["outbound_id"] == own


def test_an_admin_of_the_installation_acts_for_another_and_both_know(server, pair):
    alpha, _ = pair
    acting = {"X-Company": A}
    body = {"name": "made for them", "purpose": "p", "questions": ["A?"]}
    status, made = server.request("POST", "/api/templates", body, headers=acting)
    assert status == 201
    assert alpha.get(f"/api/templates/{made['id']}")["name"] == "made for them"
    assert server.request("GET", f"/api/templates/{made['id']}")[0] == 404
    ours = [entry for entry in alpha.get("/api/audit?action=template.create")["items"]]
    assert [entry["actor"] for entry in ours] == ["admin (default)"]
    theirs = server.request("GET", "/api/audit?action=template.create")[1]["items"]
    assert [entry["detail"] for entry in theirs] == [f"for the company {A}"]
    # Nobody else may, for no company, and a company that there is not is not there.
    for key in (alpha.key, server.request("POST", "/api/keys", {"name": "o", "role": "operator"})[1]["key"]):
        for slug in (A, B, "default", "nobody"):
            assert server.request("GET", "/api/templates", key=key, headers={"X-Company": slug})[0] == 403
    assert server.request("GET", "/api/templates", headers={"X-Company": "nobody"})[0] == 404
    for method, path in [("GET", ""), ("POST", ""), ("GET", f"/{B}"), ("PATCH", f"/{A}"), ("DELETE", f"/{B}")]:
        assert alpha.request(method, "/api/companies" + path, {} if method != "GET" else None)[0] == 404


def test_a_suspended_company_reads_and_changes_nothing(server, pair, callee):
    alpha, _ = pair
    owned = furnish(alpha)
    assert server.request("PATCH", f"/api/companies/{A}", {"state": "suspended"})[0] == 200
    status, refused = alpha.request("POST", "/api/outbound/", {**GOOD, "caller_number": OURS})
    assert (status, refused["code"]) == (403, "company_suspended")
    assert alpha.request("DELETE", f"/api/templates/{owned['template']}")[0] == 403
    assert alpha.get(f"/api/outbound/{owned['call']}")["state"] == "queued"
    assert server.request("PATCH", f"/api/companies/{A}", {"state": "active"})[0] == 200
    assert alpha.request("DELETE", f"/api/templates/{owned['template']}")[0] == 204


def test_a_company_is_erased_with_all_that_is_its(server, pair):
    alpha, beta = pair
    furnish(alpha)
    assert server.request("DELETE", f"/api/companies/{A}")[0] == 409
    assert server.request("PATCH", f"/api/companies/{A}", {"state": "suspended"})[0] == 200
    assert server.request("DELETE", f"/api/companies/{A}")[0] == 204
    assert alpha.request("GET", "/api/outbound/")[0] == 401
    assert server.request("GET", f"/api/companies/{A}")[0] == 404
    assert [one["slug"] for one in server.request("GET", "/api/companies")[1]["items"]] == ["default", B]
    # Its numbers and names are free, and nothing of it comes back with its name.
    again = Member(server, A)
    assert again.get("/api/outbound/")["total"] == 0 and again.get("/api/audit")["items"][0]["action"] == "key.create"
    assert beta.request("POST", "/api/numbers", {"number": OURS})[0] == 201
    for path in (server.folder / "data").glob("calls.sqlite*"):
        assert SECRET.encode() not in path.read_bytes() and SECRET.lower().encode() not in path.read_bytes()


def test_every_mistake_of_a_company_is_told_at_once(server):
    body = {
        "slug": "Bad Slug",
        "quotas": {"concurrent_calls": 0, "agents": 5, "nonsense": 1},
        "time_zone": "Mars/Base",
        "webhook_url": "ftp://x",
        "webhook_secret": "x" * 40,
        "country": "KR",
        "surplus": 1,
        "retention_days": 0,
    }
    status, answer = server.request("POST", "/api/companies", body)
    assert status == 422
    wanted = [
        "country",
        "quotas.agents",
        "quotas.concurrent_calls",
        "quotas.nonsense",
        "retention_days",
        "slug",
        "surplus",
        "time_zone",
        "webhook_secret",
        "webhook_url",
    ]
    assert sorted(error["field"] for error in answer["errors"]) == wanted
    assert len(server.request("GET", "/api/companies")[1]["items"]) == 1
    assert server.request("PATCH", "/api/companies/default", {"name": "x"})[0] == 409
    assert server.request("POST", "/api/companies", {"slug": "default"})[0] == 422


def test_a_user_belongs_to_one_company_even_after_a_restart(server):
    alpha = Member(server, A)

    def users(*arguments):
        return subprocess.run(
            [TRUNKLINE, "users", *arguments],
            cwd=server.folder,
            env={**clean_environment(), **server.environment},
            capture_output=True,
            text=True,
            timeout=60,
            input="correct horse battery\n",
        )

    assert users("save", "Mina", "--role", "admin", "--company", A).returncode == 0
    assert users("save", "Mina", "--role", "admin").returncode != 0, "a name is one user's in the installation"
    assert users("save", "Nina", "--company", "nobody").returncode != 0
    assert "Mina  admin" in users("list").stdout and f"of {A}" in users("list").stdout
    login = {"username": "Mina", "password": "correct horse battery"}
    assert server.request("POST", "/api/session", login, key=None)[0] == 200
    cookie = {"Cookie": server.last_headers["set-cookie"].split(";")[0], "Sec-Fetch-Site": "same-origin"}
    body = {"name": "a", "purpose": "b", "questions": ["c"]}
    for _ in range(2):
        assert server.request("GET", "/api/session", key=None, headers=cookie)[1]["company"] == A
        assert server.request("GET", "/api/companies", key=None, headers=cookie)[0] == 404
        status, made = server.request("POST", "/api/templates", body, key=None, headers=cookie)
        assert status == 201 and alpha.get(f"/api/templates/{made['id']}")["name"] == "a"
        assert alpha.request("DELETE", f"/api/templates/{made['id']}")[0] == 204
        server.kill(signal.SIGKILL)
        server.start()
    assert users("remove", "Mina").returncode != 0, "not the installation's"
    assert users("remove", "Mina", "--company", A).returncode == 0


def test_webhooks_go_to_their_company_signed_with_its_secret(make_server, receiver):
    ours, theirs = receiver(), receiver()
    server = make_server(TRUNKLINE_WEBHOOKS_URL=ours.url)
    alpha = Member(server, A)
    alpha.post("/api/numbers", {"number": OURS})
    # The receivers believe one secret alone: what another signed is an error there.
    hook = {"webhook_url": theirs.url, "webhook_secret": SIGNED_WITH}
    assert server.request("PATCH", f"/api/companies/{A}", hook)[0] == 200
    call = {**GOOD, "scheduled_at": "2099-01-01T00:00:00Z"}
    own = alpha.post("/api/outbound/", {**call, "caller_number": OURS})["outbound_id"]
    assert server.request("POST", "/api/outbound/", call)[0] == 202
    told = theirs.wait_for(lambda events: len(events) == 1)
    assert [event["outbound_id"] for event in told] == [own]
    deliveries = alpha.get("/api/webhooks/deliveries")["items"]
    assert [item["outbound_id"] for item in deliveries] == [own]
    other = server.request("GET", "/api/webhooks/deliveries")[1]["items"]
    assert len(other) == 1 and other[0]["outbound_id"] != own
    # Another company cannot send it again.
    assert server.request("POST", f"/api/webhooks/deliveries/{deliveries[0]['id']}/replay")[0] == 404


def test_nobody_notices_while_there_is_one(server):
    assert "company" not in server.request("GET", "/api/session")[1]
    assert "company" not in server.request("GET", "/metrics")[1]
    call_id = server.create("sip:nobody@127.0.0.1:9", scheduled_at="2099-01-01T00:00:00Z")
    assert "company" not in json.dumps(server.call(call_id))
    assert KEY not in json.dumps(server.request("GET", "/api/companies")[1])
