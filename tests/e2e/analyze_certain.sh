#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `rdmadump analyze` reports about captures that show only a part of what happened.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
python3 "$srcdir/tests/e2e/analyze_certain.py" "$RDMADUMP" "$tmp"
