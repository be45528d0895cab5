# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The text that a user reads first, and the exit status."""
import re
import subprocess

import links

TROUBLE = ("lost-upstream", "lost-downstream", "lost-between", "lost-downstream-of-receiver", "responses-lost-upstream",
           "responses-lost-downstream", "unreliable-lost", "gave-up", "no-response", "timeout", "remote-access", "invalid-request",
           "remote-operational", "rnr", "damaged", "capture-lost", "cm-no-reply", "cm-reject", "ecn-no-cnp")


def text_of(program, paths, options):
    run = subprocess.run([program, "analyze"] + (["--ends", "always"] if len(paths) == 2 else []) + options + paths,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=120, check=False)
    return run.returncode, run.stdout


def judge_text(verdict, text, report, wanted):
    """`wanted`: what must be said, see must.py."""
    quiet = re.search(r"^no findings|nothing (is )?amiss|no problem", text, re.M | re.I)
    trouble = [w for w in wanted if set(w[0]) & set(TROUBLE)]
    loud = re.search(r"^[1-9]\d* findings?;", text, re.M) or "ends" in report and report["ends"]["findings"]
    if quiet and not loud:
        verdict.judge("(headline)", "certain", quiet.group(0), (not trouble, None, "what must be said: %s" % [w[3] for w in trouble]))
    for m in re.finditer(r"^(\d+) findings?; ([\d ]+) frames?", text, re.M):
        reports = report.get("captures", [report])
        numbers = [(sum(f["severity"] != "note" for f in r["findings"]), r["totals"]["frames"]) for r in reports]
        said = (int(m[1]), int(m[2].replace(" ", "").replace("\u202f", "")))
        verdict.judge("(headline)", "certain", m.group(0), (said in numbers, None, "the findings and frames of --json: %s" % numbers))


def judge_status(verdict, status, report, truth):
    """0 if all was understood; 2 if not a frame of RDMA was, though there are some: rdmadump-analyze(1)."""
    if "between" in truth:
        return
    tap = truth["taps"][0]
    wanted = {0}
    if links.LINKS[tap["link"]][0] == links.USER0:
        wanted = {2}
    elif not tap["headers"] or not tap["rdma"]:
        wanted = {0, 2}
    verdict.judge("(exit status)", "certain", str(status), (status in wanted, None, "link %s, %d frames of RDMA" % (tap["link"], tap["rdma"])))
