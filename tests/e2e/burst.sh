#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Bursts at the model's full speed, again and again: nothing lost of 16 000 frames by default, nor of
# 32 000 with the longest ring, of 2^15.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

# bursts FRAMES TIMES RX-MODE LOG2
bursts() {
	local total=$(($1 * $2)) name="$2 bursts of $1 frames, $3, ring of 2^$4"
	# The ring takes a burst however late the program is, and the next one comes when it has polled this one.
	model --mode drop --gen count=$total,size=256,seed=1 --burst "$1",armed --at-end sigint --stats "$tmp/stats" -- \
		"$RDMADUMP" -d mlx5_0 -q --json --when-full wait --rx-mode "$3" -b "$4" -w "$tmp/out" \
		>"$tmp/report" 2>"$tmp/log"
	is "$name: exit status" $? 0
	is "$name: all written" "$(json "$tmp/report" .frames.written)" $total
	is "$name: none lost by the device" "$(json "$tmp/stats" .dropped)" 0
	is "$name: byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" \
		"$("$SOFTHCA_FRAMES" count=$total,size=256,seed=1)"
}

# A reader that stops in the second of two bursts until all of it has arrived: the ring holds frames that exceed the
# buffer of 1 MiB.
stalled() {
	local spec=count=32000,size=1024,seed=3 reader
	mkfifo "$tmp/pipe"
	arrived() { [ "$(<"$tmp/tree/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets")" = 32000 ]; }
	{
		head -c 17000000
		wait_for arrived
		cat
	} <"$tmp/pipe" >"$tmp/out" &
	reader=$!
	model --mode drop --gen $spec --burst 16000,armed --at-end sigint --stats "$tmp/stats" --clock cycles --keep "$tmp/tree" -- \
		"$RDMADUMP" -d mlx5_0 -q --when-full wait --buffer-size 1Mi -w "$tmp/pipe" 2>"$tmp/log"
	is 'stalled reader: exit status' $? 0
	wait $reader
	is 'stalled reader: none lost by the device' "$(json "$tmp/stats" .dropped)" 0
	is 'stalled reader: byte for byte' "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$("$SOFTHCA_FRAMES" $spec)"
}

stalled
times=40
[ -n "${TEST_FULL-}" ] || times=5
bursts 16000 $times auto 14
bursts 32000 $((times / 4)) auto 15
model --dev name=mlx5_0 --gen count=10 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -b 16 -w "$tmp/out" 2>"$tmp/log"
has "more than the device takes: a shorter ring, and it says so" "$tmp/log" 'takes at most 32768 receives per queue: using so many buffers instead of 65536'

tap_done
