# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Congestion control, pauses and priorities: kinds of traffic and of taps of their own.

Pauses are of single links: the frames are seen there only, and stop the port at the other end.
"""
import bisect

import facts
from fabric import FABRIC_BEHIND, Host, Loss, Packet, Tap
from kinds import basic, hosts, load, pair, requests

MS, US = 1_000_000, 1000
LONG = 600 * MS                  # of a timer: pauses are no reason to retransmit


class Pauser:
    """Sends pause frames on the link of `host`. They stop the host, or the switch's port to it (`to_it`)."""

    def __init__(self, world, host, to_it, classes):
        self.world, self.host, self.to_it, self.classes = world, host, to_it, classes
        # A switch's port has a MAC of its own.
        self.sender = host if to_it else Host(0x7700 + host.number, False, "zero")
        self.intervals, self.starts = [], []
        self.sent = []           # (time, quanta)
        world.pausers.append(self)

    def mac(self):
        return ":".join("%02x" % b for b in self.sender.mac)

    def quantum_ns(self):
        return 512 / self.world.gbps

    def stops(self, packet):
        return self.classes is None or packet.tos >> 5 in self.classes

    def until(self, when):
        at = bisect.bisect_right(self.starts, when) - 1
        return self.intervals[at][1] if at >= 0 and when < self.intervals[at][1] else when

    def frame(self, when, quanta):
        if self.classes is None:
            body = b"\0\1" + quanta.to_bytes(2, "big")
        else:
            body = b"\1\1\0" + bytes([sum(1 << c for c in self.classes)])
            body += b"".join((quanta if c in self.classes else 0).to_bytes(2, "big") for c in range(8))
        self.sent.append((when, quanta))
        self.world.at(when, self.emit, body.ljust(46, b"\0"))

    def emit(self, body):
        w = self.world
        p = Packet(None, "pause", self.sender, self.host, None, 0, 0, body, data=0)
        p.sent_ns, p.tos, p.number, p.sport, p.ident = w.now, 0, len(w.packets), 0, 0
        w.packets.append(p)
        for tap in w.taps:
            if tap.at is self.host and tap.pauses:
                tap.see(w.now, p, False, 64, 0, w.rng)

    def pause(self, start, length, resumes):
        """Stops it for `length` ns: repeated in time, and ended by a frame or by itself."""
        longest = 65535 * self.quantum_ns()
        at, end = start, start + length
        while True:
            last = end - at <= longest / 2
            quanta = 65535 if resumes or not last else max(1, int((end - at) / self.quantum_ns()))
            self.frame(at, quanta)
            if last:
                break
            at += int(longest / 2)
        if resumes:
            self.frame(end, 0)
        else:
            end = at + int(quanta * self.quantum_ns())
        self.intervals.append((start + 300, end + 300))
        self.starts.append(start + 300)

    def many(self, start, count, length, gap, resumes=True):
        for _ in range(count):
            n = int(length * self.world.rng.uniform(0.6, 1.4))
            self.pause(start, n, resumes)
            start += n + int(gap * self.world.rng.uniform(0.6, 1.4))


# --- congestion notifications -----------------------------------------------------------------

def again(world, flow, count):
    load(world, flow, "write", count, depth=8, sizes=[16384, 65536], start=world.now + 1000)


def dcqcn(share=1.0, **more):
    """Senders that share a port; DCQCN slows them down."""
    def make(world):
        rng = world.rng
        everyone = hosts(world, rng.randint(2, 3) + 1)
        world.mark_ns = 12_000
        for h in everyone[1:]:
            flow = pair(world, h, everyone[0], timeout_ns=LONG, window=rng.choice([16, 64]),
                        cnp_delay_ns=rng.randint(1000, 12_000), cnp_tos=48 << 2, **more)
            flow.port_rule = flow.peer.port_rule = "linux"
            for burst in range(3):
                world.at(burst * 5 * MS + rng.randrange(300_000), again, world, flow, int(20 * share))
    return make


def slow_notifications(world):
    dcqcn(cnp_gap_ns=world.rng.choice([4000, 50_000]))(world)
    delay = world.rng.randint(300, 900) * US
    for f in world.flows:
        f.cnp_delay_ns = delay


def lost_notifications(world):
    dcqcn()(world)
    world.losses.append(Loss(FABRIC_BEHIND, 0.5, lambda p: p.kind == "cnp"))


# --- pauses -----------------------------------------------------------------------------------

def busy(world, verbs="write", **more):
    flow = basic(world, timeout_ns=LONG, **more)
    load(world, flow, verbs, 250, depth=8, sizes=[4096, 16384])
    return flow


def from_receiver(classes, place=True, resumes=True):
    """The receiver stops the switch's port, or the switch the sender (`place` False)."""
    def make(world):
        flow = busy(world)
        pauser = Pauser(world, flow.target if place else flow.source, place, classes)
        pauser.many(100_000, world.rng.randint(6, 20), world.rng.choice([30, 60, 150]) * US, world.rng.choice([60, 100]) * US, resumes)
        world.link_of_pauses = pauser.host
    return make


def reader(world):
    """The responses of READs are held back."""
    flow = basic(world, timeout_ns=LONG)
    load(world, flow, "read", 120, depth=8, sizes=[4096, 16384])
    pauser = Pauser(world, flow.source, True, {3})
    pauser.many(100_000, 12, 80 * US, 80 * US)
    world.link_of_pauses = pauser.host


def storm(world):
    """A pause that is repeated for many milliseconds."""
    flow = busy(world)
    pauser = Pauser(world, flow.target, True, {3})
    pauser.pause(150_000, world.rng.randint(30, 90) * MS, world.rng.random() < 0.5)
    world.link_of_pauses = pauser.host


