#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory of `rdmadump analyze` with many QPs: at most 48 MiB, and 1 KiB for each of them.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 jq
if nm "$RDMADUMP" 2>/dev/null | grep -q __asan_init || ldd "$RDMADUMP" 2>/dev/null | grep -q libasan; then
	skip_all "AddressSanitizer keeps what was freed"
fi
many() { python3 "$srcdir/tests/e2e/analyze_many.py" "$@"; }

pairs=30000
limit=$((48 * 1024 + 2 * pairs))
many make "$pairs" 2 "$tmp/many.pcap"
ok "a capture of $pairs QP pairs"
"$RDMADUMP" analyze --json --top 1 "$tmp/many.pcap" >"$tmp/json"
has "all of them are followed" "$tmp/json" "\"qps\": $((2 * pairs)),"
for form in "" "-v" "--json" "--html=-"; do
	# shellcheck disable=SC2086 # one option or none
	kib=$(many run "$RDMADUMP" analyze $form "$tmp/many.pcap")
	[ "$kib" -gt 1024 ] && [ "$kib" -le "$limit" ]
	ok "analyze $form: $kib KiB of memory, at most $limit"
done

"$RDMADUMP" analyze --json "$tmp/many.pcap" >"$tmp/json"
"$RDMADUMP" analyze "$tmp/many.pcap" >"$tmp/text"
left=$(jq .findings_left_out "$tmp/json")
has "findings that are only counted" "$tmp/text" "^   $left more findings are only counted: a report has the worst 4096"
is "... as the groups say" "$(jq '[.groups[].findings_in_all] | add' "$tmp/json")" $((left + 4096))
is "... of which a quarter of the pairs has RNR NAKs, both sides" \
	"$(jq '.groups[] | select(.rule == "rnr") | [.findings_in_all, .count]' -c "$tmp/json")" "[$((pairs / 2 - 8)),$((pairs / 2 - 8))]"
has "the verdict counts pairs, not findings" "$tmp/text" "^This concerns $((pairs / 4 + 4)) of $pairs QP pairs"
is "each pair is one conversation" "$(jq '.conversations | length' "$tmp/json")" "$pairs"
"$RDMADUMP" analyze --json "$tmp/many.pcap" | cmp -s - "$tmp/json"
ok "the same output again: the random key of hash tables does not matter"

# A page that a browser can show: what matters most, and how much is left out.
"$RDMADUMP" analyze --html=- --interval 0.00001 "$tmp/many.pcap" >"$tmp/page"
bytes=$(stat -c %s "$tmp/page")
[ "$bytes" -gt 2000000 ] && [ "$bytes" -lt 5000000 ]
ok "the page of all of them: $bytes bytes, less than 5 MB"
sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$tmp/page" >"$tmp/inside"
is "with what is left out, it is everything" \
	"$(jq -c '[(.findings | length) + .left_out.findings, (.conversations | length) + .left_out.conversations]' "$tmp/inside")" \
	"$(jq -c '[(.findings | length), (.conversations | length)]' "$tmp/json")"
is "its findings are the worst" "$(jq -c '.findings | map([.rule, .conversation]) | .[:100]' "$tmp/inside")" \
	"$(jq -c '.findings | map([.rule, .conversation]) | .[:100]' "$tmp/json")"
is "the conversations of these are in it" "$(jq '[.conversations[].id] as $ids | [.findings[:100][].conversation | select(.)] - $ids | length' "$tmp/inside")" 0
has "65536 intervals are not" "$tmp/inside" '"intervals":[1-9][0-9]+,'
"$RDMADUMP" analyze --html=- --top 20 "$tmp/many.pcap" | sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' >"$tmp/inside"
is "--top 20: the busiest" "$(jq -c '[.conversations[].id]' "$tmp/inside")" "$(jq -c '[.conversations[:20][].id]' "$tmp/json")"

# Of two ends, too: each capture, and the QPs between them.
many make 9000 2 "$tmp/many.pcap"
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
is "with what is left out, it has all QPs and findings" \
	"$(jq -c '.ends | [([.paths[].qps[]] | length) + .page_left_out.qps, (.findings | length) + .page_left_out.findings]' "$tmp/inside")" \
	"$(jq -c '.ends | [([.paths[].qps[]] | length), (.findings | length)]' "$tmp/json")"
faulty='[.ends.paths[].qps[] | select(.lost.count + .unclear.count + .missed_at_receiver.count + .duplicated.count + .missed.count + .reordered > 0)] | length'
is "those of which packets are missing are in it" \
	"$(jq -c "[($faulty), .ends.page_left_out.faulty_qps]" "$tmp/inside")" "$(jq -c "[($faulty), 0]" "$tmp/json")"
[ "$(jq "$faulty" "$tmp/json")" -gt 100 ] && [ "$(jq .ends.page_left_out.qps "$tmp/inside")" -gt 1000 ]
ok "... which are many, and so are those that are left out"
tap_done
