#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads and writes capture files in the ways that no other tool has.

Of pcapng files, little-endian:
captures.py statistics FILE...       sums of isb_ifrecv, ifdrop, filteraccept, osdrop, usrdeliv
captures.py frames FILE              of each frame: interface, time in ns, captured length, length, flags, dropped before it, comments
captures.py directions FILE          of each frame: 0 unknown, 1 in, 2 out, its MAC and IPv4 addresses
captures.py times FILE TRUTH US      packets, those more than US off, of these those more than 50 minutes, the worst other one in us
                                     (0 without TRUTH), how often a time is before the one before it; the interface's description
captures.py backwards FILE...        how often a time is before the one before it
captures.py drops FILE               the sum of epb_dropcount, isb_osdrop, isb_ifdrop
captures.py blocks FILE              SHB, IDB, EPB, ISB, or the JSON of facts: a line for each block
captures.py lost OUT                 30 frames, of 37 received
captures.py most OUT                 two interfaces, and the largest numbers of lost frames
captures.py early OUT                two frames, 90 s before 1970 and 100 s after
captures.py offset PCAP OUT SECOND   a copy whose clock began at SECOND, by if_tsoffset
Of others:
captures.py big PCAP OUT pcap|pcapng a big-endian copy
captures.py groups OUT               to three groups from 0c:42:a1:00:00:01 and ...:09; then to :09, :01 and another
captures.py networks PCAP OUT        each frame in two VXLAN tunnels, of networks 10 and 20
captures.py rspan PCAP OUT           of InfiniBand, each packet inside a mirrored one: LRH, RWH, 4 bytes; a VCRC behind
Of ERF records, in a file of their own or in pcap:
captures.py erf PCAP OUT             of Ethernet frames
captures.py unwrap ERF OUT           the frames in pcap
captures.py records PCAP OUT         without the headers of pcap
captures.py ports PCAP OUT           as of all four ports of a card, not in order
captures.py empty PCAP OUT           one packet three times, with records without data between them
captures.py mirrored PCAP OUT        as rspan
"""
import os
import struct
import sys

import frames as wire
from frames import block, pcap, read_blocks, read_options, read_pcap


def content(path):
    with open(path, "rb") as source:
        return source.read()


def frames(path):
    return read_pcap(content(path))


def link_of(path):
    return struct.unpack_from("<I", content(path), 20)[0]


def section(order="<"):
    return block(wire.SHB, wire.section(order), (), order)


def packet(ticks, data, length, order="<"):
    return block(wire.EPB, struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length) + data, (), order)


def blocks(path):
    return read_blocks(content(path))


def statistics(*paths):
    total = dict.fromkeys((4, 5, 6, 7, 8), 0)
    for path in paths:
        for kind, body in blocks(path):
            for code, value in read_options(body, 12) if kind == 5 else ():
                if code in total:
                    total[code] += struct.unpack("<Q", value)[0]
    print(*total.values())


def packets(path):
    """-> (ticks, bytes) of each, of a file whose times have nine decimals: nanoseconds"""
    for kind, body in blocks(path):
        if kind == 6:
            _, high, low, kept, _ = struct.unpack_from("<IIIII", body)
            yield high << 32 | low, body[20:20 + kept]


def truths(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as source:
        return [int(line) for line in source]


def back(times):
    return sum(b < a for a, b in zip(times, times[1:]))


def times_of(path, truth, most_us):
    times = [ns for ns, _ in packets(path)]
    # What was delivered before the file began is not in it: the last ones of both are the same.
    off = [abs(t - x) for t, x in zip(reversed(times), reversed(truths(truth)))]
    right = [ns for ns in off if ns <= int(most_us) * 1000]
    print(len(times), len(off) - len(right), sum(ns > 3 * 10**12 for ns in off), max(right, default=0) // 1000, back(times))
    print(*(value.decode() for kind, body in blocks(path) if kind == wire.IDB for code, value in read_options(body, 8) if code == 3))


def backwards(*paths):
    print(sum(back([ns for ns, _ in packets(path)]) for path in paths))


def drops(path):
    number = {(wire.EPB, 4): 0, (wire.ISB, 7): 0, (wire.ISB, 5): 0}
    for kind, body in blocks(path):
        at = {wire.EPB: 20, wire.ISB: 12}.get(kind, len(body))
        if kind == wire.EPB:
            at += struct.unpack_from("<I", body, 12)[0] + 3 & ~3
        for code, value in read_options(body, at):
            if (kind, code) in number:
                number[kind, code] = struct.unpack("<Q", value)[0] + (number[kind, code] if kind == wire.EPB else 0)
    print(*number.values())


def list_frames(path):
    for kind, body in blocks(path):
        if kind == wire.EPB:
            iface, high, low, kept, length = struct.unpack_from("<IIIII", body)
            options = list(read_options(body, 20 + (kept + 3 & ~3)))
            numbers = {code: int.from_bytes(value, "little") for code, value in options if code != 1}
            print(iface, high << 32 | low, kept, length, numbers.get(2, 0), numbers.get(4, 0), *(value for code, value in options if code == 1))


def directions(path):
    for kind, body in blocks(path):
        if kind == 6:
            kept = struct.unpack_from("<I", body, 12)[0]
            p, flags = body[20:20 + kept], dict(read_options(body, 20 + (kept + 3 & ~3))).get(2, bytes(4))
            print(flags[0] & 3, p[6:12].hex(":"), p[0:6].hex(":"), *(".".join(map(str, p[i:i + 4])) for i in (26, 30)))


def list_blocks(path):
    names = {0x0A0D0D0A: "SHB", 1: "IDB", 5: "ISB", 6: "EPB"}
    for kind, body in blocks(path):
        if kind == 0x80524446:
            version, n = struct.unpack_from("<II", body)
            assert version == 1 and len(body) == 8 + (n + 3 & ~3)
            print(body[8:8 + n].decode())
        else:
            print(names[kind])


def lost():
    return (section() + block(1, struct.pack("<HHI", 1, 0, 0)) + b"".join(packet(i, bytes(60), 60) for i in range(30)) +
            block(5, struct.pack("<IIIHHQHH", 0, 0, 30, 5, 8, 7, 0, 0)))


def most():
    number = struct.pack("<Q", 2**64 - 1)
    return section() + b"".join(
        [block(wire.IDB, struct.pack("<HHI", link, 0, 0)) for link in (1, 228)] +  # Ethernet, IPv4
        [block(wire.EPB, struct.pack("<IIIII", i, 0, 10**9, 60, 60) + bytes(60), [(4, number)]) for i in (0, 1, 0, 1)] +
        [block(wire.ISB, struct.pack("<III", i, 0, 10**9), [(code, number) for code in range(4, 9)]) for i in (0, 1)])


def early():
    interface = block(1, struct.pack("<HHIHHqHH", 1, 0, 0, 14, 8, -100, 0, 0))
    return section() + interface + b"".join(packet(second * 10**6, bytes(60), 60) for second in (10, 200))


def offset(path, begin):
    # The clock shows 10 s at the first frame's full second.
    interface = block(1, struct.pack("<HHIHHB3xHHqHH", link_of(path), 0, 0, 9, 1, 9, 14, 8, int(begin) - 10, 0, 0))
    first = next(frames(path))[0] // 10**9 * 10**9
    return section() + interface + b"".join(packet(ns - first + 10 * 10**9, data, length) for ns, data, length in frames(path))


def big(path, kind):
    if kind == "pcap":
        return pcap(1, frames(path), "ns swapped")
    interface = block(1, struct.pack(">HHIHHB3xHH", 1, 0, 262144, 9, 1, 9, 0, 0), (), ">")
    return section(">") + interface + b"".join(packet(*frame, ">") for frame in frames(path))


def groups():
    mine, other, third = (bytes.fromhex("0c42a10000" + n) for n in ("01", "09", "0a"))
    pairs = [(bytes.fromhex(g), s) for g in ("ff" * 6, "01005e000001", "333300000001") for s in (mine, other)]
    pairs += [(third, other), (mine, other), (other, mine)]
    return pcap(1, ((i * 10**9, dst + src + b"\x88\xb5" + bytes(46), 60) for i, (dst, src) in enumerate(pairs)))


def networks(path):
    def outer(vni, inner):
        vxlan = struct.pack(">BBHI", 8, 0, 0, vni << 8) + inner
        ip = wire.ipv4(b"\xc0\0\2\1", b"\xc0\0\2\2", wire.udp(50000 + vni, 4789, vxlan), 0, 0, 64)
        return b"\2\0\0\0\0\x22\2\0\0\0\0\x11\x08\0" + ip
    rows = ((ns, outer(vni, data)) for ns, data, _ in frames(path) for vni in (10, 20))
    return pcap(1, ((ns, data, len(data)) for ns, data in rows))


def rspan(path):
    rows = ((ns, bytes.fromhex("00000001004000020000112300000000") + data + b"\1\2") for ns, data, _ in frames(path))
    return pcap(link_of(path), ((ns, data, len(data)) for ns, data in rows))


def erf(path):
    return b"".join(struct.pack("<Q", ns // 10**9 << 32 | (ns % 10**9 << 32) // 10**9) +
                    struct.pack(">BBHHH2x", 2, 4, 22 + len(data), 0, length + 4) + data + bytes(4)
                    for ns, data, length in frames(path))


def unwrap(path):
    data, at, out = content(path), 0, []
    while at < len(data):
        kind, size = data[at + 8], struct.unpack_from(">H", data, at + 10)[0]
        frame = data[at + (18 if kind == 2 else 16):at + size]
        out.append((0, frame, len(frame)))
        at += size
    return pcap(1, out)


def records(path):
    return b"".join(data for _, data, _ in frames(path))


def ports(path):
    return pcap(link_of(path), ((ns, data[:9] + bytes([data[9] & 0xFC | (n * 7 + 3) % 4]) + data[10:], length)
                                for n, (ns, data, length) in enumerate(frames(path))))


def empty(path):
    # Cards write such records, and Wireshark refuses them: one of no length, one of 300 bytes.
    data = next(frames(path))[1]
    nothing, long = (data[:10] + struct.pack(">HHH", 16, 0, length) for length in (0, 300))
    return data + nothing + data + long + data


def mirrored(path):
    # LNH is 0, in byte 1; byte 2 begins the DLID.
    def outer(data):
        inside = bytes.fromhex("00000301000000020000112300000000") + data[16:] + b"\0\0"
        return data[:10] + struct.pack(">HHH", len(inside) + 16, 0, len(inside)) + inside
    return pcap(link_of(path), ((ns, outer(data), len(outer(data))) for ns, data, _ in frames(path)))


PRINT = {"statistics": statistics, "frames": list_frames, "directions": directions, "times": times_of, "backwards": backwards, "drops": drops,
         "blocks": list_blocks}
MAKE = {"lost": lost, "most": most, "early": early, "groups": groups}
COPY = {"offset": offset, "big": big, "erf": erf, "unwrap": unwrap, "records": records, "ports": ports, "empty": empty,
        "mirrored": mirrored, "networks": networks, "rspan": rspan}

if __name__ == "__main__":
    name, args = sys.argv[1], sys.argv[2:]
    if name in PRINT:
        PRINT[name](*args)
    elif name in MAKE:
        with open(args[0], "wb") as target:
            target.write(MAKE[name]())
    else:
        with open(args[1], "wb") as target:
            target.write(COPY[name](args[0], *args[2:]))
