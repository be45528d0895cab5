# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A job on 32 hosts, a tap at each port with a clock of its own, and at most one culprit.

`job.culprit` is (kind, the host or the (sender, receiver) of the path to blame), or None.
"""
import facts
from congestion import Pauser
from fabric import FABRIC_BEFORE, FABRIC_BEHIND, RECEIVER, SENDER, Loss, Tap, World
from frames import RNR_US
from kinds import MS, hosts, load, pair

HOSTS = 32
HOUR = 3600 * 10**9
BUSY = range(5)                   # hosts of the small all-to-all; the first one is also the storage host
LONG = 16                         # bytes above those of a packet that every path passes


class Job(World):
    """Taps only at ports; a host may die."""

    def __init__(self, seed):
        super().__init__(seed)
        self.ports = {}
        self.dead, self.dead_ns = None, 0

    def tapped(self, packet, point, marked, ttl, copy=0):
        tap = self.ports.get(point)
        if tap:
            tap.see(self.now, packet, marked, ttl, copy, self.rng)

    def send(self, packet):
        if packet.source is self.dead and self.now >= self.dead_ns:
            return self.now + self.wire_ns(packet)
        return super().send(packet)

    def flow(self, a, b, verbs, count, sizes=(64, 512, 2048)):
        """Messages from host number `a` to `b`, or READs of b's data; the rest of the flow's behaviour is the culprit's."""
        f = pair(self, self.hosts[a], self.hosts[b], mtu=1024)
        f.load = dict(verbs=verbs, count=count, depth=2, sizes=list(sizes), start=1000 + self.rng.randrange(MS), think=200_000)
        return f

    def to(self, host):
        return [f for f in self.flows if f.target is host and hasattr(f, "load")]


def traffic(job):
    rng = job.rng
    hosts(job, HOSTS)
    for i in range(HOSTS):        # the ring
        job.flow(i, (i + 1) % HOSTS, "write", 20)
    for first in rng.sample(range(0, HOSTS, 4), 3):          # rails of neighbours
        for i in range(4):
            job.flow(first + i, first + (i + 2) % 4, "send", 15)
    for a in BUSY:
        for b in BUSY:
            if a != b:
                job.flow(a, b, "plain", 12)
    for i in rng.sample(range(len(BUSY), HOSTS), 8):         # incast
        job.flow(i, 0, rng.choice(["write", "write", "read"]), 15)


# --- culprits ---------------------------------------------------------------------------------

def path(job):
    """A path with requests, or with READ responses, and enough of them that a small share is seen."""
    f = job.rng.choice([f for f in job.flows if hasattr(f, "load")])
    f.load["count"] = 60
    return (f.target, f.source) if f.load["verbs"] == "read" else (f.source, f.target)


def on(ends):
    return lambda p: (p.source, p.target) == ends


def lossy_path(job):
    ends, share = path(job), job.rng.uniform(0.005, 0.05)
    for f in job.flows:
        if {f.source, f.target} == set(ends) and hasattr(f, "load"):
            f.load["count"] = max(f.load["count"], int(8 / share))
            f.load["depth"] = 8
    job.losses.append(Loss(job.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND]), share, on(ends)))
    return ends


def black_hole(job):
    ends = path(job)
    job.losses.append(Loss(job.rng.choice([FABRIC_BEFORE, FABRIC_BEHIND]), 1.0, lambda p: on(ends)(p) and p.size > 1024 + LONG))
    return ends


def busy_host(job):
    """One with several paths, and traffic on each."""
    host = job.hosts[job.rng.choice(BUSY)]
    for f in job.flows:
        if host in (f.source, f.target) and hasattr(f, "load"):
            f.load["count"] = 30
    return host


def loses_received(job):
    host = busy_host(job)
    job.losses.append(Loss(RECEIVER, job.rng.uniform(0.05, 0.1), lambda p: p.target is host))
    return host


