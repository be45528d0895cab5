# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a tap saw, as frames of a file."""
import frames as wire
import links


def transport(p, ttl, marked):
    """The IP packet of a sight; its invariant CRC is computed once."""
    tos = p.tos if p.tos_behind is None or ttl > 62 else p.tos_behind
    tos = tos | 3 if marked else tos
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


def damaged_at(p, ip, kind):
    """The byte that is damaged: in the payload, or in the destination QP or the PSN."""
    if kind == "header":
        return len(ip) - 4 - len(p.body) - 12 + (5 + p.psn % 3 if p.psn & 1 else 9 + p.psn % 3)
    return len(ip) - 4 - 1 - len(p.body) // 2


def headers_of(p):
    """Bytes of its extended headers."""
    kind = p.opcode & 0x1F
    if p.opcode >> 5 == 3:
        return 8
    if kind in (wire.WRITE_FIRST, wire.WRITE_ONLY, wire.READ_REQUEST):
        return 16
    if kind in (wire.SWAP, wire.ADD):
        return 28
    if kind == wire.ATOMIC_ACK:
        return 12
    return 4 if kind in (wire.ACK, wire.READ_FIRST, wire.READ_LAST, wire.READ_ONLY) else 0


def link_of(tap, p):
    """The link type of a packet: parts of the traffic may be outside of the tunnel."""
    if tap.bare == "a direction":
        return "ethernet" if p.source is tap.outside else tap.link
    if tap.bare == "a flow":
        return "ethernet" if p.flow and p.flow.number % 2 else tap.link
    return tap.link


def one(tap, sight):
    """(time of the tap's clock, bytes)"""
    now, p, marked, ttl, _, damaged = sight[:6]
    if p.kind == "pause":
        return tap.clock(now), links.ethernet((p.source.mac, links.PAUSE_MAC), 0x8808, p.body)
    make = links.LINKS[link_of(tap, p)][1]
    if make is None:
        return tap.clock(now), native(p, tap, damaged, now)
    ip = transport(p, ttl, marked)
    if damaged:
        ip = flipped(ip, damaged_at(p, ip, damaged))
    if tap.zeroed and p.kind in ("request", "response"):
        payload = len(p.body) - headers_of(p)
        ip = ip[:len(ip) - 4 - payload] + bytes(payload) + ip[-4:]
    trailer = (now * 2654435761).to_bytes(24, "big")[-tap.trailer:] if tap.trailer else b""
    return tap.clock(now), make(ip, (p.source.mac, p.target.mac), p.source is tap.at) + trailer


def frames(tap):
    """[(time of the tap's clock, bytes, interface, comment)] in the order of the file."""
    out, events = [], sorted(tap.events)
    for sight in tap.sights:
        comment = None
        while events and events[0][0] <= sight[0]:
            comment = (comment + "; " if comment else "") + events.pop(0)[1]
        out.append(one(tap, sight) + (tap.interface(sight), comment))
    return out


def until(tap):
    """When the capture ended, as its file says: it reads the clock a while after. One that ran to the end ran on."""
    last = tap.end if tap.end < 1 << 60 else max((s[0] for s in tap.sights), default=0) + 5 * 10**9
    return tap.clock(last) + 900_000_000


def write(tap, path):
    rows = frames(tap)
    code = links.LINKS[tap.link][0]
    if "pcapng" in tap.format:
        wire.write_pcapng(path, code, tap.snaplen, rows, len(tap.missed) if tap.declared else None,
                           swapped="swapped" in tap.format, speed=tap.speed, until=until(tap), **tap.facts)
    else:
        wire.write_pcap(path, code, tap.snaplen, rows, tap.format)
