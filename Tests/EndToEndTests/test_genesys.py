"""Genesys Cloud's side of an Audio Connector session: signatures made by hand, by RFC 9421, and what a call does."""

import base64
import hashlib
import hmac
import json
import os
import re
import threading
import time
import uuid

import pytest
from inbound_calls import FAST, inbound, wait_for_call
from operators import wait_until
from sip_phone import SIPPhone
from test_operations import run
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

KEY = "an-api-key-of-genesys"
SECRET = base64.b64encode(b"a client secret of this test").decode()
PUBLIC = "https://voice.example.com"
COVERED = [
    "@request-target",
    "@authority",
    "audiohook-organization-id",
    "audiohook-session-id",
    "audiohook-correlation-id",
    "x-api-key",
]


@pytest.fixture
def genesys_server(make_server):
    return make_server(
        **FAST,
        GENESYS_API_KEY=KEY,
        GENESYS_CLIENT_SECRET=SECRET,
        APP_PUBLIC_BASE_URL=PUBLIC,
        TRUNKLINE_INBOUND_QUESTIONS="Shall we call you back?",
    )


def upgrade(session, organization, path="/media/genesys", secret=SECRET, created=None, **changed):
    """The headers of an upgrade, signed."""
    created = int(time.time()) if created is None else created
    values = {
        "@request-target": path,
        "@authority": "voice.example.com",
        "audiohook-organization-id": organization,
        "audiohook-session-id": session,
        "audiohook-correlation-id": str(uuid.uuid4()),
        "x-api-key": KEY,
    }
    nonce = base64.b64encode(os.urandom(18)).decode()
    names = " ".join(f'"{name}"' for name in COVERED)
    parameters = f'({names});keyid="{KEY}";nonce="{nonce}";alg="hmac-sha256";created={created};expires={created + 30}'
    text = "".join(f'"{name}": {values[name]}\n' for name in COVERED) + f'"@signature-params": {parameters}'
    code = hmac.new(base64.b64decode(secret), text.encode(), hashlib.sha256).digest()
    headers = {name: value for name, value in values.items() if name[0] != "@"}
    headers["signature-input"] = "sig1=" + parameters
    headers["signature"] = f"sig1=:{base64.b64encode(code).decode()}:"
    return {**headers, **changed}


class Session:
    """The client of one conversation."""

    def __init__(self, server, headers, session, organization, conversation=None, **parameters):
        self.id, self.sequence, self.heard = session, 0, 0
        self.conversation = conversation or str(uuid.uuid4())
        self.sound = 0
        self.socket = connect(
            f"ws://127.0.0.1:{server.http_port}/media/genesys", additional_headers=headers, compression=None
        ).__enter__()
        self.say(
            "open",
            organizationId=organization,
            conversationId=self.conversation,
            participant={"id": str(uuid.uuid4()), "ani": "+15550100", "aniName": "", "dnis": "+15550199"},
            media=[{"type": "audio", "format": "PCMU", "channels": ["external"], "rate": 8000}],
            **parameters,
        )

    def say(self, kind, **parameters):
        self.sequence += 1
        self.socket.send(
            json.dumps(
                {
                    "version": "2",
                    "type": kind,
                    "id": self.id,
                    "seq": self.sequence,
                    "serverseq": self.heard,
                    "position": "PT0S",
                    "parameters": parameters,
                }
            )
        )

    def until(self, kind, seconds=20):
        """The next message of a kind; sound before it is counted."""
        deadline = time.time() + seconds
        while time.time() < deadline:
            try:
                message = self.socket.recv(timeout=0.02)
            except TimeoutError:
                self.silence()
                continue
            if isinstance(message, bytes):
                self.sound += len(message)
                if kind == "sound":
                    return message
                continue
            message = json.loads(message)
            assert message["seq"] == self.heard + 1, message
            self.heard = message["seq"]
            if message["type"] == kind:
                return message
        raise AssertionError(f"no {kind}")

    def silence(self):
        self.socket.send(b"\xff" * 160)


def test_a_signed_conversation_is_an_incoming_call_that_leaves_its_results(genesys_server):
    session, organization = str(uuid.uuid4()), str(uuid.uuid4())
    line = Session(
        genesys_server,
        upgrade(session, organization),
        session,
        organization,
        inputVariables={"order": "17", "list": [1]},
        customConfig={"a": 1},
    )
    opened = line.until("opened")
    assert opened["parameters"]["media"][0]["format"] == "PCMU"
    line.until("sound")
    # Its record and the dialect are stored a moment after the stream has begun.
    wait_until(lambda: [call["dialect"] for call in inbound(genesys_server)][:1] == ["genesys"], what="no such call")
    call = inbound(genesys_server)[0]
    assert (call["carrier"], call["dialect"]) == ("genesys", "genesys")
    assert genesys_server.request("POST", f"/api/inbound/{call['inbound_id']}/hangup")[0] in (200, 202, 204)
    disconnect = line.until("disconnect")
    assert disconnect["parameters"] == {
        "reason": "completed",
        "outputVariables": {"end_reason": "operator_hangup"},
    }
    line.say("close", reason="disconnect")
    line.until("closed")
    call = wait_for_call(genesys_server)
    assert (call["call_id"], call["caller_number"], call["called_number"]) == (
        line.conversation,
        "+15550100",
        "+15550199",
    )


