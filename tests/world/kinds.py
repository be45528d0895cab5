# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kinds of traffic: all else is random, from the seed."""
import frames as wire
from fabric import FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER, SENDER, Loss
from reliable import Flow
from unreliable import Manager, Unreliable, pause_frame, strangers

MS = 1_000_000
VERBS = {"write": ["write"], "send": ["send"], "read": ["read"], "mixed": ["write", "send", "read", "add", "swap"],
         "plain": ["write", "send"]}
SIZES = [8, 64, 200, 1024, 4096, 8192, 16384]


def hosts(world, count=2):
    ids = world.rng.choice(["count", "count", "zero", "random"])
    six = world.rng.random() < 0.2
    return [world.host(six, ids) for _ in range(count)]


def pair(world, a, b, **more):
    """Both flows of a connection; only the first has traffic unless the caller loads the other."""
    rng = world.rng
    qa, qb = rng.randrange(16, 1 << 24), rng.randrange(16, 1 << 24)
    rule = rng.choice(["linux", "linux", "own"])
    common = dict(port_rule=rule, mtu=rng.choice([1024, 1024, 256]))
    common.update(more)
    there = Flow(world, a, b, qa, qb, **common)
    back = Flow(world, b, a, qb, qa, port_rule=common["port_rule"], mtu=common["mtu"])
    back.timeout_ns = there.timeout_ns
    there.peer, back.peer = back, there
    return there


def load(world, flow, verbs="mixed", count=60, depth=4, sizes=None, start=1000, think=0):
    """Keeps `depth` messages open until `count` are posted."""
    rng, left = world.rng, [count]

    def one():
        if left[0] > 0 and not flow.error:
            left[0] -= 1
            verb = rng.choice(VERBS[verbs])
            flow.post(verb, 8 if verb in ("add", "swap") else rng.choice(sizes or SIZES))

    def ended(_flow, _message):
        world.after(rng.randrange(think) if think else 0, one)

    flow.at_end = ended
    for _ in range(min(depth, count)):
        world.at(start, one)


def requests(p):
    return p.kind == "request"


def responses(p):
    return p.kind == "response"


# --- traffic ---------------------------------------------------------------------------------

def basic(world, **more):
    a, b = hosts(world)
    flow = pair(world, a, b, **more)
    return flow


def with_cm(world, flow, start):
    """Some connections are made by the CM, within the capture."""
    if world.rng.random() < 0.4:
        flow.cm = flow.peer.cm = True
        manager = Manager(world, flow, flow.peer)
        world.at(1000, manager.connect)
        return start + 200_000
    return start


def clean(world):
    flow = basic(world)
    start = with_cm(world, flow, 1000)
    load(world, flow, world.rng.choice(list(VERBS)), 80, start=start)
    if world.rng.random() < 0.4:
        load(world, flow.peer, "plain", 40, start=start)


def lossy(place, share=0.01, verbs=None, wanted=None, burst=1, **more):
    def make(world):
        flow = basic(world, **more)
        start = with_cm(world, flow, 1000)
        load(world, flow, verbs or world.rng.choice(list(VERBS)), 90, start=start)
        where = place if isinstance(place, str) else world.rng.choice(place)
        world.losses.append(Loss(where, share, wanted or (lambda p: p.kind in ("request", "response")), burst))
    return make


def first_moment(world):
    """Loss in the first millisecond only."""
    flow = basic(world)
    load(world, flow, "write", 100, start=1000)
    world.losses.append(Loss(FABRIC_BEHIND, 0.1, requests, start=0, end=MS, most=6))


def spray(receiver, loss=0.0, share=1.0):
    def make(world):
        flow = basic(world, receiver=receiver)
        flow.port_rule = world.rng.choice(["linux", "own", "spray"])
        world.spray_ns = world.rng.randint(1000, 6000)
        world.spray_share = share
        load(world, flow, "write", 60, sizes=[4096, 16384, 32768])
        if loss:
            world.losses.append(Loss(FABRIC_BEHIND, loss, requests))
    return make


def selective(world):
    flow = basic(world, receiver="selective")
    load(world, flow, "write", 60, sizes=[4096, 16384])
    world.losses.append(Loss(world.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER, SENDER]), 0.01, requests))


