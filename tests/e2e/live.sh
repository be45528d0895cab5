#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture --analyze: the report of the frames as they are captured is that of the file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq zstd

zstd -qdf "$TEST_DATA/roce/10_rc_write_loss/b.pcap.zst" -o "$tmp/in.pcap"
"$RDMADUMP" analyze --json "$tmp/in.pcap" >"$tmp/want.json" 2>"$tmp/log"
rules='[.findings[] | select(.rule | startswith("counter") | not) | {rule, severity, count, frames}]'
sides='[.conversations[] | {a, b, a_resent: .sides.a.events.resent.count, frames: [.sides[].frames]}]'

model --pcap "$tmp/in.pcap" --at-end sigint -- "$RDMADUMP" -d mlx5_0 --analyze --json -w "$tmp/out.pcapng" \
	>"$tmp/live.json" 2>"$tmp/log"
is "live: exit status" "$?" 0
jq .analysis "$tmp/live.json" >"$tmp/got.json"
is "live: frames" "$(jq .totals.frames "$tmp/got.json")" "$(jq .totals.frames "$tmp/want.json")"
is "live: findings as of the file" "$(jq -c "$rules" "$tmp/got.json")" "$(jq -c "$rules" "$tmp/want.json")"
is "live: conversations as of the file" "$(jq -c "$sides" "$tmp/got.json")" "$(jq -c "$sides" "$tmp/want.json")"
holds "live: compared with the device's counters" [ "$(jq '.counters | length' "$tmp/got.json")" -gt 0 ]
is "live: the file has every frame" "$("$SOFTHCA_FRAMES" --hash "$tmp/out.pcapng")" "$("$SOFTHCA_FRAMES" --hash "$tmp/in.pcap")"

model --pcap "$tmp/in.pcap" --at-end sigint -- "$RDMADUMP" -d mlx5_0 --analyze >"$tmp/text" 2>"$tmp/log"
exits "no file" 0 "$tmp/text" '^!! .*packets are lost upstream'
is "no file: no line per frame" "$(grep -c 'RC_' "$tmp/text")" 0

model --pcap "$tmp/in.pcap" --at-end sigint -- "$RDMADUMP" -d mlx5_0 --analyze -w - >"$tmp/pipe" 2>"$tmp/log"
is "to a pipe: only frames in it" "$("$SOFTHCA_FRAMES" --hash "$tmp/pipe")" "$("$SOFTHCA_FRAMES" --hash "$tmp/in.pcap")"
has "to a pipe: says what it found elsewhere" "$tmp/log" 'packets are lost upstream'

"$RDMADUMP" -r "$tmp/in.pcap" --analyze -v >"$tmp/text" 2>"$tmp/log"
is "of a file, with a line per frame" "$? $(grep -c 'packets are lost upstream' "$tmp/text")" "0 1"
holds "... both" [ "$(wc -l <"$tmp/text")" -gt 1413 ]

# Ctrl-C in a terminal is a signal to the whole foreground group: the report still comes
mkfifo "$tmp/fifo"
setsid "$RDMADUMP" -r "$tmp/fifo" --analyze >"$tmp/text" 2>"$tmp/log" &
exec 8>"$tmp/fifo"
cat "$tmp/in.pcap" >&8 # more than a pipe holds: the analysis runs
kill -TERM -- -$!
wait $!
exec 8>&-
has "a signal to the group does not end the analysis" "$tmp/text" 'packets are lost upstream'

tap_done
