#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""made.py ethernet|infiniband|pause|subnet FILE: a capture of packets that tests/data/roce lacks.

Every opcode in every frame there is, VLAN stacks, IPv6 extension headers, MADs of all classes, with random bytes in all
fields that may have any; InfiniBand in ERF records. `subnet`: what a port of an InfiniBand subnet sees as it comes up.

made.py ports FILE: RoCE from UDP ports of other protocols, and a CNP.
made.py talks FILE SECOND:PEER:QP:SYNDROME[:HOST]...: QP 9 of 10.0.0.2 sends for 3 s from this second after 10:00; how the
last one is answered.
"""
import random
import struct
import sys

import frames
from frames import be24, deth, ipv4, ipv6, udp

MACS = bytes.fromhex("525400000001525400000002")
ENDS4 = (b"\x0a\0\0\2", b"\x0a\0\0\1")
ENDS6 = (b"\xfd" + bytes(14) + b"\2", b"\xfd" + bytes(14) + b"\1")
# Bytes of the headers behind the BTH, on RC; the others add to them.
HEADERS = [0, 0, 0, 4, 0, 4, 16, 0, 0, 4, 16, 20, 16, 4, 0, 4, 4, 4, 12, 28, 28, 0, 4, 4, None, None, None, None, 20, 16]
RESPONSES = range(13, 19)
PAYLOAD = {*range(12), 13, 14, 15, 16, 22, 23}
any_of = random.Random(1)


def opcodes():
    """(opcode, length of its headers, whether a payload follows)"""
    for verb, length in enumerate(HEADERS):
        if length is None:
            continue
        back = verb in RESPONSES
        for transport, more, has in ((0x00, 0, verb != 21), (0x20, 0, verb < 12), (0x40, 4 if back else 12, verb not in (22, 23)),
                                     (0x60, 8, verb in (4, 5)), (0xA0, 0 if back else 4, verb != 21)):
            if has:
                yield transport | verb, length + more, verb in PAYLOAD
    yield frames.CNP, 16, False


def packet(opcode, qp, body):
    pad = -len(body) % 4
    return (bytes([opcode, any_of.randrange(4) << 6 | pad << 4]) + any_of.randbytes(2) + bytes([any_of.randrange(4) << 6]) + be24(qp)
            + bytes([any_of.randrange(2) << 7]) + any_of.randbytes(3) + body + bytes(pad))


def v1(data):
    return MACS + b"\x89\x15" + ipv6(*ENDS6, data + b"ICRC", 0, 64, 27)


def v2(ends):
    return lambda data: frames.rocev2(ends, data, 50000, macs=(MACS[6:], MACS[:6]))


def native(gids):
    return lambda data: frames.infiniband(2, 1, data, gids, 0)


def every_opcode(outer):
    for opcode, length, payload in opcodes():
        for pad in range(4):
            yield outer(packet(opcode, any_of.randrange(0x100, 1 << 24), any_of.randbytes(length + (24 + pad if payload else 0))))


def random_mad(outer, klass, method, attribute, rmpp=0):
    mad = bytearray(any_of.randbytes(256))
    mad[0:4], mad[16:18] = bytes([1, klass, 2, method]), struct.pack(">H", attribute)
    if klass == 0x81:  # a route must not be longer than there is room
        mad[6], mad[7] = mad[6] & 7, mad[7] & 7
    if klass == 3:
        mad[24:27] = bytes([1, 1, rmpp])
    return outer(packet(frames.UD_SEND, 0 if klass in (1, 0x81) else 1, any_of.randbytes(8) + mad))


def every_mad(outer):
    for attribute in (0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x19, 0x20):
        yield random_mad(outer, 1, 1, attribute)
        yield random_mad(outer, 0x81, 0x81, attribute)
    for flags in range(1, 8, 2):
        yield random_mad(outer, 3, 0x92, 0x35, flags)
    yield random_mad(outer, 4, 0x81, 0x12)
    yield random_mad(outer, 4, 0x81, 0x1D)
    for _ in range(4):
        for attribute in range(0x10, 0x1D):
            yield random_mad(outer, 7, 3, attribute)


def vlans():
    for stack in ((0x8100,), (0x88A8, 0x8100), (0x9100, 0x8100), (0x88A8, 0x88A8, 0x8100), (0x8100, 0x8100, 0x8100)):
        plain = v2(ENDS4)(packet(frames.WRITE_ONLY, 0x200, any_of.randbytes(40)))
        yield plain[:12] + b"".join(struct.pack(">HH", tag, any_of.randrange(1 << 16)) for tag in stack) + plain[12:]


def extensions():
    """Of 8 bytes (AH: 24)."""
    hop, route, fragment, auth, options = 0, 43, 44, 51, 60
    for chain in ((hop,), (options,), (fragment,), (auth,), (hop, options, fragment, auth), (hop, route, options)):
        plain = v2(ENDS6)(packet(frames.WRITE_FIRST, 0x300, any_of.randbytes(40)))
        between = b""
        for kind, follows in zip(chain, (*chain[1:], 17)):
            rest = {auth: b"\4" + bytes(22), fragment: bytes(7), route: b"\0\1\0" + bytes(4)}.get(kind, b"\0\1\4" + bytes(4))
            between += bytes([follows]) + rest
        length = struct.pack(">H", len(plain) - 54 + len(between))
        yield plain[:18] + length + bytes([chain[0]]) + plain[21:54] + between + plain[54:]


def pauses():
    """Of both sorts, tagged and not, with any priorities and times."""
    for i in range(600):
        times = [any_of.randrange(1 << 16) if i % 3 and any_of.randrange(2) else 0 for _ in range(8)]
        what = struct.pack(">HHH8H", 0x8808, 0x0101 if i % 3 else 1, i & 0xFF if i % 3 else any_of.randrange(1 << 16), *times)
        head = bytes.fromhex("0180c2000001525400000002") + (b"\x81\0\xe0\1" if i % 7 == 0 else b"")
        yield (head + what).ljust(60, b"\0")


# SLID, DLID, SL, class, method, attribute, status, transaction, RMPP: type, flags, segment
SUBNET = [
    (0xFFFF, 0xFFFF, 0, 0x81, 0x01, 0x11, 0, 1, 0, 0, 0),  # NodeInfo
    (0xFFFF, 0xFFFF, 0, 0x81, 0x81, 0x11, 0x8000, 1, 0, 0, 0),
    (1, 2, 0, 0x01, 0x02, 0x15, 0, 2, 0, 0, 0),  # PortInfo
    (2, 1, 0, 0x01, 0x81, 0x15, 0x001C, 2, 0, 0, 0),
    (2, 1, 0, 0x03, 0x02, 0x38, 0, 3, 0, 0, 0),  # MCMemberRecord
    (1, 2, 0, 0x03, 0x81, 0x38, 0, 3, 0, 0, 0),
    (2, 1, 0, 0x03, 0x01, 0x35, 0, 4, 0, 0, 0),  # PathRecord
    (1, 2, 0, 0x03, 0x81, 0x35, 0x0300, 4, 0, 0, 0),
    (2, 1, 0, 0x03, 0x01, 0x35, 0, 5, 0, 0, 0),  # no response
    (2, 1, 0, 0x03, 0x12, 0x35, 0, 6, 0, 0, 0),  # GetTable
    (1, 2, 0, 0x03, 0x92, 0x35, 0, 6, 1, 3, 1),
    (2, 1, 0, 0x03, 0x12, 0x35, 0, 6, 2, 1, 1),
    (1, 2, 0, 0x03, 0x92, 0x35, 0, 6, 1, 5, 2),
    (2, 1, 0, 0x03, 0x12, 0x35, 0, 6, 2, 1, 2),
    (1, 2, 3, 0x04, 0x01, 0x12, 0, 7, 0, 0, 0),  # PortCounters
    (2, 1, 3, 0x04, 0x81, 0x12, 0, 7, 0, 0, 0),
    (2, 1, 0, 0x03, 0x01, 0x35, 0, 5, 0, 0, 0),  # again
]


def subnet():
    def ud(source, target, level, qp, psn, key, own, body, lane=0):
        data = frames.bth(frames.UD_SEND, qp, psn, migrated=False) + deth(key, own) + body
        return frames.infiniband(source, target, data, None, lane, level)

    for slid, dlid, level, klass, method, attribute, status, tid, kind, flags, part in SUBNET:
        smp = klass in (1, 0x81)
        mad = struct.pack(">BBBBHHQHHI", 1, klass, 2 if klass == 3 else 1, method, status, 0x0101 if klass == 0x81 else 0, tid, attribute, 0, 0)
        mad += struct.pack(">BBBBI", bool(flags), kind, flags, 0, part) if klass == 3 else b""
        yield ud(slid, dlid, level, 0 if smp else 1, 0x123456, 0 if smp else 0x80010000, not smp, mad.ljust(256, b"\0"), 15 if smp else 0)
    for i in range(10):
        arp = bytes.fromhex("080600000020080014040001").ljust(60, b"\0")
        yield ud(2, 0xC000, 1, 0xFFFFFF, 2 * i, 0x0B1B, 0x49, arp)
        ip = bytes.fromhex("08000000" "4500003c0000000040110000" "0a0100010a010002" "1388138800280000").ljust(64, b"\0")
        yield ud(2, 3, 1, 0x48, 2 * i + 1, 0x0B1B, 0x49, ip)
        yield frames.infiniband(2, 3, frames.bth(frames.SEND_ONLY, 0x100, i, True) + bytes(range(1, 65)), None, 0, 2)
        yield frames.infiniband(3, 2, frames.bth(frames.ACK, 0x200, i) + frames.aeth(0x1F, i + 1), None, 0, 2)


def ethernet():
    for outer in (v1, v2(ENDS4), v2(ENDS6)):
        yield from every_opcode(outer)
    for outer in (v1, v2(ENDS6)):
        yield from every_mad(outer)
    yield from vlans()
    yield from extensions()


def infiniband():
    for make in (every_opcode, every_mad):
        for gids in (None, ENDS6):
            yield from make(native(gids))


def ports():
    packets = [frames.rocev2(ENDS4, frames.bth(4, 0x11, psn, True) + bytes(64), port, psn + 1)
               for psn, port in enumerate((69, 53, 161, 123, 5060, 50000))]
    return enumerate(packets + [frames.rocev2(ENDS4, frames.bth(frames.CNP, 0x11, 0, becn=True) + bytes(16))])


def talks(*args):
    for arg in args:
        at, peer, qp, syndrome, host = [int(n, 0) for n in (arg + ":2").split(":")[:5]]
        ends = b"\x0a\0\0" + bytes([host]), b"\x0a\0\0" + bytes([peer])
        for psn in range(4):
            ns = 1795341600 * 10**9 + (at + psn) * 10**9  # 2026-11-22T10:00:00Z
            yield ns, frames.rocev2(ends, frames.bth(0x04, qp, psn, True) + bytes(8), 50000 + qp)
            answer = frames.bth(0x11, 9, psn) + frames.aeth(0x1F if psn < 3 else syndrome, psn + 1)
            yield ns + 1000, frames.rocev2(ends[::-1], answer, 50000 + qp)


def main(kind, path, *args):
    if kind in ("ports", "talks"):
        frames.write_pcap(path, 1, 65535, list({"ports": ports, "talks": talks}[kind](*args)), "pcap ns")
        return
    rows = enumerate({"ethernet": ethernet, "infiniband": infiniband, "pause": pauses, "subnet": subnet}[kind]())
    erf = kind in ("infiniband", "subnet")
    # 1/128 s apart: exact in both nanoseconds and 2^-32 s
    rows = ((1700000000 * 10**9 + n * 7812500, frames.erf((1700000000 << 32) + (n << 25), data) if erf else data) for n, data in rows)
    with open(path, "wb") as out:
        out.write(frames.pcap(197 if erf else 1, ((ns, data, len(data)) for ns, data in rows)))


main(*sys.argv[1:])
