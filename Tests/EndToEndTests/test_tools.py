"""Tools that models may call: what an administrator may make of them, what they reach, and that no secret comes out."""

import http.server
import json
import ssl
import threading
import time

import pytest
from conftest import mocks
from name_server import NameServer, may_mount, with_names
from stored_data import ENCRYPTION_KEY, everything

SECRET = "crm-s3cret-0123456789"


class CRM:
    """A server that tools ask; `answer(handler, body)` gives status, headers and body."""

    def __init__(self, answer=lambda handler, body: (200, {}, b"{}"), tls=None):
        self.asked, self.connections = [], 0
        crm = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                crm.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, text = answer(self, body)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_DELETE = do_POST

        class Counting(http.server.ThreadingHTTPServer):
            def get_request(self):
                crm.connections += 1
                return super().get_request()

        self.server = Counting(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


crm = mocks(CRM)


def tool(url, name="crm_lookup", **more):
    return {
        "name": name,
        "description": "Looks a customer up.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string", "maxLength": 40}}},
        "request": {"method": "POST", "url": url, "headers": {"Authorization": "Bearer {{secrets.crm}}"}},
        **more,
    }


def with_secret(server):
    status, answer = server.request("POST", "/api/secrets", {"name": "crm", "value": SECRET})
    assert status == 201 and SECRET not in str(answer), answer


def tried(server, name="crm_lookup", variables=None, **arguments):
    status, answer = server.request(
        "POST", f"/api/tools/{name}/try", {"arguments": arguments, "variables": variables or {}}
    )
    assert status == 200, answer
    return answer


def test_a_tool_is_made_tried_changed_and_deleted(make_server, crm):
    server = make_server()
    asked = crm(lambda handler, body: (200, {}, json.dumps({"data": {"price": 5, "words": "five"}}).encode()))
    with_secret(server)
    document = tool(asked.url + "/{{tenant}}/find", response={"into": {"price": "/data/price"}, "tell": "/data/words"})
    status, made = server.request("POST", "/api/tools", document)
    assert status == 201 and made["revision"] == 1, made
    assert server.request("POST", "/api/tools", document)[0] == 409
    answer = tried(server, variables={"tenant": "a b"}, q="x")
    assert answer["status"] == "ok" and answer["output"] == "five" and answer["attempts"] == 1
    method, path, headers, body = asked.asked[0]
    assert (method, path, json.loads(body)) == ("POST", "/a%20b/find", {"q": "x"})
    assert headers["Authorization"] == f"Bearer {SECRET}" and headers["x-trunkline-call"].startswith("try-")
    assert headers["idempotency-key"].endswith(":1") and headers["webhook-signature"].startswith("v1,")
    for tenant in ["..", "a/b", "%2e%2e", ""]:
        assert tried(server, variables={"tenant": tenant})["status"] == "refused"
    assert tried(server, q=7)["status"] == "invalid_arguments"
    assert len(asked.asked) == 1

    status, listed = server.request("GET", "/api/secrets")
    assert listed["items"] == [
        {
            "name": "crm",
            "source": "stored",
            "used_by": ["tools/crm_lookup"],
            "updated_at": listed["items"][0]["updated_at"],
        }
    ]
    assert server.request("DELETE", "/api/secrets/crm")[0] == 409

    changed = {**document, "timeout_ms": 2000}
    status, answer = server.request("PUT", "/api/tools/crm_lookup", changed, headers={"If-Match": '"7"'})
    assert status == 412 and answer["code"] == "changed_meanwhile", answer
    status, answer = server.request("PUT", "/api/tools/crm_lookup", changed, headers={"If-Match": '"1"'})
    assert status == 200 and answer["revision"] == 2 and "warnings" not in answer
    status, answer = server.request("PUT", "/api/tools/crm_lookup", changed)
    assert answer["revision"] == 2 and answer["warnings"][0]["code"] == "replaced_unseen"
    assert server.request("PUT", "/api/tools/crm_lookup", tool(asked.url, name="other"))[0] == 422
    assert server.request("DELETE", "/api/tools/crm_lookup")[0] == 204
    assert server.request("GET", "/api/tools/crm_lookup")[0] == 404
    assert server.request("DELETE", "/api/secrets/crm")[0] == 204


