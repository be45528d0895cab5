# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Discrete events, hosts, the network between them, and the taps that look at it. Times are ns."""
import heapq
import random

import frames as wire

# The places where a packet may be lost, in the order of its path. Taps are between them.
SENDER, FABRIC_BEFORE, QUEUE, FABRIC_BEHIND, RECEIVER = "sender NIC", "fabric before", "queue", "fabric behind", "receiver NIC"
PLACES = [SENDER, FABRIC_BEFORE, QUEUE, FABRIC_BEHIND, RECEIVER]


class Packet:
    """One transmission: a retransmission is another packet."""
    __slots__ = ("flow", "kind", "opcode", "psn", "span", "body", "ask_ack", "attempt", "source", "target",
                 "qp", "sport", "ident", "size", "tos", "sent_ns", "lost", "delivered_ns", "entry", "syndrome",
                 "damaged", "number", "becn", "refused", "round", "answers", "data", "bytes", "tos_behind")

    def __init__(self, flow, kind, source, target, qp, opcode, psn, body, **more):
        self.flow, self.kind, self.source, self.target, self.qp = flow, kind, source, target, qp
        self.opcode, self.psn, self.body = opcode, psn, body
        self.ask_ack = self.damaged = self.becn = self.refused = False
        self.span, self.attempt, self.syndrome = 1, 0, None
        self.lost = self.delivered_ns = self.entry = self.round = self.answers = self.data = self.bytes = self.tos_behind = None
        for key, value in more.items():
            setattr(self, key, value)
        self.size = len(body) + 12 + 4 + 8 + (40 if target.six else 20) + 14


class Loss:
    """Loses packets at a place: with a probability, in bursts, or those that `wanted` names."""

    def __init__(self, place, probability=0.0, wanted=None, burst=1, most=None, start=0, end=1 << 62, damage=None):
        self.place, self.probability, self.wanted = place, probability, wanted or (lambda p: True)
        self.burst, self.most, self.start, self.end, self.damage = burst, most, start, end, damage
        self.left = 0

    def takes(self, packet, now, rng):
        if not self.start <= now < self.end or self.most == 0 or not self.wanted(packet):
            return False
        if self.left:
            self.left -= 1
        elif rng.random() >= self.probability:
            return False
        else:
            self.left = rng.randint(1, self.burst) - 1
        if self.most is not None:
            self.most -= 1
        return True


class Tap:
    """Sees what passes one point. `at` is a host (its port) or None: between the switches."""

    def __init__(self, name, at, **more):
        self.name, self.at = name, at
        self.start, self.end = 0, 1 << 62
        self.one_way = None      # only packets that this host sends
        self.loss, self.loss_burst, self.declared = 0.0, 1, False
        self.miss = None         # only these packets are missed
        self.offset, self.ppm = 0, 0.0
        self.link, self.snaplen, self.format = "ethernet", 65535, "pcapng"
        self.part = None         # (from, to): of the whole duration
        self.twice = False       # a mirror session copies each frame at two ports
        self.second = None       # another point, captured by interface 1 of the same file
        self.pauses = True       # pause frames reach it: a mirror, or an adapter that passes them on
        self.speed = None        # bit/s, as the file says
        self.bare, self.outside = None, None     # what is outside of the link's tunnel; the host whose frames are
        self.zeroed = False      # payloads are zeros; checksums are those of before
        self.trailer = 0         # bytes that a mirror appends to each frame
        self.step = None         # (when, ns): the clock was set
        self.from_where = None   # a function that chooses the time of the begin, when all is known
        self.events = []         # (time, comment)
        self.facts = {}          # texts of the file's facts: "start", "end"
        self.devices = []        # whose facts the file holds
        self.readings = []       # what the facts have about counters, for the truth
        self.jitter_ns = 0       # the capture merges queues out of order; timestamps are right
        self.left = 0
        self.sights = []         # (time, packet, congestion marked, TTL, copy, damaged)
        self.missed = []         # the same, not in the file
        for key, value in more.items():
            setattr(self, key, value)

    def interface(self, sight):
        return sight[6] if self.second else 0

    def see(self, now, packet, marked, ttl, copy, rng, interface=0):
        if not self.start <= now < self.end or (self.one_way and packet.source is not self.one_way):
            return
        if packet.qp is None and self.link not in ("ethernet", "pvlan") and (self.link in ("ib", "erf") or packet.kind == "pause"):
            return
        sight = (now, packet, marked, ttl, copy, packet.damaged, interface)
        rows = self.missed if self._misses(packet, rng) else self.sights
        rows.append(sight)
        if self.twice:
            rows.append((now + 250, packet, marked, ttl, copy + 1, packet.damaged, interface))

    def _misses(self, packet, rng):
        if self.miss and not self.miss(packet):
            return False
        if self.left:
            self.left -= 1
            return True
        if rng.random() >= self.loss:
            return False
        self.left = rng.randint(1, self.loss_burst) - 1
        return True

    def finish(self, end, rng):
        """Puts the frames in the order of the file; leaves out those of times when it did not run."""
        if self.from_where:
            self.part = (self.from_where(self) / max(1, end), 2)
        if self.twice:
            self.sights.sort(key=lambda s: s[0])
        if self.jitter_ns:
            self.sights.sort(key=lambda s: s[0] + rng.randrange(self.jitter_ns))
        if self.part:
            self.start, self.end = (int(end * x) for x in self.part)
            self.sights, self.missed = ([s for s in rows if self.start <= s[0] < self.end]
                                        for rows in (self.sights, self.missed))

    def clock(self, now):
        """What the clock of the capturing machine shows."""
        step = self.step[1] if self.step and now >= self.step[0] else 0
        return 1_790_000_000_000_000_000 + self.offset + now + int(now * self.ppm / 1e6) + step


