"""Speech to speech: a provider's media stream or a SIP leg on one side, a realtime model on the other."""

import io
import json
import shutil
import signal
import socket
import ssl
import time
import wave
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

import numpy
import pytest
from carrier import Carrier
from conftest import ATTEND, KEY, free_port
from mock_realtime import LINEAR
from twilio.request_validator import RequestValidator
from twilio.twiml.voice_response import Connect, Stream, VoiceResponse

TOKEN = "twilio-auth-token-of-this-test"


def realtime(model, **more):
    return {
        "TRUNKLINE_AGENT_MODE": "realtime",
        "TRUNKLINE_REALTIME_OPENAI_URL": model.url,
        "TRUNKLINE_AGENT_FALLBACK": "false",
        "TRUNKLINE_BRIDGE_OPEN_STREAMS": "true",
        "OPENAI_API_KEY": "sk-of-this-test",
        **more,
    }


def stream(server, **options):
    return Carrier(f"ws://127.0.0.1:{server.http_port}/media/twilio", **options)


def the_call(server, seconds=10, wanted=lambda call: True):
    deadline = time.time() + seconds
    while time.time() < deadline:
        items = server.request("GET", "/api/outbound/")[1]["items"]
        if items and wanted(items[0]):
            return items[0]["outbound_id"]
        time.sleep(0.05)
    raise AssertionError("there is no such call")


def ended(server, seconds=10):
    return the_call(server, seconds, lambda call: call["state"] in ("completed", "failed"))


def calls_in(server):
    return server.request("GET", "/api/inbound/")[1]["items"]


def sound_of_the_ai(server, call_id, span=None):
    """Milliseconds of the AI's sound in the recording, in a span of it (seconds)."""
    data = server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)[1]
    with wave.open(io.BytesIO(data)) as file:
        right = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").reshape(-1, 2)[:, 1]
    if span:
        right = right[int(span[0] * 8000) : int(span[1] * 8000)]
    # A tone crosses zero: gaps of up to two milliseconds are filled, and what that adds at both ends of a sound is
    # taken off.
    loud = numpy.convolve(numpy.abs(right.astype(float)) > 100, numpy.ones(17), "same") > 0
    sounds = numpy.count_nonzero(numpy.diff(loud.astype(int)) == 1) + int(loud[0])
    return (loud.sum() - 16 * sounds) / 8


def test_a_sip_call_with_a_speech_model(make_server, callee, model, allowed):
    mock = model(
        [
            {"text": "Hello, this is Riverside Restaurant. Will you attend?", "ms": 2000},
            {
                "text": "",
                "tools": [
                    (
                        "report_task_state",
                        {
                            "questions": [
                                {
                                    "id": "q1",
                                    "status": "answered",
                                    "answer": "Yes, I will be there.",
                                    "value": True,
                                    "confidence": 0.9,
                                }
                            ]
                        },
                    )
                ],
            },
            {"text": "Thank you, goodbye.", "ms": 1000, "tools": [("end_call", {"reason": "task_completed"})]},
        ],
        ["Yes, I will be there."],
    )
    server = make_server(**realtime(mock))
    call_id = server.create(callee("load").address, [ATTEND])
    call, result = server.wait_for(call_id, seconds=40), server.result(call_id)
    assert (call["state"], call["end_reason"], call["answered_by"]) == ("completed", "task_completed", "human"), call
    answer = result["answers"][0]
    assert (answer["status"], answer["value"], answer["confidence"]) == ("answered", True, 0.9)
    assert [(entry["speaker"], entry["text"]) for entry in result["transcript"]] == [
        ("ai", "Hello, this is Riverside Restaurant. Will you attend?"),
        ("customer", "Yes, I will be there."),
        ("ai", "Thank you, goodbye."),
    ]
    evidence = answer["evidence"]
    said = result["transcript"][evidence["turn"]]
    assert said["speaker"] == "customer" and abs(said["timestamp"] * 1000 - evidence["start_ms"]) < 2
    # The goodbye was drained to its last sample before the hang-up.
    assert sound_of_the_ai(server, call_id) == pytest.approx(3000, abs=1000 * allowed(0.04))
    assert result["latency"]["turns"] == 1 and 400 <= result["latency"]["voice_to_voice"]["p50_ms"] < 1000 * allowed(2)
    path, headers = mock.headers[0]
    assert (
        path.endswith("?model=gpt-realtime")
        and headers["Authorization"] == "Bearer sk-of-this-test"
        and "OpenAI-Beta" not in headers
    )
    session = mock.messages("session.update")[0]["session"]
    assert session["audio"]["input"]["format"] == session["audio"]["output"]["format"] == {"type": "audio/pcmu"}
    assert {tool["name"] for tool in session["tools"]} == {
        "report_task_state",
        "end_call",
        "send_dtmf",
    } and ATTEND in session["instructions"]
    assert mock.clashes == 0 and len(mock.messages("conversation.item.create")) == 2


