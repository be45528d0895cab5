#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump compare: a capture with itself, two runs of a program, made reports, what is refused.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq zstd
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
roce=$TEST_DATA/roce
an() { said analyze "$@" 2>"$tmp/err"; }
compared() { said compare "$@" 2>"$tmp/err"; }

# --- the same capture -------------------------------------------------------------------------

captures=("$roce"/*_*/a.pcap.zst)
[ -n "${TEST_FULL-}" ] || captures=("$roce"/{10,17,50,56}_*/a.pcap.zst)
for f in "${captures[@]}"; do
	an --json "$f" >"$tmp/own.json"
	compared --json "$tmp/own.json" "$f" >"$tmp/changes.json"
	jq -c '[.before == .after, ([.findings[], .traffic[]] | all(.status == "same")), (.findings | all(.before == .after)),
		([.traffic[].values[]] | all(.before == .after and .change == null)), (.traffic | all(.qps_before == .qps_after))]
		| if all then empty else . end' "$tmp/changes.json" >>"$tmp/differ" || echo "$f" >>"$tmp/differ"
done
empty "${#captures[@]} captures: none differs from itself, in any value" "$tmp/differ"
an --json "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/loss.json"
compared "$tmp/loss.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/text"

# --- two runs ---------------------------------------------------------------------------------

an --json "$roce/02_rc_write/a.pcap.zst" >"$tmp/good.json"
compared "$tmp/good.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/text"
exits "a comparison" 0 "$tmp/text" '^findings: 1 new, 0 gone, 0 changed, 0 as before$'
is "80 columns" "$(tail -n +2 "$tmp/text" | wc -L | awk '{print $1 <= 80}')" 1
an "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/verdict"
has "lost packets are the share that the verdict names" "$tmp/verdict" 'Packets lost: 10 of 480 \(2\.1 %\)'
compared "$tmp/loss.json" "$roce/02_rc_write/a.pcap.zst" >"$tmp/text"
an --json --top 1 "$roce/02_rc_write/a.pcap.zst" >"$tmp/top.json"
compared "$tmp/top.json" "$roce/02_rc_write/a.pcap.zst" >"$tmp/text"
python3 "$srcdir/tests/e2e/hosts.py" "$tmp/many" hosts=8 messages=1
has "of many rows the first ones" <(compared "$tmp/good.json" "$tmp/many/host1.pcapng") '^        4 more: -v shows them$'
an --json "$roce/56_nvme/a.pcap.zst" >"$tmp/nvme.json"
is "connections have their service" "$(jq -r '[.conversations[].connection.service_id? // empty] | unique[]' "$tmp/nvme.json")" 0x0000000001061144

# A capture without frames has no date.
zstd -q -d -c "$roce/02_rc_write/a.pcap.zst" | head -c 24 >"$tmp/empty.pcap"
an --json "$tmp/empty.pcap" >"$tmp/empty.json"
compared "$tmp/empty.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/text"
compared "$tmp/good.json" "$tmp/empty.pcap" >"$tmp/text"
is "... nothing happened 0 times" "$(grep -c ' 0 times' "$tmp/text")" 0

# Two counters of a port are two findings.
python3 "$srcdir/tests/world/verdicts" --seed 3 --count 1 --keep "$tmp/counters" >/dev/null 2>&1
an --json "$tmp/counters/3.pcapng" >"$tmp/counters.json"
compared --json "$tmp/good.json" "$tmp/counters/3.pcapng" >"$tmp/changes.json"
is "two counters of a port are two findings" "$(jq -c '[.findings[] | select(.rule == "counter" and .after) | [.title, .after.count]] | sort' "$tmp/changes.json")" \
	"$(jq -c '[.findings[] | select(.rule == "counter") | [.title, .count]] | sort' "$tmp/counters.json")"
is "... at one place" "$(jq -r '[.findings[] | select(.rule == "counter") | .where] | length > 1 and (unique | length == 1)' "$tmp/counters.json")" true

compared --json "$tmp/good.json" "$roce/10_rc_write_loss/a.pcap.zst" >"$tmp/changes.json"
fits "JSON by docs/schema/compare.json" compare "$tmp/changes.json"
is "... which has both" "$(jq -c '[.traffic, .findings | length]' "$tmp/changes.json")" "[2,1]"

# --- made reports -----------------------------------------------------------------------------

