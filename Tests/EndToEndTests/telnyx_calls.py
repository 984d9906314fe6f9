"""Calls through Telnyx: the settings, the request, and the phone of the mock."""

import base64

from conftest import ATTEND
from provider_calls import OURS

CALLEE = "+821098765432"
CLOSED = {"TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"}


def dial(server, **fields):
    return server.create(CALLEE, [ATTEND], caller_number=OURS, **fields)


def names(call):
    return [name for name, _ in call.commands]


def state_of(fields):
    return base64.b64decode(fields["client_state"]).decode()
