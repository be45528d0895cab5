#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Traffic that flows before the capture starts, and a start that takes long: frames wait in the ring
# for up to the whole start. Whatever the clock, each frame has its true time.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

# What the model delivers before this flow is not in the file: the last frames of both are the same.
cat >"$tmp/times.py" <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
truth = [int(x) for x in open(sys.argv[2])]
at, ts = 0, []
while at + 12 <= len(data):
    kind, length = struct.unpack_from("<II", data, at)
    if kind == 6:
        high, low = struct.unpack_from("<II", data, at + 12)
        ts.append(high << 32 | low)
    at += length
off = sorted(abs(t - x) for t, x in zip(reversed(ts), reversed(truth)))
print(len(ts), sum(o > 20000000 for o in off), off[-1] // 1000 if off else 0)
PY

# A clock that cannot be read is compared by the first frames, which are late by what they waited
# for their poll. A busy machine may make that long; a wrong offset is there in every attempt.
# capture CLOCK RATE CREATE_FLOW_MS [OPTIONS...]
capture() {
	local attempt
	for attempt in 1 2 3; do
		capture_once "$@"
		[ "$wrong" != 0 ] || break
		echo "# attempt $attempt: $wrong frames up to $worst us off"
	done
}

capture_once() {
	local clock=$1 rate=$2 latency=$3
	shift 3
	rm -f "$tmp/truth" "$tmp/out"
	model --clock "$clock,truth=$tmp/truth" --gen "count=$((rate * 2)),size=60-600,qps=4,seed=3" \
		--rate "$rate" --flowing --latency "create_flow=$latency,destroy_flow=20" \
		--at-end sigint -- "$RDMADUMP" -d mlx5_0 --when-full wait "$@" -w "$tmp/out" \
		>"$tmp/json" 2>"$tmp/log"
	status=$?
	python3 "$tmp/times.py" "$tmp/out" "$tmp/truth" >"$tmp/times"
	read -r frames wrong worst <"$tmp/times"
}

# right NAME: what capture() found
right() {
	is "$1: exit status" "$status" 0
	[ "$frames" -gt 1000 ]
	ok "$1: frames"
	is "$1: frames that are more than 20 ms off" "$wrong" 0
	[ "$wrong" = 0 ] || sed 's/^/# /' "$tmp/log"
	echo "# $1: at most $worst us off"
}

for clock in cycles realtime cycles,core=no realtime,core=no realtime,core=no,info=no; do
	capture "$clock" 4000 1
	right "$clock, a fast start"
	for moderation in 0 5; do
		capture "$clock" 4000 300 --latency $moderation
		right "$clock, a slow start, --latency $moderation"
	done
done

# Clocks that are not UTC, or that were never set
for offset in 37000 -5123456 150 -150 40; do
	for clock in realtime,core=no cycles,core=no; do
		capture "$clock,offset_ms=$offset" 4000 300
		right "$clock, off by $offset ms"
	done
done

# A ring that the start overflows: its newest frame is old, too
for clock in realtime,core=no cycles,core=no; do
	for mode in auto striding verbs; do
		capture "$clock,offset_ms=150" 4000 300 -b 8 --rx-mode $mode
		right "$clock, a full ring, $mode"
	done
done
# Few frames, each of which would wait for a second
for clock in realtime,core=no cycles,core=no; do
	capture "$clock,offset_ms=150" 100 1 --latency 1000
	is "$clock, few frames: exit status" "$status" 0
	[ "$frames" -gt 20 ]
	ok "$clock, few frames: frames"
	is "$clock, few frames: frames that are more than 20 ms off" "$wrong" 0
	echo "# at most $worst us off"
done

# More queues than one share the clock
capture cycles,core=no,offset_ms=150 4000 300 --queues 4
is "four queues: exit status" "$status" 0
is "four queues: frames that are more than 20 ms off" "$wrong" 0

tap_done
