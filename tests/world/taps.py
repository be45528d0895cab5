# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kinds of taps: where they are, what they miss, how their files look."""
import facts
import links
import frames as wire
from fabric import Tap

MS = 1_000_000


def one(world, at, **more):
    world.taps.append(Tap("a", at, **more))


def requester(world):
    one(world, world.hosts[0])


def responder(world):
    one(world, world.hosts[1])


def middle(world):
    one(world, None)


def anywhere(world):
    return world.rng.choice([world.hosts[0], world.hosts[1], None])


def one_way(world):
    one(world, anywhere(world), one_way=world.rng.choice(world.hosts[:2]))


def begins(world):
    one(world, anywhere(world), part=(world.rng.uniform(0.02, 0.8), 2))


def ends_early(world):
    one(world, anywhere(world), part=(0, world.rng.uniform(0.2, 0.98)))


def part(world):
    begin = world.rng.uniform(0, 0.6)
    one(world, anywhere(world), part=(begin, begin + world.rng.uniform(0.1, 0.4)))


def infiniband(world):
    """No UDP, no IP: LRH, and GRH between subnets."""
    grh = world.rng.random() < 0.5
    for h in world.hosts:
        h.native = True
        h.use(grh)
    world.mark_ns = 1 << 62
    one(world, world.rng.choice([world.hosts[0], world.hosts[1]]), link=world.rng.choice(["ib", "erf"]), format="pcap ns")


def narrowed(world):
    """Options that choose nothing, or a part."""
    one(world, anywhere(world))
    world.options = world.rng.choice([["--qp", "0xf"], ["--time", "1000-2000"], ["--time", "0.0001-"],
                                      ["--qp", str(world.flows[0].dqp)]])


def misses(world):
    one(world, anywhere(world), loss=world.rng.choice([0.003, 0.02]), loss_burst=world.rng.choice([1, 1, 30]),
        declared=world.rng.random() < 0.4)


def cut(world):
    one(world, anywhere(world), snaplen=world.rng.choice([48, 54, 58, 64, 68, 70, 74, 80, 96, 128, 256]))


def twice(world):
    one(world, world.rng.choice([world.hosts[0], world.hosts[1]]), twice=True)


def merges(world):
    one(world, anywhere(world), jitter_ns=world.rng.choice([1000, 10_000]))


def link(world):
    names = [name for name in links.LINKS if name not in ("ib", "erf", "ethernet", "user", "pvlan")]
    one(world, world.rng.choice(world.hosts[:2]), link=world.rng.choice(names), format=world.rng.choice(["pcap us", "pcap ns", "pcapng"]))


def both(world, **more):
    offset = world.rng.choice([0, world.rng.randint(-10**9, 10**9), world.rng.randint(-10**6, 10**6)])
    world.taps.append(Tap("a", world.hosts[0]))
    world.taps.append(Tap("b", world.hosts[1], offset=offset, **more))


def drift(world):
    both(world, ppm=world.rng.choice([-1, 1]) * world.rng.uniform(5, 40))


def both_miss(world):
    both(world)
    tap = world.rng.choice(world.taps)
    tap.loss, tap.loss_burst = 0.01, world.rng.choice([1, 20])


def both_shifted(world):
    both(world)
    world.taps[0].part = (world.rng.uniform(0, 0.4), 2)
    world.taps[1].part = (0, world.rng.uniform(0.5, 1))


def both_one_way(world):
    both(world)
    world.taps[0].one_way = world.taps[1].one_way = world.hosts[0]


def stripped(world):
    """The adapter removes the VLAN tag of what it receives, before it is captured."""
    one(world, world.hosts[0], link="vlan", bare="a direction", outside=world.hosts[1])


def trailers(world):
    """A mirror appends an FCS, or an FCS and its timestamp, to each frame."""
    one(world, anywhere(world), trailer=world.rng.choice([4, 12, 16]))


def zeroed(world):
    """Payloads were removed for privacy."""
    one(world, anywhere(world), zeroed=True)


def sampled(world):
    """The mirror passes one of some frames only."""
    one(world, anywhere(world), loss=world.rng.choice([0.2, 0.5, 0.9]))


