#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Losses before the capture: a counter that is reset or wraps during it, the share of all frames, and which option
# to increase.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq capinfos

# capture MODEL-OPTIONS -- OPTIONS: text in $tmp/log, JSON in $tmp/json, the file in $tmp/out.pcapng
capture() {
	apart "$@"
	model "${ahead[@]}" --at-end sigint --stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 "${rest[@]}" -w "$tmp/out.pcapng" 2>"$tmp/log"
	status=$?
	model "${ahead[@]}" --at-end sigint --stats "$tmp/json.stats" -- "$RDMADUMP" -d mlx5_0 -q --json "${rest[@]}" -w "$tmp/json.pcapng" >"$tmp/json" 2>"$tmp/err"
}
comment() { capinfos -k "$1" | tr -s ' \n' ' '; }
# The report's two lines about loss, as the one sentence that others use
sentence() { sed -n '/^  filtered out [0-9 ]*, /{s///;N;s/\n  /; /;p;q}' "$tmp/log"; }
analysed() { "$RDMADUMP" analyze "$tmp/out.pcapng" 2>&1 | tr -s ' \n' ' '; }
# same_words NAME: the same sentence in the file's comment, in its statistics, and by `analyze`
same_words() {
	local said
	said=$(sentence)
	[ -n "$said" ]
	ok "$1: the report has the sentence" "$tmp/log"
	is "$1: the same in the file's comment" "$(comment "$tmp/out.pcapng" | grep -cF "$said")" 1
	is "$1: and by analyze" "$(analysed | grep -cF "$said")" 1
	is "$1: and in its JSON, which its page shows" "$("$RDMADUMP" analyze --json "$tmp/out.pcapng" 2>/dev/null | jq -r .capture.losses)" "$said"
}
loss() { jq -c '.lost_before_us | [.known, .frames, .percent, .reason]' "$tmp/json"; }

# A counter of 32 bits that changes during the capture: by a reset, and by a wrap
capture --gen count=2000,size=256 --counter out_of_buffer=100 --fault counter=0,frame=1000 --
is "reset: exit status" "$status" 0
has "reset: text" "$tmp/log" "dropped by the device unknown \(out_of_buffer was reset during the capture\), at least 0"
is "reset: JSON, and of the source" "$({ loss; jq -c '.sources[0].lost | [.known, .frames, .counters.out_of_buffer, .reason]' "$tmp/json"; } | uniq)" \
	'[false,null,null,"out_of_buffer was reset during the capture"]'
comment "$tmp/out.pcapng" >"$tmp/comment"
has "reset: the file's comment" "$tmp/comment" "dropped by the device unknown \(out_of_buffer was reset during the capture\), at least 0"
has "reset: the comment begins with what is captured" "$tmp/comment" "\. Traffic of this function only \\(.*\\): not of VFs"
is "reset: the file does not say that nothing was lost" \
	"$(cp "$tmp/out.pcapng" "$tmp/reset.pcapng" && "$RDMADUMP" -q -r "$tmp/out.pcapng" --json -w "$tmp/again.pcapng" | jq -c '.lost_before_us | [.known, .frames]')" '[false,null]'

# A reset after which the counter passes its old value before it is read again: another counter of its set fell
capture --gen count=2000,size=256 --counter out_of_buffer=100 --counter rx_write_requests=5000 --fault counter=300,frame=1000 --
is "reset that the counter does not show: JSON" "$(loss)" '[false,null,null,"out_of_buffer was reset during the capture"]'
has "reset that the counter does not show: text" "$tmp/log" "unknown \(out_of_buffer was reset during the capture\), at least 200"

capture --time virtual --gen count=2000,size=256 --counter out_of_buffer=4294967290 --fault counter=4,frame=1000 -- --when-full wait
is "wrap: JSON" "$(loss)" '[true,10,0.497512438,null]'
has "wrap: text, with its share" "$tmp/log" "dropped by the device 10 \(0\.50 %; out_of_buffer\)$"
comment "$tmp/out.pcapng" >"$tmp/comment"
has "wrap: the file's comment" "$tmp/comment" "dropped by the device 10 \(0\.50 %; out_of_buffer\).*[a-z]\. *$"
same_words "wrap"
has "wrap: what the counter counts" "$tmp/log" "^  out_of_buffer counts frames .* on any queue pair of this function: neither an upper nor a lower bound"
is "wrap: analyze blames the capture, and no program for too few receives" \
	"$("$RDMADUMP" analyze --json "$tmp/out.pcapng" 2>/dev/null | jq -r '[(.findings[] | select(.counter == "hw_counters/out_of_buffer") | .severity), .verdict.rule] | join(" ")')" \
	"note capture-lost"
LC_ALL=C sed 's/out_of_buffer\([^"]\)/other_counter\1/g' "$tmp/out.pcapng" >"$tmp/other.pcapng"
is "... a program where the capture does not count it" \
	"$("$RDMADUMP" analyze --json "$tmp/other.pcapng" 2>/dev/null | jq -r '.findings[] | select(.counter == "hw_counters/out_of_buffer") | .severity')" problem
has "wrap: over a thousandth: what to raise" "$tmp/log" "^  the device's receive ring was full: raise -b, use --queues auto.*; or the output was too slow \(--when-full wait\)"

# Exact counts of rdmadump itself, apart from the device's: frames that the output did not take
model --gen count=40000,size=1024 --at-end sigint -- bash -c \
	"ulimit -f 1000; '$RDMADUMP' -d mlx5_0 --buffer-size 4Mi -w '$tmp/out.pcapng' 2>'$tmp/log'"
has "a full output: its frames are rdmadump's" "$tmp/log" \
	"dropped by rdmadump [0-9 ]+ \(buffer full [0-9 ]+, not written [0-9 ]+\), dropped by the device 0 \(out_of_buffer\)$"

