#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ends.py count DIRECTORY: what a.pcap.zst and b.pcap.zst of it say of each direction: "from to sender sent lost
duplicated missed".  A host is at that end where its packets still have the TTL that they began with.
ends.py begins LATE WHOLE: 200 packets, 0.1 ms apart, and the first one again after 5 ms, where LATE begins."""
import collections
import struct
import subprocess
import sys

from frames import read_pcap, write_pcap


def load(path):
    data = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    packets = []
    for _, p, _ in read_pcap(data):
        if p[12:14] != b"\x08\x00" or p[23] != 17 or p[36:38] != b"\x12\xb7":
            continue
        end = 14 + struct.unpack(">H", p[16:18])[0]
        # addresses, BTH without ECN bits, ICRC
        packets.append((p[26:34], p[42:46] + p[47:54] + p[end - 4:end], p[22]))
    return packets


def count(directory):
    captures = [load(f"{directory}/{end}.pcap.zst") for end in "ab"]
    counts = [collections.Counter((way, key) for way, key, _ in c) for c in captures]
    home = [{way[:4] for way, _, ttl in c if ttl == 64} for c in captures]
    for way in sorted({way for c in counts for way, _ in c}):
        sender = 0 if way[:4] in home[0] - home[1] else 1
        sent, got = ({k: n for (w, k), n in counts[e].items() if w == way} for e in (sender, 1 - sender))
        lost = sum(max(0, n - got.get(k, 0)) for k, n in sent.items())
        doubled = sum(n - sent[k] for k, n in got.items() if n > sent.get(k, n))
        unsent = sum(n for k, n in got.items() if k not in sent)
        text = [".".join(map(str, way[:4])), ".".join(map(str, way[4:]))]
        print(*text, "ab"[sender], sum(sent.values()), lost, doubled, unsent)


def frame(psn):
    bth = struct.pack(">BBHII", 4, 0, 0xffff, 0x11, psn)
    data = bth + bytes(64) + struct.pack(">I", psn + 1)
    udp = struct.pack(">HHHH", 50000, 4791, 8 + len(data), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 2, 28 + len(data), 0, 0x4000, 64, 17, 0, b"\x0a\0\0\x01", b"\x0a\0\0\x02")
    return bytes(12) + b"\x08\0" + ip + udp + data


def begins(late, whole):
    sent = [(100 * i, i) for i in range(200)]
    sent.insert(51, (5050, 0))
    for path, begin in ((late, 5050), (whole, 0)):
        write_pcap(path, 1, 65535, [(10**9 + us * 1000, frame(psn)) for us, psn in sent if us >= begin], "us")


if __name__ == "__main__":
    {"count": count, "begins": begins}[sys.argv[1]](*sys.argv[2:])
