#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A port's addresses decide the direction of a frame, and may change while it captures.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 jq

count=2500
change=1000
slack=500 # frames until a busy machine reads the event, or that were in the ring then
mine=0c:42:a1:00:00:01
foreign=0c:42:a1:00:00:77

# directions FILE: of each frame the direction (0 unknown, 1 in, 2 out), and its addresses
directions() { python3 "$srcdir/tests/e2e/captures.py" directions "$1"; }

# capture OPTIONS...: of the model; directions into $tmp/flags
capture() {
	model --gen "count=$count,size=60-600,qps=4,seed=3" --rate 5000 --at-end sigint "$@" \
		"${command[@]}" >/dev/null 2>"$tmp/log"
	is "$name: exit status" $? 0
	directions "$tmp/out" >"$tmp/flags"
	is "$name: frames" "$(wc -l <"$tmp/flags")" $count
}
command=(-- "$RDMADUMP" -d mlx5_0 --when-full wait -w "$tmp/out")

# wrong FROM TO OWN COLUMN: frames in those lines whose direction is not that of the address
wrong() {
	awk -v from="$1" -v to="$2" -v own="$3" -v src="$4" 'NR >= from && NR <= to {
		out = $src == own; in_ = $(src + 1) == own
		n += $1 != (out == in_ ? 0 : out ? 2 : 1)
	} END { print n + 0 }' "$tmp/flags"
}

mode=wqe
name="new MAC, $mode"
command=(-- "$RDMADUMP" -d mlx5_0 --when-full wait --rx-mode "$mode" -w "$tmp/out")
capture --dev mac=$foreign --fault mac=$mine,frame=$change
is "$name: before, no frame is this port's" \
	"$(head -n $((change - slack)) "$tmp/flags" | grep -vc ^0)" 0
is "$name: afterwards they have a direction" "$(wrong $((change + slack)) $count $mine 2)" 0

# The netdev gets another address: frames on their way still have the former one.
name="former MAC"
capture --dev mac=$mine --fault mac=$foreign,frame=$change
is "$name: the direction stays" "$(wrong 1 $count $mine 2)" 0
[ "$(grep -c ^1 "$tmp/flags")" -gt 100 ] && [ "$(grep -c ^2 "$tmp/flags")" -gt 100 ]
ok "$name: some of both directions"

name="no change"
capture --dev mac=$foreign --fault event=gid_change,frame=$change
is "$name: none has a direction" "$(grep -vc ^0 "$tmp/flags")" 0

# Where no MAC address is known, the GIDs decide
name="new GID"
capture --dev mac=00:00:00:00:00:00,ip=192.0.2.77 --fault ip=10.77.0.1,frame=$change
is "$name: before, no frame is this port's" \
	"$(head -n $((change - slack)) "$tmp/flags" | grep -vc ^0)" 0
is "$name: afterwards they have a direction" "$(wrong $((change + slack)) $count 10.77.0.1 4)" 0
[ "$(grep -c ^1 "$tmp/flags")" -gt 100 ] && [ "$(grep -c ^2 "$tmp/flags")" -gt 100 ]
ok "$name: some of both directions"

# More queues than one: each follows
name="four queues"
command=(-- "$RDMADUMP" -d mlx5_0 --when-full wait --queues 4 -w "$tmp/out")
capture --dev mac=$foreign --fault mac=$mine,frame=$change
is "$name: afterwards they have a direction" "$(wrong $((change + slack)) $count $mine 2)" 0

# Multicasts and broadcasts are received, unless they are from this port
python3 "$srcdir/tests/e2e/captures.py" groups "$tmp/group.pcap"
model --dev mac=$mine --pcap "$tmp/group.pcap" --at-end sigint -- "$RDMADUMP" -d mlx5_0 \
	-w "$tmp/out" >/dev/null 2>&1
is "groups: exit status" $? 0
is "groups: directions" "$(directions "$tmp/out" | cut -c1 | tr -d '\n')" 212121012

tap_done