# --- several points, clocks, facts ------------------------------------------------------------

def byte_order(world):
    one(world, anywhere(world), format=world.rng.choice(["pcap us swapped", "pcap ns swapped", "pcapng swapped"]))


def user_link(world):
    """Frames of a link type that has no meaning: RDMA, but nobody can know."""
    one(world, anywhere(world), link="user", format=world.rng.choice(["pcap us", "pcapng"]))


def partly(world):
    """One direction, or some of the QPs, are in a tunnel."""
    kind = world.rng.choice(["a direction", "a flow"])
    one(world, anywhere(world), link=world.rng.choice(["vxlan", "gre", "geneve", "nvgre", "ipip", "erspan"]), bare=kind,
        outside=world.hosts[1])


def merged(world):
    """Captures of both ends in one file, as mergecap makes it."""
    one(world, world.hosts[0], second=world.hosts[1])


def after_nak(world):
    """Begins between a NAK, or a time-out, and the retransmission."""
    one(world, anywhere(world))
    tap = world.taps[0]

    def begin(_):
        times = [p.sent_ns + 1 for p in world.packets if p.syndrome == wire.NAK_SEQUENCE]
        times += [r[0] + 1 for f in world.flows for r in f.rounds]
        return world.rng.choice(times) if times else 0

    tap.from_where = begin


def clock_step(world):
    """The clock is set while the capture runs."""
    one(world, anywhere(world), step=(world.rng.randint(10_000, 2 * MS), world.rng.choice([-1, 1]) * world.rng.choice([30_000, MS, 20 * MS])))


def both_step(world):
    both(world, step=(world.rng.randint(10_000, MS), world.rng.choice([-1, 1]) * world.rng.choice([100_000, 5 * MS])))


def both_overlap(world):
    """Both drift, and run at different times."""
    drift(world)
    world.taps[0].part = (0, world.rng.uniform(0.4, 0.9))
    world.taps[1].part = (world.rng.uniform(0.05, 0.35), 2)


def with_facts(name, early=0, late=None, reset=False):
    """The facts of a host's device: `early` and `late` are when its counters are read, of the usual duration."""
    def make(world):
        one(world, world.hosts[0], declared=True)
        device = facts.Device(world, world.hosts[0], name)
        start = world.rng.randint(20_000, 300_000) if early else 0
        if reset:
            device.reset_ns = start + 1
        facts.plan(world, world.taps[0], [device], start, world.rng.randint(400_000, 2 * MS) if late else None)
    return make


def facts_missed(world):
    """The capture missed frames, and does not say so: the counters show it."""
    with_facts("mlx5_0")(world)
    world.taps[0].loss, world.taps[0].declared = 0.02, False


def facts_merged(world):
    """Captures of both ends in one file, with the facts of both: their devices have the same name."""
    merged(world)
    devices = [facts.Device(world, h, "mlx5_0", i) for i, h in enumerate(world.hosts[:2])]
    devices[1].driver = devices[0].driver
    facts.plan(world, world.taps[0], devices, 0, None)


TAPS = {
    "requester": requester, "responder": responder, "middle": middle, "one way": one_way, "begins late": begins,
    "ends early": ends_early, "a part": part, "infiniband": infiniband, "narrowed": narrowed, "misses": misses, "twice": twice,
    "merges": merges, "cut": cut, "link": link, "both": both, "both drift": drift,
    "both miss": both_miss, "both shifted": both_shifted, "both one way": both_one_way,
    "stripped": stripped, "trailers": trailers, "zeroed": zeroed, "sampled": sampled,
    "byte order": byte_order, "user link": user_link, "partly in a tunnel": partly, "merged": merged, "after a NAK": after_nak,
    "clock step": clock_step, "both step": both_step, "both overlap": both_overlap,
    "facts": with_facts("mlx5_0"), "facts early": with_facts("rxe0", early=1), "facts a part": with_facts("mlx5_0", early=1, late=1),
    "facts reset": with_facts("rxe0", reset=True), "facts missed": facts_missed, "facts merged": facts_merged,
}
