"""SignalWire's side of a phone call: Twilio's (`mock_twilio.py`) with UUIDs, `/api/laml`, another header, and a
`<Stream>` of its own.

Proven with the vendor's own client (`test_signalwire.py`): the mock accepts the client's requests, and the client
understands the mock's answers and takes its signatures for right."""

import uuid
from urllib.parse import urlsplit

from carrier import Carrier
from mock_twilio import MockTwilio, PhoneCall
from provider_server import PUBLIC
from twilio.request_validator import RequestValidator

PROJECT = "4b7ae78a-d02e-4889-a63b-08b156d5916e"
TOKEN = "PT0123456789abcdef-of-this-test"
SIGNING_KEY = "PSK_of-this-test"


class SignalWireStream(Carrier):
    """SignalWire names the stream in `start` alone."""

    def begin(self, call_sid, parameters):
        self.send({"event": "connected", "protocol": "Call", "version": "0.2.0"})
        self.send(
            {
                "event": "start",
                "sequenceNumber": "1",
                "start": {
                    "streamSid": self.sid,
                    "accountSid": PROJECT,
                    "callSid": call_sid,
                    "tracks": ["inbound"],
                    "customParameters": parameters,
                    "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
                },
            }
        )

    def numbered(self, event, **body):
        message = super().numbered(event, **body)
        del message["streamSid"]
        return message

    def digit(self, digit):
        return self.numbered("dtmf", dtmf={"digit": digit, "duration": 200})

    def stop(self):
        return self.numbered("stop")


class MockSignalWire(MockTwilio):
    name, paths, header = "signalwire", "/signalwire", "X-SignalWire-Signature"
    versions = "/api/laml/2010-04-01"

    def __init__(self, phone=lambda call: None, password=TOKEN, refuse=None):
        super().__init__(phone, account=PROJECT, user=PROJECT, password=password, refuse=refuse)

    def settings(self):
        return {
            "TRUNKLINE_SIGNALWIRE_API_URL": self.url + "/api/laml",
            "SIGNALWIRE_PROJECT": PROJECT,
            "SIGNALWIRE_TOKEN": TOKEN,
            "SIGNALWIRE_SIGNING_KEY": SIGNING_KEY,
        }

    def new_call(self, form):
        return SignalWireCall(self, form, str(uuid.uuid4()))

    def sign(self, url, form):
        return RequestValidator(SIGNING_KEY).compute_signature(url, form)

    def next_of(self, form):
        assert form["Method"] == ["POST"] and set(form) == {"Url", "Method"}, "an update takes no markup"
        return form["Url"][0]


class SignalWireCall(PhoneCall):
    open_stream = SignalWireStream

    def follow_redirect(self):
        url, self.redirected = self.redirected, None
        return url, {}

    def stream(self, verb):
        assert verb.get("url").startswith(PUBLIC.replace("https", "wss") + "/") and verb.get("codec") == "PCMU@8000h"
        headers = {"Authorization": f"Bearer {verb.get('authBearerToken')}"}
        self.carry(urlsplit(verb.get("url")).path, {}, headers)
