"""Plivo's side of a phone call: its REST API, its webhooks with their signatures, its XML and its stream.

Proven with the vendor's own client and signatures (`test_plivo.py`)."""

import base64
import json
import secrets
import uuid
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

from plivo import plivoxml
from plivo.utils import validate_v3_signature
from plivo.utils.signature_v3 import construct_get_url, construct_post_url, get_signature_v3
from provider_server import PUBLIC, MockProvider, ProviderCall
from wires import Wire

ACCOUNT, TOKEN = "MA" + "A1B2C3D4E5F6G7H8I9", "plivo-auth-token-of-this-test"


def signed(method, url, form=None, token=TOKEN):
    """The headers of a request of Plivo's."""
    nonce = str(secrets.randbelow(10**20))
    text = construct_get_url(url, {}) if method == "GET" else construct_post_url(url, dict(form or {}))
    code = get_signature_v3(token, text.decode(), nonce).decode()
    if url.startswith("http"):  # the vendor's check takes no other
        assert validate_v3_signature(method, url, nonce, token, code, dict(form or {}) if method == "POST" else None)
    return {"X-Plivo-Signature-V3": code, "X-Plivo-Signature-V3-Nonce": nonce}


class PlivoWire(Wire):
    """plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-reference"""

    def __init__(self, content_type, call_uuid, extra_headers):
        self.encoding, rate = content_type.split(";rate=")
        super().__init__(int(rate), self.encoding == "audio/x-mulaw")
        self.call_uuid, self.extra, self.stream_id = call_uuid, extra_headers, str(uuid.uuid4())
        self.number = 0

    def spell(self, event, **more):
        self.number += 1
        return json.dumps({"sequenceNumber": self.number, "event": event, "streamId": self.stream_id, **more})

    def begin(self):
        start = {
            "callId": self.call_uuid,
            "streamId": self.stream_id,
            "accountId": ACCOUNT,
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": self.encoding, "sampleRate": self.rate},
        }
        return [json.dumps({"sequenceNumber": 0, "event": "start", "start": start, "extra_headers": self.extra})]

    def sound(self, data):
        media = {
            "track": "inbound",
            "timestamp": str(1_700_000_000_000 + 20 * self.number),
            "chunk": self.number,
            "payload": base64.b64encode(data).decode(),
        }
        return self.spell("media", media=media, extra_headers=self.extra)

    def read(self, message):
        told = json.loads(message)
        assert told.pop("streamId") == self.stream_id
        if told["event"] == "playAudio":
            assert (told["media"]["contentType"], told["media"]["sampleRate"]) == (self.encoding, self.rate), told
            return "sound", base64.b64decode(told["media"]["payload"], validate=True)
        if told["event"] == "checkpoint":
            return "mark", told["name"]
        assert told == {"event": "clearAudio"}, told
        return "clear", None

    def mark(self, name):
        return self.spell("playedStream", name=name)

    def cleared(self):
        return self.spell("clearedAudio")


class MockPlivo(MockProvider):
    name = "plivo"

    def settings(self):
        return {"TRUNKLINE_PLIVO_API_URL": self.url, "PLIVO_AUTH_ID": ACCOUNT, "PLIVO_AUTH_TOKEN": TOKEN}

    def handle(self, method, path, query, fields, headers):
        wanted = "Basic " + base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
        if headers.get("Authorization") != wanted:
            return 401, {"api_id": str(uuid.uuid4()), "error": "authentication failed"}
        base = f"/v1/Account/{ACCOUNT}/"
        assert path.startswith(base) and path.endswith("/"), path
        parts = path.removeprefix(base).strip("/").split("/")
        if parts == ["Call"] and method == "POST":
            missing = [name for name in ("to", "from", "answer_url") if name not in fields]
            if missing:
                return 400, {"api_id": str(uuid.uuid4()), "error": f"{missing[0]} parameter not present"}
            call = PlivoCall(self, fields["from"], fields["to"], fields)
            call.begin(self.phone, call)
            return 201, {"api_id": str(uuid.uuid4()), "message": "call fired", "request_uuid": call.request_uuid}
        call = self.calls.get(parts[-1])
        # A call is no request, and a request that has become a call is none any more.
        is_known = call and (call.request_uuid if parts[0] == "Request" else call.uuid) == parts[-1]
        is_live = is_known and not call.over.is_set()
        if method == "GET" and parts[0] == "Call" and is_known and is_live == (query.get("status") == "live"):
            return 200, call.live() if is_live else call.record()
        if not is_live or method == "GET":
            return 404, {"api_id": str(uuid.uuid4()), "error": "not found"}
        if method == "DELETE":
            call.end_by_rest()
            return 204, None
        call.aleg_url = fields["aleg_url"]
        call.redirected.set()
        return 202, {"api_id": str(uuid.uuid4()), "message": "call transferred", "call_uuids": [call.uuid]}

    def webhook(self, url, form, headers=None):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", url, urlencode(form), {**kind, **(headers or signed("POST", url, form))})

    def incoming(self, caller, called):
        """A call to a number whose application has our URLs."""
        return PlivoCall(
            self,
            caller,
            called,
            {"answer_url": f"{PUBLIC}/plivo/answer", "hangup_url": f"{PUBLIC}/plivo/status"},
            "inbound",
        )


