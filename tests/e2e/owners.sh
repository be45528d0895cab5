#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Which process has which queue pair: sampled while a capture runs, stored in the file, left out on request.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 zstd
: "${OWNED_QPS_TOOL:?path of owned_qps_tool}"

# facts FILE: the facts in a file, one JSON text a line
facts() { python3 "$srcdir/tests/e2e/captures.py" blocks "$1" | grep '^{'; }
owners() { facts "$1" | jq -c 'select(.kind == "owners")'; }

# listed DIR N: the processes of the run have listed the queue pairs N times
listed() { [ "$(stat -c %s "$1/tree/qp_lists")" -ge "$2" ]; }
export -f listed
# A second process has a queue pair; it begins after the capture and ends before it does.
began=$EPOCHSECONDS
# shellcheck disable=SC2016
model --keep "$tmp/tree" --dev name=mlx5_0,netlink=yes --gen count=1000,size=256 -- bash -c '
	"$1" -d mlx5_0 -q -Z root -w "$2/out.pcapng" 2>"$2/err" &
	capture=$!
	wait_for test -s "$2/out.pcapng"
	RANK=12 LOCAL_RANK=4 SLURM_JOB_ID=777 PMIX_RANK=none SECRET=hidden \
		"$1" -d mlx5_0 -q --no-owners -w "$2/other.pcapng" 2>"$2/other.err" &
	echo $! >"$2/pid"
	wait_for test -s "$2/other.pcapng"
	wait_for listed "$2" $(($(stat -c %s "$2/tree/qp_lists") + 6))
	kill -TERM $!
	wait $!
	kill -TERM $capture
	wait $capture' - "$RDMADUMP" "$tmp"
owners "$tmp/out.pcapng" >"$tmp/owners"
has_owner() { jq -c ".owners[] | select(.pid == $(<"$tmp/pid"))" "$tmp/owners"; }
has_owner >"$tmp/other"
is "a process that ended: its job" "$(jq -c .job "$tmp/other")" '{"SLURM_JOB_ID":"777","RANK":"12","LOCAL_RANK":"4"}'
is "... its command" "$(jq -r .comm "$tmp/other")" rdmadump
is "... it had queue pairs" "$(jq '.qps | length > 0' "$tmp/other")" true
is "... not at the end" "$(jq --slurpfile all "$tmp/owners" '([.qps[].last_ns] | max) < ([$all[].owners[].qps[].last_ns] | max)' "$tmp/other")" true
is "... its start is after that of the test" "$(jq --argjson began "$began" --argjson now "$(date +%s)" '.start_ns / 1e9 | . > $began - 1 and . <= $now + 1' "$tmp/other")" true
is "the rest of its environment is nowhere" "$(grep -c hidden "$tmp/out.pcapng")" 0
is "samples are counted" "$(jq '.samples > 4 and .interval_ns > 0' "$tmp/owners")" true

"$RDMADUMP" -q -r "$tmp/out.pcapng" -w "$tmp/copy.pcapng" 2>"$tmp/err"
is "a copy of the file has them" "$(owners "$tmp/copy.pcapng")" "$(<"$tmp/owners")"
"$RDMADUMP" -q -r "$tmp/out.pcapng" --no-owners -w "$tmp/copy.pcapng" 2>"$tmp/err"
is "... with --no-owners it does not" "$(facts "$tmp/copy.pcapng" | grep -c '"kind":"owners"\|"pid"\|"comm"\|rdmadump')" 0
is "... but what else there is" "$(facts "$tmp/copy.pcapng" | jq -r .kind | sort -u | tr '\n' ' ')" "counters device qps "

# set_clock KEY WAY: the system clock is set while a capture runs, and the second process begins after that. Times of
# owners are those of the clock that frames have their times from, which does not follow it.
set_clock() {
	rm -f "$tmp/set" "$tmp/set.pcapng" "$tmp/other.pcapng"
	# shellcheck disable=SC2016 # the inner shell's
	model --dev name=mlx5_0,netlink=yes --clock "realtime,$1=$tmp/set" --gen count=1000,size=256 -- bash -c '
		"$1" -d mlx5_0 -q -Z root -w "$2/set.pcapng" 2>"$2/err" &
		capture=$!
		wait_for test -s "$2/set.pcapng"
		: >"$2/set"
		"$1" -d mlx5_0 -q -w "$2/other.pcapng" 2>"$2/other.err" &
		echo $! >"$2/pid"
		wait_for test -s "$2/other.pcapng"
		kill -TERM $capture
		wait $capture
		kill -TERM "$(<"$2/pid")"
		wait' - "$RDMADUMP" "$tmp"
	owners "$tmp/set.pcapng" | tail -n 1 >"$tmp/owners"
	is "the system clock is set $2: the times of queue pairs go on, and can be compared with those of frames" \
		"$(jq -c '. as $all | [.clock_error_ns < 1e9, .time_ns - .since_ns < 100e9, .interval_ns < 100e9] +
			[all(.owners[].qps[]; $all.since_ns <= .first_ns and .first_ns <= .last_ns and .last_ns <= $all.time_ns)]' "$tmp/owners")" \
		'[true,true,true,true]'
	is "... and so do those of a process that began later" \
		"$(jq --argjson pid "$(<"$tmp/pid")" '. as $all | .owners[] | select(.pid == $pid) | .start_ns | . > $all.since_ns - 1e9 and . < $all.time_ns' "$tmp/owners")" true
}
set_clock back back
set_clock ahead forward

