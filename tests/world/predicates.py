# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For each rule of the analysis: what its title and detail say, asked of the truth.

A predicate returns (whether it is so, the largest count that is so or None, a reason). It follows what a reader
understands, not how the rule works. None as a result: an opinion, which is not judged.
"""
import re

import congestion_truth
import links

LONG_NS = 400_000_000


def _up(key):
    def ask(c):
        side = c.view[key]
        most = max(side["lost_upstream"], side["lost_upstream_known"])
        return most > 0, most, "lost upstream: %d" % most
    return ask


def _down(key):
    def ask(c):
        most = c.view[key]["lost_downstream"]
        return most > 0, most, "lost downstream: %d (ignored by a dead receiver: %d)" % (most, c.view[key]["ignored"])
    return ask


def _number(place):
    def of(key):
        def ask(c):
            n = place(c).get(key, 0)
            return n > 0, n, "%s: %d" % (key, n)
        return ask
    return of


_count, _tap, _row = _number(lambda c: c.view["counts"]), _number(lambda c: c.tap), _number(lambda c: c.row)


def _never(why):
    return lambda c: (False, None, why)


def never_arrives(c):
    n = c.view["requests"]["lost_anywhere_upstream"]
    return n > 1 and bool(c.flow["error"]), None, "lost upstream: %d, the sender's state: %s" % (n, c.flow["error"])


def unreliable(c):
    ok, most, why = _up("requests")(c)
    return ok and c.flow["transport"] == "UC", most, why


def damaged(c):
    n = c.view["bad_icrc"]["requests"] + (c.back["bad_icrc"]["responses"] if c.back else 0)
    n += c.view["bad_icrc"]["responses"]
    return n > 0, n, "damaged frames: %d" % n


def reordered(c):
    n = c.view["requests"]["reordered"] + c.view["responses"]["reordered"]
    if n and c.finding["severity"] == "problem" and not c.flow["rounds"]:
        return False, n, "a problem, without a NAK or retransmission"
    return n > 0, n, "reordered upstream: %d" % n


def responses_unseen(c):
    r = c.view["responses"]
    if "up to the end" in c.finding["title"]:
        n = r["lost_upstream"] + r["missed"]
        return n > 0, None, "missed, or lost upstream: %d" % n
    n = r["missed_delivered"]
    return n > 0, n, "missed by the capture and delivered: %d" % n


def datagram_gaps(c):
    r = c.view["requests"]
    n = r["lost_upstream"] + r["missed"] + r["outside"]
    return c.flow["transport"] == "UD" and n > 0, None, "lost upstream, missed or outside: %d" % n


def reordered_downstream(c):
    n = c.view["requests"]["late_downstream"]
    return n > 0, n, "NAKs for packets that later ones overtook behind the tap: %d" % n


def duplicated(c):
    n = c.view["requests"]["copies"] + c.view["responses"]["copies"]
    if n and (c.tap["merged"] or c.flow["multicast"]) and "captured twice" not in c.finding["title"]:
        return False, n, "each is in the file twice, and was on the network once"
    return n > 0, n, "copies: %d" % n


def one_sided(c):
    ways = [c.view["requests"], c.view["responses"]]
    if c.back:
        ways = [_sum(ways[0], c.back["responses"]), _sum(ways[1], c.back["requests"])]
    silent = [w for w in ways if w["sent"] and not w["seen"]]
    return bool(silent), None, "sent and seen in both directions: %s" % [(w["sent"], w["seen"]) for w in ways]


def _sum(a, b):
    return {k: a[k] + b[k] for k in ("sent", "seen")}


def unseen(c):
    n = c.view["requests"]["missed_delivered"]
    return n > 0, n, "missed by the capture and delivered: %d" % n


def timeout(c):
    n = sum(r["cause"] == "timeout" for r in c.flow["rounds"])
    return n > 0, n, "rounds after a timeout: %d of %d" % (n, len(c.flow["rounds"]))


def timeout_early(c):
    n = sum(r["cause"] == "timeout" for r in c.flow["rounds"])
    lost = c.view["responses"]["lost_downstream"]
    return n > 0 and not lost, n, "rounds after a timeout: %d, responses lost on their way: %d" % (n, lost)


def timeout_short(c):
    n = sum(r["crossed"] for r in c.flow["rounds"])
    return n > 0, n, "rounds while a response was on its way: %d" % n


def timeout_long(c):
    return c.flow["timeout_ns"] * 4 >= LONG_NS, None, "timeout %s ns" % c.flow["timeout_ns"]


def stall(c):
    return c.flow["longest_wait_ns"] >= 180_000_000, None, "longest wait: %.1f ms" % (c.flow["longest_wait_ns"] / 1e6)


def ecn_no_cnp(c):
    marked = c.view["marked"]["requests"] + (c.back["marked"]["responses"] if c.back else 0)
    return c.flow["cnps"] == 0 and marked > 0, None, "CNPs sent: %d, marked: %d" % (c.flow["cnps"], marked)


def ecn_ce(c):
    marked = c.view["marked"]["requests"] + (c.back["marked"]["responses"] if c.back else 0)
    return marked > 0, None, "marked: %d" % marked


def ended(error):
    def ask(c):
        ns = c.flow["error_ns"]
        return c.flow["error"] == error and ns <= c.tap["end_ns"], None, "the sender's state: %s" % c.flow["error"]
    return ask


def no_response(c):
    first, last = c.flow["responses_ns"]
    some = first is not None and last >= c.tap["start_ns"] and first < c.tap["end_ns"]
    return not some, None, "responses were sent: %s" % some


def responses_stopped(c):
    last = c.flow["responses_ns"][1]
    later = [r for r in c.flow["rounds"] if last is not None and last < r["ns"] <= c.tap["end_ns"]]
    return bool(later), None, "last response sent: %s ns, rounds after it: %d" % (last, len(later))


def silence(c):
    host = re.match("(\\d+) of \\d+ QPs", c.finding["detail"])
    if host:
        most = min(c.truth["waits"].get(address, 0) for address in c.finding["where"].split(" and "))
        return most >= int(host[1]), None, "QPs that waited: %d" % most
    return bool(c.truth["silences"]), None, "pauses: %s" % c.truth["silences"]


def no_rdma(c):
    wrong = c.tap["rdma"] if c.finding["title"].startswith("there is no RDMA") else c.tap["frames"]
    return wrong == 0, None, "frames of RDMA: %d of %d" % (c.tap["rdma"], c.tap["frames"])


def not_in_time(c):
    wanted = c.truth["options"][:1] == ["--time"]
    seconds = float(c.truth["options"][1].split("-")[0]) if wanted else 0
    return wanted and seconds * 1e9 > c.tap["lasts_ns"], None, "options: %s, %s ns" % (c.truth["options"], c.tap["lasts_ns"])


def not_understood(c):
    if c.tap["link"] == "user":
        return "link type 147" in c.finding["title"], c.tap["frames"], "frames of link type 147"
    if "cut before" in c.finding["title"]:
        return c.tap["cut"] > 0, c.tap["cut"], "cut: %d" % c.tap["cut"]
    other = c.tap["frames"] - c.tap["rdma"]
    return other > 0, other, "frames that are not RDMA: %d" % other


def in_tunnels(c):
    n = c.tap["tunnelled"]
    return n > 0, c.tap["strays_tunnelled"], "in tunnels: %d" % n


def several_interfaces(c):
    return c.tap["merged"], None, "captures of two hosts in one file: %s" % c.tap["merged"]


def foreign_udp(c):
    strays = c.tap["kinds"].get("stray", 0) + c.tap["damaged"]
    return strays > 0, strays, "frames to port 4791 that are no RoCE, or damaged: %d" % strays


def capture_lost(c):
    return c.tap["declared"] and c.tap["missed"] > 0, c.tap["missed"], "declared: %s" % c.tap["declared"]


def icrc_untrusted(c):
    if c.tap["zeroed"]:
        return True, None, "payloads are zeroed"
    return c.tap["rdma"] == 0, None, "all of %d frames had a valid invariant CRC when sent" % c.tap["rdma"]


def backwards(c):
    return c.tap["backwards"] > 0, None, "backwards: %d" % c.tap["backwards"]


def credits(c):
    return c.view["no_credits"] > 1, c.view["no_credits"], "ACKs without credits: %d" % c.view["no_credits"]


def qkey(c):
    n = c.view["wrong_qkeys"]
    return n > 0, n, "packets with a wrong Q_Key: %d" % n


def counters_differ(c):
    """A counter grew by another number than the file shows between both readings."""
    m = re.match(r"(\S+) counted (\d+) (\S+), the packets show (\d+)", c.finding["title"])
    if not m:
        return False, None, "the title is not understood"
    index = c.truth["taps"].index(c.tap)
    if not c.tap["merged"] and any(f["views"][index][way]["copies"] for f in c.truth["flows"] for way in ("requests", "responses")):
        return None               # whether a device counts copies is not simulated
    rows = [d for d in c.tap["readings"] if d["device"] == m[1] and d["grown"].get(m[3]) == int(m[2])]
    if not rows:
        return False, None, "grown: %s" % [(d["host"], d["grown"].get(m[3]), "reset" if d["reset"] else "") for d in c.tap["readings"]]
    shown = [d["in_file"].get(m[3]) for d in rows]
    ok = any(n is None or abs(n[0] - int(m[2])) > n[2] for n in shown)
    return ok, None, "between the readings: %s, in the file: %s" % tuple([n and n[i] for n in shown] for i in (0, 1))


def counter(c):
    """A counter grew by this between both readings."""
    m = re.match(r"(\S+) grew by at least ([\d ]+) in", c.finding["title"])
    device = c.finding["where"].split(" ")[0]
    grown = [d["grown"].get(m[1]) for d in c.tap["readings"] if d["device"] == device] if m else []
    return bool(m) and int(m[2].replace(" ", "")) in grown, None, "grown: %s" % grown


def link_down(c):
    n = sum(text == "port down" for _, text in c.tap["link_events"])
    return n > 0, n, "ports went down: %d" % n


def rejected(c):
    n = c.tap["mads"].get("18", 0)
    return n > 0, n, "REJ in the file: %d" % n


def not_connected(c):
    return any(c.tap["unanswered"].values()), None, "unanswered: %s" % c.tap["unanswered"]


def missing(c):
    n = c.row.get("lost", 0) + c.row.get("missed_at_receiver", 0)
    return n > 0, n, "lost or missed: %d" % n


def lost_long(c):
    shortest, longest = c.row.get("lost_shortest", 0), c.row.get("arrived_longest", 0)
    return 0 < longest < shortest, c.row.get("lost", 0), "lost: of %d bytes or more, arrived: of up to %d" % (shortest, longest)


def delay_varies(c):
    spread = c.row.get("delay_spread_ns", 0)
    return spread >= 900_000, None, "delays differ by %.3f ms" % (spread / 1e6)


def no_such_qp(c):
    wanted = int(c.truth["options"][1], 0) if c.truth["options"][:1] == ["--qp"] else None
    there = any(wanted in (f["from_qp"], f["to_qp"]) and f["requests"]["transmissions"] for f in c.truth["flows"])
    return wanted is not None and not there, None, "options: %s" % c.truth["options"]


def paused(c):
    spans = c.view["held"]["request"] + (c.back["held"]["response"] if c.back else [])
    spans = [s for s in spans if s[1] >= c.tap["start_ns"] and s[0] < c.tap["end_ns"]]
    return bool(spans), None, "pauses that held its packets back: %d" % len(spans)


def pause_frames(c):
    row = congestion_truth.row_of(c.tap, c.finding["where"])
    wanted = row and ("all traffic" if row["classes"] is None else ("priority %s" if len(row["classes"]) == 1 else "priorities %s") % ", ".join(
        map(str, row["classes"])))
    ok = row and row["frames"] and c.finding["title"].endswith((wanted, "without a pause"))
    return bool(ok), row and row["frames"], "pause frames in the file: %s" % row


def cnp_late(c):
    slow = max(c.flow["cnp_delay_ns"], c.flow["cnp_gap_ns"])
    return slow >= 150_000, None, "its CNPs follow after %d ns" % slow


def cnp_no_effect(c):
    return not c.flow["obeys_cnps"], None, "the sender obeys CNPs: %s" % c.flow["obeys_cnps"]


def priorities_differ(c):
    there, back = congestion_truth.dscps(c.view, c.back)
    return bool(there and back and there != back), None, "DSCPs: %s and %s" % (there, back)


def lossy_priority(c):
    there = congestion_truth.dscps(c.view, c.back)[0]
    ok = bool(c.tap["pfc"]) and there is not None and int(there) >> 3 not in c.tap["pfc"]
    return ok, None, "DSCP %s, PFC on %s" % (there, c.tap["pfc"])


def opinion(c):
    return None


OF_FLOW = {
    "lost-downstream": _down("requests"), "lost-upstream": _up("requests"),
    "responses-lost-downstream": _down("responses"), "responses-lost-upstream": _up("responses"),
    "unreliable-lost": unreliable, "damaged": damaged, "reordered": reordered, "duplicated": duplicated,
    "one-sided": one_sided, "unseen": unseen, "timeout": timeout, "timeout-short": timeout_short,
    "timeout-long": timeout_long, "timeout-early": timeout_early, "stall": stall, "cnp": _count("cnp"), "ecn-no-cnp": ecn_no_cnp, "ecn-ce": ecn_ce,
    "rnr": _count("rnr"), "remote-access": _count("nak_remote_access"),
    "invalid-request": _count("nak_invalid_request"), "remote-operational": _count("nak_remote_operational"),
    "credits": credits, "qkey": qkey,
    "never-arrives": never_arrives, "gave-up": ended("retry"), "gave-up-rnr": ended("rnr"), "no-response": no_response,
    "responses-stopped": responses_stopped, "responses-unseen": responses_unseen,
    "datagram-gaps": datagram_gaps, "reordered-downstream": reordered_downstream,
    "paused": paused, "cnp-late": cnp_late, "cnp-no-effect": cnp_no_effect, "priorities-differ": priorities_differ,
    "lossy-priority": lossy_priority,
    "starving": opinion, "small-mtu": opinion,
}
OF_CAPTURE = {
    "no-frames-in-time": not_in_time, "not-understood": not_understood, "in-tunnels": in_tunnels,
    "tunnels-left-out": in_tunnels, "several-interfaces": several_interfaces, "foreign-udp": foreign_udp,
    "no-rdma": no_rdma, "capture-lost": capture_lost, "truncated": _tap("cut"), "icrc-untrusted": icrc_untrusted,
    "damaged-unknown-qp": _tap("damaged"), "silence": silence, "time-backwards": backwards, "cm-reject": rejected,
    "cm-no-reply": not_connected, "file-damaged": _never("no file is damaged"),
    "pause-frames": pause_frames,
    "trimmed": _never("no switch trims packets"), "merged-frames": _never("no host merges packets"),
    "several-vlans": _never("each direction of a QP pair is in one VLAN"), "no-such-qp": no_such_qp, "too-many-qps": _never("few QPs"),
    "too-many-facts": _never("no facts"), "counters-differ": counters_differ,
    "counter": counter, "link-down": link_down,
}
OF_ENDS = {
    "lost-between": _row("lost"), "lost-long": lost_long, "lost-downstream-of-receiver": _row("lost_behind"),
    "duplicated-between": _row("copies"), "reordered-between": _row("reordered"),
    "lost-in-sender": _row("lost_in_sender"), "missed-at-receiver": _row("missed_at_receiver"), "lost-or-missed": missing,
    "missed-at-sender": _row("missed_at_sender"), "delay-varies": delay_varies,
}
