#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Inserts the facts of a device and of its owners in front of the first frame, for tests/e2e/owners.sh.

    owners.py FROM TO ADDRESS QP [OTHER [OWN]]   seconds before the frames, as owners.sh says
"""
import json
import struct
import sys

data, address, at = open(sys.argv[1], "rb").read(), sys.argv[3], 0
head = {"when": "end", "time_ns": 1, "interface": 0, "device": "rxe0", "port": 1, "node_guid": "1"}
device = dict(head, kind="device", gids=[{"index": 1, "gid": "::ffff:" + address}])
owners = dict(head, kind="owners", samples=3, interval_ns=500000000, owners=[{
    "pid": 4711, "comm": "py\x1b[2Jthon", "start_ticks": 5, "start_ns": 1795234900110000000,
    "cgroup": "/x", "container": "ab" * 32, "job": {"OMPI_COMM_WORLD_RANK": "3", "LOCAL_RANK": "no"},
    "qps": [{"lqpn": int(sys.argv[4])}]}])
if len(sys.argv) > 5:
    times, block = [], 0
    while block < len(data):
        kind, total, _, high, low = struct.unpack_from("<IIIII", data, block)
        if kind == 6:
            times.append(high << 32 | low)
        block += total
    before = min(times) - int(float(sys.argv[5]) * 1e9)
    owners.update(time_ns=max(times) + 10**9, since_ns=before - 10**9, interval_ns=10**6, clock_error_ns=10**6)
    del owners["owners"][0]["start_ns"]
    shift = int(float(sys.argv[6]) * 1e9) if len(sys.argv) > 6 else 0
    first, last = (min(times) - shift - 10**8, min(times) - shift) if shift else (min(times), max(times))
    owners["owners"][0]["qps"][0].update(first_ns=first, last_ns=last)
    owners["owners"].append({"pid": 4712, "comm": "other", "start_ticks": 6, "qps": [
        {"lqpn": int(sys.argv[4]), "first_ns": before - 10**9, "last_ns": before}]})
blocks = b""
for fact in device, owners:
    text = json.dumps(fact).encode()
    n = 20 + (len(text) + 3) // 4 * 4
    blocks += struct.pack("<IIII", 0x80524446, n, 1, len(text)) + text.ljust(n - 20, b"\0") + struct.pack("<I", n)
while struct.unpack_from("<I", data, at)[0] != 6:
    at += struct.unpack_from("<I", data, at + 4)[0]
open(sys.argv[2], "wb").write(data[:at] + blocks + data[at:])
