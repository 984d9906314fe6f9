"""baresip as the callee: a microphone file, and its own recording of what it heard."""

import shutil
import subprocess
import time
import wave

import numpy
import pytest
from conftest import ATTEND
from ports import free_port

CONFIG = """poll_method epoll
sip_listen 127.0.0.1:{port}
audio_path {folder}
audio_player aubridge,sink
audio_source aufile,{folder}/mic.wav
audio_alert aubridge,alert
ausrc_srate 8000
auplay_srate 8000
audio_buffer 20-160
rtp_ports {rtp}-{rtp_end}
jitter_buffer_type fixed
jitter_buffer_delay 1-5
call_max_calls 4
module_path /usr/lib/baresip/modules
module g711.so
module aufile.so
module aubridge.so
module sndfile.so
module_tmp account.so
module_app menu.so
snd_path {folder}
net_interface 127.0.0.1
"""


def read_wav(path):
    with wave.open(str(path)) as file:
        samples = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float)
        return samples[:: file.getnchannels()], file.getframerate()


@pytest.mark.early
def test_baresip_receives_the_whole_conversation(make_server, tmp_path, allowed):
    server = make_server(TRUNKLINE_AGENT_SILENCE_PROMPT_MS="1500")
    folder = tmp_path / "baresip"
    folder.mkdir()
    port, rtp = free_port(), free_port(22)
    # A quiet microphone: what matters here is what baresip hears.
    subprocess.run(
        ["sox", "-n", "-r", "8000", "-c", "1", "-b", "16", str(folder / "mic.wav"), "trim", "0", "60"], check=True
    )
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder, rtp=rtp, rtp_end=rtp + 20))
    (folder / "accounts").write_text("<sip:bob@127.0.0.1>;regint=0;answermode=auto;audio_codecs=PCMU/8000/1\n")
    (folder / "contacts").write_text("")
    log = open(folder / "baresip.log", "wb")
    process = subprocess.Popen(["baresip", "-4", "-f", str(folder), "-t", "120"], stdout=log, stderr=log, cwd=folder)
    try:
        deadline = time.time() + 10
        while "ready" not in (folder / "baresip.log").read_text(errors="replace"):
            assert time.time() < deadline and process.poll() is None, (folder / "baresip.log").read_text(
                errors="replace"
            )
            time.sleep(0.1)
        call_id = server.create(f"sip:bob@127.0.0.1:{port}", [ATTEND])
        call = server.wait_for(call_id, seconds=100)
        assert call["state"] == "completed" and call["end_reason"] == "silence", call
        time.sleep(1)
    finally:
        process.terminate()
        process.wait(timeout=10)
    heard_files = sorted(folder.glob("dump-*-dec.wav"))
    assert heard_files, list(folder.iterdir())
    heard, rate = read_wav(heard_files[-1])
    assert rate == 8000
    (folder / "recording.wav").write_bytes(server.request("GET", f"/api/outbound/{call_id}/recording", raw=True)[1])
    with wave.open(str(folder / "recording.wav")) as file:
        stereo = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float).reshape(-1, 2)
    said = stereo[:, 1]
    loud = lambda samples: numpy.flatnonzero(numpy.abs(samples) > 600)
    # First and last word: what the recording says was heard is what baresip heard, to 40 ms at both ends. Two processes
    # are compared: where the machine stood still between them, the sound lies so much further apart.
    spoken, received = loud(said), loud(heard)
    assert abs((spoken[-1] - spoken[0]) - (received[-1] - received[0])) < allowed(0.04) * 8000
    reach = int(allowed(0.04) * 8000)
    for name, a, b in (
        ("first", said[spoken[0] :][:4000], heard[max(0, received[0] - reach) :]),
        ("last", said[: spoken[-1]][-4000:], heard[: received[-1] + reach][-4000 - 2 * reach :]),
    ):
        # A fifth of a second of it, so that a packet lost elsewhere does not count.
        piece = a[1200:2800]
        places = range(0, min(len(b), 4000 + 2 * reach) - len(piece))
        best = max(numpy.corrcoef(piece, b[place : place + len(piece)])[0, 1] for place in places)
        assert best > 0.9, f"the {name} half second differs: {best:.2f}"
    level = 20 * numpy.log10(numpy.sqrt(numpy.mean(heard[received[0] : received[-1]] ** 2)) / 32768)
    assert -35 < level < -10, f"level {level:.1f} dB"
    transcript = server.result(call_id)["transcript"]
    assert abs(transcript[0]["timestamp"] * 8000 - spoken[0]) < allowed(0.2) * 8000, (
        "the transcript is on the recording's clock"
    )
    shutil.rmtree(folder, ignore_errors=True)
