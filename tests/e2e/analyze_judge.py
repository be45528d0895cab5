#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares what `rdmadump analyze` derives from packets with the kernel's own counters.

analyze_judge.py RDMADUMP DIR...: every DIR/{a,b}.pcap.zst with its counters of kernel.tar.gz beside DIR. A
difference passes only as a row of judged.tsv (capture, end, counter, kernel, packets, why) that names both
numbers. Speaks TAP. --update prints the rows that would be needed."""
import json
import os
import subprocess
import sys
import tarfile

# Kernel counter -> (whose conversation side, events that are summed); "own": requests of this end.
COUNTERS = {
    "completer_retry_err": ("own", ("rounds_nak", "rounds_read", "rounds_timeout")),
    "rcvd_seq_err": ("own", ("nak_progress",)),
    "rcvd_rnr_err": ("own", ("rnr",)),
    "duplicate_request": ("peer", ("at_receiver_duplicate",)),
    "out_of_seq_request": ("peer", ("at_receiver_sequence",)),
    "send_rnr_err": ("peer", ("rnr",)),
}
ENDINGS = {"retry_exceeded_err": "retry_exceeded", "retry_rnr_exceeded_err": "rnr_retry_exceeded"}


def growth(kernel, capture, end):
    numbers = []
    for when in ("before", "after"):
        with kernel.extractfile(f"{capture}/{end}_counters_{when}.txt") as f:
            words = [line.decode("ascii", errors="replace").split() for line in f]
        numbers.append({w[2]: int(w[3]) for w in words if len(w) == 4 and w[0] == "hw"})
    return {k: v - numbers[0].get(k, 0) for k, v in numbers[1].items()}


def address_of(end, report):
    """Ends are distinguished by address: a answers at .1 or ::1, b at .2 or ::2."""
    last = "1" if end == "a" else "2"
    ends = {c[e]["address"] for c in report["conversations"] for e in "ab"}
    return {x for x in ends if x.rsplit(":" if ":" in x else ".", 1)[-1] == last or
            (":" in x and mac_end(x) == end)}


def mac_end(address):
    """Link-local addresses hold the MAC, 52:54:00:77:00:01 or :02."""
    tail = address.rsplit(":", 1)[-1]
    return {"1": "a", "2": "b"}.get(tail)


def derived(report, end):
    mine = address_of(end, report)
    sums = dict.fromkeys(list(COUNTERS) + list(ENDINGS) + ["sent_pkts", "rcvd_pkts"], 0)
    for c in report["conversations"]:
        for name in "ab":
            side = c["sides"][name]
            whose = "own" if c[name]["address"] in mine else "peer"
            sums["sent_pkts" if whose == "own" else "rcvd_pkts"] += side["frames"]
            for counter, (of, events) in COUNTERS.items():
                if of == whose:
                    sums[counter] += sum(side["events"].get(e, {"count": 0})["count"] for e in events)
            for counter, ending in ENDINGS.items():
                sums[counter] += whose == "own" and side["ending"] == ending
    return sums


def table(path):
    rows = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 6 and cells[0] != "capture":
                rows[tuple(cells[:3])] = (int(cells[3]), int(cells[4]), cells[5])
    return rows


def main():
    update = "--update" in sys.argv
    args = [a for a in sys.argv[1:] if a != "--update"]
    program, directories = args[0], args[1:]
    here = os.path.join(os.environ.get("TEST_DATA", "tests/data"), "roce", "judged.tsv")
    known = {} if update else table(here)
    archive = tarfile.open(os.path.join(os.path.dirname(here), "kernel.tar.gz"))
    tests = failed = exact = explained = 0
    used = set()
    for directory in sorted(d.rstrip("/") for d in directories):
        for end in "ab":
            capture = os.path.basename(directory)
            out = subprocess.run([program, "analyze", "--json", f"{directory}/{end}.pcap.zst"],
                                 capture_output=True, check=False)
            wrong = []
            if out.returncode:
                wrong.append(f"exit status {out.returncode}: {out.stderr.decode()}")
            else:
                packets = derived(json.loads(out.stdout), end)
                kernel = growth(archive, capture, end)
                for counter, value in packets.items():
                    want = kernel.get(counter, 0)
                    row = known.get((capture, end, counter))
                    if value == want and not row:
                        exact += 1
                    elif row and row[:2] == (want, value):
                        used.add((capture, end, counter))
                        explained += 1
                    else:
                        wrong.append(f"{counter}: kernel {want}, packets {value}")
                        if update:
                            print(capture, end, counter, want, value, "", sep="\t")
            tests += 1
            failed += bool(wrong)
            if not update:
                print("not ok" if wrong else "ok", tests, "-", capture, end)
                for w in wrong:
                    print("#  ", w)
    if update:
        return 0
    stale = [k for k in known if k not in used and k[0] in {os.path.basename(d.rstrip("/")) for d in directories}]
    tests += 1
    print("not ok" if stale else "ok", tests, f"- {exact} counters exact, {explained} explained, none stale {stale}")
    print(f"1..{tests}")
    return 1 if failed or stale else 0


sys.exit(main())
