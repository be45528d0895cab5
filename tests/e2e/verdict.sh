#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The verdict of analyze: its text beside captures whose logs say what happened, culprits of simulated traffic,
# hosts and bursts against a count by another program, groups of findings.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
roce=$TEST_DATA/roce

# --- text -------------------------------------------------------------------------------------

# They were compared with each capture's log; as_said, below, compares them with what they were.
sixteen=(01_rc_send 02_rc_write 03_rc_read 04_rc_atomic 06_ud_pingpong 07_rping 10_rc_write_loss 11_rc_read_loss
	12_reorder 14_corrupt 15_ipv6 17_rnr_nak 20_mixed 26_imm_inv 30_ingress_drop 32_no_rdma)
for name in "${sixteen[@]}"; do
	for end in a b; do
		echo "$name/$end"
		an "$roce/$name/$end.pcap.zst" | sed '/^$/Q'
	done
done >"$tmp/verdicts.txt" 2>&1
is "the verdicts on 16 captures, at both ends" "$(grep -c '^[0-9a-z_]*/[ab]$' "$tmp/verdicts.txt")" 32
is "no line is longer than a terminal of 80 columns" "$(awk 'length > 80' "$tmp/verdicts.txt" | wc -l)" 0

# --- culprits ---------------------------------------------------------------------------------

count=161
[ -n "${TEST_FULL-}" ] || count=13
python3 "$srcdir/tests/world/verdicts" --count "$count" --least 95 >"$tmp/log" 2>&1
ok "$count simulated captures: 95 % of the culprits are right where they can be known, none is wrong and certain" "$tmp/log"
tail -n 3 "$tmp/log" | sed 's/^/# /'
both=115
[ -n "${TEST_FULL-}" ] || both=4
python3 "$srcdir/tests/world/verdicts" --ends --count "$both" --least 95 >"$tmp/log" 2>&1
ok "$both pairs of captures: the same of the verdict on both ends" "$tmp/log"
tail -n 3 "$tmp/log" | sed 's/^/# /'
# A judge that cannot fail: another capture's report.
mkdir "$tmp/bin"
cat >"$tmp/bin/other" <<END
#!/bin/sh
exec "$RDMADUMP" analyze --json "$roce/17_rnr_nak/a.pcap.zst"
END
chmod +x "$tmp/bin/other"
! RDMADUMP=$tmp/bin/other python3 "$srcdir/tests/world/verdicts" --count 1 --least 95 >"$tmp/log" 2>&1
ok "the verdict on another capture is found to be wrong" "$tmp/log"

# --- hosts ------------------------------------------------------------------------------------

python3 "$srcdir/tests/world/verdicts" --seed 90 --count 1 --keep "$tmp/incast" >"$tmp/log" 2>&1
python3 "$srcdir/tests/e2e/verdict_hosts.py" "$RDMADUMP" "$tmp/incast/90.pcapng" >"$tmp/log" 2>&1
ok "hosts, pairs, senders and the peak of 100 us in a capture of incast" "$tmp/log"
an "$tmp/incast/90.pcapng" >"$tmp/text"
an --json "$tmp/incast/90.pcapng" >"$tmp/incast.json"
is "each finding is in one group" "$(json "$tmp/incast.json" '([.groups[].findings[]] | sort) == [range(.findings | length)]')" true
# shellcheck disable=SC2016 # variables of jq
is "... in which all have its rule" \
	"$(json "$tmp/incast.json" '. as $r | [.groups[] | . as $g | .findings[] | $r.findings[.].rule == $g.rule] | all')" true

an "$roce/10_rc_write_loss"/{a,b}.pcap.zst >"$tmp/text"
is "notes that only -v shows: each is counted" "$(sed -n 's/^   \(.*\): -v shows .*/\1/p' "$tmp/text")" \
	"$(an --json "$roce/10_rc_write_loss"/{a,b}.pcap.zst | jq -r '[.ends.findings[] | select(.severity == "note")] | "\(length) more notes"')"

# A timeout beside rounds after NAKs: the retransmitted packets are those of all.
# shellcheck disable=SC2016 # variables of jq
is "... packets that several rounds retransmitted are not those of one timeout" \
	"$(json "$tmp/incast.json" '[.findings[] | select(.rule == "timeout") | .detail | capture("; (?<n>[0-9]+ packets.*)").n]')" \
	"$(json "$tmp/incast.json" '[.findings as $all | $all[] | select(.rule == "timeout") | . as $t | $all[]
		| select(.rule == "lost-upstream" and .conversation == $t.conversation and .side == $t.side)
		| .detail | capture("(?<packets>[0-9]+ packets retransmitted) in (?<rounds>[0-9]+) rounds") | "\(.packets) in all \(.rounds) rounds"]')"

# Congestion of several senders to one receiver: none of them alone is named.
python3 "$srcdir/tests/world/run" --seed 10016 --count 1 --keep "$tmp/several" --quiet >"$tmp/log" 2>&1
is "congestion of several senders: the verdict names the receiver" "$(an --json "$tmp/several/10016.a.pcapng" | jq -r .verdict.what)" \
	"10.1.0.1 reports congestion on the path from several hosts, and asks them to slow down. Up to 3 hosts send to 10.1.0.1 within 100 us (incast)"

