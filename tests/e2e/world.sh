#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What analyze reports about captures of simulated networks, against what happened in them.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
world() { python3 "$srcdir/tests/world/run" "$@"; }

world --seed 1 --keep "$tmp/first" >"$tmp/log" 2>&1
[ -s "$tmp/first/1.truth.json" ]
ok "a capture, and the truth beside it" "$tmp/log"
world --seed 1 --keep "$tmp/second" >"$tmp/log" 2>&1
holds "the same seed makes the same files" diff -r "$tmp/first" "$tmp/second"
# A judge that cannot fail: the report of another capture must contradict the truth.
mkdir "$tmp/bin"
cat >"$tmp/bin/other" <<END
#!/bin/sh
exec "$RDMADUMP" analyze --json "$TEST_DATA/roce/57_router_loss/a.pcap.zst"
END
chmod +x "$tmp/bin/other"
RDMADUMP=$tmp/bin/other world --seed 1 >"$tmp/log" 2>&1
[ $? = 1 ] && grep -q FALSE "$tmp/log"
ok "another capture's report is found to be false" "$tmp/log"

if [ -z "${TEST_FULL-}" ]; then
	holds "40 captures: no fault that is not listed in tests/world/known" world --seed 1 --count 40 --known=part --quiet
else
	world --seed 1 --count 300 --known --quiet >"$tmp/log" 2>&1
	ok "300 captures: the faults are those of tests/world/known" "$tmp/log"
fi
count=24
[ -n "${TEST_FULL-}" ] || count=6
holds "$count captures of congestion control, pauses and priorities: no fault" world --seed 10064 --count $count --known=part --quiet
if has_jsonschema "JSON of pauses and CNPs by docs/schema/analyze.json"; then
	for seed in 10005 10016; do
		world --seed $seed --keep "$tmp/json" >/dev/null 2>&1
		"$RDMADUMP" analyze --json "$tmp/json/$seed.a."* >"$tmp/json/$seed.json" 2>>"$tmp/log"
	done
	grep -q '"paused_ns": [1-9]' "$tmp/json/10005.json" && grep -q '"mark_to_cnp": {' "$tmp/json/10016.json" &&
		python3 "$srcdir/tests/unit/schema.py" "$srcdir/docs/schema/analyze.json" "$tmp/json/"*[56].json >"$tmp/log" 2>&1
	ok "JSON of pauses and CNPs by docs/schema/analyze.json" "$tmp/log"
fi
sed -n 's/^\(certain\|likely\|possible\|counts\|what must\)/# &/p' "$tmp/log"
tap_done
