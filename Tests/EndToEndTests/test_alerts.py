"""Who runs the server is woken: trunk, speech service and disk, signed as webhooks are."""

from conftest import ATTEND, mocks
from mock_speech import MockSpeech
from test_cascade import TALK
from test_webhooks import FAST, Receiver

speech = mocks(MockSpeech)
receiver = mocks(Receiver)


def alerts(hook, **settings):
    return {**FAST, "TRUNKLINE_ALERTS_URL": hook.url, "TRUNKLINE_ALERTS_CHECK_INTERVAL": "1", **settings}


def has(name, subject, state):
    return lambda events: any(
        (event["alert"], event["subject"], event["state"]) == (name, subject, state) for event in events
    )


def test_alerts_tell_when_a_trunk_fails_and_recovers(make_server, callee, receiver):
    hook = receiver(lambda event, number: 200)
    one = callee("rejects")
    gateway = one.address.split("@")[1]
    server = make_server(
        **alerts(hook, TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9", TRUNKLINE_OUTBOUND_RING_TIMEOUT="1")
    )
    for number in range(3):
        server.wait_for(server.create(f"0101234000{number}", [ATTEND]), seconds=30)
    events = hook.wait_for(has("trunk_down", "default_gateway", "firing"))
    assert "01012340" not in str(events)
    server.kill()
    server.environment["TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY"] = gateway
    server.start()
    assert server.wait_for(server.create("01012340009", [ATTEND]), seconds=30)["state"] == "rejected"
    assert not any(event["state"] == "firing" for _, event in hook.received[1:])


def test_alerts_tell_of_a_failing_speech_service_and_a_full_disk(make_server, callee, speech, receiver):
    hook = receiver(lambda event, number: 200)
    mock = speech(TALK, ["Yes, I will be there."], {"cartesia": "401"})
    server = make_server(
        **mock.settings("deepgram", "openai", "cartesia,openai"),
        **alerts(hook, TRUNKLINE_ALERTS_DISK_FREE_MB=str(1 << 30)),
    )
    hook.wait_for(has("disk_low", "data", "firing"))
    server.wait_for(server.create(callee("load").address, [ATTEND]), seconds=40)
    events = hook.wait_for(has("provider_down", "text-to-speech/cartesia", "firing"))
    assert len([event for event in events if event["alert"] == "disk_low"]) == 1
