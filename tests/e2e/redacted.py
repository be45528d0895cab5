#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges redaction without the program's own code.

    redacted.py search MAP PATH...     prints each original of the map that is in a file, or in its name
    redacted.py findings OLD NEW       compares two reports of analyze --json, but for names of files and times

Originals are searched as text, without case, in each notation; addresses also as bytes. The exit status is 1 if
anything is printed.
"""
import ipaddress
import json
import os
import re
import sys


def forms(kind, original):
    """The texts and the bytes in which an original may be."""
    digits = re.sub(r"[^0-9a-f]", "", original.lower().removeprefix("0x"))
    if kind in ("mac", "guid"):
        raw = bytes.fromhex(digits)
        texts = {sep.join(digits[i:i + 2] for i in range(0, len(digits), 2)) for sep in ":-"} | {digits}
        texts |= {sep.join(digits[i:i + 4] for i in range(0, len(digits), 4)) for sep in ":."}
        return texts, {raw}
    if kind in ("ipv4", "ipv6"):
        address = ipaddress.ip_address(original)
        return {str(address), address.exploded.lower()}, {address.packed}
    return {original.lower()}, set()


def is_word(text, kind):
    """Whether an original counts only where it stands alone: 10.0.0.1 is no part of 110.0.0.12."""
    return kind == "ipv4" or kind == "ipv6" or len(text) < 8


def printable(data):
    """Texts of a binary file: two letters stand alone somewhere among many bytes."""
    return b"\n".join(re.findall(rb"[\x20-\x7e]{6,}", data))


def search(path_of_map, paths):
    with open(path_of_map, encoding="utf-8") as file:
        rows = json.load(file)
    rows = rows["replaced"] if isinstance(rows, dict) else rows
    found = []
    files = [os.path.join(folder, name) for path in paths for folder, _, names in os.walk(path) for name in names]
    files += [path for path in paths if os.path.isfile(path)]
    content = []
    for path in files:
        with open(path, "rb") as file:
            data = file.read() if not os.path.islink(path) else os.readlink(path).encode()
        content.append((path, data, (data + b"\n" + path.encode()).lower(), b"\0" in data))
    for row in rows:
        texts, raw = forms(row["kind"], row["original"])
        for path, data, lower, binary in content:
            for text in texts:
                at = lower.find(text.encode())
                if at < 0:
                    continue
                if is_word(text, row["kind"]):
                    pattern = rb"(?<![0-9a-z.:])" + re.escape(text.encode()) + rb"(?![0-9a-z:]|\.[0-9])"
                    if not re.search(pattern, printable(lower) if binary else lower):
                        continue
                found.append("%s: %s %s" % (path, row["kind"], text))
            # Four bytes are in many files by chance: only where a network header has them.
            if binary and row["kind"] != "ipv4":
                found += ["%s: %s %s in bytes" % (path, row["kind"], row["original"]) for b in raw if b in data]
            elif binary:
                (b,) = raw
                found += ["%s: ipv4 %s in a header" % (path, row["original"])
                          for m in re.finditer(rb"\x45.{11}(.{4})(.{4})", data, re.S) if b in m.groups()]
    return found


def same(value):
    """A report without what differs between two runs, and without what is read from payload, which is zeroed."""
    if isinstance(value, dict):
        return {k: same(v) for k, v in value.items() if k not in ("file", "files", "name", "path", "duration_s", "applications", "application")}
    if isinstance(value, list):
        value = [same(v) for v in value]
        # Hosts that are equal in all else are sorted by address.
        named = value and all(isinstance(v, dict) and "address" in v for v in value)
        return sorted(value, key=lambda v: v["address"]) if named else value
    return value


def differences(old, new, where=""):
    if isinstance(old, dict) and isinstance(new, dict):
        return [d for k in sorted(set(old) | set(new)) for d in differences(old.get(k), new.get(k), where + "/" + k)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [d for i, (a, b) in enumerate(zip(old, new)) for d in differences(a, b, "%s[%d]" % (where, i))]
    return [] if old == new else ["%s: %s, %s" % (where, json.dumps(old)[:200], json.dumps(new)[:200])]


def findings(path_old, path_new):
    reports = []
    for path in (path_old, path_new):
        with open(path, encoding="utf-8") as file:
            reports.append(same(json.load(file)))
    return differences(*reports)


if __name__ == "__main__":
    faults = search(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "search" else findings(sys.argv[2], sys.argv[3])
    print("\n".join(faults[:50]))
    sys.exit(1 if faults else 0)
