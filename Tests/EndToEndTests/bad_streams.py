"""What carriers may get wrong in a stream of each dialect, beside what is right."""

import base64
import json
import uuid

# Stands in what is wrong, and must not stand in the log.
SECRET = "content-4711"
MULAW, LINEAR = b"\xff" * 160, b"\0" * 320


def b64(sound):
    return base64.b64encode(sound).decode()


class Stream:
    """`begin`: the messages that start it. `unspoken`: those that name a format that nobody here speaks. `sound`: 20 ms
    of silence. `bad`: by name, what is left out, with a line of the log. `ignored`: what is a later version's. `fatal`:
    by name, what ends the stream."""

    words = None  # that the server says before it closes

    def __init__(self):
        self.id, self.call, self.chunk = str(uuid.uuid4()), str(uuid.uuid4()), 0

    def bad(self):
        return {"a second start": self.begin()[-1], "no protocol": f"{SECRET} {{"}

    def ignored(self):
        return [self.unknown(), self.extended()]

    def fatal(self):
        return {}

    def begin(self, **wrong):
        raise NotImplementedError


class TextStream(Stream):
    """JSON whose sound is Base64."""

    id_name, number = "streamSid", "sequenceNumber"

    def bad(self):
        return super().bad() | {
            "broken base64": self.sound(payload=f"!{SECRET}"),
            "no payload": self.sound(payload=None),
            "another stream's": self.sound(stream=SECRET),
            "binary": b"\0" * 160,
        }

    def ignored(self):
        gap = self.sound(number="9000")
        return [*super().ignored(), gap]

    def spell(self, event, number=None, stream=None, **body):
        about = {"event": event, self.number: number or str(self.chunk + 2), self.id_name: stream or self.id}
        return json.dumps(about | body)

    def sound(self, payload=b64(MULAW), number=None, stream=None):
        self.chunk += 1
        media = {"track": "inbound", "chunk": str(self.chunk), "timestamp": str(20 * self.chunk)}
        return self.spell("media", number, stream, media=media | ({"payload": payload} if payload else {}))

    def unknown(self):
        return self.spell(SECRET.replace("-", "_"))

    def extended(self):
        return self.spell("media", media={"payload": b64(MULAW), "later": {"x": [SECRET]}}, later=SECRET)


class Twilio(TextStream):
    def begin(self, encoding="audio/x-mulaw", rate=8000):
        about = {
            "streamSid": self.id,
            "accountSid": "AC1",
            "callSid": self.call,
            "tracks": ["inbound"],
            "customParameters": {},
            "mediaFormat": {"encoding": encoding, "sampleRate": rate, "channels": 1},
        }
        return [
            json.dumps({"event": "connected", "protocol": "Call", "version": "1.0.0"}),
            self.spell("start", start=about),
        ]

    def unspoken(self):
        return self.begin("audio/x-opus")


class SignalWire(Twilio):
    pass


class Telnyx(TextStream):
    id_name, number = "stream_id", "sequence_number"

    def begin(self, encoding="PCMU"):
        about = {
            "user_id": "u",
            "call_control_id": self.call,
            "call_session_id": self.call,
            "from": "+15550100",
            "to": "+15550199",
            "media_format": {"encoding": encoding, "sample_rate": 8000, "channels": 1},
        }
        return [json.dumps({"event": "connected", "version": "1.0.0"}), self.spell("start", "1", start=about)]

    def unspoken(self):
        return self.begin("OPUS")


class Plivo(TextStream):
    id_name = "streamId"

    def begin(self, encoding="audio/x-mulaw"):
        about = {
            "callId": self.call,
            "streamId": self.id,
            "accountId": "1",
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": encoding, "sampleRate": 8000},
        }
        return [json.dumps({"event": "start", "sequenceNumber": 0, "start": about, "extra_headers": "{}"})]

    def unspoken(self):
        return self.begin("audio/opus")


