#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# All that the reports of all cases say, besides what each case expects: a change is seen, and meant.
# CASES: tests/unit/cases.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd

"$CASES" -p "$srcdir"/tests/cases/*.txt >"$tmp/reports"
ok "the cases"
grep -v "^ok " "$tmp/reports" >"$tmp/kept"
as_kept reports "$tmp/kept"
holds "... of more than 900" [ "$(grep -c ' JSON ' "$tmp/reports")" -gt 900 ]
tap_done
