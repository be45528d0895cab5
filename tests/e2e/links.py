#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rewrites an Ethernet capture of IPv4 or IPv6 packets as another link type or into a tunnel.

links.py KIND FORMAT IN OUT: IN is a pcap file, other frames than IP are left out.
links.py at ADDRESS IN OUT: as by tcpdump -i any at that host, with the direction of each frame.
links.py kinds: the names of all kinds, with their link types.
links.py same A B: whether two reports of analyze (JSON) say the same of the RDMA traffic.
links.py plain-of TUNNELLED IN OUT, appended FIRST SECOND OUT: two captures in one.
links.py foreign OUT, links.py lrh OUT, links.py strange LINKTYPE ETHERTYPE CAPLEN OUT: see below.
"""
import json, random, struct, sys

import frames as wire
from frames import block, checksum, read_pcap, section

MACS = bytes.fromhex("020000000001020000000002")


def read(path):
    with open(path, "rb") as f:
        return read_pcap(f.read())


def l3(frame):
    """Offset of the IP header and its Ethertype; None: no IP."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    ethertype, = struct.unpack_from(">H", frame, at)
    return (at + 2, ethertype) if ethertype in (0x0800, 0x86dd) else None


def ipv4(proto, n):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + n, 7, 0, 64, proto, 0, b"\xac\x10\0\1", b"\xac\x10\0\2")
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:]


def ipv6(proto, n):
    return struct.pack(">IHBB", 0x60000000, n, proto, 64) + b"\xfd" + bytes(14) + b"\1\xfd" + bytes(14) + b"\2"


def udp(port, n):
    return struct.pack(">HHHH", 50000, port, 8 + n, 0)


def ether(frame, head, proto, n, ethertype=0x0800):
    outer = ipv4(proto, len(head) + n) if ethertype == 0x0800 else ipv6(proto, len(head) + n)
    return MACS + struct.pack(">H", ethertype) + outer + head


# name: (link type, function of (packet, ethertype, whole frame, length of the frame) that returns
# what comes before which part: "ip" or "frame")
def family(v4, v6, order):
    return lambda t, n: struct.pack(order + "I", v4 if t == 0x0800 else v6)


def sll(extra=b"", proto=None):
    return lambda t, n: struct.pack(">HHH8sH", 0, 1, 6, MACS[6:] + b"\0\0", proto or t) + (
        extra + struct.pack(">H", t) if extra else b"")


def sll2(t, n):
    return struct.pack(">HHIHBB8s", t, 0, 3, 1, 0, 6, MACS[6:] + b"\0\0")


def captured_at(host, path):
    """SLL2, made at the host with this IPv4 address: 0 to it, 4 by it."""
    for ns, head, length in wrap("sll2", path):
        yield ns, head[:10] + bytes([4 if head[32:36] == host else 0]) + head[11:], length


def eth(middle):
    return lambda t, n: MACS + middle(t)


def gre(flags, proto, rest=b""):
    return lambda t, n: ether(None, struct.pack(">HH", flags, proto or t) + rest, 47, n)


def over_udp(port, head, ethertype=0x0800):
    return lambda t, n: ether(None, udp(port, len(head) + n) + head, 17, n, ethertype)


