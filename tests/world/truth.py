# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What happened, as JSON: from the packets of the world, never from a capture or from the program under test."""
import collections
import itertools

import congestion_truth
import frames as wire
import links
import sights
from unreliable import Manager
from fabric import FABRIC_BEFORE, FABRIC_BEHIND, PLACES, QUEUE, RECEIVER, SENDER

NAMES = {wire.RC: "RC", wire.UC: "UC", wire.UD: "UD"}
NAKS = {wire.NAK_SEQUENCE: "nak_sequence", wire.NAK_INVALID: "nak_invalid_request",
        wire.NAK_ACCESS: "nak_remote_access", wire.NAK_OPERATIONAL: "nak_remote_operational"}
VERBS = {"swap": "ATOMIC", "add": "ATOMIC"}
# Counters: whether the host sends what they count, and which packets those are
SHOWN = {
    "sent_pkts": (True, lambda p: True), "rcvd_pkts": (False, lambda p: True),
    "rcvd_rnr_err": (False, lambda p: p.syndrome is not None and p.syndrome & 0xE0 == 0x20),
    "send_rnr_err": (True, lambda p: p.syndrome is not None and p.syndrome & 0xE0 == 0x20),
    "packet_seq_err": (False, lambda p: p.syndrome == wire.NAK_SEQUENCE),
    "rnr_nak_retry_err": (False, lambda p: p.syndrome is not None and p.syndrome & 0xE0 == 0x20),
    "np_cnp_sent": (True, lambda p: p.kind == "cnp"),
    "rx_icrc_encapsulated": (False, lambda p: True),
}
BETWEEN = (FABRIC_BEFORE, QUEUE, FABRIC_BEHIND)


def upstream(tap, p):
    """The places that a packet passes before the tap."""
    if tap.second:
        return (SENDER,)
    if tap.at is p.source:
        return (SENDER,)
    return (SENDER, FABRIC_BEFORE) if tap.at is None else (SENDER,) + BETWEEN


def passes(tap, p):
    return (tap.at is None or {tap.at, tap.second} & {p.source, p.target, *(p.target.members or ())}) and not (tap.one_way and tap.one_way is not p.source)


def lost(p):
    """The place where it was lost, or None."""
    return p.lost if p.delivered_ns is None else None


class Sights:
    """What one tap saw of the packets of each flow."""

    def __init__(self, tap):
        self.tap = tap
        self.of = collections.defaultdict(list)
        self.missed = collections.defaultdict(list)
        self.first = {}
        for into, rows in ((self.of, tap.sights), (self.missed, tap.missed)):
            for sight in rows:
                into[id(sight[1].flow)].append(sight)
        for sight in tap.sights:
            self.first.setdefault(id(sight[1]), sight[0])

    def seen(self, p):
        return id(p) in self.first


def late(sights, wanted):
    """(packets that were seen after a later one, the largest distance in packets: those of the file, or of the PSNs)"""
    count = depth = 0
    order, newest = [], None
    for _, p, _, _, copy, *_ in sorted(sights, key=lambda s: s[0]):
        if copy or not wanted(p):
            continue
        if order and p.number < max(order[-256:]):
            count += 1
            depth = max(depth, sum(n > p.number for n in order[-256:]))
            if not p.attempt and newest is not None:
                depth = max(depth, newest - p.psn & wire.PSN_MASK if newest - p.psn & wire.PSN_MASK < 4096 else 0)
        if not p.attempt and (newest is None or (p.psn - newest & wire.PSN_MASK) < 1 << 23):
            newest = p.psn
        order.append(p.number)
    return count, depth


def late_behind(sights, packets):
    """Packets that arrived after one that the tap saw later."""
    out, soonest = [], 1 << 62
    for p in sorted((p for p in packets if sights.seen(p) and p.delivered_ns is not None), key=lambda p: -sights.first[id(p)]):
        if p.delivered_ns > soonest:
            out.append(p)
        soonest = min(soonest, p.delivered_ns)
    return out


