# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kinds of traffic that are rare, and that a reader easily takes for something else."""
import frames as wire
from fabric import FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER, SENDER, Loss
from kinds import MS, basic, hosts, load, lossy, pair, requests, responses
from reliable import ATOMICS
from unreliable import Manager, Unreliable


def whole(flow):
    """Nothing is open."""
    return flow.oldest >= len(flow.entries) and not flow.error


def reused(with_cm):
    """The same QP numbers connect again, with other PSNs."""
    def make(world):
        flow = basic(world)
        flow.cm = flow.peer.cm = with_cm
        gap = world.rng.choice([1, 30, 400]) * MS

        def begin(times):
            if times and not (whole(flow) and whole(flow.peer)):
                world.after(MS, begin, times)
                return
            if times:
                flow.renew()
                flow.peer.renew()
            start = world.now + 1000
            if with_cm:
                world.after(1000, Manager(world, flow, flow.peer).connect)
                start += 200_000
            load(world, flow, world.rng.choice(["write", "mixed", "plain"]), 25, start=start)
            if times < 2:
                world.at(start + 2 * MS + gap, begin, times + 1)

        begin(0)
        if world.rng.random() < 0.4:
            world.losses.append(Loss(FABRIC_BEHIND, 0.01, requests))
    return make


def credits(world):
    """The responder counts its receives in the ACKs; the requester may run out of them."""
    flow = basic(world, credits=world.rng.choice([1, 2, 4, 16]), repost_ns=world.rng.choice([2000, 20_000, 100_000]))
    load(world, flow, "send", 60, depth=8, sizes=[64, 1024, 4096])


def acks_twice(world):
    """The responder repeats ACKs: other packets, not copies."""
    flow = basic(world, ack_twice=world.rng.choice([0.05, 0.5, 1.0]))
    load(world, flow, world.rng.choice(["write", "plain", "mixed"]), 60)
    if world.rng.random() < 0.4:
        world.losses.append(Loss(FABRIC_BEHIND, 0.01, requests))


def not_ready_reads(world):
    """RNR NAKs among READs and atomics."""
    flow = basic(world, rnr_code=world.rng.randint(1, 14))
    wait = wire.RNR_US[flow.rnr_code] * 1000
    flow.unready = [(100_000 + i * 3 * MS, 100_000 + i * 3 * MS + wait * 2) for i in range(3)]
    load(world, flow, "mixed", 150, sizes=[64, 1024, 4096], think=20_000)


def selective_sends(world):
    flow = basic(world, receiver="selective", keeps_sends=True)
    load(world, flow, "plain", 60, sizes=[4096, 16384])
    world.losses.append(Loss(world.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER]), 0.01, requests))


def atomics_lost(world):
    flow = basic(world)
    rng = world.rng
    wanted = rng.choice([lambda p: p.opcode == wire.ATOMIC_ACK, lambda p: p.opcode in ATOMICS])
    verbs = ["add", "swap", "write"]
    left = [100]

    def one(*_):
        if left[0] and not flow.error:
            left[0] -= 1
            flow.post(rng.choice(verbs), 8)

    flow.at_end = lambda _flow, _message: world.after(0, one)
    for _ in range(4):
        world.at(1000, one)
    world.losses.append(Loss(rng.choice([FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER]), 0.04, wanted))


def damaged_headers(world):
    flow = basic(world)
    load(world, flow, "plain", 90)
    world.losses.append(Loss(world.rng.choice([SENDER, FABRIC_BEFORE, FABRIC_BEHIND]), 0.01,
                             lambda p: p.kind in ("request", "response"), damage="header"))


def idle(lost):
    """Seconds without a packet, between bursts."""
    def make(world):
        flow = basic(world)
        for i in range(3):
            load_again(world, flow, 1000 + i * world.rng.randint(1500, 6000) * MS)
        if lost:
            world.losses.append(Loss(world.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND]), 0.02, requests))
    return make


def load_again(world, flow, start):
    world.at(start, lambda: load(world, flow, "plain", 30, start=world.now))


def alternate(world):
    """Two UDP source ports in turn, and two paths that differ."""
    flow = basic(world, receiver=world.rng.choice(["in order", "any order"]), port_rule="alternate")
    world.path_ns = world.rng.choice([0, 300, 3000])
    load(world, flow, "write", 50, sizes=[4096, 16384])


def wrong_keys(world):
    a, b = hosts(world)
    flow = Unreliable(world, a, b, world.rng.randrange(16, 1 << 24), world.rng.randrange(16, 1 << 24), wire.UD)
    flow.wrong = world.rng.choice([(0, 20), (60, 90), (0, 150)])
    for i in range(150):
        flow.post("send", world.rng.choice([64, 500]), 1000 + i * 40_000)


def multicast(loss):
    def make(world):
        everyone = hosts(world, 3)
        group = world.host(everyone[0].six, everyone[0].ids).gather(
            everyone if world.rng.random() < 0.6 else everyone[1:])
        world.hosts.remove(group)
        flow = Unreliable(world, everyone[0], group, world.rng.randrange(16, 1 << 24), 0xFFFFFF, wire.UD)
        for i in range(150):
            flow.post("send", world.rng.choice([64, 500]), 1000 + i * 20_000)
        other = pair(world, everyone[0], everyone[1])
        load(world, other, "write", 20)
        if loss:
            world.losses.append(Loss(FABRIC_BEFORE, loss, requests))
    return make


def link_down(world):
    """All is lost at one port for some time; its host notices."""
    flow = basic(world, timeout_ns=world.rng.choice([4, 16]) * MS)
    host = world.rng.choice([flow.source, flow.target])
    begin, length = 300_000, world.rng.choice([5, 20, 60, 200]) * MS
    for place, mine in ((SENDER, lambda p: p.source is host), (FABRIC_BEHIND, lambda p: p.target is host)):
        world.losses.append(Loss(place, 1.0, mine, start=begin, end=begin + length))
    world.link_events = [(host, begin, "port down"), (host, begin + length, "port up")]
    load(world, flow, "plain", 250, 2, think=20_000)
    load(world, flow.peer, "plain", 60, 1, think=100_000)


def to_itself(world):
    """Both QPs are of one host: its adapter gives the packets back, and they are captured once."""
    a, _ = hosts(world)
    flow = pair(world, a, a)
    load(world, flow, world.rng.choice(["write", "mixed"]), 50)
    load(world, flow.peer, "plain", 20)


RARE = {
    "reused": reused(False), "reused, CM": reused(True), "credits": credits, "ACKs twice": acks_twice,
    "not ready, reads": not_ready_reads, "selective sends": selective_sends, "atomics lost": atomics_lost,
    "damaged headers": damaged_headers, "idle": idle(False), "idle, lost": idle(True), "alternate ports": alternate,
    "wrong keys": wrong_keys, "multicast": multicast(0), "multicast lost": multicast(0.03), "link down": link_down,
    "to itself": to_itself,
    "lost responses of READs": lossy([FABRIC_BEFORE, FABRIC_BEHIND], 0.02, "read", responses),
}
