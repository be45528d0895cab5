# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames of each link type, and the files that hold them: pcap and pcapng."""
import struct

import wire

ETHERNET, NULL, RAW, SLL, SLL2, ERF, INFINIBAND = 1, 0, 101, 113, 276, 197, 247
PAUSE_MAC = b"\x01\x80\xc2\0\0\x01"
OUTER = (bytes([192, 168, 77, 1]), bytes([192, 168, 77, 2]))
OUTER_MACS = b"\x02\x77\0\0\0\x02\x02\x77\0\0\0\x01"


def ethernet(macs, kind, payload, tags=()):
    head = macs[1] + macs[0]
    for tag in tags:
        head += struct.pack(">HH", *tag)
    return head + struct.pack(">H", kind) + payload


def _ethertype(ip):
    return 0x0800 if ip[0] >> 4 == 4 else 0x86DD


def _plain(ip, macs, out):
    return ethernet(macs, _ethertype(ip), ip)


def _vlan(ip, macs, out):
    return ethernet(macs, _ethertype(ip), ip, [(0x8100, 3 << 13 | 100)])


def _qinq(ip, macs, out):
    return ethernet(macs, _ethertype(ip), ip, [(0x88A8, 200), (0x8100, 3 << 13 | 100)])


def _mpls(ip, macs, out):
    return ethernet(macs, 0x8847, struct.pack(">II", 1000 << 12 | 64, 2000 << 12 | 1 << 8 | 64) + ip)


def _sll(ip, macs, out):
    return struct.pack(">HHH8sH", 4 if out else 0, 1, 6, macs[0] + b"\0\0", _ethertype(ip)) + ip


def _sll2(ip, macs, out):
    return struct.pack(">HHIHBB8s", _ethertype(ip), 0, 2, 1, 4 if out else 0, 6, macs[0] + b"\0\0") + ip


def _raw(ip, macs, out):
    return ip


def _null(ip, macs, out):
    return struct.pack("<I", 2 if ip[0] >> 4 == 4 else 30) + ip


def _outer(protocol, payload):
    return OUTER_MACS + b"\x08\0" + wire.ipv4(OUTER[0], OUTER[1], payload, 0, 0, 64, protocol)


def _vxlan(ip, macs, out):
    return _outer(17, wire.udp(50000, 4789, struct.pack(">II", 0x08000000, 42 << 8) + _plain(ip, macs, out)))


def _gre(ip, macs, out):
    return _outer(47, struct.pack(">HH", 0, _ethertype(ip)) + ip)


def _erspan(ip, macs, out):
    # Type II: GRE with a sequence number, then eight bytes with the session
    return _outer(47, struct.pack(">HHIII", 0x1000, 0x88BE, 7, 0x10640005, 0) + _plain(ip, macs, out))


def erf(time, packet):
    """An ERF record of InfiniBand: its time is 32.32 fixed point, little endian."""
    stamp = (time // 10**9) << 32 | (time % 10**9 << 32) // 10**9
    return struct.pack("<Q", stamp) + struct.pack(">BBHHH", 21, 4, 16 + len(packet), 0, len(packet)) + packet


LINKS = {
    "ib": (INFINIBAND, None), "erf": (ERF, None),
    "ethernet": (ETHERNET, _plain), "vlan": (ETHERNET, _vlan), "qinq": (ETHERNET, _qinq),
    "mpls": (ETHERNET, _mpls), "sll": (SLL, _sll), "sll2": (SLL2, _sll2), "raw": (RAW, _raw),
    "null": (NULL, _null), "vxlan": (ETHERNET, _vxlan), "gre": (ETHERNET, _gre), "erspan": (ETHERNET, _erspan),
}


# --- files -----------------------------------------------------------------------------------

def write_pcap(path, link, snaplen, frames, nanoseconds):
    unit = 1 if nanoseconds else 1000
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link))
        for time, data in frames:
            file.write(struct.pack("<IIII", time // 10**9, time % 10**9 // unit, min(len(data), snaplen), len(data)))
            file.write(data[:snaplen])


def _option(code, value):
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def _block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def write_pcapng(path, link, snaplen, frames, dropped):
    """`dropped`: the frames that the file's statistics report as lost; None: no statistics."""
    with open(path, "wb") as file:
        file.write(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(_block(1, struct.pack("<HHI", link, 0, snaplen) + _option(9, b"\x09") + _option(0, b"")))
        time = 0
        for time, data in frames:
            cut = data[:snaplen]
            file.write(_block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(cut), len(data))
                              + cut + b"\0" * (-len(cut) % 4)))
        if dropped is not None:
            stamp = struct.pack("<III", 0, time >> 32, time & 0xFFFFFFFF)
            file.write(_block(5, stamp + _option(4, struct.pack("<Q", len(frames) + dropped))
                              + _option(5, struct.pack("<Q", dropped)) + _option(0, b"")))
