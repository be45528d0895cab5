#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbered frames for tests/e2e/record.sh and record_wire.sh, and what the recorder wrote of them.

    record.py make FILE FRAMES TRIGGERS   a pcap; prints the numbers of the frames that are to fire
    record.py stall FILE                  a pcap: answered requests, then one without an answer
    record.py wire FILE                   a pcap with everything on the wire that fires; prints "number trigger" of each
                                          frame that is to get a comment
    record.py check PRE POST TRUTH FILE...  prints "frames files triggers fired", `fired` being the commented
                                          frames: each frame in the time around a trigger once, in order, and
                                          no other; else a fault. TRUTH: when the model sent each frame
    record.py comments FILE...            the comments of frames
    record.py section FILE                the comment of the file
    record.py listen SOCKET               prints the messages to a service manager, until one is END
    record.py notify SOCKET TEXT          sends one
    record.py facts FILE...               "when kind" of each fact
    record.py journal SOCKET N            the fields of N messages, as systemd's journal parses them: JSON
    record.py patterns TREE               of the lines of tests/data/explain/lines, how many match a pattern of the manual
                                          page, and how many of these have no completion status
"""
import fnmatch
import json
import random
import re
import socket
import struct
import sys
import time

import frames

SLACK = 1000000  # so much more may be written at both ends, in ns


def frame(number, opcode, psn, rest, qp=7, hosts=(b"\x0a\0\0\2", b"\x0a\0\0\1"), crc=b"ICRC"):
    """The number is in the four bytes before the invariant CRC, which is any; None: the right one."""
    packet = frames.bth(opcode, qp, psn, psn >> 31) + rest + struct.pack(">I", number)
    return frames.rocev2(hosts, packet, 50000, 0, 0, crc)


def write(name, some):
    frames.write_pcap(name, 1, 65535, list(enumerate(some)), "pcap ns")


def make(name, frames, triggers):
    random.seed(5)
    # Some close together, some far apart
    fire = sorted(random.sample(range(20, frames - 1), triggers - 1)) + [frames - 1]
    all_frames = []
    for i in range(frames):
        if i not in fire:
            all_frames.append(frame(i, 0x04, i, b""))
        elif fire.index(i) % 2:
            all_frames.append(frame(i, 0x04, i - 10, b""))  # retransmission
        else:
            all_frames.append(frame(i, 0x11, i, b"\x62\0\0\1"))  # NAK
    write(name, all_frames)
    print(*fire)


def stall(name):
    back = (b"\x0a\0\0\1", b"\x0a\0\0\2")
    some = []
    for psn in range(5):
        some.append(frame(2 * psn, 0x04, 1 << 31 | psn, b""))
        some.append(frame(2 * psn + 1, 0x11, psn, b"\x1f\0\0\1", 9, back))
    write(name, some[:-1])


def mad(attribute):
    """A datagram of the CM, but for its last four bytes"""
    return frames.deth(0x80010000, 1) + frames.mad(attribute, 1, b"")[:-4]


def wire(name):
    kinds = {
        "rnr": (0x11, 0, b"\x21\0\0\1"),
        "sequence": (0x11, 0, b"\x60\0\0\1"),
        "qp-error": (0x11, 0, b"\x61\0\0\1"),
        "cnp": (0x81, 0, bytes(16)),
        "request": (0x64, 0, mad(0x10), 1),
        "cm-reject": (0x64, 0, mad(0x12), 1),
        "resent": (0x04, 100, b"", 8),
        "resent less": (0x04, 100, b"", 9),
    }
    special = {200: "rnr", 320: "sequence", 500: "qp-error", 640: "request", 800: "cm-reject", 1990: "icrc-error"}
    special.update({1000 + 3 * i: "resent" for i in range(9)})
    special.update({1001 + 3 * i: "resent less" for i in range(7)})
    # The sixth within a second exceeds five
    special.update({1400 + i: "cnp" for i in range(8)})
    special.update({210: "rnr", 1985: "qp-error"})
    some, fires = [], []
    for i in range(2000):
        kind = special.get(i)
        data = frame(i, *kinds.get(kind, (0x04, i, b"")), crc=None)
        some.append(data[:-1] + bytes([data[-1] ^ (kind == "icrc-error")]))
        if kind in ("rnr", "qp-error", "cm-reject", "icrc-error", "cnp"):
            fires.append((i, "cnp>5/s" if i == 1405 else kind))
        elif kind == "resent" and i == 1000 + 3 * 7:
            fires.append((i, "gave-up"))  # the eighth time
    write(name, some)
    for i, trigger in fires:
        print(i, trigger)


def blocks(name):
    with open(name, "rb") as file:
        return frames.read_blocks(file.read())


def frames_of(name):
    """(number, time in ns, comments) of each"""
    for kind, body in blocks(name):
        if kind != 6:
            continue
        _, high, low, caplen, _ = struct.unpack_from("<IIIII", body)
        data = body[20:20 + caplen]
        comment = [v.decode() for c, v in frames.read_options(body, 20 + (caplen + 3 & ~3)) if c == 1]
        yield struct.unpack_from(">I", data, len(data) - 8)[0], high << 32 | low, comment


def facts_of(name):
    for kind, body in blocks(name):
        if kind == frames.FACT:
            yield json.loads(body[8:8 + struct.unpack_from("<I", body, 4)[0]])


def check(pre, post, truth, names):
    pre, post = int(float(pre) * 1e9), int(float(post) * 1e9)
    sent = [int(line) for line in open(truth)]
    seen, fired, times = set(), [], []
    for name in names:
        own = [fact["time_ns"] for fact in facts_of(name) if fact["kind"] == "trigger"]
        times += own
        before = None
        for number, ns, comment in frames_of(name):
            if number in seen:
                return "frame %d twice" % number
            if ns != sent[number]:
                return "frame %d of %s has another time than it was sent at" % (number, name)
            if before is not None and number != before + 1:
                return "%d follows %d in %s" % (number, before, name)
            # A line may fire before earlier frames are received: those between its time and theirs are in the file, too
            if not min(own) - pre - SLACK <= ns <= max(own) + post + SLACK:
                return "frame %d of %s is not near any trigger" % (number, name)
            before = number
            seen.add(number)
            # What other triggers fired before a frame is in its comment, too
            if any(not text.split("; ")[-1].startswith("trigger fifo") for text in comment):
                fired.append(number)
    for number, ns in enumerate(sent):
        if number not in seen and any(t - pre <= ns <= t + post for t in times):
            return "frame %d is near a trigger, and in no file" % number
    return "%d %d %d %s" % (len(seen), len(names), len(times), " ".join(map(str, sorted(fired))))


def listen(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(name)
        s.settimeout(100)
        while (text := s.recv(1000).decode()) != "END":
            print(text, flush=True)


def notify(name, text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(text.encode(), name)


def journal(name, n):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(name)
        s.settimeout(100)
        for _ in range(n):
            data, fields = s.recv(10000), {}
            while data:
                line, data = data.split(b"\n", 1)
                key, equals, value = line.partition(b"=")
                if not equals:
                    length = struct.unpack_from("<Q", data)[0]
                    value, data = data[8:8 + length], data[8 + length + 1:]
                fields[key.decode()] = value.decode()
            print(json.dumps(fields), flush=True)


def patterns(tree):
    with open(tree + "/man/rdmadump-record.1", encoding="utf-8") as f:
        those = re.search(r"one of these patterns:\n\.Bd [^\n]*\n(.*?)\.Ed", f.read(), re.S)[1].split("\n")[:-1]
    with open(tree + "/tests/data/explain/lines", encoding="utf-8") as f:
        hits = [line for line in f if line[0] != "#"
                and any(fnmatch.fnmatchcase(line.split("\t")[1], "*%s*" % pattern) for pattern in those)]
    print(len(hits), sum(not line.startswith("completion-status") for line in hits))


def main(what, *args):
    if what == "make":
        make(args[0], int(args[1]), int(args[2]))
    elif what == "stall":
        stall(args[0])
    elif what == "wire":
        wire(args[0])
    elif what == "check":
        print(check(*args[:3], args[3:]))
    elif what == "comments":
        for name in args:
            for number, _, comment in frames_of(name):
                for text in comment:
                    print(number, text)
    elif what == "listen":
        listen(args[0])
    elif what == "notify":
        notify(*args)
    elif what == "journal":
        journal(args[0], int(args[1]))
    elif what == "patterns":
        patterns(args[0])
    elif what == "section":
        for kind, body in blocks(args[0]):
            if kind == frames.SHB:
                print(*[v.decode().strip() for c, v in frames.read_options(body, 16) if c == 1])
    elif what == "facts":
        for fact in (fact for name in args for fact in facts_of(name)):
            print(fact.get("when", "-"), fact["kind"], fact.get("text", ""))


main(*sys.argv[1:])
