#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Several receive queues, a thread for each: one file in the order of timestamps, every frame accounted
# for once, whatever happens to whichever queue.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 reordercap gzip

count=120000
[ -n "${TEST_FULL-}" ] || count=30000
gen=count=$count,size=60-1500,qps=64,seed=5
want=$("$SOFTHCA_FRAMES" "$gen")

# backwards FILE...: how often a timestamp is before the previous one
backwards() { python3 "$srcdir/tests/e2e/captures.py" backwards "$@"; }

# capture OPTIONS... [-- MODEL OPTIONS...]: into $tmp/out
capture() {
	local mine=() models=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do mine+=("$1") && shift; done
	[ $# = 0 ] || shift
	models=("$@")
	rm -f "$tmp"/out*
	model --clock cycles,drift=50 --gen "$gen" --at-end sigint --stats "$tmp/stats" "${models[@]}" -- \
		"$RDMADUMP" -d mlx5_0 -q --json -w "$tmp/out.pcapng" "${mine[@]}" >"$tmp/report" 2>"$tmp/log"
	status=$?
}

# The model's thread may be delayed between a frame's timestamp and its completion for longer than the
# merge waits, and the thread that reads the clock until its line has to be continued with a jump: such
# frames are counted, and only they are out of order.
in_order() { # FILE...: how often a file goes back in time; what the report counts where that is less
	local steps late jumped
	steps=$(backwards "$@")
	late=$(json "$tmp/report" .frames.out_of_order)
	jumped=$(json "$tmp/report" '[.timestamps.out_of_order[]] | add')
	if [ "$jumped" -gt 0 ] && [ "$steps" -le $((late + jumped)) ]; then late=$steps; fi
	is "$name: in order" "$steps" "$late"
}
accounts() { # NAME FILE...
	local name=$1
	shift
	is "$name: exit status" "$status" 0
	in_order "$@"
	is "$name: delivered = written + dropped" "$(json "$tmp/report" .frames.delivered)" \
		"$(json "$tmp/report" '.frames | .written + .dropped.buffer_full + .dropped.output + .filtered')"
	is "$name: in the files" "$(for f; do "$SOFTHCA_FRAMES" --hash "$f"; done | awk '{n += $1} END {print n}')" \
		"$(json "$tmp/report" .frames.written)"
	is "$name: nothing left on the device" "$(jq -r '[.leaked[]?] | add // 0' "$tmp/stats")" 0
}
# The order of timestamps is that in which the frames were sent.
same() {
	local f=$tmp/out.pcapng
	[ "$(json "$tmp/report" .frames.out_of_order)" = 0 ] ||
		{ reordercap "$f" "$tmp/ordered" >/dev/null 2>&1 && f=$tmp/ordered; }
	is "$1: byte for byte, in the order sent" "$("$SOFTHCA_FRAMES" --hash "$f")" "$want"
}

for mode in auto verbs; do
	for n in 1 2 4; do
		[ $n = 4 ] || [ $mode = auto ] || continue
		capture --queues $n --rx-mode $mode --when-full wait
		accounts "$n queues, $mode" "$tmp/out.pcapng"
		same "$n queues, $mode"
	done
done
capture --queues 4 --when-full wait -- --clock realtime
accounts "real-time stamps" "$tmp/out.pcapng"
same "real-time stamps"
capture --queues 4 --when-full wait -- --clock none
accounts "software stamps" "$tmp/out.pcapng"
capture --queues auto --when-full wait
accounts "auto" "$tmp/out.pcapng"
# Two CPUs are near the model's device, one of which is for the writer
model --gen count=100,size=200,qps=8,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 --queues auto \
	-w "$tmp/out.pcapng" >"$tmp/stdout" 2>"$tmp/log"
has "auto: starts" "$tmp/log" 'capturing on mlx5_0'
is "auto: one queue where two CPUs are near" "$(grep -c '[0-9] queues' "$tmp/log")" 0
capture --queues 4 --when-full wait --format pcap
is "pcap: exit status" "$status" 0
is "pcap: all in the file" "$("$SOFTHCA_FRAMES" --hash "$tmp/out.pcapng" | awk '{print $1}')" $count

# Two ports, two queues each: interfaces are distinguished
rm -f "$tmp"/out*
model --clock cycles --dev name=mlx5_0 --dev name=mlx5_1,netdev=enp2 --gen "$gen" --at-end sigint \
	--stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 -d mlx5_1 --queues 2 -q --json --when-full wait \
	-w "$tmp/out.pcapng" >"$tmp/report" 2>"$tmp/log"
status=$?
accounts "two ports" "$tmp/out.pcapng"
is "two ports: sources in the report" "$(json "$tmp/report" '.sources | length')" 2

# Classic pcap knows no interfaces, and is split all the same
rm -f "$tmp"/out*
model --dev name=mlx5_0 --dev name=mlx5_1,netdev=enp2 --gen "$gen" --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -d mlx5_1 -q --json --when-full wait -C 1 -w "$tmp/out.pcap" >"$tmp/report" 2>"$tmp/log"
is "two ports, pcap, -C: exit status" $? 0
is "two ports, pcap, -C: in the files" \
	"$(for f in "$tmp"/out.pcap*; do "$SOFTHCA_FRAMES" --hash "$f"; done | awk '{n += $1} END {print n}')" \
	"$(json "$tmp/report" .frames.written)"

# Limits, rotation, compression, memory
capture --queues 4 -c 1234
accounts "-c" "$tmp/out.pcapng"
is "-c: as many as were asked for" "$(json "$tmp/report" .frames.written)" 1234
capture --queues 4 --when-full wait -C 3
accounts "-C" "$tmp"/out*
holds "-C: several files" [ "$(find "$tmp" -name 'out*' | wc -l)" -gt 3 ]
capture --queues 4 --when-full wait --compress gz
gzip -dc <"$tmp/out.pcapng" >"$tmp/plain" && mv "$tmp/plain" "$tmp/out.pcapng"
accounts "gzip" "$tmp/out.pcapng"
same "gzip"
capture --queues 2 -M 512Mi
accounts "-M" "$tmp/out.pcapng"
same "-M"

# An output that is too slow: dropped by us, and counted
rm -f "$tmp"/out*
model --clock cycles --mode drop --gen count=$count,size=1024,qps=64,seed=1 --burst 2000,20000 --at-end sigint --keep "$tmp/tree" \
	--stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 -q --json --queues 4 --buffer-size 4Mi -w - 2>"$tmp/report" |
	{ head -c 1000000; wait_for received "$tmp/tree" $((count / 2)) >&2; cat; } >"$tmp/out.pcapng"
status=${PIPESTATUS[0]}
accounts "a slow pipe" "$tmp/out.pcapng"
is "a slow pipe: delivered + out_of_buffer = offered" \
	"$(json "$tmp/report" '.frames.delivered + .lost_before_us.frames')" "$(json "$tmp/stats" .offered)"

# Slow traffic: every thread sleeps, and the merge does not wait for a queue without frames
rm -f "$tmp"/out*
model --clock cycles --gen count=60,size=200,qps=16,seed=2 --rate 100 --at-end sigint --stats "$tmp/stats" -- \
	"$RDMADUMP" -d mlx5_0 -q --json --queues 4 -w - 2>"$tmp/report" >"$tmp/out.pcapng"
status=$?
accounts "slow traffic" "$tmp/out.pcapng"
is "slow traffic: all written" "$(json "$tmp/report" .frames.written)" 60

# What happens to one queue, or to all
capture --queues 4 --when-full wait -- --fault cqe=loc_prot,frame=2000
accounts "an error completion" "$tmp/out.pcapng"
is "an error completion: the queue came back" "$(json "$tmp/report" .gaps)" 1
capture --queues 4 --when-full wait -- --fault port=down,frame=3000 --fault port=up,after_ms=30
accounts "port down and up" "$tmp/out.pcapng"
same "port down and up"
# libmlx5 keeps what a device that is gone refuses to destroy
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
	capture --queues 4 --when-full wait -- --fault fatal,frame=5000 --at-end idle
is "a device that goes: exit status" "$status" 4
name="a device that goes" in_order "$tmp/out.pcapng"
is "a device that goes: what came is written" "$(json "$tmp/report" .frames.written)" \
	"$(json "$tmp/report" .frames.delivered)"

# Fewer than wanted, and wrong usage
capture --queues 4 --when-full wait -- --dev name=mlx5_0,rss=no
accounts "no spreading" "$tmp/out.pcapng"
has "no spreading: says so" "$tmp/log" '1 queue instead of 4'
for args in "--queues 0" "--queues many" "--queues 2 -r x"; do
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" $args >"$tmp/log" 2>&1
	is "$args: exit status" $? 1
done

tap_done
