# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a tap saw, as frames of a file."""
import links
import wire


def transport(p, ttl, marked):
    """The IP packet of a sight; its invariant CRC is computed once."""
    tos = p.tos | 3 if marked else p.tos
    if p.kind in ("stray", "stranger"):
        datagram = wire.udp(p.data[0], p.data[1], p.body)
    else:
        if p.bytes is None:
            p.bytes = roce(p)
        datagram = wire.udp(p.sport, wire.PORT, p.bytes)
    make = wire.ipv6 if p.target.six else wire.ipv4
    if p.target.six:
        return make(p.source.address, p.target.address, datagram, tos, ttl)
    return make(p.source.address, p.target.address, datagram, p.ident, tos, ttl)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1:]


def native(p, tap, damaged, now):
    """An InfiniBand packet, in an ERF record or bare."""
    gids = (p.source.address, p.target.address) if p.target.six else None
    packet = wire.infiniband(p.source.number, p.target.number, bare(p), gids, 2)
    if damaged:
        packet = flipped(packet, len(packet) - 7 - len(p.body) // 2)
    return links.erf(tap.clock(now), packet) if tap.link == "erf" else packet


def bare(p):
    """The BTH, its extensions and the payload."""
    return wire.bth(p.opcode, p.qp, p.psn, p.ask_ack, p.data or 0, p.becn, p.opcode in (2, 4) and p.ask_ack) + p.body


def roce(p):
    packet = bare(p)
    if p.target.six:
        crc = wire.icrc6(p.source.address, p.target.address, len(packet) + 12, p.sport, packet)
    else:
        crc = wire.icrc4(p.source.address, p.target.address, len(packet) + 32, p.ident, p.sport, packet)
    return packet + crc


def frames(tap):
    """[(time of the tap's clock, bytes)] in the order of the file."""
    out = []
    make = links.LINKS[tap.link][1]
    for now, p, marked, ttl, _, damaged in tap.sights:
        if p.kind == "pause":
            out.append((tap.clock(now), links.ethernet((p.source.mac, links.PAUSE_MAC), 0x8808, p.body)))
            continue
        if make is None:
            out.append((tap.clock(now), native(p, tap, damaged, now)))
            continue
        ip = transport(p, ttl, marked)
        if damaged:
            ip = flipped(ip, len(ip) - 4 - 1 - len(p.body) // 2)
        out.append((tap.clock(now), make(ip, (p.source.mac, p.target.mac), p.source is tap.at)))
    return out


def write(tap, path):
    rows = frames(tap)
    code = links.LINKS[tap.link][0]
    if tap.format == "pcapng":
        links.write_pcapng(path, code, tap.snaplen, rows, len(tap.missed) if tap.declared else None)
    else:
        links.write_pcap(path, code, tap.snaplen, rows, tap.format == "pcap ns")
