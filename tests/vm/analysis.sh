# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Compares the report of `rdmadump analyze` on a scenario's captures with the kernels that took part:
# their counters, which are in the files, and the drops of the router between them.
# Sourced by tests/vm/suite.sh, which has `ok` and `tmp` from tests/tap.sh.
# shellcheck disable=SC2154

# Counters of rxe that analyze must find in the packets of every scenario.
rxe_counters="sent_pkts rcvd_pkts out_of_seq_request rcvd_rnr_err send_rnr_err rcvd_seq_err completer_retry_err duplicate_request"

# hw FILE DEVICE COUNTER: a counter that the program guest saved
hw() { awk -v d="$2" -v c="$3" '$1 == "hw" && $2 == d && $3 == c {print $4}' "$1"; }

# analysis_of REPORT FILTER: a value of one end's report
analysis_of() { jq -c "$2" "$1" 2>&1; }

# check_counters AT NAME SIDE KIND REPORT: the file has the counters of sysfs, and the packets match them
check_counters() {
	local at=$1 name="$2, $3" kind=$4 report=$5 device c wanted='' got
	device=$(jq -r '.sources[0].device' "$at.report.json" 2>/dev/null)
	for c in $rxe_counters; do
		wanted+="$c=$(($(hw "$at.after" "$device" "$c") - $(hw "$at.before" "$device" "$c"))) "
	done
	got=$(jq -r '[.counters[] | "\(.counter)=\(.device_count) "] | add' "$report")
	is "$name: analyze takes the counters' growth from the file" "$got" "$wanted"
	# Frames that the network damaged may have any content; the number of retransmissions that
	# reordering caused can only be estimated.
	if [ "$kind" = none ] || [[ $2 == *_reorder ]]; then
		echo "# $name: $(analysis_of "$report" '[.counters[] | select(.agrees | not) |
			"\(.counter) \(.device_count), packets \(.packets): \(.why)"]')"
	else
		is "$name: analyze has a reason where packets show other numbers" \
			"$(analysis_of "$report" '[.counters[] | select(.agrees or .why | not)]')" "[]"
	fi
	if holds "$kind" accepts "$3" && [ "$2" != vlan ]; then
		is "$name: analyze finds sent_pkts and rcvd_pkts in the packets" \
			"$(analysis_of "$report" '[.counters[] | select(.counter | endswith("_pkts")) | .agrees]')" \
			"[true,true]"
	elif holds "$kind" drops "$3"; then
		is "$name: ... and the reason is what the capture lost" \
			"$(analysis_of "$report" '[.counters[] | select(.agrees | not) | .why] | unique')" \
			'["the capture lost frames"]'
	elif [ "$2" = vlan ]; then
		is "$name: ... and the reason is an address that was added and removed" \
			"$(analysis_of "$report" '[.counters[] | select(.agrees | not) | .why] | unique | map(.[:40])')" \
			'["there were frames between addresses that"]'
	fi
}

# lost REPORT FROM: lost packets on the path from that address
lost() { jq --arg from "$2" '[.ends.paths[] | select(.from == $from) | .qps[].lost.count] | add // 0' "$1"; }

# blamed REPORT: packets that a capture may have missed
blamed() { jq '[.ends.paths[].qps[] | .unclear.count, .missed.count, .missed_at_receiver.count] | add // 0' "$1"; }

# dropped DIRECTORY NETDEV: by the router's queue towards that side
dropped() { jq --arg dev "$2" '[.[] | select(.dev == $dev) | .drops] | add // 0' "$1/qdiscs"; }

# near LOST DROPPED OUTSIDE: no more than were dropped, and nearly all of them
near() { [ "$1" -le "$2" ] && [ $(($1 + $3 + 1 + $2 / 20)) -ge "$2" ]; }

# check_loss DIRECTORY NAME REPORT: the ends miss the packets that the router dropped. Packets at the
# start or end of a capture are counted, but not as lost; copies that are retransmitted there are not
# counted.
check_loss() {
	local to_a to_b gone_a gone_b outside
	to_a=$(lost "$3" 10.77.2.2) to_b=$(lost "$3" 10.77.1.1)
	gone_a=$(dropped "$1" eth0) gone_b=$(dropped "$1" eth1)
	outside=$(jq .ends.outside "$3")
	echo "# $2: towards a lost $to_a, dropped $gone_a; towards b $to_b, $gone_b; at the edges $outside"
	near "$to_a" "$gone_a" "$outside" && near "$to_b" "$gone_b" "$outside"
	ok "$2: analyze counts as lost towards a, b what the router dropped there"
	[ "$to_a" -gt 0 ] && [ "$to_b" -gt 0 ]
	ok "$2: analyze saw loss in both directions"
	is "$2: analyze reports of neither capture that it missed packets" "$(blamed "$3")" 0
	is "$2: analyze finds where" \
		"$(jq -c '[.ends.findings[] | select(.rule == "lost-between") | .certainty] | unique' "$3")" '["likely"]'
}

