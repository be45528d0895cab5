# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames of each link type, and the files that hold them: pcap and pcapng."""
import struct

import frames as wire

ETHERNET, NULL, RAW, SLL, SLL2, ERF, INFINIBAND, USER0 = 1, 0, 101, 113, 276, 197, 247, 147
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


def _pvlan(ip, macs, out):
    """The priority of the tag is that of the DSCP."""
    tos = ip[1] if ip[0] >> 4 == 4 else (ip[0] & 15) << 4 | ip[1] >> 4
    return ethernet(macs, _ethertype(ip), ip, [(0x8100, tos >> 5 << 13 | 100)])


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


def _geneve(ip, macs, out):
    # Eight bytes of options: class, type, length, value
    head = struct.pack(">BBHII", 2, 0, 0x6558, 42 << 8, 0x01020001) + b"\1\2\3\4"
    return _outer(17, wire.udp(50001, 6081, head + _plain(ip, macs, out)))


def _nvgre(ip, macs, out):
    return _outer(47, struct.pack(">HHI", 0x2000, 0x6558, 42 << 8) + _plain(ip, macs, out))


def _ipip(ip, macs, out):
    return _outer(4 if ip[0] >> 4 == 4 else 41, ip)


def _pppoe(ip, macs, out):
    protocol = 0x21 if ip[0] >> 4 == 4 else 0x57
    return ethernet(macs, 0x8864, struct.pack(">BBHHH", 0x11, 0, 7, len(ip) + 2, protocol) + ip)


def erf(time, packet):
    """An ERF record of InfiniBand: its time is 32.32 fixed point, little endian."""
    stamp = (time // 10**9) << 32 | (time % 10**9 << 32) // 10**9
    return struct.pack("<Q", stamp) + struct.pack(">BBHHH", 21, 4, 16 + len(packet), 0, len(packet)) + packet


LINKS = {
    "ib": (INFINIBAND, None), "erf": (ERF, None),
    "ethernet": (ETHERNET, _plain), "vlan": (ETHERNET, _vlan), "pvlan": (ETHERNET, _pvlan), "qinq": (ETHERNET, _qinq),
    "mpls": (ETHERNET, _mpls), "sll": (SLL, _sll), "sll2": (SLL2, _sll2), "raw": (RAW, _raw),
    "null": (NULL, _null), "vxlan": (ETHERNET, _vxlan), "gre": (ETHERNET, _gre), "erspan": (ETHERNET, _erspan),
    "geneve": (ETHERNET, _geneve), "nvgre": (ETHERNET, _nvgre), "ipip": (ETHERNET, _ipip), "pppoe": (ETHERNET, _pppoe),
    "user": (USER0, _plain),     # a link type that no reader can know
}
# Bytes that a link type adds to those of Ethernet
EXTRA = {"vlan": 4, "pvlan": 4, "qinq": 8, "mpls": 8, "sll": 2, "sll2": 6, "raw": -14, "null": -10, "vxlan": 50, "gre": 24, "erspan": 50,
         "geneve": 58, "nvgre": 42, "ipip": 20, "pppoe": 8}
TUNNELS = ("vxlan", "gre", "erspan", "geneve", "nvgre", "ipip")
