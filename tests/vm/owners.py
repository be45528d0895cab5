#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the owners of queue pairs in a capture with what the processes had.

    owners.py CAPTURE TRUTH ENDED ALIVE

TRUTH has lines "long|short PID RANK QPN" of owned_qps_tool, ENDED those at the end of the capture,
ALIVE the names /proc/PID of the processes that were still there after ENDED was written.
Prints: how many long and short ones are right, of how many; owners that are wrong; ranks that are
wrong, and right; short queue pairs of processes that had ended, of those that are right, and how
many of them were there for less than the 100 ms that they lived; events that were lost ("-": there
were no events).
"""
import json
import struct
import sys


def facts(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        if kind == 0x80524446:
            n = struct.unpack_from("<I", data, at + 12)[0]
            yield json.loads(data[at + 16:at + 16 + n])
        at += total


def lines(path):
    for line in open(path):
        kind, pid, rank, qp = line.split()
        yield kind, int(pid), rank, int(qp)


def main():
    had = {(pid, qp): rank for _, pid, rank, qp in lines(sys.argv[2])}
    found, lost = {}, "-"
    for fact in facts(sys.argv[1]):
        if fact["kind"] != "owners":
            continue
        lost = fact.get("events_lost", "-")
        for owner in fact["owners"]:
            for qp in owner["qps"]:
                if owner["pid"]:
                    found[owner["pid"], qp["lqpn"]] = (owner, qp["last_ns"] - qp["first_ns"])
    out = []
    for wanted in "long", "short":
        all_of = [(pid, qp) for kind, pid, _, qp in lines(sys.argv[3]) if kind == wanted]
        out.append("%s %d of %d" % (wanted, sum(key in found for key in all_of), len(all_of)))
    ranks = [(found[key][0].get("job", {}).get("RANK"), had[key]) for key in found if key in had]
    alive = set(open(sys.argv[4]).read().split())
    ended = [found[pid, qp][1] for kind, pid, _, qp in lines(sys.argv[3])
             if kind == "short" and (pid, qp) in found and "/proc/%d" % pid not in alive]
    out.append("wrong %d" % sum(key not in had for key in found))
    out.append("ranks wrong %d right %d" % (sum(a not in (None, b) for a, b in ranks), sum(a == b for a, b in ranks)))
    out.append("ended %d" % len(ended))
    out.append("brief %d" % sum(ns < 100000000 for ns in ended))
    out.append("lost %s" % lost)
    print(", ".join(out))


if __name__ == "__main__":
    main()
