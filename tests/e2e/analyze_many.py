#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes a capture of many QP pairs, and runs a command with what its memory grew to.

analyze_many.py make PAIRS MESSAGES FILE: RC SENDs and WRITEs with their ACKs, both ways; some pairs
are in trouble.  analyze_many.py thin N FILE OUT: the same capture without every Nth frame.
analyze_many.py run OUT COMMAND...: its output in OUT; prints the peak of its resident memory in KiB.
"""
import random
import resource
import subprocess
import sys

from frames import ACK, bth, pcap, read_pcap, reth, rocev2
from frames import SEND_ONLY as SEND, WRITE_ONLY as WRITE

CLEAN, LOSS, CE, RNR = range(4)


HOSTS = [(b"\x0a\0\0\1", b"\x0a\0\0\2"), (b"\x0a\0\0\2", b"\x0a\0\0\1")]


def frame(way, opcode, dest_qp, psn, rest, ident, ce=False, ask=True):
    return rocev2(HOSTS[way], bth(opcode, dest_qp, psn, ask) + rest, ident=ident, tos=3 if ce else 2)


def talk(a, b, kind, psn, messages):
    """The frames of a pair: QP a asks, QP b answers; and in the end the other way round."""
    for qp, way in ((b, 0), (a, 1)):
        back = b if qp == a else a
        for i in range(messages):
            opcode = WRITE if i % 2 else SEND
            rest = (reth(0x1000, 7, 16) if i % 2 else b"") + b"x" * 16
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


def frames_of(pairs, messages):
    """Several pairs at a time, as on a wire, so that every pair is there for long"""
    random.seed(1)
    ns = 1700000000 * 10**9
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
                yield ns, data, len(data)


def make(pairs, messages, path):
    with open(path, "wb") as out:
        out.write(pcap(1, frames_of(pairs, messages)))


def thin(every, path, out):
    with open(path, "rb") as source, open(out, "wb") as target:
        rows = enumerate(read_pcap(source.read()), 1)
        target.write(pcap(1, (row for n, row in rows if n % every)))


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