def test_no_secret_is_found_anywhere(make_server, crm):
    """Not in the data folder, the log, or any answer, whatever goes wrong with the tool."""

    def echo(handler, body):
        status = 500 if b"fail" in body else 200
        return status, {}, json.dumps({"headers": dict(handler.headers), "body": body.decode()}).encode()

    asked = crm(echo)
    server = make_server(
        TRUNKLINE_SECURITY_ENCRYPTION_KEY=ENCRYPTION_KEY,
        TRUNKLINE_TOOLS_SECRETS_OWN="own-s3cret-0123456789",
        TRUNKLINE_LOG_LEVEL="debug",
    )
    with_secret(server)
    assert server.request("POST", "/api/secrets", {"name": "own", "value": "x"})[0] == 409
    document = tool(asked.url)
    document["request"]["headers"]["X-Own"] = "{{secrets.own}}"
    answers = [server.request("POST", "/api/tools", document)]
    answers += [tried(server, q="x"), tried(server, q="fail"), tried(server, q=5)]
    assert answers[2]["status"] == "http_500"
    assert asked.asked[0][2]["X-Own"] == "own-s3cret-0123456789"
    bad = tool(asked.url, name="bad")
    bad["request"]["url"] += "/?k={{secrets.crm}}"
    answers += [server.request("POST", "/api/tools", bad)]
    for path in ["/api/tools", "/api/tools/crm_lookup", "/api/secrets", "/api/audit", "/metrics", "/openapi.json"]:
        answers.append(server.request("GET", path))
    asked.stop()
    answers += [tried(server, q="x")]
    log = (server.folder / "server.log").read_text()
    for secret in [SECRET, "own-s3cret-0123456789"]:
        assert secret not in str(answers) and secret not in log
        assert secret.encode() not in everything(server)
    assert answers[-1]["status"] == "not_available"


def test_the_network_inside_is_not_reached(make_server, crm):
    """Neither where a tool is saved, nor where it is tried."""
    inside = crm()
    server = make_server()
    for url, code in [
        ("http://169.254.169.254/latest/meta-data", "http_only_on_loopback"),
        ("https://169.254.169.254/", "address_private"),
        ("https://[::1]/", "address_private"),
        (f"https://127.0.0.1:{inside.port}/", "address_private"),
        (f"https://[::ffff:7f00:1]:{inside.port}/", "address_private"),
        ("https://{{host}}/", "place_in_authority"),
        ("https://u:p@crm.example.org/", "credentials_in_url"),
        ("gopher://crm.example.org/", "not_https"),
    ]:
        document = tool(url)
        document["request"]["headers"] = {}
        status, answer = server.request("POST", "/api/tools", document)
        assert status == 422 and answer["errors"][0]["field"] == "/request/url", (url, answer)
        assert answer["errors"][0]["code"] == code, (url, answer)
    hosts = [
        "2130706433",
        "0x7f.0.0.1",
        "017700000001",
        "127.1",
        "0",
        "localhost",
        "LOCALHOST.",
        "[::ffff:7f00:1%25lo]",
    ]
    for number, host in enumerate(hosts):
        document = tool(f"https://{host}:{inside.port}/", name=f"t{number}")
        document["request"]["headers"] = {}
        if server.request("POST", "/api/tools", document)[0] == 201:
            answer = tried(server, f"t{number}")
            assert answer["status"] in {"refused", "not_available"}, (host, answer)
            assert "127.0.0.1" not in str(answer) and str(inside.port) not in str(answer)
    away = crm(lambda handler, body: (307, {"Location": inside.url + "/secret"}, b""))
    document = tool(away.url, name="away")
    document["request"]["headers"] = {}
    assert server.request("POST", "/api/tools", document)[0] == 201
    assert tried(server, "away")["status"] == "http_307"
    assert away.asked and not inside.connections


class Fickle(NameServer):
    """Answers with a public address first, and with our own afterwards."""

    def __init__(self):
        self.count = 0
        super().__init__({("rebind.test", "A"): ["203.0.113.7"]})

    def data(self, kind, value):
        self.count += 1
        return super().data(kind, "203.0.113.7" if self.count == 1 else "127.0.0.1")


