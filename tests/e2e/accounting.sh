#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every frame is accounted for exactly once: delivered = written + dropped, and
# delivered + out_of_buffer = offered, whatever is too slow. SOAK_SECONDS=60: series at full speed for so long, too.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 zstd

count=600000
[ -n "${TEST_FULL-}" ] || count=60000

# A reader that takes the beginning into $tmp/out, and the rest when half of all frames have passed
slow_reader() { { head -c 1000000; wait_for received "$tmp/tree" $((count / 2)) >&2; cat; } >"$tmp/out"; }

# accounts NAME [FILE...]: our report, the files' own count and the model's statistics must agree
accounts() {
	local delivered written full output offered lost counted
	delivered=$(json "$tmp/report" .frames.delivered)
	written=$(json "$tmp/report" .frames.written)
	full=$(json "$tmp/report" .frames.dropped.buffer_full)
	output=$(json "$tmp/report" .frames.dropped.output)
	counted=$(json "$tmp/report" .lost_before_us.frames)
	offered=$(json "$tmp/stats" .offered)
	lost=$(json "$tmp/stats" .dropped)
	is "$1: delivered = written + dropped" "$delivered" $((written + full + output))
	is "$1: delivered + out_of_buffer = offered" $((delivered + counted)) "$offered"
	is "$1: the device's own count" "$counted" "$lost"
	[ $# -gt 1 ] || set -- "$1" "$tmp/out"
	is "$1: frames in the file" "$(for f in "${@:2}"; do "$SOFTHCA_FRAMES" --hash <(zstd -dqcf "$f"); done | awk '{n += $1} END {print n + 0}')" "$written"
	echo "# $1: offered $offered delivered $delivered written $written full $full device $lost"
}

# A slow reader and a small buffer: we must drop. It ends when frames have followed those.
model --mode drop --gen count=1000000000,size=1024,seed=1 --burst 1000,20000 --pidfile "$tmp/pid" --keep "$tmp/tree" \
	--stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 -q --json --buffer-size 4Mi -w - 2>"$tmp/report" | slow_reader &
wait_for larger "$tmp/out" 9000000
kill -INT "$(<"$tmp/pid")"
wait $!
accounts "a slow pipe"
holds "a slow pipe: frames were dropped by us" [ "$(json "$tmp/report" .frames.dropped.buffer_full)" -gt 0 ]
# The file records the losses, where they happened and at the end
dropped=$(json "$tmp/report" .frames.dropped.buffer_full)
read -r in_frames osdrop ifdrop < <(python3 "$srcdir/tests/e2e/captures.py" drops "$tmp/out")
echo "# in frames $in_frames, isb_osdrop $osdrop, isb_ifdrop $ifdrop, want $dropped"
# No frame follows the last dropped frames, so none can carry their number.
[ "$osdrop" = "$dropped" ] && [ "$ifdrop" -ge "$dropped" ] && [ "$in_frames" -gt 0 ] && [ "$in_frames" -le "$dropped" ]
ok "a slow pipe: drop counts stand in the file"

# With --when-full wait the device drops, and counts
model --mode drop --gen count=$count,size=1024,seed=1 --at-end sigint --keep "$tmp/tree" --stats "$tmp/stats" -- \
	"$RDMADUMP" -d mlx5_0 -q --json -b 8 --buffer-size 1Mi --when-full wait -w - 2>"$tmp/report" | slow_reader
accounts "a slow pipe, waiting"
is "a slow pipe, waiting: nothing dropped by us" \
	"$(json "$tmp/report" .frames.dropped.buffer_full)" 0

# A tiny ring at the model's full speed
model --mode drop --gen count=$count,size=60-1500,seed=2 --at-end sigint --stats "$tmp/stats" -- \
	"$RDMADUMP" -d mlx5_0 -q --json -b 3 -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
accounts "a tiny ring"

# soak NAME SECONDS FILE OPTIONS...
soak() {
	local name=$1 seconds=$2 file=$3
	shift 3
	mkdir "$tmp/d"
	model --mode drop --gen count=100000000000,size=60-1500,seed=11 --stats "$tmp/stats" -- \
		"$RDMADUMP" -d mlx5_0 -q --json -a "duration:$seconds" -b filesize:20000 "$@" -w "$tmp/d/$file" >"$tmp/report" 2>"$tmp/log"
	ok "$name: exit status" "$tmp/log"
	accounts "$name" "$tmp/d"/*
	rm -r "$tmp/d"
}
if [ -n "${SOAK_SECONDS-}" ]; then
	soak "compressed series" "$SOAK_SECONDS" s.pcapng.zst
	# By default the buffer is full all the time where the disk is slower than the model
	soak "series past the page cache" $((SOAK_SECONDS / 6 + 1)) s.pcapng --buffer-size 16Mi
	soak "series through the page cache" $((SOAK_SECONDS / 6 + 1)) s.pcap --write-mode buffered --sync periodic
fi

# -c: exactly that many
model --gen count=100000,size=200,seed=2 --stats "$tmp/stats" -- \
	"$RDMADUMP" -d mlx5_0 -q --json -c 1234 -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
is "-c: exit status" $? 0
is "-c: delivered" "$(json "$tmp/report" .frames.delivered)" 1234
is "-c: in the file" "$("$SOFTHCA_FRAMES" --hash "$tmp/out" | awk '{print $1}')" 1234
is "-c: ended by" "$(json "$tmp/report" .ended_by)" count
is "nothing left on the device" "$(jq -r '[.leaked[]?] | add // 0' "$tmp/stats")" 0

# The comment has the time when the capture began, though it is written at the end.
if has_tool capinfos "the comment: when the capture began"; then
	"$SOFTHCA" --gen count=10,size=200 --pidfile "$tmp/pid" -- \
		"$RDMADUMP" -d mlx5_0 -q -w "$tmp/began.pcapng" 2>"$tmp/log" &
	wait_for larger "$tmp/began.pcapng" 2000
	now=$(date +%s)
	is_later() { [ "$(date +%s)" -gt "$now" ]; }
	wait_for is_later
	kill -INT "$(<"$tmp/pid")"
	wait $!
	from=$(capinfos -k "$tmp/began.pcapng" | sed -n 's/.* from \(20[-0-9]* [0-9:]* [-+0-9]*\)\..*/\1/p')
	echo "# began $from, seen to run at $(date -d "@$now")"
	[ -n "$from" ] && [ "$(date -d "$from" +%s)" -le "$now" ]
	ok "the comment: when the capture began"
	capinfos "$tmp/began.pcapng" >"$tmp/infos"
	cpu=$(sed -n 's/^model name[[:blank:]]*: *//p' /proc/cpuinfo | head -n 1)
	grep '^Capture hardware: ' "$tmp/infos" | grep -qF " ${cpu:-unknown CPU} ($(uname -m))"
	ok "the file names the machine" "$tmp/infos"
	is "... and its system" "$(sed -n 's/^Capture oper-sys: *//p' "$tmp/infos")" \
		"$(uname -sr)$(sed -n 's/^PRETTY_NAME="*\([^"]*\).*/, \1/p' /etc/os-release)"
fi

tap_done
