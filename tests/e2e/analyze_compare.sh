#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump analyze --compare`: a capture with itself, two runs of a program, what is refused.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq zstd
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
roce=$TEST_DATA/roce
an() { timeout -k 5 "$PATIENCE" "$RDMADUMP" analyze "$@" 2>"$tmp/err"; }

# --- the same capture -------------------------------------------------------------------------

captures=("$roce"/*_*/a.pcap.zst)
[ -n "${TEST_FULL-}" ] || captures=("$roce"/{10,17,50,56}_*/a.pcap.zst)
for f in "${captures[@]}"; do
	an --json "$f" >"$tmp/own.json"
	an --json --compare "$tmp/own.json" "$f" >"$tmp/changes.json"
	jq -c '[.before == .after, ([.findings[], .traffic[]] | all(.status == "same")), (.findings | all(.before == .after)),
		([.traffic[].values[]] | all(.before == .after and .change == null)), (.traffic | all(.qps_before == .qps_after))]
		| if all then empty else . end' "$tmp/changes.json" >>"$tmp/differ" || echo "$f" >>"$tmp/differ"
done
[ ! -s "$tmp/differ" ]
ok "${#captures[@]} captures: none differs from itself, in any value" "$tmp/differ"
an --json "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/loss.json"
an --compare "$tmp/loss.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/text"
has "said in words" "$tmp/text" "^nothing changed: 1 finding and 1 direction of traffic are as before$"

# --- two runs ---------------------------------------------------------------------------------

an --json "$roce/02_rc_write/a.pcap.zst" >"$tmp/good.json"
an --compare "$tmp/good.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/text"
exits "a comparison" 0 "$tmp/text" '^findings: 1 new, 0 gone, 0 changed, 0 as before$'
has "... and of the traffic" "$tmp/text" '^traffic: 2 of 2 directions changed$'
has "the captures" "$tmp/text" '^before  2026-[-0-9T:.]+Z, 6\.[0-9]+ s, 1 003 frames$'
has "a new finding" "$tmp/text" '^new +!! 10\.77\.0\.2 -> 10\.77\.0\.1$'
has "... what it is" "$tmp/text" '^           packets are lost upstream of this capture point$'
has "QPs that changed" "$tmp/text" '^changed 10\.77\.0\.2 -> 10\.77\.0\.1 RC WRITE, 3 -> 1 QP$'
has "a share that is worse" "$tmp/text" '^ +retransmitted +0 % -> 64\.7 % +worse$'
has "traffic that is gone" "$tmp/text" '^gone +10\.77\.0\.1 -> 10\.77\.0\.2 RC WRITE, 1 QP$'
is "80 columns" "$(tail -n +2 "$tmp/text" | wc -L | awk '{print $1 <= 80}')" 1
an "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/verdict"
has "lost packets are the share that the verdict names" "$tmp/verdict" 'Packets lost: 10 of 480 \(2\.1 %\)'
has "... of the packets without their copies" "$tmp/text" '^ +lost packets +0 % -> 2\.08 % +worse$'
an --compare "$tmp/loss.json" "$roce/02_rc_write/a.pcap.zst" >"$tmp/text"
has "the other way round: gone" "$tmp/text" '^gone +!! 10\.77\.0\.2 -> 10\.77\.0\.1$'
has "... and better" "$tmp/text" '^ +retransmitted +64\.7 % -> 0 % +better$'
an --json --top 1 "$roce/02_rc_write/a.pcap.zst" >"$tmp/top.json"
an --compare "$tmp/top.json" "$roce/02_rc_write/a.pcap.zst" >"$tmp/text"
has "a report with --top: said" "$tmp/text" '^        the report lacks 2 of its conversations \(--top\)$'
has "... traffic that it left out is not new" "$tmp/text" '^[0-9]+ directions? of traffic: not in the former report, which has only a part$'
is "... nor changed" "$(grep -cE '^(new|changed) ' "$tmp/text")" 0
python3 "$srcdir/tests/e2e/hosts.py" "$tmp/many" hosts=8 messages=1
has "of many rows the first ones" <(an --compare "$tmp/good.json" "$tmp/many/host1.pcapng") '^        4 more: -v shows them$'
an --json "$roce/56_nvme/a.pcap.zst" >"$tmp/nvme.json"
is "connections have their service" "$(jq -r '[.conversations[].connection.service_id? // empty] | unique[]' "$tmp/nvme.json")" 0x0000000001061144

