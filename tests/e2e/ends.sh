#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two captures of the same traffic: what was lost, duplicated and reordered between them, against a
# count by another program, and files that are not two ends.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq zstd python3 editcap mergecap

for name in 57_router_loss 58_router_reorder 59_router_duplicate; do
	data=$TEST_DATA/roce/$name
	an --json "$data"/[ab].pcap.zst >"$tmp/$name.json" 2>"$tmp/log"
	ok "$name: two ends" "$tmp/log"
	jq -r '.ends.paths | map([.from, .to, .sender] + [.qps | (map(.sent)|add), (map(.lost.count)|add),
		(map(.duplicated.count)|add), (map(.missed.count)|add)]) | sort | .[] | join(" ")' "$tmp/$name.json" >"$tmp/got"
	python3 "$srcdir/tests/e2e/ends.py" count "$data" >"$tmp/want"
	is "... as counted by hand" "$(<"$tmp/got")" "$(<"$tmp/want")"
	is "... nothing left aside" "$(jq -c '.ends | [.outside, .evicted, .left_out]' "$tmp/$name.json")" "[0,0,0]"
done
rules() { jq -c '[.ends.findings[].rule] | unique' "$1"; }
is "loss is found" "$(rules "$tmp/57_router_loss.json" | grep -c '"lost-between"')" 1
is "... by frame" "$(jq '[.ends.findings[] | select(.rule == "lost-between") | .frames | length] | min' "$tmp/57_router_loss.json")" 2
is "reordering is found" "$(rules "$tmp/58_router_reorder.json" | grep -c '"reordered-between"')" 1
is "... where nothing was lost" "$(rules "$tmp/58_router_reorder.json" | grep -c '"lost-between"')" 0
is "duplication is found" "$(rules "$tmp/59_router_duplicate.json" | grep -c '"duplicated-between"')" 1

# Drops downstream of the receiver's tap: on the path nothing was lost
data=$TEST_DATA/roce/30_ingress_drop
an --json "$data"/[ab].pcap.zst >"$tmp/ingress.json" 2>"$tmp/log"
is "lost downstream of the receiver's port" "$(rules "$tmp/ingress.json" | grep -c '"lost-downstream-of-receiver"') $(
	rules "$tmp/ingress.json" | grep -c '"lost-between"')" "1 0"

# Between the two hosts of all other pairs is a switch that lost, duplicated and reordered nothing
for data in "$TEST_DATA"/roce/*/; do
	name=${data%/} name=${name##*/}
	case $name in 32_no_rdma | 5[789]_router_*) continue ;; esac
	an --ends always --json "$data"/[ab].pcap.zst >"$tmp/pair.json" 2>"$tmp/log"
	is "$name: nothing between" "$(jq -c '.ends | [.paths[].qps[] | .lost.count, .unclear.count, .missed_at_receiver.count,
		.missed.count, .duplicated.count, .reordered] | add' "$tmp/pair.json")" 0
	an --ends always "$data"/[ab].pcap.zst >"$tmp/text" 2>"$tmp/log"
	has "... and the text says so" "$tmp/text" "^nothing was lost, duplicated or reordered between the ends[:,]"
done
an "$TEST_DATA"/roce/57*/[ab].pcap.zst >"$tmp/text" 2>"$tmp/log"
is "... unless something was" "$(grep -c '^nothing was lost' "$tmp/text")" 0

# Neither capture had them: the sender lost them, and there is no advice to capture there
an -v "$TEST_DATA"/roce/10*/[ab].pcap.zst >"$tmp/text" 2>"$tmp/log"
is "... no advice to capture there" "$(grep -c "next: capture at the sender too" "$tmp/text")" 0

# The offset of a clock that is 2.5 s ahead is found, within the reported error
zstd -dcq "$TEST_DATA/roce/57_router_loss/b.pcap.zst" >"$tmp/b.pcap"
editcap -F nsecpcap -t 2.5 "$tmp/b.pcap" "$tmp/shifted.pcap"
an --json "$TEST_DATA/roce/57_router_loss/a.pcap.zst" "$tmp/shifted.pcap" >"$tmp/shifted.json" 2>"$tmp/log"
is "B's clock 2.5 s further ahead" "$(jq -s '.[1].ends.clock.offset_ns - .[0].ends.clock.offset_ns' \
	"$tmp/57_router_loss.json" "$tmp/shifted.json")" 2500000000
