#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory of `rdmadump analyze` with many QPs: at most 24 MiB, and 1.5 KiB for each of them.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 jq
if nm "$RDMADUMP" 2>/dev/null | grep -q __asan_init || ldd "$RDMADUMP" 2>/dev/null | grep -q libasan; then
	skip_all "AddressSanitizer keeps what was freed"
fi
many() { python3 "$srcdir/tests/e2e/analyze_many.py" "$@"; }

pairs=30000 few=9000
[ -n "${TEST_FULL-}" ] || pairs=9008 few=3000
limit=$((24 * 1024 + 3 * pairs))
holds "a capture of $pairs QP pairs" many make "$pairs" 2 "$tmp/many.pcap"
while read -r out options; do
	# shellcheck disable=SC2086 # words of a command line
	kib=$(many run "$tmp/$out" "$RDMADUMP" analyze $options "$tmp/many.pcap")
	# What a page shows is in memory until it is whole: 5 MB of JSON, and its objects
	most=$limit
	[[ $options != --html* ]] || most=$((limit + 16384))
	[ "$kib" -gt 1024 ] && [ "$kib" -le "$most" ]
	ok "analyze $options: $kib KiB of memory, at most $most"
done <<'END'
text
details -v
json --json
page --html=-
END
has "all of them are followed" "$tmp/json" "\"qps\": $((2 * pairs)),"
# jq takes long to read all of it, so it reads it once.
jq -c '{left: .findings_left_out, findings: (.findings | length), conversations: (.conversations | length),
	groups: [.groups[].findings_in_all] | add, rnr: (.groups[] | select(.rule == "rnr") | [.findings_in_all, .count]),
	worst: (.findings | map([.rule, .conversation]) | .[:100]), busiest: [.conversations[:20][].id]}' "$tmp/json" >"$tmp/sums"
left=$(jq .left "$tmp/sums")
has "findings that are only counted" "$tmp/text" "^   $left more findings are only counted: a report has the worst 4096"
is "... as the groups say" "$(jq .groups "$tmp/sums")" $((left + 4096))
is "... of which a quarter of the pairs has RNR NAKs, both sides" \
	"$(jq -c .rnr "$tmp/sums")" "[$((pairs / 2 - 8)),$((pairs / 2 - 8))]"
has "the verdict counts pairs, not findings" "$tmp/text" "^who +$((pairs / 4 + 4)) of $pairs QP pairs"
is "each pair is one conversation" "$(jq .conversations "$tmp/sums")" "$pairs"
"$RDMADUMP" analyze -v "$tmp/many.pcap" | cmp -s - "$tmp/details"
ok "the same output again: the random key of hash tables does not matter"

# A page that a browser can show: what matters most, and how much is left out.
bytes=$(stat -c %s "$tmp/page")
[ "$bytes" -gt 2000000 ] && [ "$bytes" -lt 5000000 ]
ok "the page of all of them: $bytes bytes, less than 5 MB"
sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$tmp/page" >"$tmp/inside"
jq -c '{all: [(.findings | length) + .left_out.findings, (.conversations | length) + .left_out.conversations],
	worst: (.findings | map([.rule, .conversation]) | .[:100]),
	missing: ([.conversations[].id] as $ids | [.findings[:100][].conversation | select(.)] - $ids | length)}' "$tmp/inside" >"$tmp/shown"
is "with what is left out, it is everything" "$(jq -c .all "$tmp/shown")" "$(jq -c '[.findings, .conversations]' "$tmp/sums")"
is "its findings are the worst" "$(jq -c .worst "$tmp/shown")" "$(jq -c .worst "$tmp/sums")"
is "the conversations of these are in it" "$(jq .missing "$tmp/shown")" 0
if [ -n "${TEST_FULL-}" ]; then
	"$RDMADUMP" analyze --html=- --top 20 "$tmp/many.pcap" | sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' >"$tmp/inside"
	is "--top 20: the busiest" "$(jq -c '[.conversations[].id]' "$tmp/inside")" "$(jq -c .busiest "$tmp/sums")"
fi

# Of two ends, too: each capture, and the QPs between them.
many make $few 2 "$tmp/many.pcap"
many thin 100 "$tmp/many.pcap" "$tmp/b.pcap"
"$RDMADUMP" analyze --ends always --json --top 1 "$tmp/many.pcap" "$tmp/b.pcap" >"$tmp/json"
"$RDMADUMP" analyze --ends always --html=- "$tmp/many.pcap" "$tmp/b.pcap" >"$tmp/page"
"$RDMADUMP" analyze --ends always "$tmp/many.pcap" "$tmp/b.pcap" | sed '/^== A/q' >"$tmp/text"
is "the text of two ends has one card for each cause" \
	"$(grep -A1 -E '^(!!| !) ' "$tmp/text" | tr -d '\n' | sed 's/--/\n/g' | sed 's/^[^:]*: //' | sort | uniq -d)" ""
has "... the others in a line" "$tmp/text" '^   [0-9]+ more of these: 10[.]0[.]0[.]'
is "... and a table that begins with a QP that lost packets" "$(grep -A1 '^TO QP' "$tmp/text" | awk 'END {print ($6 > 0)}')" 1
bytes=$(stat -c %s "$tmp/page")
[ "$bytes" -gt 2000000 ] && [ "$bytes" -lt 5000000 ]
ok "the page of two ends: $bytes bytes, less than 5 MB"
sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$tmp/page" >"$tmp/inside"
# shellcheck disable=SC2016 # variables of jq
sums='.ends | [.paths[].qps[]] as $qps | {qps: ($qps | length), findings: (.findings | length), left: .page_left_out,
	faulty: [$qps[] | select(.lost.count + .unclear.count + .missed_at_receiver.count + .duplicated.count + .missed.count + .reordered > 0)] | length}'
jq "$sums" "$tmp/json" >"$tmp/sums"
jq "$sums" "$tmp/inside" >"$tmp/shown"
is "with what is left out, it has all QPs and findings" "$(jq -c '[.qps + .left.qps, .findings + .left.findings]' "$tmp/shown")" \
	"$(jq -c '[.qps, .findings]' "$tmp/sums")"
is "those of which packets are missing are in it" "$(jq -c '[.faulty, .left.faulty_qps]' "$tmp/shown")" "$(jq -c '[.faulty, 0]' "$tmp/sums")"
[ "$(jq .faulty "$tmp/sums")" -gt 100 ] && [ "$(jq .left.qps "$tmp/shown")" -gt 1000 ]
ok "... which are many, and so are those that are left out"
tap_done