def direction(tap, sights, packets, kind):
    """Of the requests or the responses of a flow, at a tap."""
    passing = [p for p in packets if p.kind == kind and passes(tap, p)]
    mine = [s for s in sights.of.get(id(packets[0].flow), ()) if s[1].kind == kind] if packets else []
    up = [p for p in passing if lost(p) in upstream(tap, p) and tap.start <= p.sent_ns < tap.end]
    down = [p for p in passing if sights.seen(p) and lost(p) and lost(p) not in upstream(tap, p)]
    dead = [p for p in passing if sights.seen(p) and p.delivered_ns is not None and p.delivered_ns >= p.flow.dies_ns]
    again = {}
    for s in mine:
        again.setdefault((s[1].entry, s[1].psn), s[1])
    before = [p for p in passing if lost(p) in upstream(tap, p)]
    # Known: the first copy that the tap saw is a retransmission, and an earlier one was lost upstream.
    known = {(p.entry, p.psn) for p in before if (p.entry, p.psn) in again and again[p.entry, p.psn].attempt > p.attempt}
    reordered = late(mine, lambda p: True)
    missed = [s[1] for s in sights.missed.get(id(packets[0].flow), ()) if s[1].kind == kind] if packets else []
    naks = collections.defaultdict(list)
    for s in sights.of.get(id(packets[0].flow), ()) if packets else ():
        if s[1].syndrome == wire.NAK_SEQUENCE:
            naks[s[1].psn].append(s[0])
    return {
        "late_downstream": sum(len(naks[psn]) for psn in {p.psn for p in late_behind(sights, passing)}),
        "nakked_downstream": sum(p.damaged != "header" and any(t > sights.first[id(p)] for t in naks[p.psn]) for p in down),
        "nakked_upstream": sum(1 for _, psn in known if naks[psn]),
        "sent": sum(p.kind == kind for p in packets), "seen": len(mine), "seen_distinct": len({id(s[1]) for s in mine}),
        "lost_upstream": len(up), "lost_upstream_known": len(known), "lost_downstream": len(down),
        "lost_anywhere_upstream": len(before), "ignored": len(dead),
        "reordered": reordered[0], "reordered_first": late(mine, lambda p: not p.attempt)[0], "depth": reordered[1],
        "copies": sum(s[4] for s in mine), "damaged": sum(bool(s[5]) for s in mine),
        "missed": len({id(p) for p in missed}),
        "missed_delivered": len({id(p) for p in missed if p.delivered_ns is not None}),
        "outside": sum(1 for p in passing if not tap.start <= p.sent_ns < tap.end),
        "retransmitted": sum(1 for s in mine if s[1].attempt),
        "retransmitted_distinct": len({(s[1].entry, s[1].psn) for s in mine if s[1].attempt}),
        "first_ns": mine[0][0] if mine else None, "last_ns": mine[-1][0] if mine else None,
    }


def crossed(when, psn, packets):
    """A response to what was sent before is on its way when the round begins, or will be sent."""
    return any(p.kind == "response" and p.delivered_ns is not None and p.delivered_ns >= when
               and p.answers is not None and p.answers.sent_ns <= when
               and (p.syndrome is None or p.syndrome < 0x20) and (p.psn - psn & wire.PSN_MASK) < 1 << 23 for p in packets)


def rounds(f, packets):
    rows = []
    for r in f.rounds:
        rows.append({"ns": r[0], "cause": r[1], "psn": r[2], "packets": r[3], "waited_ns": r[5],
                     "crossed": crossed(r[0], r[2], packets)})
    return rows


def counts(tap, f, rows):
    """What the tap saw, as a reader counts it. Every one of these numbers is in the file."""
    requests = [s for s in rows if s[1].kind == "request" and not s[5]]
    responses = [s for s in rows if s[1].kind == "response" and not s[5]]
    acks = [s for s in responses if s[1].opcode == wire.ACK]
    out = {"requests": len(requests),
           "acks": sum(s[1].syndrome & 0xE0 == 0 for s in acks),
           "read_responses": sum(wire.READ_FIRST <= s[1].opcode <= wire.READ_ONLY for s in responses),
           "rnr": sum(s[1].syndrome & 0xE0 == 0x20 for s in acks),
           "cnp": sum(s[1].kind == "cnp" for s in rows)}
    if f.transport != wire.RC:
        out.update(whole_at_tap(f, requests))
    for code, name in NAKS.items():
        out[name] = sum(s[1].syndrome == code for s in acks)
    return out


def whole_at_tap(f, sights):
    """Of UC and UD: messages whose packets the tap saw, and their bytes."""
    seen = {id(s[1]) for s in sights}
    packets = collections.defaultdict(list)
    for m, p in f.mine:
        packets[m].append(id(p) in seen)
    whole = [m for m, rows in packets.items() if all(rows)]
    return {"messages": len(whole), "goodput_bytes": sum(m.size for m in whole)}


