#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Captures that begin late, end early, lack a direction or parts of frames, and what `rdmadump
analyze` may report about them: a finding is "certain" only where nothing outside of the capture can make
it wrong.

analyze_certain.py RDMADUMP DIRECTORY: writes each scene to DIRECTORY, analyses it, speaks TAP.
"""
import json
import os
import random
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import frames  # noqa: E402

SEND, READ_FIRST, READ_MIDDLE, READ_LAST, READ, ACK, UD = 0x04, 0x0d, 0x0e, 0x0f, 0x0c, 0x11, 0x64
UC_FIRST, UC_MIDDLE, UC_LAST, ADD, ATOMIC_ACK = 0x20, 0x21, 0x22, 0x14, 0x12
WRITE_MIDDLE = 0x07
OK, NAK, RNR = 0x1f, 0x60, 0x2e
MS = 1000000
LEVELS = ("possible", "likely", "certain")


def frame(back, opcode, qp, psn, rest, ident, port):
    ends = (b"\x0a\0\0\1", b"\x0a\0\0\2")
    pad = -len(rest) % 4
    packet = frames.bth(opcode, qp, psn, opcode == SEND, pad) + rest + bytes(pad)
    return frames.rocev2(ends[::-1] if back else ends, packet, port, ident)


class Scene:
    """Requests of QP 0x200 at 10.0.0.1 to QP 0x100 at 10.0.0.2, one frame each 10 us, with the UDP
    source port that Linux computes from both numbers."""

    def __init__(self, ids=True):
        self.ns, self.frames, self.snaplen, self.ident, self.ids = 10**18, [], 65535, 0, ids

    def put(self, back, opcode, psn, rest, port=0xc008, qp=None, ident=None):
        self.ns += 10000
        self.ident += 1
        if ident is None:
            ident = self.ident if self.ids else 0
        self.frames.append((self.ns, frame(back, opcode, qp or (0x200 if back else 0x100), psn, rest,
                                           ident, port)))

    def send(self, first, last=None, **more):
        for psn in range(first, (first if last is None else last) + 1):
            self.put(False, SEND, psn, b"x" * 256, **more)

    def read(self, psn, responses):
        self.put(False, READ, psn, struct.pack("!QII", 0x1000, 7, responses * 1024))

    def responses(self, psn, n):
        for i in range(n):
            op = READ_FIRST if i == 0 else READ_LAST if i == n - 1 else READ_MIDDLE
            aeth = b"" if op == READ_MIDDLE else b"\x1f\0\0\1"
            self.put(True, op, psn + i, aeth + bytes(1024))

    def ack(self, psn, syndrome=OK):
        self.put(True, ACK, psn, struct.pack("!I", syndrome << 24 | 1))

    def talk(self, first, last):
        """Requests that are answered after 30 us."""
        for psn in range(first, last + 1):
            self.send(psn)
            self.ns += 20000
            self.ack(psn)

    def wait(self, ms):
        self.ns += int(ms * MS)

    def other(self):
        """A frame of another QP: the capture still runs."""
        self.put(False, UD, 1, struct.pack("!II", 0x1234, 0x300) + b"y" * 64, qp=0x400)

    def mad(self, back, attribute, body):
        self.put(back, UD, 0, frames.deth(0x80010000, 1) + frames.mad(attribute, 1, bytes(body)), qp=1)

    def connect(self, timeout, psn):
        """REQ and REP of the CM: local ACK timeout, first PSN of the requests."""
        req, rep = bytearray(232), bytearray(232)
        req[0:4], req[32:35], req[95] = b"\0\0\0\7", b"\0\2\0", timeout << 3
        rep[0:4], rep[4:8], rep[12:15] = b"\0\0\0\x09", b"\0\0\0\7", b"\0\1\0"
        rep[20:23] = psn.to_bytes(3, "big")
        self.mad(False, 0x10, req)
        self.mad(True, 0x13, rep)

    def write(self, path):
        frames.write_pcap(path, 1, self.snaplen, self.frames, "pcap ns")


class Report:
    def __init__(self, program, path, options):
        out = subprocess.run([program, "analyze", "--json", *options, path], capture_output=True, check=False)
        self.json = json.loads(out.stdout)

    def find(self, rule):
        return next((f for f in self.json["findings"] if f["rule"] == rule), None)

    def side(self, name="a"):
        return self.json["conversations"][0]["sides"][name]

    def count(self, event):
        return self.side()["events"].get(event, {"count": 0})["count"]


SCENES = []


def scene(what, *options):
    def add(function):
        SCENES.append((function.__name__, what, options, function))
        return function
    return add


def silent(r, *rules):
    """None of these rules has a finding."""
    return [f"{x}: {r.find(x)['title']} [{r.find(x)['certainty']}]" for x in rules if r.find(x)]


def most(r, rule, level):
    """A finding that is there, and at most this certain."""
    f = r.find(rule)
    if not f:
        return [f"no {rule}"]
    return [] if LEVELS.index(f["certainty"]) <= LEVELS.index(level) else [f"{rule} is {f['certainty']}"]


def exactly(r, rule, level, *texts):
    f = r.find(rule)
    if not f:
        return [f"no {rule}"]
    words = " ".join(str(f[k]) for k in ("title", "detail", "meaning"))
    return ([] if f["certainty"] == level else [f"{rule} is {f['certainty']}"]) + \
        [f"{rule} does not say '{t}': {words}" for t in texts if t not in words]


def same(what, value, want):
    return [] if value == want else [f"{what}: {value}, not {want}"]


# --- the capture begins in the middle ---------------------------------------------------------


@scene("packets from before the capture, requested by a NAK, are not lost in front of it")
def begins_before_nak(s):
    s.send(100, 105)
    s.ack(95, NAK)
    s.send(95, 110)
    s.ack(110)
    s.talk(111, 120)
    return lambda r: silent(r, "lost-upstream", "reordered", "unseen") + \
        same("from_before", r.count("from_before"), 5) + same("rounds", r.count("rounds_nak"), 1)


@scene("... nor when the sender's timer repeats them")
def begins_before_timeout(s):
    s.send(100, 103)
    s.wait(30)
    s.send(96, 103)
    s.ack(103)
    s.talk(104, 110)
    return lambda r: silent(r, "lost-upstream", "reordered", "unseen", "timeout") + \
        same("from_before", r.count("from_before"), 4)


@scene("one request from before, late or repeated, is neither late nor lost")
def begins_late(s):
    s.send(100, 101)
    s.send(99)
    s.send(102, 104)
    s.ack(104)
    s.talk(105, 110)
    return lambda r: silent(r, "lost-upstream", "reordered", "unseen") + \
        same("from_before", r.count("from_before"), 1)


@scene("a connection that the CM began here has no packets from before")
def begins_with_cm(s):
    s.connect(14, 100)
    s.send(101, 103)
    s.ack(100, NAK)
    s.send(100, 103)
    s.ack(103)
    s.talk(104, 110)
    return lambda r: exactly(r, "lost-upstream", "likely") + same("lost", r.count("lost_upstream"), 1)


@scene("responses to requests from before the capture are not out of place")
def begins_with_responses(s):
    s.put(True, READ_MIDDLE, 97, bytes(1024))
    s.put(True, READ_LAST, 98, b"\x1f\0\0\1" + bytes(1024))
    s.ack(99)
    s.talk(100, 130)
    return lambda r: [f"{f['rule']} [{f['certainty']}]" for f in r.json["findings"]]


# --- one direction, and frames cut off --------------------------------------------------------


@scene("one direction: a sender that goes on has responses, though none was captured")
def one_direction_goes_on(s):
    s.send(0, 9)
    for _ in range(2):
        s.wait(70)
        s.send(5, 9)
    s.send(10, 30)
    s.wait(2000)
    s.other()
    return lambda r: silent(r, "no-response", "lost-upstream", "timeout", "gave-up") + \
        exactly(r, "one-sided", "likely")


@scene("one direction: without progress a missing response is at most possible")
def one_direction_stops(s):
    s.send(0, 9)
    for _ in range(2):
        s.wait(70)
        s.send(5, 9)
    return lambda r: most(r, "no-response", "possible") + \
        (["'no response at all'"] if "at all" in r.find("no-response")["title"] else [])


@scene("READs whose lengths a snapshot length cut off show no loss")
def cut_reth(s):
    s.snaplen, psn = 64, 0
    for n in (8, 3, 5, 8, 2, 6):
        s.read(psn, n)
        s.responses(psn, n)
        psn += n
    s.read(psn, 4)
    s.read(psn + 4, 4)
    s.responses(psn, 4)
    s.responses(psn + 4, 4)
    return lambda r: silent(r, "unseen", "lost-upstream", "responses-lost-upstream", "reordered") + \
        same("gaps", r.count("gaps"), 0)


@scene("ACKs without their syndromes are responses")
def cut_aeth(s):
    s.snaplen = 56
    s.talk(0, 5)
    for _ in range(4):
        s.wait(70)
        s.send(5)
    s.wait(5000)
    s.other()
    return lambda r: silent(r, "no-response")


@scene("--time without frames says nothing of the capture", "--time", "100-200")
def no_time(s):
    s.talk(0, 9)
    return lambda r: silent(r, "no-rdma") + exactly(r, "no-frames-in-time", "certain", "20 frames")


@scene("--qp without frames says nothing of the capture", "--qp", "0x777")
def no_qp(s):
    s.talk(0, 9)
    return lambda r: silent(r, "no-rdma") + most(r, "no-such-qp", "likely")


# --- order ------------------------------------------------------------------------------------


def sprayed(s, ports, depth=24):
    """Each packet is delayed by up to `depth` packets; the receiver takes them all."""
    rng, order = random.Random(7), range(3000)
    where = {psn: psn + rng.randrange(depth) for psn in order}
    where[0] = 0
    for i, psn in enumerate(sorted(order, key=lambda p: (where[p], p))):
        s.put(False, SEND, psn, b"x" * 256, port=0xc008 + (psn % 4 if ports else 0))
        if i % 64 == 63 and i > 200:
            s.ack(i - 3 * depth)
    s.ack(2999)


@scene("spraying without a NAK or a retransmission is a note, with its depth and share")
def spray(s):
    s.ids = False
    sprayed(s, False)
    return lambda r: silent(r, "lost-upstream", "lost-downstream", "timeout", "unseen", "duplicated") + \
        exactly(r, "reordered", "possible", "up to 2", "%", "adaptive routing") + \
        same("severity", r.find("reordered")["severity"], "note") + \
        same("retransmitted", r.count("retransmitted"), 0) + same("goodput", r.side()["goodput_bytes"], 768000) + \
        ([] if 8 <= r.side()["reorder_depth"] <= 24 else [f"depth {r.side()['reorder_depth']}"])


@scene("... by the sender's UDP source ports")
def spray_ports(s):
    s.ids = False
    sprayed(s, True)
    return lambda r: exactly(r, "reordered", "possible", "several UDP source ports") + \
        same("severity", r.find("reordered")["severity"], "note")


@scene("reordering that the receiver answers with NAKs is a problem, not a loss")
def lag(s):
    s.talk(0, 4)
    for psn in range(5, 200, 6):
        ident = s.ident
        s.ident += 1  # the late packet was sent first
        s.send(psn + 1, psn + 3)
        s.ack(psn, NAK)
        s.put(False, SEND, psn, b"x" * 256, ident=ident + 1)
        s.ack(psn)
        s.send(psn, psn + 5)
        s.ack(psn + 5)
    return lambda r: silent(r, "lost-upstream", "lost-downstream") + \
        exactly(r, "reordered", "likely", "takes them for lost", "hash by flow") + \
        same("severity", r.find("reordered")["severity"], "problem")


@scene("a retransmission with a new IP identification is not late")
def selective(s):
    s.talk(0, 4)
    for psn in range(5, 100, 8):
        s.send(psn)
        s.send(psn + 2, psn + 7)  # psn + 1 is lost in front of the capture point
        s.send(psn + 1)
        s.ack(psn + 7)
    return lambda r: silent(r, "reordered") + exactly(r, "lost-upstream", "likely") + \
        same("lost", r.count("lost_upstream"), 12)


@scene("a NAK for a packet that was acknowledged before is late, no loss")
def stale_nak(s):
    s.talk(0, 4)
    for psn in range(5, 40, 5):
        s.send(psn, psn + 4)
        s.ack(psn + 4)
        s.ack(psn + 2, NAK)
    s.talk(40, 45)
    return lambda r: silent(r, "lost-downstream", "lost-upstream")


# --- time and endings -------------------------------------------------------------------------


@scene("a receiver that dies is no lost last packet")
def dies(s):
    s.talk(0, 20)
    s.send(21)
    for _ in range(5):
        s.wait(70)
        s.send(21)
    return lambda r: silent(r, "timeout", "gave-up", "no-response") + \
        exactly(r, "responses-stopped", "likely", "frame 42") + \
        same("frames", r.find("responses-stopped")["frames"], [42, 48])


@scene("giving up needs a silence that is longer than the timer")
def gives_up_unseen(s):
    s.talk(0, 20)
    s.send(21)
    for ms in (1, 500, 500, 500):
        s.wait(ms)
        s.send(21)
    s.wait(400)
    s.other()
    return lambda r: silent(r, "gave-up", "timeout") + exactly(r, "responses-stopped", "likely", "frame 42")


@scene("... and with it the sender gave up")
def gives_up(s):
    s.talk(0, 20)
    s.send(21)
    for ms in (100, 500, 500, 500):
        s.wait(ms)
        s.send(21)
    s.wait(4000)
    s.other()
    return lambda r: silent(r, "responses-stopped", "timeout") + exactly(r, "gave-up", "likely", "frame 42")


def timeouts(s, waits):
    psn = 100
    for ms in waits:
        s.talk(psn, psn + 9)
        s.send(psn + 10)
        s.wait(ms)
        s.send(psn + 10)
        s.wait(0.05)
        s.ack(psn + 10)
        psn += 11


@scene("timeouts have a median and a range, beside what the CM agreed on")
def spread(s):
    s.connect(14, 100)
    timeouts(s, (0.9, 67, 68, 68, 70, 260))
    return lambda r: exactly(r, "timeout", "likely", "median; 9", "timeout of 67.1 ms") + \
        same("ack_timeout_ns", r.side()["ack_timeout_ns"], 67108864) + \
        ([] if 56 * MS < r.side()["latency"]["timeout"]["p50_ns"] < 80 * MS else ["the median"]) + \
        ([] if r.side()["latency"]["timeout"]["min_ns"] < MS else ["the shortest"])


@scene("a retransmission whose response was on its way is no loss")
def spurious(s):
    psn = 0
    for _ in range(6):
        s.talk(psn, psn + 19)
        s.send(psn + 20)
        s.ns += 9000  # the answer takes 30 us, the timer fires before
        s.send(psn + 20)
        s.ns += 1000 - 10000
        s.ack(psn + 20)
        s.ns += 20000
        s.ack(psn + 20)
        psn += 21
    return lambda r: silent(r, "timeout", "lost-upstream", "lost-downstream", "responses-lost-downstream") + \
        most(r, "timeout-short", "likely") + same("crossed", r.count("rounds_crossed"), 6)


@scene("... also where the capture is near the responder")
def spurious_far(s):
    s.send(0, 1)
    s.ack(1, NAK)
    s.ns += 100000  # so far away is the sender
    s.send(1)
    s.ack(1)
    psn = 2
    for _ in range(6):
        s.talk(psn, psn + 19)
        s.send(psn + 20)
        s.ack(psn + 20)
        s.ns += 80000
        s.send(psn + 20)
        s.ack(psn + 20)
        psn += 21
    return lambda r: silent(r, "timeout", "responses-lost-downstream") + most(r, "timeout-short", "likely")


# --- rounds and their causes ------------------------------------------------------------------


@scene("the second NAK of two, before the round of the first, has a round of its own")
def two_naks(s):
    s.talk(0, 9)
    for psn in range(10, 40, 10):
        s.send(psn, psn + 5)
        s.ack(psn + 1, NAK)
        s.send(psn + 6)
        s.ack(psn + 2, NAK)
        s.send(psn + 1, psn + 6)
        s.send(psn + 2, psn + 9)
        s.ack(psn + 9)
    return lambda r: silent(r, "timeout") + same("NAK", r.count("rounds_nak"), 6) + \
        same("timeout", r.count("rounds_timeout"), 0)


@scene("a packet that arrives behind a NAK, before its retransmission can, was late, not lost")
def late_downstream(s):
    s.talk(0, 9)
    for psn in range(10, 40, 10):
        s.send(psn, psn + 5)
        s.ack(psn + 1, NAK)
        s.ack(psn + 2, NAK)
        s.send(psn + 1, psn + 5)
        s.send(psn + 2, psn + 9)
        s.ns += 20000
        s.ack(psn + 9)
    return lambda r: same("late", r.count("reordered_downstream"), 3) + \
        exactly(r, "reordered-downstream", "likely") + \
        (most(r, "lost-downstream", "possible") if r.find("lost-downstream") else [])


@scene("the same NAK again before its round shows no second loss")
def nak_twice(s):
    s.talk(0, 9)
    s.send(10, 15)
    s.ack(11, NAK)
    s.ack(11, NAK)
    s.ns += 20000
    s.send(11, 15)
    s.ns += 20000
    s.ack(15)
    return lambda r: same("lost", r.count("lost_downstream"), 1) + same("rounds", r.count("rounds_nak"), 1)


@scene("a mirror that copies each frame, of a sender without IP identifications, is no retransmission")
def copies(s):
    s.ids = False
    s.talk(0, 9)
    s.send(10, 19)
    s.ack(19)
    s.frames = [(ns + late, data) for ns, data in s.frames for late in (0, 300)]
    return lambda r: silent(r, "timeout", "lost-upstream", "lost-downstream", "timeout-short") + \
        same("copies", r.count("duplicated"), 20) + same("retransmitted", r.count("retransmitted"), 0)


@scene("a NAK that is the first response pairs the QPs, and is the cause of its round")
def late_pair(s):
    for psn in range(100, 110):
        if psn != 103:
            s.put(False, WRITE_MIDDLE, psn, b"x" * 256, port=0xd123)
    s.put(True, ACK, 103, struct.pack("!I", NAK << 24 | 1), port=0xd456)
    for psn in range(103, 110):
        s.put(False, WRITE_MIDDLE, psn, b"x" * 256, port=0xd123)
    for psn in range(110, 120):
        s.put(False, SEND, psn, b"x" * 256, port=0xd123)
        s.put(True, ACK, psn, struct.pack("!I", OK << 24 | 1), port=0xd456)
    return lambda r: silent(r, "timeout") + same("rounds", r.count("rounds_nak"), 1) + \
        same("lost", r.count("lost_upstream"), 1) + exactly(r, "lost-upstream", "likely", "1 of 20 different")


@scene("frames in another order than their times are not reordered packets")
def merged_queues(s):
    s.talk(0, 9)
    s.send(10, 29)
    s.ack(29)
    for i in range(21, 38, 4):
        s.frames[i], s.frames[i + 1] = s.frames[i + 1], s.frames[i]
    return lambda r: silent(r, "reordered", "lost-upstream", "timeout") + same("late", r.count("reordered"), 0)


@scene("a missing atomic response between WRITEs is the cause of the round, not a timeout")
def atomic_response_missing(s):
    s.talk(0, 9)
    for psn in range(10, 40, 10):
        s.put(False, ADD, psn, bytes(28))
        s.send(psn + 1)
        s.ns += 20000
        s.ack(psn + 1)  # without the response to the atomic
        s.ns += 5000
        s.put(False, ADD, psn, bytes(28))
        s.send(psn + 1)
        s.ns += 20000
        s.put(True, ATOMIC_ACK, psn, b"\x1f\0\0\1" + bytes(8))
        s.ack(psn + 1)
        s.talk(psn + 2, psn + 9)
    return lambda r: silent(r, "timeout") + same("rounds", r.count("rounds_read"), 3) + \
        same("timeout", r.count("rounds_timeout"), 0) + exactly(r, "responses-lost-upstream", "likely")


@scene("a response that only the capture missed is reported, and is no loss")
def response_unseen(s):
    s.talk(0, 9)
    s.put(False, ADD, 10, bytes(28))
    s.send(11)
    s.ns += 20000
    s.ack(11)
    s.talk(12, 200)
    return lambda r: silent(r, "timeout", "responses-lost-upstream", "stall") + \
        exactly(r, "responses-unseen", "likely")


@scene("a UC message without one of its packets is no goodput")
def uc_broken(s):
    for message in range(10):
        for i, op in enumerate((UC_FIRST, UC_MIDDLE, UC_LAST)):
            if (message, i) not in ((3, 1), (6, 0), (8, 2)):
                s.put(False, op, 3 * message + i, b"x" * 256)
    return lambda r: same("goodput", r.side()["goodput_bytes"], 7 * 768) + \
        same("broken", r.count("messages_broken"), 3) + \
        same("messages", r.side()["verbs"]["SEND"]["messages"], 7) + most(r, "unreliable-lost", "likely")


@scene("PSNs of a UD QP that are not in the capture are reported")
def ud_gaps(s):
    for psn in range(50):
        if psn % 10 != 5:
            s.put(False, UD, psn, struct.pack("!II", 0x1234, 0x300) + b"y" * 64, qp=0x400)
    return lambda r: exactly(r, "datagram-gaps", "possible", "5 packets in 5 gaps")


def main():
    program, directory = sys.argv[1:3]
    failed = 0
    for number, (name, what, options, function) in enumerate(SCENES, 1):
        s = Scene()
        check = function(s)
        path = f"{directory}/{name}.pcap"
        s.write(path)
        try:
            wrong = check(Report(program, path, options))
        except (KeyError, IndexError, TypeError, ValueError) as e:
            wrong = [repr(e)]
        failed += bool(wrong)
        print("not ok" if wrong else "ok", number, "-", f"{name}: {what}")
        for w in wrong:
            print("#  ", w)
    print(f"1..{len(SCENES)}")
    return 1 if failed else 0


sys.exit(main())