class PlivoCall(ProviderCall):
    signs_upgrades, operator = True, "completed"
    cause = (4000, "Normal Hangup")
    stream_events = []

    def __init__(self, mock, caller, called, fields, direction="outbound"):
        super().__init__(mock, caller, called)
        self.fields, self.direction, self.status = fields, direction, "ringing"
        self.uuid, self.request_uuid = str(uuid.uuid4()), str(uuid.uuid4())
        self.aleg_url, self.spoken = None, []
        mock.calls[self.uuid] = mock.calls[self.request_uuid] = self

    def live(self):
        return {
            "api_id": str(uuid.uuid4()),
            "call_status": self.status,
            "call_uuid": self.uuid,
            "direction": self.direction,
            "from": self.caller,
            "to": self.called,
        }

    def record(self):
        return {
            "api_id": str(uuid.uuid4()),
            "call_uuid": self.uuid,
            "call_direction": self.direction,
            "hangup_cause_code": self.cause[0],
            "hangup_cause_name": self.cause[1],
            "from_number": self.caller,
            "to_number": self.called,
        }

    def parameters(self, **more):
        form = {
            "CallUUID": self.uuid,
            "From": self.caller,
            "To": self.called,
            "CallStatus": self.status,
            "Direction": self.direction,
            **more,
        }
        if self.direction == "outbound":
            form |= {"RequestUUID": self.request_uuid, "ALegUUID": self.uuid, "ALegRequestUUID": self.request_uuid}
        return form

    def tell(self, name, **more):
        url = self.fields.get(name)
        if url:
            status, text = self.mock.webhook(url, self.parameters(**more))
            assert status == 204, (status, text)

    def ring(self):
        self.tell("ring_url", Event="Ring")

    def machine(self, is_machine):
        self.tell("machine_detection_url", Event="MachineDetection", Machine="true" if is_machine else "false")

    def end(self, status="completed", code=4000, name="Normal Hangup"):
        if self.over.is_set():
            return
        self.status, self.cause = status, (code, name)
        self.over.set()
        self.tell("hangup_url", Event="Hangup", HangupCauseCode=str(code), HangupCauseName=name)

    def end_by_rest(self):
        is_answered = self.status == "in-progress"
        self.begin(self.end, *(() if is_answered else ("cancel", 1000, "Cancelled")))

    def answer(self):
        """Picks up, and does what the XML says until it ends."""
        if self.direction == "outbound":
            self.status = "in-progress"
        url, more = self.fields["answer_url"], {"Event": "StartApp"}
        while url and not self.over.is_set():
            status, text = self.mock.webhook(url, self.parameters(**more))
            assert status == 200, (status, text)
            self.answers.append(text)
            url, more = self.execute(ElementTree.fromstring(text))
        self.end()

    def is_dial(self, text, caller, number):
        """What the vendor's own package makes."""
        wanted = plivoxml.ResponseElement()
        hook = f"{PUBLIC}/plivo/transferred?language=en"
        dial = plivoxml.DialElement(action=hook, method="POST", timeout=30, caller_id=caller)
        wanted.add(dial.add(plivoxml.NumberElement(number)))
        return ElementTree.canonicalize(text) == ElementTree.canonicalize(wanted.to_string(False))

    def was_hung_up(self):
        return bool(self.mock.asked("DELETE", "/"))

    def execute(self, response):
        """The URL to ask next, and the fields to tell it."""
        for element in response:
            if element.tag == "Stream":
                self.status = "in-progress"
                url = element.text
                wire = PlivoWire(element.get("contentType"), self.uuid, element.get("extraHeaders"))
                self.carry(url, wire, signed("GET", url) if self.signs_upgrades else None)
                if self.redirected.is_set():
                    self.redirected.clear()
                    return self.aleg_url, {"Event": "Redirect"}
            elif element.tag == "Dial":
                return element.get("action"), {"DialStatus": self.operator, "Event": "Redirect"}
            elif element.tag == "Speak":
                self.spoken.append(element.text)
            elif element.tag == "Hangup":
                if element.get("reason"):
                    self.end("busy" if element.get("reason") == "busy" else "failed", 4000, "Answer XML")
                break
        return None, {}
