#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""schema.py SCHEMA FILE...: each FILE ("-": one JSON object per line of standard input) follows SCHEMA,
which may refer to files beside it."""
import glob
import json
import os
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
store = {}
for path in glob.glob(os.path.join(os.path.dirname(sys.argv[1]), "*.json")):
    with open(path, encoding="utf-8") as f:
        store[os.path.basename(path)] = json.load(f)
resolver = jsonschema.RefResolver(os.path.basename(sys.argv[1]), schema, store=store)
checker = jsonschema.validators.validator_for(schema, jsonschema.Draft7Validator)(schema, resolver=resolver)
checker.check_schema(schema)
bad = 0
for name in sys.argv[2:]:
    if name == "-":
        texts = sys.stdin.read().splitlines()
    else:
        with open(name, encoding="utf-8") as f:
            texts = [f.read()]
    if not texts:
        print(f"{name}: nothing to check")
        bad = 1
    for text in texts:
        for error in checker.iter_errors(json.loads(text)):
            print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
            bad = 1
sys.exit(bad)
