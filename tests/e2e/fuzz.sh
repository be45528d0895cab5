#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Replays the fuzz corpus through every harness.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

for harness in "$FUZZ"/fuzz_*; do
	[ -x "$harness" ] && [ -f "$harness" ] || continue
	for corpus in "$srcdir"/tests/fuzz/corpus/*; do
		"$harness" "$corpus"/* >"$tmp/log" 2>&1
		ok "$(basename "$harness") over $(basename "$corpus"), $(find "$corpus" -type f | wc -l) files" "$tmp/log"
	done
done

tap_done
