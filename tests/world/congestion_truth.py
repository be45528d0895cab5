# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What happened to pauses, notifications and priorities, and what a tap saw of it."""
import collections


def merged(rows):
    """Intervals that overlap become one."""
    out = []
    for begin, end in sorted(rows):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def of_flow(f):
    """When pauses held back its requests or the responses to them; what its sender and receiver do with CNPs."""
    held = {kind: merged([(b, e) for b, e, k in f.held if k == kind]) for kind in ("request", "response")}
    return {"held": held, "obeys_cnps": getattr(f, "obeys_cnps", True), "cnp_delay_ns": getattr(f, "cnp_delay_ns", 0),
            "cnp_gap_ns": getattr(f, "cnp_gap_ns", 0)}


def tos(p, ttl):
    return p.tos if p.tos_behind is None or ttl > 62 else p.tos_behind


def of_view(f, rows):
    """DSCPs of what the tap saw, and how long the receiver took for each CNP of which it saw the cause."""
    out = {"dscps": {}, "reactions_ns": [], "held": of_flow(f)["held"]}
    first = {}
    for s in rows:
        if s[2]:
            first.setdefault(id(s[1]), s[0])
    for kind in ("request", "response", "cnp"):
        out["dscps"][kind] = dict(collections.Counter(str(tos(s[1], s[3]) >> 2) for s in rows if s[1].kind == kind))
    for s in rows:
        if s[1].kind == "cnp" and s[1].answers is not None and id(s[1].answers) in first:
            out["reactions_ns"].append(s[0] - first[id(s[1].answers)])
    return out


def of_tap(world, t):
    """For each sender of pause frames: the frames that the tap saw, and the time of the pauses while it ran."""
    out = []
    for p in world.pausers:
        seen = [s for s in t.sights if s[1].kind == "pause" and s[1].source is p.sender]
        quanta = [int.from_bytes(s[1].body[2:4] if p.classes is None else s[1].body[4 + 2 * min(p.classes):][:2], "big") for s in seen]
        begin, end = min((s[0] for s in seen), default=0), max((s[0] for s in t.sights), default=0)
        spans = [(max(b, begin), min(e, end)) for b, e in p.intervals if e > begin and b < end]
        missed = sum(s[1].kind == "pause" and s[1].source is p.sender for s in t.missed)
        out.append({"mac": p.mac(), "host": p.sender.text() if p.to_it else None, "classes": sorted(p.classes) if p.classes is not None else None,
                    "frames": len(seen), "resumes": sum(q == 0 for q in quanta), "missed": missed,
                    "paused_ns": sum(e - b for b, e in spans) if seen else 0, "longest_ns": max((e - b for b, e in spans), default=0)})
    scripted = {id(p.sender) for p in world.pausers}
    for host in world.hosts:      # frames of hosts that stop nothing: priority 3, see unreliable.py
        n = sum(s[1].kind == "pause" and s[1].source is host and id(host) not in scripted for s in t.sights)
        if n:
            out.append({"mac": ":".join("%02x" % b for b in host.mac), "host": host.text(), "classes": [3], "frames": n, "resumes": 0, "missed": 0,
                        "paused_ns": None, "longest_ns": None})
    return out


def dscps(view, back):
    """The usual DSCP of each direction of a conversation; None: nothing of it was seen."""
    out = []
    for own, other in (("request", "response"), ("response", "request")):
        sums = collections.Counter(view["dscps"][own])
        sums.update(back["dscps"][other] if back else {})
        out.append(sums.most_common(1)[0][0] if sums else None)
    return out


def row_of(tap, where):
    """The sender of pause frames that a text names by its MAC address."""
    return next((row for row in tap["pauses"] if row["mac"] in where), None)


def judge(verdict, report, tap):
    """The list of pause frames in a report."""
    for sender in report["pauses"]:
        row = row_of(tap, sender["mac"] or "")
        if not row:
            verdict.judge("(pause frames)", "certain", str(sender["mac"]), (False, None, "nobody with this address sent one"))
            continue
        verdict.counts.append(("pause frames of %s" % row["mac"], row["frames"], sender["frames"], True))
        verdict.judge("(address of pause frames)", "certain", row["mac"], (sender["address"] in (None, row["host"]), None, "is %s" % row["host"]))
        wanted = [None] if row["classes"] is None else row["classes"]
        if row["frames"] > row["resumes"]:
            verdict.judge("(paused priorities)", "certain", row["mac"], ([c["priority"] for c in sender["classes"]] == wanted, None, "are %s" % wanted))
        for c in sender["classes"]:
            verdict.counts.append(("resumes of %s" % row["mac"], row["resumes"], c["resumes"], True))
            if None not in (c["paused_ns"], row["paused_ns"]) and not row["missed"] and not tap["one_way"] and not tap["jittered"]:
                near = abs(c["paused_ns"] - row["paused_ns"]) <= row["paused_ns"] / 20 + 2000 * (1 + row["frames"])
                verdict.judge("(paused time)", "likely", row["mac"], (near, None, "says %d, is %d ns" % (c["paused_ns"], row["paused_ns"])))


def judge_side(verdict, side, flow, view, tap, where):
    """From a mark to the CNP."""
    times = side["congestion"] and side["congestion"]["mark_to_cnp"]
    if times and view["reactions_ns"] and not tap["missed"] and not tap["jittered"]:
        low, high = min(view["reactions_ns"]), max(view["reactions_ns"])
        verdict.judge("(mark to CNP)", "likely", where, (low * 0.9 <= times["min_ns"] and times["max_ns"] <= high * 1.1, None,
                      "says %d to %d ns, is %d to %d" % (times["min_ns"], times["max_ns"], low, high)))
    held = side["held"]
    if held and side["requests"]:
        longest = max((e - b for b, e in flow["held"]["request"] + flow["held"]["response"]), default=0)
        verdict.judge("(longest gap in pauses)", "likely", where, (held["longest_ns"] <= longest * 1.25 + 60_000, None,
                      "says %d ns, is %d" % (held["longest_ns"], longest)))


def must_of_tap(tap):
    if any(row["frames"] for row in tap["pauses"]):
        yield ("pause-frames",), "pause frames in the file"


def must_of_flow(flow, view, tap):
    seen = [row for row in tap["pauses"] if row["frames"] and not row["missed"]]
    spans = [s for s in flow["held"]["request"] if tap["start_ns"] <= s[0] and s[1] < tap["end_ns"] and s[1] - s[0] >= 30_000]
    if seen and tap["speed"] and len(spans) >= 3 and not tap["missed"] and not tap["jittered"] and view["requests"]["seen"] > 50:
        yield ("paused",), "%d pauses held its packets back" % len(spans)
    many = all(view[way]["seen"] >= 16 for way in ("requests", "responses"))
    there, back = dscps(view, None)
    if many and there != back and not tap["one_way"]:
        yield ("priorities-differ",), "DSCPs: %s and %s" % (there, back)
    if tap["pfc"] and there is not None and int(there) >> 3 not in tap["pfc"] and view["requests"]["seen"] >= 16:
        yield ("lossy-priority",), "DSCP %s, PFC on %s" % (there, tap["pfc"])
    if view["reactions_ns"] and min(view["reactions_ns"]) > 250_000 and not tap["missed"]:
        yield ("cnp-late",), "CNPs follow after %d ns" % min(view["reactions_ns"])
