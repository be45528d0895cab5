# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets as bytes: BTH and its extensions, IPv4, IPv6, UDP, the invariant CRC, MADs of the CM.

From IBTA volume 1, release 1.4, chapters 5, 7.8, 9 and 12, and its annex A17 (RoCEv2).
"""
import struct
import zlib

PORT = 4791
RC, UC, UD = 0x00, 0x20, 0x60
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 6, 7, 8, 10
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 12, 13, 14, 15, 16
ACK, ATOMIC_ACK, SWAP, ADD = 17, 18, 19, 20
UD_SEND, CNP = 0x64, 0x81
REQ, REJ, REP, RTU, DREQ, DREP = 0x10, 0x12, 0x13, 0x14, 0x15, 0x16
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATIONAL = 0x60, 0x61, 0x62, 0x63
PSN_MASK = 0xFFFFFF
MTU_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
# Table 46 of IBTA volume 1: what an RNR NAK's timer means, in microseconds
RNR_US = [655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560,
          3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840,
          245760, 327680, 491520]


def be24(value):
    return struct.pack(">I", value & PSN_MASK)[1:]


def bth(opcode, qp, psn, ask_ack=False, pad=0, becn=False, solicited=False):
    return (bytes([opcode, (0x80 if solicited else 0) | 0x40 | pad << 4]) + b"\xff\xff"
            + bytes([0x40 if becn else 0]) + be24(qp) + bytes([0x80 if ask_ack else 0]) + be24(psn))


def reth(address, rkey, length):
    return struct.pack(">QII", address, rkey, length)


def aeth(syndrome, msn):
    return bytes([syndrome]) + be24(msn)


def deth(qkey, source):
    return struct.pack(">IBBH", qkey, 0, source >> 16, source & 0xFFFF)


def checksum(data):
    if len(data) & 1:
        data += b"\0"
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def linux_source_port(a, b):
    """The UDP source port that Linux's drivers compute from both QPs (include/rdma/ib_verbs.h)."""
    value = a * b
    value ^= value >> 20
    value ^= value >> 40
    label = value & 0xFFFFF
    return (label & 0x3FFF ^ (label & 0xFC000) >> 14) | 0xC000


def icrc4(source, destination, length, ident, sport, packet):
    """Of RoCEv2 over IPv4: TOS, TTL, both checksums and the BTH's fifth byte count as ones."""
    head = (b"\xff" * 8 + struct.pack(">BBHHHBBH", 0x45, 0xFF, length, ident, 0x4000, 0xFF, 17, 0xFFFF)
            + source + destination + struct.pack(">HHHH", sport, PORT, length - 20, 0xFFFF))
    crc = zlib.crc32(head + packet[:4] + b"\xff" + packet[5:])
    return struct.pack("<I", crc)


def icrc6(source, destination, length, sport, packet):
    """Of RoCEv2 over IPv6: traffic class, flow label and hop limit count as ones."""
    head = (b"\xff" * 8 + struct.pack(">IHBB", 0x6FFFFFFF, length, 17, 0xFF)
            + source + destination + struct.pack(">HHHH", sport, PORT, length, 0xFFFF))
    return struct.pack("<I", zlib.crc32(head + packet[:4] + b"\xff" + packet[5:]))


def ipv4(source, destination, payload, ident, tos, ttl, protocol=17):
    head = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(payload), ident, 0x4000, ttl, protocol, 0)
    total = checksum(head + source + destination)
    return head[:10] + struct.pack(">H", total) + source + destination + payload


def ipv6(source, destination, payload, tos, ttl, protocol=17):
    return (struct.pack(">IHBB", 6 << 28 | tos << 20, len(payload), protocol, ttl)
            + source + destination + payload)


def udp(sport, dport, payload):
    return struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def infiniband(source, target, packet, gids, lane):
    """LRH, GRH where there are `gids`, the packet, its invariant CRC; two bytes in place of the variant CRC."""
    length = len(packet) + 4
    grh = b""
    if gids:
        grh = struct.pack(">IHBB", 6 << 28, length, 0x1B, 64) + gids[0] + gids[1]
    words = (8 + len(grh) + length) // 4
    lrh = struct.pack(">BBHHH", lane << 4, lane << 4 | (3 if gids else 2), target, words, source)
    if gids:
        masked = b"\xff" * 8 + b"\x6f\xff\xff\xff" + grh[4:7] + b"\xff" + grh[8:]
    else:
        masked = bytes([lrh[0] | 0xF0]) + lrh[1:]
    crc = zlib.crc32(masked + packet[:4] + b"\xff" + packet[5:])
    return lrh + grh + packet + struct.pack("<I", crc) + b"\0\0"


# --- the connection manager ------------------------------------------------------------------

def mad(attribute, transaction, body):
    head = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction, attribute, 0, 0)
    return head + body.ljust(232, b"\0")


def gid4(address):
    return b"\0" * 10 + b"\xff\xff" + address


def cm_request(ids, service, qp, psn, ends, mtu, timers):
    """The REQ of an RC connection; `ends`: both GIDs; `timers`: the local ACK timeout's exponent, retries, RNR retries."""
    timeout, retries, rnr_retries = timers
    body = struct.pack(">IIQQII", ids, 0, service, 0x0200000000000001, 0, 0)
    body += be24(qp) + b"\x10" + b"\0\0\0" + b"\x10" + b"\0\0\0" + bytes([20 << 3])
    body += be24(psn) + bytes([20 << 3 | retries]) + b"\xff\xff" + bytes([MTU_CODES[mtu] << 4 | rnr_retries, 15 << 4])
    body += b"\0\0\0\0" + ends[0] + ends[1] + b"\0\0\0\0" + bytes([0, 64, 0, timeout << 3])
    return body.ljust(140, b"\0")


def cm_reply(ids, qp, psn, rnr_retries):
    body = struct.pack(">III", ids[0], ids[1], 0) + be24(qp) + b"\0" + b"\0\0\0\0" + be24(psn) + b"\0"
    return body + bytes([16, 16, 15 << 3, rnr_retries << 5]) + struct.pack(">Q", 0x0200000000000002)


def cm_reject(ids, reason):
    return struct.pack(">IIBBH", ids[0], ids[1], 0, 0, reason)


def cm_pair(ids):
    """RTU, DREQ (with the QP, here 0) and DREP begin with both ids."""
    return struct.pack(">II", ids[0], ids[1])


def cm_disconnect(ids, remote_qp):
    return cm_pair(ids) + be24(remote_qp)