@pytest.mark.may_skip("a mount namespace")
@may_mount
def test_a_name_that_changes_its_mind_is_not_reached(make_server, crm, tmp_path, certificates):
    """With its proof that it can fail: what the operator allows is reached, by the same name."""
    inside = crm(tls=(certificates / "one.pem", certificates / "one.key"))
    names = Fickle()
    settings = {
        "launcher": with_names(tmp_path, names.address),
        "TRUNKLINE_TLS_CA_FILE": str(certificates / "ca.pem"),
    }
    document = tool(f"https://rebind.test:{inside.port}/", timeout_ms=1000)
    document["request"]["headers"] = {}
    server = make_server(**settings)
    assert server.request("POST", "/api/tools", document)[0] == 201
    for _ in range(4):
        assert tried(server)["status"] in {"refused", "not_available", "timeout"}
    assert names.asked and not inside.connections


def test_what_the_operator_allows_is_reached(make_server, crm, certificates):
    inside = crm(tls=(certificates / "one.pem", certificates / "one.key"))
    server = make_server(
        TRUNKLINE_TOOLS_ALLOWED_HOSTS=f"127.0.0.1:{inside.port}", TRUNKLINE_TLS_CA_FILE=str(certificates / "ca.pem")
    )
    document = tool(f"https://127.0.0.1:{inside.port}/")
    document["request"]["headers"] = {}
    assert server.request("POST", "/api/tools", document)[0] == 201
    assert tried(server)["status"] == "ok" and inside.asked


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_the_time_limit_is_exact(make_server, crm, allowed, kind):
    def slow(handler, body):
        if kind == "drip":
            handler.send_response(200)
            handler.send_header("Content-Length", "100")
            handler.end_headers()
            for _ in range(60):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.1)
        time.sleep(6)
        return 200, {}, b"{}"

    server, asked = make_server(), crm(slow)
    document = tool(asked.url, timeout_ms=1500, retries=3, idempotent=True)
    document["request"]["headers"] = {}
    assert server.request("POST", "/api/tools", document)[0] == 201
    answer = tried(server)
    print(f"{kind}: {answer['ms']} ms of 1500")
    assert answer["status"] == "timeout" and 1495 <= answer["ms"] < 1500 + 1000 * allowed(0.1), answer


def test_only_administrators_open_the_network(make_server):
    server = make_server()
    status, key = server.request("POST", "/api/keys", {"name": "op", "role": "operator"})
    assert status == 201
    for method, path in [
        ("GET", "/api/tools"),
        ("POST", "/api/tools"),
        ("POST", "/api/tools/x/try"),
        ("GET", "/api/secrets"),
        ("POST", "/api/secrets"),
        ("GET", "/api/mcp-servers"),
        ("POST", "/api/mcp-servers"),
    ]:
        body = {} if method == "POST" else None
        assert server.request(method, path, body, key=key["key"])[0] == 403, path


def test_presets_and_all_errors_at_once(make_server, crm):
    server, asked = make_server(), crm(lambda handler, body: (200, {}, b'{"found": true, "first": "10:00"}'))
    status, made = server.request(
        "POST", "/api/tools", {"preset": "check_availability", "api_url": asked.url + "/free"}
    )
    assert status == 201 and made["request"]["method"] == "GET", made
    assert tried(server, "check_availability", day="2026-07-28")["output"] == {"found": True, "first": "10:00"}
    assert asked.asked[0][1] == "/free?day=2026-07-28"
    assert tried(server, "check_availability", day="Friday")["status"] == "invalid_arguments"
    status, answer = server.request(
        "POST",
        "/api/tools",
        {
            "name": "end_call",
            "parameters": {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}},
            "request": {"url": "http://10.0.0.1/", "headers": {"X": "{{answers.q1}}", "Y": "{{secrets.none}}"}},
            "retries": 1,
        },
    )
    assert status == 422
    assert {(error["field"], error["code"]) for error in answer["errors"]} >= {
        ("/name", "reserved_name"),
        ("/description", "required"),
        ("/parameters/properties/a/pattern", "keyword_not_supported"),
        ("/request/url", "http_only_on_loopback"),
        ("/request/headers/X", "place_not_here"),
    }, answer
    assert [one["name"] for one in server.request("GET", "/api/tools")[1]["items"]] == ["check_availability"]
