# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Requester and responder of a reliable connection: IBTA volume 1, chapter 9.7, and what adapters add."""
import frames as wire
from fabric import Packet
from frames import PSN_MASK

HALF = 1 << 23
WRITES = (wire.WRITE_FIRST, wire.WRITE_MIDDLE, wire.WRITE_LAST, wire.WRITE_ONLY)
SENDS = (wire.SEND_FIRST, wire.SEND_MIDDLE, wire.SEND_LAST, wire.SEND_ONLY)
ATOMICS = (wire.SWAP, wire.ADD)
# Table 45 of IBTA volume 1: what the credit count of an AETH means
CREDITS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]


def before(a, b):
    return a != b and (b - a & PSN_MASK) < HALF


class Entry:
    """A request packet that the requester keeps until it is acknowledged."""
    __slots__ = ("index", "opcode", "psn", "span", "size", "message", "last", "first", "done", "sent", "head", "fatal")

    def __init__(self, opcode, psn, span, size, message, first, last, head):
        self.opcode, self.psn, self.span, self.size = opcode, psn, span, size
        self.message, self.first, self.last, self.head = message, first, last, head
        self.done = self.sent = 0
        self.fatal = None


class Message:
    __slots__ = ("verb", "size", "packets", "completed_ns", "posted_ns")

    def __init__(self, verb, size, now):
        self.verb, self.size, self.posted_ns = verb, size, now
        self.packets, self.completed_ns = 0, None