def test_interruptions_and_what_was_heard_until_then(make_server, model, allowed):
    """What the carrier played, what the model is told was heard, the transcript and the recording agree: within 40 ms,
    and as long as the machine stood still, for two clocks are compared. RealtimeCallTests has ten in virtual time."""
    points = [240, 610, 1300, 2000]
    mock = model(
        [{"text": " ".join(f"word{n}" for n in range(30)), "ms": 3000} for _ in points], ["stop it"] * len(points)
    )
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_SPEAKS_FIRST="false"))
    carrier = stream(server)
    carrier.wait(lambda: mock.messages("session.update"))
    carrier.say(600)
    played = []
    for index, point in enumerate(points):
        begun = len(carrier.play_log)
        carrier.wait(lambda: len(carrier.play_log) * 20 - begun * 20 >= point, what=f"{point} ms of reply {index}")
        clears = len(carrier.clears)
        carrier.say(600)
        carrier.wait(lambda: len(carrier.clears) > clears, what="clear")
        time.sleep(0.15)
        played.append((len(carrier.play_log) - begun) * 20)
        carrier.wait(lambda: len(mock.truncated) > index, what="truncate")
        if index == len(points) - 1:
            break
        carrier.wait(lambda: mock.responses > index + 1, what="the next response")
    time.sleep(0.5)
    carrier.hang_up()
    call_id = ended(server)
    result = server.result(call_id)
    cut = [entry for entry in result["transcript"] if entry["speaker"] == "ai" and entry["interrupted"]]
    assert len(cut) == len(points) and result["interruptions"] == len(points)
    for truncated, heard, entry in zip(mock.truncated, played, cut, strict=True):
        told = (entry["end"] - entry["timestamp"]) * 1000
        recorded = sound_of_the_ai(server, call_id, (entry["timestamp"] - 0.05, entry["end"] + 0.3))
        assert max(truncated, heard, told, recorded) - min(truncated, heard, told, recorded) <= 1000 * allowed(0.04), (
            truncated,
            heard,
            told,
            recorded,
        )
        assert entry["text"].startswith(entry["heard_text"]) and entry["heard_text_source"] == "estimate"
        assert len(entry["heard_text"].split()) == pytest.approx(truncated / 100, abs=1.5)


def test_a_backchannel_does_not_cost_the_sentence(make_server, model, allowed):
    mock = model(
        [{"text": "A sentence that goes on for three whole seconds.", "ms": 3000}, {"text": "What?", "ms": 500}],
        ["hello", "mm-hm"],
    )
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_SPEAKS_FIRST="false"))
    carrier = stream(server)
    carrier.wait(lambda: mock.messages("session.update"))
    carrier.say(600)
    carrier.wait(lambda: carrier.played_ms() >= 800)
    carrier.say(160)  # over our sentence, and over at once
    carrier.wait(lambda: carrier.clears, what="the pause")
    carrier.wait(lambda: carrier.played_ms() >= 2940, what="the rest of the sentence")
    time.sleep(0.8)
    # Where it stopped over there is known to 40 ms. The model answered the sound; nobody hears that, and it is told to
    # stop.
    assert abs(carrier.played_ms() - 3000) <= 1000 * allowed(0.04) and mock.truncated == []
    carrier.hang_up()
    result = server.result(ended(server))
    ai = [entry for entry in result["transcript"] if entry["speaker"] == "ai"]
    assert [(entry["text"], entry["interrupted"]) for entry in ai] == [
        ("A sentence that goes on for three whole seconds.", False)
    ]
    assert result["interruptions"] == 0