cat >"$tmp/made.jq" <<'END'
# Requests of a second in one direction, of 10.0.0.1 QP $from to 10.0.0.2 QP $to
def talk($from; $to; $verb; $service; $goodput): {transport: "RC", connection: (if $service then {service_id: $service} else null end),
	a: {address: "10.0.0.1", qp: $from}, b: {address: "10.0.0.2", qp: $to}, sides: {a: {frames: 1000, requests: 1000, goodput_bytes: $goodput,
		first_ns: 500, last_ns: 1000000500, verbs: {($verb): {packets: 1000, bytes: 100}}, events: {}, latency: {}}, b: {requests: 0}}};
def talk: talk(1; 2; "SEND"; null; 1000);
def again($n): .sides.a.events.retransmitted.count = $n;
def acks($n; $p50; $p99): .sides.a.latency.ack = {n: $n, p50_ns: $p50, p99_ns: $p99};
def report(talks): [talks] | {version: 3, program: "made", start_ns: 1767225600000000000, duration_s: 0.001, capture: {}, totals: {frames: 1000}, findings: [],
	conversations: to_entries | map(.value + {id: (.key + 1)})} | .conversations_in_all = (.conversations | length);
def found($rule; $talk; $n): .findings += [{rule: $rule, title: "it happened", severity: "problem", certainty: "likely", where: "capture", conversation: $talk, side: "a", count: $n}];
def group($rule; $findings; $n): .groups += [{rule: $rule, findings_in_all: $findings, count: $n}];
END
# made BEFORE NOW FILTER: what it says of the comparison, on one line
made() {
	jq -n -L "$tmp" "include \"made\"; $1" >"$tmp/x.json" && jq -n -L "$tmp" "include \"made\"; $2" >"$tmp/y.json"
	compared -j "$tmp/x.json" "$tmp/y.json" | jq -r "$3" | paste -sd, || cat "$tmp/err"
}
traffic='.traffic[] | "\(.status) \(.from_qp) \(.verb) \(.service_id) \(.qps_before) \(.qps_after) \(.values.goodput_bps.change)"'
is "the same QPs are compared alone, in any order" "$(made 'report(talk, talk(3; 4; "SEND"; null; 2000))' 'report(talk(3; 4; "SEND"; null; 1000), talk)' "$traffic")" \
	"changed 3 SEND null 1 1 worse,same 1 SEND null 1 1 null"
is "other QPs: those of a service and verb as one" "$(made 'report(talk(1; 2; "SEND"; "0x1"; 1000), talk(3; 4; "SEND"; "0x1"; 1000), talk(5; 6; "SEND"; "0x2"; 500), talk(7; 8; "WRITE"; "0x1"; 100))' \
	'report(talk(11; 2; "SEND"; "0x1"; 1000), talk(15; 6; "SEND"; "0x2"; 500), talk(17; 8; "READ"; "0x1"; 100))' "$traffic")" \
	"changed null SEND 0x1 2 1 worse,new null READ 0x1 0 1 null,gone null WRITE 0x1 1 0 null,same null SEND 0x2 1 1 null"
is "without a service by verb, but not in the other direction" "$(made 'report(talk)' 'report(talk(5; 6; "SEND"; "0x1"; 1000), (talk(9; 1; "SEND"; null; 1000) | .a.address = "10.0.0.2" | .b.address = "10.0.0.1"))' \
	'.traffic[] | "\(.status) \(.from)"')" "new 10.0.0.2,same 10.0.0.1"
is "a report with a part of the traffic: what it lacks is not new, a sum has no rate" "$(made 'report(talk(1; 2; "SEND"; "0x1"; 1000), talk(3; 4; "SEND"; "0x2"; 1000), talk(5; 6; "WRITE"; "0x3"; 1000)) | .conversations_in_all = 5' \
	'report(talk(1; 2; "SEND"; "0x1"; 2000), talk(13; 14; "SEND"; "0x2"; 1000), talk(15; 16; "SEND"; "0x2"; 1000), talk(17; 18; "READ"; "0x4"; 1000))' "$traffic")" \
	"changed 1 SEND 0x1 1 1 better,gone null WRITE 0x3 1 0 null,same null SEND 0x2 1 2 null,unknown null READ 0x4 0 1 null"
is "several: rates add up, medians are weighted, the slowest p99" "$(made 'report(talk | acks(100; 10; 50))' 'report(talk(5; 2; "SEND"; null; 1000) | acks(100; 10; 50), (talk(6; 2; "SEND"; null; 1000) | acks(300; 30; 40)))' \
	'.traffic[].values | .goodput_bps.after, .ack_p50_ns.after, .ack_p99_ns.after')" "16000,25,50"
