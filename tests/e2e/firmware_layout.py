#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""firmware_layout.py LAYOUT INFO COUNTERS: the fields of both documents are what the model's pattern has at the layout's place."""
import json, re, sys
layout, info, counters = sys.argv[1:]
info = json.load(open(info))["commands"]
counters = {c["name"]: c["value"] for p in json.load(open(counters))["ports"] for c in p["counters"]}
# opcode, op_mod, bytes 8 and later of the request, for each command of ours
requests = {"issi": (0x10A, 0, 0), "esw_functions": (0x740, 0, 0), "vport_state": (0x750, 0, 0), "uplink_state": (0x750, 2, 0),
            "nic_vport_context": (0x754, 0, 0), "esw_vport_context": (0x752, 0, 0), "hca_vport_context": (0x762, 0, 0),
            "vnic_env": (0x76F, 0, 0), "vport_counter": (0x770, 0, 0), "dropped_packet_log": (0x80A, 0, 0),
            "cong_params_rp": (0x824, 0, 1), "cong_params_np": (0x824, 0, 2), "cong_statistics": (0x826, 0, 0), "lag": (0x842, 0, 0)}
requests.update({f"roce_address_{i}": (0x760, 0, i) for i in range(4)})
requests.update({f"cong_status_{side}_{prio}": (0x822, 0, prio << 4 | code) for side, code in (("rp", 1), ("np", 2)) for prio in range(8)})
def response(command, size=0x210):
    opcode, op_mod, args = requests[command]
    seed = opcode * 7 + op_mod * 29 + args * 13
    return bytes([0] * 8 + [(seed + i * 37 + i * i * 3) & 0xFF for i in range(8, size)])
def bits(data, at, width):
    return int.from_bytes(data, "big") >> (len(data) * 8 - at - width) & (1 << width) - 1
def same(got, want):  # from 2^63 on numbers are reals of 15 digits or more
    return abs(got - want) <= want * 1e-14 if want >= 1 << 63 else got == want
# Halves and bytes that our table joins.
joined = {"rp_cnp_ignored_high": ("rp_cnp_ignored", 64), "rp_cnp_handled_high": ("rp_cnp_handled", 64),
          "time_stamp_high": ("time_stamp", 64), "np_cnp_sent_high": ("np_cnp_sent", 64),
          "np_ecn_marked_roce_packets_high": ("np_ecn_marked_roce_packets", 64), "source_mac_47_32": ("source_mac", 48),
          "permanent_address.mac_addr_47_32": ("permanent_address", 48), "source_l3_address[0]": ("source_l3_address", 128),
          "supported_issi_dw0": ("supported_issi", 32)}
ours = {(c, f) for c, v in info.items() for f in v["fields"]}
seen, bad, compared = set(), 0, 0
for line in open(layout):
    if line.startswith("#"):
        continue
    command, _, field, at, width = line.rstrip("\n").split("\t")
    name, width = joined.get(field, (field, int(width, 0)))
    names = [c for c in requests if re.fullmatch(command.replace("_N", r"_\w+"), c)]
    if command == "vport_state":
        names = ["vport_state", "uplink_state"]
    for c in names:
        if (c, name) not in ours:
            continue
        want = bits(response(c), int(at, 0), width)
        value = info[c]["fields"][name]
        got = value if isinstance(value, (int, float)) else int(value, 16)
        seen.add((c, name))
        compared += 1
        if not same(got, want):
            print(f"{c}.{name} is {got}, want {want}")
            bad += 1
        shown = counters.get(f"device/{c}/{name}")
        if shown is not None and not same(shown, want):
            print(f"counter device/{c}/{name} is {shown}, want {want}")
            bad += 1
for (at, width, name) in ((0x80, 1024, "packet_headers_log"), (0x480, 512, "packet_syndrome")):
    seen.add(("dropped_packet_log", name))
    if int(info["dropped_packet_log"]["fields"][name], 16) != bits(response("dropped_packet_log"), at, width):
        print("dropped_packet_log", name)
        bad += 1
for c, f in sorted(ours - seen):
    print(f"{c}.{f} is in no layout")
    bad += 1
for c in sorted(set(requests) - set(info)):
    print(f"{c} was not queried")
    bad += 1
print(f"{compared} fields compared, {sum(n.split('/')[1] in requests for n in counters if n.startswith('device/'))} counters")
sys.exit(bad != 0 or compared < 190)