# 64 processes: 40 queue pairs that live until the capture has ended, and 24 at a time that live for 100 ms
many=40 enough=60
[ -n "${TEST_FULL-}" ] || enough=24
rm -rf "$tmp/tree"
# shellcheck disable=SC2016 # the inner shell's
model --keep "$tmp/tree" --dev name=mlx5_0,netlink=yes --gen count=1000,size=256 -- bash -c '
	"$1" -d mlx5_0 -q -Z root -w "$2/many.pcapng" 2>"$2/err" &
	capture=$!
	mkfifo "$2/held"
	"$3" mlx5_0 "$4" 24 <"$2/held" >"$2/truth" &
	exec 9>"$2/held"
	enough() { [ "$(grep -c ^long "$1/truth")" = "$2" ] && [ "$(grep -c ^short "$1/truth")" -ge "$3" ] && [ -s "$1/many.pcapng" ]; }
	wait_for enough "$2" "$4" "$5"
	# Since a busy machine may take too long for a list to read another one at the end: a whole one
	wait_for listed "$2" $(($(stat -c %s "$2/tree/qp_lists") + 2))
	kill -TERM $capture
	wait $capture
	exec 9>&-
	wait' - "$RDMADUMP" "$tmp" "$OWNED_QPS_TOOL" "$many" "$enough"
is "64 processes: all that were started had a queue pair" "$(grep -c ^long "$tmp/truth") $(($(grep -c ^short "$tmp/truth") >= enough))" "$many 1"
owners "$tmp/many.pcapng" | tail -n 1 |
	jq -r '.owners[] | select(.job.RANK != null) | .pid as $pid | .job.RANK as $rank | .qps[] | "\($pid) \($rank) \(.lqpn)"' | sort -u >"$tmp/listed"
cut -d" " -f2- "$tmp/truth" | sort -u >"$tmp/all"
is "... none has a wrong process or rank" "$(comm -23 "$tmp/listed" "$tmp/all")" ""
is "... all that were alive at the end are there" \
	"$(grep ^long "$tmp/truth" | cut -d" " -f2- | sort -u | comm -23 - "$tmp/listed")" ""
echo "# short queue pairs in a sample: $(comm -12 "$tmp/listed" <(grep ^short "$tmp/truth" | cut -d" " -f2- | sort -u) | wc -l) of $(grep -c ^short "$tmp/truth")"

model --dev name=mlx5_0,netlink=yes --gen count=100,size=256 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q --no-owners -w "$tmp/without.pcapng" 2>"$tmp/err"
is "--no-owners: none" "$(owners "$tmp/without.pcapng")" ""
is "... and no process in the lists of queue pairs" \
	"$(facts "$tmp/without.pcapng" | jq -c 'select(.kind == "qps") | [.qps | length > 0, any(.[]; has("pid") or has("comm"))]' | sort -u)" "[true,false]"
model --dev name=mlx5_0,netlink=yes --gen count=100,size=256 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q --no-facts -w "$tmp/without.pcapng" 2>"$tmp/err"
is "--no-facts: none" "$(facts "$tmp/without.pcapng")" ""
model --gen count=100,size=256 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -w "$tmp/without.pcapng" 2>"$tmp/err"
is "no RDMA netlink: none, and nothing is said" "$(owners "$tmp/without.pcapng")$(grep -ci owner "$tmp/err")" 0