is "... and all else the same" "$(jq -c '.ends | del(.clock)' "$tmp/shifted.json")" "$(jq -c '.ends | del(.clock)' "$tmp/57_router_loss.json")"

# A and B exchanged: the same paths
an --json "$TEST_DATA/roce/57_router_loss"/{b,a}.pcap.zst >"$tmp/turned.json" 2>"$tmp/log"
paths='.ends.paths | map({from, to, qps: [.qps[] | [.qp, .sent, .arrived, .lost.count]]}) | sort'
is "exchanged" "$(jq -c "$paths" "$tmp/turned.json")" "$(jq -c "$paths" "$tmp/57_router_loss.json")"

# Files that are not two ends
kind='[(.capture.files | length), has("ends")]'
is "parts of one capture" "$(an --json "$TEST_DATA"/roce/0[12]*/a.pcap.zst 2>"$tmp/log" | jq -c "$kind")" "[2,false]"
is "--ends never" "$(an --ends never --json "$TEST_DATA"/roce/57*/[ab].pcap.zst 2>"$tmp/log" | jq -c "$kind")" "[2,false]"
refused "--ends always, nothing in common" 2 "have no packets in common; " --ends always "$TEST_DATA"/roce/0[12]*/a.pcap.zst

# Clocks an hour apart, headers only: the same IP identifications show two ends; without these it is said that they may be
declare -A cut=([57_router_loss]=58 [15_ipv6]=78) ahead=([a]=0 [b]=3600)
for name in "${!cut[@]}"; do
	for end in a b; do
		zstd -dcq "$TEST_DATA/roce/$name/$end.pcap.zst" | editcap -F nsecpcap -s "${cut[$name]}" -t "${ahead[$end]}" - "$tmp/far.$name.$end.pcap"
	done
	an --json "$tmp/far.$name".[ab].pcap 2>"$tmp/log" | jq -c '[has("ends"), ([.findings[]? | select(.severity == "problem" and .certainty != "possible")] | length),
		([.findings[]? | select(.rule == "may-be-ends")] | length)]' >"$tmp/far.$name"
done
is "clocks an hour apart" "$(<"$tmp/far.57_router_loss") $(<"$tmp/far.15_ipv6")" "[true,0,0] [false,0,1]"
an --json "$tmp"/far.57*.pcap "$tmp"/far.15*.a.pcap 2>"$tmp/log" | jq '.pairs | length' >"$tmp/far"
is "... beside a third capture" "$(<"$tmp/far")" 1

# Captures at three points, not copies of a mirror port; at the third one, headers only and another clock
editcap -F nsecpcap -t 3600 -s 96 "$tmp/b.pcap" "$tmp/third.pcap"
cp "$TEST_DATA/roce/57_router_loss/a.pcap.zst" "$tmp"
points=("$tmp/a.pcap.zst" "$tmp/b.pcap" "$tmp/third.pcap")
an "${points[@]}" >"$tmp/text" 2>"$tmp/log"
has "three points" "$tmp/text" "^These look like captures at several points: 3 pairs"
is "... each pair is judged, each of its captures printed once" \
	"$(grep -c "^two ends of the same traffic" "$tmp/text") $(grep -c "^==== A: .*, B: " "$tmp/text") $(grep -c "^== .* alone$" "$tmp/text")" "3 3 3"
is "... and no mirror port" "$(grep -c "mirror port" "$tmp/text")" 0
an --json "${points[@]}" >"$tmp/points.json" 2>"$tmp/log"
# shellcheck disable=SC2016 # variables of jq
pairs='. as $d | [.pairs[] | [.captures[] as $c | $d.captures[$c].capture.files[].name | sub(".*/"; "")]]'
# shellcheck disable=SC2016
alone='. as $d | [.verdicts[] | select(.capture != null).capture as $c | $d.captures[$c].capture.files[].name | sub(".*/"; "")] | sort'
is "three points as JSON: one document with each pair" "$(jq -c "$pairs" "$tmp/points.json")" \
	'[["a.pcap.zst","b.pcap"],["a.pcap.zst","third.pcap"],["b.pcap","third.pcap"]]'
is "... each capture once, and the worst verdict first" \
	"$(jq -c '[(.captures | length), [.verdicts[] | [.pair, .capture, .verdict.rule]], .verdict.rule, .pairs[0].start_ns == .captures[0].start_ns]' "$tmp/points.json")" \
	'[3,[[0,null,"lost-between"],[1,null,"lost-between"],[2,null,"reordered-downstream"]],"lost-between",true]'
