"""Vonage's side of a phone call: its Voice API, its signed webhooks, its NCCOs and its WebSocket.

Proven with the vendor's own client, tokens and models (`test_vonage.py`)."""

import hashlib
import json
import time
import uuid
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from provider_server import PUBLIC, MockProvider, ProviderCall
from vonage_jwt import verify_signature
from vonage_voice.models import Connect, Talk
from wires import Wire

SECRET, API_KEY = "vonage-signature-secret-of-this-test", "a1b2c3d4"
APPLICATION = "78d335fa-323d-0114-9c3d-d6f0d48968cf"
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PRIVATE_KEY = _KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
PUBLIC_KEY = _KEY.public_key()


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def signed(payload, secret=SECRET, **claims):
    """The headers of a webhook of Vonage's with this body."""
    token = jwt.encode(
        {
            "iat": int(time.time()),
            "jti": str(uuid.uuid4()),
            "iss": "Vonage",
            "payload_hash": hashlib.sha256(payload.encode()).hexdigest(),
            "api_key": API_KEY,
            "application_id": APPLICATION,
            **claims,
        },
        secret,
        algorithm="HS256",
    )
    assert verify_signature(token, secret)  # the vendor's own check
    return {"Authorization": "Bearer " + token}


class VonageWire(Wire):
    """developer.vonage.com/en/voice/voice-api/concepts/websockets"""

    def __init__(self, content_type, headers):
        super().__init__(int(content_type.removeprefix("audio/l16;rate=")))
        self.content_type, self.headers = content_type, headers

    def begin(self):
        return [json.dumps({"event": "websocket:connected", "content-type": self.content_type, **self.headers})]

    def sound(self, data):
        return data

    def read(self, message):
        if isinstance(message, bytes):
            assert len(message) == self.size, len(message)
            return "sound", message
        told = json.loads(message)
        if told["action"] == "notify":
            return "mark", told["payload"]
        assert told == {"action": "clear"}, told
        return "clear", None

    def mark(self, payload):
        return json.dumps({"event": "websocket:notify", "payload": payload})

    def cleared(self):
        return json.dumps({"event": "websocket:cleared"})


def model(action):
    """The vendor's own model of an NCCO action, which it must have been made from."""
    fields = {"from_" if name == "from" else name: value for name, value in action.items()}
    if action["action"] == "talk":
        return Talk(**fields)
    for endpoint in fields["endpoint"] if action["action"] == "connect" else []:
        if "content-type" in endpoint:
            endpoint = endpoint | {"contentType": endpoint["content-type"]}
            fields["endpoint"] = [{k: v for k, v in endpoint.items() if k != "content-type"}]
    return Connect(**fields)


class MockVonage(MockProvider):
    name = "vonage"

    def settings(self):
        return {
            "TRUNKLINE_VONAGE_API_URL": self.url,
            "VONAGE_API_KEY": API_KEY,
            "VONAGE_SIGNATURE_SECRET": SECRET,
            "VONAGE_APPLICATION_ID": APPLICATION,
            "VONAGE_PRIVATE_KEY": PRIVATE_KEY,
        }

    def handle(self, method, path, query, fields, headers):
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            claims = jwt.decode(token, PUBLIC_KEY, algorithms=["RS256"])
            assert claims["application_id"] == APPLICATION and claims["jti"] and claims["exp"] > claims["iat"]
        except Exception:
            return 401, {"type": "UNAUTHORIZED", "error_title": "Unauthorized"}
        if (method, path) == ("POST", "/v1/calls"):
            if not fields.get("to") or not fields.get("from"):
                return 400, {"type": "https://developer.nexmo.com/api-errors", "title": "Bad Request"}
            call = VonageCall(self, fields["from"]["number"], fields["to"][0]["number"], fields)
            call.begin(self.phone, call)
            return 201, {
                "uuid": call.uuid,
                "status": "started",
                "direction": "outbound",
                "conversation_uuid": call.conversation,
            }
        call = self.calls.get(path.removeprefix("/v1/calls/"))
        if call is None:
            return 404, {
                "type": "https://developer.nexmo.com/api-errors",
                "title": "Not Found",
                "detail": "no such call",
            }
        if method == "GET":
            return 200, call.resource()
        if call.over.is_set():
            return 400, {"type": "https://developer.nexmo.com/api-errors", "title": "Bad Request"}
        if fields["action"] == "hangup":
            call.begin(call.end, "completed" if call.status == "answered" else "cancelled")
        else:
            assert fields["action"] == "transfer" and fields["destination"]["type"] == "ncco", fields
            call.next_ncco = fields["destination"]["ncco"]
            call.redirected.set()
        return 204, None

    def webhook(self, url, fields, headers=None):
        body = compact(fields)
        return self.send("POST", url, body.encode(), {"Content-Type": "application/json", **(headers or signed(body))})

    def incoming(self, caller, called, uses_get=False):
        """A call to a number of the application, whose webhooks are ours."""
        fields = {"answer_url": [f"{PUBLIC}/vonage/answer"], "event_url": [f"{PUBLIC}/vonage/event"]}
        call = VonageCall(self, caller, called, fields, "inbound")
        call.uses_get = uses_get
        return call


