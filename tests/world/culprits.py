# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Traffic with one fault or one slow party at a named place, and what a tap can know of the place.

`world.culprit` is (what happened, its place, the host that this place belongs to, the sender of the requests).
"""
import facts
import frames as wire
from fabric import FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER, SENDER, Loss, Tap
from kinds import MS, basic, hosts, load, pair, requests, responses

HOST_S, NIC_S, FABRIC, NIC_R, HOST_R = "sender_host", "sender_nic", "fabric", "receiver_nic", "receiver_host"
ORDER = [HOST_S, NIC_S, FABRIC, NIC_R, HOST_R]
PLACE = {SENDER: NIC_S, FABRIC_BEFORE: FABRIC, FABRIC_BEHIND: FABRIC, RECEIVER: NIC_R}
BACK = {SENDER: NIC_R, FABRIC_BEFORE: FABRIC, FABRIC_BEHIND: FABRIC, RECEIVER: NIC_S}
STRAY_NS = 20_000_000         # no path holds a packet longer, not even one between virtual machines


def blame(world, what, place, flow, host=None):
    world.culprit = (what, place, (host or (flow.source if place in (HOST_S, NIC_S) else flow.target)), flow)


def lost(where, back=False):
    """Requests, or responses, are lost at one place."""
    def make(world):
        flow = basic(world, timeout_ns=4 * MS)
        load(world, flow, "read" if back else "write", 150, 4, sizes=[4096, 16384])
        wanted = (lambda p: p.kind == "response" and wire.READ_FIRST <= p.opcode <= wire.READ_ONLY) if back else requests
        world.losses.append(Loss(where, 0.012, wanted))
        blame(world, "lost", (BACK if back else PLACE)[where], flow)
        world.culprit_side = (where, back)
    return make


def damaged(where):
    def make(world):
        flow = basic(world)
        load(world, flow, "write", 150, 4, sizes=[4096, 16384])
        world.losses.append(Loss(where, 0.01, requests, damage="payload"))
        blame(world, "damaged", PLACE[where], flow)
        world.culprit_side = (where, False)
    return make


def slow_requester(think):
    """An application that has nothing to send."""
    def make(world):
        flow = basic(world)
        load(world, flow, "plain", 60, 1, sizes=[64, 4096], think=think)
        blame(world, "slow", HOST_S, flow)
    return make


def slow_responder(verbs):
    """The adapter of the receiver takes long for each response."""
    def make(world):
        flow = basic(world, timeout_ns=60 * MS, delay_ns=world.rng.randint(100, 400) * 1000)
        load(world, flow, verbs, 60, 2, sizes=[64, 1024])
        blame(world, "slow", NIC_R, flow)
    return make


def slow_fabric(world):
    """A long path."""
    world.hop_ns = world.rng.randint(60, 150) * 1000
    flow = basic(world, timeout_ns=60 * MS)
    load(world, flow, "write", 60, 2, sizes=[64, 1024])
    blame(world, "slow", FABRIC, flow)


def slow_sender_nic(world):
    """The requester's adapter sends its packets far below the rate of the link."""
    flow = basic(world, mtu=1024)
    flow.rate = world.rng.choice([0.2, 0.5])
    load(world, flow, "write", 40, 2, sizes=[32768, 65536])
    blame(world, "slow", NIC_S, flow)


def slow_receiver_nic(world):
    """The responder's adapter sends READ responses far below the rate of the link."""
    flow = basic(world, mtu=1024, timeout_ns=60 * MS)
    flow.pace_ns = world.rng.choice([20_000, 40_000])
    load(world, flow, "read", 40, 1, sizes=[32768, 65536])
    blame(world, "slow", NIC_R, flow)


def slow_service(world):
    """A request in a SEND, and a reply in a SEND of the other side, after long work there."""
    flow = basic(world)
    left = [50]
    work = world.rng.randint(30, 60) * MS

    def ask():
        if left[0]:
            left[0] -= 1
            flow.post("send", 256)

    flow.at_end = lambda _f, _m: world.after(work, flow.peer.post, "send", 512)
    flow.peer.at_end = lambda _f, _m: world.after(2000, ask)
    world.at(1000, ask)
    blame(world, "slow", HOST_R, flow)


def not_ready(world):
    flow = basic(world, rnr_code=world.rng.randint(4, 16), rnr_retries=7)
    wait = wire.RNR_US[flow.rnr_code] * 1000
    flow.unready = [(t, t + 2 * wait) for t in range(100_000, 100_000 + 200 * wait, 8 * wait)]
    load(world, flow, "send", 150, 2, sizes=[64, 1024, 2048], think=6000)
    blame(world, "not ready", HOST_R, flow)