def refused(rows):
    """UD packets with another Q_Key than that of their receiver, and ACKs that give no credits."""
    return {"wrong_qkeys": sum(s[1].refused for s in rows), "right_qkeys": sum(s[1].kind == "request" and not s[1].refused for s in rows),
            "no_credits": sum(s[1].opcode == wire.ACK and s[1].syndrome == 0 for s in rows)}


def view(world, tap, sights, f, packets, whole):
    rows = sights.of.get(id(f), [])
    v = {"tap": tap.name, "requests": direction(tap, sights, packets, "request"),
         "responses": direction(tap, sights, packets, "response"), "counts": counts(tap, f, rows), **refused(rows)}
    v["bad_icrc"] = {"requests": v["requests"]["damaged"], "responses": v["responses"]["damaged"]}
    v["marked"] = {"requests": sum(s[2] for s in rows if s[1].source is f.source),
                   "responses": sum(s[2] for s in rows if s[1].source is f.target)}
    lossless = not any(lost(p) == SENDER for p in packets if p.source is f.source) and not any(
        lost(p) in (RECEIVER, "damaged") for p in packets if p.target is f.source)
    v.update(congestion_truth.of_view(f, rows))
    v["saw_all"] = bool(whole and tap.at is f.source and lossless and not v["requests"]["copies"] and not world.double
                        and not v["requests"]["reordered"] and not v["responses"]["damaged"]
                        and not v["requests"]["damaged"] and not world.options and not tap.jitter_ns)
    v["before_start"] = any(p.sent_ns < tap.start for p in packets)
    v["tail_ns"] = max(0, min(tap.end, world.end_ns) - (f.error_ns or 0)) if f.error else 0
    if v["saw_all"]:
        causes = collections.Counter(r[1] for r in f.rounds if r[3])
        v["counts"].update(retransmitted=v["requests"]["retransmitted"], rounds_nak=causes["nak"],
                           rounds_timeout=causes["timeout"], rounds_rnr=causes["rnr"], rounds_read=causes["read gap"])
        v["messages"] = verbs(f)
        if v["messages"]:
            v["counts"]["goodput_bytes"] = sum(size for _, size in v["messages"].values())
    return v


def verbs(f):
    """Messages of each verb whose packets were all sent at least once, and their bytes."""
    out = {}
    if f.transport != wire.RC:
        return out
    for m in f.messages:
        if m.completed_ns is None:
            return {}             # an open message has no agreed size
        name = VERBS.get(m.verb, m.verb.upper())
        row = out.setdefault(name, [0, 0])
        row[0] += 1
        row[1] += m.size
    return out


def flow_truth(world, f, packets, taps):
    tries = [p for p in packets if p.kind == "request"]
    answers = [p for p in packets if p.kind == "response"]
    whole = sum(1 for m in f.messages if m.completed_ns is not None)
    if f.transport != wire.RC:
        gone = collections.Counter(id(m) for m, p in f.mine if p.delivered_ns is None)
        whole = sum(1 for m in f.messages if not gone[id(m)])
    out = {
        "transport": NAMES[f.transport], "cm": f.cm, "multicast": bool(f.target.members),
        "from": f.source.text(), "from_qp": f.sqp, "to": f.target.text(), "to_qp": f.dqp,
        "requests": {"distinct": len({(p.entry, p.psn) for p in tries}), "transmissions": len(tries)},
        "lost": {"requests": dict(collections.Counter(lost(p) for p in tries if lost(p))),
                 "responses": dict(collections.Counter(lost(p) for p in answers if lost(p)))},
        "cnps": sum(p.kind == "cnp" for p in packets),
        "responses_ns": [min((p.sent_ns for p in answers), default=None), max((p.sent_ns for p in answers), default=None)],
        "rounds": rounds(f, packets), "error": f.error, "error_ns": f.error_ns,
        "dies_ns": f.dies_ns if f.dies_ns < 1 << 60 else None, "receiver": f.receiver,
        "rnr_ms": wire.RNR_US[getattr(f, "rnr_code", 0)] / 1e3, "cm_timeout_ms": 4.096e-3 * 2 ** Manager.timeout,
        "timeout_ns": getattr(f, "timeout_ns", None),
        "messages": len(f.messages), "whole_messages": whole, "renewed": f.renewed,
        "goodput": sum(m.size for m in f.messages if m.completed_ns is not None), "mtu": f.mtu,
    }
    times = [p.delivered_ns for p in answers if p.delivered_ns]
    out["longest_wait_ns"] = longest_wait(tries, times)
    out.update(congestion_truth.of_flow(f))
    out["views"] = [view(world, t, s, f, packets, w) for t, s, w in taps]
    return out