def test_a_model_that_dies_in_mid_call_is_called_again(make_server, model):
    mock = model(
        [{"text": "Good morning.", "ms": 600}, {"text": "I am back.", "ms": 600}],
        ["hello", "hello again"],
        die_after=2.5,
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.wait(lambda: mock.sessions == 2, what="a second session")
    carrier.say(600)
    carrier.wait(lambda: carrier.played_ms() >= 1160, what="the answer")
    carrier.hang_up()
    call_id = ended(server)
    assert [entry["text"] for entry in server.result(call_id)["transcript"]] == ["Good morning.", "hello", "I am back."]
    # The second session knows what was said before.
    texts = [
        part["text"] for item in mock.messages("conversation.item.create") for part in item["item"].get("content", [])
    ]
    assert texts == ["Good morning."]


def test_a_session_is_replaced_before_its_time_without_a_gap(make_server, model, allowed):
    """In a quiet moment; what is said while the next one is opened is heard, and nothing is said twice."""
    mock = model(
        [{"text": "Good morning, this takes a little while.", "ms": 2000}, {"text": "Still the same call.", "ms": 600}],
        ["hello"],
    )
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_OPENAI_SESSION_LIMIT="1"))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 1980, what="the greeting")
    assert mock.sessions == 1, "not while we speak"
    carrier.say(600)
    carrier.wait(lambda: mock.sessions >= 2, what="the session that takes over")
    carrier.wait(lambda: carrier.played_ms() >= 2580, what="the answer")
    # The greeting came without a hole: its two seconds took two, and as long as the machine stood still.
    assert (carrier.play_ticks[99] - carrier.play_ticks[0]) * 0.02 <= 99 * 0.02 + allowed(0.1)
    carrier.wait(lambda: mock.messages("conversation.item.create"), what="the next session is told what was said")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == [
        "Good morning, this takes a little while.",
        "hello",
        "Still the same call.",
    ]
    assert mock.clashes == 0
    texts = [
        part["text"] for item in mock.messages("conversation.item.create") for part in item["item"].get("content", [])
    ]
    assert texts[0] == "Good morning, this takes a little while.", "the next session knows what was said"


@pytest.mark.parametrize("way,kind", [("semantic", "semantic_vad"), ("manual", None)])
def test_other_ways_to_find_a_turns_end(make_server, model, way, kind):
    """The model's semantic detector; or our own, which commits the turn and asks for the response."""
    mock = model([{"text": "Good morning.", "ms": 600}, {"text": "Indeed.", "ms": 600}], ["hello"])
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_OPENAI_TURN_DETECTION=way))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.say(800)
    carrier.wait(lambda: carrier.played_ms() >= 1180, what="the answer")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == [
        "Good morning.",
        "hello",
        "Indeed.",
    ]
    detection = mock.messages("session.update")[0]["session"]["audio"]["input"]["turn_detection"]
    assert (detection and detection["type"]) == kind
    assert len(mock.messages("input_audio_buffer.commit")) == (1 if way == "manual" else 0) and mock.clashes == 0


@pytest.mark.parametrize(
    "trouble", [{"reject": 401}, {"script": [{"stall": True}] * 9}, {"script": [{"fail": "server_error"}] * 9}]
)
def test_a_model_that_cannot_be_had_ends_the_call_with_a_reason(make_server, model, trouble):
    mock = model(**trouble)
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_RESPONSE_TIMEOUT_MS="1000"))
    carrier = stream(server)
    call_id = ended(server, seconds=30)
    call = server.call(call_id)
    assert (
        call["end_reason"] == "provider_error" and call["state"] == "failed" and "openai" in call["failure_reason"]
    ), call
    carrier.wait(lambda: not carrier.open, what="the end of the stream")
    assert "sk-of-this-test" not in (server.folder / "server.log").read_text()


def test_another_way_of_talking_takes_over(make_server, callee, model):
    """Without the model the embedded engines hold the conversation."""
    mock = model(reject=503)
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_FALLBACK="true"))
    call_id = server.create(callee("cooperative").address, [ATTEND])
    call = server.wait_for(call_id, seconds=60)
    assert call["end_reason"] == "task_completed" and server.result(call_id)["answers"][0]["value"] is True, call


def test_what_a_model_should_not_say_hurts_nobody(make_server, model):
    mock = model(
        [{"text": "All is well.", "ms": 600, "tools": [("no_such_tool", {}), ("report_task_state", {"questions": 7})]}],
        garbage=True,
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580, what="the greeting")
    carrier.hang_up()
    assert [entry["text"] for entry in server.result(ended(server))["transcript"]] == ["All is well."]
    outputs = [
        json.loads(item["item"]["output"])
        for item in mock.messages("conversation.item.create")
        if item["item"]["type"] == "function_call_output"
    ]
    assert outputs[0] == {"error": "there is no such tool"}


def test_keys_reach_the_model(make_server, model):
    mock = model(
        [{"text": "Press a key, please, whenever you like to.", "ms": 2500}, {"text": "Thank you.", "ms": 400}]
    )
    server = make_server(**realtime(mock))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 500)
    carrier.press("7")
    carrier.wait(lambda: carrier.clears, what="silence")
    carrier.wait(lambda: carrier.play_log and mock.responses == 2, what="the answer")
    time.sleep(0.6)
    carrier.hang_up()
    entries = [(entry["speaker"], entry["text"]) for entry in server.result(ended(server))["transcript"]]
    assert ("customer", "[7]") in entries and entries[-1] == ("ai", "Thank you.")
    assert "pressed the key 7" in json.dumps(mock.messages("conversation.item.create"))