# --- thousands of queue pairs ----------------------------------------------------------------------
# many NUMBER OPTION...: a capture where other processes have so many; how often it lists them, and the facts that it has
many() {
	model --dev "name=mlx5_0,netlink=yes,more_qps=$1" --stats "$tmp/stats" --gen count=100,size=256 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -w "$tmp/thousands.pcapng" "${@:2}" 2>"$tmp/err"
	echo "$(jq '.qp_lists > 0' "$tmp/stats") $(facts "$tmp/thousands.pcapng" | jq -r 'select(.kind == "qps" or .kind == "owners").kind' | sort -u | tr '\n' ' ')"
}
said='warning: mlx5_0 has 500[0-9] queue pairs: neither they nor their owners are listed, .*--all-qps'
is "4090 queue pairs: they are listed" "$(many 4090)" "true owners qps "
is "... without a word" "$(grep -c 'queue pairs' "$tmp/err")" 0
is "5000: they are not listed" "$(many 5000)" "false "
is "... which is said once" "$(grep -cE "$said" "$tmp/err")" 1
is "... also with --no-owners" "$(many 5000 --no-owners) $(grep -cE "$said" "$tmp/err")" "false  1"
is "... --all-qps: they are" "$(many 5000 --all-qps) $(grep -c 'queue pairs' "$tmp/err")" "true owners qps  0"
# recorded OPTION...: the same of a recording; its exit status, and whether it lists them
recorded() {
	model --dev name=mlx5_0,netlink=yes,more_qps=5000 --stats "$tmp/stats" --gen count=100,size=256 --at-end sigint -- \
		"$RDMADUMP" record mlx5_0 -w "$tmp/recorded.pcapng" "$@" >"$tmp/out" 2>"$tmp/err"
	echo "$? $(jq '.qp_lists > 0' "$tmp/stats") $(grep -cE "$said" "$tmp/err")"
}
is "record: neither does it" "$(recorded)" "0 false 1"
is "... has the option that it names" "$(recorded --all-qps)" "0 true 0"
# lists NUMBER COMMAND...: its exit status, and whether it lists so many
lists() {
	model --dev "name=mlx5_0,netlink=yes,more_qps=$1" --stats "$tmp/stats" -- "$RDMADUMP" "${@:2}" >"$tmp/out" 2>"$tmp/err"
	echo "$? $(jq '.qp_lists > 0' "$tmp/stats")"
}
is "info: 4000 are listed" "$(lists 4000 info)" "0 true"
is "... 5000 are not" "$(lists 5000 info)" "0 false"
has "... but counted, and it says why" "$tmp/out" "not known +which queue pairs: .* firmware command"
lists 5000 bundle -w "$tmp/b.tar.zst" --timeout 600 >"$tmp/log"
is "bundle: nor does it ask other tools for it" "$(tar -xOf "$tmp/b.tar.zst" --wildcards '*/manifest.json' |
	jq -r '.not_taken[] | select(.name | startswith("tools/rdma-resource-qp")).why')" \
	"no RDMA device, or more queue pairs than are listed"
has "... the owners are unknown" <(tar -xOf "$tmp/b.tar.zst" --wildcards '*/host/environment.json') "too many queue pairs"

# --- a slow device, and the user wants to end --------------------------------------------------------
# A list has 32 answers. Two lists come before the first frame; the signal comes during the next one.
# interrupted NAME COMMAND...
interrupted() {
	local name=$1 n
	shift
	model --time virtual --dev name=mlx5_0,netlink=yes,more_qps=4000 --latency list_qps=200 --stats "$tmp/stats" --gen count=3000,size=256 \
		--rate 1000 --at-end sigint -- "$RDMADUMP" "$@" -w "$tmp/slow.pcapng" --json >"$tmp/report" 2>"$tmp/err"
	is "$name, a signal during a slow list: what was captured is kept" "$? $(jq -r '"\(.ended_by) \(.frames.delivered)"' "$tmp/report")" "0 signal 3000"
	n=$(jq .qp_answers "$tmp/stats")
	[ "$n" -gt 64 ] && [ "$n" -lt 96 ]
	ok "... and the list ends with the answer, and is the last: $n of 64 and a part of 32"
	model --dev name=mlx5_0,netlink=yes,more_qps=4000 --latency list_qps=2000 --stats "$tmp/stats" --pidfile "$tmp/pid" -- \
		"$RDMADUMP" "$@" -w "$tmp/slow.pcapng" --json >"$tmp/report" 2>"$tmp/err" &
	wait_for blocks_sigint
	kill -INT "$(<"$tmp/pid")"
	wait $!
	is "$name, a signal before the first frame" "$? $(jq -r .ended_by "$tmp/report") $(jq '.qp_answers <= 32' "$tmp/stats")" "0 signal true"
	rm "$tmp/pid"
}
blocks_sigint() { [ $((0x$(awk '$1 == "SigBlk:" {print $2}' "/proc/$(<"$tmp/pid")/status") & 2)) != 0 ]; }
interrupted capture capture -d mlx5_0
interrupted record record mlx5_0

