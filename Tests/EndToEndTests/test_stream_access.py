"""Access to media streams: signed webhooks and their tokens, open streams on loopback only, and TLS on both sides."""

import json
import shutil
import signal
import socket
import ssl
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

import pytest
from carrier import Carrier
from conftest import KEY
from ports import free_port
from realtime_calls import ended, realtime, stream
from twilio.request_validator import RequestValidator
from twilio.twiml.voice_response import Connect, Stream, VoiceResponse

TOKEN = "twilio-auth-token-of-this-test"


def calls_in(server):
    return server.request("GET", "/api/inbound/")[1]["items"]


def signed(url, form=None):
    return {"X-Twilio-Signature": RequestValidator(TOKEN).compute_signature(url, form or {})}


def test_twilio_streams_need_a_signed_webhook_and_its_token(make_server, model):
    """TwiML and signatures by Twilio's own package; a token for one call, once."""
    mock = model([{"text": "Good morning.", "ms": 600}] * 3)
    public = "https://voice.example.com"
    server = make_server(
        **realtime(mock, TRUNKLINE_BRIDGE_OPEN_STREAMS="false", TWILIO_AUTH_TOKEN=TOKEN, APP_PUBLIC_BASE_URL=public)
    )
    form = {
        "CallSid": "CA77",
        "From": "+15550100",
        "To": "+15550199",
        "AccountSid": "AC1",
        "CallStatus": "ringing",
        "Caller Name": "Zoë & Co",
    }

    def post(path, headers, body=form, kind="application/x-www-form-urlencoded"):
        data = urlencode(body) if isinstance(body, dict) else body
        status, text = server.request("POST", path, data, key=None, headers={"Content-Type": kind, **headers}, raw=True)
        return status, text.decode()

    assert post("/twilio/voice", {})[0] == 403
    assert post("/twilio/voice", signed(public + "/twilio/voice", {**form, "CallSid": "CA78"}))[0] == 403
    status, text = post("/twilio/voice", signed(public + "/twilio/voice", form))
    assert status == 200 and server.last_headers["content-type"].startswith("text/xml")
    token = ElementTree.fromstring(text).find("./Connect/Stream/Parameter").get("value")
    wanted, connect = VoiceResponse(), Connect()
    inner = Stream(url="wss://voice.example.com/media/twilio")
    inner.parameter(name="token", value=token)
    connect.append(inner)
    wanted.append(connect)
    assert ElementTree.canonicalize(text) == ElementTree.canonicalize(str(wanted))
    # With a port, with a query, and a JSON body by its digest.
    assert post("/twilio/voice", signed(public + ":443/twilio/voice", form))[0] == 200
    assert post("/twilio/status?leg=a%20b", signed(public + "/twilio/status?leg=a%20b", form))[0] == 204
    body = json.dumps({"CallSid": "CA77"})
    query = "/twilio/status?bodySHA256=" + RequestValidator(TOKEN).compute_hash(body)
    assert post(query, signed(public + query), body, "application/json")[0] == 422, (
        "the signature is right, the fields are not a form's"
    )
    assert post(query, signed(public + query), body + " ", "application/json")[0] == 403

    # The token lets one stream of this call in, once.
    def refused(**options):
        before = mock.sessions
        carrier = stream(server, **options)
        carrier.wait(lambda: not carrier.open, what="the refusal")
        assert carrier.close_code == 1008 and mock.sessions == before, (
            "nothing is asked of a model for a refused stream"
        )

    refused(call_sid="CA99", parameters={"token": token})
    refused(call_sid="CA77", parameters={"token": token})  # a token tried by another call is spent
    refused(call_sid="CA77")
    refused(call_sid="CA77", parameters={"token": "x" * 40})
    token = (
        ElementTree.fromstring(post("/twilio/voice", signed(public + "/twilio/voice", form))[1])
        .find("./Connect/Stream/Parameter")
        .get("value")
    )
    carrier = stream(server, call_sid="CA77", parameters={"token": token})
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    refused(call_sid="CA77", parameters={"token": token})
    carrier.hang_up()
    carrier.wait(lambda: calls_in(server) and calls_in(server)[0]["state"] == "completed", what="the end")
    call = server.request("GET", f"/api/inbound/{calls_in(server)[0]['inbound_id']}")[1]
    assert (call["caller_number"], call["called_number"], call["call_id"]) == ("+15550100", "+15550199", "CA77")

    # A TwiML Bin has no token: there the upgrade's own signature counts.
    path = "/twilio/stream"
    bin_stream = Carrier(
        f"ws://127.0.0.1:{server.http_port}{path}", call_sid="CA80", headers=signed("wss://voice.example.com" + path)
    )
    bin_stream.wait(lambda: bin_stream.played_ms() >= 580, what="the greeting")
    bin_stream.hang_up()
    with pytest.raises(Exception, match="403"):
        Carrier(f"ws://127.0.0.1:{server.http_port}{path}", headers=signed("wss://elsewhere.example.com" + path))


