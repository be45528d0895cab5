#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump analyze --interval`: over real captures, compared with the report's own sums and with
# tshark.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
roce=$TEST_DATA/roce
an() { timeout 60 "$RDMADUMP" analyze "$@" 2>"$tmp/err"; }

# --- sums -------------------------------------------------------------------------------------

# The intervals add up to the totals, and to the events of all conversations.
# shellcheck disable=SC2016 # variables of jq
sums='(.intervals | {frames: add_of("frames"), rdma: add_of("rdma_frames"), bytes: add_of("wire_bytes"),
		retx: add_of("retransmitted"), nak: add_of("nak"), rnr: add_of("rnr"), cnp: add_of("cnp"), ce: add_of("ecn_ce")}) as $got
	| ([.conversations[].sides[].events | to_entries[] | {key, count: .value.count}]) as $events
	| {frames: .totals.frames, rdma: .totals.rdma_frames, bytes: .totals.wire_bytes,
		retx: $events | of(["retransmitted"]),
		nak: $events | of(["nak_sequence", "nak_invalid_request", "nak_remote_access", "nak_remote_operational", "nak_other"]),
		rnr: $events | of(["rnr"]), cnp: $events | of(["cnp"]), ce: $events | of(["ecn_ce"])} as $want
	| if $got == $want then empty else {got: $got, want: $want} end'
captures=("$roce"/*_*/?.pcap.zst)
[ -n "${TEST_FULL-}" ] || captures=("$roce"/{10,12,17,47,50}_*/?.pcap.zst)
for f in "${captures[@]}"; do
	an --json --interval 0.01 "$f" >"$tmp/one.json"
	jq -c 'def add_of($k): .[$k] | add // 0; def of($keys): [.[] | select(.key as $k | $keys | index($k)) | .count] | add // 0;
		'"$sums" "$tmp/one.json" | sed "s|^|$f |" >>"$tmp/sums" || echo "$f: jq" >>"$tmp/sums"
done
[ ! -s "$tmp/sums" ]
ok "${#captures[@]} captures: intervals add up" "$tmp/sums"

# --- tshark -----------------------------------------------------------------------------------

mixed=$roce/20_mixed/a.pcap.zst
for f in "$roce/10_rc_write_loss/b.pcap.zst" "$mixed"; do
	name=$(basename "$(dirname "$f")")
	an --json --interval 0.1 "$f" >"$tmp/one.json"
	tshark -r "$f" -q -z io,stat,0.1 2>/dev/null | sed -nE 's/^\| +[0-9.]+ <> +[0-9.]+(Dur)? +\| +([0-9]+) +\| +([0-9]+) +\|$/\2 \3/p' >"$tmp/stat"
	jq -r '.intervals | [.frames, .wire_bytes] | transpose[] | "\(.[0]) \(.[1])"' "$tmp/one.json" >"$tmp/rows"
	[ -s "$tmp/stat" ] && diff "$tmp/stat" "$tmp/rows" >"$tmp/diff"
	ok "$name: the same frames and bytes as tshark -z io,stat" "$tmp/diff"
done

# --- text, JSON, limits -----------------------------------------------------------------------

an --interval 0.5 "$roce/10_rc_write_loss/b.pcap.zst" >"$tmp/text"
has "text: what the intervals are" "$tmp/text" '^intervals of 0\.5 s, from the first frame$'
has "text: columns" "$tmp/text" '^FROM s +FRAMES +BYTES +RATE +RETX +NAK +RNR +CNP +CE$'
has "text: a row" "$tmp/text" '^ +1\.0 +1390 +1447920 +23\.2 Mb/s +863 +10 +0 +0 +0$'
# The last interval ends with the last frame; fewer than 10 frames do not show a rate.
rate_of_last() { sed -n '/^intervals of/,/^$/p' "$1" | grep -E '^ *[0-9.]+ ' | tail -n 1 | sed -E 's/^ *([^ ]+ +){3}//; s/ .*//'; }
an --interval 1 "$mixed" >"$tmp/last"
is "text: the rate of the last interval is over its 0.339 s" "$(rate_of_last "$tmp/last")" 287
is "... unless it has few frames" "$(rate_of_last "$tmp/text")" "-"
[ "$(sed -n "/^intervals of/,\$p" "$tmp/text" | wc -L)" -le 80 ]
ok "80 columns"
an --interval 0.00001 "$roce/10_rc_write_loss/b.pcap.zst" >"$tmp/text"
tr -s ' \n' ' ' <"$tmp/text" >"$tmp/line"
has "too many intervals: said" "$tmp/line" 'intervals of 0\.00004 s, from the first frame; intervals of 0\.00001 s would be more than 65536 '
an --json --interval 0.00001 "$roce/10_rc_write_loss/b.pcap.zst" >"$tmp/one.json"
is "... in JSON, too" "$(json "$tmp/one.json" '.intervals | .asked_ns, .width_ns, .points == (.frames | length)' | tr '\n' ' ')" "10000 40000 true "
if has_jsonschema "JSON by docs/schema/analyze.json"; then
	an --json --interval 0.5 "$mixed" >"$tmp/one.json"
	python3 "$srcdir/tests/unit/schema.py" "$srcdir/docs/schema/analyze.json" "$tmp/one.json" >"$tmp/schema" 2>&1
	ok "JSON by docs/schema/analyze.json" "$tmp/schema"
	# shellcheck disable=SC2016 # variables of jq
	is "... which knows each key" "$(jq -c --slurpfile schema "$srcdir/docs/schema/analyze.json" '
		def known($name): keys == ($schema[0]."$defs"[$name].properties | keys);
		.intervals | known("intervals")' "$tmp/one.json")" true
fi
an --json "$mixed" >"$tmp/one.json"
is "not asked for: no such key" "$(json "$tmp/one.json" 'has("intervals")')" false
an --interval 1 "$roce/10_rc_write_loss/"{a,b}.pcap.zst >"$tmp/text"
is "two ends: a table of each capture" "$(grep -c '^intervals of 1 s' "$tmp/text")" 2
for wrong in 0 -1 x 1s 2000000000 ''; do
	an --interval "$wrong" "$mixed" >"$tmp/text"
	is "--interval '$wrong': exit status" $? 1
	has "--interval '$wrong': message" "$tmp/err" 'is not a number of seconds from'
done
tap_done
