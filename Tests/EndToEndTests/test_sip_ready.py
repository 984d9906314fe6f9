"""A call is taken from the moment in which `/ready` says yes."""

import threading
import time

from inbound_calls import FAST
from test_sip_requests import Caller, sdp


def test_a_call_is_taken_as_soon_as_the_server_is_ready(make_server):
    """Over ten starts of one server."""
    server = make_server(**FAST)
    for number in range(10):
        server.kill()
        start = threading.Thread(target=server.start)
        start.start()
        deadline = time.time() + 30
        while time.time() < deadline:
            try:
                if server.request("GET", "/ready", key=None)[0] == 200:
                    break
            except OSError:
                time.sleep(0.002)
        caller = Caller(server)
        assert caller.request("INVITE", body=sdp()) == 200, f"start {number}; {server.log_end()}"
        assert caller.request("BYE") == 200
        caller.close()
        start.join()