# check_ends DIRECTORY NAME REPORT: what was lost and duplicated between the ends
check_ends() {
	local rules
	rules=$([ -s "$3" ] &&
		jq -r '[.ends.findings[].rule] | unique | map(select(test("^(lost|duplicated)-between$"))) | join(" ")' "$3") ||
		rules="no report of both ends"
	case $2 in
	router_loss) check_loss "$@" ;;
	router_duplicate) [[ $rules == *duplicated-between* ]]; ok "$2: analyze sees what the router duplicated" ;;
	*) is "$2: analyze sees nothing lost or duplicated between the ends" "$rules" "" ;;
	esac
}

# check_hosts DIRECTORY [FROM TO]: captures of hosts 1 to 4: what the router dropped is lost from FROM to TO, no more
check_hosts() {
	local at=$1 name=${1##*/} from=10.77.${2-}.${2-} to=10.77.${3-}.${3-} report=$tmp/hosts.json verdicts=
	"$RDMADUMP" analyze --json "$at/captures" >"$report" 2>"$tmp/analysis.log"
	ok "$name: analyze reads the captures" "$tmp/analysis.log"
	is "$name: each is of a host, and has the packets to and from all others" \
		"$(jq -c '[.hosts[] | .addresses + [.captured]], (.pairs | length), ([.paths[].packets >= 250] | unique)' "$report" | tr '\n' ' ')" \
		'[["10.77.1.1","yes"],["10.77.2.2","yes"],["10.77.3.3","yes"],["10.77.4.4","yes"]] 6 [true] '
	is "$name: the packets explain the counters of all hosts" \
		"$(jq -c '[.captures[].counters[] | .agrees or .why] | [length >= 32, all]' "$report")" "[true,true]"
	if [ $# = 3 ]; then
		verdicts="Packets from $from to $to are lost between the two capture points"
		verdicts="[\"lost-between\",$(jq -nc "[$2, $3] | sort | map(. - 1)"),\"$verdicts\"]"
		is "$name: on the first path as many packets are lost (or at the edges of a capture) as the router dropped" \
			"$(jq -r '.paths[0].lost as $lost | .paths[0].from, .paths[0].to, $lost + ([.pairs[].ends.outside] | add), $lost > 0' "$report" | paste -sd' ')" \
			"$from $to $(jq '[.[] | select(.kind == "netem") | .drops] | add' "$at/qdiscs") true"
	fi
	is "$name: no other path lost packets, and none between other hosts has them twice" \
		"$(jq -c --arg from "$from" --arg to "$to" '[.paths[] | [.from, .to] as $ends | select($ends != [$from, $to]) |
			select(.lost != 0 or (.retransmitted != 0 and $ends != [$to, $from]))], .common' "$report" | paste -sd' ')" "[] null"
	# While the host is busy, emulated machines stand still.
	is "$name: the verdicts on all pairs are no others" \
		"$(jq -c '.pairs as $p | .verdicts[] | select(.verdict.rule and .better_pair == null) | select(.verdict.rule | IN("silence", "stall") | not) |
			[.verdict.rule, $p[.pair].captures, .verdict.what]' "$report")" "$verdicts"
}

# check_nvme NAME REPORT: what the host wrote, in as many commands, and a completion of each command
check_nvme() {
	is "$1: analyze recognizes NVMe over Fabrics" \
		"$(analysis_of "$2" '[.applications[] | .name, .certainty, .conversations]')" '["NVMe-oF","certain",2]'
	is "$1: ... 4 writes of 16 kB" \
		"$(analysis_of "$2" '.applications[0].operations[] | select(.name == "Write") |
			[.requests, .replies, .latency.n, ([.keyed, .inline] | map(.bytes // 0) | add)]')" '[4,4,4,65536]'
	is "$1: ... only event requests have no completion" \
		"$(analysis_of "$2" '[.applications[0].operations[] | select(.open + .unanswered > 0 and (.waits | not)) | .name]')" '[]'
}

# take_times CAPTURE: its frames as a pcap file, and what tshark says of NVMe commands in them: $tmp/nvme.pcap, $tmp/nvme.tsv
take_times() {
	tcpdump -r "$1" --time-stamp-precision=nano -w "$tmp/nvme.pcap" 2>/dev/null
	sh "$here/../data/apps/record" "$tmp/nvme.pcap" >"$tmp/nvme.tsv" 2>/dev/null
}

# same_times REPORT [FIRST LAST]: of the report, or one of these frames only, are those of tshark, and of another program
same_times() { python3 "$here/nvme.py" "$tmp/nvme.pcap" "$tmp/nvme.tsv" "$@" >"$tmp/times" 2>&1; }

# check_nvme_times NAME CAPTURE REPORT
check_nvme_times() {
	has_tool tshark "$1: times of NVMe commands" || return 0
	take_times "$2"
	same_times "$3"
	ok "$1: analyze has the NVMe commands of tshark, their times within 1 us" "$tmp/times"
	sed 's/^/# /' "$tmp/times"
}

# differs NAME REPORT WHAT [FIRST LAST]: the comparison must notice it
differs() {
	local name=$1 report=$2 what=$3
	shift 3
	! same_times "$report" "$@" && grep -qE "AssertionError: $what" "$tmp/times"
	ok "... the comparison notices $name" "$tmp/times"
}

# check_nvme_load CAPTURE: parts of it, as captures that begin and end while commands are open
check_nvme_load() {
	local n first last open=0 text several flushes queues deepest again report=$tmp/part.json
	take_times "$1"
	"$RDMADUMP" analyze --json "$tmp/nvme.pcap" >"$report"
	same_times "$report"
	ok "a load of NVMe: times of all commands" "$tmp/times"
	# shellcheck disable=SC2034 # the words between the numbers
	IFS=' ,' read -r _ n _ _ _ _ _ _ several _ flushes _ _ queues _ _ deepest _ _ again _ <"$tmp/times"
	text=$(cat "$tmp/times")
	[ "$n" -gt 10000 ] && [ "$several" -gt 1000 ] && [ "$flushes" -ge 1000 ] && [ "$queues" = 4 ] && [ "$deepest" -ge 4 ] && [ "$again" -gt 1000 ]
	ok "... it is one ($text)"
	while read -r first last; do
		editcap -r "$tmp/nvme.pcap" "$tmp/part.pcap" "$first-$last" 2>/dev/null
		"$RDMADUMP" analyze --json "$tmp/part.pcap" >"$report"
		same_times "$report" "$first" "$last"
		ok "... frames $first to $last alone" "$tmp/times"
		IFS=' ,' read -r _ _ _ n _ <"$tmp/times"
		open=$((open + n))
	done < <(python3 "$here/nvme.py" "$tmp/nvme.pcap")
	[ "$open" -ge 8 ]
	ok "... commands are open where some of them end ($open)"

	# The comparison can fail.
	"$RDMADUMP" analyze --json "$tmp/nvme.pcap" >"$tmp/all.json"
	jq '(.applications[0].operations[] | select(.name == "Read") | .latency_sum_ns) += 2000' "$tmp/all.json" >"$report"
	differs "2 us in the time of one command" "$report" "\('Read', 'sum'"
	jq '(.applications[0].operations[] | select(.name == "Flush") | .requests, .replies, .latency.n) -= 1' "$tmp/all.json" >"$report"
	differs "a command that is missing" "$report" "\('Flush', 'requests'"
	jq '.applications[0].slowest[0].frame += 1' "$tmp/all.json" >"$report"
	differs "another frame" "$report" "\({'?"
	cp "$tmp/nvme.tsv" "$tmp/whole.tsv"
	awk -F '\t' -v OFS='\t' 'NR == 5000 { $4 += 2000 } { print }' "$tmp/whole.tsv" >"$tmp/nvme.tsv"
	differs "another time of tshark's" "$tmp/all.json" "\('(Read|Write|Flush).*"
	sed 5000d "$tmp/whole.tsv" >"$tmp/nvme.tsv"
	differs "a command that tshark has not" "$tmp/all.json" "\('tshark has no'"
}

# check_owner NAME REPORT MODULE: whose the two connections are at this end, by RDMA netlink's list of cm_ids
check_owner() {
	is "$1: the owner of both QPs is $3, and its service" \
		"$(analysis_of "$2" '[.conversations[] | select(.transport == "RC") | .a, .b | .owner | select(.) |
			[.pid, .comm, .service_port]]')" "[[0,\"$3\",4420],[0,\"$3\",4420]]"
}

# check_analysis DIRECTORY NAME KIND: of one end, or of two together
check_analysis() {
	local side n=0 report=$tmp/analysis.json files=("$1"/?.rdmadump.pcapng)
	local ends=(--ends always)
	[ "${#files[@]}" = 2 ] || ends=()
	timeout -k 5 120 "$RDMADUMP" analyze "${ends[@]}" --json "${files[@]}" >"$report" 2>"$tmp/analysis.log"
	ok "$2: analyze reads what was captured" "$tmp/analysis.log"
	# The last counters of a device that was removed cannot be read.
	[ "$2" != removed ] || return 0
	for side in a b; do
		[ -e "$1/$side.rdmadump.pcapng" ] || continue
		jq "if .captures then .captures[$n] else . end" "$report" >"$tmp/end.json"
		check_counters "$1/$side" "$2" "$side" "$3" "$tmp/end.json"
		[ "$2" != nvme ] || check_nvme "$2, $side" "$tmp/end.json"
		[[ $2 != nvme* ]] || check_nvme_times "$2, $side" "$1/$side.rdmadump.pcapng" "$tmp/end.json"
		[ "$2$side" != nvmea ] || check_owner "$2, $side" "$tmp/end.json" nvmet_rdma
		[ "$2$side" != nvmeb ] || check_owner "$2, $side" "$tmp/end.json" nvme_rdma
		n=$((n + 1))
	done
	# Frames that a capture lost say nothing about the path.
	[ "$n" = 1 ] || [[ $3 == *drops=* ]] || check_ends "$1" "$2" "$report"
}
