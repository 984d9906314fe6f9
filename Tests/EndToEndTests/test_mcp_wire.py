"""`POST /mcp` on the wire: what both eras of the protocol say about requests, and what no client would send."""

import base64
import concurrent.futures
import http.client
import json

import pytest
from conftest import KEY

TOOLS = ["list_agents", "check_call", "place_call", "get_call", "get_transcript", "list_calls", "end_call"]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
# Seconds that an answer may take: `get_call` waits 25.
PATIENCE = 40


def modern(server, method, params=None, key=KEY, headers=None, meta=META, **members):
    """A request of 2026-07-28 with its header fields; those that are None are left out."""
    fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if method == "tools/call":
        fields["Mcp-Name"] = (params or {}).get("name")
    fields = {name: value for name, value in {**fields, **(headers or {})}.items() if value is not None}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}, **members}
    return server.request("POST", "/mcp", body, key=key, headers=fields)


def legacy(server, method, params=None, headers=None, key=KEY, **members):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **members}
    return server.request("POST", "/mcp", body, key=key, headers=headers)


@pytest.mark.shared
def test_the_modern_era_on_the_wire(server):
    status, answer = modern(server, "server/discover")
    result = answer["result"]
    assert status == 200 and result["supportedVersions"][0] == "2026-07-28" and result["capabilities"] == {"tools": {}}
    assert result["resultType"] == "complete" and result["cacheScope"] == "private" and result["ttlMs"] == 3_600_000
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "trunkline"
    listed = [modern(server, "tools/list")[1]["result"] for _ in range(2)]
    assert listed[0] == listed[1] and listed[0]["ttlMs"] == 3_600_000 and listed[0]["cacheScope"] == "private"
    assert listed[0]["resultType"] == "complete" and [tool["name"] for tool in listed[0]["tools"]] == TOOLS
    assert "mcp-session-id" not in server.last_headers
    call = {"name": "list_agents", "arguments": {}}
    status, answer = modern(server, "tools/call", call, headers={"Mcp-Session-Id": "x"})
    assert status == 200 and answer["result"]["resultType"] == "complete" and not answer["result"]["isError"]
    encoded = "=?base64?" + base64.b64encode(b"list_agents").decode() + "?="
    assert modern(server, "tools/call", call, headers={"Mcp-Name": encoded})[0] == 200
    for headers in (
        {"Mcp-Name": None},
        {"Mcp-Name": "get_call"},
        {"Mcp-Method": None},
        {"Mcp-Method": "tools/list"},
        {"MCP-Protocol-Version": None},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"Mcp-Name": "=?base64?x?="},
    ):
        status, answer = modern(server, "tools/call", call, headers=headers)
        assert (status, answer["error"]["code"], answer["id"]) == (400, -32020, 1), headers
    newer = {**META, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    status, answer = modern(server, "tools/list", meta=newer, headers={"MCP-Protocol-Version": "2027-01-01"})
    assert (status, answer["error"]["code"]) == (400, -32022)
    assert answer["error"]["data"]["requested"] == "2027-01-01" and "2026-07-28" in answer["error"]["data"]["supported"]
    for meta in ({}, None, {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}):
        status, answer = modern(server, "tools/list", meta=meta)
        assert (status, answer["error"]["code"]) == (400, -32602), meta
    for method in ("initialize", "ping", "resources/list", "subscriptions/listen", "x"):
        status, answer = modern(server, method)
        assert (status, answer["error"]["code"]) == (404, -32601), method
    for params in ({"name": "run_shell"}, {"arguments": {}}, {"name": "get_call", "arguments": []}):
        status, answer = modern(server, "tools/call", params)
        assert (status, answer["error"]["code"]) == (400, -32602), params
    assert modern(server, "tools/list", {"cursor": "x"})[1]["error"]["code"] == -32602


@pytest.mark.shared
def test_the_legacy_era_on_the_wire(server):
    for asked, given in [("2025-03-26",) * 2, ("2025-06-18",) * 2, ("2025-11-25",) * 2, ("2024-11-05", "2025-11-25")]:
        status, answer = legacy(server, "initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}})
        assert status == 200 and answer["result"]["protocolVersion"] == given
        assert answer["result"]["serverInfo"]["name"] == "trunkline" and "resultType" not in answer["result"]
    assert "mcp-session-id" not in server.last_headers
    headers = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "whatever"}
    assert legacy(server, "ping", headers=headers) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert legacy(server, "tools/list", headers=headers)[1]["result"]["tools"][0]["name"] == "list_agents"
    status, answer = legacy(server, "no/such")
    assert status == 200 and answer["error"]["code"] == -32601
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.request("POST", "/mcp", notification) == (202, "")
    # A call without an id is a notification: nothing is done, since nobody would hear of it.
    assert server.request("POST", "/mcp", {**notification, "method": "tools/call"}) == (202, "")
    ping = {"jsonrpc": "2.0", "id": "a", "method": "ping"}
    status, answer = server.request("POST", "/mcp", [ping, notification, {**ping, "id": 2}])
    assert status == 200 and [one["id"] for one in answer] == ["a", 2]
    assert server.request("POST", "/mcp", [notification]) == (202, "")
    status, answer = server.request("POST", "/mcp", [ping], headers={"MCP-Protocol-Version": "2025-06-18"})
    assert (status, answer["error"]["code"]) == (400, -32600)
    status, answer = legacy(server, "ping", headers={"MCP-Protocol-Version": "2024-11-05"})
    assert (status, answer["error"]["code"]) == (400, -32022)


@pytest.mark.shared
def test_other_methods_origins_and_keys(server):
    for method in ("GET", "DELETE", "PUT"):
        assert server.request(method, "/mcp")[0] == 405 and server.last_headers["allow"] == "POST", method
    for key in (None, "wrong"):
        assert legacy(server, "ping", key=key)[0] == 401
        assert server.last_headers["www-authenticate"].startswith("Bearer")
    for origin in ("https://evil.example", "null", f"https://127.0.0.1.evil.example:{server.http_port}"):
        assert legacy(server, "ping", headers={"Origin": origin})[0] == 403, origin
    assert legacy(server, "ping", headers={"Origin": server.url})[0] == 200
    assert legacy(server, "ping", headers={"Content-Type": "text/plain"})[0] == 415
    assert server.request("POST", "/mcp?x=1", {"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 422


def test_our_own_pages_need_no_key(server):
    assert server.request("POST", "/api/session", {"api_key": KEY}, key=None)[0] == 200
    cookie = {"Cookie": server.last_headers["set-cookie"].split(";")[0]}
    own = {**cookie, "Sec-Fetch-Site": "same-origin"}
    assert legacy(server, "tools/list", key=None, headers=own)[0] == 200
    assert legacy(server, "tools/list", key=None, headers=cookie)[0] == 403


@pytest.mark.shared
def test_what_no_client_sends_is_refused_and_does_no_harm(server):
    def post(body):
        return server.request("POST", "/mcp", body)

    for body, code in [
        ("", -32700),
        ("{", -32700),
        ("[" * 100_000, -32700),
        ('{"a":' * 70 + "1" + "}" * 70, -32700),
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
        ("[]", -32600),
        ("[1]", -32600),
        ("5", -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
    ]:
        status, answer = post(body)
        assert (status, answer["error"]["code"]) == (400, code), body[:80]
    assert post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * (1 << 20)}}))[0] == 413
    deep = 1
    for _ in range(50):
        deep = {"a": deep}
    status, answer = legacy(server, "tools/call", {"name": "get_call", "arguments": {"outbound_id": deep}})
    assert status == 200 and answer["result"]["isError"]
    assert legacy(server, "tools/call", {"name": "x" * 100_000})[1]["error"]["code"] == -32602
    for value in (None, True, 1, 1.5, [], {}, "", "\u0000", "x" * 10_000):
        for tool, name in [("get_call", "outbound_id"), ("list_calls", "q"), ("place_call", "agent")]:
            answer = legacy(server, "tools/call", {"name": tool, "arguments": {name: value}})[1]
            assert "result" in answer, (tool, value)
    for _ in range(1_000):
        assert legacy(server, "ping")[0] == 200
    assert server.process.poll() is None


