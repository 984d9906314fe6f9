"""Calls through Twilio: the settings, the request, and the phone of the mock."""

from conftest import ATTEND

CALLEE, CALLER = "+821098765432", "+15550100"


def dial(server, **fields):
    return server.create(CALLEE, fields.pop("questions", [ATTEND]), caller_number=CALLER, **fields)


def asked(mock, what="Calls.json"):
    return [form for _, path, form in mock.requests if path.endswith(what)]
