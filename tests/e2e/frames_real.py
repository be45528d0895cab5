#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""frames_real.py CAPTURE...: tests/frames.py makes the frames of real captures (pcap, Ethernet) again, byte for byte.

The headers' fields, the payload and the addresses are read from each RoCEv2 frame; lengths, checksums and the
invariant CRC are frames.py's. Prints for each capture: frames, differing ones, and whether its
pcap writer gives the same file.
"""
import os
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import frames  # noqa: E402

HEADERS = {frames.WRITE_FIRST: "reth", frames.WRITE_ONLY: "reth", frames.READ_REQUEST: "reth", frames.ACK: "aeth",
           frames.READ_FIRST: "aeth", frames.READ_LAST: "aeth", frames.READ_ONLY: "aeth"}


def again(data):
    """The BTH and what follows it, but for the invariant CRC, by the functions of frames.py"""
    opcode, flags, _, qp, psn = struct.unpack(">BBHII", data[:12])
    kind, rest = HEADERS.get(opcode), data[12:]
    if kind == "reth":
        rest = frames.reth(*struct.unpack(">QII", rest[:16])) + rest[16:]
    elif kind == "aeth":
        rest = frames.aeth(rest[0], struct.unpack(">I", rest[:4])[0] & frames.PSN_MASK) + rest[4:]
    elif opcode >> 5 == 3:
        qkey, source = struct.unpack(">II", rest[:8])
        rest = frames.deth(qkey, source) + rest[8:]
    return frames.bth(opcode, qp & frames.PSN_MASK, psn & frames.PSN_MASK, psn >> 31, flags >> 4 & 3,
                      becn=qp >> 30 & 1, solicited=flags & 0x80, migrated=flags & 0x40) + rest


def made(frame):
    """The same frame; None: no RoCEv2"""
    six = frame[12:14] == b"\x86\xdd"
    ip = frame[14:]
    head, protocol = (40, ip[6]) if six else (20, ip[9])
    if frame[12:14] not in (b"\x08\0", b"\x86\xdd") or protocol != 17 or ip[head + 2:head + 4] != struct.pack(">H", frames.PORT):
        return None
    ends = (ip[8:24], ip[24:40]) if six else (ip[12:16], ip[16:20])
    tos = (struct.unpack(">H", ip[:2])[0] >> 4 & 0xFF) if six else ip[1]
    ident, sport = 0 if six else struct.unpack(">H", ip[4:6])[0], struct.unpack(">H", ip[head:head + 2])[0]
    return frames.rocev2(ends, again(ip[head + 8:-4]), sport, ident, tos, macs=(frame[6:12], frame[:6]))


for path in sys.argv[1:]:
    capture = subprocess.run(["zstd", "-qdc", path], check=True, stdout=subprocess.PIPE).stdout
    rows, n, wrong = [(ns, frame) for ns, frame, _ in frames.read_pcap(capture)], 0, 0
    for _, frame in rows:
        copy = made(frame)
        n += copy is not None
        wrong += copy is not None and copy != frame
    frames.write_pcap("again.pcap", 1, struct.unpack_from("<I", capture, 16)[0], rows, "pcap ns")
    with open("again.pcap", "rb") as f:
        same = f.read() == capture
    print(path.split("/")[-2], n, wrong, "the same file" if same else "another file")
