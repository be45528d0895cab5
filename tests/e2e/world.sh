#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What analyze reports about captures of simulated networks, against what happened in them.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
world() { timeout -k 5 900 python3 "$srcdir/tests/world/run" "$@"; }

world --seed 1 --keep "$tmp/first" >"$tmp/log" 2>&1
[ -s "$tmp/first/1.truth.json" ]
ok "a capture, and the truth beside it" "$tmp/log"
world --seed 1 --keep "$tmp/second" >"$tmp/log" 2>&1
diff -r "$tmp/first" "$tmp/second" >"$tmp/log" 2>&1
ok "the same seed makes the same files" "$tmp/log"
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

if [ "${TEST_QUICK-}" = 1 ]; then
	world --seed 1 --count 40 --known=part --quiet >"$tmp/log" 2>&1
	ok "40 captures: no fault that is not listed in tests/world/known" "$tmp/log"
else
	world --seed 1 --count 300 --known --quiet >"$tmp/log" 2>&1
	ok "300 captures: the faults are those of tests/world/known" "$tmp/log"
fi
count=24
[ "${TEST_QUICK-}" != 1 ] || count=6
world --seed 10064 --count $count --known=part --quiet >"$tmp/congestion" 2>&1
ok "$count captures of congestion control, pauses and priorities: no fault" "$tmp/congestion"
sed -n 's/^\(certain\|likely\|possible\|counts\|what must\)/# &/p' "$tmp/log"
tap_done
