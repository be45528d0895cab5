#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the owners that `rdmadump analyze --json` names with what the processes had.

    owners_pair.py ANALYSIS [TRUTH CAPTURE]...

TRUTH is of owned_qps_tool at one machine, CAPTURE what that machine captured. Prints for each of
them: of how many long and short queue pairs with traffic the analysis names the right process, of
how many it names a wrong one or rank, and of how many short ones the facts have the remote number.
"""
import importlib.util
import json
import os
import sys

spec = importlib.util.spec_from_file_location("owners", os.path.join(os.path.dirname(__file__), "owners.py"))
owners = importlib.util.module_from_spec(spec)
spec.loader.exec_module(owners)


def ends_at(report, address):
    """Number and owner of the queue pairs at an address that have traffic."""
    for conversation in report["conversations"]:
        for end in conversation["a"], conversation["b"]:
            if end["address"] == address:
                yield end["qp"], end["owner"]


def main():
    report = json.load(open(sys.argv[1]))
    for at, (truth, capture) in enumerate(zip(sys.argv[2::2], sys.argv[3::2])):
        had = {qp: (kind, pid, rank) for kind, pid, rank, qp in owners.lines(truth)}
        part = report["captures"][at] if "captures" in report else report
        right, all_of, wrong, connected = {"long": 0, "short": 0}, {"long": 0, "short": 0}, 0, set()
        for fact in owners.facts(capture):
            if fact["kind"] == "device":
                address = [gid["gid"][7:] for gid in fact["gids"] if gid["gid"].startswith("::ffff:")][0]
            elif fact["kind"] == "owners":
                connected |= {qp["lqpn"] for owner in fact["owners"] for qp in owner["qps"] if qp.get("rqpn")}
        seen = {qp: owner for qp, owner in ends_at(part, address) if qp in had}
        for qp, owner in seen.items():
            kind, pid, rank = had[qp]
            all_of[kind] += 1
            # Of a process that had ended before it was read, the rank is unknown.
            if owner and owner["pid"] == pid and owner["job"].get("RANK", rank) == rank:
                right[kind] += 1
            elif owner:
                wrong += 1
        short = [qp for qp in seen if had[qp][0] == "short"]
        print("long %d of %d, short %d of %d, wrong %d, remote %d of %d" % (
            right["long"], all_of["long"], right["short"], all_of["short"], wrong,
            sum(qp in connected for qp in short), len(short)))


main()
