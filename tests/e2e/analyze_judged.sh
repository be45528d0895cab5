#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `rdmadump analyze` derives from packets, compared with the counters of the kernel that sent and
# received them.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 zstd
python3 "$srcdir/tests/e2e/analyze_judge.py" "$RDMADUMP" "$TEST_DATA"/roce/*_*/