# --- the analysis ---------------------------------------------------------------------------------
"$RDMADUMP" -q -r "$srcdir/tests/data/roce/44_bad_rkey/a.pcap.zst" -w "$tmp/plain.pcapng" 2>"$tmp/err"
"$RDMADUMP" analyze --json "$tmp/plain.pcapng" >"$tmp/json" 2>"$tmp/err"
is "analyze: a file without facts has no owners" "$(jq -c '[.conversations[] | .a, .b | [.owner, .owner_unknown]] | unique' "$tmp/json")" '[[null,"no_facts"]]'
jq '[.conversations[] | select(.kind == "connection" or .a.qp > 1)][0]' "$tmp/json" >"$tmp/one"
qp=$(jq .a.qp "$tmp/one")
# insert QP [OTHER [OWN]]: plain.pcapng with facts of its requester's host, where QP has an owner. OTHER: the owner had it
# while the frames were captured, or until OWN seconds before them; and pid 4712 until OTHER seconds before them.
insert() {
	python3 "$srcdir/tests/e2e/owners.py" "$tmp/plain.pcapng" "$tmp/facts.pcapng" "$(jq -r .a.address "$tmp/one")" "$@"
}
insert "$qp"
"$RDMADUMP" analyze --json "$tmp/facts.pcapng" >"$tmp/json" 2>"$tmp/err"
is "... with facts: JSON" "$(jq -c "[.conversations[] | .a, .b | select(.qp == $qp) | .owner | del(.comm)] | unique[-1]" "$tmp/json")" \
	"{\"pid\":4711,\"service_port\":null,\"rank\":3,\"start_ns\":1795234900110000000,\"cgroup\":\"/x\",\"container\":\"$(printf 'ab%.0s' {1..32})\",\"pod\":null,\"job\":{\"OMPI_COMM_WORLD_RANK\":\"3\"}}"
fits "... as the schema says" analyze "$tmp/json"
"$RDMADUMP" analyze -v "$tmp/facts.pcapng" >"$tmp/out" 2>"$tmp/err"
has "... text: a finding" "$tmp/out" "QP $(printf 0x%x "$qp") is of .*\(pid 4711, rank 3, container abababababab\)"
has "... text: the conversation" "$tmp/out" "^ +QP $(printf 0x%x "$qp") is of .*\(pid 4711, rank 3, container abababababab\)$"
is "... which does not control the terminal" "$(tr -d '\n\t[:print:]' <"$tmp/out" | grep -c $'\x1b')" 0
insert "$qp" 0.5
address=$(jq .a.address "$tmp/one")
"$RDMADUMP" analyze --json "$tmp/facts.pcapng" >"$tmp/json" 2>"$tmp/err"
is "two processes had a queue pair of this number: whose the frames are" \
	"$(jq -c "[.conversations[] | .a, .b | select(.qp == $qp and .address == $address) | [.owner.pid, .owner_unknown]] | unique" "$tmp/json")" '[[4711,null]]'
insert "$qp" 0
"$RDMADUMP" analyze --json "$tmp/facts.pcapng" >"$tmp/json" 2>"$tmp/err"
is "... where the times do not tell" \
	"$(jq -c "[.conversations[] | .a, .b | select(.qp == $qp and .address == $address) | [.owner.pid, .owner_unknown]] | unique" "$tmp/json")" '[[null,"several"]]'
insert "$qp" 2 1
"$RDMADUMP" analyze --json "$tmp/facts.pcapng" >"$tmp/json" 2>"$tmp/err"
is "... where both had it before" \
	"$(jq -c "[.conversations[] | .a, .b | select(.qp == $qp and .address == $address) | [.owner.pid, .owner_unknown]] | unique" "$tmp/json")" '[[null,"other_time"]]'
"$RDMADUMP" analyze -v "$tmp/facts.pcapng" >"$tmp/out" 2>"$tmp/err"
has "... text" "$tmp/out" "the owner of QP $(printf 0x%x "$qp") is unknown: processes had a QP of this number"
fits "... as the schema says" analyze "$tmp/json"
insert 77
"$RDMADUMP" analyze -v "$tmp/facts.pcapng" >"$tmp/out" 2>"$tmp/err"
has "a queue pair in no list: unknown" "$tmp/out" "the owner of QP $(printf 0x%x "$qp") is unknown: RDMA netlink did not list it"
is "... and no process is named" "$(grep -c 'pid 4711' "$tmp/out")" 0

tap_done
