"""Telnyx's side of a phone call: Call Control with its commands, its signed webhooks, and a phone; and calls of TeXML.

Proven with the vendor's own client (`test_telnyx.py`): the mock accepts the client's requests, and the client
understands the mock's answers and takes its signatures for right."""

import array
import base64
import contextlib
import io
import json
import secrets
import threading
import time
import wave
from urllib.parse import parse_qs, urlencode, urlsplit

from carrier import Carrier
from mock_realtime import LINEAR, mulaw
from mock_twilio import PhoneCall
from nacl.signing import SigningKey
from provider_server import PUBLIC, MockProvider

API_KEY = "KEY0123456789-of-this-test"
CONNECTION = "1494404757140276705"
SIGNING = SigningKey(b"the signing key of these tests 1")
PUBLIC_KEY = base64.b64encode(bytes(SIGNING.verify_key)).decode()
HOOK = f"{PUBLIC}/telnyx/voice"


def new_id():
    return "v3:" + secrets.token_urlsafe(38)


def signed(body, timestamp=None, key=SIGNING):
    """Headers of a webhook."""
    timestamp = str(int(time.time()) if timestamp is None else timestamp)
    signature = key.sign(timestamp.encode() + b"|" + body).signature
    return {"telnyx-timestamp": timestamp, "telnyx-signature-ed25519": base64.b64encode(signature).decode()}


class TelnyxStream(Carrier):
    """What Telnyx sends names the stream, what it takes does not."""

    fields = frozenset(["event", "media", "mark"])
    encoding = "PCMU"

    def begin(self, call_sid, parameters):
        self.send({"event": "connected", "version": "1.0.0"})
        self.send(
            self.numbered(
                "start",
                start={
                    "user_id": "u",
                    "call_control_id": call_sid,
                    "call_session_id": "s",
                    "from": "+1",
                    "to": "+2",
                    "tags": [],
                    "client_state": "",
                    "custom_parameters": parameters,
                    "media_format": {"encoding": self.encoding, "sample_rate": self.rate, "channels": 1},
                },
            )
        )

    def numbered(self, event, **body):
        self.sequence += 1
        return {"event": event, "sequence_number": str(self.sequence), "stream_id": self.sid, **body}

    def digit(self, digit):
        return self.numbered("dtmf", dtmf={"digit": digit})

    def stop(self):
        return self.numbered("stop", stop={"user_id": "u", "call_control_id": "c"})

    def is_ours(self, message):
        return True


class WideTelnyxStream(TelnyxStream):
    """L16 at 16 kHz, little-endian. Files that are said are as wide; a buzz has μ-law's samples twice."""

    encoding, rate = "L16", 16_000

    def say_file(self, data):
        with wave.open(io.BytesIO(data)) as file:
            assert file.getframerate() == self.rate
            sound = file.readframes(file.getnframes())
        with self.lock:
            self.to_say += [sound[index : index + 640] for index in range(0, len(sound) - 639, 640)]

    def to_wire(self, frame):
        if len(frame) == 640:
            return frame
        return array.array("h", [LINEAR[byte] for byte in frame for _ in range(2)]).tobytes()

    def from_wire(self, sound):
        return bytes(mulaw(sample) for sample in array.array("h", sound)[::2])


