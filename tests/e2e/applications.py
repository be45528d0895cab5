#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""applications.py TABLE JSON: counts, extremes, percentiles and sums of each operation, and the frames of the slowest
commands, as in TABLE, which is tshark's.  Prints how many commands there are."""
import json
import math
import sys

NEAR = 1000
theirs, rows = {}, []
with open(sys.argv[1], encoding="utf-8") as table:
    for line in table:
        name, command, reply, ns = line.rstrip("\n").split("\t")
        theirs.setdefault(name, []).append(int(ns))
        rows.append((int(ns), int(command), int(reply)))
app = json.load(open(sys.argv[2], encoding="utf-8"))["applications"][0]
# Connect of the admin queue and of an I/O queue are two rows; tshark has no I/O queue's of several packets.
connects = [o["latency_sum_ns"] for o in app["operations"] if o["name"] == "Connect"]
for time in theirs.pop("Connect"):
    assert any(abs(sum_ns - time) <= NEAR for sum_ns in connects), (connects, time)
ours = {o["name"]: o for o in app["operations"]}
for name, times in theirs.items():
    times.sort()
    value = ours[name]["latency"]
    pick = lambda part: times[math.ceil(len(times) * part / 100) - 1]
    assert ours[name]["exact"]
    assert value["n"] == len(times), (name, value["n"], len(times))
    for key, want in (("min_ns", times[0]), ("p50_ns", pick(50)), ("p90_ns", pick(90)), ("p99_ns", pick(99)), ("max_ns", times[-1])):
        assert abs(value[key] - want) <= NEAR, (name, key, value[key], want)
    # All of them together: what is wrong in one command is not hidden by the others.
    assert abs(ours[name]["latency_sum_ns"] - sum(times)) <= NEAR, name
rows.sort(reverse=True)
assert [(s["frame"], s["reply_frame"]) for s in app["slowest"][:4]] == [r[1:] for r in rows[:4]], (app["slowest"], rows[:4])
print(len(rows))