an --json "${points[@]:0:2}" >"$tmp/two.json" 2>"$tmp/log"
is "... the same of a pair as of the two files" \
	"$(jq -c '.pairs[0].ends.paths | map({from, to, qps: [.qps[] | [.qp, .sent, .arrived, .lost.count]]}) | sort' "$tmp/points.json")" \
	"$(jq -c '.ends.paths | map({from, to, qps: [.qps[] | [.qp, .sent, .arrived, .lost.count]]}) | sort' "$tmp/two.json")"
for order in "0 2 1" "1 0 2" "2 1 0"; do
	# shellcheck disable=SC2086 # three numbers
	set -- $order
	cmp <(an --json "${points[$1]}" "${points[$2]}" "${points[$3]}" 2>"$tmp/log") "$tmp/points.json" &&
		cmp <(an "${points[$1]}" "${points[$2]}" "${points[$3]}" 2>"$tmp/log") "$tmp/text"
	ok "... and the same in the order $order"
done
an --json="$tmp/beside.json" "${points[@]}" 2>"$tmp/log" | cmp - "$tmp/text" && cmp "$tmp/beside.json" "$tmp/points.json"
ok "... in a file, beside the text"
# The same in a directory, with a capture of other traffic and with what is none
mkdir "$tmp/site" "$tmp/none"
cp "$tmp/third.pcap" "$tmp/site/1.pcap"
cp "$tmp/b.pcap" "$tmp/site/2.pcap"
cp "$TEST_DATA/roce/57_router_loss/a.pcap.zst" "$tmp/site/10.pcap.zst"
cp "$TEST_DATA/roce/02_rc_write/a.pcap.zst" "$tmp/site/other.pcap.zst"
cp "$TEST_DATA/roce/01_rc_send/a.pcap.zst" "$tmp/site/possibly.pcap.zst"
echo "no capture" | tee "$tmp/site/notes" >"$tmp/none/notes"
an --json "$tmp/site/" >"$tmp/site.json" 2>"$tmp/log"
is "a directory: each pair, and the files that are in none, in the order of their names" "$(jq -c "$pairs, $alone" "$tmp/site.json" | paste -sd' ')" \
	'[["1.pcap","2.pcap"],["1.pcap","10.pcap.zst"],["2.pcap","10.pcap.zst"]] ["other.pcap.zst","possibly.pcap.zst"]'
has "... what is no capture" "$tmp/log" "skipped 1 of 6 files, which are no captures"
an "$tmp/site" >"$tmp/text" 2>"$tmp/log"
is "... text: the worst first" "$(grep "^==== " "$tmp/text" | sed "s|$tmp/site/||g" | paste -sd' ')" \
	"==== A: 1.pcap, B: 10.pcap.zst ==== A: 2.pcap, B: 10.pcap.zst ==== A: 1.pcap, B: 2.pcap ==== possibly.pcap.zst"
is "... there" "$(an -v "$tmp/site" 2>"$tmp/log" | grep -c "^==== .*other.pcap.zst")" 1
is "... after an overview" "$(sed '/^====/,$d' "$tmp/text" | grep -A2 "^LOSS" | grep -cE "^ {10}$tmp/site/(1|2).pcap and $tmp/site/10.pcap.zst$") $(grep -c '^OK        1 of 5' "$tmp/text")" "2 1"
# Series of files: of dumpcap's and of tcpdump's names, in any order; the clock of one host is an hour ahead
mkdir "$tmp/series"
zstd -dcq "$TEST_DATA/roce/57_router_loss/a.pcap.zst" >"$tmp/a.pcap"
editcap -F nsecpcap -c 150 "$tmp/a.pcap" "$tmp/series/a.pcap"
editcap -F nsecpcap -t 3600 "$tmp/b.pcap" "$tmp/later.pcap"
editcap -F nsecpcap -r "$tmp/later.pcap" "$tmp/series/b.pcap" 1-300 2>"$tmp/log"
editcap -F nsecpcap -r "$tmp/later.pcap" "$tmp/series/b.pcap9" 301-500 2>"$tmp/log"
editcap -F nsecpcap -r "$tmp/later.pcap" "$tmp/series/b.pcap10" 501-2000 2>"$tmp/log"
an --json "$tmp/a.pcap" "$tmp/later.pcap" >"$tmp/whole.json" 2>"$tmp/log"
an --json --html "$tmp/page.html" "$tmp/series" >"$tmp/series.json" 2>"$tmp/log"
judged='[.ends.packets, .ends.verdict.rule, .ends.verdict.places, [.ends.paths[].qps[] | .sent, .arrived, .lost.count], .captures[].totals.frames]'
is "two series: the two ends of one path" "$(jq -c "$judged" "$tmp/series.json")" "$(jq -c "$judged" "$tmp/whole.json")"
is "... all files of each, in the order of time" \
	"$(jq -c '[.captures[].capture.files[].name | sub(".*/"; "") | sub("_2026[0-9]*"; "")]' "$tmp/series.json")" \
	'["a_00000.pcap","a_00001.pcap","a_00002.pcap","a_00003.pcap","a_00004.pcap","a_00005.pcap","b.pcap","b.pcap9","b.pcap10"]'
