"""`GET …/{id}/graph`: the stages and queues of a call, live and afterwards, in every mode."""

from conftest import call_path, mocks
from mock_speech import MockSpeech
from realtime_calls import ended, realtime, stream, the_call

speech = mocks(MockSpeech)

CALLER = ["receive", "voice-activity", "turns", "barge-in"]


def graph(server, call_id):
    return server.request("GET", f"{call_path(call_id)}/graph")


def by_name(reading):
    return {edge["name"]: edge for edge in reading["edges"]}


def joined(reading):
    """Every stage is reached from the first one, over links and edges."""
    ways = [(way["from"], way["to"]) for way in reading["links"] + reading["edges"]]
    names = {stage["name"] for stage in reading["stages"]}
    assert {name for way in ways for name in way} <= names, (ways, names)
    reached = {"receive"}
    for _ in names:
        reached |= {end for start, end in ways if start in reached}
    return names - reached


def test_the_graph_of_a_realtime_call_shows_its_stages(make_server, model):
    server = make_server(**realtime(model([{"text": "Good morning.", "ms": 1500}])))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 600, what="the greeting")
    call_id = the_call(server)
    status, live = graph(server, call_id)
    assert status == 200 and live["live"] and live["mode"] == "realtime/openai" and live["inbound_id"] == call_id
    names = [stage["name"] for stage in live["stages"]]
    assert names == [*CALLER, "speech-model", "frame", "pacer"] and not joined(live), live
    stages = {stage["name"]: stage for stage in live["stages"]}
    assert stages["receive"]["frames"] > 20 and stages["turns"]["mean_ms"] < 5
    assert by_name(live)["heard"]["limit"] == 500 and by_name(live)["heard"]["when_full"] == "drop_oldest"
    assert by_name(live)["speech"]["limit"] == 1500 and by_name(live)["speech"]["when_full"] == "pause_source"
    carrier.hang_up()
    assert ended(server) == call_id
    _, final = graph(server, call_id)
    assert not final["live"] and [stage["name"] for stage in final["stages"]] == names
    assert final["stages"][0]["frames"] >= stages["receive"]["frames"]
    assert all(edge["limit"] > 0 for edge in final["edges"])


def test_reading_pauses_while_a_speech_model_runs_ahead(make_server, model):
    """Forty-five seconds of speech at once: 30 s wait at most, and the rest stays on the model's side."""
    server = make_server(**realtime(model([{"text": "A very long answer.", "ms": 45_000}])))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 1000, what="the answer")
    call_id = the_call(server)
    carrier.wait(lambda: by_name(graph(server, call_id)[1])["speech"]["waits"] == 1, what="a source that waits")
    speech_edge = by_name(graph(server, call_id)[1])["speech"]
    assert speech_edge["waits"] == 1 and speech_edge["dropped"] == 0, speech_edge
    assert 1_300 <= speech_edge["depth"] <= 1_600, speech_edge
    carrier.say(900)
    carrier.wait(lambda: carrier.clears, what="silence")
    carrier.wait(lambda: by_name(graph(server, call_id)[1])["speech"]["depth"] == 0, what="room again")
    carrier.hang_up()
    ended(server)


def test_a_slow_recogniser_fills_its_queue(make_server, speech):
    """The recogniser does not answer: live audio is dropped, the oldest first, and the call's graph shows it."""
    mock = speech([{"text": "Good morning."}], ["hello"], faults={"transcription": "slow"})
    server = make_server(
        **mock.settings(stt="openai"),
        TRUNKLINE_BRIDGE_OPEN_STREAMS="true",
        TRUNKLINE_AGENT_FALLBACK="false",
    )
    carrier = stream(server)
    call_id = the_call(server)
    carrier.wait(lambda: carrier.chunk > 50, what="a beginning")
    carrier.say(1_000)
    carrier.wait(lambda: mock.transcriptions, what="the first turn, which takes the recogniser 15 s")
    carrier.say(11_500)
    full = []

    def is_full():
        status, reading = graph(server, call_id)
        if status == 200:
            assert "heard" in by_name(reading), (reading, server.call(call_id))
            full.append(by_name(reading)["heard"])
        return full and full[-1]["depth"] == 500 and full[-1]["dropped"] > 0

    carrier.wait(is_full, 20, what="a full queue")
    assert full[-1]["oldest_ms"] >= 9_000 and full[-1]["to"] == "speech-to-text", full[-1]
    _, reading = graph(server, call_id)
    assert reading["mode"] == "cascade" and not joined(reading), reading
    names = [stage["name"] for stage in reading["stages"]]
    assert names == [
        *CALLER,
        "speech-to-text",
        "dialogue",
        "language-model",
        "text-to-speech",
        "encode",
        "pacer",
    ]
    carrier.hang_up()
    ended(server)


def test_a_call_that_was_never_connected_has_no_graph(make_server):
    server = make_server()
    call_id = server.create("sip:nobody@127.0.0.1:9")
    server.wait_for(call_id)
    status, problem = graph(server, call_id)
    assert (status, problem["code"]) == (404, "not_found"), problem
    assert graph(server, "ob-00000000")[0] == 404 and graph(server, "in-00000000")[0] == 404