before='' now='' ask='' want='' texts=() qp=0
while IFS='|' read -r x y metric change text; do
	before+=", (talk($((++qp)); 2; \"SEND\"; null; 1000) | $x)" now+=", (talk($qp; 2; \"SEND\"; null; 1000) | $y)"
	ask+=", (.[\"$qp\"] | \"$qp \(.status) $metric \(.values.$metric.change)\")"
	want+=",$qp $([ "$change" = null ] && echo same || echo changed) $metric $change"
	[ -z "$text" ] || texts+=("$text")
done <<'END'
.|.sides.a.goodput_bytes = 1090|goodput_bps|null
.|.sides.a.goodput_bytes = 1130|goodput_bps|better| 8\.0 kb/s -> 9\.0 kb/s +better \(\+13 %\)$
.|.sides.a.goodput_bytes = 880|goodput_bps|worse
again(0)|again(1)|retransmitted_percent|worse
again(2)|again(0)|retransmitted_percent|better
again(3)|again(9)|retransmitted_percent|null
again(30)|again(44)|retransmitted_percent|null
again(30)|again(46)|retransmitted_percent|worse| 3 % -> 4\.6 % +worse$
acks(10; 100; 0)|acks(10; 130; 0)|ack_p50_ns|worse
acks(10; 130; 0)|acks(10; 100; 0)|ack_p50_ns|better
acks(10; 100; 0)|acks(10; 124; 0)|ack_p50_ns|null
acks(9; 100; 0)|acks(99; 900; 0)|ack_p50_ns|null
acks(0; 0; 0)|acks(99; 900; 0)|ack_p50_ns|null
acks(100; 0; 9)|acks(100; 0; 1)|ack_p99_ns|better
acks(100; 0; 9)|acks(99; 0; 1)|ack_p99_ns|null
acks(10; 999600; 0)|acks(10; 1500000000; 0)|ack_p50_ns|worse| 1 ms -> 1\.5 s +worse \(1501 times\)$
acks(10; 1000; 0)|acks(10; 500; 0)|ack_p50_ns|better| 1 us -> 500 ns +better \(-50 %\)$
acks(10; 1000; 0)|acks(10; 2900; 0)|ack_p50_ns|worse|worse \(\+190 %\)$
acks(10; 1000; 0)|acks(10; 3500; 0)|ack_p50_ns|worse|worse \(3\.5 times\)$
acks(10; 1000; 0)|acks(10; 22850; 0)|ack_p50_ns|worse|worse \(23 times\)$
acks(10; 0; 0)|acks(10; 22850; 0)|ack_p50_ns|worse|worse$
END
is "thresholds: the status of each, and the change" "$(made "report(${before:2})" "report(${now:2})" "([.traffic[] | {key: \"\(.from_qp)\", value: .}] | from_entries) | ${ask:2}")" "${want:1}"
compared -v "$tmp/x.json" "$tmp/y.json" >"$tmp/text"
for text in "${texts[@]}"; do has "as text:$text" "$tmp/text" "$text"; done
is "findings: by address, since QPs change" "$(made 'report(talk, talk(3; 4; "SEND"; null; 1000)) | found("a-same"; null; 5) | found("b-more"; 1; 15) | found("b-more"; 2; 5) | found("c-nearly"; 2; 20) | found("e-gone"; 1; 5)' \
	'report(talk(7; 9; "SEND"; null; 1000)) | found("a-same"; null; 5) | found("b-more"; 1; 31) | found("c-nearly"; 1; 29) | found("d-new"; 1; 3)' \
	'.findings[] | "\(.rule) \(.status) \(.before.count) \(.after.count) \(.from)"')" \
	"d-new new null 3 10.0.0.1,e-gone gone 5 null 10.0.0.1,b-more changed 20 31 10.0.0.1,a-same same 5 5 null,c-nearly same 20 29 10.0.0.1"
# Only counted, or of conversations that the report lacks: neither new nor gone
# shellcheck disable=SC2016 # a variable of jq
is "findings that a report has only a part of: by rule" "$(made 'report(talk) | found("a-fewer"; 1; 5) | group("a-fewer"; 100; 500) | found("b-all-gone"; 1; 2) | group("b-all-gone"; 70; 90) |
		found("c-as-many"; null; 8) | reduce range(8) as $i (.; found("c-as-many"; if $i % 2 == 0 then 1 else null end; 4)) | found("d-not-listed"; 7; 5) | group("d-not-listed"; 1; 5)' \
	'report(talk, (talk(5; 6; "SEND"; null; 1000) | .a.address = "10.0.0.3")) | found("a-fewer"; 1; 5) | found("a-fewer"; 2; 3) | group("a-fewer"; 2; 8) |
		found("c-as-many"; 2; 4) | group("c-as-many"; 8; 41) | found("d-not-listed"; 1; 5) | found("e-new"; 2; 3)' \
	'(.findings[] | "\(.rule) \(.status) \(.by_rule) \(.before.findings) \(.after.findings) \(.before.count) \(.after.count) \(.from)"), .before.findings_left_out, .after.findings_left_out')" \
	"e-new new false null 1 null 3 10.0.0.3,b-all-gone gone true 70 null 90 null null,a-fewer changed true 100 2 500 8 null,c-as-many same true 9 8 40 41 null,d-not-listed same true 1 1 5 5 null,169,7"
made 'report(talk) | found("\u001b[2J\u202e\n"; null; 1) | .findings[0].title = "\u001b[2J\u202e" | .findings[0].where = "\u0007"' 'report(talk | .a.address = "\u001b")' empty
# jq 1.6 ends by a signal if it is asked for the date of such a number.
jq '.start_ns = 1e300' "$tmp/x.json" >"$tmp/late.json"
has "a time that is none" <(compared "$tmp/late.json" "$tmp/y.json") "^before  at no time, 1 ms, 1 000 frames$"
is "nothing that a terminal obeys" "$(compared "$tmp/x.json" "$tmp/y.json" | tr -d '[:print:]\n' | wc -c)" 0
# Any value may be of any type: the report is compared or refused, and jq says nothing of its own.
jq -c '[paths] as $all | . as $r | $all[] as $p | (null, -1, 1e300, "x", [], {}) as $v | $r | setpath($p; $v)' "$tmp/x.json" >"$tmp/hostile"
awk -v n="$([ -n "${TEST_FULL-}" ] && echo 1 || echo 40)" 'NR % n == 0' "$tmp/hostile" | while IFS= read -r line; do
	printf '%s\n' "$line" >"$tmp/h.json"
	compared "$tmp/h.json" "$tmp/y.json" >"$tmp/out"
	case "$? $(<"$tmp/err")" in "0 " | "2 rdmadump: "*) ;; *) echo "$line" && cat "$tmp/err" ;; esac
