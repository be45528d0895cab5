#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes small captures that want much time or memory: `burn.py SHAPE N FILE...`, shapes below."""
import json
import random
import struct
import sys

import frames
from frames import block

UNMIX = (pow(0x94d049bb133111eb, -1, 1 << 64), pow(0xbf58476d1ce4e5b9, -1, 1 << 64))
ALL = (1 << 64) - 1


def unmix(x):
    """The input of SplitMix64's finalizer that gives x."""
    x ^= x >> 31 ^ x >> 62
    x = x * UNMIX[0] & ALL
    x ^= x >> 27 ^ x >> 54
    x = x * UNMIX[1] & ALL
    return x ^ x >> 30 ^ x >> 60


def mix(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & ALL
    x = (x ^ x >> 27) * 0x94d049bb133111eb & ALL
    return x ^ x >> 31


SHB = block(frames.SHB, frames.section())


def interface(options=()):
    return block(frames.IDB, struct.pack("<HHI", 1, 0, 0), options)


def facts(kind, **more):
    text = json.dumps({"kind": kind, "when": "start", "time_ns": 1, "interface": 0, "device": "d", "port": 1, **more},
                      separators=(",", ":"))
    return block(frames.FACT, frames.fact(text))


def packet(data, ns):
    ns += 1700000000 * 10**9
    us = ns // 1000
    return block(frames.EPB, struct.pack("<IIIII", 0, us >> 32, us & 0xFFFFFFFF, len(data), len(data)) + data)


def frame(addresses, qp, psn=1, opcode=4, payload=b"x" * 16, icrc=0):
    """RoCEv2 over IPv4 between two addresses (8 bytes); the invariant CRC is any number."""
    packed = frames.bth(opcode, qp, psn, True) + payload
    return frames.rocev2((addresses[:4], addresses[4:]), packed, 0xC000, psn & 0xFFFF, 2, struct.pack("<I", icrc))


def peers(n):
    """One local QP with n remote ones, and n flows to it."""
    yield SHB + interface()
    for first in range(0, n, 1000):
        yield facts("qps", qps=[{"lqpn": 5, "rqpn": 16 + i} for i in range(first, min(first + 1000, n))])
    for i in range(n):
        yield packet(frame(struct.pack(">II", 0x0A000001, 0x0B000000 + i), 5), i * 10)


def flows(n):
    """Flows whose keys have one place in a table that is hashed by SplitMix64's finalizer."""
    yield SHB + interface()
    k2 = 1 << 48 | 0xFFFFFF << 24 | 17  # IPv4, no source QP, QP 17
    for i in range(n):
        k1 = unmix(i << 40 | 0x12345) ^ mix(k2)
        yield packet(frame(struct.pack("<Q", k1), 17), i * 10)


def same(n):
    """One packet again and again."""
    yield SHB + interface()
    for i in range(n):
        yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17), i * 10)


def order(n):
    """One packet, n different ones, and again; so in both captures."""
    yield SHB + interface()
    for i in range(n):
        yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17, icrc=i % 7 and i), i * 10)


def checksums(n):
    """Packets that differ in the ICRC alone."""
    yield SHB + interface()
    for i in range(n):
        yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17, icrc=i << 16), i * 10)


def paths(n):
    """Each packet between other addresses."""
    yield SHB + interface()
    for i in range(n):
        yield packet(frame(struct.pack(">II", i, 0x0B000000), 17), i * 10)


def texts(n):
    """Interfaces with long names."""
    yield SHB
    for _ in range(n):
        yield interface([(code, b"x" * 65535) for code in (2, 3, 12, 15)])
    yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17), 0)


def comments(n):
    """Interfaces with long comments in their statistics, each in a section of its own."""
    for i in range(n):
        yield SHB + interface()
        yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17), i)
        yield block(frames.ISB, struct.pack("<III", 0, 0, 0), [(1, b"x" * 65535)])


def sections(n):
    """Sections with an interface each, of equal long names but for their ends."""
    for i in range(n):
        yield SHB + interface([(2, b"x" * 2000 + str(i).encode())])
        yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17, psn=i), i * 10)


def counters(n):
    """Devices with large objects in place of counters."""
    yield SHB + interface()
    for i in range(n):
        for when in ("start", "end"):
            yield facts("counters", device=f"d{i}", when=when, counters={"a": [[]] * 340000})
    yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17), 0)


def names(n):
    """A device with many counters."""
    yield SHB + interface()
    yield facts("counters", counters={f"c{i}": i for i in range(n)})
    yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17), 0)


def findings(n):
    """Flows that are in trouble each: a request again, and a NAK of some kind."""
    yield SHB + interface()
    for i in range(n):
        qp = 16 + i
        there, back = b"\x0a\0\0\1\x0a\0\0\2", b"\x0a\0\0\2\x0a\0\0\1"
        for psn in (1, 2, 5, 2, 6):
            yield packet(frame(there, qp, psn), i * 1000 + psn)
        nak = bytes([0x60 + i % 4]) + b"\0\0\1"
        yield packet(frame(back, qp, 3, 17, nak), i * 1000 + 9)


def gaps(n):
    """PSNs that jump to and fro, READs that nobody answers."""
    yield SHB + interface()
    random.seed(1)
    for i in range(n):
        psn = random.randrange(1 << 24)
        read = struct.pack(">QII", 0, 0, 1 << 31)
        yield packet(frame(b"\x0a\0\0\1\x0a\0\0\2", 17, psn, 12 if i % 2 else 4, read), i * 10)


def times(n):
    """Time stamps at both ends of what there is, in turn."""
    yield SHB + interface([(9, b"\x09")])
    for i in range(n):
        ns = random.choice((0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1))
        data = frame(b"\x0a\0\0\1\x0a\0\0\2", 17, i)
        yield block(frames.EPB, struct.pack("<IIIII", 0, ns >> 32, ns & 0xFFFFFFFF, len(data), len(data)) + data)


def connections(n):
    """CM requests, replies and rejects of as many pairs."""
    yield SHB + interface()
    for i in range(n):
        for attribute in (0x10, 0x13, 0x12, 0x15):
            data = struct.pack(">II", i, i) + struct.pack(">I", 0) * 2 + struct.pack(">Q", i) + bytes(200)
            mad = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, i, attribute, 0, 0) + data
            deth = struct.pack(">II", 0x80010000, 1)
            turn = b"\x0a\0\0\2\x0a\0\0\1" if attribute == 0x13 else b"\x0a\0\0\1\x0a\0\0\2"
            yield packet(frame(turn, 1, i & 0xFFFFFF, 0x64, deth + mad[:256].ljust(256, b"\0")), i * 10)


def main():
    shape, n, path = sys.argv[1:]
    with open(path, "wb") as out:
        for part in globals()[shape](int(n)):
            out.write(part)


main()