# A capture without frames has no date.
zstd -q -d -c "$roce/02_rc_write/a.pcap.zst" | head -c 24 >"$tmp/empty.pcap"
an --json "$tmp/empty.pcap" >"$tmp/empty.json"
an --compare "$tmp/empty.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/text"
has "a capture without frames before" "$tmp/text" '^before  no frames$'
has "... the finding about it is gone" "$tmp/text" '^ +there are no frames in this capture$'
an --compare "$tmp/good.json" "$tmp/empty.pcap" >"$tmp/text"
has "a capture without frames now" "$tmp/text" '^now     no frames$'
is "... nothing happened 0 times" "$(grep -c ' 0 times' "$tmp/text")" 0

# Two counters of a port are two findings.
python3 "$srcdir/tests/world/verdicts" --seed 3 --count 1 --keep "$tmp/counters" >/dev/null 2>&1
an --json "$tmp/counters/3.pcapng" >"$tmp/counters.json"
an --json --compare "$tmp/good.json" "$tmp/counters/3.pcapng" >"$tmp/changes.json"
is "two counters of a port are two findings" "$(jq -c '[.findings[] | select(.rule == "counter" and .after) | [.title, .after.count]] | sort' "$tmp/changes.json")" \
	"$(jq -c '[.findings[] | select(.rule == "counter") | [.title, .count]] | sort' "$tmp/counters.json")"
is "... at one place" "$(jq -r '[.findings[] | select(.rule == "counter") | .where] | length > 1 and (unique | length == 1)' "$tmp/counters.json")" true

if has_jsonschema "JSON by docs/schema/analyze-compare.json"; then
	an --json --compare "$tmp/good.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/changes.json"
	python3 "$srcdir/tests/unit/schema.py" "$srcdir/docs/schema/analyze-compare.json" "$tmp/changes.json" >"$tmp/schema" 2>&1 &&
		jq -e '(.traffic | length) == 2 and (.findings | length) == 1' "$tmp/changes.json" >>"$tmp/schema"
	ok "JSON by docs/schema/analyze-compare.json" "$tmp/schema"
fi

# --- what is refused --------------------------------------------------------------------------

capture=$roce/10_rc_write_loss/a.pcap.zst
refused "absent" 2 "--compare: cannot read '.*none.json': No such file" --compare "$tmp/none.json" "$capture"
refused "a directory" 2 "--compare: cannot read '.*': Is a directory" --compare "$tmp" "$capture"
refused "a capture" 2 "is not JSON: line 1: .*; it must be what 'rdmadump analyze --json' printed" --compare "$capture" "$capture"
head -c 5000 "$tmp/loss.json" >"$tmp/cut.json"
refused "cut" 2 "is not JSON: line [0-9]+: .*; it must be" --compare "$tmp/cut.json" "$capture"
echo '{"version": 2, "version": 2}' >"$tmp/twice.json"
refused "a key twice" 2 'is not JSON: line 1: duplicate object key' --compare "$tmp/twice.json" "$capture"
echo '{"version": 1, "ports": []}' >"$tmp/foreign.json"
refused "another document" 2 "'.*foreign.json' is not a report of rdmadump analyze; it must be" --compare "$tmp/foreign.json" "$capture"
jq '.version = 1' "$tmp/loss.json" >"$tmp/old.json"
refused "another version" 2 'is a report of version 1, not 3; analyse that capture again' --compare "$tmp/old.json" "$capture"
an --json "$roce/10_rc_write_loss/"{a,b}.pcap.zst >"$tmp/ends.json"
refused "a report of two ends" 2 'is a report of two ends, or of several points; save an analysis of one capture' --compare "$tmp/ends.json" "$capture"
an --json "$roce/10_rc_write_loss/"{a,b}.pcap.zst "$roce/01_rc_send/a.pcap.zst" >"$tmp/points.json"
refused "a report of several points" 2 'is a report of two ends, or of several points' --compare "$tmp/points.json" "$capture"
refused "two ends now" 1 '--compare: .* are captures of two ends' --compare "$tmp/loss.json" "$roce/10_rc_write_loss/"{a,b}.pcap.zst
refused "the page to stdout, too" 1 'give the page a file name' --compare "$tmp/loss.json" --html - "$capture"
sum=$(cksum <"$tmp/loss.json")
refused "a page over the report" 1 'is a file that is read; it was not touched' --compare "$tmp/loss.json" --html "$tmp/loss.json" "$capture"
is "... which is as it was" "$(cksum <"$tmp/loss.json")" "$sum"
an --compare "$tmp/loss.json" --html "$tmp/page.html" "$capture" >"$tmp/text"
is "a page beside it: exit status" $? 0
grep -q 'nothing changed' "$tmp/text" && grep -q 'lost upstream' "$tmp/page.html"
ok "... the changes are printed, the page has the report"
an --compare "$tmp/loss.json" "$capture" >/dev/full
is "no room for the output: exit status" $? 3
tap_done