def refused(line):
    """A session that was not let in, in the vendor's words."""
    assert line.until("disconnect")["parameters"]["reason"] == "unauthorized"
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            line.socket.recv(timeout=10)
    assert closed.value.rcvd.code == 1008


def test_nothing_else_lets_a_conversation_in(genesys_server):
    session, organization = str(uuid.uuid4()), str(uuid.uuid4())

    def open_with(headers, told=organization, **more):
        return Session(genesys_server, headers, session, told, **more)

    good = upgrade(session, organization)
    for headers in [
        upgrade(session, organization, secret=base64.b64encode(b"another").decode()),
        upgrade(session, organization, path="/media/twilio"),
        upgrade(session, organization, created=int(time.time()) - 60),
        upgrade(session, organization, created=int(time.time()) + 60),
        {**good, "x-api-key": "another"},
        {**good, "audiohook-organization-id": "another"},
        {**good, "signature": "sig1=:AAAA:"},
        {**good, "signature-input": "sig1=("},
    ]:
        with pytest.raises(Exception, match="403"):
            open_with(headers)
    # The key alone, and nothing at all.
    unsigned = {name: value for name, value in good.items() if "signature" not in name}
    refused(open_with(unsigned))
    refused(open_with({}))
    # Another customer than the upgrade's.
    refused(open_with(upgrade(session, organization), told=str(uuid.uuid4())))
    # A signature is good for one stream.
    again = upgrade(session, organization)
    first = open_with(again)
    first.until("opened")
    refused(open_with(again))
    first.say("close", reason="end")
    first.until("closed")
    wait_for_call(genesys_server)
    assert len(inbound(genesys_server)) == 1
    log = genesys_server.log_end(20_000)
    assert KEY not in log and SECRET not in log and "+15550100" not in log


def test_the_kit_signs_as_genesys_does(genesys_server, tmp_path):
    url = f"ws://127.0.0.1:{genesys_server.http_port}/media/genesys"
    result = run(
        *["stream", "check", url, "--dialect", "genesys", "--token", KEY, "--secret", SECRET],
        *["--signed-url", "wss://voice.example.com/media/genesys", "--json"],
        cwd=tmp_path,
        seconds=120,
    )
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    wrong = [rule for rule in report["rules"] if rule["verdict"] == "fail"]
    assert (result.returncode, wrong) == (0, [])
    verdicts = {rule["name"]: rule["verdict"] for rule in report["rules"]}
    for rule in ["let-in", "wrong-token", "no-token", "wrong-signature", "no-signature"]:
        assert verdicts[rule] == "pass", rule


@pytest.mark.parametrize("is_own", [False, True], ids=["settings", "own stream"])
def test_our_client_signs_as_genesys_does(make_server, is_own):
    """The signature is checked by hand, over the target and the host as they came."""
    seen = []

    def far(socket):
        seen.append((socket.request.path, {name.lower(): value for name, value in socket.request.headers.raw_items()}))

    phone = SIPPhone()
    with serve(far, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/media?flow=a%20b"
        settings = {"URL": url, "DIALECT": "genesys", "TOKEN": KEY, "SECRET": SECRET}
        near = make_server(**({} if is_own else {f"TRUNKLINE_BRIDGE_STREAM_{k}": v for k, v in settings.items()}))
        own = {"url": url, "dialect": "genesys", "headers": {"x-api-key": KEY}, "secret": SECRET}
        call = near.create(phone.address, **({"stream": own} if is_own else {}))
        near.wait_for(call, seconds=15)
        server.shutdown()
    phone.close()
    [(path, headers)] = seen
    parameters = headers["signature-input"].removeprefix("sig1=")
    names = re.findall(r'"([^"]+)"', parameters.split(")")[0])
    assert sorted(names) == sorted(COVERED) and f';keyid="{KEY}";' in parameters
    values = {**headers, "@request-target": path, "@authority": headers["host"]}
    text = "".join(f'"{name}": {values[name]}\n' for name in names) + f'"@signature-params": {parameters}'
    code = base64.b64encode(hmac.digest(base64.b64decode(SECRET), text.encode(), "sha256")).decode()
    assert headers["signature"] == f"sig1=:{code}:" and headers["x-api-key"] == KEY
    assert abs(int(re.search(r"created=(\d+)", parameters).group(1)) - time.time()) < 60
    assert SECRET not in near.log_end(50_000) and SECRET not in str(near.call(call))