def loses_sent(job):
    host = busy_host(job)
    job.losses.append(Loss(SENDER, job.rng.uniform(0.05, 0.1), lambda p: p.source is host))
    return host


def slow(job):
    host = busy_host(job)
    for f in job.to(host):
        f.delay_ns, f.timeout_ns = job.rng.randint(300_000, 900_000), 60 * MS
    return host


def not_ready(job):
    host = busy_host(job)
    for f in job.to(host):
        f.load["verbs"], f.rnr_code = "send", job.rng.randint(4, 14)
        wait = RNR_US[f.rnr_code] * 1000
        f.unready = [(t, t + 2 * wait) for t in range(job.rng.randrange(MS), 5 * MS, MS + 4 * wait)]
    return host


def pauses(job):
    host = busy_host(job)
    for f in job.flows:
        f.timeout_ns = 60 * MS
    Pauser(job, host, True, job.rng.choice([None, {3}])).many(
        job.rng.randrange(MS), job.rng.randint(6, 15), job.rng.choice([100_000, 300_000]), 100_000)
    return host


def dies(job):
    host = busy_host(job)
    job.dead, job.dead_ns = host, 300_000 + job.rng.randrange(MS // 2)
    for f in job.flows:
        if f.target is host:
            f.dies_ns = job.dead_ns
    return host


# --- jobs in step -----------------------------------------------------------------------------

class Rank:
    """A process that computes, sends, and waits for others, as its plan says."""

    def __init__(self, job, host, think):
        self.job, self.host, self.think_ns = job, host, think
        self.flows, self.got, self.wants, self.plan = {}, {}, None, None

    def think(self):
        return int(self.think_ns * self.job.rng.uniform(0.8, 1.2))

    def join(self, other):
        """A connection with messages in both directions."""
        there = pair(self.job, self.host, other.host, mtu=1024)
        for a, b, flow in ((self, other, there), (other, self, there.peer)):
            a.flows[b], b.got[a] = flow, 0
            flow.at_end = lambda _flow, _message, a=a, b=b: b.arrived(a)

    def post(self, other, size):
        self.flows[other].post("write", size)

    def arrived(self, other):
        self.got[other] += 1
        if self.wants and self.got[self.wants[0]] >= self.wants[1]:
            self.go()

    def go(self):
        self.wants = None
        for step in self.plan:    # a time to compute, or how many messages of whom it waits for
            if isinstance(step, int):
                self.job.after(step, self.go)
                return
            if self.got[step[0]] < step[1]:
                self.wants = step
                return


def all_to_all(ranks, rounds, size):
    def plan(rank):
        for n in range(1, rounds + 1):
            yield rank.think()
            for other in rank.flows:
                rank.post(other, size)
            for other in rank.flows:
                yield other, n
    for i, rank in enumerate(ranks):
        for other in ranks[:i]:
            other.join(rank)
    return plan


def ring(ranks, rounds, size):
    """Each receiver says when it is ready, as NCCL's do."""
    steps = len(ranks) - 1

    def plan(rank):
        before, after = (ranks[(ranks.index(rank) + i) % len(ranks)] for i in (-1, 1))
        for n in range(rounds):
            yield rank.think()
            for _ in range(steps):
                rank.post(before, 16)
            for step in range(1, steps + 1):
                yield after, n * steps + step
                rank.post(after, size)
                yield before, n * steps + step
    for i, rank in enumerate(ranks):
        rank.join(ranks[i - 1])
    return plan


def doubling(ranks, rounds, size):
    def plan(rank):
        for n in range(1, rounds + 1):
            yield rank.think()
            for other in rank.flows:
                rank.post(other, size)
                yield other, n
    for bit in range(len(ranks).bit_length() - 1):
        for i, rank in enumerate(ranks):
            if not i >> bit & 1:
                rank.join(ranks[i | 1 << bit])
    return plan


def in_step(job):
    """Eight hosts, and nothing else. -> their ranks"""
    for f in job.flows:
        vars(f).pop("load", None)
    think = job.rng.choice([100_000, 300_000])
    ranks = [Rank(job, h, think) for h in job.rng.sample(job.hosts, 8)]
    plan = job.rng.choice([all_to_all, ring, doubling])(ranks, job.rng.randint(12, 25), job.rng.choice([64, 1024, 8192]))
    for rank in ranks:
        rank.plan = plan(rank)
        job.at(1000, rank.go)
    return ranks


def straggler(job):
    rank = job.rng.choice(in_step(job))
    rank.think_ns *= job.rng.uniform(1.6, 4)
    return rank.host


def no_straggler(job):
    """One may compute faster than all others; or each pair of hosts sends at a rate of its own."""
    how = job.rng.choice(["fast", "even", "rates"])
    if how == "rates":
        for f in [f for f in job.flows if hasattr(f, "load")]:
            f.peer.load = dict(f.load, think=job.rng.randint(50_000, 400_000))
    else:
        rank = job.rng.choice(in_step(job))
        rank.think_ns *= 0.6 if how == "fast" else 1


CULPRITS = {"lossy path": lossy_path, "receiver drops": loses_received, "sender drops": loses_sent, "slow responder": slow,
            "not ready": not_ready, "pauses": pauses, "dies": dies, "MTU black hole": black_hole, "nothing": lambda job: None,
            "straggler": straggler, "no straggler": no_straggler}


# --- captures ---------------------------------------------------------------------------------

def captures(job):
    """5 % of the hosts have none; one misses bursts of frames, and its file may not say so."""
    rng = job.rng
    blamed = job.culprit[1] if isinstance(job.culprit[1], tuple) else (job.culprit[1] or job.hosts[0],)
    missing = set(rng.sample(range(HOSTS), rng.choice([1, 2, 2])))
    if rng.random() < 0.15:
        missing = {job.hosts.index(rng.choice(blamed)), min(missing)}
    if {job.hosts.index(h) for h in blamed} == missing:      # nobody saw this path
        missing.pop()
    with_facts = rng.choice([1.0, 1.0, 0.5, 0.0])
    for i, host in enumerate(job.hosts):
        if i in missing:
            continue
        tap = Tap("host%d" % (i + 1), host, declared=rng.random() < 0.7, ppm=rng.uniform(-50, 50),
                  offset=rng.choice([-1, 1]) * int(10 ** rng.uniform(9, 13.2)))
        if rng.random() < with_facts:
            device = facts.Device(job, host, "mlx5_0")
            device.speed = int(job.gbps * 1e9)
            facts.plan(job, tap, [device], 0, None)
        elif rng.random() < 0.3:
            tap.link = "sll"      # its frames have directions
        elif rng.random() < 0.3:
            tap.format = "pcap ns"
        job.taps.append(tap)
        job.ports[host] = tap
    holes = (rng.random() < 0.15 and job.ports.get(rng.choice(blamed))) or rng.choice(job.taps)
    holes.loss, holes.loss_burst = rng.uniform(0.005, 0.02), rng.choice([5, 30])
    dead = job.ports.get(job.dead)
    if dead and rng.random() < 0.5:
        dead.end = job.dead_ns


def make(seed):
    """-> (kind of culprit, job). The job has run."""
    job = Job(seed)
    kind = list(CULPRITS)[seed % len(CULPRITS)]
    traffic(job)
    job.culprit = (kind, CULPRITS[kind](job))
    captures(job)
    for f in [f for f in job.flows if hasattr(f, "load")]:
        load(job, f, **f.load)
    job.run(2000 * MS)
    last = job.packets[-1].sent_ns
    job.end_ns = last + 100 * MS
    for tap in job.taps:
        if tap.devices:
            facts.store(tap)
        tap.finish(last, job.rng)
    return kind, job