KINDS = {
    "sll": (113, "ip", sll()),
    "sll-vlan": (113, "ip", sll(struct.pack(">H", 100), 0x8100)),
    "sll2": (276, "ip", sll2),
    "raw": (101, "ip", lambda t, n: b""),
    "raw12": (12, "ip", lambda t, n: b""),
    "raw14": (14, "ip", lambda t, n: b""),
    "ipv4": (228, "ip", lambda t, n: b""),
    "ipv6": (229, "ip", lambda t, n: b""),
    "null": (0, "ip", family(2, 10, "<")),
    "null-bsd": (0, "ip", family(2, 28, ">")),
    "loop": (108, "ip", family(2, 24, ">")),
    "ethernet": (1, "ip", eth(lambda t: struct.pack(">H", t))),
    "vlan": (1, "ip", eth(lambda t: struct.pack(">HHH", 0x8100, 5, t))),
    "qinq": (1, "ip", eth(lambda t: struct.pack(">HHHHH", 0x88a8, 7, 0x8100, 5, t))),
    "mpls": (1, "ip", eth(lambda t: struct.pack(">HI", 0x8847, 16 << 12 | 0x140))),
    "mpls3": (1, "ip", eth(lambda t: struct.pack(">HIII", 0x8847, 16 << 12 | 64, 17 << 12 | 64, 18 << 12 | 0x140))),
    "vlan-mpls": (1, "ip", eth(lambda t: struct.pack(">HHHI", 0x8100, 5, 0x8847, 16 << 12 | 0x140))),
    "pppoe": (1, "ip", lambda t, n: MACS + struct.pack(">HBBHHH", 0x8864, 0x11, 0, 1, n + 2, 0x21 if t == 0x0800 else 0x57)),
    "vxlan": (1, "frame", over_udp(4789, b"\x08\0\0\0\0\0\x2a\0")),
    "vxlan-linux": (1, "frame", over_udp(8472, b"\x08\0\0\0\0\0\x2a\0")),
    "vxlan-ipv6": (1, "frame", over_udp(4789, b"\x08\0\0\0\0\0\x2a\0", 0x86dd)),
    "geneve": (1, "frame", over_udp(6081, b"\0\0\x65\x58\0\0\x2a\0")),
    "geneve-options": (1, "frame", over_udp(6081, b"\x02\0\x65\x58\0\0\x2a\0\1\2\3\1\0\0\0\0")),
    "gre": (1, "frame", gre(0, 0x6558)),
    "nvgre": (1, "frame", gre(0x2000, 0x6558, b"\0\0\x2a\1")),
    "gre-ip": (1, "ip", gre(0, 0)),
    "gre-ip-key": (1, "ip", gre(0x3000, 0, bytes(8))),
    "erspan1": (1, "frame", gre(0, 0x88be)),
    "erspan2": (1, "frame", gre(0x1000, 0x88be, b"\0\0\0\7" + b"\x10\x64\0\1\0\0\0\0")),
    "erspan3": (1, "frame", gre(0x1000, 0x22eb, b"\0\0\0\7" + b"\x20\x64\0\1" + bytes(8))),
    "ipip": (1, "ip", lambda t, n: ether(None, b"", 4 if t == 0x0800 else 41, n)),
    "ip6ip": (1, "ip", lambda t, n: ether(None, b"", 4 if t == 0x0800 else 41, n, 0x86dd)),
    "pseudowire": (1, "frame", eth(lambda t: struct.pack(">HII", 0x8847, 16 << 12 | 0x140, 0))),
    "sll-vxlan": (113, "frame", lambda t, n: sll()(0x0800, n) + ipv4(17, 16 + n) + udp(4789, 8 + n) + b"\x08\0\0\0\0\0\x2a\0"),
    "raw-gre": (101, "ip", lambda t, n: ipv4(47, 4 + n) + struct.pack(">HH", 0, t)),
    "vxlan-gre": (1, "ip", lambda t, n: over_udp(4789, b"\x08\0\0\0\0\0\x2a\0")(t, n + 38) + gre(0, 0)(t, n)),
}


def wrap(kind, path):
    linktype, what, before = KINDS[kind]
    for ns, frame, length in read(path):
        place = l3(frame)
        if not place or (kind == "ipv4" and place[1] != 0x0800) or (kind == "ipv6" and place[1] != 0x86dd):
            continue
        at = place[0] if what == "ip" else 0
        # without padding: an IP packet has no bytes after it
        head = before(place[1], length - at)
        yield ns, head + frame[at:], len(head) + length - at


