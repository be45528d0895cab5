#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Replays the fuzz corpus through every harness.
. "${srcdir:-.}/tests/tap.sh"

replayed=0
for archive in "$srcdir"/tests/fuzz/corpus/*.tar.gz; do
	"$srcdir/tests/pack" unpack "$archive" "$tmp/corpus/$(basename "$archive" .tar.gz)"
done
for source in "$srcdir"/tests/fuzz/fuzz_*.c; do
	harness=$(basename "$source" .c)
	for corpus in "$tmp"/corpus/*/; do
		files=("$corpus"*)
		[ -e "${files[0]}" ] && "$FUZZ/$harness" "${files[@]}" >"$tmp/log" 2>&1
		ok "$harness over ${corpus##*/corpus/} ${#files[@]} files" "$tmp/log"
		replayed=$((replayed + ${#files[@]}))
	done
done
holds "$replayed replays" [ "$replayed" -ge 1000 ]

tap_done