ok "... as a page" [ -s "$tmp/page.html" ]
head -c 20000 "$tmp/series/b.pcap9" >"$tmp/cut" && cp "$tmp/cut" "$tmp/series/b.pcap9"
an --json "$tmp/series" >"$tmp/series.json" 2>"$tmp/log"
is "... one of them damaged: the rest is judged" "$? $(jq -c '.captures[1].capture.files | map(.frames > 0)' "$tmp/series.json")" "4 [true,true,true]"
# The same name, as another host has it at the same time: two points
mkdir "$tmp/same"
cp "$tmp/a.pcap" "$tmp/same/cap_00001_20261121045240.pcap"
cp "$tmp/b.pcap" "$tmp/same/cap_00001_20261121045241.pcap"
cp "$tmp/later.pcap" "$tmp/same/cap_00002_20261121055241.pcap"
is "same names at the same time, or with the same packets: no series" \
	"$(an --json "$tmp/same" 2>"$tmp/log" | jq -c "$pairs" | sed -E 's/cap_([0-9]+)_[0-9]*(.).pcap/\1-\2/g')" \
	'[["00001-0","00001-1"],["00001-0","00002-1"],["00001-1","00002-1"]]'
refused "a directory without captures" 2 "'$tmp/none' has no capture file among its 1 files; name the files to see why" "$tmp/none"
refused "an empty directory" 2 "the directory '$tmp/.*' is empty; name one that has captures" "$(mktemp -d -p "$tmp")"
editcap -F nsecpcap -c 1 "$tmp/b.pcap" "$tmp/none/part.pcap"
is "a directory of parts is one capture" "$(an --json "$tmp/none" 2>"$tmp/log" | jq -c '[.totals.frames, has("ends")]')" "[796,false]"
has "... more files than are searched for common packets" "$tmp/log" "only the first 512 of 796 files were searched for packets in common"
cp "$tmp/a.pcap" "$tmp/b.pcap" "$tmp/none"
is "... where others are two ends, each of these files is judged, too" \
	"$(an --json "$tmp/none" 2>"$tmp/log" | jq -r '.captures[].capture.files[].name' | sort -u | wc -l)" 798
if [ -z "${SOFTHCA_PRELOAD_FIRST-}" ]; then # a sanitizer needs more than all of it
	(ulimit -v 50000 && "$RDMADUMP" analyze "$tmp/none") >"$tmp/out" 2>"$tmp/log"
	exits "too little memory to compare them" 2 "$tmp/log" "memory to compare 512 files: Cannot allocate memory; free memory, raise its limit"
fi
# Few digits name a host: captures of two at different times are two
mkdir "$tmp/hosts"
cp "$TEST_DATA/roce/01_rc_send/a.pcap.zst" "$tmp/hosts/node1.pcap.zst"
cp "$TEST_DATA/roce/02_rc_write/a.pcap.zst" "$tmp/hosts/node2.pcap.zst"
cp "$tmp/a.pcap" "$tmp/b.pcap" "$tmp/hosts"
is "hosts with numbers are no series" \
	"$(an --json "$tmp/hosts" 2>"$tmp/log" | jq -c "$pairs, $alone" | paste -sd' ')" \
	'[["a.pcap","b.pcap"]] ["node1.pcap.zst","node2.pcap.zst"]'
