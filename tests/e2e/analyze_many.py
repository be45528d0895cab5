#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes a capture of many QP pairs, and runs a command with what its memory grew to.

analyze_many.py make PAIRS MESSAGES FILE: RC SENDs and WRITEs with their ACKs, both ways; some pairs
are in trouble.  analyze_many.py thin N FILE OUT: the same capture without every Nth frame.
analyze_many.py run OUT COMMAND...: its output in OUT; prints the peak of its resident memory in KiB.
"""
import random
import resource
import struct
import subprocess
import sys
import zlib

SEND, WRITE, ACK = 4, 10, 17
SEND_FIRST, SEND_LAST = 0, 2
CLEAN, LOSS, CE, RNR = range(4)


def frame(way, opcode, dest_qp, psn, rest, ident, ce=False, ask=True):
    """RoCEv2 over IPv4, whole with its invariant CRC (IBTA volume 1, annex A17)."""
    src, dst = (b"\x0a\0\0\1", b"\x0a\0\0\2") if way == 0 else (b"\x0a\0\0\2", b"\x0a\0\0\1")
    bth = struct.pack("!BBHII", opcode, 0x40, 0xffff, dest_qp, psn | (ask << 31)) + rest
    udp = struct.pack("!HHHH", 0xc000, 4791, 8 + len(bth) + 4, 0)
    ip = struct.pack("!BBHHHBBH", 0x45, 3 if ce else 2, 20 + len(udp) + len(bth) + 4, ident, 0,
                     64, 17, 0) + src + dst
    masked = (b"\xff" * 8 + ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" +
              ip[12:] + udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:])
    icrc = struct.pack("<I", zlib.crc32(masked))
    ether = b"\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0"
    return ether + ip + udp + bth + icrc


def talk(a, b, kind, psn, messages):
    """The frames of a pair: QP a asks, QP b answers; and in the end the other way round."""
    for qp, way in ((b, 0), (a, 1)):
        back = b if qp == a else a
        for i in range(messages):
            opcode = WRITE if i % 2 else SEND
            rest = (struct.pack("!QII", 0x1000, 7, 16) if i % 2 else b"") + b"x" * 16
            ident = psn + i & 0xffff
            request = frame(way, opcode, qp, psn + i, rest, ident, kind == CE)
            again = frame(way, opcode, qp, psn + i, rest, ident + 9 & 0xffff)
            ack = b"\x1f" + (i + 1).to_bytes(3, "big")
            if i == 0 and kind in (LOSS, RNR):
                yield request
                request = again
            if kind == RNR and i == 0:
                yield frame(1 - way, ACK, back, psn, b"\x21\0\0\0", ident)
            if kind == LOSS and i == 0:
                yield frame(way, SEND, qp, psn + 1, b"y" * 16, ident + 7 & 0xffff)
                yield frame(1 - way, ACK, back, psn, b"\x60\0\0\0", ident)
            yield request
            yield frame(1 - way, ACK, back, psn + i, ack, ident, kind == CE)


def make(pairs, messages, path):
    random.seed(1)
    ns = 1700000000 * 10**9
    # Several at a time, as on a wire, so that every pair is there for long.
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for first in range(0, pairs, 64):
            talks = [talk(0x100 + 2 * i, 0x101 + 2 * i, i // 8 % 4, (i * 7919 + 13) & 0xfffff, messages)
                     for i in range(first, min(first + 64, pairs))]
            while talks:
                for t in list(talks):
                    data = next(t, None)
                    if data is None:
                        talks.remove(t)
                        continue
                    ns += random.randrange(200, 20000)
                    out.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(data), len(data)))
                    out.write(data)


def thin(every, path, out):
    with open(path, "rb") as source, open(out, "wb") as target:
        target.write(source.read(24))
        n = 0
        while head := source.read(16):
            data = source.read(struct.unpack_from("<I", head, 8)[0])
            n += 1
            if n % every:
                target.write(head + data)


def run(out, command):
    """RUSAGE_CHILDREN holds the largest of all children; this script is small beside that."""
    with open(out, "wb") as file:
        status = subprocess.call(command, stdout=file)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    return status


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1] == "thin":
        thin(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
