#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counts hosts, pairs and bursts of a pcapng file of IPv4 by itself, and compares them with --json.

    verdict_hosts.py RDMADUMP FILE
"""
import collections
import json
import struct
import subprocess
import sys

from captures import packets

BURST_NS = 100_000


def address(raw):
    return ".".join(map(str, raw))


def count(path):
    pairs, hosts = collections.Counter(), {}
    start, window = None, {}
    for ns, frame in packets(path):
        if frame[12:14] != b"\x08\0" or frame[23] != 17 or struct.unpack_from(">H", frame, 36)[0] != 4791:
            continue
        source, target, size = address(frame[26:30]), address(frame[30:34]), len(frame)
        pairs[source, target, "frames"] += 1
        pairs[source, target, "bytes"] += size
        if start is None or ns - start >= BURST_NS:
            start, window = ns, {}
        sum_, senders = window.setdefault(target, [0, set()])
        window[target][0] = sum_ + size
        senders.add(source)
        best = hosts.setdefault(target, [0, 0, 0])
        best[2] = max(best[2], len(senders))
        if sum_ + size > best[0]:
            best[0], best[1] = sum_ + size, len(senders)
    return pairs, hosts


def main():
    program, path = sys.argv[1:]
    report = json.loads(subprocess.run([program, "analyze", "--json", path], stdout=subprocess.PIPE, check=True).stdout)
    pairs, hosts = count(path)
    got = collections.Counter()
    for p in report["hosts"]["pairs"]:
        got[p["from"], p["to"], "frames"], got[p["from"], p["to"], "bytes"] = p["frames"], p["bytes"]
    bad = [(k, pairs[k], got[k]) for k in pairs.keys() | got.keys() if pairs[k] != got[k]]
    for h in report["hosts"]["list"]:
        name = h["address"]
        want = {"peak": hosts[name], "received": sum(n for k, n in pairs.items() if k[1:] == (name, "bytes")),
                "sent": sum(n for k, n in pairs.items() if (k[0], k[2]) == (name, "frames")),
                "senders": len({k[0] for k in pairs if k[1] == name})}
        have = {"peak": [h["peak_bytes"], h["peak_senders"], h["most_senders"]], "received": h["received_bytes"],
                "sent": h["sent_frames"], "senders": h["senders"]}
        if want != have:
            bad.append((name, want, have))
    for row in bad:
        print(*row)
    print("hosts: %d" % len(hosts))
    sys.exit(bool(bad) or len(hosts) < 4 or {h["address"] for h in report["hosts"]["list"]} != set(hosts))


main()
