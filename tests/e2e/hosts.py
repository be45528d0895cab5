#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""hosts.py [DIRECTORY [KEY=VALUE...]]: hosts that send to each other, and a capture at each: DIRECTORY/hostN.pcapng.
Without an argument, the same for each line of standard input. Prints an empty line when it is done.

hosts=4        how many; host N has the address 10.0.0.N
messages=40    from each to each other one
lossy=1-3,...  the path from 1 to 3 loses every tenth message, once; 1-3/1: between their addresses 10.1.0.N only
only=1-2,...   only these send to each other
missing=2,...  hosts without a capture
holes=3/9,...  hosts whose captures lack every ninth frame, and do not say so
late=3,...     hosts that begin later than all others, in rounds of messages between all; instead of `messages`
slow=3,...     hosts whose responses take four times as long
again=2        two seconds later, its QPs to 1 are those of another process to 3, and the other way round, with new QPs of 1 and 3
mute=3,...     hosts that no packet reaches from the middle on, and that send none
ran=60         seconds that each capture ran after its last frame, as its file says
part=2,...     hosts whose files lack the last two frames, but have the statistics of all
refuses=3,...  hosts that refuse the last message of each sender: remote access error
directions=1,...  hosts whose captures mark frames as sent or received
near=1         all are captured at one place: no router and no delay is between
ranks=2        processes of each host, each with its QPs to as many others, and ranks of its own (facts=1)
facts=1        the files have facts: the addresses of a device of their host
behind=100     other addresses of the device before its own (facts=1)
before=20      other devices of the host whose facts come first (facts=1)
machines=1,... each host is of this machine by its facts (facts=1)
apart=60       seconds between the clocks of two hosts
drift=190      ppm that the clock of each host runs faster than that of the one before
begin=10       seconds that the first host and its peers are done before the others begin
rough=1        times of host 1 go back, even by a minute, 2 sees all in a tunnel, 3 cuts its frames, 4 has a series of two files, 5 other frames, and microseconds
addresses=2    of each device: 10.0.0.N, 10.1.0.N, ...; each sends to those of the same network
"""
import json
import os
import sys

import frames

START, EVERY, DELAY, LIFE, NEW = 1800000000 * 10**9, 200_000, 20_000, 2 * 10**9, 0x800


class Net:
    def __init__(self, hosts, near, slow, refuses, mute, again):
        self.captures = {h: [] for h in range(1, hosts + 1)}
        self.ident, self.near, self.slow, self.refuses, self.mute, self.again = 0, near, slow, refuses, mute, again

    def send(self, time, network, ends, packet, lost=False):
        """At the sender now, at the receiver later, one router farther."""
        self.ident += 1
        addresses = [bytes([10, network, 0, h]) for h in ends]
        data = frames.rocev2(addresses, packet, 0xc000 + network, self.ident & 0xffff)
        self.captures[ends[0]].append((time, data, 2))
        if not lost:
            self.captures[ends[1]].append((time, data, 1) if self.near else (time + DELAY, data[:22] + b"\x3f" + data[23:], 1))

    def talk(self, network, a, b, messages, lossy, begin):
        """A SEND every 0.2 ms; one that is lost is asked for after the next one, and both are retransmitted."""
        ask, answer, time = 0x100 + b | a << 12, 0x1000 + a | b << 16, START + 997 * (a * 64 + b) + (begin if 1 not in (a, b) else 0)
        for psn in range(messages):
            if self.again in (a, b) and psn == messages // 2:
                time += LIFE
                ask = ask + NEW if a == self.again else 0x100 + b | (4 - a) << 12
                answer = answer + NEW if b == self.again else 0x1000 + a | (4 - b) << 16
            lost = lossy and psn % 10 == 4
            request = frames.bth(frames.SEND_ONLY, ask, psn, True) + bytes(64)
            muted = psn >= messages // 2 and {a, b} & self.mute
            if a not in (muted or ()):
                self.send(time, network, (a, b), request, lost or muted)
            if muted:
                time += EVERY
                continue
            if lost:
                after = frames.bth(frames.SEND_ONLY, ask, psn + 1, True) + bytes(64)
                self.send(time + 2000, network, (a, b), after)
                nak = frames.bth(frames.ACK, answer, psn) + frames.aeth(frames.NAK_SEQUENCE, psn)
                self.send(time + DELAY + 3000, network, (b, a), nak)
                self.send(time + 3 * DELAY, network, (a, b), request)
            refused = b in self.refuses and psn == messages - 1
            ack = frames.bth(frames.ACK, answer, psn) + frames.aeth(frames.NAK_ACCESS if refused else 0x1f, psn + 1)
            late = 3 * (2 * DELAY + 1000) if b in self.slow else 0  # just slow: four times as long
            self.send(time + (3 if lost else 0) * DELAY + DELAY + 1000 + late, network, (b, a), ack)
            time += EVERY


def in_step(net, late, rounds=20):
    """Each host sends to all others every 2 ms, late ones half a millisecond after; one QP pair of two hosts."""
    for n in range(rounds):
        for a in net.captures:
            for b in net.captures:
                if a == b:
                    continue
                time = START + n * 10 * EVERY + 100 * (8 * a + b) + (500_000 if a in late else 0)
                net.send(time, 0, (a, b), frames.bth(frames.SEND_ONLY, 0x2000 + b | a << 16, n, True) + bytes(64))
                ack = frames.bth(frames.ACK, 0x2000 + a | b << 16, n) + frames.aeth(0x1f, n + 1)
                net.send(time + DELAY + 1000, 0, (b, a), ack)


def guid(host):
    return "%016x" % (0x0c42a10300000000 + host)


def facts(host, addresses, machine, behind, other=0):
    gids = ["10.9.%d.%d" % divmod(i, 256) for i in range(behind)] + ["10.%d.0.%d" % (i, host) for i in range(addresses)]
    gids = [{"index": i, "gid": "::ffff:" + gid, "type": "RoCE v2"} for i, gid in enumerate(gids)]
    return json.dumps({"kind": "device", "when": "start", "time_ns": START, "interface": 0, "device": "mlx5_%d" % other, "port": 1,
                       "node_guid": guid(host + 1000 * other), "boot_id": machine, "netdevs": [{"name": "eth0"}], "gids": gids})


def owners(host, hosts, ranks):
    """Of the QPs to host P: process P modulo `ranks`."""
    rows = [{"pid": 1000 * host + i, "comm": "python3", "start_ticks": 5,
             "job": {"SLURM_JOB_ID": "77", "RANK": str((host - 1) * ranks + i)},
             "qps": [{"lqpn": qp} for peer in range(1, hosts + 1) if peer % ranks == i
                     for qp in (0x100 + host | peer << 12, 0x1000 + host | peer << 16, 0x2000 + host | peer << 16)]} for i in range(ranks)]
    return json.dumps({"kind": "owners", "when": "end", "time_ns": START, "interface": 0, "device": "mlx5_0", "port": 1, "node_guid": guid(host),
                       "samples": 3, "interval_ns": 500_000_000, "owners": rows})


def lives(host, hosts, again, ahead):
    """Process 7 has its QPs after process 0, by the clock of the host: ahead."""
    def qp(number, life):
        begin = START + life * LIFE + ahead - 10**8
        return {"lqpn": number + (NEW if life and host != again else 0), "first_ns": begin, "last_ns": begin + LIFE // 2}
    rows = [{"pid": 1000 * host + 7 * life, "comm": "python3", "start_ticks": 5, "start_ns": START + ahead - 10**9,
             "qps": [qp(number | peer << shift, life) for peer in range(1, hosts + 1) for number, shift in ((0x100 + host, 12), (0x1000 + host, 16))]}
            for life in range(2)]
    return json.dumps({"kind": "owners", "when": "end", "time_ns": START + ahead + 3 * LIFE, "interface": 0, "device": "mlx5_0", "port": 1,
                       "node_guid": guid(host), "samples": 9, "interval_ns": 1000, "since_ns": START + ahead - 10**9, "clock_error_ns": 1000,
                       "events_lost": 0, "owners": rows})


def write_rough(directory, host, rows):
    """Times, lengths and files as captures have them; see above."""
    name, snaplen, n = "%s/host%d.pcapng" % (directory, host), 100 if host == 3 else 65535, len(rows)
    if host == 1:
        rows = [(rows[i ^ (i % 7 == 3)][0] - (60 * 10**9 if i == n // 2 else 0),) + row[1:] for i, row in enumerate(rows[:n & ~1])]
    elif host == 2:
        def tunnel(data):
            inner = frames.udp(50000, 4789, b"\x08\0\0\0\0\0\x2a\0" + data)
            return data[:14] + frames.ipv4(b"\xc0\0\2\1", b"\xc0\0\2\2", inner, 0, 0, 64)
        rows = [(row[0], tunnel(row[1])) + row[2:] for row in rows]
    elif host == 4:
        frames.write_pcapng("%s/host4_20270115.pcapng" % directory, 1, snaplen, rows[:n // 2], 0)
        name, rows = "%s/host4_20270116.pcapng" % directory, rows[n // 2:]
    elif host == 5:
        other = bytes(12) + b"\x08\x06" + bytes(46)
        rows = [(row[0] // 1000 * 1000,) + more for row in rows for more in (row[1:], (other, 0, None))]
    frames.write_pcapng(name, 1, snaplen, rows, 0)


def main(directory, **how):
    hosts, addresses = int(how.get("hosts", 4)), int(how.get("addresses", 1))
    lossy = {p for p in how.get("lossy", "").split(",") if p}
    ranks, again = int(how.get("ranks", 0)), int(how.get("again", 0))
    only = {p for p in how.get("only", "").split(",") if p}
    missing, directions, slow, late, refuses, mute, part = ({int(h) for h in how.get(key, "").split(",") if h}
                                                for key in ("missing", "directions", "slow", "late", "refuses", "mute", "part"))
    holes = {int(h): int(n) for h, n in (p.split("/") for p in how.get("holes", "").split(",") if p)}
    apart = int(how.get("apart", 60)) * 10**9
    machines = dict(enumerate(how["machines"].split(","), 1)) if "machines" in how else {}
    net = Net(hosts, bool(how.get("near")), slow, refuses, mute, again)
    if late:
        in_step(net, late)
    for network in range(0 if late else addresses):
        for a in net.captures:
            for b in net.captures:
                if a != b and (not only or {f"{a}-{b}", f"{b}-{a}"} & only):
                    net.talk(network, a, b, int(how.get("messages", 40)), bool({f"{a}-{b}", f"{a}-{b}/{network}"} & lossy),
                             int(how.get("begin", 0)) * 10**9)
    for host, rows in net.captures.items():
        if how.get("rough"):
            write_rough(directory, host, [(time + host * apart, data, 0, None, way) for time, data, way in sorted(rows)])
        elif host not in missing:
            rows = [(time + host * apart + (time - START) * host * int(how.get("drift", 0)) // 10**6, data, 0, None) + ((way,) if host in directions else ())
                    for i, (time, data, way) in enumerate(sorted(rows)) if host not in holes or (i + 1) % holes[host]]
            frames.write_pcapng("%s/host%d.pcapng" % (directory, host), 1, 65535, rows[:-2] if host in part else rows, None if host in holes else 0,
                                start=[facts(host, 0 if other else addresses, machines.get(host, str(host)), 1 if other else int(how.get("behind", 0)), other)
                                       for other in range(int(how.get("before", 0)), -1, -1)] if how.get("facts") else [],
                                until=rows and rows[-1][0] + int(how.get("ran", 0)) * 10**9, delivered=len(rows), end=[owners(host, hosts, ranks)] if ranks else [lives(host, hosts, again, apart * host)] if again else [])


if __name__ == "__main__":
    for line in [" ".join(sys.argv[1:])] if sys.argv[1:] else sys.stdin:
        name, *how = line.split()
        os.makedirs(name, exist_ok=True)
        main(name, **dict(word.split("=") for word in how))
        print(flush=True)
