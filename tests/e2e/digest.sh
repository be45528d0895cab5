#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A digest, which is a compressed copy with the headers only: a few bytes a packet, and the same answers of both ends as from
# whole captures, but for what payload and invariant CRCs show.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq zstd
bytes=0 frames=0

# What the report cannot have, and times between two clocks: their first estimate is from other packets.
of_payload='walk(if type == "object" then del(.icrc_good, .icrc_bad, .icrc_unchecked, .icrc_trusted, .truncated, .name,
		.first_ns, .last_ns, .since_ns, .until_ns, .text)
	elif type == "array" then map(select(type != "object" or (.rule != "truncated" and .label != "when")))
	else . end) | walk(if type == "object" then del(.findings_in_all) else . end) |
	(.. | .offset_ns? | numbers) |= (. / 1000 | round) |
	del(.captures[].causes[]?.findings, .captures[].groups[]?.findings)'
names="03_rc_read 10_rc_write_loss 12_reorder 17_rnr_nak 41_uc_loss 53_atomic_loss 57_router_loss 58_router_reorder 59_router_duplicate"
# 14_corrupt is about damage, 56_nvme about an application; of 32_no_rdma the rest of a frame might show something else.
[ -z "${TEST_FULL-}" ] || names=$(cd "$TEST_DATA/roce" && printf '%s\n' */b.pcap.zst | sed 's|/.*||' | grep -v '^14_\|^32_\|^49_\|^56_')
for name in $names; do
	data=$TEST_DATA/roce/$name
	for end in a b; do
		"$RDMADUMP" -q -r "$data/$end.pcap.zst" -w "$tmp/$end.pcapng" 2>>"$tmp/log"
		"$RDMADUMP" digest -o "$tmp/$end.digest.pcapng.zst" "$tmp/$end.pcapng" 2>>"$tmp/log"
	done
	for kind in pcapng digest.pcapng.zst; do
		"$RDMADUMP" analyze --json "$tmp/a.$kind" "$tmp/b.$kind" >"$tmp/json" 2>>"$tmp/log"
		jq "$of_payload" "$tmp/json" >"$tmp/$kind.json"
	done
	holds "$name: the same answers" diff "$tmp/pcapng.json" "$tmp/digest.pcapng.zst.json"
	bytes=$((bytes + $(stat -c %s "$tmp/a.digest.pcapng.zst")))
	frames=$((frames + $(jq '.captures[0].totals.frames' "$tmp/json")))
done
[ "$frames" -gt 5000 ] && [ "$bytes" -le $((frames * 16)) ]
ok "a digest takes at most 16 bytes a packet: $bytes for $frames"

# Of several captures, into a directory
mkdir "$tmp/digests" "$tmp/other"
cp "$tmp/a.pcapng" "$tmp/other/b.pcapng"
"$RDMADUMP" digest -o "$tmp/digests" "$tmp/a.pcapng" "$data/b.pcap.zst" 2>"$tmp/log"
is "a directory: status, digests" "$? $(cd "$tmp/digests" && echo *)" "0 a.digest.pcapng.zst b.digest.pcapng.zst"
is "... with all frames" "$(zstd -dcq "$tmp/digests/a.digest.pcapng.zst" | cksum)" "$(zstd -dcq "$tmp/a.digest.pcapng.zst" | cksum)"
# One of three pairs of hosts, whose clocks are minutes apart: of these the same answers, of the others nothing.
python3 "$srcdir/tests/e2e/hosts.py" "$tmp/hosts" hosts=8 facts=1 >"$tmp/log" 2>&1
mkdir "$tmp/sample"
"$RDMADUMP" digest --sample=3 -o "$tmp/sample" "$tmp"/hosts/*.pcapng 2>>"$tmp/log"
for of in hosts sample; do
	"$RDMADUMP" analyze --json "$tmp/$of" >"$tmp/$of.json" 2>>"$tmp/log"
	jq -c '.paths[] | [.from, .to, .sent, .lost, .retransmitted]' "$tmp/$of.json" | sort >"$tmp/$of.paths"
done
all=$(wc -l <"$tmp/hosts.paths") part=$(wc -l <"$tmp/sample.paths")
[ "$part" -gt 0 ] && [ "$part" -lt $((all * 2 / 3)) ] && [ -z "$(comm -13 "$tmp/hosts.paths" "$tmp/sample.paths")" ]
ok "a sample: $part of $all paths, with the same figures" "$tmp/sample.paths"
is "... both directions of each" "$(jq -r '.paths[] | [.from, .to] | sort | join(" ")' "$tmp/sample.json" | sort | uniq -c | awk '{print $1}' | sort -u)" 2
is "... reports name it" "$(jq -r '[.captures[].capture.filter] | unique[]' "$tmp/sample.json")" "--sample 3"

# wrong STATUS TEXT ARGUMENT...
wrong() {
	"$RDMADUMP" digest "${@:3}" >"$tmp/out" 2>"$tmp/err"
	exits "$2" "$1" "$tmp/err" "rdmadump: .*$2"
}
wrong 1 "no capture is named" -o "$tmp/digests"
wrong 1 "'$tmp/x' is no directory" -o "$tmp/x" "$tmp/a.pcapng" "$tmp/b.pcapng"
wrong 1 "b.digest.pcapng.zst' is there already" -o "$tmp/digests" "$tmp/other/b.pcapng"
wrong 1 "none can be chosen" -s 0 -o "$tmp/x" "$tmp/a.pcapng"
wrong 2 "cannot open '$tmp/missing.pcapng'" -o "$tmp/digests" "$tmp/missing.pcapng"
wrong 3 "'/dev/full'" -o /dev/full "$tmp/a.pcapng"

(ulimit -f 2; "$RDMADUMP" digest -o "$tmp/other/part" "$tmp/a.pcapng" 2>"$tmp/err")
exits "no room" 3 "$tmp/err" "^rdmadump: '$tmp/other/part' was not whole, and is removed"
holds "... nothing is left" [ ! -e "$tmp/other/part" ]

# Ctrl-C, of which all processes in front get a signal, and kill(1), of which one does: no next capture, no half copy
mkfifo "$tmp/fifo"
has_part() { find "/proc/$(pgrep -P "$job")/fd" -lname '*/fifo.digest.pcapng.zst' | grep -q .; }
for to in -- ''; do
	mkdir "$tmp/ended"
	exec 8<>"$tmp/fifo"
	head -c 40000 "$tmp/a.pcapng" >&8
	set -m
	"$RDMADUMP" digest -o "$tmp/ended" "$tmp/fifo" "$tmp/a.pcapng" 2>"$tmp/err" 8<&- &
	job=$!
	set +m
	wait_for has_part
	# shellcheck disable=SC2086 # a word, or none
	kill -INT $to ${to:+-}$job
	wait $job
	exits "SIGINT $to" 4 "$tmp/err" "interrupted: '$tmp/fifo' was not copied, nor what follows it"
	holds "SIGINT $to: nothing is left" rmdir "$tmp/ended"
	exec 8<&-
done
tap_done
