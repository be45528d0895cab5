# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What must be said: only what this tap could see. Each is a set of rules, one of which must appear; "~": a pattern of the text."""
import congestion_truth

AGAIN = ("timeout", "timeout-short", "lost-downstream", "lost-upstream", "responses-lost-downstream", "responses-lost-upstream",
         "gave-up", "responses-stopped", "no-response", "lost-between", "lost-downstream-of-receiver")
FATAL = {"nak_remote_access": "remote-access", "nak_invalid_request": "invalid-request",
         "nak_remote_operational": "remote-operational"}


def of_flow(flow, view, tap):
    req, res, counts = view["requests"], view["responses"], view["counts"]
    quiet = not tap["missed"] and not tap["one_way"] and tap["snaplen"] > 100
    if req["nakked_downstream"] and quiet:
        yield ("lost-downstream", "lost-between", "lost-downstream-of-receiver", "damaged"), "%d packets seen and NAKed" % req["nakked_downstream"]
    if req["nakked_upstream"] and quiet and not req["reordered"] and not view["before_start"] and not req["damaged"]:
        yield ("lost-upstream", "lost-between"), "%d packets NAKed that were first seen as retransmissions" % req["nakked_upstream"]
    if quiet and tap["whole"] and res["lost_upstream"] and counts["read_responses"] and any(
            r["cause"] == "read gap" and r["packets"] for r in flow["rounds"]) and req["retransmitted"]:
        yield AGAIN, "READ responses are missing, and were requested again"
    if quiet and req["retransmitted"] and any(r["cause"] == "timeout" and r["packets"] for r in flow["rounds"]) and view["saw_all"]:
        yield AGAIN, "retransmitted after a timeout"
    if tap["snaplen"] > 80:
        for key, rule in FATAL.items():
            if counts[key]:
                yield (rule,), "a NAK in the file"
        if counts["rnr"]:
            yield ("rnr", "gave-up-rnr"), "%d RNR NAKs in the file" % counts["rnr"]
    if counts["cnp"] and tap["snaplen"] > 80:
        yield ("cnp",), "%d CNPs in the file" % counts["cnp"]
    marked = view["marked"]["requests"]
    if quiet and marked >= 20 and not flow["cnps"] and res["seen"] and tap["at"] == flow["to"]:
        yield ("ecn-no-cnp",), "%d marked frames, no CNP" % marked
    if flow["error"] == "retry" and view["saw_all"] and sum(r["cause"] == "timeout" for r in flow["rounds"]) >= 2:
        yield ("gave-up", "responses-stopped", "no-response", "timeout"), "the receiver died"
    if flow["transport"] == "UC" and quiet and tap["whole"] and req["lost_upstream"]:
        yield ("unreliable-lost",), "%d packets of UC are lost upstream" % req["lost_upstream"]
    if tap["one_way"] and flow["from"] != flow["to"] and flow["transport"] == "RC" and req["seen"] > 20 and not flow["rounds"]:
        yield ("one-sided",), "one direction only"
    if req["reordered"] >= 3 and quiet and tap["whole"] and not flow["rounds"]:
        yield ("reordered", "reordered-between"), "%d packets are late" % req["reordered"]
    yield from congestion_truth.must_of_flow(flow, view, tap)


def of_tap(tap):
    if tap["declared"] and tap["missed"]:
        yield ("capture-lost",), "the file declares its losses"
    if tap["cut"]:
        yield ("truncated",), "frames are cut"
    if tap["frames"] and not tap["rdma"] and not tap["kinds"].get("stray"):
        yield ("no-rdma",), "no RDMA"
    if tap["mads"].get("18") and tap["snaplen"] > 300:
        yield ("cm-reject",), "a REJ in the file"
    if any(tap["unanswered"].values()) and any(n > 1 for n in tap["connect_requests"].values()) and tap["snaplen"] > 300:
        yield ("cm-no-reply",), "requests of the CM without a reply"
    if tap["readings"] and not tap["merged"] and not any(d["reset"] for d in tap["readings"]) and tap["whole"] is False and tap["missed"] >= 3 \
            and not tap["declared"] and any("sent_pkts" in d["grown"] for d in tap["readings"]):
        yield ("counters-differ", "capture-lost", "unseen"), "the device's counters show that the capture missed packets"
    if tap["whole"] and "pcapng" in tap["format"] and any(text == "port down" for _, text in tap["link_events"]):
        yield ("~(link|port)[^.;]*down",), "the file says that the port was down"
    if tap["damaged"] and tap["snaplen"] > 2000 and not tap["zeroed"]:
        yield ("damaged", "damaged-unknown-qp"), "damaged frames"
    yield from congestion_truth.must_of_tap(tap)


def of_truth(truth):
    out = []
    if truth["options"]:
        return out
    if max(truth["silences"], default=0) >= 55 and all(t["whole"] and t["link"] != "user" for t in truth["taps"]):
        out.append((("silence",), None, None, "all ports were paused"))
    for index, tap in enumerate(truth["taps"]):
        if tap["link"] == "user":
            out.append((("not-understood",), None, None, "frames of an unknown link type"))
            continue
        out += [(rules, None, None, why) for rules, why in of_tap(tap)]
        for flow in truth["flows"]:
            out += [(rules, flow["from"], flow["to"], why) for rules, why in of_flow(flow, flow["views"][index], tap)]
    for row in truth.get("between", ()):
        if all(t["whole"] for t in truth["taps"]):
            for key, rule in (("lost_inside", "lost-between"), ("reordered", "reordered-between"), ("copies", "duplicated-between")):
                if row.get(key):
                    out.append(((rule,), row["from"], row["to"], "%s: %d" % (key, row[key])))
    return out
