"""Calls through Twilio: the settings, the request, and the phone of the mock."""

import functools
import subprocess

from conftest import ATTEND
from mock_twilio import ACCOUNT, PUBLIC, TOKEN

CALLEE, CALLER = "+821098765432", "+15550100"


def through_twilio(mock, **more):
    return {
        "TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "twilio",
        "TRUNKLINE_TWILIO_API_URL": mock.url,
        "TWILIO_ACCOUNT_SID": ACCOUNT,
        "TWILIO_AUTH_TOKEN": TOKEN,
        "APP_PUBLIC_BASE_URL": PUBLIC,
        **more,
    }


def start(make_server, mock, **settings):
    server = make_server(**through_twilio(mock, **settings))
    mock.port = server.http_port
    return server


def dial(server, **fields):
    return server.create(CALLEE, fields.pop("questions", [ATTEND]), caller_number=CALLER, **fields)


def the_phone(mock):
    return next(iter(mock.calls.values()))


def asked(mock, what="Calls.json"):
    return [form for _, path, form in mock.requests if path.endswith(what)]


@functools.cache
def spoken(text, rate=8000):
    """What a person says into `<Record>`: WAV, 16 bit, with the silence that ended it."""
    loud = subprocess.run(
        ["espeak-ng", "-v", "en-us", "-s", "140", "--stdout", text], capture_output=True, check=True
    ).stdout
    return subprocess.run(
        [
            "sox",
            "-t",
            "wav",
            "-",
            "-t",
            "wav",
            "-r",
            str(rate),
            "-b",
            "16",
            "-c",
            "1",
            "-",
            "gain",
            "-6",
            "pad",
            "0.4",
            "2",
        ],
        input=loud,
        capture_output=True,
        check=True,
    ).stdout