def longest_wait(requests, answers):
    """The longest time without a response while a request was open, roughly: from its first transmission."""
    longest, times = 0, sorted(answers)
    at = 0
    for p in requests:
        while at < len(times) and times[at] < p.sent_ns:
            at += 1
        longest = max(longest, (times[at] if at < len(times) else 1 << 60) - p.sent_ns)
    return longest


def arrives(p):
    """The hosts that a packet goes to; what a sender's adapter gives to itself has not been on the network."""
    return [h for h in p.target.members or (p.target,) if h is not p.source]


def between(world, a, b, sights, packets):
    """Of two taps at the ports of two hosts: each direction and destination QP."""
    out, delays = {}, {}
    first, last = max(a.start, b.start), min(a.end, b.end)
    for p in packets:
        if p.qp is None or not any(p.source is x.at and y.at in arrives(p) for x, y in ((a, b), (b, a))):
            continue
        here, there = (a, b) if p.source is a.at else (b, a)
        row = out.setdefault((p.source.text(), p.target.text(), p.qp), collections.Counter())
        row["transmissions"] += 1
        sent = sights[here].seen(p)
        got = sights[there].seen(p)
        inside = first + 10**6 < p.sent_ns < last - 10**6
        if lost(p) in BETWEEN and sent and first <= p.sent_ns < last:
            row["lost"] += 1
            row["lost_inside"] += inside
            row["lost_shortest"] = min(row["lost_shortest"] or p.size, p.size)
        row["lost_in_sender"] += lost(p) == SENDER
        row["lost_behind"] += got and lost(p) in (RECEIVER, "damaged")
        row["arrived"] += sent and got
        row["arrived_longest"] = max(row["arrived_longest"], p.size if sent and got else 0)
        row["sent"] += sent
        row["missed_at_sender"] += got and not sent
        row["missed_inside"] += got and not sent and inside
        if p.delivered_ns:
            delays.setdefault((p.source.text(), p.target.text()), []).append(p.delivered_ns - p.sent_ns)
        row["damaged_headers"] += p.damaged == "header"
        row["missed_at_receiver"] += sent and not got and lost(p) not in BETWEEN
    for tap in (a, b):
        keys = collections.defaultdict(list)
        for s in tap.sights:
            if tap.at in arrives(s[1]) and s[1].qp is not None:
                keys[s[1].source.text(), s[1].target.text(), s[1].qp].append(s)
        for key, rows in keys.items():
            if key in out:
                out[key]["reordered"] = late(rows, lambda p: True)[0]
                out[key]["copies"] = sum(s[4] for s in rows)
    for (source, target, _), row in out.items():
        row["delay_spread_ns"] = max(delays.get((source, target), [0])) - min(delays.get((source, target), [0]))
    return [dict(row, **{"from": k[0], "to": k[1], "qp": k[2]}) for k, row in sorted(out.items())]


def of_world(world):
    sights = {t: Sights(t) for t in world.taps}
    taps = []
    for t in world.taps:
        whole = t.start == 0 and t.end >= world.end_ns and not t.one_way and not t.missed and t.snaplen > 2000
        taps.append((t, sights[t], whole))
    packets = collections.defaultdict(list)
    for p in world.packets:
        if p.flow:
            packets[id(p.flow)].append(p)
    out = {"duration_ns": world.end_ns, "flows": [], "taps": [], "places": PLACES, "silences": silences(world),
           "waits": waits(world, packets), "options": world.options}
    for f in world.flows:
        out["flows"].append(flow_truth(world, f, packets[id(f)], taps))
    for t, s, whole in taps:
        out["taps"].append(tap_truth(t, whole))
        out["taps"][-1].update(pauses=congestion_truth.of_tap(world, t), speed=t.speed, jittered=bool(t.jitter_ns),
                               pfc=t.devices[0].pfc if t.devices else None)
    if len(world.taps) == 2:
        a, b = world.taps
        out["between"] = between(world, a, b, sights, world.packets)
        out["offset_ns"], out["drift_ppm"] = b.offset - a.offset, b.ppm - a.ppm
        out["offsets_ns"] = [out["offset_ns"]] + [out["offset_ns"] + t.step[1] * (1 if t is b else -1) for t in (a, b) if t.step]
        out["common_ns"] = min(a.end, b.end, world.end_ns) - max(a.start, b.start)
    return out


