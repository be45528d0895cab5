#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""mads.py make OUT: every attribute and method of SMPs, SA, PMA and CM, as ERF in pcap.
mads.py compare THEIRS OURS: names that tshark's fields and rdmadump's lines do not share."""
import re
import struct
import sys

from frames import bth, deth, erf, pcap

METHODS = {1: [1, 2, 5, 7, 0x81], 0x81: [1, 2, 5, 7, 0x81], 3: [1, 2, 6, 0x12, 0x13, 0x14, 0x15, 0x81, 0x86, 0x92, 0x94, 0x95],
           4: [1], 7: [1]}


def records():
    kinds = ((c, m, a) for c in METHODS for a in [*range(1, 0x45), 0xf3, 0xff00] for m in METHODS[c])
    for n, (cls, method, attribute) in enumerate(kinds):
        qp = 0 if cls in (1, 0x81) else 1
        mad = struct.pack(">BBBBHHQHHI", 1, cls, 1, method, 0, 0, n + 1, attribute, 0, 0).ljust(256, b"\0")
        body = bth(0x64, qp, n) + deth(0x80010000, qp) + mad
        packet = struct.pack(">BBHHH", 0xf0 if not qp else 0, 2, 1, (12 + len(body)) // 4, 2) + body + bytes(6)
        record = erf((1700000000 + n) << 32, packet)
        yield (1700000000 + n) * 10**9, record, len(record)


def make(path):
    with open(path, "wb") as out:
        out.write(pcap(197, records()))


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f]


def compare(*paths):
    theirs, ours = map(lines, paths)
    known = 0
    for t, o in zip(theirs, ours):
        cls, _, info = t.split("\t")
        named = re.search(r"(?:Subn(?:Adm)?(\w+)\(|PERF \(|CM: \(?)(\w+) ?\(?(Record)?\)?[^ ]*$", info)
        words = re.search(r"qkey 0x\w+ (SMP \(directed\)|\w+) (\w+) (attribute|\w+)", o).groups()
        if re.search("nknown|Attribute!", info):
            # tshark knows few of the PMA's attributes, and not the newest of the CM's
            if int(cls, 16) != 4 and words[2] != "attribute" and not words[2].startswith("Suggest"):
                print("only ours:", t, "|", o)
            continue
        known += 1
        name = named.group(2) + (named.group(3) or "")
        if name.lower() not in (words[2].replace("_", "").lower(), words[2].lower()):
            print("attribute:", t, "|", o)
        # TrapRepress is the name of the specification.
        if named.group(1) and named.group(1).replace("TrapResp", "TrapRepress") != words[1]:
            print("method:", t, "|", o)
    if known < 400 or len(theirs) != len(ours):
        print("only", known, "names,", len(theirs), "and", len(ours), "lines")


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
