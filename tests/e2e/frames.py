# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RDMA frames as bytes, for all tests: BTH and its extensions, IPv4, IPv6, UDP, Ethernet, InfiniBand, the invariant
CRC, MADs; and the files that hold them, pcap and pcapng.

From IBTA volume 1, release 1.4, chapters 5, 7.8, 9 and 12, and its annex A17 (RoCEv2). tests/e2e/tshark_fields.sh
compares fields with tshark; the world judges by checksums, which the program has from real captures.
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


def bth(opcode, qp, psn, ask_ack=False, pad=0, becn=False, solicited=False, migrated=True):
    flags = (0x80 if solicited else 0) | (0x40 if migrated else 0) | pad << 4
    return (bytes([opcode, flags]) + b"\xff\xff"
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


def erf(stamp, packet):
    """A record of InfiniBand; `stamp`: seconds in its upper half."""
    return struct.pack("<Q", stamp) + struct.pack(">BBHHH", 21, 4, 16 + len(packet), 0, len(packet)) + packet


def infiniband(source, target, packet, gids, lane, level=None):
    """LRH, GRH where there are `gids`, the packet, its invariant CRC; two bytes in place of the variant CRC.

    The service level is the lane, unless it is given.
    """
    length = len(packet) + 4
    grh = b""
    if gids:
        grh = struct.pack(">IHBB", 6 << 28, length, 0x1B, 64) + gids[0] + gids[1]
    words = (8 + len(grh) + length) // 4
    lrh = struct.pack(">BBHHH", lane << 4, (lane if level is None else level) << 4 | (3 if gids else 2), target, words, source)
    if gids:
        masked = b"\xff" * 8 + b"\x6f\xff\xff\xff" + grh[4:7] + b"\xff" + grh[8:]
    else:
        masked = bytes([lrh[0] | 0xF0]) + lrh[1:]
    crc = zlib.crc32(masked + packet[:4] + b"\xff" + packet[5:])
    return lrh + grh + packet + struct.pack("<I", crc) + b"\0\0"


def rocev2(ends, packet, sport=0xC000, ident=0, tos=2, crc=None, macs=(b"\2\0\0\0\0\1", b"\2\0\0\0\0\2")):
    """An Ethernet frame from ends[0] to ends[1], addresses of IPv4 or IPv6; without `crc` it has the right one."""
    six = len(ends[0]) == 16
    if crc is None and six:
        crc = icrc6(*ends, len(packet) + 12, sport, packet)
    elif crc is None:
        crc = icrc4(*ends, len(packet) + 32, ident, sport, packet)
    datagram = udp(sport, PORT, packet + crc)
    ip = ipv6(*ends, datagram, tos, 64) if six else ipv4(*ends, datagram, ident, tos, 64)
    return macs[1] + macs[0] + (b"\x86\xdd" if six else b"\x08\0") + ip


# --- management datagrams, the connection manager --------------------------------------------

def mad(attribute, transaction, body, klass=7, method=3):
    """Of QP 1, 256 bytes; class 7 is the connection manager."""
    head = struct.pack(">BBBBHHQHHI", 1, klass, 2 if klass == 7 else 1, method, 0, 0, transaction, attribute, 0, 0)
    return head + body[:232].ljust(232, b"\0")


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


# --- files -----------------------------------------------------------------------------------

SHB, IDB, NRB, ISB, EPB, FACT = 0x0A0D0D0A, 1, 4, 5, 6, 0x80524446


def pcap(link, frames, style="ns", snaplen=262144):
    """The bytes of a file; `frames`: (ns, bytes, length on the wire). `style`: "us" or "ns", and " swapped": the other byte order."""
    nanoseconds, order = "ns" in style, ">" if "swapped" in style else "<"
    unit = 1 if nanoseconds else 1000
    head = struct.pack(order + "IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)
    return head + b"".join(struct.pack(order + "IIII", ns // 10**9, ns % 10**9 // unit, len(data), length) + data
                           for ns, data, length in frames)


def write_pcap(path, link, snaplen, frames, style):
    """`frames`: (ns, bytes, ...), whole."""
    with open(path, "wb") as file:
        file.write(pcap(link, ((time, data[:snaplen], len(data)) for time, data, *_ in frames), style, snaplen))


def read_pcap(data):
    """-> (ns, bytes, length on the wire) of each frame of a file's bytes, in any byte order"""
    order = "<" if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1") else ">"
    unit = 1 if struct.unpack_from(order + "I", data)[0] == 0xA1B23C4D else 1000
    at = 24
    while at < len(data):
        seconds, part, kept, length = struct.unpack_from(order + "IIII", data, at)
        yield seconds * 10**9 + part * unit, data[at + 16:at + 16 + kept], length
        at += 16 + kept


def read_blocks(data):
    """-> (type, body) of each whole block of pcapng, little-endian"""
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if at + length > len(data):
            return
        assert length % 4 == 0 and data[at + length - 4:at + length] == data[at + 4:at + 8]
        yield kind, data[at + 8:at + length - 4]
        at += length


def read_options(body, at):
    """-> (code, value) of each option of a block, from there on"""
    while at + 4 <= len(body):
        code, size = struct.unpack_from("<HH", body, at)
        yield code, body[at + 4:at + 4 + size]
        at += 4 + (size + 3 & ~3)


def option(code, value, order="<"):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind, body, options=(), order="<"):
    """Of pcapng; `options`: (code, value), which need no end of options."""
    body += bytes(-len(body) % 4) + b"".join(option(*o, order) for o in options) + (bytes(4) if options else b"")
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def section(order="<"):
    return struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)


def fact(text, order="<"):
    """The body of a block for local use: see FACTS in rdmadump-formats(5)."""
    data = text.encode()
    return struct.pack(order + "II", 1, len(data)) + data


class Pcapng:
    """Blocks of one section in a byte order."""

    def __init__(self, file, order):
        self.file, self.order = file, order

    def block(self, kind, body, options=()):
        self.file.write(block(kind, body, options, self.order))

    def number(self, value):
        return struct.pack(self.order + "Q", value)

    def begin(self, link, snaplen, interfaces, speed=None):
        self.block(SHB, section(self.order))
        for _ in range(interfaces):
            options = [(9, b"\x09")] + ([(8, self.number(speed))] if speed else [])
            self.block(IDB, struct.pack(self.order + "HHI", link, 0, snaplen), options)

    def fact(self, text):
        self.block(FACT, fact(text, self.order))

    def frame(self, interface, time, data, snaplen, comment, direction=0):
        cut = data[:snaplen]
        head = struct.pack(self.order + "IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(cut), len(data))
        options = [(1, comment.encode("ascii"))] if comment else []
        self.block(EPB, head + cut, options + ([(2, struct.pack(self.order + "I", direction))] if direction else []))

    def statistics(self, interface, time, received, dropped, delivered):
        stamp = struct.pack(self.order + "II", time >> 32, time & 0xFFFFFFFF)
        self.block(ISB, struct.pack(self.order + "I", interface) + stamp,
                   [(3, stamp), (4, self.number(received)), (5, self.number(dropped)), (8, self.number(delivered))])


def write_pcapng(path, link, snaplen, frames, dropped, **more):
    """`dropped`: the frames that the file's statistics report as lost; None: no statistics.

    `frames`: (time, bytes, interface, comment or None[, 1 received or 2 sent]). `more`: `swapped`; `speed` in bit/s; `start`, `end`: facts as texts; `until`: when
    the capture ended; `delivered`: frames of the whole capture, of which this is a part.
    """
    interfaces = 1 + max((f[2] for f in frames), default=0)
    with open(path, "wb") as file:
        out = Pcapng(file, ">" if more.get("swapped") else "<")
        out.begin(link, snaplen, interfaces, more.get("speed"))
        for text in more.get("start", ()):
            out.fact(text)
        for time, data, interface, comment, *direction in frames:
            out.frame(interface, time, data, snaplen, comment, *direction)
        for text in more.get("end", ()):
            out.fact(text)
        if dropped is not None:
            until = more.get("until") or (frames[-1][0] if frames else 0)
            for i in range(interfaces):
                n = sum(f[2] == i for f in frames)
                out.statistics(i, until, n + (0 if i else dropped), 0 if i else dropped, more.get("delivered", n))