class MockTelnyx(MockProvider):
    """`phone(call)` is what happens at the other end of a call that is placed, `operator(call)` at that of one to which
    a caller is transferred: see the methods of `TelnyxCall`."""

    name, account = "telnyx", "f5586561-8ff0-4291-a51b-c7dfe4139ff9"

    def __init__(self, phone=lambda call: None, operator=lambda call: None, key=API_KEY, refuse=None):
        self.operator, self.key, self.refuse = operator, key, refuse
        super().__init__(phone)
        self.url += "/v2"

    def settings(self):
        return {
            "TRUNKLINE_TELNYX_API_URL": self.url,
            "TELNYX_API_KEY": API_KEY,
            "TELNYX_PUBLIC_KEY": PUBLIC_KEY,
            "TELNYX_CONNECTION_ID": CONNECTION,
        }

    # REST.

    def handle(self, method, path, query, fields, headers):
        if headers.get("Authorization") != f"Bearer {self.key}":
            return self.failure(401, 10009, "Authentication failed", "Could not understand the API key.")
        if method == "POST" and path == "/v2/calls":
            if self.refuse:
                return self.failure(*self.refuse)
            missing = [name for name in ("connection_id", "to", "from") if name not in fields]
            if missing:
                return self.failure(422, 10015, "Invalid value", f"{missing} is required")
            call = TelnyxCall(self, "outgoing", fields["from"], fields["to"], fields)
            self.calls[call.id] = call
            return 200, {"data": call.resource()}, lambda: call.run(self.phone)
        parts = path.split("/")
        call = self.calls.get(parts[3]) if len(parts) > 3 else None
        if call is None:
            return self.failure(404, 10005, "Resource not found", "The requested resource does not exist.")
        if method == "GET":
            return 200, {"data": call.resource()}
        if call.over.is_set():
            return self.failure(422, 90018, "Call has already ended", "This call is no longer active.")
        # Known by its id, a command is done once.
        if fields.get("command_id") is None or fields["command_id"] not in call.command_ids:
            call.command_ids.append(fields.get("command_id"))
            call.commands.append((parts[-1], fields))
            threading.Thread(target=call.command, args=[parts[-1], fields], daemon=True).start()
        return 200, {"data": {"result": "ok"}}

    @staticmethod
    def failure(status, code, title, detail):
        return status, {"errors": [{"code": str(code), "title": title, "detail": detail, "meta": {}}]}

    # Webhooks.

    def post(self, url, body, kind="application/json", headers=None):
        """As Telnyx calls us; the answer's status and text."""
        headers = signed(body) if headers is None else headers
        return self.send("POST", url, body, {"Content-Type": kind, **headers})

    def webhook(self, url, form):
        """Of TeXML."""
        return self.post(url, urlencode(form).encode(), "application/x-www-form-urlencoded")

    # Calls that come in.

    def incoming(self, caller, called):
        call = TelnyxCall(self, "incoming", caller, called, {})
        self.calls[call.id] = call
        return call

    def incoming_by_texml(self, caller, called):
        form = parse_qs(
            urlencode({"From": caller, "To": called, "Url": HOOK, "StatusCallback": f"{PUBLIC}/telnyx/status"})
        )
        call = TeXMLCall(self, form, new_id())
        call.direction, call.status = "inbound", "ringing"
        return call


