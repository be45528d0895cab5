#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads and writes capture files in the ways that no other tool has.

Of pcapng files, little-endian:
captures.py statistics FILE...       sums of isb_ifrecv, ifdrop, filteraccept, osdrop, usrdeliv
captures.py directions FILE          of each frame: 0 unknown, 1 in, 2 out, its MAC and IPv4 addresses
captures.py off FILE TRUTH MS        packets, those of them that are more than MS off their times in TRUTH, the worst in us
captures.py blocks FILE              SHB, IDB, EPB, ISB, or the JSON of facts: a line for each block
captures.py lost OUT                 30 frames, of 37 received
captures.py early OUT                two frames, 90 s before 1970 and 100 s after
captures.py offset PCAP OUT SECOND   a copy whose clock began at SECOND, by if_tsoffset
Of others:
captures.py big PCAP OUT pcap|pcapng a big-endian copy
captures.py groups OUT               to three groups from 0c:42:a1:00:00:01 and ...:09; then to :09, :01 and another
Of ERF records, in a file of their own or in pcap:
captures.py erf PCAP OUT             of Ethernet frames
captures.py unwrap ERF OUT           the frames in pcap
captures.py records PCAP OUT         without the headers of pcap
captures.py ports PCAP OUT           as of all four ports of a card, not in order
captures.py empty PCAP OUT           one packet three times, with records without data between them
captures.py mirrored PCAP OUT        each InfiniBand packet inside a mirrored one: LRH, RWH, 4 bytes; a VCRC behind
"""
import struct
import sys

NANO = 0xA1B23C4D


def pcap_head(link=1):
    return struct.pack("<IHHiIII", NANO, 2, 4, 0, 0, 262144, link)


def frames(path):
    """-> (nanoseconds, length on the wire, bytes) of a little-endian pcap"""
    with open(path, "rb") as source:
        data = source.read()
    unit, at = 1 if data[:4] == struct.pack("<I", NANO) else 1000, 24
    while at < len(data):
        seconds, rest, kept, length = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + rest * unit, length, data[at + 16:at + 16 + kept]
        at += 16 + kept


def pcap(records, link=1):
    return pcap_head(link) + b"".join(
        struct.pack("<IIII", ns // 10**9, ns % 10**9, len(data), length) + data for ns, length, data in records)


def link_of(path):
    with open(path, "rb") as source:
        return struct.unpack_from("<I", source.read(24), 20)[0]


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def packet(ticks, length, data, order="<"):
    return block(6, struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length) + data, order)


def blocks(path):
    """-> (type, body) of each"""
    with open(path, "rb") as source:
        data = source.read()
    at = 0
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        assert total % 4 == 0 and data[at + total - 4:at + total] == data[at + 4:at + 8]
        yield kind, data[at + 8:at + total - 4]
        at += total


def options(body, at):
    while at + 4 <= len(body):
        code, size = struct.unpack_from("<HH", body, at)
        yield code, body[at + 4:at + 4 + size]
        at += 4 + (size + 3 & ~3)


def statistics(*paths):
    total = dict.fromkeys((4, 5, 6, 7, 8), 0)
    for path in paths:
        for kind, body in blocks(path):
            for code, value in options(body, 12) if kind == 5 else ():
                if code in total:
                    total[code] += struct.unpack("<Q", value)[0]
    print(*total.values())


def packets(path):
    """-> (ticks, bytes) of each, of a file whose times have nine decimals: nanoseconds"""
    for kind, body in blocks(path):
        if kind == 6:
            _, high, low, kept, _ = struct.unpack_from("<IIIII", body)
            yield high << 32 | low, body[20:20 + kept]


def off(path, truth, most_ms):
    # What was delivered before the file began is not in it: the last ones of both are the same.
    with open(truth) as source:
        true = [int(line) for line in source]
    times = [ns for ns, _ in packets(path)]
    apart = [abs(a - b) for a, b in zip(reversed(times), reversed(true))]
    print(len(times), sum(ns > int(most_ms) * 10**6 for ns in apart), max(apart, default=0) // 1000)


def directions(path):
    for kind, body in blocks(path):
        if kind == 6:
            kept = struct.unpack_from("<I", body, 12)[0]
            p, flags = body[20:20 + kept], dict(options(body, 20 + (kept + 3 & ~3))).get(2, bytes(4))
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
    return (section() + block(1, struct.pack("<HHI", 1, 0, 0)) + b"".join(packet(i, 60, bytes(60)) for i in range(30)) +
            block(5, struct.pack("<IIIHHQHH", 0, 0, 30, 5, 8, 7, 0, 0)))


def early():
    interface = block(1, struct.pack("<HHIHHqHH", 1, 0, 0, 14, 8, -100, 0, 0))
    return section() + interface + b"".join(packet(second * 10**6, 60, bytes(60)) for second in (10, 200))


def offset(path, begin):
    # The clock shows 10 s at the first frame's full second.
    interface = block(1, struct.pack("<HHIHHB3xHHqHH", link_of(path), 0, 0, 9, 1, 9, 14, 8, int(begin) - 10, 0, 0))
    first = next(frames(path))[0] // 10**9 * 10**9
    return section() + interface + b"".join(packet(ns - first + 10 * 10**9, length, data) for ns, length, data in frames(path))


def big(path, kind):
    if kind == "pcap":
        return struct.pack(">IHHiIII", NANO, 2, 4, 0, 0, 262144, 1) + b"".join(
            struct.pack(">IIII", ns // 10**9, ns % 10**9, len(data), length) + data for ns, length, data in frames(path))
    interface = block(1, struct.pack(">HHIHHB3xHH", 1, 0, 262144, 9, 1, 9, 0, 0), ">")
    return section(">") + interface + b"".join(packet(*frame, ">") for frame in frames(path))


def groups():
    mine, other, third = (bytes.fromhex("0c42a10000" + n) for n in ("01", "09", "0a"))
    pairs = [(bytes.fromhex(g), s) for g in ("ff" * 6, "01005e000001", "333300000001") for s in (mine, other)]
    pairs += [(third, other), (mine, other), (other, mine)]
    return pcap((i * 10**9, 60, dst + src + b"\x88\xb5" + bytes(46)) for i, (dst, src) in enumerate(pairs))


def erf(path):
    return b"".join(struct.pack("<Q", ns // 10**9 << 32 | (ns % 10**9 << 32) // 10**9) +
                    struct.pack(">BBHHH2x", 2, 4, 22 + len(data), 0, length + 4) + data + bytes(4)
                    for ns, length, data in frames(path))


def unwrap(path):
    with open(path, "rb") as source:
        data = source.read()
    at, out = 0, []
    while at < len(data):
        kind, size = data[at + 8], struct.unpack_from(">H", data, at + 10)[0]
        frame = data[at + (18 if kind == 2 else 16):at + size]
        out.append((0, len(frame), frame))
        at += size
    return pcap(out)


def records(path):
    return b"".join(data for _, _, data in frames(path))


def ports(path):
    return pcap(((ns, length, data[:9] + bytes([data[9] & 0xFC | (n * 7 + 3) % 4]) + data[10:])
                 for n, (ns, length, data) in enumerate(frames(path))), link_of(path))


def empty(path):
    # Cards write such records, and Wireshark refuses them: one of no length, one of 300 bytes.
    data = next(frames(path))[2]
    nothing, long = (data[:10] + struct.pack(">HHH", 16, 0, length) for length in (0, 300))
    return data + nothing + data + long + data


def mirrored(path):
    # LNH is 0, in byte 1; byte 2 begins the DLID.
    def outer(data):
        inside = bytes.fromhex("00000301000000020000112300000000") + data[16:] + b"\0\0"
        return data[:10] + struct.pack(">HHH", len(inside) + 16, 0, len(inside)) + inside
    return pcap(((ns, len(outer(data)), outer(data)) for ns, _, data in frames(path)), link_of(path))


PRINT = {"statistics": statistics, "directions": directions, "off": off, "blocks": list_blocks}
MAKE = {"lost": lost, "early": early, "groups": groups}
COPY = {"offset": offset, "big": big, "erf": erf, "unwrap": unwrap, "records": records, "ports": ports, "empty": empty,
        "mirrored": mirrored}

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