def pcap(out, linktype, frames, form):
    order = ">" if "swapped" in form else "<"
    scale = 1 if "ns" in form else 1000
    magic = 0xa1b2cd34 if "modified" in form else 0xa1b23c4d if scale == 1 else 0xa1b2c3d4
    out.write(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, linktype))
    for ns, data, length in frames:
        out.write(struct.pack(order + "IIII", ns // 10**9, ns % 10**9 // scale, len(data), length))
        if "modified" in form:
            out.write(struct.pack(order + "iHBB", 3, 0, 0, 0))
        out.write(data)


def mixed(out, path):
    """Frame i of the capture on interface i % n, each of another link type; described late."""
    kinds = ["ethernet", "sll", "sll2", "raw", "null-bsd", "loop", "mpls"]
    out.write(block(0x0a0d0d0a, section()))
    streams = [list(wrap(k, path)) for k in kinds]
    for i in range(len(streams[0])):
        if i < len(kinds):
            out.write(block(1, struct.pack("<HHI", KINDS[kinds[i]][0], 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)))
        k = i % len(kinds)
        ns, data, length = streams[k][i]
        out.write(block(6, struct.pack("<IIIII", k, ns >> 32, ns & 0xffffffff, len(data), length) + data))


def foreign(out):
    """DNS, QUIC, random bytes, zeros and text to UDP port 4791."""
    r = random.Random(1)
    frames = []
    for i in range(4000):
        n = r.randrange(20, 1200)
        body = [
            struct.pack(">HHHHHH", r.getrandbits(16), 0x0100, 1, 0, 0, 0) + b"\3www\7example\3com\0\0\1\0\1",
            bytes([0xc0 | r.getrandbits(6)]) + b"\0\0\0\1\x08" + r.randbytes(n),
            bytes([0x40 | r.getrandbits(6)]) + r.randbytes(n),
            r.randbytes(n), bytes(n), (b"GET / HTTP/1.1\r\n" * 80)[:n],
        ][i % 6]
        packet = ipv4(17, 8 + len(body)) + struct.pack(">HHHH", 1024 + r.randrange(60000), 4791, 8 + len(body), 0) + body
        frames.append((10**18 + i * 10**6, MACS + b"\x08\0" + packet, 14 + len(packet)))
    pcap(out, 1, frames, "ns")
    return len(frames)


def lrh(out):
    """A conversation on InfiniBand with GRH. And one without, of a QP with itself: the host of a subnet manager asks it."""
    gids, frames = [b"\xfe\x80" + bytes(13) + bytes([n]) for n in (1, 2)], []
    for i in range(200):
        ack = i % 2
        body = wire.aeth(0x1f, i // 2) if ack else random.Random(i).randbytes(64)
        head = wire.bth(wire.ACK if ack else wire.SEND_ONLY, 0x22 if ack else 0x11, 100 + i // 2, not ack)
        packet = wire.infiniband(1 + ack, 2 - ack, head + body, gids[::-1] if ack else gids, i % 4, 3)
        frames.append((10**18 + i * 10**5, packet, len(packet)))
    for i in range(10):
        body = wire.bth(wire.UD_SEND, 1, i) + wire.deth(0x80010000, 1) + bytes([1, 0x03, 2, 1]) + bytes(252)
        packet = wire.infiniband(1, 1, body, None, 0)
        frames.append((10**18 + 10**9 + i * 10**6, packet, len(packet)))
    pcap(out, 247, frames, "ns")


def strange(linktype, ethertype, caplen, out):
    """Frames of a link type or Ethertype that is not understood, or cut to caplen bytes."""
    frame = MACS + struct.pack(">H", ethertype) + ipv4(17, 100) + udp(4791, 92) + bytes(92)
    pcap(out, linktype, [(10**18 + i * 10**6, frame[:caplen], len(frame)) for i in range(12)], "ns")


# Sizes of frames differ by their headers, and tags have priorities
DROPPED = {"wire_bytes", "sent_bytes", "received_bytes", "peak_bytes", "bytes", "priority", "tunnelled", "name", "format",
           "network"}


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in DROPPED}
    if isinstance(value, list):
        return [plain(v) for v in value if not (isinstance(v, dict) and v.get("rule") == "in-tunnels")]
    return value


def same(a, b):
    a, b = (plain(json.load(open(p, encoding="utf-8"))) for p in (a, b))
    for key in a.keys() | b.keys():
        if a.get(key) != b.get(key):
            print(key, json.dumps(a.get(key))[:800], "\n", json.dumps(b.get(key))[:800])
    return a == b


def main(argv):
    if argv[0] == "kinds":
        print("\n".join("%s %d" % (k, v[0]) for k, v in KINDS.items()))
    elif argv[0] == "same":
        return 0 if same(*argv[1:]) else 1
    elif argv[0] in ("foreign", "lrh"):
        with open(argv[1], "wb") as out:
            print(globals()[argv[0]](out))
    elif argv[0] == "strange":
        with open(argv[4], "wb") as out:
            strange(*map(lambda s: int(s, 0), argv[1:4]), out)
    elif argv[0] == "plain-of":  # each frame of the second one, then its copy in a tunnel
        pairs = zip(read(argv[2]), read(argv[1]))
        with open(argv[3], "wb") as out:
            pcap(out, 1, [f for i, (a, b) in enumerate(pairs) for f in ((b, a) if i == 0 else (a, b))], "ns")
    elif argv[0] == "appended":
        with open(argv[3], "wb") as out:
            pcap(out, 1, [*read(argv[1]), *read(argv[2])], "ns")
    elif argv[0] == "at":
        with open(argv[3], "wb") as out:
            pcap(out, 276, captured_at(bytes(map(int, argv[1].split("."))), argv[2]), "ns")
    elif argv[0] == "mixed":
        with open(argv[3], "wb") as out:
            mixed(out, argv[2])
    else:  # KIND FORM IN OUT; "KIND KIND..." FORM IN OUT: each of them in OUT.KIND
        kinds = argv[0].split()
        for kind in kinds:
            with open(argv[3] + (f".{kind}" if len(kinds) > 1 else ""), "wb") as out:
                pcap(out, KINDS[kind][0], wrap(kind, argv[2]), argv[1])
    return 0


sys.exit(main(sys.argv[1:]))