def silences(world):
    """Pauses of all traffic, in ms, while at least two flows wait for a response."""
    out = []
    times = sorted(p.sent_ns for p in world.packets)
    for a, b in zip(times, times[1:]):
        if b - a >= 20_000_000:
            waiting = [f for f in world.flows if not f.error and any(
                m.posted_ns <= a and (m.completed_ns is None or m.completed_ns >= b) for m in f.messages)]
            if len(waiting) > 1:
                out.append((b - a) // 10**6)
    return out


def waits(world, packets):
    """Of each host, the most QPs that at one time had no response for 1.5 ms or more while requests were open."""
    changes = collections.defaultdict(list)
    for f in world.flows:
        posted = [m.posted_ns for m in getattr(f, "messages", [])]
        replies = sorted(p.sent_ns for p in packets[id(f)] if p.kind == "response")
        for a, b in zip(posted[:1] + replies, replies):
            for host in (f.source, f.target) if b - a >= 1_500_000 else ():
                changes[host.text()] += [(a, 1), (b, -1)]
    return {host: max(itertools.accumulate(n for _, n in sorted(rows))) for host, rows in changes.items()}


def tap_truth(t, whole):
    kinds = collections.Counter(s[1].kind for s in t.sights)
    sizes = [s[1].size + links_extra(t) for s in t.sights]
    mads = collections.Counter(s[1].entry[1] for s in t.sights if s[1].kind == "mad")
    requests = collections.Counter(s[1].entry[0].flow.sqp for s in t.sights if s[1].kind == "mad" and s[1].entry[1] == wire.REQ)
    unanswered = {s[1].entry[0].flow.sqp: s[1].entry[0].answer == "silent" for s in t.sights if s[1].kind == "mad"}
    times = [t.clock(s[0]) for s in t.sights]
    headers = 70 + links_extra(t) + 20 * any(s[1].target.six for s in t.sights[:1])
    return {"name": t.name, "whole": whole, "headers": t.snaplen >= headers, "link": t.link, "format": t.format, "snaplen": t.snaplen,
            "at": t.at.text() if t.at else None, "one_way": bool(t.one_way), "frames": len(t.sights),
            "missed": len(t.missed), "declared": t.declared, "kinds": dict(kinds), "cut": sum(n > t.snaplen for n in sizes),
            "rdma": sum(n for k, n in kinds.items() if k not in ("stray", "stranger", "pause")), "mads": {str(k): n for k, n in mads.items()},
            "connect_requests": {str(k): n for k, n in requests.items()},
            "unanswered": {str(k): v for k, v in unanswered.items()},
            "damaged": sum(bool(s[5]) for s in t.sights),
            "start_ns": t.start, "end_ns": min(t.end, 1 << 60), "lasts_ns": max(times) - times[0] if times else 0,
            "backwards": backwards(t), "step": list(t.step) if t.step and any(s[0] >= t.step[0] for s in t.sights) else None,
            "zeroed": t.zeroed, "merged": t.second is not None, "bare": t.bare, "tunnelled": in_tunnels(t, ("stray", "stranger", "pause")), "strays_tunnelled": in_tunnels(t, ("stranger", "pause")),
            # The file notes them with the next frame.
            "link_events": [[when, text] for when, text in t.events if t.start <= when < t.end and any(s[0] >= when for s in t.sights)],
            "readings": [dict(d, in_file=in_file(t, d)) for d in t.readings]}


def in_tunnels(t, but):
    return sum(sights.link_of(t, s[1]) in links.TUNNELS for s in t.sights if s[1].kind not in but)


def backwards(t):
    unit = 1000 if "us" in t.format else 1
    times = [t.clock(s[0]) // unit for s in t.sights]
    return sum(b < a for a, b in zip(times, times[1:]))


def in_file(t, reading):
    """What the file's packets show of each counter: between its readings, in all, and how many were under way at a reading."""
    out = {}
    span = lambda when: when is not None and reading["from_ns"] <= when <= reading["to_ns"]
    rows = [s for s in t.sights if not s[5] and not s[4] and s[1].kind not in ("pause", "stray", "stranger")]
    damaged = [s for s in t.sights if s[5]]
    for name, (own, chosen) in SHOWN.items():
        mine = [s for s in (damaged if name == "rx_icrc_encapsulated" else rows)
                if (s[1].source if own else s[1].target).text() == reading["host"] and chosen(s[1])]
        counted = [s[1].sent_ns if own else s[1].delivered_ns for s in mine]
        under_way = sum(when is not None and span(when) != span(s[0]) for s, when in zip(mine, counted))
        out[name] = [sum(span(s[0]) for s in mine), len(mine), under_way]
    return out


def links_extra(t):
    return links.EXTRA.get(t.link, 0)