class Flow:
    """The requests of one side of a connection, and the responses to them."""

    def __init__(self, world, source, target, sqp, dqp, **more):
        self.world, self.source, self.target, self.sqp, self.dqp = world, source, target, sqp, dqp
        rng = world.rng
        self.transport = wire.RC
        self.psn = self.first_psn = rng.choice([rng.randrange(1 << 24), 0xFFFFC0])
        self.mtu, self.window, self.reads_max = 1024, 64, 8
        self.port_rule, self.port = "linux", rng.randrange(0xC000, 0x10000)
        self.tos = 26 << 2 | 2
        self.receiver = "in order"    # or "selective": NAKs and keeps; "any order": places without NAKs
        self.timeout_ns, self.retries, self.rnr_retries = 4_000_000, 7, 7
        self.early = False            # adaptive: the first repetitions come much earlier
        self.rnr_code, self.unready = 12, []   # (from, to): no receive is posted
        self.rate = self.line = world.gbps
        self.notify = True            # sends CNPs
        self.ask_every, self.notified_ns = 16, -10**9
        self.delay_ns = rng.randint(300, 3000)   # of the responder
        self.fatal_at, self.fatal_code = None, wire.NAK_ACCESS
        self.dies_ns = 1 << 62
        self.cm = False
        self.pace_ns = 0              # the responder waits so long between the responses to a READ
        self.keeps_sends = False      # selective: SENDs out of order are kept, too
        self.ack_twice = 0.0          # share of the ACKs that the responder sends again
        self.credits, self.repost_ns = None, 0   # receives of the responder, the time until one is posted again
        self.answer_tos = self.cnp_tos = None    # of responses and CNPs, if another one
        self.cnp_delay_ns, self.cnp_gap_ns, self.obeys_cnps = 0, 50_000, True
        self.held = []                # (from, to, kind) of packets that a pause held back
        self.number = len(world.flows) // 2
        for key, value in more.items():
            setattr(self, key, value)
        self.entries, self.messages, self.waiting = [], [], []
        self.oldest = self.next = 0
        self.error = self.error_ns = None
        self.rounds = []              # [time, cause, PSN, packets, attempt]
        self.round = None
        self.pumping = False
        self.limit = None             # of messages, by the responder's credits
        self.armed_ns = 0
        self.renewed = []             # times when the QPs were created again, with other PSNs
        self.rnr_wait = False
        self.deadline, self.timer_set = None, False
        self.tries = self.rnr_tries = 0
        self.gap = False              # a round for missing responses has begun
        self.resend = []
        self.at_end = None
        # the responder
        self.expected, self.msn = self.psn, 0
        self.nak_sent = self.stopped = False
        self.kept, self.atomics = {}, {}
        self.since_ack = 0
        self.receives = self.credits
        world.flows.append(self)
        target.qps.setdefault(dqp, Dispatch()).requests = self.take_request
        source.qps.setdefault(sqp, Dispatch()).responses = self.take_response

    def source_port(self, packet):
        if self.port_rule == "linux":
            return wire.linux_source_port(self.sqp, self.dqp)
        if self.port_rule == "alternate":
            return self.port ^ packet.psn >> 4 & 1
        if self.port_rule == "spray":
            return self.world.rng.randrange(0xC000, 0x10000)
        return self.port

    # --- messages ----------------------------------------------------------------------------

    def post(self, verb, size=8):
        m = Message(verb, size, self.world.now)
        self.messages.append(m)
        count = max(1, -(-size // self.mtu))
        if verb == "read":
            self.add(wire.READ_REQUEST, count, 0, m, True, True, size)
        elif verb in ("swap", "add"):
            self.add(wire.SWAP if verb == "swap" else wire.ADD, 1, 0, m, True, True, 8)
        else:
            first, middle, last, only = SENDS if verb == "send" else WRITES
            for i in range(count):
                opcode = only if count == 1 else first if i == 0 else last if i == count - 1 else middle
                part = min(self.mtu, size - i * self.mtu)
                self.add(opcode, 1, part, m, i == 0, i == count - 1, size)
        self.pump()

    def add(self, opcode, span, part, message, first, last, size):
        e = Entry(opcode, self.psn, span, part, message, first, last, size)
        e.index = len(self.entries)
        message.packets += span
        self.psn = self.psn + span & PSN_MASK
        self.entries.append(e)
        if self.fatal_at is not None and len(self.messages) > self.fatal_at and first:
            e.fatal, self.fatal_at = self.fatal_code, None

    def body(self, e):
        done = e.done if e.opcode == wire.READ_REQUEST else 0
        if e.opcode == wire.READ_REQUEST:
            return wire.reth(0x7F0000000000 + e.index * 65536 + done * self.mtu, 0x1234, e.head - done * self.mtu)
        if e.opcode in ATOMICS:
            return (0x7F0000000000).to_bytes(8, "big") + b"\0\0\x12\x34" + e.index.to_bytes(16, "big")
        head = wire.reth(0x7F0000000000, 0x1234, e.head) if e.opcode in (wire.WRITE_FIRST, wire.WRITE_ONLY) else b""
        return head + bytes([e.index & 255]) * (e.size + (-e.size % 4))

    # --- sending -----------------------------------------------------------------------------

    def pump(self):
        if not self.pumping and not self.error:
            self.pumping = True
            self.world.after(0, self.step)

    def may_send(self):
        if self.error or self.rnr_wait or self.next >= len(self.entries):
            return False
        e = self.entries[self.next]
        if self.next - self.oldest >= self.window:
            return False
        if self.limit is not None and self.next > self.oldest and self.messages.index(e.message) >= self.limit:
            return False
        if e.span > 1 or e.opcode == wire.READ_REQUEST:
            reads = sum(x.opcode == wire.READ_REQUEST for x in self.entries[self.oldest:self.next])
            return reads < self.reads_max
        return True

    def step(self):
        self.pumping = False
        if self.error:
            return
        if self.resend and not self.rnr_wait:
            e = self.entries[self.resend.pop(0)]
            if e.index < self.oldest:
                return self.pump()
        elif self.may_send():
            e = self.entries[self.next]
            self.next += 1
        else:
            return None
        free = self.transmit(e)
        self.pumping = True
        gap = e.size * 8 / self.rate if self.rate < self.line else 0
        self.world.at(max(free, self.world.now + int(gap)), self.step)
        return None

    def transmit(self, e):
        done = e.done if e.opcode == wire.READ_REQUEST else 0
        ask = e.last or e.index % self.ask_every == 0 or e.index + 1 - self.oldest >= self.window
        p = Packet(self, "request", self.source, self.target, self.dqp, e.opcode, e.psn + done & PSN_MASK, self.body(e),
                   ask_ack=ask, attempt=e.sent, entry=e, span=e.span - done,
                   data=-e.size % 4)
        e.sent += 1
        if p.attempt:
            if self.round:
                self.round[3] += 1
                p.round = self.round
        if self.deadline is None:
            self.arm()
        return self.world.send(p)

    # --- timers ------------------------------------------------------------------------------

    def arm(self):
        wait = self.timeout_ns
        if self.early and self.tries < 4:
            wait = wait >> (4 - self.tries)
        self.deadline = self.world.now + wait
        self.armed_ns = self.world.now
        if not self.timer_set:
            self.timer_set = True
            self.world.at(self.deadline, self.timer)

    def timer(self):
        self.timer_set = False
        if self.deadline is None or self.error or self.rnr_wait:
            return
        if self.world.now < self.deadline:
            self.timer_set = True
            self.world.at(self.deadline, self.timer)
            return
        self.deadline = None
        if self.oldest >= len(self.entries) or not self.entries[self.oldest].sent:
            return
        self.tries += 1
        if self.tries > self.retries:
            self.fail("retry")
        else:
            self.go_back(self.oldest, "timeout")

    def fail(self, why):
        self.error, self.error_ns = why, self.world.now

    def go_back(self, index, cause):
        e = self.entries[index]
        self.round = [self.world.now, cause, e.psn + e.done & PSN_MASK, 0, self.tries, self.world.now - self.armed_ns]
        self.rounds.append(self.round)
        self.resend = []
        self.next = index
        self.deadline = None
        self.pump()

    # --- responses ---------------------------------------------------------------------------

    def progress(self):
        self.tries = self.rnr_tries = 0
        self.gap = False
        self.deadline = None
        if self.oldest < self.next or self.resend:
            self.arm()
        self.pump()

    def complete(self, e):
        self.oldest = e.index + 1
        self.next = max(self.next, self.oldest)
        if e.last:
            e.message.completed_ns = self.world.now
            if self.at_end:
                self.at_end(self, e.message)

    def acknowledge(self, psn):
        """All before and with this PSN have arrived. False: a READ among them lacks responses."""
        moved = False
        while self.oldest < len(self.entries):
            e = self.entries[self.oldest]
            end = e.psn + e.span - 1 & PSN_MASK
            if before(psn, end) or not e.sent:
                break
            if e.opcode == wire.READ_REQUEST and e.done < e.span or e.opcode in ATOMICS and not e.done:
                if moved:
                    self.progress()
                self.missing(e)
                return False
            self.complete(e)
            moved = True
        if moved:
            self.progress()
        return True

    def missing(self, e):
        if not self.gap:
            self.gap = True
            self.go_back(e.index, "read gap")

    def take_response(self, p, marked):
        if self.error:
            return
        if p.opcode == wire.ACK:
            self.take_ack(p)
        else:
            self.take_data(p)

    def take_ack(self, p):
        kind, code = p.syndrome & 0xE0, p.syndrome & 0x1F
        if kind == 0:
            if code != 0x1F:
                self.limit = int.from_bytes(p.body[1:4], "big") + CREDITS[code]
                self.pump()
            self.acknowledge(p.psn)
            return
        if self.oldest >= self.next or before(p.psn, self.entries[self.oldest].psn):
            return
        if not self.acknowledge(p.psn - 1 & PSN_MASK) or self.oldest >= len(self.entries):
            return
        e = self.entries[self.oldest]
        if kind == 0x20:
            self.take_rnr(code, e)
        elif p.syndrome == wire.NAK_SEQUENCE:
            if self.receiver == "selective" and e.opcode in WRITES + SENDS:
                self.round = [self.world.now, "nak", e.psn, 0, self.tries, 0]
                self.rounds.append(self.round)
                self.resend.append(e.index)
                self.pump()
            else:
                self.go_back(e.index, "nak")
        else:
            self.fail("refused")

    def take_rnr(self, code, e):
        self.rnr_tries += 1
        if self.rnr_retries != 7 and self.rnr_tries > self.rnr_retries:
            self.fail("rnr")
            return
        self.rnr_wait, self.deadline = True, None
        tries = self.rnr_tries
        self.world.after(wire.RNR_US[code] * 1000, self.ready, e.index, tries)

    def ready(self, index, tries):
        self.rnr_wait = False
        if not self.error:
            self.go_back(max(index, self.oldest), "rnr")
            self.rnr_tries = tries

    def take_data(self, p):
        """A READ response or an atomic one."""
        at = self.oldest
        while at < self.next and not before(p.psn, self.entries[at].psn + self.entries[at].span & PSN_MASK):
            at += 1
        if at >= len(self.entries) or not self.entries[at].sent or before(p.psn, self.entries[at].psn):
            return
        e = self.entries[at]
        if not self.acknowledge(e.psn - 1 & PSN_MASK) or self.oldest != e.index:
            return
        if e.opcode in ATOMICS and p.opcode == wire.ATOMIC_ACK:
            e.done = 1
        elif e.opcode == wire.READ_REQUEST and p.opcode != wire.ATOMIC_ACK:
            wanted = e.psn + e.done & PSN_MASK
            if p.psn != wanted:
                if before(wanted, p.psn):
                    self.missing(e)
                return
            e.done += 1
        else:
            return
        if e.done == e.span:
            self.complete(e)
        self.progress()

    # --- the responder -----------------------------------------------------------------------

    def respond(self, opcode, psn, body, syndrome=None, cause=None, pad=0, later=0):
        p = Packet(self, "response", self.target, self.source, self.sqp, opcode, psn, body, syndrome=syndrome,
                   answers=cause, data=pad)
        self.world.after(self.delay_ns + later, self.world.send, p)

    def ack(self, psn, syndrome=0x1F, cause=None):
        self.since_ack = 0
        if syndrome == 0x1F and self.credits is not None:
            syndrome = max(i for i, n in enumerate(CREDITS) if n <= self.receives)
        again = syndrome < 0x20 and self.ack_twice and self.world.rng.random() < self.ack_twice
        for _ in range(2 if again else 1):
            self.respond(wire.ACK, psn, wire.aeth(syndrome, self.msn), syndrome, cause)

    def receive(self):
        """A receive is used; another one is posted later, and an unsolicited ACK says so."""
        self.receives -= 1
        self.world.after(self.repost_ns, self.post_receive)

    def post_receive(self):
        self.receives += 1
        if self.receives == 1:
            self.ack(self.expected - 1 & PSN_MASK)

    def renew(self):
        """Both QPs are destroyed, and created again with the same numbers."""
        self.psn = self.first_psn = self.expected = self.world.rng.randrange(1 << 24)
        self.msn = 0
        self.kept, self.atomics, self.nak_sent = {}, {}, False
        self.renewed.append(self.world.now)

    def take_request(self, p, marked):
        if marked and self.notify:
            self.congested(p)
        if self.stopped or self.world.now >= self.dies_ns:
            return
        if p.psn == self.expected:
            self.execute(p)
            while self.expected in self.kept and not self.stopped:
                self.nak_sent = False
                self.execute(self.kept.pop(self.expected))
            if self.kept and self.receiver == "selective" and not self.nak_sent:
                self.nak(p)
        elif before(self.expected, p.psn):
            if self.receiver != "in order" and p.opcode in (WRITES + SENDS if self.keeps_sends else WRITES):
                self.kept[p.psn] = p
                if self.receiver == "any order":
                    return
            if not self.nak_sent:
                self.nak(p)
        else:
            self.duplicate(p)

    def nak(self, p):
        self.nak_sent = True
        self.ack(self.expected, wire.NAK_SEQUENCE, p)

    def execute(self, p):
        now = self.world.now
        e = p.entry
        if e.fatal:
            self.ack(p.psn, e.fatal, p)
            self.stopped = True
            return
        if p.opcode in SENDS and e.first and (self.receives == 0 or any(a <= now < b for a, b in self.unready)):
            self.nak_sent = True     # what follows is dropped silently
            self.ack(p.psn, 0x20 | self.rnr_code, p)
            return
        if p.opcode in SENDS and e.first and self.receives is not None:
            self.receive()
        self.nak_sent = False
        self.expected = p.psn + p.span & PSN_MASK
        if e.last:
            self.msn += 1
        if p.opcode == wire.READ_REQUEST:
            self.read(p)
        elif p.opcode in ATOMICS:
            self.atomics[p.psn] = e.index
            self.respond(wire.ATOMIC_ACK, p.psn, wire.aeth(0x1F, self.msn) + bytes(8), None, p)
        else:
            self.since_ack += 1
            if p.ask_ack:
                self.ack(p.psn, 0x1F, p)

    def read(self, p):
        e = p.entry
        done = p.psn - e.psn & PSN_MASK
        for i in range(p.span):
            opcode = (wire.READ_ONLY if p.span == 1 else wire.READ_FIRST if i == 0
                      else wire.READ_LAST if i == p.span - 1 else wire.READ_MIDDLE)
            size = min(self.mtu, e.head - (done + i) * self.mtu)
            head = wire.aeth(0x1F, self.msn) if opcode != wire.READ_MIDDLE else b""
            self.respond(opcode, p.psn + i & PSN_MASK, head + b"\x5a" * (size + (-size % 4)), None, p, -size % 4, i * self.pace_ns)

    def duplicate(self, p):
        if p.opcode == wire.READ_REQUEST:
            self.read(p)
        elif p.opcode in ATOMICS:
            if p.psn in self.atomics:
                self.respond(wire.ATOMIC_ACK, p.psn, wire.aeth(0x1F, self.msn) + bytes(8), None, p)
        elif p.ask_ack:
            self.ack(self.expected - 1 & PSN_MASK, 0x1F, p)

    # --- congestion --------------------------------------------------------------------------

    def congested(self, cause):
        if self.world.now - self.notified_ns < self.cnp_gap_ns:
            return
        self.notified_ns = self.world.now
        cnp = Packet(self, "cnp", self.target, self.source, self.sqp, wire.CNP, 0, bytes(16), becn=True, answers=cause)
        if self.cnp_delay_ns:
            self.world.after(self.cnp_delay_ns, self.world.send, cnp)
        else:
            self.world.send(cnp)

    def slow_down(self):
        if not self.obeys_cnps:
            return
        self.rate = max(self.rate * 0.6, 0.2)
        self.world.after(55_000, self.recover)

    def recover(self):
        self.rate = min(self.line, self.rate * 1.25 + 0.1)
        if self.rate < self.line:
            self.world.after(55_000, self.recover)


class Dispatch:
    """A QP: what arrives is a request of the peer, a response, or a CNP."""

    def __init__(self):
        self.requests = self.responses = None

    def __call__(self, p, marked):
        if p.kind == "cnp":
            p.flow.slow_down()
        elif p.kind == "request" and self.requests:
            self.requests(p, marked)
        elif p.kind == "response" and self.responses:
            self.responses(p, marked)