def test_waiting_is_bounded_for_each_key(make_server, callee):
    server = make_server(TRUNKLINE_OUTBOUND_CALLER_NUMBER="025550100")
    call_id = server.create(callee("silent").address)
    server.wait_for(call_id, {"connected"})

    def waits(seconds):
        connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=PATIENCE)
        ask = {"name": "get_call", "arguments": {"outbound_id": call_id, "wait_seconds": seconds}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ask})
        connection.request("POST", "/mcp", body, {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())["result"]
        connection.close()
        return answer["isError"], answer["structuredContent"]

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        waiting = [pool.submit(waits, 20) for _ in range(9)]
        # One of nine is told at once that eight wait; one that does not wait is answered.
        is_error, told = next(concurrent.futures.as_completed(waiting, timeout=15)).result()
        assert is_error and told["code"] == "rate_limited" and told["detail_code"] == "too_many_waiting"
        assert not waits(0)[0]
        assert server.request("POST", f"/api/outbound/{call_id}/hangup", {})[0] == 202
        answers = [one.result() for one in waiting]
        assert sorted(is_error for is_error, _ in answers) == [False] * 8 + [True]
        assert all(is_error or told["final"] for is_error, told in answers)


def test_without_the_setting_there_is_no_such_path(make_server):
    server = make_server(TRUNKLINE_MCP_ENABLED="false")
    assert legacy(server, "ping")[0] == 404
    assert server.request("GET", "/mcp")[0] == 404
