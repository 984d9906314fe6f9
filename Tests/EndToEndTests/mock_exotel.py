"""Exotel's side of a phone call: its Voice API, its flow with a Voicebot applet, and its stream.

Exotel publishes no Python client of this API: the mock follows developer.exotel.com alone."""

import base64
import json
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

from provider_server import PUBLIC, MockProvider, ProviderCall
from wires import Wire

ACCOUNT, KEY, TOKEN, APP = "acme1", "exotel-key", "exotel-token-of-this-test", "926"
WEBHOOK_TOKEN = "webhook-token-of-this-test"


class ExotelWire(Wire):
    """developer.exotel.com/docs/agentstream/websocket-protocol"""

    frames = 5

    def __init__(self, call_sid, rate=8000, parameters=None, caller="", called=""):
        super().__init__(rate)
        self.call_sid, self.sid, self.number = call_sid, "MZ" + secrets.token_hex(16), 0
        self.parameters, self.caller, self.called = parameters or {}, caller, called

    def spell(self, event, **body):
        self.number += 1
        about = {"event": event, "sequence_number": str(self.number), "stream_sid": self.sid}
        return json.dumps({**about, event: body})

    def begin(self):
        media = {"encoding": "audio/x-raw", "sample_rate": str(self.rate), "bit_rate": "16"}
        return [
            json.dumps({"event": "connected"}),
            self.spell(
                "start",
                stream_sid=self.sid,
                call_sid=self.call_sid,
                account_sid=ACCOUNT,
                **{"from": self.caller, "to": self.called},
                custom_parameters=self.parameters,
                media_format=media,
            ),
        ]

    def sound(self, data):
        chunk = self.number
        return self.spell(
            "media", chunk=str(chunk), timestamp=str(100 * chunk), payload=base64.b64encode(data).decode()
        )

    def read(self, message):
        told = json.loads(message)
        assert told["stream_sid"] == self.sid, told
        if told["event"] == "media":
            sound = base64.b64decode(told["media"]["payload"], validate=True)
            assert 3200 <= len(sound) <= 100_000 and len(sound) % 320 == 0, len(sound)
            return "sound", sound
        if told["event"] == "mark":
            return "mark", told["mark"]["name"]
        assert told["event"] == "clear", told
        return "clear", None

    def mark(self, name):
        return self.spell("mark", name=name)

    def end(self):
        return self.spell("stop", call_sid=self.call_sid, account_sid=ACCOUNT, reason="callended")


class MockExotel(MockProvider):
    name = "exotel"

    def settings(self):
        return {
            "TRUNKLINE_EXOTEL_API_URL": self.url,
            "EXOTEL_ACCOUNT_SID": ACCOUNT,
            "EXOTEL_API_KEY": KEY,
            "EXOTEL_API_TOKEN": TOKEN,
            "EXOTEL_APP_ID": APP,
            "EXOTEL_WEBHOOK_TOKEN": WEBHOOK_TOKEN,
        }

    def handle(self, method, path, query, fields, headers):
        wanted = "Basic " + base64.b64encode(f"{KEY}:{TOKEN}".encode()).decode()
        if headers.get("Authorization") != wanted:
            return 401, {"RestException": {"Status": 401, "Message": "Authentication failed"}}
        base = f"/v1/Accounts/{ACCOUNT}/Calls/"
        if (method, path) == ("POST", base + "connect.json"):
            missing = [name for name in ("From", "CallerId", "Url") if name not in fields]
            if missing:
                message = f"Mandatory Parameter missing: {missing[0]}"
                return 400, {"RestException": {"Status": 400, "Message": message}}
            assert fields["Url"] == f"http://my.exotel.com/{ACCOUNT}/exoml/start_voice/{APP}"
            call = ExotelCall(self, fields["CallerId"], fields["From"], fields)
            call.begin(self.phone, call)
            return 200, {"Call": {"Sid": call.sid, "Status": "in-progress", "Direction": "outbound-api"}}
        call = self.calls.get(path.removeprefix(base).removesuffix(".json"))
        if call is None or method != "GET":
            return 404, {"RestException": {"Status": 404, "Message": "Not Found"}}
        return 200, {"Call": {"Sid": call.sid, "Status": call.status}}

    def incoming(self, caller, called):
        """A call to an ExoPhone, whose flow is a Voicebot applet with our URL, and a Passthru applet."""
        return ExotelCall(self, caller, called, {}, "incoming")


class ExotelCall(ProviderCall):
    def __init__(self, mock, caller, called, fields, direction="outbound-dial"):
        super().__init__(mock, caller, called)
        self.fields, self.direction, self.status = fields, direction, "in-progress"
        self.sid = secrets.token_hex(16)
        mock.calls[self.sid] = self

    @property
    def id(self):
        return self.sid

    def about(self, **more):
        told = {"CallSid": self.sid, "CallFrom": self.caller, "CallTo": self.called, "Direction": self.direction}
        return told | ({"CustomField": self.fields["CustomField"]} if "CustomField" in self.fields else {}) | more

    def applet(self, path, token=WEBHOOK_TOKEN, headers=None, **more):
        query = urlencode({**({"token": token} if token else {}), **self.about(), **more})
        return self.mock.send("GET", f"{PUBLIC}/exotel/{path}?{query}", None, headers)

    def tell(self, event, status):
        self.status = status
        if "StatusCallback" in self.fields and event in self.fields.values():
            body = json.dumps({"CallSid": self.sid, "EventType": event, "Status": status, "From": self.called})
            kind = {"Content-Type": self.fields["StatusCallbackContentType"]}
            assert self.mock.send("POST", self.fields["StatusCallback"], body, kind)[0] == 200

    def answer(self):
        """Picks up; the flow asks where the stream goes."""
        self.tell("answered", "in-progress")
        status, text = self.applet("stream")
        self.answers.append(text)
        if status == 200:
            url = json.loads(text)["url"]
            query = dict(parse_qsl(urlsplit(url).query))
            rate, parameters = (
                int(query.get("sample-rate", 8000)),
                {k: v for k, v in query.items() if k != "sample-rate"},
            )
            assert len(urlsplit(url).query) <= 256 and len(query) <= 3
            self.carry(url, ExotelWire(self.sid, rate, parameters, self.caller, self.called))
            assert self.applet("status")[0] == 200  # Passthru
        self.end()

    def end(self, status="completed"):
        if not self.over.is_set():
            self.over.set()
            self.tell("terminal", status)
