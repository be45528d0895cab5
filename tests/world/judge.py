# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares what `rdmadump analyze --json` reports about a capture with the truth.

A statement is a finding: its rule, its certainty, and where. Numbers of the report are counts.
"""
import json
import os
import re
import shutil
import subprocess
import sys

import congestion_truth
import figures
import predicates
import unknowable
import where as places

EVENTS = ("rnr", "cnp", "nak_sequence", "nak_invalid_request", "nak_remote_access", "nak_remote_operational",
          "retransmitted", "rounds_nak", "rounds_rnr", "rounds_read", "rounds_timeout")
PAIRING = {"port": "likely", "psn": "likely", "cm": "certain", "resource": "certain"}


class Case:
    """What a predicate may ask."""

    def __init__(self, truth, tap, finding):
        self.truth, self.tap, self.finding = truth, tap, finding
        self.flow = self.view = self.back = self.row = None

    def choose(self, index, flow):
        self.flow, self.view = flow, flow["views"][index]
        for other in self.truth["flows"]:
            if (other["from_qp"], other["to_qp"], other["from"]) == (flow["to_qp"], flow["from_qp"], flow["to"]):
                self.back = other["views"][index]


def under_test(keep):
    """-> the program; makes the folder, if one is named"""
    os.makedirs(keep or ".", exist_ok=True)
    return shutil.which(os.environ.get("RDMADUMP", "rdmadump")) or sys.exit("there is no program under test: set RDMADUMP to its path")


def analyze(program, paths, options):
    run = subprocess.run([program, "analyze", "--json"] + (["--ends", "always"] if len(paths) == 2 else []) + options + paths,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    try:
        return run.returncode, json.loads(run.stdout), run.stderr
    except ValueError:
        return run.returncode, None, run.stderr


def flow_of(truth, ends, start, end):
    """The flow from one endpoint of a conversation to the other; a QP may be unknown."""
    a, b = ends[start], ends[end]
    for flow in truth["flows"]:
        if (flow["from"], flow["to"]) != (a["address"], b["address"]):
            continue
        if b["qp"] in (None, flow["to_qp"]) and a["qp"] in (None, flow["from_qp"]) and (a["qp"], b["qp"]) != (None, None):
            return flow
    return None


class Verdict:
    def __init__(self):
        self.false = []           # (rule, certainty, where, why)
        self.statements = []      # (rule, certainty)
        self.counts = []          # (key, wanted, got, whether the tap saw everything)
        self.missing = []         # (rules, why)
        self.asked = 0

    def judge(self, rule, certainty, where, answer, count=None):
        if answer is None:
            return
        self.statements.append((rule, certainty))
        ok, most, why = answer
        if ok and most is not None and count is not None and count > most:
            ok, why = False, "the count is %d; %s" % (count, why)
        if not ok:
            self.false.append((rule, certainty, where, why))

    # --- one capture -------------------------------------------------------------------------

    def capture(self, report, truth, index, prefix=""):
        tap = truth["taps"][index]
        conversations = {c["id"]: c for c in report["conversations"]}
        for f in report["findings"]:
            self.finding(f, conversations, truth, tap, index)
        for c in report["conversations"]:
            self.conversation(c, truth, tap, index, prefix)
        congestion_truth.judge(self, report, tap)
        places.judge(self, report, truth, index)

    def finding(self, f, conversations, truth, tap, index):
        case = Case(truth, tap, f)
        rule, certainty, where = f["rule"], f["certainty"], "%s (%s)" % (f["where"], f["title"])
        if rule in predicates.OF_CAPTURE:
            self.judge(rule, certainty, where, self.known(case, index, predicates.OF_CAPTURE[rule](case)), f["count"])
            self.figures(case, where)
        elif rule not in predicates.OF_FLOW:
            self.false.append((rule, certainty, where, "tests/world/predicates.py has no row for this rule: add one"))
        else:
            c = conversations.get(f["conversation"])
            side = f["side"] or "a"
            flow = c and flow_of(truth, c, side, "b" if side == "a" else "a")
            if c and 1 in (c["a"]["qp"], c["b"]["qp"]):
                return            # the connection manager's; not followed by the truth
            if not flow:
                self.judge(rule, certainty, where, (False, None, "there is no such QP"))
                return
            case.choose(index, flow)
            self.judge(rule, certainty, where, self.known(case, index, predicates.OF_FLOW[rule](case)), f["count"])
            self.figures(case, where)

    @staticmethod
    def known(case, index, answer):
        """What nobody can know from this tap is false, unless it is called possible."""
        why = case.finding["certainty"] != "possible" and unknowable.asks(case.truth["unknowable"][index], case.finding, case.flow)
        return (False, None, "nobody can know: " + why) if why else answer

    def figures(self, case, where):
        """Numbers of the detail; copies are counted in ways that are not agreed."""
        view = case.view
        if view and (view["requests"]["copies"] or view["responses"]["copies"]) or not figures.known(case.finding["rule"]) \
                or case.truth["options"]:
            return
        wrong = list(figures.wrong(case))
        self.judge("(number of %s)" % case.finding["rule"], case.finding["certainty"], where, (not wrong, None, "; ".join(
            "%s: says %s, is %.4g to %.4g" % row for row in wrong)))

    def conversation(self, c, truth, tap, index, prefix):
        if 1 in (c["a"]["qp"], c["b"]["qp"]) or c["multicast"]:
            return
        where = "%s:%s %s:%s" % (c["a"]["address"], c["a"]["qp"], c["b"]["address"], c["b"]["qp"])
        sides = [(c["a"], "a", flow_of(truth, c, "a", "b")), (c["b"], "b", flow_of(truth, c, "b", "a"))]
        if c["a"]["qp"] is not None and c["b"]["qp"] is not None and c["pairing"] in PAIRING:
            self.judge("(pair of QPs)", PAIRING[c["pairing"]], where,
                       (any(s[2] for s in sides), None, "these QPs are not connected"))
        for _, side, flow in sides:
            if flow:
                self.ending(c["sides"][side]["ending"], flow, tap, where + " " + side)
        if not tap["headers"] or truth["options"]:
            return
        for _, side, flow in sides:
            if flow and (c["pairing"] != "none" or c["b" if side == "a" else "a"]["qp"] is not None):
                self.side(c["sides"][side], flow, flow["views"][index], prefix + where + " " + side, c["pairing"] != "none")
                congestion_truth.judge_side(self, c["sides"][side], flow, flow["views"][index], tap, where + " " + side)

    def ending(self, said, flow, tap, where):
        """The end of a side that the report shows, without a certainty of its own."""
        error = {"retry_exceeded": "retry", "rnr_retry_exceeded": "rnr", "remote_error": "refused"}.get(said)
        if error:
            ok = flow["error"] == error and flow["error_ns"] <= tap["end_ns"]
            self.judge("(ending %s)" % said, "likely", where, (ok, None, "the sender's state: %s" % flow["error"]))

    def side(self, got, flow, view, where, paired):
        wanted = dict(view["counts"])
        if view["requests"]["copies"] or view["responses"]["copies"]:
            return                # how often a copy counts is not agreed
        whole = {key: wanted.pop(key) for key in ("messages",) if key in wanted}
        if flow["transport"] != "RC":
            wanted = {key: n for key, n in wanted.items() if key in ("requests", "goodput_bytes")}
            used = sum(v["messages"] for v in got["verbs"].values())
            self.counts.append((where + " messages", whole["messages"], used, view["saw_all"]))
        elif not paired:
            wanted = {"requests": wanted["requests"]}
        for key, number in wanted.items():
            value = got["events"].get(key, {}).get("count", 0) if key in EVENTS else got[key]
            self.counts.append(("%s %s" % (where, key), number, value, view["saw_all"]))
        for verb, (messages, size) in view.get("messages", {}).items() if paired else ():
            used = got["verbs"].get(verb, {"messages": 0, "bytes": 0})
            self.counts.append(("%s %s messages" % (where, verb), messages, used["messages"], True))
            self.counts.append(("%s %s bytes" % (where, verb), size, used["bytes"], True))

    # --- two captures ------------------------------------------------------------------------

    def ends(self, report, truth):
        ends = report["ends"]
        rows = {(r["from"], r["to"], r["qp"]): r for r in truth["between"]}
        for f in ends["findings"]:
            case = Case(truth, None, f)
            where = re.match(r"(\S+) -> (\S+)(?: QP 0x([0-9a-f]+))?", f["where"])
            key = where and (where[1], where[2], int(where[3], 16) if where[3] else None)
            case.row = rows.get(key) or next((r for k, r in rows.items() if key and k[:2] == key[:2] and not key[2]), {})
            if f["rule"] not in predicates.OF_ENDS:
                self.false.append((f["rule"], f["certainty"], f["where"], "tests/world/predicates.py has no row for this rule: add one"))
                continue
            self.judge(f["rule"], f["certainty"], "%s (%s)" % (f["where"], f["title"]),
                       predicates.OF_ENDS[f["rule"]](case), f["count"])
        self.clock(ends["clock"], truth)
        for path in ends["paths"]:
            self.path(path, truth, rows)
        for i, capture in enumerate(report["captures"]):
            self.capture(capture, truth, i, "AB"[i] + ": ")

    def clock(self, clock, truth):
        if not clock:
            return
        wrong = min(abs(clock["offset_ns"] - offset) for offset in truth["offsets_ns"])
        slack = clock["error_ns"] + 2000 + abs(truth["drift_ppm"]) * truth["duration_ns"] / 1e6
        self.judge("(clock offset)", "certain", "clock", (wrong <= slack, None, "off by %d ns, said +-%d ns" % (
            wrong, clock["error_ns"])))
        if clock["drift_ppm"] is not None:
            off = abs(clock["drift_ppm"] - truth["drift_ppm"])
            self.judge("(clock drift)", "certain", "clock", (off <= max(1, abs(truth["drift_ppm"]) / 5), None,
                       "says %.1f ppm, is %.1f" % (clock["drift_ppm"], truth["drift_ppm"])))

    def path(self, path, truth, rows):
        taps = truth["taps"]
        right = "a" if taps[0]["at"] == path["from"] else "b"
        where = "%s -> %s" % (path["from"], path["to"])
        self.judge("(sender)", "certain" if path["sender_known"] else "possible", where,
                   (path["sender"] == right, None, "capture %s is at the sender" % right))
        exact = all(t["whole"] for t in taps)
        for q in path["qps"]:
            row = rows.get((path["from"], path["to"], q["qp"]))
            if not row or not exact or row.get("damaged_headers"):
                continue
            for key, mine in (("lost", "lost"), ("duplicated", "copies"), ("missed", "missed_at_sender")):
                self.counts.append(("%s QP 0x%x %s" % (where, q["qp"], key), row.get(mine, 0), q[key]["count"], True))
            for key in ("arrived", "sent"):
                self.counts.append(("%s QP 0x%x %s" % (where, q["qp"], key), row.get(key, 0), q[key], True))

    # --- what must be said -------------------------------------------------------------------

    def recall(self, report, wanted):
        """`wanted`: (rules of which one must appear, from, to, destination QP or None, why)"""
        captures = report.get("captures", [report])
        said, text = set(), []
        for capture in captures:
            conversations = {c["id"]: c for c in capture["conversations"]}
            for f in capture["findings"]:
                text.append(f["title"] + "; " + f["detail"])
                c = conversations.get(f["conversation"])
                said.add((f["rule"], None, None))
                if c:
                    side = f["side"] or "a"
                    a, b = c[side], c["b" if side == "a" else "a"]
                    said.add((f["rule"], a["address"], b["address"]))
        for f in report["ends"]["findings"] if "ends" in report else ():
            said.add((f["rule"],) + tuple(re.match(r"(\S+) -> (\S+)", f["where"]).groups()))
        for rules, source, target, why in wanted:
            self.asked += 1
            if not any((rule, source, target) in said or rule[0] == "~" and re.search(rule[1:], "\n".join(text)) for rule in rules):
                self.missing.append((rules, why))
