#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the times of NVMe commands in a report of `rdmadump analyze --json` with those of other programs.

    nvme.py CAPTURE.pcap TABLE REPORT [FIRST LAST]
    nvme.py CAPTURE.pcap    (prints FIRST and LAST of parts)

CAPTURE is read here, by other code than the program's: connections by the REQ and REP of the CM, commands and
completions by their SENDs. TABLE is of tshark (tests/data/apps/record), which knows no capsule of several packets:
each of its commands must be one that was read here, with the same frames and time, and only such capsules may be
missing in it. Where a packet was retransmitted, tshark may take another copy than the first. The report must have the same commands: counts, extremes, percentiles and sums of their times, and the
slowest. With FIRST and LAST the report is of these frames of CAPTURE alone: commands whose completion came later are
open, and completions of earlier commands belong to none. No part begins between the copies of a packet.
"""
import json
import math
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.dont_write_bytecode = True
from frames import read_pcap  # noqa: E402

NEAR = 1000  # ns
IO_NAMES = {0: "Flush", 1: "Write", 2: "Read"}
SEND_FIRST, SEND_ONLY, SEND_ONLY_INVALIDATE, UD_SEND = 0x00, 0x04, 0x17, 0x64
REQ, REP = 0x10, 0x13


def frames(path):
    """Number, time in ns, source address, and bytes from the BTH on, of each RoCE frame."""
    with open(path, "rb") as file:
        rows = read_pcap(file.read())
    for number, (ns, frame, _) in enumerate(rows, 1):
        if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == b"\x12\xb7":
            yield number, ns, frame[26:30], frame[42:]


def number24(data):
    return int.from_bytes(data[:3], "big")


class Connections:
    """Queue pairs by (address of the sender, destination): which connection, and whether they are the host's."""

    def __init__(self):
        self.asked, self.ends = {}, {}

    def learn(self, source, mad):
        kind = int.from_bytes(mad[16:18], "big")
        body = mad[24:]
        if kind == REQ:
            private = body[140 + 36:]
            self.asked[body[0:4]] = (source, number24(body[32:35]), int.from_bytes(private[2:4], "little"))
        elif kind == REP and body[4:8] in self.asked:
            host, host_qp, queue = self.asked.pop(body[4:8])
            connection = (host, host_qp, queue)
            self.ends[host, number24(body[12:15])] = connection, True
            self.ends[source, host_qp] = connection, False


class Command:
    def __init__(self, frame, ns, name, several):
        self.frame, self.began, self.name, self.several = frame, ns, name, several
        self.reply, self.ns = None, None
        self.copies = []  # frames of retransmissions, of its own and of its completion


def name_of(queue, capsule):
    if capsule[0] == 0x7f:
        return "fabrics"
    return IO_NAMES.get(capsule[0], "other") if queue else "admin"


def read(path):
    """All commands, in the order of their capsules; how many queues there were, the most that were open in one, and
    how many command IDs were used again."""
    connections, commands, open_now, seen, ids = Connections(), [], {}, {}, set()
    deepest, again = {}, 0
    for number, ns, source, packet in frames(path):
        opcode, qp, psn = packet[0], number24(packet[5:8]), number24(packet[9:12])
        if opcode == UD_SEND and qp == 1:
            connections.learn(source, packet[20:])
        if opcode not in (SEND_FIRST, SEND_ONLY, SEND_ONLY_INVALIDATE) or (source, qp) not in connections.ends:
            continue
        if (source, qp, psn) in seen:  # a retransmission
            seen[source, qp, psn].copies.append(number)
            continue
        connection, by_host = connections.ends[source, qp]
        payload = packet[16 if opcode == SEND_ONLY_INVALIDATE else 12:]
        opened = open_now.setdefault(connection, {})
        if by_host:
            command = Command(number, ns, name_of(connection[2], payload), opcode == SEND_FIRST)
            cid = payload[2:4]
            again += (connection, cid) in ids
            ids.add((connection, cid))
            assert cid not in opened, ("the identifier of an open command is used", number)
            opened[cid] = command
            deepest[connection] = max(deepest.get(connection, 0), len(opened))
            commands.append(command)
        else:
            command = opened.pop(payload[12:14])
            command.reply, command.ns = number, ns - command.began
        seen[source, qp, psn] = command
    return commands, deepest, again


