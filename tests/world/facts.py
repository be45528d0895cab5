# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Facts of devices as rdmadump stores them in a file, and what the counters among them count.

The numbers come from the packets of the world. Names: rdma_rxe's rxe_hw_counters.c, mlx5's main.c.
"""
import ipaddress
import json

import frames as wire


def sent(host, packets):
    return [p for p in packets if p.source is host and p.kind not in ("pause", "stray", "stranger")]


def received(host, packets):
    """Packets that its transport took."""
    return [p for p in packets if p.target is host and p.delivered_ns is not None and p.kind not in ("pause", "stray", "stranger")]


def of_kind(rows, syndrome):
    return sum(p.syndrome is not None and p.syndrome & 0xE0 == syndrome & 0xE0 and
               (syndrome & 0xE0 == 0x20 or p.syndrome == syndrome) for p in rows)


def cnps(rows):
    return sum(p.kind == "cnp" for p in rows)


def rxe(host, world, out, into):
    # rcvd_seq_err is left out: it depends on what else each NAK acknowledges.
    return {"sent_pkts": len(out), "rcvd_pkts": len(into),
            "rcvd_rnr_err": of_kind(into, 0x20), "send_rnr_err": of_kind(out, 0x20),
            "link_downed": downs(host, world),
            "retry_exceeded_err": exceeded(host, world)}


def mlx5(host, world, out, into):
    return {"packet_seq_err": of_kind(into, wire.NAK_SEQUENCE), "rnr_nak_retry_err": of_kind(into, 0x20),
            "rp_cnp_handled": cnps(into) + timeouts(host, world), "np_cnp_sent": cnps(out),
            "local_ack_timeout_err": timeouts(host, world),
            "rx_icrc_encapsulated": sum(p.target is host and p.lost == "damaged" for p in world.packets),
            "req_transport_retries_exceeded": exceeded(host, world), "out_of_buffer": of_kind(out, 0x20)}


def timeouts(host, world):
    return sum(r[1] == "timeout" and r[0] <= world.now for f in world.flows if f.source is host for r in f.rounds)


def exceeded(host, world):
    return sum(f.source is host and f.error == "retry" for f in world.flows)


def downs(host, world):
    return sum(h is host and text == "port down" and when <= world.now for h, when, text in world.link_events)


KINDS = {"rdma_rxe": rxe, "mlx5_core": mlx5}


class Device:
    """A host's device. Its counters begin anywhere."""

    def __init__(self, world, host, name, interface=0):
        self.world, self.host, self.name, self.interface = world, host, name, interface
        self.driver = world.rng.choice(list(KINDS))
        self.base = {}
        self.reset_ns = None
        self.pfc = None           # priorities with PFC, where DCB settings are known; eight DSCPs lead to each priority
        self.speed = 100_000_000_000
        self.readings = {}
        self.clock = None         # of the machine that reads it

    def read(self, when):
        """Now, in the world. `when`: "start" or "end"."""
        w = self.world
        out, into = sent(self.host, w.packets), received(self.host, w.packets)
        out = [p for p in out if p.sent_ns <= w.now]
        numbers = KINDS[self.driver](self.host, w, out, into)
        for key in numbers:
            self.base.setdefault(key, w.rng.randrange(10**6, 2 * 10**6) if self.reset_ns is not None else w.rng.choice([0, w.rng.randrange(10**6)]))
        base = self.base
        if self.reset_ns is not None and w.now >= self.reset_ns:
            base = {key: 0 for key in self.base}      # the reset follows the first reading
        self.readings[when] = (w.now, {key: n + base[key] for key, n in numbers.items()})

    def head(self, kind, when, now):
        return {"kind": kind, "when": when, "time_ns": self.clock(now), "interface": self.interface, "device": self.name, "port": 1}

    def texts(self, when):
        now, numbers = self.readings[when]
        counters = self.head("counters", when, now)
        counters["counters"] = {("counters/" if key == "link_downed" and self.driver == "mlx5_core" else "hw_counters/") + key: n
                                for key, n in numbers.items()}
        device = self.head("device", when, now)
        device.update(driver=self.driver, node_guid="0002:c903:00%02x:%04x" % (self.host.number, 7), link="ethernet", state="ACTIVE",
                      speed=self.speed, gids=[{"index": 0, "gid": str(ipaddress.IPv6Address(self.host.gid)).lower(), "type": "RoCE v2"}])
        qps = self.head("qps", when, now)
        qps["qps"] = [{"lqpn": f.sqp, "rqpn": f.dqp, "type": "RC", "state": "RTS", "pid": 4000 + f.number, "comm": "app%d" % f.number}
                      for f in self.world.flows if f.source is self.host and f.transport == wire.RC]
        dcb = self.head("dcb", when, now)
        dcb.update(netdev="eth0", pfc=self.pfc, trust=["dscp"], dscp_priorities=[dscp // 8 for dscp in range(64)])
        return [json.dumps(x) for x in (device, counters, qps) + ((dcb,) if self.pfc is not None else ())]

    def truth(self):
        first, last = self.readings["start"], self.readings["end"]
        reset = self.reset_ns is not None
        return {"device": self.name, "host": self.host.text(), "driver": self.driver, "from_ns": first[0], "to_ns": last[0], "reset": reset,
                "grown": {} if reset else {key: last[1][key] - n for key, n in first[1].items()}}


def plan(world, tap, devices, start, end):
    """Reads the counters at both times; `end` None: when all is over."""
    tap.devices = devices
    for d in devices:
        d.clock = tap.clock
        world.at(start, d.read, "start")
        if end is not None:
            world.at(end, d.read, "end")


def store(tap):
    """What the file holds, after the world has ended."""
    for d in tap.devices:
        if "end" not in d.readings:
            d.read("end")
    tap.facts = {when: [t for d in tap.devices for t in d.texts(when)] for when in ("start", "end")}
    tap.readings = [d.truth() for d in tap.devices]
