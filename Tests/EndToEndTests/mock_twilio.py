"""Twilio's side of a phone call: its REST API, its webhooks with their signatures, and a phone that does what TwiML
says.

Proven with the vendor's own client (`test_twilio.py`): the mock accepts the client's requests, and the client
understands the mock's answers."""

import base64
import contextlib
import http.client
import io
import secrets
import threading
import time
import wave
import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qs, urlencode, urlsplit

from carrier import Carrier
from provider_server import PUBLIC, MockProvider
from twilio.request_validator import RequestValidator

ACCOUNT = "AC" + "0123456789abcdef" * 2
TOKEN = "twilio-auth-token-of-this-test"


class MockTwilio(MockProvider):
    """`phone(call)` is what happens at the other end: see the methods of `PhoneCall`. A vendor whose API is alike is a
    subclass."""

    name, paths, header = "twilio", "/twilio", "X-Twilio-Signature"
    versions = "/2010-04-01"  # what is before the accounts

    def __init__(self, phone=lambda call: None, account=ACCOUNT, user=ACCOUNT, password=TOKEN, refuse=None):
        self.account, self.refuse, self.recordings = account, refuse, {}
        self.authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        super().__init__(phone)

    def settings(self):
        return {"TRUNKLINE_TWILIO_API_URL": self.url, "TWILIO_ACCOUNT_SID": ACCOUNT, "TWILIO_AUTH_TOKEN": TOKEN}

    def incoming(self, caller, called, **fields):
        """A call to one of the account's numbers, whose webhooks are ours."""
        form = {
            "From": [caller],
            "To": [called],
            "Url": [f"{PUBLIC}{self.paths}/voice"],
            "StatusCallback": [f"{PUBLIC}{self.paths}/status"],
            **fields,
        }
        call = self.new_call(form)
        call.direction, call.status = "inbound", "ringing"
        self.calls[call.sid] = call
        return call

    def new_call(self, form):
        return PhoneCall(self, form)

    def fields(self, body, kind):
        return parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body))

    @staticmethod
    def failure(status, code, message):
        return status, {"code": code, "message": message, "more_info": "", "status": status}

    def handle(self, method, path, query, form, headers):
        base = f"{self.versions}/Accounts/{self.account}"
        if headers.get("Authorization") != self.authorization:
            return self.failure(401, 20003, "Authenticate")
        if self.refuse and path == f"{base}/Calls.json":
            return self.refuse["status"], self.refuse
        if method == "POST" and path == f"{base}/Calls.json":
            missing = [name for name in ("To", "From") if name not in form]
            if missing or ("Url" not in form and "Twiml" not in form):
                return self.failure(400, 21201, f"{missing or 'Url'} is required")
            call = self.new_call(form)
            self.calls[call.sid] = call
            return 201, call.resource(), call.run
        if path.startswith(f"{base}/Recordings/") and path.endswith(".wav"):
            sound = self.recordings.get(path.split("/")[-1][:-4])
            return 404 if sound is None else 200, sound or b""
        call = self.calls.get(path.split("/")[-1].removesuffix(".json"))
        if not path.startswith(f"{base}/Calls/") or call is None:
            return self.failure(404, 20404, "The requested resource was not found")
        if method == "POST":
            call.update(form["Status"][0]) if "Status" in form else call.redirect(self.next_of(form))
        return 200, call.resource()

    def next_of(self, form):
        """What a call is to do that is taken from what it does."""
        return form["Twiml"][0]

    def sign(self, url, form):
        return RequestValidator(TOKEN).compute_signature(url, form)

    def webhook(self, url, form, signature=None):
        """As the vendor calls us; the answer's status and text."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", url, urlencode(form), {**kind, self.header: signature or self.sign(url, form)})


class PhoneCall:
    """One call, placed or (with `MockTwilio.incoming`) come in."""

    direction = "outbound-api"
    plays_in_real_time = False  # <Play> takes as long as its sound
    refused = None  # the reason of a <Reject>

    def __init__(self, mock, form, sid=None):
        self.mock, self.form = mock, form
        self.sid = sid or "CA" + secrets.token_hex(16)
        self.status, self.sequence = "queued", 0
        self.over = threading.Event()
        self.twiml, self.played, self.carrier, self.events = [], [], None, []
        self.redirected, self.operator = None, "completed"  # TwiML from REST; how a call to <Dial> goes
        self.answers, self.streams_work = [], True  # what is said into <Record>; whether a stream can be had

    def field(self, name, default=None):
        return self.form.get(name, [default])[0]

    def resource(self):
        return {
            "sid": self.sid,
            "account_sid": self.mock.account,
            "status": self.status,
            "to": self.field("To"),
            "from": self.field("From"),
            "direction": self.direction,
            "api_version": "2010-04-01",
            "uri": f"{self.mock.versions}/Accounts/{self.mock.account}/Calls/{self.sid}.json",
            "date_created": None,
            "date_updated": None,
            "start_time": None,
            "end_time": None,
            "duration": None,
            "price": None,
            "price_unit": "USD",
            "answered_by": None,
            "forwarded_from": None,
            "caller_name": None,
            "parent_call_sid": None,
            "queue_time": "0",
            "trunk_sid": None,
            "phone_number_sid": "",
            "group_sid": None,
            "to_formatted": "",
            "from_formatted": "",
            "annotation": None,
            "subresource_uris": {},
        }

    def parameters(self, **more):
        return {
            "CallSid": self.sid,
            "AccountSid": self.mock.account,
            "From": self.field("From"),
            "To": self.field("To"),
            "CallStatus": self.status,
            "Direction": self.direction,
            "ApiVersion": "2010-04-01",
            **more,
        }

    def run(self):
        with contextlib.suppress(Exception):
            self.mock.phone(self)

    # What a phone does.

    def tell(self, status, **more):
        """A state, told to the status callback where that event was asked for."""
        self.status = status
        self.events.append(status)
        event = {"in-progress": "answered"}.get(status, status if status in ("initiated", "ringing") else "completed")
        if self.field("StatusCallback") and event in self.form.get("StatusCallbackEvent", ["completed"]):
            self.sequence += 1
            answer = self.mock.webhook(
                self.field("StatusCallback"), self.parameters(SequenceNumber=str(self.sequence - 1), **more)
            )
            assert answer[0] in (200, 204), answer

    def ring(self):
        self.tell("initiated")
        self.tell("ringing")

    def end(self, status="completed", **more):
        if not self.over.is_set():
            self.over.set()
            self.tell(status, **more)

    def update(self, status):
        """By REST: `canceled` ends a call that is not answered yet, `completed` any."""
        if self.over.is_set() or (status == "canceled" and self.status == "in-progress"):
            return
        self.over.set()
        self.status = "completed" if self.status == "in-progress" else "canceled"
        if self.carrier:
            self.carrier.hang_up()

        def tell():
            with contextlib.suppress(OSError):  # the server may be gone
                self.tell(self.status)

        threading.Thread(target=tell, daemon=True).start()

    def redirect(self, twiml):
        """By REST: what the call does ends, and it does this."""
        self.redirected = twiml
        if self.carrier:
            self.carrier.hang_up()

    def machine(self, answered_by):
        self.mock.webhook(
            self.field("AsyncAmdStatusCallback"),
            {
                "CallSid": self.sid,
                "AccountSid": self.mock.account,
                "AnsweredBy": answered_by,
                "MachineDetectionDuration": "2100",
            },
        )

    def answer(self):
        """Picks up, and does what the TwiML says until it ends."""
        self.tell("in-progress")
        self.follow(self.field("Url"))

    def follow(self, url, **more):
        while url and not self.over.is_set():
            status, text = self.mock.webhook(url, self.parameters(**more))
            assert status == 200, (status, text)
            self.twiml.append(text)
            url, more = self.execute(ElementTree.fromstring(text))
            if self.redirected:
                url, more = self.follow_redirect()
        self.end()

    def follow_redirect(self):
        """By REST: another markup than that which was asked for."""
        text, self.redirected = self.redirected, None
        self.twiml.append(text)
        return self.execute(ElementTree.fromstring(text))

    def execute(self, response):
        """The URL to ask next, and the fields to tell it."""
        for verb in response:
            if self.over.is_set():
                break
            if verb.tag == "Connect" and self.streams_work:
                self.stream(verb.find("Stream"))
            elif verb.tag == "Reject":
                self.refused = verb.get("reason", "rejected")
                self.end("busy" if self.refused == "busy" else "no-answer")
            elif verb.tag == "Play":
                self.play(verb.text)
            elif verb.tag == "Record" and (answer := self.answers.pop(0) if self.answers else None):
                if isinstance(answer, str):  # keys
                    return verb.get("action"), {"Digits": answer}
                name = "RE" + secrets.token_hex(16)
                self.mock.recordings[name] = answer
                return verb.get("action"), {
                    "RecordingUrl": f"{self.mock.url}/2010-04-01/Accounts/{self.mock.account}/Recordings/{name}",
                    "RecordingSid": name,
                    "RecordingDuration": "2",
                    "Digits": "hangup" if answer == b"" else "",
                }
            elif verb.tag == "Dial":
                return verb.get("action"), {
                    "DialCallStatus": self.operator,
                    "DialCallSid": "CA" + secrets.token_hex(16),
                }
            elif verb.tag == "Redirect":
                return verb.text, {}
            elif verb.tag == "Hangup":
                break
        return None, {}

    def stream(self, verb):
        assert verb.get("url").startswith("wss://voice.example.com/") and "?" not in verb.get("url")
        parameters = {item.get("name"): item.get("value") for item in verb.findall("Parameter")}
        self.carry(urlsplit(verb.get("url")).path, parameters)

    def stream_from_a_bin(self, parameters=None, path="/twilio/stream"):
        """A static TwiML Bin has no token: its stream is known by the signature of the upgrade alone."""
        self.status = "in-progress"
        signature = RequestValidator(TOKEN).compute_signature("wss" + PUBLIC.removeprefix("https") + path, {})
        self.carry(path, parameters or {}, {"X-Twilio-Signature": signature})
        self.end()

    open_stream = Carrier

    def carry(self, path, parameters, headers=None):
        self.carrier = self.open_stream(
            f"ws://127.0.0.1:{self.mock.port}{path}", call_sid=self.sid, parameters=parameters, headers=headers
        )
        while self.carrier.open and not self.over.is_set() and not self.redirected:
            time.sleep(0.02)

    def play(self, url):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", self.mock.port, timeout=10)
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        sound = response.read()
        if self.over.is_set():
            return
        assert response.status == 200 and response.headers["Content-Type"] == "audio/wav"
        with wave.open(io.BytesIO(sound)) as file:
            assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 8000)
            self.played.append(file.getnframes() / 8000)
        if self.plays_in_real_time:
            self.over.wait(self.played[-1])
