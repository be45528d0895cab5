#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The flight recorder at full speed, with many triggers and a disk that stops for a while: all frames are accounted
# for, memory is constant. RECORD_SECONDS=600: the long run, whose numbers docs/performance.md has.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq mkfs.ext4 fsfreeze
seconds=${RECORD_SECONDS-2} triggers=50 d=$tmp/disk
[ -n "${TEST_FULL-}" ] || { seconds=1 triggers=15; }
mkdir "$d"
truncate -s "${RECORD_DISK-1G}" "$tmp/image"
mkfs.ext4 -q "$tmp/image" && mount -o loop "$tmp/image" "$d" 2>/dev/null || skip_all "no right to mount a file system that can be stopped"
cleanup() {
	fsfreeze -u "$d" 2>/dev/null
	umount "$d" 2>/dev/null
}

has_log() { grep -qE -- "$1" "$tmp/log"; }
fired() { [ "$(grep 'trigger fifo' "$tmp/log" | grep -vc ': no file: ')" -ge "$1" ]; }
# KiB in memory, by process
rss() { awk '/^VmRSS:/ {print $2}' "/proc/$pid/status"; }

: >"$tmp/log"
model --gen count=4000000000,size=200-1500 --mode drop --stats "$tmp/stats" --pidfile "$tmp/pid" \
	--keep "$tmp/tree" -- \
	"$RDMADUMP" record mlx5_0 -w "$d/r.pcapng" --memory 64Mi --pre 20ms --post 10ms --no-analysis --json -D \
	--trigger fifo="$tmp/fifo" >"$tmp/report" 2>"$tmp/log" &
job=$!
wait_for has_log 'memory for frames'
pid=$(<"$tmp/pid")
wait_for test -p "$tmp/fifo"
# All memory for frames was used
wait_for received "$tmp/tree" 300001
# Between two triggers: steps of as many frames as an idle machine captures in a second, or less, after each of which the
# memory is read
steps=$(((seconds + triggers - 1) / triggers)) due=300001
frames=$((2000000 * seconds / (triggers * steps)))
between() {
	for _ in $(seq $steps); do
		wait_for received "$tmp/tree" $((due += frames))
		rss >>"$tmp/rss"
	done
}
stops=0
for i in $(seq "$triggers"); do
	echo "$i" >"$tmp/fifo"
	wait_for fired "$i"
	# The disk stops while this file is written, or before the next one is created
	if [ $((i % 5)) = 0 ]; then
		fsfreeze -f "$d" && stops=$((stops + 1))
		between
		fsfreeze -u "$d"
	else
		between
	fi
done
kill -INT "$pid"
wait $job
is "it ends as asked" "$?" 0
is "each of $triggers triggers began or extended a file, though the disk stopped $stops times" \
	"$(jq -c '.triggers | [.fired, .began + .extended]' "$tmp/report")" "[$triggers,$triggers]"
is "all frames are accounted for" \
	"$(jq '.frames | .delivered - .written - .expired - .buffer_full - .output - .filtered' "$tmp/report")" 0
# One copy to one queue pair: what the model delivered, and what it dropped
is "the model delivered as many" "$(jq '.frames.delivered' "$tmp/report")" "$(jq '.delivered' "$tmp/stats")"
is "... and dropped as many as the report says" "$(jq '.lost_before_us' "$tmp/report")" "$(jq '.dropped' "$tmp/stats")"
is "none was lost by the output" "$(jq '[.frames.output, .dumps_failed]' -c "$tmp/report")" "[0,0]"
for f in "$d"/r_*; do "$RDMADUMP" -r "$f" --count 2>/dev/null; done | awk '{n += $1} END {print n}' >"$tmp/n"
is "the files have what was written" "$(<"$tmp/n")" "$(jq .frames.written "$tmp/report")"
is "memory: as much as was reported at the start" "$(jq .memory_bytes "$tmp/report")" $((64 << 20))
if [ -n "${SOFTHCA_PRELOAD_FIRST-}" ] || [ "${THREAD_SANITIZER-}" = yes ]; then
	skip "memory is constant" "sanitizers keep memory"
else
	# After the first half: files and texts are used from then on, on a busy machine later
	awk -v from=$((triggers * steps / 2)) 'NR >= from {if (!n++ || $1 < least) least = $1; if ($1 > most) most = $1}
		END {print "# KiB from " least " to " most ", " n " readings"; exit !(n && most - least <= 2048)}' "$tmp/rss" >"$tmp/out"
	ok "memory is constant" "$tmp/out"
	cat "$tmp/out"
fi
echo "# $(jq -c '[.duration_s, .frames, .triggers, .dumps, .dump_bytes, .lost_before_us]' "$tmp/report")"
tap_done