def compare_table(path, commands):
    """Every command of tshark's is one of ours; it lacks capsules of several packets only."""
    ours, count = {command.frame: command for command in commands}, 0
    copies = {frame for command in commands for frame in command.copies}
    for line in open(path, encoding="utf-8"):
        name, frame, reply, ns = line.rstrip("\n").split("\t")
        if int(frame) in copies or int(reply) in copies:
            continue
        command = ours.pop(int(frame))
        assert command.reply == int(reply), (line, command.reply)
        assert abs(command.ns - int(ns)) <= NEAR, (line, command.ns)
        assert command.name in (name, "admin", "fabrics"), (line, command.name)
        count += 1
    missing = [command.frame for command in ours.values() if command.reply and not command.several and not command.copies]
    assert not missing, ("tshark has no", missing)
    return count


def compare_times(what, ours, times):
    times.sort()
    assert ours["exact"], what
    assert ours["latency"]["n"] == len(times), (what, "commands", ours["latency"]["n"], len(times))
    for key, want in [("min_ns", times[0]), ("max_ns", times[-1])] + [
            ("p%d_ns" % part, times[math.ceil(len(times) * part / 100) - 1]) for part in (50, 90, 99)]:
        assert abs(ours["latency"][key] - want) <= NEAR, (what, key, ours["latency"][key], want)
    # All of them together: what is wrong in one command is not hidden by the others.
    assert abs(ours["latency_sum_ns"] - sum(times)) <= NEAR, (what, "sum", ours["latency_sum_ns"], sum(times))


def compare_report(report, commands, first, last):
    app = [a for a in report["applications"] if a["name"] == "NVMe-oF"][0]
    begun = [c for c in commands if first <= c.frame <= last]
    # Without the CM a queue is unknown: "Read or Get Log Page".
    rows = {o["name"].split(" or ")[0]: o for o in app["operations"] if o["group"] != "admin"}
    for name in sorted({c.name for c in begun} & set(IO_NAMES.values())):
        mine = [c for c in begun if c.name == name]
        done = [c for c in mine if c.reply and c.reply <= last]
        assert rows[name]["requests"] == len(mine), (name, "requests", rows[name]["requests"], len(mine))
        assert rows[name]["replies"] == len(done), (name, "replies", rows[name]["replies"], len(done))
        unfinished = rows[name]["open"] + rows[name]["unanswered"]
        assert unfinished == len(mine) - len(done), (name, "open", unfinished, len(mine) - len(done))
        if done:
            compare_times(name, rows[name], [c.ns for c in done])
    done = [c for c in begun if c.reply and c.reply <= last]
    total = sum(o["replies"] for o in app["operations"])
    assert total == len(done), ("all replies", total, len(done))
    slowest = sorted(((c.ns, c.frame - first + 1, c.reply - first + 1) for c in done), reverse=True)
    for theirs, (ns, frame, reply) in zip(app["slowest"][:4], slowest):
        assert (theirs["frame"], theirs["reply_frame"]) == (frame, reply), (theirs, ns, frame, reply)
    return len(done), len(begun) - len(done)


def print_parts(commands):
    end = max(max(c.frame, c.reply or 0) for c in commands)
    between = [(c.frame, max([c.reply or 0] + c.copies)) for c in commands if c.copies]
    for first, last in (0, 1 / 2), (0, 1 / 5), (1 / 3, 2 / 3), (1 / 5, 1 / 4), (1 / 2, 1):
        begin = int(end * first) + 1
        while any(a < begin <= b for a, b in between):
            begin += 1
        print(begin, max(begin + 1, int(end * last)))


def main():
    commands, deepest, again = read(sys.argv[1])
    if len(sys.argv) == 2:
        return print_parts(commands)
    counted = compare_table(sys.argv[2], commands)
    report = json.load(open(sys.argv[3], encoding="utf-8"))
    first, last = (int(a) for a in sys.argv[4:6]) if len(sys.argv) > 4 else (1, 1 << 62)
    done, unfinished = compare_report(report, commands, first, last)
    print("commands %d, open %d, tshark %d, several packets %d, flushes %d, I/O queues %d, at once %d, identifiers again %d, retransmitted %d" % (
        done, unfinished, counted, sum(c.several for c in commands), sum(c.name == "Flush" for c in commands),
        sum(1 for c in deepest if c[2]), max(deepest.values()), again, sum(bool(c.copies) for c in commands)))


main()
