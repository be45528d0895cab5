#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The schema of analyze's JSON.

analyze_schema.py incidents SOURCE UPDATE: it names the incidents of incident.def; writes them there if UPDATE is not empty.
analyze_schema.py reports SCHEMA FILE...: each report follows it, has only events that it names, and its series add up.
"""
import json
import re
import sys


def incidents(source, update):
    path = source + "/docs/schema/analyze.json"
    with open(source + "/include/rdmadump/incident.def", encoding="utf-8") as f:
        rows = re.findall(r'^INCIDENT\(\w+, "(\w+)", (?:OWN|PEER),\s+"([^"]+)"\)$', f.read(), re.M)
    schema = json.load(open(path, encoding="utf-8"))
    want = {key: {"$ref": "#/$defs/event", "description": text} for key, text in rows}
    if update:
        schema["$defs"]["events"]["properties"] = want
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    found = schema["$defs"]["events"]["properties"]
    print({k for k in want.keys() | found.keys() if want.get(k) != found.get(k)})
    return len(rows) < 30 or found != want


def reports_by(path, *reports):
    import jsonschema
    schema = json.load(open(path, encoding="utf-8"))
    finding = json.load(open(path.replace("analyze.json", "finding.json"), encoding="utf-8"))
    resolver = jsonschema.RefResolver("analyze.json", schema, store={"finding.json": finding})
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    events = set(schema["$defs"]["events"]["properties"])
    bad = 0
    for name in reports:
        report = json.load(open(name, encoding="utf-8"))
        for e in list(validator.iter_errors(report))[:3]:
            print(name, e.json_path, e.message)
            bad = 1
        for c in report["conversations"]:
            for s in c["sides"].values():
                if set(s["events"]) - events:
                    print(name, "events that the schema does not name:", set(s["events"]) - events)
                    bad = 1
        if report["series"] and sum(report["series"]["frames"]) != report["totals"]["frames"] - \
                report["totals"]["icrc_bad"] * report["totals"]["icrc_trusted"]:
            print(name, "the series does not add up")
            bad = 1
    return bad


sys.exit({"incidents": incidents, "reports": reports_by}[sys.argv[1]](*sys.argv[2:]))
