#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --latency: frames gather in the receive ring while the program sleeps, by CQ moderation or by timed
# waits; nothing is lost by that, and timestamps stay those of the device.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

spec=count=10000,size=256,seed=7
# capture MODEL-OPTIONS... -- OPTIONS...: 20 000 frames a second
capture() {
	apart "$@"
	model --time virtual --gen $spec --rate 20000 --at-end sigint --stats "$tmp/stats" "${ahead[@]}" -- \
		"$RDMADUMP" -d mlx5_0 --json --debug "${rest[@]}" -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
}
events() { json "$tmp/stats" '.devices[0].completion_events'; }
complete() { # NAME
	is "$1: all frames, byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$("$SOFTHCA_FRAMES" $spec)"
	is "$1: none lost by the device" "$(json "$tmp/stats" .dropped)" 0
}
# An event every 2 ms at most, however long a busy machine makes it last. At once it is one for each frame, 20 a ms,
# where the program can keep up.
fewer() { # NAME
	[ "$(events)" -gt 0 ] && jq -e --argjson events "$(events)" '.duration_s * 500 + 20 > $events' "$tmp/report" >"$tmp/out"
	ok "$1: few completion events"
}

capture --clock cycles -- --latency 0
complete 'at once'
echo "# at once: $(events) completion events"

for mode in wqe verbs; do
	capture --clock cycles -- --rx-mode $mode
	complete "by default, $mode"
	fewer "by default, $mode"
	is "by default, $mode: moderation has effect" "$(grep -c 'ignores CQ moderation' "$tmp/log")" 0
done

capture --clock cycles --dev name=mlx5_0,moderation=no --
complete 'no moderation'
fewer 'no moderation'

capture --clock cycles --dev name=mlx5_0,moderation=ignored --
complete 'moderation without effect'
has 'moderation without effect: noticed' "$tmp/log" 'ignores CQ moderation; using timed waits'
fewer 'moderation without effect'

# A frame's time is when it is polled: it must not wait.
capture --fault verb=modify_cq,errno=EIO --
complete 'host timestamps'
is 'host timestamps: nothing gathers' "$(json "$tmp/stats" .injected.verbs)" 0

# An event that is lost costs a second, not the rest of the capture.
for options in '--rx-mode wqe' '--rx-mode verbs' '--queues 2'; do
	# shellcheck disable=SC2086
	model --time virtual --gen count=60,size=300,qps=8 --at-end sigint --stats "$tmp/stats" --dev name=mlx5_0,lost_events=1 -- \
		"$RDMADUMP" -d mlx5_0 $options -w "$tmp/out" >"$tmp/log" 2>&1
	is "$options, no completion event arrives: exit status" $? 0
	is "$options, no completion event arrives: frames" "$("$SOFTHCA_FRAMES" --hash "$tmp/out" | cut -d' ' -f1)" 60
	is "$options, no completion event arrives: sent" "$(json "$tmp/stats" '.completion_events // .devices[0].completion_events')" 0
done

# Until the program sleeps for good, it wakes up for the end.
capture --clock cycles -- --latency 1000 -a duration:1
is 'a long latency does not delay the end: exit status' $? 0
"$RDMADUMP" --latency 1001 2>"$tmp/log"
exits 'out of range' 1 "$tmp/log" '--latency: .* 0 .* 1000'

tap_done