def incast(world):
    senders = world.rng.randint(4, 10)
    everyone = hosts(world, senders + 1)
    limit = world.rng.choice([1 << 62, 60_000])
    world.mark_ns, world.queue_limit_ns = 15_000, limit
    notify = world.rng.random() < 0.75
    for h in everyone[1:]:
        flow = pair(world, h, everyone[0], notify=notify, mtu=1024)
        load(world, flow, "write", 8, sizes=[16384, 32768], start=1000 + world.rng.randrange(20_000))


def not_ready(gives_up):
    def make(world):
        flow = basic(world, rnr_code=world.rng.randint(1, 16), rnr_retries=3 if gives_up else 7)
        start = 200_000
        wait = wire.RNR_US[flow.rnr_code] * 1000
        flow.unready = [(start, start + wait * (30 if gives_up else world.rng.randint(1, 4)))]
        load(world, flow, "plain", 200, sizes=[64, 1024, 2048], think=6000)
        other = pair(world, flow.source, flow.target)
        load(world, other, "write", 30, 1, sizes=[64], think=2 * MS)
    return make


def refused(world):
    code = world.rng.choice([wire.NAK_INVALID, wire.NAK_ACCESS, wire.NAK_OPERATIONAL])
    flow = basic(world, fatal_at=30, fatal_code=code)
    load(world, flow, "plain", 60)
    other = pair(world, flow.source, flow.target)
    load(world, other, "write", 30, 1, sizes=[64], think=MS)


def dies(world):
    flow = basic(world, timeout_ns=world.rng.choice([1, 4]) * MS, retries=world.rng.choice([3, 7]))
    flow.dies_ns = flow.peer.dies_ns = 300_000
    load(world, flow, "plain", 200)
    if world.rng.random() < 0.5:
        other = pair(world, flow.source, flow.target)
        load(world, other, "write", 60, 1, sizes=[64], think=2 * MS)


def early(world):
    """The requester's adaptive timer fires before slow responses arrive; nothing is lost."""
    flow = basic(world, early=True, timeout_ns=400_000)
    flow.delay_ns = world.rng.randint(30_000, 120_000)
    load(world, flow, "plain", 40, 1, sizes=[64, 1024, 4096])


def reads(world):
    wanted = world.rng.choice([responses, requests, lambda p: p.opcode in (12, 13, 14, 15, 16, 18)])
    place = world.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER, SENDER])
    lossy(place, 0.015, "read", wanted)(world)


def answers(world):
    lossy([FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER], 0.03, "plain", responses)(world)


def damage(world):
    flow = basic(world)
    load(world, flow, "write", 90)
    world.losses.append(Loss(world.rng.choice([SENDER, FABRIC_BEFORE, FABRIC_BEHIND]), 0.01, requests, damage="payload"))


def doubled(world):
    flow = basic(world)
    load(world, flow, world.rng.choice(["write", "read"]), 60)
    world.double, world.double_before = 0.02, world.rng.random() < 0.5


def paused(world):
    """Pause frames stop all ports; timers are long enough."""
    flow = basic(world, timeout_ns=600 * MS)
    others = [pair(world, flow.source, flow.target, timeout_ns=600 * MS) for _ in range(3)]
    for f in [flow] + others:
        load(world, f, "plain", 25, 2)
    for i in range(5):
        world.at(50_000 + 1000 * i, pause_frame, world, flow.target, flow.source, 65535)
    world.pauses = [(60_000, 60_000 + world.rng.randint(60, 150) * MS)]


def slow_host(world):
    """One response takes a third of a second; nothing is lost, and no timer fires."""
    flow = basic(world, timeout_ns=900 * MS)
    load(world, flow, "write", 60, 1, sizes=[64, 4096])

    def slow(delay):
        flow.delay_ns = delay

    world.at(80_000, slow, world.rng.randint(250, 400) * MS)
    world.at(90_000, slow, flow.delay_ns)


def long_timer(world):
    flow = basic(world, timeout_ns=world.rng.choice([550, 700]) * MS)
    load(world, flow, "write", 60, 1, sizes=[64])
    world.losses.append(Loss(world.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER]), 0.05, most=2))


def all_at_once(world):
    """A little of everything."""
    flow = basic(world, early=world.rng.random() < 0.3)
    load(world, flow, "mixed", 80)
    load(world, flow.peer, "plain", 40)
    for place in (SENDER, FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER):
        world.losses.append(Loss(place, world.rng.choice([0, 0.004]), lambda p: p.kind != "mad"))
    world.double, world.double_before = world.rng.choice([0, 0.005]), world.rng.random() < 0.5
    world.spray_ns, world.spray_share = 4000, world.rng.choice([0, 0.01])