# The same of both ends, where one capture shows it.
python3 "$srcdir/tests/world/verdicts" --ends --seed 21 --count 1 --keep "$tmp/several" >"$tmp/log" 2>&1
is "loss of several senders, at both ends: none of them alone is named" \
	"$(an --json "$tmp/several/"21.{a,b}.pcapng | jq -r .ends.verdict.what)" \
	"Packets from several hosts -> 10.1.0.1 are lost upstream of the capture point of B. Up to 9 hosts send to 10.1.0.1 within 100 us (incast)"

# --- other places -----------------------------------------------------------------------------

# One host gives up, while all requesters together are mostly idle: that is no other culprit, nor at odds with it.
python3 "$srcdir/tests/world/verdicts" --seed 20 --count 1 --keep "$tmp/dies" >"$tmp/log" 2>&1
an --json "$tmp/dies/20.pcapng" | jq -r '.verdict | .what + ". " + .time' >"$tmp/text"
is "a fault: one culprit is named, and whose times they are" "$(<"$tmp/text")" \
	"10.1.0.2 stopped responding, and 10.1.0.1 gave up. All requesters together spent 79 % of their time idle, with no request open"
is "... idle requesters are no bottleneck" "$(an "$roce/04_rc_atomic/a.pcap.zst" | grep -c 'bottleneck is')" 0

# A port pauses a sender: that the sender needs long to send is no sign of its own NIC.
python3 "$srcdir/tests/world/run" --seed 10008 --count 1 --keep "$tmp/storm" --quiet >"$tmp/log" 2>&1
an --json "$tmp/storm/10008.a.pcapng" | jq -c '.verdict | [.rule, .places, .slow.spent, .slow.certainty, (.time | test("bottleneck"))]' >"$tmp/text"
is "a paused sender: its times do not show a bottleneck" "$(<"$tmp/text")" '["pause-frames",["receiver_nic"],"sending","possible",false]'

# --- time -------------------------------------------------------------------------------------

an --json "$roce/17_rnr_nak/a.pcap.zst" >"$tmp/rnr.json"
# shellcheck disable=SC2016 # variables of jq
is "the parts of the time are the time from the first request to the last frame" "$(json "$tmp/rnr.json" '
	[.conversations[] | select(.transport == "RC") | .sides.a | select(.times != null and .ending == "open")
	 | ([.times | to_entries[] | select(.key | endswith("_ns")) | .value] | add) as $sum
	 | ($sum > 0 and $sum <= .last_ns - .first_ns + 1000000000)] | all')" true

# A counter is a problem, and the verdict rests on a warning: problems come first, and the verdict's finding is shown.
python3 "$srcdir/tests/world/verdicts" --seed 41 --count 1 --keep "$tmp/order" >"$tmp/log" 2>&1
is "problems are before warnings" "$(an "$tmp/order/41.pcapng" | sed -nE 's/^( !|!!) .*: (.*)/\1 \2/p' | cut -c1-32 | paste -sd'|')" \
	"!! send_rnr_err grew by at least| ! the receiver was not ready (R"

# One of a thing is not several.
python3 "$srcdir/tests/e2e/analyze_many.py" make 64 10 "$tmp/ones.pcap"
is "one NAK, one packet" "$(an --json "$tmp/ones.pcap" | jq -r ".findings[].detail" | grep -oE '\b1 (RNR NAKs?|packets? retransmitted|requests?|responses?)\b' | sort -u | paste -sd,)" \
	"1 RNR NAK,1 packet retransmitted,1 response"

# --- times before 1970 ------------------------------------------------------------------------

# A clock that was never set, with if_tsoffset: where its times are negative, and become positive, the report is the same.
for end in a b; do
	zstd -q -d -f -o "$tmp/source.pcap" "$roce/10_rc_write_loss/$end.pcap.zst"
	for begin in -2 -1 1700000000; do
		mkdir -p "$tmp/at$begin"
		python3 "$srcdir/tests/e2e/captures.py" offset "$tmp/source.pcap" "$tmp/at$begin/$end.pcapng" $begin
	done
done
for what in "a.pcapng" "a.pcapng b.pcapng" "--ends=never a.pcapng b.pcapng" "--time=0.2-1.4 b.pcapng"; do
	for begin in 1700000000 -2 -1; do
		# shellcheck disable=SC2086 # several words
		(cd "$tmp/at$begin" && an --json $what | jq -S 'walk(if type == "object" and has("version") then del(.start_ns) else . end)') >"$tmp/report$begin"
		[ "$begin" -gt 0 ] && continue
		[ "$(wc -l <"$tmp/report$begin")" -gt 100 ] && diff "$tmp/report1700000000" "$tmp/report$begin" >"$tmp/log"
		ok "times from $begin s on: the report of $what is the same" "$tmp/log"
	done
done
is "... and begins before 1970" "$(an --json "$tmp/at-1/a.pcapng" | jq -r '.start_ns < 0') $(an --json "$tmp/at-1/"{a,b}.pcapng | jq -r ".captures[0].start_ns < 0")" \
	"true true"
as_said verdict
tap_done