def test_a_dead_carrier_and_a_hang_up_end_the_call(make_server, model):
    mock = model([{"text": "Good morning.", "ms": 600}] * 2)
    server = make_server(**realtime(mock, TRUNKLINE_AGENT_MEDIA_TIMEOUT_MS="1000"))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 580)
    with carrier.lock:  # it says nothing more, and does not hang up
        call = server.call(ended(server))
    assert (call["state"], call["end_reason"]) == ("failed", "media_timeout")
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 200)
    call_id = the_call(server, wanted=lambda call: call["state"] == "connected")
    assert server.request("POST", f"/api/outbound/{call_id}/hangup", "{}")[0] in (200, 202)
    carrier.wait(lambda: not carrier.open, what="the end of the stream")
    assert server.wait_for(call_id)["end_reason"] == "operator_hangup"


BAD = [
    "",
    "{",
    "[]",
    '{"event":7}',
    '{"event":"media"}',
    '{"event":"media","streamSid":"MZ1","media":{"payload":"!!!!"}}',
    '{"event":"media","streamSid":"MZ2","media":{"payload":"AAAA"}}',
    '{"event":"media","streamSid":"MZ1","media":{"payload":"' + "A" * 60_000 + '"}}',
    '{"event":"mark","mark":{}}',
    '{"event":"start","streamSid":"MZ1","start":{}}',
    '{"event":"of-a-later-version"}',
    b"\x00binary",
]


def test_bad_messages_disturb_no_other_call(make_server, model):
    mock = model([{"text": "Good morning.", "ms": 2000}] * 2)
    server = make_server(**realtime(mock))
    good, bad = stream(server, call_sid="CA1"), stream(server, call_sid="CA2")
    good.wait(lambda: good.played_ms() >= 200 and bad.played_ms() >= 200)
    for message in BAD:
        bad.socket.send(message)
    bad.wait(lambda: bad.played_ms() >= 1980, what="the rest, in spite of it all")
    # One after the other: what is sent when the server has closed already would reset the connection, and its code with
    # it.
    for message in BAD * 5:
        if not bad.open:
            break
        bad.socket.send(message)
        time.sleep(0.02)
    bad.wait(lambda: not bad.open, what="the end of a stream that talks nonsense")
    assert bad.close_code == 1003
    with pytest.raises(Exception):
        huge = stream(server, call_sid="CA3")
        huge.socket.send("x" * 1_000_000)
        huge.wait(lambda: not huge.open)
        assert huge.close_code == 1009
        raise RuntimeError("closed")
    good.wait(lambda: good.played_ms() == 2000)
    good.hang_up()


def signed(url, form=None):
    return {"X-Twilio-Signature": RequestValidator(TOKEN).compute_signature(url, form or {})}


def test_twilio_calls_in(make_server, model):
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


def test_a_model_with_a_certificate_we_do_not_know_is_not_talked_to(make_server, model, certificates):
    mock = model(tls=(certificates / "one.pem", certificates / "one.key"))
    server = make_server(**realtime(mock, TRUNKLINE_TLS_CA_FILE=str(certificates / "other.pem")))
    stream(server)
    assert server.call(ended(server, seconds=20))["end_reason"] == "provider_error"
    assert mock.sessions == 0


@pytest.mark.parametrize(
    "files, words", [(("one.pem", "two.key"), "does not belong"), (("nothing.pem", "one.key"), "cannot read")]
)
def test_certificates_that_do_not_work_end_the_start(tmp_path, certificates, files, words):
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


def test_linear_pcm_goes_both_ways(make_server, model, allowed):
    """24 kHz to and from the model: what the caller hears is as long and as clean."""
    mock = model([{"text": "Good morning.", "ms": 1000}, {"text": "Yes.", "ms": 400}], ["hello"])
    server = make_server(**realtime(mock, TRUNKLINE_REALTIME_OPENAI_FORMAT="pcm"))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 980, what="the greeting")
    sound = numpy.array([LINEAR[byte] for _, frame in carrier.play_log for byte in frame], dtype=float)
    spectrum = numpy.abs(numpy.fft.rfft(sound[800:7200] * numpy.hanning(6400)))
    assert abs(spectrum.argmax() * 8000 / 6400 - 500) < 5, "a 500 Hz tone is a 500 Hz tone"
    carrier.say(600)
    carrier.wait(lambda: mock.responses == 2, what="the model to hear the caller")
    carrier.hang_up()
    assert mock.messages("session.update")[0]["session"]["audio"]["input"]["format"] == {
        "type": "audio/pcm",
        "rate": 24000,
    }
    assert sound_of_the_ai(server, ended(server)) == pytest.approx(
        1000 + 20 * (len(carrier.play_log) - 50), abs=1000 * allowed(0.08)
    )
