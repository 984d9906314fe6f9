"""A thousand webhooks at once to each carrier: without their proof, told twice, and in the wrong order. The server
lives, a call beside them ends right, and its memory stays within a bound."""

import asyncio
import json
import random
from urllib.parse import urlencode

import pytest
from conftest import ATTEND, GUESTS
from mock_exotel import WEBHOOK_TOKEN
from mock_plivo import ACCOUNT as PLIVO_ACCOUNT
from mock_plivo import TOKEN as PLIVO_TOKEN
from mock_signalwire import SIGNING_KEY
from mock_telnyx import PUBLIC_KEY
from mock_twilio import PUBLIC
from mock_twilio import TOKEN as TWILIO_TOKEN
from mock_vonage import SECRET as VONAGE_SECRET
from sip_wire import memory
from twilio.request_validator import RequestValidator

COUNT, AT_ONCE = 1_000, 200
# MiB: calls that are known for a while, and what a debug build takes for a request.
MORE = 80

SETTINGS = {
    # Otherwise some are not looked at.
    "TRUNKLINE_SECURITY_RATE_LIMIT_PER_SECOND": "100000",
    "TRUNKLINE_SECURITY_RATE_LIMIT_BURST": "100000",
    "APP_PUBLIC_BASE_URL": PUBLIC,
    "TWILIO_AUTH_TOKEN": TWILIO_TOKEN,
    "TELNYX_PUBLIC_KEY": PUBLIC_KEY,
    "SIGNALWIRE_SIGNING_KEY": SIGNING_KEY,
    "PLIVO_AUTH_ID": PLIVO_ACCOUNT,
    "PLIVO_AUTH_TOKEN": PLIVO_TOKEN,
    "VONAGE_SIGNATURE_SECRET": VONAGE_SECRET,
    "EXOTEL_WEBHOOK_TOKEN": WEBHOOK_TOKEN,
}
# With a proof of the right form that is wrong.
PATHS = {
    "twilio": ["voice", "status", "transferred"],
    "telnyx": ["voice", "status", "transferred"],
    "signalwire": ["voice", "status", "transfer", "transferred"],
    "plivo": ["answer", "status", "transfer", "transferred"],
    "vonage": ["answer", "event", "transferred"],
    "exotel": ["status"],
}
PROOFS = {
    "X-Twilio-Signature": "A" * 27 + "=",
    "X-SignalWire-Signature": "A" * 27 + "=",
    "X-Plivo-Signature-V3": "A" * 43 + "=",
    "X-Plivo-Signature-V3-Nonce": "12345678901234567890",
    "Telnyx-Signature-Ed25519": "A" * 86 + "==",
    "Telnyx-Timestamp": "1700000000",
    "Authorization": "Bearer e30.e30.AAAA",
}


async def post(port, path, headers, body, gate):
    """The status of the answer."""
    async with gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = [f"POST {path} HTTP/1.1", "Host: voice.example.com", "Connection: close", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*head, "", body]).encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split(b" ", 2)[1])


def send(server, requests):
    """All at once, in any order: how often each status came."""

    async def all_of_them():
        gate = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*[post(server.http_port, *one, gate) for one in requests])

    random.Random(7).shuffle(requests)
    statuses = asyncio.run(all_of_them())
    return {status: statuses.count(status) for status in set(statuses)}


def forged(carrier):
    for number in range(COUNT):
        path = f"/{carrier}/{PATHS[carrier][number % len(PATHS[carrier])]}"
        form = {"CallSid": f"CA{number}", "CallUUID": f"x{number}", "From": "+15550100", "To": "+15550199"}
        if number % 2 or carrier == "vonage":
            yield path, {**PROOFS, "Content-Type": "application/json"}, json.dumps(form)
        else:
            yield path, {**PROOFS, "Content-Type": "application/x-www-form-urlencoded"}, urlencode(form)


def signed(path, **form):
    signature = RequestValidator(TWILIO_TOKEN).compute_signature(PUBLIC + path, form)
    headers = {"X-Twilio-Signature": signature, "Content-Type": "application/x-www-form-urlencoded"}
    return path, headers, urlencode(form)


@pytest.fixture
def busy(make_server, callee):
    """A server with a call in progress, which must end right."""
    server = make_server(**SETTINGS)
    call_id = server.create(callee("cooperative").address, [ATTEND, GUESTS])
    yield server
    call = server.wait_for(call_id)
    assert (call["state"], call["end_reason"]) == ("completed", "task_completed"), server.log_end()
    assert [answer["value"] for answer in server.result(call_id)["answers"]] == [True, 4]


def test_a_thousand_webhooks_of_each_carrier(busy):
    before = memory(busy)
    for carrier in PATHS:
        statuses = send(busy, list(forged(carrier)))
        assert set(statuses) <= {401, 403} and sum(statuses.values()) == COUNT, (carrier, statuses)
    assert busy.request("GET", "/api/inbound/")[1]["total"] == 0
    # With the right proof: fifty calls, each told of twenty times, their ends before their beginnings too.
    form = {"AccountSid": "AC1", "From": "+15550100", "To": "+15550199"}
    told = []
    for number in range(50):
        about = form | {"CallSid": f"CA{number:032x}"}
        told += [signed("/twilio/voice", **about, CallStatus="ringing")] * 10
        for status in ("completed", "ringing", "in-progress", "answered", "completed"):
            told += [signed("/twilio/status", **about, CallStatus=status)] * 2
    assert len(told) == COUNT
    statuses = send(busy, told)
    assert set(statuses) <= {200, 204} and sum(statuses.values()) == COUNT, statuses
    listed = busy.request("GET", "/api/inbound/?limit=200")[1]
    assert listed["total"] <= 50, "a call was taken twice"
    # Unknown calls of a carrier that signs nothing.
    query = urlencode({"token": WEBHOOK_TOKEN, "call": "ob-00000000"})
    body = json.dumps({"CallSid": "0" * 32, "Status": "completed", "EventType": "terminal"})
    told = [(f"/exotel/status?{query}", {"Content-Type": "application/json"}, body)] * COUNT
    statuses = send(busy, told)
    assert set(statuses) <= {200, 204} and sum(statuses.values()) == COUNT, statuses
    grown = memory(busy) - before
    print(f"{grown:.0f} MiB more")
    assert grown < MORE
    assert busy.request("GET", "/ready", key=None)[0] == 200