def many_peers(world):
    """A UD queue pair that sends to several: each of them sees gaps in its PSNs."""
    everyone = hosts(world, 4)
    source = world.rng.randrange(16, 1 << 24)
    flows = [Unreliable(world, everyone[0], h, source, world.rng.randrange(16, 1 << 24), wire.UD, qkey=0x11 * n)
             for n, h in enumerate(everyone[1:], 1)]
    for i in range(200):
        f = world.rng.choice(flows)
        f.post("send", world.rng.choice([64, 500]), 1000 + i * 20_000)
        for g in flows:
            g.psn = f.psn


def unreliable(transport, loss):
    def make(world):
        a, b = hosts(world)
        flow = Unreliable(world, a, b, world.rng.randrange(16, 1 << 24), world.rng.randrange(16, 1 << 24), transport)
        for i in range(150):
            size = world.rng.choice(SIZES if transport == wire.UC else [64, 500, 1024])
            flow.post(world.rng.choice(["send", "write"]) if transport == wire.UC else "send", size, 1000 + i * 40_000)
        if loss:
            world.losses.append(Loss(world.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND, SENDER]), loss, requests))
    return make


def connection(answer, repeats):
    def make(world):
        flow = basic(world)
        manager = Manager(world, flow, flow.peer, answer=answer, repeats=repeats)
        world.at(1000, manager.connect)
        other = pair(world, flow.source, flow.target)
        load(world, other, "write", 40, 1, sizes=[64], think=4 * MS)
    return make


def closed(world):
    """Connected, used and disconnected by the CM."""
    flow = basic(world)
    flow.cm = flow.peer.cm = True
    manager = Manager(world, flow, flow.peer)
    world.at(1000, manager.connect)
    load(world, flow, "mixed", 50, start=200_000)
    world.at(30 * MS, manager.disconnect)


def foreign(world):
    flow = basic(world)
    if world.rng.random() < 0.6:
        load(world, flow, "plain", 50)
    strangers(world, flow.source, flow.target, 60, 5 * MS, world.rng.choice([wire.PORT, wire.PORT, 53]))
    strangers(world, flow.target, flow.source, 20, 5 * MS, 53)


def sparse(place):
    """A burst, then seconds of little traffic."""
    def make(world):
        flow = basic(world)
        load(world, flow, "write", 60, 8, sizes=[4096, 16384])
        slow = pair(world, flow.target, flow.source)
        load(world, slow, "plain", 30, 1, sizes=[64, 1024], think=200 * MS)
        if place:
            world.losses.append(Loss(place, 0.03, requests, end=5 * MS))
    return make


TRAFFIC = {
    "clean": clean,
    "lost upstream": lossy(FABRIC_BEFORE, 0.01), "lost downstream": lossy(FABRIC_BEHIND, 0.01),
    "lost in sender": lossy(SENDER, 0.01), "lost in receiver": lossy(RECEIVER, 0.01),
    "bursts of loss": lossy([FABRIC_BEFORE, FABRIC_BEHIND], 0.004, "write", burst=8),
    "first moment": first_moment,
    "sprayed": spray("any order"), "sprayed a little": spray("any order", share=0.05),
    "sprayed, in order": spray("in order", share=0.02), "sprayed, lost": spray("any order", 0.004),
    "selective": selective, "incast": incast,
    "not ready": not_ready(False), "never ready": not_ready(True), "refused": refused, "dies": dies,
    "early timers": early, "reads lost": reads, "answers lost": answers,
    "damaged": damage, "doubled": doubled,
    "UC": unreliable(wire.UC, 0), "UC lost": unreliable(wire.UC, 0.02),
    "UD": unreliable(wire.UD, 0), "UD lost": unreliable(wire.UD, 0.02),
    "rejected": connection("reject", 0), "unanswered": connection("silent", 4), "closed": closed,
    "foreign": foreign, "paused": paused, "slow host": slow_host, "long timer": long_timer,
    "all at once": all_at_once, "several peers": many_peers, "sparse": sparse(None), "sparse, lost": sparse(FABRIC_BEHIND),
    "sparse, lost in sender": sparse(SENDER),
}
