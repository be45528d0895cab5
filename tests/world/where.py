# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The place that a verdict names, against the places where packets of these hosts were lost."""
from culprits import BACK, PLACE
from fabric import QUEUE

REQUESTS = ("lost-upstream", "lost-downstream", "unreliable-lost")
RESPONSES = ("responses-lost-upstream", "responses-lost-downstream")
SELF = {"rnr": ("rnr", "receiver_host"), "gave-up-rnr": ("rnr", "receiver_host")}


def places(truth, v, kind, table):
    """Where packets between the verdict's hosts were lost; a damaged one is dropped elsewhere than damaged."""
    found = set()
    for flow in truth["flows"]:
        if (flow["from"], flow["to"]) == (v["sender"], v["receiver"]):
            for place in flow["lost"][kind]:
                found |= {"sender_nic", "fabric", "receiver_nic"} if place == "damaged" else {"fabric" if place == QUEUE else table[place]}
    return found


def judge(out, report, truth, index):
    v = report["verdict"]
    rules = {f["rule"] for f in report["findings"]}
    out.judge("(verdict)", v["certainty"] or "possible", v["text"], (v["rule"] is None or v["rule"] in rules, None, "no such finding"))
    if v["rule"] in REQUESTS:
        true = places(truth, v, "requests", PLACE)
    elif v["rule"] in RESPONSES:
        true = places(truth, v, "responses", BACK)
    elif v["rule"] in SELF:
        key, true = SELF[v["rule"]][0], {SELF[v["rule"]][1]}
        if not any(f["views"][index]["counts"].get(key) for f in truth["flows"] if (f["from"], f["to"]) == (v["sender"], v["receiver"])):
            true = set()
    else:
        return
    if v["where_certainty"] == "possible":             # the capture may have missed what it calls lost
        return
    if true or v["where_certainty"] == "certain":      # else the finding is false, and judged as one
        out.judge("(where)", v["where_certainty"], v["text"], (bool(true & set(v["places"])), None, "places: %s" % sorted(true)))
