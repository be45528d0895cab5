#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares a capture with what the model sent: quirks_judge.py KEY=VALUE...

Prints one line for each thing that is wrong. Keys: out (pcapng), sent (nanosecond pcap of all frames since the start),
report (capture --json), stats (the model's), truth (wall clock of each delivery, optional), start, end (wall clock of
the run in ns), queues, clock ("" for timestamps of the host), events (warnings on standard error).
"""
import json
import struct
import sys
from collections import Counter

from frames import EPB, read_blocks, read_pcap

LATE_NS = 30 * 10**6  # a busy machine delays the model's own look at the clock
SECOND = 10**9


def pcapng_frames(path):
    with open(path, "rb") as file:
        for kind, body in read_blocks(file.read()):
            if kind == EPB:
                high, low, captured = struct.unpack_from("<III", body, 4)
                yield high << 32 | low, body[20:20 + captured]


def flow(frame):
    """What chooses the queue: addresses and ports. Ethernet 14 bytes, IPv4 20; frames to no QP have many."""
    return frame[26:38]


def subsequence(got, sent):
    """The first frame of got that is not in sent after the one before it, or None."""
    rest = iter(sent)
    for number, frame in enumerate(got, 1):
        if not any(frame == other for other in rest):
            return number
    return None


def check_frames(got, sent, queues):
    if queues == 1:
        wrong = subsequence(got, sent)
        if wrong:
            yield "frame %d was not sent, is a duplicate or is out of order" % wrong
        return
    extra = Counter(got) - Counter(sent)
    if extra:
        yield "%d frames were not sent or are duplicates" % sum(extra.values())
    for one in sorted({flow(f) for f in sent}):
        if subsequence([f for f in got if flow(f) == one], [f for f in sent if flow(f) == one]):
            yield "frames of one flow are out of order"


def check_counts(got, sent, report, stats):
    port = stats["devices"][0]["ports"][0]
    frames, lost = report["frames"], report["lost_before_us"]
    long = report["sources"][0]["lost"]["counters"].get("longer_than_buffer", 0)
    ours = sum(frames["dropped"].values()) + frames["filtered"]
    equal = [
        ("frames in the file", len(got), "written, as reported", frames["written"]),
        ("delivered, as reported", frames["delivered"], "written and dropped", frames["written"] + ours),
        ("sent since the start", len(sent), "in the file, dropped and lost", len(got) + ours + lost["at_least"]),
        ("longer than a buffer", long, "errors of the device", port["errored"]),
        ("model: frames since the start", port["frames"] - port["before_flow"], "sent", len(sent)),
        # What a queue lost while it failed is known to the model alone.
        ("known and final", [lost["known"], lost["settled"]], "wanted", [not report["gaps"], True]),
        ("left on the device", sum(stats["leaked"].values()), "wanted", 0),
        ("order violations", stats["order_violations"], "wanted", 0),
    ]
    for name, value, other, wanted in equal:
        if value != wanted:
            yield "%s: %s; %s: %s" % (name, value, other, wanted)


def check_times(times, args, report):
    clock = args.get("clock", "")
    start, end = int(args["start"]), int(args["end"])
    implausible = report["timestamps"]["implausible"]
    outside = sum(not start - LATE_NS <= t <= end + LATE_NS for t in times)
    if outside > implausible:
        yield "%d timestamps outside the run, %d reported as implausible" % (outside, implausible)
    if implausible and "wrong" not in clock:
        yield "%d timestamps reported as implausible" % implausible
    back = sum(b < a for a, b in zip(times, times[1:]))
    if back and not any(word in clock for word in ("wrong", "zero", "tx_lag", "step")):
        yield "%d timestamps before the one before them" % back
    if args.get("truth") and int(args["queues"]) == 1:
        with open(args["truth"]) as file:
            truth = [int(line) for line in file][-len(times):]
        # What has no timestamp gets the time of the poll: no closer than the run.
        limit = 2 * SECOND if "zero" in clock else LATE_NS
        wrong = sum(abs(t - x) > limit for t, x in zip(times, truth))
        if wrong > implausible:
            yield "%d timestamps are not true, %d reported as implausible" % (wrong, implausible)


def main():
    args = dict(word.split("=", 1) for word in sys.argv[1:])
    with open(args["report"]) as file:
        report = json.load(file)
    with open(args["stats"]) as file:
        stats = json.load(file)
    captured = list(pcapng_frames(args["out"]))
    with open(args["sent"], "rb") as file:
        sent = [frame for _, frame, _ in read_pcap(file.read())]
    got = [frame for _, frame in captured]
    problems = list(check_counts(got, sent, report, stats))
    problems += check_frames(got, sent, int(args["queues"]))
    problems += check_times([time for time, _ in captured], args, report)
    if not got:
        problems.append("no frame was captured")
    if int(args.get("warnings", 0)) > 30:
        problems.append("%s warnings on standard error" % args["warnings"])
    for problem in problems:
        print(problem)


main()
