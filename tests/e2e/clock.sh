#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Timestamps by the device's clock: every kind of them, against what the model knows to be true.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

count=2500
gen=count=$count,size=60-600,qps=4,seed=3
want=$("$SOFTHCA_FRAMES" "$gen")

# capture CLOCK [OPTIONS...]: into $tmp/out; frames, backwards, same, off
capture() {
	local clock=$1
	shift
	rm -f "$tmp/truth" "$tmp/out"
	[ "$clock" = none ] || clock=$clock,truth=$tmp/truth
	model --time virtual --clock "$clock" --gen "$gen" --rate 5000 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 --when-full wait "$@" -w "$tmp/out" >/dev/null 2>"$tmp/log"
	status=$?
	python3 "$srcdir/tests/e2e/captures.py" stamps "$tmp/out" "$tmp/truth" >"$tmp/stamps"
	read -r frames back same off <"$tmp/stamps"
}

# right NAME TITLE DESCRIPTION: what capture() found
right() {
	is "$1: exit status" "$status" 0
	is "$1: byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$want"
	is "$1: no timestamp before the one before it" "$back" 0
	# The limit is the precision with which a busy machine reads two clocks at once.
	[ "$off" -le "$(grep -q "software clock" "$tmp/log" && echo 2000000 || echo 20000)" ]
	ok "$1: near the truth"
	has "$1: the startup line says so" "$tmp/log" "$2"
	has "$1: and so does the file" "$tmp/stamps" "$3"
	echo "# $1: at most $off us off, $same of $frames timestamps the same"
}

follows='timestamps: the device.s clock .* following the system clock'
for mode in auto verbs; do
	capture cycles,drift=100 --rx-mode $mode
	right "ticks, $mode" ', hardware clock, ' "$follows"
	capture realtime --rx-mode $mode
	right "real time, $mode" 'hardware clock \(real time\)' "device's real-time clock"
done
# A counter of 33 bits at 1 GHz that wraps after 0.3 s
capture cycles,khz=1000000,bits=33,start=8289934592,drift=-100
right "a wrap" ', hardware clock, ' "$follows"
for clock in cycles realtime; do
	capture $clock,core=no
	right "$clock that cannot be read" 'software clock' 'timestamps: system clock when'
done
capture none
right "no clock" 'software clock' 'timestamps: system clock when'
capture realtime,refuse=yes
right "real time that is refused" ', hardware clock, ' "$follows"
capture cycles -j host
right "-j host" 'software clock' 'timestamps: system clock when'

# Clocks that are right but not UTC, and clocks that were never set
capture realtime,offset_ms=37000
right "TAI" 'hardware clock \(real time\)' 'moved to UTC'
has "TAI: and it is said" "$tmp/log" 'is 37 s ahead of UTC'
capture realtime,offset_ms=-5123456
right "a clock that is off" ', hardware clock, ' "$follows"
has "a clock that is off: and it is said" "$tmp/log" 'is off by -5123.*is ptp4l running'

# A clock that is set back during the capture
capture realtime,step_ms=-5000,step_after_ms=300
is "set back: no timestamp before the one before it" "$back" 0
is "set back: nothing lost" "$frames" $count
[ "$off" -le 20000 ]
ok "set back: timestamps go on as they were"
has "set back: and it is said" "$tmp/log" 'set back by (4\.[5-9]|5\.[0-4])'

# Types that are refused
model --time virtual -- "$RDMADUMP" -d mlx5_0 -j adapter -w "$tmp/none" >"$tmp/log" 2>&1
is "-j adapter without clock: exit status" $? 2
has "-j adapter without clock: says why" "$tmp/log" "no timestamps of type 'adapter': its completions"
[ ! -e "$tmp/none" ]
ok "-j adapter without clock: no file"
"$RDMADUMP" -j nonsense >"$tmp/log" 2>&1
is "-j nonsense: exit status" $? 1
"$RDMADUMP" -j host -r "$tmp/out" >"$tmp/log" 2>&1
is "-j with -r: exit status" $? 1

tap_done
