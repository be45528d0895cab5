# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbers in the details of findings, against the truth: each row is a pattern and a function of its groups.

A function yields (name, said, least, most): the number must be in that range.
"""
import re


def share(part, all_of):
    return 100 * part / all_of if all_of else 0


def near(value):
    """What is printed with two digits."""
    return value * 0.95 - 0.06, value * 1.05 + 0.06


def of_rounds(c, again, rounds, naks, rnr, missing, timeouts):
    # A late packet behind its retransmission cannot be distinguished from it.
    seen = c.view["requests"]["retransmitted"] + c.view["requests"]["reordered"]
    exact = c.view["saw_all"]
    yield "retransmitted", again, seen if exact else 0, seen
    yield "rounds", rounds, naks + rnr + missing + timeouts if exact else 0, seen
    if exact:
        yield "rounds after NAKs", naks, c.view["counts"]["rounds_nak"], c.view["counts"]["rounds_nak"]
        yield "rounds after time-outs", timeouts, c.view["counts"]["rounds_timeout"], c.view["counts"]["rounds_timeout"]


def of_unreliable(c, lost, gaps, percent):
    yield "lost", lost, 1, max(c.view["requests"]["lost_upstream"], 0)
    seen = c.view["requests"]["seen"]
    low, high = near(share(lost, seen + lost))
    yield "share", percent, low, high
    yield "gaps", gaps, 1, lost


def of_damage(c, frames, percent):
    damaged = c.view["bad_icrc"]["requests"] + (c.back["bad_icrc"]["responses"] if c.back else 0)
    yield "damaged", frames, 1, damaged


def of_late(c, requests, percent, depth, responses, naks, again):
    req, res = c.view["requests"], c.view["responses"]
    yield "late requests", requests, 0, req["reordered"]
    yield "depth", depth, 0, max(1, req["depth"])
    yield "late responses", responses, 0, res["reordered"]
    yield "NAKs", naks, c.view["counts"]["nak_sequence"], c.view["counts"]["nak_sequence"]
    yield "retransmitted", again, 0, req["retransmitted"] + req["reordered"]


def of_cnps(c, cnps, frames, marked):
    yield "CNPs", cnps, c.view["counts"]["cnp"], c.view["counts"]["cnp"]
    most = c.view["marked"]["requests"] + (c.back["marked"]["responses"] if c.back else 0)
    yield "marked", marked, 0, most


def of_rnr(c, naks, ms, again):
    yield "RNR NAKs", naks, c.view["counts"]["rnr"], c.view["counts"]["rnr"]
    yield "delay", ms, 0.0099, c.flow["rnr_ms"] * 1.01
    yield "retransmitted", again, 0, c.view["requests"]["retransmitted"]


def of_capture_loss(c, lost, percent):
    low, high = near(share(c.tap["missed"], c.tap["missed"] + c.tap["frames"]))
    yield "share", percent, low, high


def of_stall(c, ms):
    yield "ms", ms, 0, c.flow["longest_wait_ns"] / 1e6 * 1.1


def of_waits(c, median):
    """As seen at the requester, where little is lost: the time between the last request or progress and the repetition."""
    waits = [r["waited_ns"] / 1e6 for r in c.flow["rounds"] if r["cause"] == "timeout"]
    if waits and c.view["saw_all"] and not c.tap["step"]:
        yield "median of the time-outs", median, min(waits) * 0.4, max(waits) * 1.1


def of_agreed(c, ms):
    yield "the CM's timeout", ms, c.flow["cm_timeout_ms"] * 0.99, c.flow["cm_timeout_ms"] * 1.01


def of_tunnels(c, frames):
    yield "frames", frames, c.tap["tunnelled"], c.tap["strays_tunnelled"]


def of_total(c, frames, total):
    yield "frames in all", total, c.tap["frames"], c.tap["frames"]


N, F, T = r"(\d+)", r"([\d.e+-]+)", r"([\d.]+ (?:ns|us|ms|s))"
UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
ROUNDS = re.compile(N + r" packets? retransmitted in " + N + r" rounds? \(after NAKs " + N + ", RNR NAKs " + N
                    + ", missing responses " + N + ", timeouts " + N + r"\)")
WAITED = re.compile("after " + T)
AGREED = re.compile("CM's request has a timeout of " + T)
PATTERNS = {
    "lost-upstream": [(ROUNDS, of_rounds)], "lost-downstream": [(ROUNDS, of_rounds)],
    "unreliable-lost": [(re.compile(N + " packets in " + N + " gaps, " + F + " %"), of_unreliable)],
    "damaged": [(re.compile(N + " frames with a wrong invariant CRC, " + F + " %"), of_damage)],
    "reordered": [(re.compile(N + r" requests \(" + F + " % of them, up to " + N + " packets late\\) and " + N + r" responses .*; "
                              + N + " NAKs, " + N + " packets"), of_late)],
    "cnp": [(re.compile(N + " CNPs for its " + N + " frames; " + N), of_cnps)],
    "rnr": [(re.compile(N + " RNR NAKs?, each requests a delay of up to " + T + "; " + N), of_rnr)],
    "capture-lost": [(re.compile(N + " frames, " + F + " %"), of_capture_loss)],
    "stall": [(re.compile(T + " without"), of_stall)],
    "timeout": [(WAITED, of_waits), (AGREED, of_agreed)], "timeout-short": [(WAITED, of_waits), (AGREED, of_agreed)],
    "in-tunnels": [(re.compile(N + " frames"), of_tunnels)], "tunnels-left-out": [(re.compile(N + " frames"), of_tunnels)],
    "truncated": [(re.compile(N + " of " + N + " frames"), of_total)],
}


def number(text):
    """Times are in milliseconds."""
    value, _, unit = text.partition(" ")
    if unit:
        return float(value) * UNITS[unit]
    return float(value) if re.search(r"[.e]", value) else int(value)


def wrong(c):
    """Yields (what, said, least, most) of each number that contradicts the truth."""
    for pattern, function in PATTERNS.get(c.finding["rule"], ()):
        m = pattern.search(c.finding["detail"])
        if m:
            numbers = [number(g) for g in m.groups()]
            yield from ((name, said, least, most) for name, said, least, most in function(c, *numbers) if not least <= said <= most)


def known(rule):
    return rule in PATTERNS
