# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A seed chooses a kind of traffic and a kind of tap; all else is random, from the same seed.

Seeds from 10000 on are of congestion control, pauses and priorities.
"""
import congestion
import facts
import kinds
import rare
import taps
from fabric import World

TRAFFIC = {**kinds.TRAFFIC, **rare.RARE}
CONGESTION = 10_000


def make(seed):
    """-> (name of the traffic, name of the taps, world). The world has run."""
    all_traffic, all_taps = (congestion.TRAFFIC, congestion.TAPS) if seed >= CONGESTION else (TRAFFIC, taps.TAPS)
    names, kinds_of_taps = list(all_traffic), list(all_taps)
    traffic, tap = names[seed % len(names)], kinds_of_taps[(seed // len(names) + 5 * seed) % len(kinds_of_taps)]
    world = World(seed)
    all_traffic[traffic](world)
    all_taps[tap](world)
    if len(world.taps) == 1 and tap in ("requester", "responder", "middle"):
        world.taps[0].format = world.rng.choice(["pcapng", "pcap us", "pcap ns"])
    world.run(20_000 * taps.MS)
    last = world.packets[-1].sent_ns if world.packets else 0
    for t in world.taps:
        t.events += [(when, text) for host, when, text in world.link_events if host in (t.at, t.second)]
        if t.devices:
            facts.store(t)
        t.finish(last, world.rng)
    world.end_ns = (world.packets[-1].sent_ns if world.packets else 0) + world.rng.choice([0, 1, 50, 400]) * taps.MS + 100_000
    return traffic, tap, world
