#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Full speed for a while: every frame is accounted for, with rotation and compression, and while the
# output is not read. A short run here; SOAK_SECONDS=60 for a long one by hand.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq capinfos zstd

seconds=${SOAK_SECONDS-}
PATIENCE=$((${seconds:-60} + PATIENCE))
gen=count=100000000000,size=60-1500,seed=11 mode=drop
# So few frames would be over before the first one is seen
[ -n "$seconds" ] || gen=count=100000,size=60-1500,seed=11 mode=lossless

# frames FILE...: how many there are in all of them
frames() { capinfos -T -r -c -M "$@" 2>/dev/null | awk -F'\t' '{n += $2} END {print n + 0}'; }

# accounts NAME FILE...: offered, delivered, written, dropped, and what is in the files
accounts() {
	local name=$1 offered lost delivered written full
	shift
	offered=$(json "$tmp/stats" .offered) lost=$(json "$tmp/stats" .dropped)
	delivered=$(json "$tmp/report" .frames.delivered) written=$(json "$tmp/report" .frames.written)
	full=$(json "$tmp/report" .frames.dropped.buffer_full)
	is "$name: offered = delivered + lost by the device" "$offered" $((delivered + lost))
	is "$name: the device's loss is reported" "$(json "$tmp/report" .lost_before_us.frames)" "$lost"
	is "$name: delivered = written + dropped" "$delivered" $((written + full))
	is "$name: frames in the files" "$(frames "$@")" "$written"
	echo "# $name: offered $offered, lost by the device $lost, delivered $delivered, dropped $full," \
		"written $written in $# files of $(du -cm "$@" | tail -n 1 | cut -f1) MiB"
}
# soak NAME FILE OPTIONS...
soak() {
	local name=$1 file=$2
	shift 2
	mkdir "$tmp/d"
	model --mode $mode --gen $gen --at-end sigint --stats "$tmp/stats" -- \
		"$RDMADUMP" -d mlx5_0 -q --json ${seconds:+-a duration:$seconds} "$@" -w "$tmp/d/$file" >"$tmp/report" 2>"$tmp/log"
	ok "$name: exit status" "$tmp/log"
	mapfile -t files < <(find "$tmp/d" -type f | sort)
	[ ${#files[@]} -gt 1 ]
	ok "$name: ${#files[@]} files"
	accounts "$name" "${files[@]}"
	rm -r "$tmp/d"
}

soak "compressed series" s.pcapng.zst -b filesize:20000
# By default the buffer is full all the time where the disk is slower than the model
[ -z "$seconds" ] || seconds=$((seconds / 6 + 1))
soak "series past the page cache" s.pcapng -b filesize:20000 --buffer-size 16Mi
soak "series through the page cache" s.pcap -b filesize:20000 --write-mode buffered --sync periodic

# stalls NAME BUFFER: the reader of a pipe is stopped during half of the frames, and then continues
stalls() {
	local name=$1 buffer=$2 reader capture
	rm -f "$tmp/out"
	mkfifo "$tmp/pipe"
	cat "$tmp/pipe" >"$tmp/out" &
	reader=$!
	rm -rf "$tmp/tree"
	model --mode drop --gen count=200000,size=500,seed=12 --rate 50000 --at-end sigint --stats "$tmp/stats" \
		--keep "$tmp/tree" -- "$RDMADUMP" -d mlx5_0 -q --json --buffer-size "$buffer" -w - \
		>"$tmp/pipe" 2>"$tmp/report" &
	capture=$!
	wait_for test -s "$tmp/out"
	kill -STOP $reader
	wait_for received "$tmp/tree" 100000
	kill -CONT $reader
	wait $capture
	ok "$name: exit status" "$tmp/report"
	wait $reader
	accounts "$name" "$tmp/out"
	rm "$tmp/pipe" "$tmp/out"
}
stalls "stalled, the buffer lasts" 256Mi
is "stalled, the buffer lasts: nothing dropped" "$(json "$tmp/report" .frames.dropped.buffer_full)" 0
stalls "stalled, a small buffer" 4Mi
[ "$(json "$tmp/report" .frames.dropped.buffer_full)" -gt 0 ]
ok "stalled, a small buffer: frames were dropped, and counted"

tap_done
