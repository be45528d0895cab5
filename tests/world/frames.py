# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a tap saw, as frames of a file."""
import links
import wire


def transport(p, ttl, marked):
    """The IP packet of a sight; its invariant CRC is computed once."""
    tos = p.tos | 3 if marked else p.tos
    if p.kind == "stranger":
        datagram = wire.udp(p.data[0], p.data[1], p.body)
    else:
        if p.bytes is None:
            p.bytes = roce(p)
        datagram = wire.udp(p.sport, wire.PORT, p.bytes)
    make = wire.ipv6 if p.target.six else wire.ipv4
    if p.target.six:
        return make(p.source.address, p.target.address, datagram, tos, ttl)
    return make(p.source.address, p.target.address, datagram, p.ident, tos, ttl)


def roce(p):
    head = wire.bth(p.opcode, p.qp, p.psn, p.ask_ack, p.data or 0, p.becn, p.opcode in (2, 4) and p.ask_ack)
    packet = head + p.body
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
        ip = transport(p, ttl, marked)
        if damaged:
            at = len(ip) - 4 - 1 - len(p.body) // 2
            ip = ip[:at] + bytes([ip[at] ^ 0x20]) + ip[at + 1:]
        out.append((tap.clock(now), make(ip, (p.source.mac, p.target.mac), p.source is tap.at)))
    return out


def write(tap, path):
    rows = frames(tap)
    code = links.LINKS[tap.link][0]
    if tap.format == "pcapng":
        links.write_pcapng(path, code, tap.snaplen, rows, len(tap.missed) if tap.declared else None)
    else:
        links.write_pcap(path, code, tap.snaplen, rows, tap.format == "pcap ns")