refused "three points as an annotated copy" 1 "these look like captures at several points; give two of them" --annotate "$tmp/copy.pcapng" "${points[@]}"
is "... read as one" "$(an --ends never --json "${points[@]}" 2>"$tmp/log" | jq -c "$kind")" "[3,false]"
is "three parts" "$(an --json "$TEST_DATA"/roce/0[123]*/a.pcap.zst 2>"$tmp/log" | jq -c "$kind")" "[3,false]"
# Only ACKs have their ICRC
zstd -dcq "$TEST_DATA/roce/10_rc_write_loss/b.pcap.zst" >"$tmp/write.pcap"
editcap -F nsecpcap -t 3600 -s 96 "$tmp/write.pcap" "$tmp/cut.pcap"
is "a snapshot length of 96 bytes and another clock: two ends" \
	"$(an --json "$TEST_DATA/roce/10_rc_write_loss/a.pcap.zst" "$tmp/cut.pcap" 2>"$tmp/log" | jq -c "$kind")" "[0,true]"

# A few packets in common among many others: only if the user says so
zstd -dcq "$TEST_DATA/roce/01_rc_send/a.pcap.zst" >"$tmp/other.pcap"
editcap -F nsecpcap -r "$tmp/b.pcap" "$tmp/few.pcap" 1-20 2>"$tmp/log"
mergecap -F nsecpcap -a -w "$tmp/mostly.pcap" "$tmp/few.pcap" "$tmp/other.pcap" 2>"$tmp/log"
few() { an "--ends=$1" --json "$TEST_DATA/roce/57_router_loss/a.pcap.zst" "$tmp/mostly.pcap" 2>"$tmp/log" | jq -c '.ends.packets > 10'; }
is "few packets in common, auto" "$(few auto)" false
is "... always" "$(few always)" true

refused "--ends always, one file" 1 "needs two files, not 1; " --ends always "$tmp/b.pcap"
refused "--ends always, a pipe" 1 "'-' is not a regular file; " --ends always "$tmp/b.pcap" -
refused "--ends sometimes" 1 "'sometimes' is not one of auto, always, never" --ends sometimes "$tmp/b.pcap"

# A snapshot length of 64 bytes at B cuts off every ICRC but those of ACKs
editcap -F nsecpcap -s 64 "$tmp/b.pcap" "$tmp/short.pcap"
an --json "$TEST_DATA/roce/57_router_loss/a.pcap.zst" "$tmp/short.pcap" >"$tmp/short.json" 2>"$tmp/log"
is "headers only at B" "$(jq -c "$paths" "$tmp/short.json")" "$(jq -c "$paths" "$tmp/57_router_loss.json")"
an --json "$tmp/short.pcap" "$tmp/short.pcap" >"$tmp/both.json" 2>"$tmp/log"
is "... at both ends" "$(jq -c '[.ends.paths[].qps[] | .lost.count + .missed.count + .duplicated.count] | add' "$tmp/both.json")" 0

# A truncated file: the common part is compared, the rest is not called lost
head -c 200000 "$tmp/b.pcap" >"$tmp/cut.pcap"
an --json "$TEST_DATA/roce/57_router_loss/a.pcap.zst" "$tmp/cut.pcap" >"$tmp/cut.json" 2>"$tmp/log"
is "one capture is cut short" "$?" 4
jq -e '(.ends.outside > 0) and ([.ends.paths[].qps[].lost.count] | add) <= 52' "$tmp/cut.json" >/dev/null
ok "... what it does not hold was not lost" "$tmp/log"

# A third of the frames is absent at one end: who sends is known as before, and no more is lost
thinned() { # END OTHER
	zstd -dcq "$TEST_DATA/roce/57_router_loss/$1.pcap.zst" >"$tmp/whole.pcap"
	# shellcheck disable=SC2046 # numbers
	editcap -F nsecpcap "$tmp/whole.pcap" "$tmp/thin.pcap" $(seq 2 3 1500) >"$tmp/log" 2>&1
	an --json "$tmp/thin.pcap" "$TEST_DATA/roce/57_router_loss/$2.pcap.zst" 2>"$tmp/log" | jq -c '.ends | [
		([.paths[] | [.from, .sender_known, (.sender == "a") == ("'"$1"'" == "a")]] | sort), ([.paths[].qps[].lost.count] | add) <= 52,
		([.paths[].qps[].missed.count] | add) > 0]'
}
for ends in "a b" "b a"; do
	# shellcheck disable=SC2086 # two words
	is "a third of the frames of ${ends%% *} is absent: the same senders, and no more is lost" "$(thinned $ends)" \
		'[[["10.77.1.1",true,true],["10.77.2.2",true,false]],true,true]'