done >"$tmp/differ"
empty "values of other types: compared, or refused" "$tmp/differ"

# --- what is refused --------------------------------------------------------------------------

# refused NAME STATUS MESSAGE ARGUMENT...
refused() {
	compared "${@:4}" >"$tmp/text"
	exits "$1" "$2" "$tmp/err" "^rdmadump: $3"
}
refused "absent" 2 "cannot read .*none.json: .*: No such file or directory; make it by rdmadump analyze --json" "$tmp/none.json" "$tmp/loss.json"
mkdir "$tmp/dir.json"
refused "a directory" 2 "cannot read .*dir.json: .*; make it by" "$tmp/dir.json" "$tmp/loss.json"
head -c 5000 "$tmp/loss.json" >"$tmp/cut.json"
refused "cut" 2 "cannot read .*cut.json: Unfinished " "$tmp/loss.json" "$tmp/cut.json"
: >"$tmp/empty.json"
refused "nothing in it" 2 "'.*empty.json' is no report; make one" "$tmp/empty.json" "$tmp/loss.json"
echo '{"version": 1, "ports": []}' >"$tmp/foreign.json"
refused "another document" 2 "'[^']*foreign.json' is no report; make one by rdmadump analyze --json" "$tmp/loss.json" "$tmp/foreign.json"
jq '.version = 1' "$tmp/loss.json" >"$tmp/old.json"
refused "another version" 2 "'[^']*' is a report of version 1, not 3; analyse that capture again" "$tmp/old.json" "$tmp/loss.json"
an --json "$roce/10_rc_write_loss/"{a,b}.pcap.zst >"$tmp/ends.json"
refused "a report of two ends" 2 "'[^']*' is a report of two ends, or of several points; save an analysis of one capture" "$tmp/ends.json" "$tmp/loss.json"
refused "a capture that is not there" 2 "cannot open '.*none.pcap': No such file" "$tmp/none.pcap" "$tmp/loss.json"
refused "one argument" 1 "two captures or reports are compared" "$tmp/loss.json"
refused "an option that is not there" 1 "see 'rdmadump compare --help'" --what "$tmp/loss.json" "$tmp/loss.json"
zstd -dqc "$roce/02_rc_write/a.pcap.zst" | head -c 20000 >"$tmp/cut.pcap"
compared "$tmp/loss.json" "$tmp/cut.pcap" >"$tmp/text"
is "a capture that is cut: the status of its analysis, and what changed" "$? $(grep -c '^findings: ' "$tmp/text")" "4 1"
"$RDMADUMP" compare "$tmp/loss.json" "$tmp/loss.json" 2>"$tmp/err" >/dev/full
is "no room for the output: exit status" $? 3
as_said compare
tap_done