class Host:
    def __init__(self, number, six, ids):
        self.number, self.six = number, six
        self.address = bytes([10, 1, number >> 8, number & 255])
        self.gid = wire.gid4(self.address)
        self.use(six)
        self.mac = b"\x02\0\0\0" + number.to_bytes(2, "big")
        self.members = None       # of a multicast group
        self.native = False       # of an InfiniBand fabric: addressed by its LID
        self.ids = ids            # "count", "zero" or "random"
        self.next_id = number * 977 & 0xFFFF
        self.free_ns = 0          # when its port has sent what waits
        self.queue_ns = 0         # when the switch's port to it has sent what waits
        self.held_ns = {}         # the same of priorities that are paused: (whether to it, priority)
        self.qps = {}

    def use(self, six):
        self.six = six
        if six:
            self.address = self.gid = bytes.fromhex("20010db8000000000000000000000000")[:14] + self.number.to_bytes(2, "big")

    def gather(self, members):
        """Becomes a multicast group: RFC 1112 and RFC 2464 give its MAC."""
        self.members = members
        if self.six:
            self.address = self.gid = bytes.fromhex("ff0e0000000000000000000000000101")
            self.mac = b"\x33\x33" + self.address[12:]
        else:
            self.address = bytes([239, 1, 1, 1])
            self.gid, self.mac = wire.gid4(self.address), b"\x01\0\x5e\x01\x01\x01"
        return self

    def text(self):
        if self.members:
            return "ff0e::101" if self.six else "239.1.1.1"
        if self.native and not self.six:
            return "LID %d" % self.number
        if not self.six:
            return ".".join(map(str, self.address))
        return "2001:db8::%x" % self.number

    def ident(self, rng):
        if self.ids == "count":
            self.next_id = self.next_id + 1 & 0xFFFF
            return self.next_id
        return 0 if self.ids == "zero" else rng.randrange(65536)


