# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UC and UD traffic, the connection manager's messages, and frames that are no RDMA."""
import frames as wire
from fabric import Packet
from reliable import Dispatch, Message
from frames import PSN_MASK


class Unreliable:
    """Messages of a UC or UD queue pair, one after the other at a rate."""

    def __init__(self, world, source, target, sqp, dqp, transport, **more):
        self.world, self.source, self.target, self.sqp, self.dqp = world, source, target, sqp, dqp
        self.transport = transport
        self.psn = self.first_psn = world.rng.choice([world.rng.randrange(1 << 24), 0xFFFFC0])
        self.number = len(world.flows) // 2
        self.wrong = None             # from this message on, up to that: another Q_Key
        self.renewed, self.held = [], []
        self.mtu, self.tos, self.qkey = 1024, 26 << 2 | 2, 0x11111111
        self.port, self.gap_ns = world.rng.randrange(0xC000, 0x10000), 2000
        self.error = self.error_ns = None
        self.dies_ns, self.fatal_code, self.receiver = 1 << 62, None, "in order"
        self.rounds, self.messages, self.entries = [], [], []
        self.cm = False
        self.mine = []                # (message, packet)
        for key, value in more.items():
            setattr(self, key, value)
        world.flows.append(self)
        target.qps.setdefault(dqp, Dispatch())

    def source_port(self, packet):
        if self.transport == wire.UC:
            return wire.linux_source_port(self.sqp, self.dqp)
        return self.port

    def post(self, verb, size, at):
        m = Message(verb, size, at)
        self.messages.append(m)
        count = max(1, -(-size // self.mtu)) if self.transport == wire.UC else 1
        base = 0 if verb == "send" else 6
        for i in range(count):
            opcode = base + (4 if count == 1 else 0 if i == 0 else 2 if i == count - 1 else 1)
            part = min(self.mtu, size - i * self.mtu)
            head = wire.reth(0x7F0000000000, 0x99, size) if base and i == 0 else b""
            if self.transport == wire.UD:
                wrong = self.wrong and self.wrong[0] <= len(self.messages) - 1 < self.wrong[1]
                opcode, head = 4, wire.deth(self.qkey ^ (0x5A if wrong else 0), self.sqp)
            p = Packet(self, "request", self.source, self.target, self.dqp, self.transport | opcode, self.psn,
                       head + b"\xa5" * (part + (-part % 4)), data=-part % 4, entry=m)
            p.refused = bool(self.transport == wire.UD and wrong)
            self.psn = self.psn + 1 & PSN_MASK
            m.packets += 1
            self.mine.append((m, p))
            self.world.at(at + i * self.gap_ns, self.world.send, p)


class Manager:
    """Connects a pair of flows by REQ, REP, RTU on QP 1, before `then` runs."""
    timeout = 10                  # the exponent of the local ACK timeout

    def __init__(self, world, flow, back, service=0x0000000001061B58, answer="accept", repeats=0):
        self.world, self.flow, self.back, self.service, self.answer = world, flow, back, service, answer
        self.ids = (world.rng.getrandbits(31), world.rng.getrandbits(31))
        self.transaction = world.rng.getrandbits(63)
        self.repeats = repeats
        self.sent = []                # (time, attribute)
        self.ports = {}

    def send(self, source, target, attribute, body):
        p = Packet(None, "mad", source, target, 1, wire.UD_SEND, self.world.rng.randrange(1 << 24),
                   wire.deth(0x80010000, 1) + wire.mad(attribute, self.transaction, body))
        p.data = 0
        p.entry = (self, attribute)
        p.target.qps.setdefault(1, MadQueue())
        self.sent.append((self.world.now, attribute))
        self.world.send(p)

    def connect(self, then=None):
        """REQ and REP each carry the first PSN of the requests from their receiver."""
        f, w = self.flow, self.world
        body = wire.cm_request(self.ids[0], self.service, f.sqp, self.back.psn, (f.source.gid, f.target.gid), f.mtu, (self.timeout, 7, 7))
        self.send(f.source, f.target, wire.REQ, body)
        for i in range(self.repeats):
            w.after((i + 1) * 40_000_000, self.send, f.source, f.target, wire.REQ, body)
        if self.answer == "reject":
            w.after(30_000, self.send, f.target, f.source, wire.REJ, wire.cm_reject((0, self.ids[0]), 8))
        elif self.answer == "accept":
            reply = wire.cm_reply((self.ids[1], self.ids[0]), f.dqp, f.psn, 7)
            w.after(30_000, self.send, f.target, f.source, wire.REP, reply)
            w.after(60_000, self.send, f.source, f.target, wire.RTU, wire.cm_pair(self.ids))
            if then:
                w.after(65_000, then)

    def disconnect(self):
        f = self.flow
        self.send(f.source, f.target, wire.DREQ, wire.cm_disconnect(self.ids, f.dqp))
        self.world.after(30_000, self.send, f.target, f.source, wire.DREP, wire.cm_pair((self.ids[1], self.ids[0])))


class MadQueue:
    def __call__(self, p, marked):
        pass


def pause_frame(world, source, target, quanta):
    """IEEE 802.1Q, priority-based flow control: class 3 waits."""
    body = b"\x01\x01\0\x08" + b"\0\0" * 3 + quanta.to_bytes(2, "big") + b"\0\0" * 4
    world.send(Packet(None, "pause", source, target, None, 0, 0, body.ljust(46, b"\0"), data=0))


def strangers(world, source, target, count, until, to_port):
    """UDP that is no RoCE: scans, DNS, or VXLAN-GPE sent to the wrong port."""
    for _ in range(count):
        size = world.rng.choice([12, 20, 32, 48, 200, 512]) if world.rng.random() < 0.8 else world.rng.randint(8, 900)
        data = bytes(world.rng.getrandbits(8) for _ in range(size))
        p = Packet(None, "stray" if to_port == wire.PORT else "stranger", source, target, None, 0, 0, data)
        p.data = (world.rng.randrange(1024, 65536), to_port)
        world.at(world.rng.randrange(1, until), world.send, p)