def refused(world):
    flow = basic(world, fatal_at=30, fatal_code=world.rng.choice([wire.NAK_INVALID, wire.NAK_ACCESS]))
    load(world, flow, "plain", 60)
    blame(world, "refused", world.rng.choice([HOST_S, HOST_R]), flow)


def dies(world):
    flow = basic(world, timeout_ns=4 * MS, retries=7)
    flow.dies_ns = flow.peer.dies_ns = 300_000
    load(world, flow, "plain", 200)
    other = pair(world, flow.source, flow.target)
    load(world, other, "write", 60, 1, sizes=[64], think=4 * MS)
    blame(world, "dies", HOST_R, flow)


def incast(world):
    """Many senders at once to one receiver: its switch port marks, or drops."""
    everyone = hosts(world, world.rng.randint(6, 10) + 1)
    world.mark_ns, world.queue_limit_ns = 15_000, world.rng.choice([1 << 62, 60_000])
    for h in everyone[1:]:
        flow = pair(world, h, everyone[0], mtu=1024)
        load(world, flow, "write", 8, sizes=[16384, 32768], start=1000 + world.rng.randrange(20_000))
    world.hosts[0], world.hosts[1] = everyone[1], everyone[0]
    blame(world, "incast", FABRIC, flow, everyone[0])


def healthy(world):
    flow = basic(world)
    load(world, flow, world.rng.choice(["write", "send", "read"]), 80)
    world.culprit = None


CULPRITS = {
    "lost in the sender's NIC": lost(SENDER), "lost upstream of the middle": lost(FABRIC_BEFORE),
    "lost downstream of the middle": lost(FABRIC_BEHIND), "lost in the receiver's NIC": lost(RECEIVER),
    "responses lost in the receiver's NIC": lost(SENDER, True), "responses lost downstream of the middle": lost(FABRIC_BEHIND, True),
    "responses lost upstream of the middle": lost(FABRIC_BEFORE, True), "responses lost in the sender's NIC": lost(RECEIVER, True),
    "damaged in the sender's NIC": damaged(SENDER), "damaged upstream of the middle": damaged(FABRIC_BEFORE),
    "slow requester": slow_requester(200_000), "idle requester": slow_requester(100 * MS),
    "slow responder": slow_responder("write"), "slow reads": slow_responder("read"), "slow fabric": slow_fabric,
    "slow sender NIC": slow_sender_nic, "slow receiver NIC": slow_receiver_nic, "slow service": slow_service,
    "not ready": not_ready, "refused": refused, "dies": dies, "incast": incast, "healthy": healthy,
}


# --- taps ------------------------------------------------------------------------------------

def tap(at, known):
    """`known`: the file has the facts of the host's device, so that a reader knows where it was captured."""
    def make(world):
        where = world.hosts[at] if at is not None else None
        world.taps.append(Tap("a", where, declared=True))
        if known:
            device = facts.Device(world, where, "mlx5_0")
            device.speed = int(world.gbps * 1e9)
            facts.plan(world, world.taps[-1], [device], 0, None)
    return make


def missing(world):
    """A mirror port that drops, and does not say so."""
    world.taps.append(Tap("a", None, loss=0.004))


def direction(world):
    world.taps.append(Tap("a", world.rng.choice([world.hosts[0], world.hosts[1], None]), one_way=world.rng.choice(world.hosts[:2])))


TAPS = {"sender's port, known": tap(0, True), "receiver's port, known": tap(1, True), "sender's port": tap(0, False),
        "receiver's port": tap(1, False), "middle": tap(None, False), "a mirror that drops": missing, "one direction": direction}
FAIR = list(TAPS)[:5]         # from these, what can be known must be said


def both(known=True, ppm=0.0, misses=None):
    """Captures at both ports, with clocks of their own; `misses`: one of them lacks frames, and its file does not say so."""
    def make(world):
        for i, name in enumerate("ab"):
            tap(i, known)(world)
            world.taps[i].name = name
        world.taps[1].offset = world.rng.randint(-10**9, 10**9)
        world.taps[1].ppm = ppm
        if misses is not None:
            world.taps[misses].loss, world.taps[misses].declared = 0.01, False
            if world.culprit is None:
                flow = next(f for f in world.flows if f.source in world.hosts[:2])
                world.culprit = ("missed", "capture_%s" % "ab"[misses], flow.source, flow)
    return make


