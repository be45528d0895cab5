#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbered frames for tests/e2e/record.sh, and what the recorder wrote of them.

    record.py make FILE FRAMES TRIGGERS   a pcap; prints the numbers of the frames that are to fire
    record.py stall FILE                  a pcap: answered requests, then one without an answer
    record.py check PRE POST FILE...      prints "frames files fired": each frame once, in order, none
                                          outside of the windows of the commented ones; else a fault
    record.py comments FILE...            the comments of frames
    record.py section FILE                the comment of the file
    record.py listen SOCKET               prints what a service manager hears, up to the end
    record.py facts FILE                  "when kind" of each fact
    record.py journal SOCKET N            the fields of N messages, as systemd's journal parses them: JSON
"""
import json
import random
import socket
import struct
import sys

SLACK = 0.0015  # so much more may be written at both ends, in seconds


def frame(number, opcode, psn, rest, qp=7, hosts=(b"\x0a\0\0\2", b"\x0a\0\0\1")):
    bth = struct.pack(">BBHII", opcode, 0, 0xffff, qp, psn)
    body = bth + rest + struct.pack(">I", number) + b"ICRC"
    udp = struct.pack(">HHHH", 50000, 4791, 8 + len(body), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(body), 0, 0x4000, 64, 17, 0, *hosts)
    return b"\x52\x54\0\0\0\1\x52\x54\0\0\0\2\x08\0" + ip + udp + body


def write(name, frames):
    with open(name, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(frames):
            f.write(struct.pack("<IIII", 0, i, len(data), len(data)) + data)


def make(name, frames, triggers):
    random.seed(5)
    # Some close together, some far apart
    fire = sorted(random.sample(range(20, frames - 20), triggers))
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
    frames = []
    for psn in range(5):
        frames.append(frame(2 * psn, 0x04, 1 << 31 | psn, b""))
        frames.append(frame(2 * psn + 1, 0x11, psn, b"\x1f\0\0\1", 9, back))
    write(name, frames[:-1])


def blocks(name):
    data, at = open(name, "rb").read(), 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if at + length > len(data):
            return
        yield kind, data[at + 8:at + length - 4]
        at += length


def options(data):
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            return
        yield code, data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def frames_of(name):
    """(number, seconds, comment) of each"""
    for kind, body in blocks(name):
        if kind != 6:
            continue
        _, high, low, caplen, _ = struct.unpack_from("<IIIII", body)
        data = body[20:20 + caplen]
        comment = [v.decode() for c, v in options(body[20 + (caplen + 3) // 4 * 4:]) if c == 1]
        yield struct.unpack_from(">I", data, len(data) - 8)[0], (high << 32 | low) / 1e9, comment


def check(pre, post, names):
    seen, fired, times = set(), [], []
    everything = {name: list(frames_of(name)) for name in names}
    for frames in everything.values():
        times += [ns for _, ns, comment in frames if comment]
    for name, frames in everything.items():
        for i, (number, ns, comment) in enumerate(frames):
            if number in seen:
                return "frame %d twice" % number
            if i and number != frames[i - 1][0] + 1:
                return "%d follows %d in %s" % (number, frames[i - 1][0], name)
            if not any(t - pre - SLACK <= ns <= t + post + SLACK for t in times):
                return "frame %d of %s is not near any trigger" % (number, name)
            seen.add(number)
            if comment:
                fired.append(number)
    return "%d %d %s" % (len(seen), len(names), " ".join(map(str, sorted(fired))))


def listen(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(name)
        s.settimeout(100)
        said = ""
        while not said.startswith("STOPPING"):
            said = s.recv(1000).decode()
            print(said, flush=True)


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


def main(what, *args):
    if what == "make":
        make(args[0], int(args[1]), int(args[2]))
    elif what == "stall":
        stall(args[0])
    elif what == "check":
        print(check(float(args[0]), float(args[1]), args[2:]))
    elif what == "comments":
        for name in args:
            for number, _, comment in frames_of(name):
                for text in comment:
                    print(number, text)
    elif what == "listen":
        listen(args[0])
    elif what == "journal":
        journal(args[0], int(args[1]))
    elif what == "section":
        for kind, body in blocks(args[0]):
            if kind == 0x0a0d0d0a:
                print(*[v.decode().strip() for c, v in options(body[16:]) if c == 1])
    elif what == "facts":
        for kind, body in blocks(args[0]):
            if kind == 0x80524446:
                fact = json.loads(body[8:8 + struct.unpack_from("<I", body, 4)[0]])
                print(fact.get("when", "-"), fact["kind"], fact.get("text", ""))


main(*sys.argv[1:])