# Nothing lost, and little: no advice
capture --gen count=2000,size=256 --
is "nothing lost: JSON" "$(loss)" '[true,0,0,null]'
has "nothing lost: text" "$tmp/log" "dropped by the device 0 \(out_of_buffer\)$"
has "nothing lost: in one clause" "$tmp/log" "^  no loss counter moved$"
is "nothing lost: not what the counter counts" "$(grep -c 'neither' "$tmp/log")" 0
same_words "nothing lost"
capture --gen count=20000,size=256 --fault counter=1,frame=10000 --
has "one of 20 000: text" "$tmp/log" "dropped by the device 1 \(less than 0\.01 %; out_of_buffer\)$"
is "one of 20 000: no advice" "$(grep -c raise "$tmp/log")" 0

# Another device takes the name, as after a reload of the driver or a new name: its counters are not this one's
tree=$tmp/tree
devices=$tree/sys/class/infiniband
model --keep "$tree" --rate 1000 --gen count=1000000,size=256 --counter out_of_buffer=100 --pidfile "$tmp/pid" -- \
	"$RDMADUMP" -d mlx5_0 --json -w "$tmp/out.pcapng" >"$tmp/json" 2>"$tmp/err" &
job=$!
wait_for grep -q 'capturing on' "$tmp/err"
target=$(readlink -f "$devices/mlx5_0")
cp -r "$target" "$tmp/other"
echo 300 >"$tmp/other/ports/1/hw_counters/out_of_buffer"
echo 5 >"$tmp/other/ports/1/counters/excessive_buffer_overrun_errors"
ln -s "$tmp/other" "$devices/next"
mv -T "$devices/next" "$devices/mlx5_0"
kill -INT "$(<"$tmp/pid")"
wait $job
is "another device has the name: JSON" "$(loss)" '[false,null,null,"out_of_buffer is missing in one of the readings"]'
is "another device has the name: nothing of its loss" "$(json "$tmp/json" .lost_before_us.at_least)" 0
is "another device has the name: nothing of its other counters" "$(jq -c '[.sources[].lost.beside[].name]' "$tmp/json")" '[]'

# A ring of 32 buffers at full speed
capture --mode drop --gen count=400000,size=256 -- --max-burst 5
lost=$(json "$tmp/json.stats" .dropped)
share=$(jq --argjson all "$(json "$tmp/json.stats" .offered)" '.dropped * 100 / $all' "$tmp/json.stats")
is "ring full: JSON" "$(jq --argjson share "$share" -c '.lost_before_us | [.known, .frames, (.percent - $share | fabs) < 0.000001]' "$tmp/json")" "[true,$lost,true]"
is "ring full: what to raise, in one line" "$(grep raise "$tmp/log")" \
	"  the device's receive ring was full: raise -b, use --queues auto, or keep less of each frame (-s, --headers-only)"
capture --dev oversize=lives --gen count=2000,size=100-1500 -- --max-frame 1024
is "longer than the buffers: what to raise" "$(grep -o 'raise.*' "$tmp/log")" "raise --max-frame"

# Only the last file of a series has what the device dropped: the others do not say that it was nothing.
mkdir "$tmp/series" "$tmp/digests" && model --mode drop --gen count=60000,size=1024 --at-end sigint --stats "$tmp/stats" -- \
	"$RDMADUMP" -d mlx5_0 -q --max-burst 6 -b packets:300 -w "$tmp/series/s.pcapng"
an "$tmp"/series/s_00001_* 2>&1 | tr -s ' \n' ' ' >"$tmp/log"
has "a series: its first file" "$tmp/log" 'dropped by rdmadump 0, dropped by the device unknown \(the last file of the series says it\)'
known() { an --json "$1" 2>/dev/null | jq -c '[.capture.files[].dropped] | [length > 1, all(. != null), add]'; }
is "... all of them" "$(known "$tmp/series")" "[true,true,$(jq .dropped "$tmp/stats")]"
"$RDMADUMP" digest -o "$tmp/digests" "$tmp"/series/* 2>"$tmp/log"
last=("$tmp"/series/*)
is "... nothing of another capture" "$(an --ends never --json "$tmp/reset.pcapng" "${last[-1]}" 2>/dev/null | jq -c '[.capture.files[].dropped != null]')" "[false,true]"
"$RDMADUMP" -q -r "${last[0]}" -w "$tmp/part.pcapng" -b packets:100
is "... nor a part of a copy" "$(an --json "$tmp"/part_00001_* 2>/dev/null | jq -r .capture.losses)" "the file does not say what the capture lost"
is "... their digests" "$(known "$tmp/digests")" "[true,true,$(jq .dropped "$tmp/stats")]"
last=("$tmp"/digests/*)
has "... of which the last one says whose word that is" <(an --json "${last[-1]}" 2>/dev/null | jq -r .capture.losses) '^dropped by rdmadump 0, dropped when captured [0-9 ]+ \(.*as the file says\)'

# Our own buffer, with an output that is not read until all frames have arrived
model --gen count=60000,size=1024 --at-end sigint -- bash -c "'$RDMADUMP' -d mlx5_0 --buffer-size 4Mi -w - 2>'$tmp/log' | {
	wait_for received '' 60000; cat >'$tmp/out.pcapng'; }"
has "buffer full: what to raise" "$tmp/log" "the output was too slow and rdmadump's buffer was full: raise --buffer-size, use a faster disk"
is "buffer full: the device is not blamed" "$(grep -c "receive ring" "$tmp/log")" 0
is "buffer full: the same by analyze" "$(analysed | grep -cF "$(sentence)")" 1

tap_done
