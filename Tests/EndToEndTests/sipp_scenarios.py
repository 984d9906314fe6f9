"""Scenarios of sipp as the far end of a call."""

import subprocess
import time

from ports import free_port

SDP = """\
      Content-Type: application/sdp
      Content-Length: [len]

      v=0
      o=sipp 1 1 IN IP4 127.0.0.1
      s=-
      c=IN IP4 127.0.0.1
      t=0 0
      m=audio {rtp} RTP/AVP 0 101
      a=rtpmap:0 PCMU/8000
      a=rtpmap:101 telephone-event/8000
"""

REPLY = """  <send><![CDATA[
      SIP/2.0 {status}
      [last_Via:]
      [last_From:]
      [last_To:];tag=[pid]S[call_number]
      [last_Call-ID:]
      [last_CSeq:]
      Contact: <sip:127.0.0.1:[local_port]>
{extra}{body}
  ]]></send>
"""


def reply(status, body="      Content-Length: 0\n", extra=""):
    return REPLY.format(status=status, body=body, extra="".join(f"      {line}\n" for line in extra.splitlines()))


def answer(rtp):
    return reply("180 Ringing") + reply("200 OK", SDP.format(rtp=rtp)) + '  <recv request="ACK"/>\n'


OK_TO_LAST = """  <send><![CDATA[
      SIP/2.0 200 OK
      [last_Via:]
      [last_From:]
      [last_To:]
      [last_Call-ID:]
      [last_CSeq:]
      Content-Length: 0
  ]]></send>
"""


class Sipp:
    def __init__(self, folder, steps, invite='  <recv request="INVITE"/>\n', options=()):
        self.port = free_port()
        self.scenario = folder / f"scenario-{self.port}.xml"
        self.scenario.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n<scenario name="t">\n' + invite + steps + "</scenario>\n"
        )
        self.folder = folder
        self.process = subprocess.Popen(
            [
                "sipp",
                "-sf",
                str(self.scenario),
                "-i",
                "127.0.0.1",
                "-p",
                str(self.port),
                "-m",
                "1",
                "-nostdin",
                "-timeout",
                "60",
                "-trace_msg",
                "-message_file",
                str(folder / f"messages-{self.port}.log"),
                *options,
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.4)

    @property
    def address(self):
        return f"sip:sipp@127.0.0.1:{self.port}"

    @property
    def messages(self):
        return (self.folder / f"messages-{self.port}.log").read_text(errors="replace")

    def finish(self, seconds=20):
        try:
            return self.process.wait(timeout=seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


# Keeps our From, which is To in a request of the peer's.
TAKE_FROM = (
    '  <recv request="INVITE"><action>'
    '<ereg regexp=":.*" search_in="hdr" header="From" assign_to="from"/></action></recv>\n'
)


def in_dialog(server, method, cseq, body="      Content-Length: 0\n", retransmit=True):
    """A request of the peer's within the dialog."""
    return f"""  <send{' retrans="500"' if retransmit else ''}><![CDATA[
      {method} sip:trunkline@127.0.0.1:{server.sip_port} SIP/2.0
      Via: SIP/2.0/UDP 127.0.0.1:[local_port];branch=[branch]
      From: <sip:sipp@127.0.0.1:[local_port]>;tag=[pid]S[call_number]
      To[$from]
      [last_Call-ID:]
      CSeq: {cseq} {method}
      Contact: <sip:127.0.0.1:[local_port]>
      Max-Forwards: 70
{body}
  ]]></send>
"""