class TelnyxCall:
    """A call of Call Control."""

    open_stream = TelnyxStream

    def __init__(self, mock, direction, caller, called, fields):
        self.mock, self.direction, self.caller, self.called = mock, direction, caller, called
        self.id, self.fields = new_id(), fields
        self.state = fields.get("client_state")
        self.hook = fields.get("webhook_url", HOOK)
        self.over, self.is_answered = threading.Event(), threading.Event()
        self.commands, self.command_ids, self.spoken, self.events = [], [], [], []
        self.carrier, self.peer = None, None

    @property
    def sid(self):
        return self.id

    def resource(self):
        return {
            "call_control_id": self.id,
            "call_leg_id": "428c31b6-7af4-4bcb-b7f5-5013ef9657c1",
            "call_session_id": "428c31b6-7af4-4bcb-b7f5-5013ef9657c2",
            "is_alive": not self.over.is_set(),
            "record_type": "call",
        }

    def body(self, event, **more):
        payload = {
            "call_control_id": self.id,
            "call_leg_id": "428c31b6-7af4-4bcb-b7f5-5013ef9657c1",
            "call_session_id": "428c31b6-7af4-4bcb-b7f5-5013ef9657c2",
            "client_state": self.state,
            "connection_id": CONNECTION,
            "from": self.caller,
            "to": self.called,
            **more,
        }
        return json.dumps(
            {
                "data": {
                    "event_type": event,
                    "id": secrets.token_hex(16),
                    "occurred_at": "2026-01-01T00:00:00.000000Z",
                    "payload": payload,
                    "record_type": "event",
                },
                "meta": {"attempt": 1, "delivered_to": self.hook},
            }
        ).encode()

    def tell(self, event, **more):
        self.events.append(event)
        answer = self.mock.post(self.hook, self.body(event, **more))
        assert answer[0] == 200, answer

    def run(self, phone):
        with contextlib.suppress(Exception):
            phone(self)

    # What a phone does.

    def begin(self):
        self.tell(
            "call.initiated", direction=self.direction, state="parked" if self.direction == "incoming" else "bridging"
        )

    def answer(self):
        self.is_answered.set()
        self.tell("call.answered")

    def end(self, cause="normal_clearing", sip="200", source="callee"):
        if not self.over.is_set():
            self.over.set()
            if self.carrier:
                self.carrier.hang_up()
            if self.peer:
                self.peer.end()
            self.tell("call.hangup", hangup_cause=cause, sip_hangup_cause=sip, hangup_source=source, state="hangup")

    def carry(self, url, token=None, parameters=()):
        parts = urlsplit(url)
        assert parts.scheme == "wss" and parts.netloc == "voice.example.com", url
        headers = {"x-telnyx-streaming-auth-token": token} if token else {}
        self.carrier = self.open_stream(
            f"ws://127.0.0.1:{self.mock.port}{parts.path}?{parts.query}",
            call_sid=self.id,
            parameters={item["name"]: item["value"] for item in parameters},
            headers=headers,
            stream_sid=secrets.token_hex(16),
        )
        self.tell("streaming.started")
        while self.carrier.open and not self.over.is_set():
            time.sleep(0.02)
        self.tell("streaming.stopped")

    # Commands. The end of a stream ends no call.

    def command(self, name, fields):
        if self.mock.port is None and name != "hangup":
            return  # the vendor's client asks the mock alone
        with contextlib.suppress(OSError):  # the server may be gone
            getattr(self, "do_" + name)(fields)

    def stream_of(self, fields):
        assert fields["stream_bidirectional_mode"] == "rtp" and fields["stream_track"] == "inbound_track"
        self.carry(fields["stream_url"], fields.get("stream_auth_token"), fields.get("custom_parameters", ()))

    def do_answer(self, fields):
        assert not {"stream_bidirectional_sampling_rate", "custom_parameters"} & set(fields), "answer takes none"
        self.state = fields.get("client_state")
        self.answer()
        if "stream_url" in fields:
            self.stream_of(fields)

    def do_streaming_start(self, fields):
        assert self.is_answered.is_set()
        self.stream_of(fields)

    def do_hangup(self, fields):
        self.end(source="unknown")

    def do_reject(self, fields):
        self.end({"USER_BUSY": "user_busy", "CALL_REJECTED": "call_rejected"}[fields["cause"]], "603")

    def do_speak(self, fields):
        self.spoken.append(fields["payload"])
        self.state = fields.get("client_state")
        self.tell("call.speak.started")
        self.tell("call.speak.ended", status="completed")

    def do_transfer(self, fields):
        """Rings a number; the conversation with the caller ends when either side leaves."""
        leg = TelnyxCall(
            self.mock,
            "outgoing",
            fields.get("from", self.called),
            fields["to"],
            {"client_state": fields["target_leg_client_state"], "webhook_url": fields["webhook_url"]},
        )
        self.mock.calls[leg.id] = leg
        leg.begin()
        leg.run(self.mock.operator)
        if leg.is_answered.is_set() and not leg.over.is_set():
            self.peer, leg.peer = leg, self
            leg.tell("call.bridged")


class TeXMLCall(PhoneCall):
    open_stream = TelnyxStream

    def stream(self, verb):
        url = urlsplit(verb.get("url"))
        assert (url.scheme, url.netloc) == ("wss", "voice.example.com")
        assert verb.get("bidirectionalMode") == "rtp" and verb.get("bidirectionalCodec") == verb.get("codec") == "PCMU"
        parameters = {item.get("name"): item.get("value") for item in verb.findall("Parameter")}
        self.carry(f"{url.path}?{url.query}", parameters)
