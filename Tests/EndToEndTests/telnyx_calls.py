"""Calls through Telnyx: the settings, the request, and the phone of the mock."""

import base64

from conftest import ATTEND
from mock_telnyx import API_KEY, CONNECTION, PUBLIC, PUBLIC_KEY
from provider_calls import OURS, wait

CALLEE = "+821098765432"
CLOSED = {"TRUNKLINE_BRIDGE_OPEN_STREAMS": "false"}


def start(make_server, mock, **settings):
    server = make_server(
        **{
            "TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY": "telnyx",
            "TRUNKLINE_TELNYX_API_URL": mock.url,
            "TELNYX_API_KEY": API_KEY,
            "TELNYX_PUBLIC_KEY": PUBLIC_KEY,
            "TELNYX_CONNECTION_ID": CONNECTION,
            "APP_PUBLIC_BASE_URL": PUBLIC,
            **settings,
        }
    )
    mock.port = server.http_port
    return server


def dial(server, **fields):
    return server.create(CALLEE, [ATTEND], caller_number=OURS, **fields)


def placed(mock):
    wait(lambda: mock.calls, what="the call")
    return next(iter(mock.calls.values()))


def names(call):
    return [name for name, _ in call.commands]


def state_of(fields):
    return base64.b64decode(fields["client_state"]).decode()