class VonageCall(ProviderCall):
    uses_get = False
    operator = "completed"

    def __init__(self, mock, caller, called, fields, direction="outbound"):
        super().__init__(mock, caller, called)
        self.fields, self.direction, self.status = fields, direction, "started"
        self.uuid, self.conversation = str(uuid.uuid4()), "CON-" + str(uuid.uuid4())
        self.next_ncco, self.spoken = None, []
        mock.calls[self.uuid] = self

    def resource(self):
        link = {"self": {"href": f"/calls/{self.uuid}"}}
        return {
            "uuid": self.uuid,
            "conversation_uuid": self.conversation,
            "status": self.status,
            "direction": self.direction,
            "to": {"type": "phone", "number": self.called},
            "from": {"type": "phone", "number": self.caller},
            "_links": link,
        }

    def about(self, **more):
        return {
            "from": self.caller,
            "to": self.called,
            "uuid": self.uuid,
            "conversation_uuid": self.conversation,
            **more,
        }

    def tell(self, status, url=None, **more):
        url = url or self.fields.get("event_url", [None])[0]
        if not url:
            return 204, ""
        answer = self.mock.webhook(url, self.about(status=status, direction=self.direction, **more))
        assert answer[0] in (200, 204), answer
        return answer

    def ring(self):
        self.tell("started")
        self.tell("ringing")

    def detect(self, status):
        """Machine detection spells the id differently."""
        fields = self.about(status=status)
        fields["call_uuid"] = fields.pop("uuid")
        assert self.mock.webhook(self.fields["event_url"][0], fields)[0] == 204

    def end(self, status="completed", **more):
        if not self.over.is_set():
            self.status = status
            self.over.set()
            self.tell(status, **more)

    def ask(self):
        """The NCCO of the answer webhook."""
        url = self.fields["answer_url"][0]
        if self.uses_get:
            answer = self.mock.send("GET", f"{url}?{urlencode(self.about())}", None, signed(compact(self.about())))
        else:
            answer = self.mock.webhook(url, self.about())
        assert answer[0] == 200, answer
        self.answers.append(json.loads(answer[1]))
        return self.answers[-1]

    def answer(self):
        """Picks up, and does what the NCCO says until it ends."""
        self.status = "answered"
        self.tell("answered")
        self.follow(self.ask())
        self.end()

    def is_dial(self, ncco, caller, number):
        return ncco == [
            {
                "action": "connect",
                "endpoint": [{"type": "phone", "number": number}],
                "from": caller,
                "timeout": 30,
                "eventType": "synchronous",
                "eventUrl": [f"{PUBLIC}/vonage/transferred?language=en"],
                "eventMethod": "POST",
            }
        ]

    def was_hung_up(self):
        return {"action": "hangup"} in self.mock.asked("PUT", self.uuid)

    def follow(self, ncco):
        ncco = list(ncco)
        while ncco and not self.over.is_set():
            action = ncco.pop(0)
            validated = model(action)
            assert validated.model_dump(by_alias=True, exclude_none=True, mode="json") == action, action
            if action["action"] == "talk":
                self.spoken.append(action["text"])
                continue
            endpoint = action["endpoint"][0]
            if endpoint["type"] != "websocket":
                status, text = self.tell(self.operator, action["eventUrl"][0])
                if text and self.operator != "completed":
                    ncco = json.loads(text)
                continue
            # The leg to the WebSocket has events of its own.
            self.tell("answered", uuid=str(uuid.uuid4()))
            self.carry(endpoint["uri"], VonageWire(endpoint["content-type"], endpoint["headers"]))
            self.tell("disconnected", uuid=str(uuid.uuid4()))
            if self.redirected.is_set():
                self.redirected.clear()
                self.answers.append(self.next_ncco)
                ncco = list(self.next_ncco)