def test_an_open_stream_is_a_call_that_came_in(make_server, model):
    mock = model([{"text": "Good morning.", "ms": 600}])
    server = make_server(**realtime(mock))
    carrier = stream(server, call_sid="CA42", parameters={"from": "+15550100", "to": "+15550199"})
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.hang_up()
    call_id = ended(server)
    call = server.call(call_id)
    assert call_id.startswith("in-") and call["call_id"] == "CA42", call
    assert (call["caller_number"], call["called_number"]) == ("+15550100", "+15550199")
    assert server.events(call_id)[:2] == ["inbound_ringing", "inbound_connected"], server.events(call_id)
    assert server.request("GET", "/api/outbound/")[1]["total"] == 0
    # The AI answers; it does not call.
    instructions = json.dumps(mock.messages("session.update"))
    assert "answers a telephone call" in instructions


def test_open_streams_are_refused_beyond_loopback(tmp_path):
    from test_operations import run

    result = run(
        "serve",
        "--http-port",
        "0",
        "--sip-port",
        str(free_port()),
        cwd=tmp_path,
        TRUNKLINE_HTTP_HOST="0.0.0.0",
        TRUNKLINE_API_KEY="k" * 20,
        TRUNKLINE_SECURITY_ENCRYPTION_KEY="ab" * 32,
        TRUNKLINE_BRIDGE_OPEN_STREAMS="true",
    )
    assert result.returncode == 1 and "bridge.open_streams" in result.stderr


def test_tls_on_both_sides(make_server, model, certificates, tmp_path):
    """wss: to the model, its certificate verified; wss: and https: from the world, the certificate read again at
    SIGHUP."""
    mock = model([{"text": "Good morning.", "ms": 600}] * 3, tls=(certificates / "one.pem", certificates / "one.key"))
    for name in ("pem", "key"):
        shutil.copy(certificates / f"one.{name}", tmp_path / f"server.{name}")
    server = make_server(
        **realtime(
            mock,
            TRUNKLINE_TLS_CA_FILE=str(certificates / "ca.pem"),
            TRUNKLINE_TLS_CERTIFICATE=str(tmp_path / "server.pem"),
            TRUNKLINE_TLS_KEY=str(tmp_path / "server.key"),
        ),
        tls=certificates / "ca.pem",
    )
    trust = ssl.create_default_context(cafile=certificates / "ca.pem")

    def name_of_the_certificate():
        with (
            socket.create_connection(("127.0.0.1", server.http_port)) as plain,
            trust.wrap_socket(plain, server_hostname="localhost") as secure,
        ):
            assert secure.version() in ("TLSv1.2", "TLSv1.3")
            return dict(item[0] for item in secure.getpeercert()["subject"])["commonName"]

    carrier = Carrier(f"wss://localhost:{server.http_port}/media/twilio", tls=trust)
    carrier.wait(lambda: carrier.played_ms() >= 200, what="the greeting")
    assert name_of_the_certificate() == "one"
    for name in ("pem", "key"):
        shutil.copy(certificates / f"two.{name}", tmp_path / f"server.{name}")
    server.process.send_signal(signal.SIGHUP)
    carrier.wait(lambda: name_of_the_certificate() == "two", what="the new certificate")
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the rest over the connection that was open")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == ["Good morning."]
    status, _ = server.request("POST", "/api/session", {"api_key": KEY}, key=None)
    assert status == 200 and "; Secure" in server.last_headers["set-cookie"]
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context(cafile=certificates / "other.pem").wrap_socket(
            socket.create_connection(("127.0.0.1", server.http_port)), server_hostname="localhost"
        )


def test_a_model_with_an_unknown_certificate_is_refused(make_server, model, certificates):
    mock = model(tls=(certificates / "one.pem", certificates / "one.key"))
    server = make_server(**realtime(mock, TRUNKLINE_TLS_CA_FILE=str(certificates / "other.pem")))
    stream(server)
    assert server.call(ended(server, seconds=20))["end_reason"] == "provider_error"
    assert mock.sessions == 0


@pytest.mark.parametrize(
    "files, words", [(("one.pem", "two.key"), "does not belong"), (("nothing.pem", "one.key"), "cannot read")]
)
def test_unusable_certificates_end_the_start(tmp_path, certificates, files, words):
    from test_operations import run

    result = run(
        "serve",
        "--http-port",
        "0",
        "--sip-port",
        str(free_port()),
        cwd=tmp_path,
        TRUNKLINE_TLS_CERTIFICATE=str(certificates / files[0]),
        TRUNKLINE_TLS_KEY=str(certificates / files[1]),
    )
    assert result.returncode == 1 and words in result.stderr, result.stderr
