#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Traffic that flows before the capture starts, and a start that takes long: frames wait in the ring
# for up to the whole start. Whatever the clock, each frame has its true time.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

# capture CLOCK RATE CREATE_FLOW_MS [OPTIONS...]: in virtual time, where only what the program does takes time
capture() {
	local clock=$1 rate=$2 latency=$3
	shift 3
	rm -f "$tmp/truth" "$tmp/out"
	model --time "${time-virtual}" --clock "$clock,truth=$tmp/truth" \
		--gen "count=$((rate * 2)),size=60-600,qps=4,seed=3" \
		--rate "$rate" --flowing --latency "create_flow=$latency,destroy_flow=20" \
		--at-end sigint -- "$RDMADUMP" -d mlx5_0 --when-full wait "$@" -w "$tmp/out" \
		>"$tmp/json" 2>"$tmp/log"
	status=$?
	read -r frames wrong _ worst _ < <(python3 "$srcdir/tests/e2e/captures.py" times "$tmp/out" "$tmp/truth" 20000)
}

# right NAME: what capture() found
right() {
	is "$1: exit status" "$status" 0
	holds "$1: frames" [ "$frames" -gt 1000 ]
	is "$1: frames that are more than 20 ms off" "$wrong" 0
	[ "$wrong" = 0 ] || sed 's/^/# /' "$tmp/log"
	echo "# $1: the others at most $worst us off"
}

for clock in cycles realtime; do
	capture "$clock" 1500 1
	right "$clock, a fast start"
	for moderation in 0 5; do
		capture "$clock" 1500 300 --latency $moderation
		right "$clock, a slow start, --latency $moderation"
	done
done

# Clocks that are not UTC, or that were never set
for offset in 37000 -5123456 150 -150 40; do
	capture "realtime,offset_ms=$offset" 1500 300
	right "off by $offset ms"
done

# A ring that the start overflows: its newest frame is old, too
for clock in realtime cycles; do
	for mode in auto verbs; do
		capture "$clock" 4000 300 -b 8 --rx-mode $mode
		right "$clock, a full ring, $mode"
	done
done
# More queues than one share the clock; while flows are removed, their threads wait, or no virtual time passes
capture cycles 4000 300 --queues 4
is "four queues: exit status" "$status" 0
is "four queues: frames that are more than 20 ms off" "$wrong" 0

tap_done