class Exotel(TextStream):
    id_name, number = "stream_sid", "sequence_number"

    def begin(self, rate="8000"):
        about = {
            "stream_sid": self.id,
            "call_sid": self.call.replace("-", ""),
            "account_sid": "a",
            "from": "+15550100",
            "to": "+15550199",
            "custom_parameters": {},
            "media_format": {"encoding": "audio/x-raw", "sample_rate": rate, "bit_rate": "16"},
        }
        return [json.dumps({"event": "connected"}), self.spell("start", "1", start=about)]

    def sound(self, payload=b64(LINEAR), number=None, stream=None):
        return super().sound(payload, number, stream)

    def unspoken(self):
        return self.begin("11025")


class BinaryStream(Stream):
    """Sound without a frame around it."""

    def sound(self):
        return LINEAR

    def unknown(self):
        return json.dumps({"event": SECRET, "type": SECRET})

    def extended(self):
        return json.dumps({"event": "websocket:later", "type": "later", "later": SECRET})


class Vonage(BinaryStream):
    def bad(self):
        return super().bad() | {"half a sample": LINEAR[:-1]}

    def begin(self, rate=8000):
        kind = f"audio/l16;rate={rate}"
        return [json.dumps({"event": "websocket:connected", "content-type": kind, "uuid": self.call})]

    def unspoken(self):
        return self.begin(11_025)


class Jambonz(BinaryStream):
    words = '"type":"error"'

    def ignored(self):
        return [*super().ignored(), LINEAR[:-1], LINEAR[:1]]  # a sample in two messages

    def begin(self, rate=8000):
        about = {"callSid": self.call, "from": "+15550100", "to": "+15550199", "sampleRate": rate, "mixType": "mono"}
        return [json.dumps(about)]

    def unspoken(self):
        return self.begin(11_025)


class Asterisk(BinaryStream):
    words = "HANGUP"

    def bad(self):
        more = {"another channel's": f"DTMF_END digit:1 channel_id:{SECRET}", "no digit": f"DTMF_END digit:{SECRET}"}
        return super().bad() | more | {"no protocol": SECRET}

    def begin(self, format="ulaw", size=160):
        channel = f"channel:WebSocket/c/0x1 channel_id:{self.call}"
        return [f"MEDIA_START connection_id:c {channel} format:{format} optimal_frame_size:{size} ptime:20"]

    def sound(self):
        return MULAW

    def unknown(self):
        return "LATER_EVENT " + SECRET

    def extended(self):
        return f"MEDIA_XON channel_id:{self.call} later:{SECRET}"

    def unspoken(self):
        return self.begin("opus", 0)


class Genesys(BinaryStream):
    words = '"type":"disconnect"'

    def bad(self):
        return {"no protocol": SECRET}

    def fatal(self):
        another = self.spell("ping", 2, id=str(uuid.uuid4()))
        return {"a gap in the sequence": self.spell("ping", 9), "another session's": another}

    def spell(self, kind, number, id=None, **parameters):
        about = {"version": "2", "type": kind, "seq": number, "serverseq": 1, "id": id or self.id}
        return json.dumps({**about, "position": "PT0S", "parameters": parameters})

    def begin(self, format="PCMU"):
        person = {"id": str(uuid.uuid4()), "ani": "+15550100", "aniName": "", "dnis": "+15550199"}
        media = {"type": "audio", "format": format, "channels": ["external"], "rate": 8000}
        opened = self.spell(
            "open",
            1,
            organizationId=str(uuid.uuid4()),
            conversationId=self.call,
            participant=person,
            media=[media],
            language="en-US",
        )
        return [opened.replace('"serverseq": 1', '"serverseq": 0')]

    def sound(self):
        return MULAW

    def unknown(self):
        return self.spell(SECRET, 2)

    def extended(self):
        return self.spell("later", 3, later=SECRET)

    def unspoken(self):
        return self.begin("OPUS")


DIALECTS = {
    "twilio": Twilio,
    "telnyx": Telnyx,
    "plivo": Plivo,
    "vonage": Vonage,
    "signalwire": SignalWire,
    "exotel": Exotel,
    "genesys": Genesys,
    "asterisk": Asterisk,
    "jambonz": Jambonz,
}