ENDS = {"both ports, known": both(), "both ports": both(known=False), "both ports, drift": both(ppm=-30.0),
        "both ports, B misses": both(misses=1), "both ports, A misses": both(misses=0)}
FAIR_ENDS = list(ENDS)[:3]


# --- what can be known -----------------------------------------------------------------------

def segment(known, at, place, seen_from_sender):
    """The places of a path that a tap cannot tell apart from `place`, for packets that the sender's side sends.

    `known`: the tap's host is known. `seen_from_sender`: False where the packets go from receiver to sender.
    """
    path = [NIC_S, FABRIC, NIC_R] if seen_from_sender else [NIC_R, FABRIC, NIC_S]
    first, last = path[0], path[-1]
    if known:
        at_first = (at == 0) == seen_from_sender
        if at_first:
            return {first} if place == first else set(path[1:])
        return {last} if place == last else set(path[:-1])
    return None


def knowable(world, kind):
    """The places that no reader of this tap can tell apart from the culprit's; None: no culprit."""
    if not world.culprit:
        return None
    what, place, _, flow = world.culprit
    known, at = "known" in kind, {"sender's": 0, "receiver's": 1}.get(kind.split(" ")[0])
    if what in ("lost", "damaged"):
        where, back = world.culprit_side
        exact = segment(known, at, place, not back)
        if exact:
            return exact
        upstream = where == SENDER or where == FABRIC_BEFORE and at != (1 if back else 0) or where == FABRIC_BEHIND and at == (0 if back else 1)
        path = [NIC_S, FABRIC, NIC_R] if not back else [NIC_R, FABRIC, NIC_S]
        return set(path[:-1]) if upstream else set(path[1:])
    if what == "refused":
        return {HOST_S, HOST_R}
    if what == "not ready":
        return {HOST_R}
    if what == "dies":
        return {NIC_R, HOST_R} if known and at == 1 else {FABRIC, NIC_R, HOST_R}
    if what == "incast":          # from one sender's port nobody sees the others
        return {FABRIC, NIC_R} if at == 0 else {FABRIC}
    return slow(world, place, known, at, flow)


def slow(world, place, known, at, flow):
    idle = [m.posted_ns - n.completed_ns for n, m in zip(flow.messages, flow.messages[1:]) if n.completed_ns]
    if world.culprit[1] == HOST_S:
        long = sum(idle) / max(1, len(idle)) > STRAY_NS
        return {HOST_S} if long or known and at == 0 else {HOST_S, NIC_S, FABRIC}
    if place == HOST_R:           # a reply in a message of its own, after more than a path can take
        return {HOST_R}
    if flow.rate < flow.line:     # a pause by the fabric looks the same
        return {NIC_S, FABRIC} if at != 0 or not known else {NIC_S, FABRIC}
    if getattr(flow, "pace_ns", 0):
        return {NIC_R, FABRIC}
    if known and at == 1:
        return {NIC_R, HOST_R} if place != FABRIC else {HOST_S, NIC_S, FABRIC}
    return {FABRIC, NIC_R, HOST_R} if place != FABRIC else {HOST_S, NIC_S, FABRIC, NIC_R, HOST_R}


def knowable_at_both(world, kind):
    """The same for two captures."""
    what, place, _, flow = world.culprit
    missed = {"capture_" + kind.split(" ")[2].lower()} if "misses" in kind else set()
    if what in ("refused", "not ready", "incast"):
        return knowable(world, "receiver's port, known") | missed
    if what == "dies":
        return {NIC_R, HOST_R} | missed
    if what == "slow" and place in (FABRIC, NIC_R) and not getattr(flow, "pace_ns", 0):
        return ({FABRIC} if place == FABRIC else {NIC_R, HOST_R}) | missed
    if what == "slow":
        return slow(world, place, "known" in kind, 0, flow) | missed
    return {place} | missed


def truth(world, kind):
    """JSON of the culprit, from the scene and the tap only."""
    if not world.culprit:
        return {"culprit": None}
    what, place, host, flow = world.culprit
    return {"culprit": {"what": what, "place": place, "host": host.text(), "sender": flow.source.text(), "receiver": flow.target.text(),
                        "knowable": sorted(knowable_at_both(world, kind)) if kind in ENDS else sorted(knowable(world, kind), key=ORDER.index),
                        "fair": kind in FAIR + FAIR_ENDS}}