class World:
    """Everything that happens. All randomness comes from one seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.now = 0
        self.events = []
        self.count = 0
        self.hosts, self.flows, self.taps, self.losses = [], [], [], []
        self.gbps = 25.0
        self.hop_ns = self.rng.randint(400, 3000)
        self.spray_ns = 0             # differences between the paths
        self.spray_share = 1.0
        self.path_ns = 0              # one of two paths takes longer: chosen by the UDP source port
        self.queue_limit_ns = 1 << 62
        self.mark_ns = 1 << 62        # a longer queue marks packets
        self.double = 0.0             # copies made by the fabric
        self.double_before = False    # ... before the middle
        self.pauses = []              # (from, to): no port may send
        self.pausers = []             # of single links, see congestion.py
        self.rewrite = None           # packet -> DSCP and ECN behind the switch
        self.link_events = []         # (host, time, text)
        self.options = []             # of the program under test
        self.packets = []
        self.copies = []              # (time, packet, place)
        self.end_ns = 1 << 62

    def at(self, when, function, *args):
        self.count += 1
        heapq.heappush(self.events, (when, self.count, function, args))

    def after(self, delay, function, *args):
        self.at(self.now + int(delay), function, *args)

    def run(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, function, args = heapq.heappop(self.events)
            function(*args)
        self.now = until

    def host(self, six=False, ids="count"):
        host = Host(len(self.hosts) + 1, six, ids)
        self.hosts.append(host)
        return host

    def wire_ns(self, packet):
        return int((packet.size + 24) * 8 / self.gbps)

    # --- the path of a packet ----------------------------------------------------------------

    def send(self, packet):
        """Returns when the port is free again."""
        source = packet.source
        begin = max(self.now, source.free_ns)
        for start, end in self.pauses:
            if start <= begin < end:
                begin = end
        packet.tos = self.tos_of(packet)
        held = self.held(packet, source, False, begin)
        if held:
            packet.sent_ns = held
        else:
            packet.sent_ns = source.free_ns = begin + self.wire_ns(packet)
        packet.number = len(self.packets)
        packet.ident = source.ident(self.rng)
        packet.sport = packet.flow.source_port(packet) if packet.flow else 0xC000
        self.packets.append(packet)
        self.at(packet.sent_ns, self.leave, packet)
        return packet.sent_ns

    @staticmethod
    def tos_of(packet):
        if not packet.flow:
            return 0x02
        own = getattr(packet.flow, {"response": "answer_tos", "cnp": "cnp_tos"}.get(packet.kind, "tos"), None)
        return packet.flow.tos if own is None else own

    def held(self, packet, host, to_it, begin):
        """When it has been sent, if its priority is paused; the port goes on with other priorities."""
        until = begin
        for p in self.pausers:
            if p.host is host and p.to_it == to_it and p.stops(packet):
                until = p.until(until)
        key = to_it, packet.tos >> 5
        until = max(until, host.held_ns.get(key, 0))     # behind those that a pause held back
        if until == begin:
            return None
        until += self.wire_ns(packet)
        host.held_ns[key] = until
        if packet.flow:
            packet.flow.held.append((begin, until, packet.kind))
        return until

    def lose(self, packet, place):
        for loss in self.losses:
            if loss.place == place and loss.takes(packet, self.now, self.rng):
                if not loss.damage:
                    packet.lost = place
                    return True
                packet.damaged = loss.damage
        return False

    def tapped(self, packet, point, marked, ttl, copy=0):
        for tap in self.taps:
            if tap.at is point:
                tap.see(self.now, packet, marked, ttl, copy, self.rng)
            elif tap.second is point and point is not None:
                tap.see(self.now, packet, marked, ttl, copy + (tap.at in (packet.source, packet.target)), self.rng, 1)

    def leave(self, packet):
        if self.lose(packet, SENDER):
            return
        self.tapped(packet, packet.source, False, 64)
        if packet.target.members and packet.source in packet.target.members:
            self.after(200, self.loop_back, packet)
        if packet.source is packet.target:
            self.after(500, self.arrive, packet, False, 0, None)
            return
        if self.lose(packet, FABRIC_BEFORE):
            return
        delay = self.hop_ns
        if self.spray_ns and self.rng.random() < self.spray_share:
            delay += self.rng.randrange(self.spray_ns)
        if packet.sport & 1:
            delay += self.path_ns
        copies = 2 if self.double and self.rng.random() < self.double else 1
        for copy in range(copies if self.double_before else 1):
            self.after(delay + 700 * copy, self.middle, packet, copy)
        if copies == 2:
            self.copies.append((self.now, packet, self.double_before))
            if not self.double_before:
                self.after(delay + 700, self.middle, packet, 1)

    def loop_back(self, packet):
        """The sender's adapter gives its own multicast packets to its QPs, and to its capture."""
        self.tapped(packet, packet.source, False, 64, 1)

    def middle(self, packet, copy):
        if copy == 0 or self.double_before:
            self.tapped(packet, None, False, 63, copy)
        for target in packet.target.members or (packet.target,):
            if target is not packet.source:
                self.forward(packet, copy, target)

    def forward(self, packet, copy, target):
        waiting = max(0, target.queue_ns - self.now)
        if self.rewrite:
            packet.tos_behind = self.rewrite(packet)
        held = self.held(packet, target, True, self.now + waiting)
        if held:
            self.at(held + self.hop_ns, self.arrive, packet, held - self.now > self.mark_ns and packet.tos & 3 != 0, copy, target)
            return
        if waiting > self.queue_limit_ns:
            if copy == 0:
                packet.lost = QUEUE
            return
        if copy == 0 and self.lose(packet, FABRIC_BEHIND):
            return
        marked = waiting > self.mark_ns and packet.tos & 3 != 0
        target.queue_ns = self.now + waiting + self.wire_ns(packet)
        self.at(target.queue_ns + self.hop_ns, self.arrive, packet, marked, copy, target)

    def arrive(self, packet, marked, copy, target):
        if target:
            self.tapped(packet, target, marked, 62, copy)
        target = target or packet.target
        if copy == 0 and self.lose(packet, RECEIVER):
            return
        if packet.damaged:
            packet.lost = packet.lost or "damaged"
            return
        if packet.delivered_ns is None:
            packet.delivered_ns = self.now
        receiver = target.qps.get(packet.qp)
        if receiver:
            receiver(packet, marked)
