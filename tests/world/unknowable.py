# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What nobody can know from a tap: written into the truth. To say it as certain or likely is false, even where it is so."""

CAUSES = ("timeout", "timeout-short", "responses-lost-downstream", "responses-lost-upstream")


def of_tap(tap):
    """Yields (rule, why)"""
    if tap["link"] == "user":
        for rule in ("no-rdma", "one-sided"):
            yield rule, "no reader knows this link type"
    if not tap["headers"]:
        yield "damaged", "checksums are cut off"
    if tap["zeroed"]:
        yield "damaged", "payloads are zeroed, and checksums are those of before"
        yield "damaged-unknown-qp", "payloads are zeroed, and checksums are those of before"
    if tap["cut"]:
        yield "icrc-untrusted", "checksums are cut off"
    if tap["one_way"]:
        yield "no-response", "the other direction was not captured"


def of_flow(flow, view, tap):
    """Yields (rule, why)"""
    if tap["one_way"] and flow["transport"] == "RC":
        for rule in CAUSES:
            yield rule, "the other direction was not captured"
        if not view["requests"]["seen"] or not view["responses"]["seen"]:
            yield "lost-upstream", "without NAKs, a packet that was not captured was lost by the network or by the capture"
    if flow["transport"] == "UC" and not (tap["declared"] and not tap["missed"]):
        yield "unreliable-lost", "the file does not say what its capture lost"
    errors = [flow["error_ns"]] if flow["error"] else []
    if flow["error"] == "retry" and view["tail_ns"] < 2 * flow["timeout_ns"]:
        yield "gave-up", "the capture ends before another time-out would be over"
    if not errors and flow["rounds"] and tap["end_ns"] < flow["rounds"][-1]["ns"]:
        yield "gave-up", "the capture ends while the sender still repeats"
    if not view["responses"]["seen"] and not view["requests"]["seen"]:
        yield "no-response", "nothing of it was captured"


def of_truth(truth):
    """Per tap: a list of (rule, from, to or None for all, why)."""
    out = []
    for index, tap in enumerate(truth["taps"]):
        rows = [dict(rule=rule, source=None, target=None, because=why) for rule, why in of_tap(tap)]
        for flow in truth["flows"]:
            rows += [dict(rule=rule, source=flow["from"], target=flow["to"], qp=flow["to_qp"], because=why)
                     for rule, why in of_flow(flow, flow["views"][index], tap)]
        out.append(rows)
    return out


def asks(rows, finding, flow):
    """Why nobody can know what this finding says, or None."""
    for row in rows:
        if row["rule"] == finding["rule"] and (row["source"] is None or flow and (
                row["source"], row["target"], row["qp"]) == (flow["from"], flow["to"], flow["to_qp"])):
            return row["because"]
    return None