done

# A capture that lacks frames, and nothing else is wrong: the verdict names that capture
zstd -dcq "$TEST_DATA"/roce/02_rc_write/b.pcap.zst >"$tmp/whole.pcap"
editcap -F nsecpcap "$tmp/whole.pcap" "$tmp/lacks.pcap" 100 200 300 >"$tmp/log" 2>&1
an --json "$TEST_DATA"/roce/02_rc_write/a.pcap.zst "$tmp/lacks.pcap" >"$tmp/lacks.json" 2>"$tmp/log"
is "a capture lacks frames" "$(jq -c '.ends.verdict | [.where, .places, .missed_by]' "$tmp/lacks.json")" '["capture",[],["b"]]'

fits "as docs/schema/analyze-ends.json says" analyze-ends "$tmp"/{57_router_loss,58_router_reorder,shifted,cut,lacks}.json
fits "... analyze-points.json" analyze-points "$tmp"/{points,site}.json

an "$TEST_DATA"/roce/57*/[ab].pcap.zst >"$tmp/text" 2>"$tmp/log"
is "... without advice to capture at the other end" "$(tr '\n' ' ' <"$tmp/text" | grep -c 'capture at 10\.')" 0
is "... which begins with the verdict on both" "$(sed -n "1s|^[A-Z ]* ||p" "$tmp/text")" \
	"Packets from 10.77.2.2 to 10.77.1.1 are lost between the two capture"

# The verdicts on both ends, beside what was done to the packets (summary.tsv)
verdict() { an --json "$TEST_DATA"/roce/"$1"_*/[ab].pcap.zst 2>"$tmp/log" | jq -c '.ends.verdict | [.rule, .places, .certainty, .where_certainty]'; }
while read -r name want; do
	is "verdict on $name" "$(verdict "$name")" "$want"
done <<'END'
02 [null,[],null,null]
10 ["lost-in-sender",["sender_nic"],"likely","possible"]
17 ["gave-up-rnr",["receiver_host"],"likely","likely"]
30 ["lost-downstream-of-receiver",["receiver_nic"],"likely","possible"]
44 ["remote-access",["sender_host","receiver_host"],"certain","likely"]
57 ["lost-between",["fabric"],"likely","likely"]
58 ["reordered-between",["fabric"],"likely","likely"]
59 ["duplicated-between",["fabric"],"likely","likely"]
END
is "findings of two ends, grouped by cause" \
	"$(jq -c '.ends | [.findings as $f | .groups[] | .rule as $r | .findings | map($f[.].rule == $r) | all] | all' "$tmp/57_router_loss.json")" true
is "... each in one group" "$(jq -c '.ends | ([.groups[].findings[]] | sort) == [range(.findings | length)]' "$tmp/57_router_loss.json")" true
an --html "$tmp/page.html" "$TEST_DATA"/roce/57*/[ab].pcap.zst >/dev/null 2>"$tmp/log"
is "a page of it" "$? $(grep -c '"captures":\[' "$tmp/page.html")" "0 1"
an --json "$TEST_DATA"/roce/57*/[ab].pcap.zst 2>"$tmp/log" | jq -S . >"$tmp/page.want"
sed -n 's,^<script type="application/json" id="report">\(.*\)</script>$,\1,p' "$tmp/page.html" |
	jq -S 'del(.captures[].conversations[].sides[].psn_plot)' | cmp - "$tmp/page.want"
ok "... with what --json prints"

# 200 packets, 0.1 ms apart, and the first one again after 5 ms, where one capture begins
python3 "$srcdir/tests/e2e/ends.py" begins "$tmp/late.pcap" "$tmp/whole.pcap"
both() { an --json "$@" 2>"$tmp/log" | jq -c '.ends | [.packets, .first_ns / 1000, .last_ns / 1000, .outside, .paths[0].qps[0].lost.count]'; }
is "a capture that begins with a retransmission" "$(both "$tmp/late.pcap" "$tmp/whole.pcap")" "[150,0,14850,51,0]"
is "... and the other way round" "$(both "$tmp/whole.pcap" "$tmp/late.pcap")" "[150,5050,19900,51,0]"

as_said ends
tap_done
