#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""firmware_layout.py LAYOUT COUNTERS: the firmware's counters are what the model's pattern has at the layout's place."""
import json, sys
layout, counters = sys.argv[1:]
counters = {c["name"]: c["value"] for p in json.load(open(counters))["ports"] for c in p["counters"]}
opcodes = {"nic_vport_context": 0x754, "hca_vport_context": 0x762, "vnic_env": 0x76F, "vport_counter": 0x770, "cong_statistics": 0x826}
def response(command, size=0x210):
    return bytes([0] * 8 + [(opcodes[command] * 7 + i * 37 + i * i * 3) & 0xFF for i in range(8, size)])
def bits(data, at, width):
    return int.from_bytes(data, "big") >> (len(data) * 8 - at - width) & (1 << width) - 1
def same(got, want):  # from 2^63 on numbers are reals of 15 digits or more
    return got is not None and (abs(got - want) <= want * 1e-14 if want >= 1 << 63 else got == want)
bad, seen = 0, set()
for line in open(layout):
    if line.startswith("#"):
        continue
    command, _, field, at, width = line.rstrip("\n").split("\t")
    if field.endswith("_high"):  # two halves that our table joins
        field, width = field[:-5], "64"
    name, want = f"device/{command}/{field}", bits(response(command), int(at, 0), int(width, 0))
    seen.add(name)
    if not same(counters.get(name), want):
        print(f"{name} is {counters.get(name)}, want {want}")
        bad += 1
for name in sorted(n for n in set(counters) - seen if n.startswith("device/") and n.split("/")[1] in opcodes):
    print(f"{name} is in no layout")
    bad += 1
print(f"{len(seen)} fields compared")
sys.exit(bad != 0 or len(seen) < 40)
