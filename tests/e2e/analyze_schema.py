#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""analyze_schema.py SCHEMA FILE...: each report follows the schema, has only events that it names, and its series add up."""
import json
import sys

import jsonschema


def reports_by(path, *reports):
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


sys.exit(reports_by(*sys.argv[1:]))
