"""The vendor's client, in a process of its own: `signalwire` wants an older `twilio` than the other tests do.

Reads JSON from standard input (`url`: the mock's, `create`: fields of a call, `signed`: [URL, form, signature] …) and
writes what the client made of it."""

import json
import sys

from signalwire.request_validator import RequestValidator
from signalwire.rest import Client
from signalwire.voice_response import Connect, Dial, Stream, VoiceResponse
from twilio.base.exceptions import TwilioRestException
from twilio.http.http_client import TwilioHttpClient


class ToTheMock(TwilioHttpClient):
    """The client wants https."""

    def request(self, method, uri, *arguments, **options):
        return super().request(method, uri.replace("https://", "http://"), *arguments, **options)


def main(told):
    answer = {}
    if "create" in told:
        client = Client(
            told["project"],
            told["token"],
            signalwire_space_url=told["url"] + "/api/laml",
            http_client=ToTheMock(),
        )
        call = client.calls.create(**told["create"])
        answer["created"] = call.status
        answer["fetched"] = client.calls(call.sid).fetch().sid == call.sid
        answer["moved"] = client.calls(call.sid).update(url=told["create"]["url"], method="POST").sid == call.sid
        answer["cancelled"] = client.calls(call.sid).update(status="canceled").status
        try:
            client.calls("00000000-0000-0000-0000-000000000000").fetch()
        except TwilioRestException as error:
            answer["missing"] = error.status
    if "signed" in told:
        answer["valid"] = [
            RequestValidator(told["key"]).validate(url, form, code) for url, form, code in told["signed"]
        ]
    if "stream" in told:
        response, connect = VoiceResponse(), Connect()
        connect.append(Stream(**told["stream"]))
        response.append(connect)
        answer["stream"] = str(response)
    if "dial" in told:
        response, dial = VoiceResponse(), Dial(**told["dial"])
        dial.number(told["number"])
        response.append(dial)
        answer["dial"] = str(response)
    return answer


if __name__ == "__main__":
    json.dump(main(json.load(sys.stdin)), sys.stdout)
