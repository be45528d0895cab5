#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory of `rdmadump analyze` with many QPs: at most 64 MiB, and 1 KiB for each of them.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
if nm "$RDMADUMP" 2>/dev/null | grep -q __asan_init || ldd "$RDMADUMP" 2>/dev/null | grep -q libasan; then
	skip_all "AddressSanitizer keeps what was freed"
fi
many() { python3 "$srcdir/tests/e2e/analyze_many.py" "$@"; }

pairs=30000
limit=$((64 * 1024 + 2 * pairs))
many make "$pairs" 2 "$tmp/many.pcap"
ok "a capture of $pairs QP pairs"
"$RDMADUMP" analyze --json --top 1 "$tmp/many.pcap" >"$tmp/json"
has "all of them are followed" "$tmp/json" "\"qps\": $((2 * pairs)),"
for form in "" "-v" "--json" "--html=-"; do
	# shellcheck disable=SC2086 # one option or none
	kib=$(many run "$RDMADUMP" analyze $form "$tmp/many.pcap")
	[ "$kib" -gt 1024 ] && [ "$kib" -le "$limit" ]
	ok "analyze $form: $kib KiB of memory, at most $limit"
done
tap_done
