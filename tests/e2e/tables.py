#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the questions of a file of SQL over tables of JSON lines, by SQLite.

    tables.py SQL TABLE.ndjson... NAME   the answer to the question NAME: a line each, with bars between the values
    tables.py SQL                        the names of all questions
"""
import json
import os
import re
import sqlite3
import sys


def main(sql, *rest):
    with open(sql, encoding="utf-8") as f:
        questions = dict(re.findall(r"^-- (\w+): [^\n]*\n(.*?;)", f.read(), re.S | re.M))
    if not rest:
        print(*questions, sep="\n")
        return
    db = sqlite3.connect(":memory:")
    for name in rest[:-1]:
        with open(name, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        columns = list(rows[0])
        table = os.path.basename(name).split(".")[0]
        db.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", [[row[c] for c in columns] for row in rows])
    for row in db.execute(questions[rest[-1]]):
        print(*row, sep="|")


main(*sys.argv[1:])
