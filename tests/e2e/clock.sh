#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Timestamps by the device's clock: every kind of them, and clocks that misbehave: timestamps that are implausible, zero or out
# of order, clocks that were never set, that drift or are set meanwhile. Each frame must have the time that the model knows to be true.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

count=2500
gen=count=$count,size=60-600,qps=4,seed=3
want=$("$SOFTHCA_FRAMES" "$gen")

model_options=()
# capture CLOCK [OPTIONS...]
capture() {
	local clock=$1
	shift
	rm -f "$tmp/truth" "$tmp/out"
	[ "$clock" = none ] || clock=$clock,truth=$tmp/truth
	model "${model_options[@]}" --clock "$clock" --gen "$gen" --rate 5000 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 --when-full wait --json "$@" -w "$tmp/out" \
		>"$tmp/json" 2>"$tmp/log"
	status=$?
	# Zeros and software clocks have the time of the poll, which a busy machine delays.
	[[ $clock =~ zero ]] || grep -q 'software clock' "$tmp/log" && limit=2000000 || limit=20000
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
# true_by NAME TITLE DESCRIPTION: all times are, by the clock that the startup line and the file name
true_by() {
	right "$1" 0 0
	is "$1: no timestamp before the one before it" "$back" 0
	has "$1: the startup line says so" "$tmp/log" "$2"
	has "$1: and so does the file" "$tmp/times" "$3"
}

model_options=(--time virtual)
follows='timestamps: the device.s clock .* following the system clock'
for mode in auto verbs; do
	capture cycles,drift=100 --rx-mode $mode
	true_by "ticks, $mode" ', hardware clock, ' "$follows"
	capture realtime --rx-mode $mode
	true_by "real time, $mode" 'hardware clock \(real time\)' "device's real-time clock"
done
for clock in cycles realtime; do
	capture $clock,core=no
	true_by "$clock that cannot be read" 'software clock' 'timestamps: system clock when'
done
capture none
true_by "no clock" 'software clock' 'timestamps: system clock when'
capture realtime,refuse=yes
true_by "real time that is refused" ', hardware clock, ' "$follows"
capture cycles -j host
true_by "-j host" 'software clock' 'timestamps: system clock when'
# Right, but not UTC
capture realtime,offset_ms=37000
true_by "TAI" 'hardware clock \(real time\)' 'moved to UTC'
has "TAI: and it is said" "$tmp/log" 'is 37 s ahead of UTC'

# Types that are refused
model --time virtual -- "$RDMADUMP" -d mlx5_0 -j adapter -w "$tmp/none" >"$tmp/log" 2>&1
exits "-j adapter without clock" 2 "$tmp/log" "no timestamps of type 'adapter': its completions"
holds "-j adapter without clock: no file" [ ! -e "$tmp/none" ]
"$RDMADUMP" -j nonsense >"$tmp/log" 2>&1
is "-j nonsense: exit status" $? 1
"$RDMADUMP" -j host -r "$tmp/out" >"$tmp/log" 2>&1
is "-j with -r: exit status" $? 1

model_options=()
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
	holds "$clock, sent frames lag: the file has the true timestamps" [ "$back" -gt 100 ]
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
	holds "$clock, four queues: merged in order" [ "$(jq .frames.out_of_order "$tmp/json")" -le 250 ]
done

# A rotation by time does not follow a wrong timestamp
rm -f "$tmp"/slice*
model --clock "realtime,wrong_every=100" --gen "$gen" --rate 5000 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -G 3600 -w "$tmp/slice" >/dev/null 2>&1
is "-G with wrong timestamps: exit status" $? 0
holds "-G with wrong timestamps: no file for each of them" [ "$(find "$tmp" -name 'slice*' | wc -l)" -le 2 ]

# Counters of all widths, which wrap
for bits in 33 41 63 64; do
	last=$((bits < 63 ? (1 << bits) - 40000000 : bits == 63 ? 9223372036814775807 : -40000000))
	printf -v start %u "$last"
	capture "cycles,bits=$bits,start=$start,khz=1000000,drift=50"
	true_by "a counter of $bits bits that wraps" ', hardware clock, ' "$follows"
done

# The counter is used instead of a clock that was never set
for ms in 300 -40 -5123456; do
	capture "realtime,offset_ms=$ms,drift=100"
	true_by "off by $ms ms" ', hardware clock, ' "$follows"
	has "off by $ms ms: and it is said" "$tmp/log" "real-time clock is off by -?$((${ms#-} / 1000))\..*is ptp4l running"
done

# A clock that is set during the capture, in either direction
for ms in $steps; do
	for clock in cycles realtime; do
		capture "$clock,step_ms=$ms,step_after_ms=300"
		right "$clock, set by $ms ms" 0 0
		is "$clock, set by $ms ms: no timestamp before the one before it" "$back" 0
	done
	has "realtime, set by $ms ms: said" "$tmp/log" "was set $([ "$ms" -gt 0 ] && echo forward || echo back) by"
	[ "$ms" != -5000 ] || has "realtime, set by $ms ms: by how much" "$tmp/log" 'set back by (4\.[5-9]|5\.[0-4])'
done

# The system clock is set back a day during the capture
for clock in cycles realtime; do
	# Once the first frames have come
	begun() { [ "$(<"$tmp/tree/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets")" -gt 500 ]; }
	{ wait_for begun && touch "$tmp/yesterday"; } &
	model_options=(--keep "$tmp/tree")
	capture "$clock,back=$tmp/yesterday"
	wait $!
	rm -rf "$tmp/tree"
	right "$clock, the system clock is set back" 0 0
	rm -f "$tmp/yesterday"
done
tap_done
