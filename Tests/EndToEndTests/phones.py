"""baresip as a telephone: registers, calls, answers, holds, transfers, and writes down what it hears."""

import json
import shutil
import socket
import subprocess
import time
import wave

import numpy
from ports import free_port
from test_baresip import CONFIG, read_wav


def silence(path, seconds=120):
    subprocess.run(["sox", "-n", "-r", "8000", "-c", "1", "-b", "16", str(path), "trim", "0", str(seconds)], check=True)
    return path


def tone(path, hertz, seconds=120, level=0.2):
    subprocess.run(
        [
            "sox",
            "-n",
            "-r",
            "8000",
            "-c",
            "1",
            "-b",
            "16",
            str(path),
            "synth",
            str(seconds),
            "sine",
            str(hertz),
            "vol",
            str(level),
        ],
        check=True,
    )
    return path


def speech(path, parts):
    """Sentences, and pauses in seconds, one after the other."""
    files = []
    for index, part in enumerate(parts):
        file = path.parent / f"{path.stem}-{index}.wav"
        if isinstance(part, str):
            subprocess.run(["flite", "-t", part, "-o", str(file) + ".16"], check=True)
            subprocess.run(
                ["sox", "-t", "wav", str(file) + ".16", "-r", "8000", "-c", "1", "-b", "16", str(file)], check=True
            )
        else:
            silence(file, part)
        files.append(str(file))
    subprocess.run(["sox", *files, str(path)], check=True)
    return path


# RTP and RTCP of the calls that a phone may hold.
RTP_PORTS = 20


class Phone:
    """`registers`: with user and password, at a registrar; else it only calls. Its account answers by itself if
    `answers`."""

    def __init__(self, folder, user, registrar, microphone, password=None, answers=True, extra=""):
        self.folder, self.user = folder, user
        folder.mkdir()
        self.port, self.control_port = free_port(), free_port()
        rtp = free_port(RTP_PORTS)
        shutil.copy(microphone, folder / "mic.wav")
        (folder / "config").write_text(
            CONFIG.format(port=self.port, folder=folder, rtp=rtp, rtp_end=rtp + RTP_PORTS)
            + f"module srtp.so\nmodule_app ctrl_tcp.so\nctrl_tcp_listen 127.0.0.1:{self.control_port}\n"
        )
        account = f"<sip:{user}@{registrar}>;audio_codecs=PCMU/8000/1"
        account += f";auth_user={user};auth_pass={password};regint=60" if password else ";regint=0"
        (folder / "accounts").write_text(account + (";answermode=auto" if answers else "") + extra + "\n")
        (folder / "contacts").write_text("")
        self.log = folder / "baresip.log"
        self.process = subprocess.Popen(
            ["baresip", "-4", "-f", str(folder), "-v", "-t", "150"],
            stdout=open(self.log, "wb"),
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        deadline = time.time() + 10
        while "ready" not in self.text():
            assert time.time() < deadline and self.process.poll() is None, self.text()
            time.sleep(0.05)
        self.control = None

    def text(self):
        return self.log.read_text(errors="replace")

    def command(self, name, parameters=""):
        if self.control is None:
            self.control = socket.create_connection(("127.0.0.1", self.control_port), timeout=5)
        message = json.dumps({"command": name, "params": parameters, "token": "t"})
        self.control.sendall(f"{len(message)}:{message},".encode())

    def dial(self, address):
        self.command("dial", address)

    def heard(self, seconds=10, index=-1):
        """Samples of its last call; baresip writes the head of the file when it closes it."""
        deadline = time.time() + seconds
        while True:
            try:
                return read_wav(sorted(self.folder.glob("dump-*-dec.wav"))[index])[0]
            except (wave.Error, EOFError, IndexError):
                assert time.time() < deadline, "baresip did not close its recording"
                time.sleep(0.1)

    def stop(self):
        if self.control:
            self.control.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                # Its registrar is gone, and it wants to say goodbye.
                self.process.kill()
                self.process.wait()


def power(samples, hertz, rate=8000):
    """Share of the samples' energy within 20 Hz of a tone."""
    if len(samples) < 400 or not numpy.any(samples):
        return 0.0
    spectrum = numpy.abs(numpy.fft.rfft(samples * numpy.hanning(len(samples)))) ** 2
    frequencies = numpy.fft.rfftfreq(len(samples), 1 / rate)
    return spectrum[numpy.abs(frequencies - hertz) < 20].sum() / max(spectrum.sum(), 1e-9)


def seconds_of(samples, hertz, rate=8000):
    """For how long a tone is what is heard, in pieces of 0.1 s. A piece with a hole does not count, and each time that
    the machine stands still leaves one in one or two pieces: tests ask for about half of what was said."""
    size = rate // 10
    pieces = [samples[start : start + size] for start in range(0, len(samples) - size, size)]
    return sum(0.1 for piece in pieces if numpy.abs(piece).max() > 300 and power(piece, hertz) > 0.8)