def another_class(world):
    """The pauses are of a priority that the traffic does not use; the receiver is slow by itself."""
    flow = busy(world)
    flow.delay_ns = world.rng.randint(20, 60) * US
    pauser = Pauser(world, flow.target, True, {5})
    pauser.many(100_000, 20, 100 * US, 60 * US)
    world.link_of_pauses = pauser.host


def one_of_two(world):
    """Two QPs of different priorities: one of them is paused."""
    flow = busy(world)
    other = pair(world, flow.source, flow.target, tos=8 << 2 | 2, timeout_ns=LONG)
    load(world, other, "write", 250, depth=8, sizes=[4096, 16384])
    pauser = Pauser(world, flow.target, True, {3})
    pauser.many(100_000, 12, 100 * US, 80 * US)
    world.link_of_pauses = pauser.host


def idle_sender(world):
    """Little traffic, with pauses of its own that have nothing to do with those of the link."""
    flow = basic(world, timeout_ns=LONG)
    load(world, flow, "write", 200, depth=1, sizes=[64, 1024], think=world.rng.choice([80, 200, 500]) * US)
    pauser = Pauser(world, flow.target, True, {5})
    pauser.many(50_000, 60, 60 * US, 100 * US)
    world.link_of_pauses = pauser.host


# --- priorities -------------------------------------------------------------------------------

def other_dscp(world):
    flow = basic(world, answer_tos=world.rng.choice([0, 10, 46]) << 2 | 2, cnp_tos=48 << 2)
    load(world, flow, world.rng.choice(["write", "read", "mixed"]), 100)


def rewritten(world):
    """The switch clears the DSCP of what the receiver sends, or of all."""
    flow = basic(world)
    load(world, flow, world.rng.choice(["write", "read", "mixed"]), 100)
    every = world.rng.random() < 0.4
    world.rewrite = lambda p: 2 if every or p.source is flow.target else p.tos


def same_dscp(world):
    """CNPs, and only they, have another DSCP; the application of another QP uses another one."""
    world.mark_ns = 8000
    flow = basic(world, cnp_tos=48 << 2)
    load(world, flow, "write", 100, depth=8)
    load(world, flow.peer, "plain", 60)
    other = pair(world, flow.source, flow.target, tos=10 << 2 | 2)
    other.answer_tos = other.tos
    load(world, other, "write", 60)
    world.losses.append(Loss(FABRIC_BEHIND, world.rng.choice([0, 0.005]), requests))


TRAFFIC = {
    "DCQCN": dcqcn(), "DCQCN, ignored": dcqcn(0.5, obeys_cnps=False), "DCQCN, slow CNPs": slow_notifications,
    "DCQCN, CNPs lost": lost_notifications,
    "PFC of the receiver": from_receiver({3}), "PFC of the switch": from_receiver({3}, False), "PFC without resume": from_receiver({3, 4}, True, False),
    "pause of all": from_receiver(None), "PFC storm": storm, "PFC, another class": another_class, "PFC, one of two": one_of_two,
    "PFC, little traffic": idle_sender, "PFC, READs": reader,
    "other DSCP": other_dscp, "DSCP rewritten": rewritten, "same DSCP": same_dscp,
}


# --- taps -------------------------------------------------------------------------------------

def place_of(world):
    return getattr(world, "link_of_pauses", None) or world.rng.choice(world.hosts[:2])


def at_link(**more):
    def make(world):
        world.taps.append(Tap("a", place_of(world), speed=int(world.gbps * 1e9), declared=True, **more))
    return make


def unknown_speed(world):
    world.taps.append(Tap("a", place_of(world), format=world.rng.choice(["pcap ns", "pcapng"])))


def other_end(world):
    at = place_of(world)
    world.taps.append(Tap("a", world.hosts[1] if at is world.hosts[0] else world.hosts[0], speed=int(world.gbps * 1e9)))


def middle(world):
    world.taps.append(Tap("a", None))


def misses(world):
    at_link(loss=world.rng.choice([0.003, 0.03]))(world)
    world.taps[0].declared = world.rng.random() < 0.5


def sampled(world):
    at_link(loss=world.rng.choice([0.5, 0.9]))(world)
    world.taps[0].declared = False


def one_way(world):
    at_link(one_way=world.rng.choice(world.hosts[:2]))(world)


def part(world):
    begin = world.rng.uniform(0.05, 0.5)
    at_link(part=(begin, begin + world.rng.uniform(0.1, 0.4)))(world)


def both(world):
    world.taps += [Tap("a", world.hosts[0], speed=int(world.gbps * 1e9)),
                   Tap("b", world.hosts[1], speed=int(world.gbps * 1e9), offset=world.rng.randint(-10**6, 10**6))]


def with_facts(world):
    at = place_of(world)
    world.taps.append(Tap("a", at, declared=True, speed=int(world.gbps * 1e9)))
    device = facts.Device(world, at, "mlx5_0")
    device.pfc = world.rng.choice([[3], [3, 5], [5], []])
    facts.plan(world, world.taps[0], [device], 0, None)


TAPS = {
    "at the link": at_link(), "pauses unseen": at_link(pauses=False), "tagged": at_link(link="pvlan"), "unknown speed": unknown_speed,
    "other end": other_end, "middle": middle, "misses": misses, "sampled": sampled, "one way": one_way, "a part": part, "cut": at_link(snaplen=80),
    "merges": at_link(jitter_ns=3000), "both": both, "facts": with_facts,
}
