#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Clocks that misbehave: timestamps that are implausible, zero or out of order, clocks that were never set, that
# drift or are set meanwhile. Each frame must have the time that the model knows to be true.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

count=2500
gen=count=$count,size=60-600,qps=4,seed=3
want=$("$SOFTHCA_FRAMES" "$gen")

keep=() # of the model
# capture CLOCK [OPTIONS...]
capture() {
	local clock=$1
	shift
	rm -f "$tmp/truth" "$tmp/out"
	model "${keep[@]}" --clock "$clock,truth=$tmp/truth" --gen "$gen" --rate 5000 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 --when-full wait --json "$@" -w "$tmp/out" \
		>"$tmp/json" 2>"$tmp/log"
	status=$?
	# Zeros become the time of the poll, which a busy machine delays.
	[[ $clock =~ zero ]] && limit=2000000 || limit=20000
	python3 "$srcdir/tests/e2e/captures.py" times "$tmp/out" "$tmp/truth" "$limit" >"$tmp/times"
	read -r frames wrong implausible worst back <"$tmp/times"
}

# right NAME WRONG IMPLAUSIBLE: so many frames may have another time, so many of them by more than 50 minutes
right() {
	is "$1: exit status" "$status" 0
	is "$1: byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$want"
	is "$1: frames whose time is not true" "$wrong" "$2"
	is "$1: implausible ones" "$implausible" "$3"
	is "$1: implausible ones, as reported" "$(jq .timestamps.implausible "$tmp/json")" "$3"
	echo "# $1: the others at most $worst us off, $back out of order"
}

clocks="cycles realtime" steps="-5000 300"
[ -z "${TEST_FULL-}" ] || steps="-5000 5000 -300 300 37000"
for clock in $clocks; do
	capture "$clock,wrong_at=500"
	right "$clock, one wrong timestamp" 1 1
	capture "$clock,wrong_at=500,wrong_ms=-3600000"
	right "$clock, one wrong timestamp in the past" 1 1
	capture "$clock,wrong_every=50"
	right "$clock, wrong timestamps" $((count / 50)) $((count / 50))
	capture "$clock,wrong_at=1"
	right "$clock, the first one is wrong" 1 1
	capture "$clock,zero_every=10"
	right "$clock, zeros" 0 0
	is "$clock, zeros: as reported" "$(jq .timestamps.missing "$tmp/json")" $((count / 10))
	capture "$clock,tx_lag_us=3000"
	right "$clock, sent frames lag" 0 0
	[ "$back" -gt 100 ]
	ok "$clock, sent frames lag: the file has the true timestamps"
	[ "$(jq .timestamps.out_of_order.out "$tmp/json")" -gt 100 ] &&
		[ "$(jq .timestamps.out_of_order.in "$tmp/json")" = 0 ]
	ok "$clock, sent frames lag: reported by direction"
	capture "$clock,wrong_every=70,zero_every=30,tx_lag_us=500,drift=100"
	# Where both are due it is a zero.
	right "$clock, all at once" $((count / 70 - count / 210)) $((count / 70 - count / 210))
done

# Several queues: a wrong timestamp in one neither delays nor changes the others
for clock in cycles realtime; do
	capture "$clock,wrong_every=50,tx_lag_us=300" --queues 4
	is "$clock, four queues: exit status" "$status" 0
	is "$clock, four queues: frames" "$frames" $count
	is "$clock, four queues: implausible ones" "$implausible" $((count / 50))
	[ "$(jq .frames.out_of_order "$tmp/json")" -le 250 ]
	ok "$clock, four queues: merged in order"
done

# A rotation by time does not follow a wrong timestamp
rm -f "$tmp"/slice*
model --clock "realtime,wrong_every=100" --gen "$gen" --rate 5000 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -G 3600 -w "$tmp/slice" >/dev/null 2>&1
is "-G with wrong timestamps: exit status" $? 0
[ "$(find "$tmp" -name 'slice*' | wc -l)" -le 2 ]
ok "-G with wrong timestamps: no file for each of them"

# Counters of all widths, which wrap
for bits in 41 63 64; do
	last=$((bits == 41 ? (1 << 41) - 40000000 : bits == 63 ? 9223372036814775807 : -40000000))
	printf -v start %u "$last"
	capture "cycles,bits=$bits,start=$start,khz=1000000,drift=50"
	right "a counter of $bits bits that wraps" 0 0
done

# The counter is used instead of a clock that was never set
for ms in 300 -40 -5123456; do
	capture "realtime,offset_ms=$ms,drift=100"
	right "off by $ms ms" 0 0
	has "off by $ms ms: the counter is used" "$tmp/log" ', hardware clock, '
	has "off by $ms ms: and it is said" "$tmp/log" 'real-time clock is off by .*is ptp4l running'
done

# A clock that is set during the capture, in either direction
for ms in $steps; do
	for clock in realtime cycles; do
		capture "$clock,step_ms=$ms,step_after_ms=300"
		right "$clock, set by $ms ms" 0 0
	done
	has "realtime, set by $ms ms: said" <(
		model --clock "realtime,step_ms=$ms,step_after_ms=300" --gen "$gen" --rate 5000 \
			--at-end sigint -- "$RDMADUMP" -d mlx5_0 -w "$tmp/out" 2>&1
	) "was set $([ "$ms" -gt 0 ] && echo forward || echo back) by"
done

# The system clock is set back a day during the capture
for clock in cycles realtime; do
	# Once the first frames have come
	begun() { [ "$(cat "$tmp/tree/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets")" -gt 500 ]; }
	{ wait_for begun && touch "$tmp/yesterday"; } &
	keep=(--keep "$tmp/tree")
	capture "$clock,back=$tmp/yesterday"
	keep=()
	wait $!
	rm -rf "$tmp/tree"
	right "$clock, the system clock is set back" 0 0
	rm -f "$tmp/yesterday"
done
tap_done
