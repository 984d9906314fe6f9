"""Whole connections with several messages in a segment, lengths that lie, frames that may not be: some seconds of each
kind (scripts/fuzz-connections runs for hours)."""

import os

import connection_fuzz
import pytest

# A connection that has a call needs the server to take it.
SETTINGS = {
    "TRUNKLINE_BRIDGE_OPEN_STREAMS": "true",
    "TRUNKLINE_INBOUND_MAX_CONCURRENT_CALLS": "10",
    "TRUNKLINE_LOG_LEVEL": "warning",
}


@pytest.mark.parametrize("kind", sorted(connection_fuzz.KINDS))
def test_fuzzed_connections_do_not_harm_the_server(make_server, tmp_path, kind):
    settings, context = connection_fuzz.with_tls(tmp_path) if kind in connection_fuzz.TLS_KINDS else ({}, None)
    server = make_server(tls=context, **SETTINGS, **settings)
    print(connection_fuzz.run(server, kind, seed=20260911, seconds=float(os.environ.get("TRUNKLINE_FUZZ_SECONDS", 3))))
    assert server.request("GET", "/health", key=None)[0] == 200
