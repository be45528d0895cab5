#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Several receive queues of one port: every frame once, flows whole and in order, exact loss, each
# queue restored separately, and one queue if the device refuses more.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

# libmlx5 frees what belonged to a removed device only when it is notified; else it is a leak to ASan
export RDMAV_ALLOW_DISASSOC_DESTROY=1

count=100000
[ -n "${TEST_FULL-}" ] || count=10000
gen=count=$count,size=60-3000,qps=32,seed=5

# queues NAME SOFTHCA-OPTIONS... -- OPTIONS...: a capture, its report in $tmp/report
queues() {
	local name=$1
	apart "${@:2}"
	began=$(date +%s%N)
	model --stats "$tmp/stats" --at-end sigint "${ahead[@]}" -- "$RDMADUMP" -d mlx5_0 --json -Z root "${rest[@]}" -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
	status=$?
	is "$name: nothing left on the device" \
		"$(jq -r 'if any(.devices[]?; .fatal) then 0 else [.leaked[]?] | add // 0 end' "$tmp/stats")" 0
	is "$name: unmade in the right order" "$(jq -r '.order_violations // 0' "$tmp/stats")" 0
}
given() { if [ "$1" = 1 ]; then ! grep -qE 'KiB, [2-9] queues' "$tmp/log"; else grep -qE "KiB, $1 queues" "$tmp/log"; fi; }
frames() { json "$tmp/report" .frames.written; }
gaps() { json "$tmp/report" .gaps; }

"$SOFTHCA_FRAMES" --write "$tmp/sent" "$gen" >/dev/null

for mode in wqe verbs; do
	for n in 1 2 8; do
		queues "$mode, $n queues" --dev name=mlx5_0,mtu=4200 --gen "$gen" -- --rx-mode $mode --queues $n -b 8 --when-full wait
		given $n
		ok "$mode, $n queues: given" "$tmp/log"
		python3 "$srcdir/tests/e2e/quirks_judge.py" out="$tmp/out" sent="$tmp/sent" report="$tmp/report" stats="$tmp/stats" \
			start="$began" end="$(date +%s%N)" queues=$n >"$tmp/wrong" 2>&1 && [ ! -s "$tmp/wrong" ]
		ok "$mode, $n queues: every frame once, flows in order" "$tmp/wrong"
		is "$mode, $n queues: all" "$(frames)" $count
	done

	# asleep between frames, each queue by itself
	queues "$mode, slow" --gen count=400,size=200,qps=32,seed=2 --rate 800 -- --rx-mode $mode --queues 4
	is "$mode, slow: all" "$(frames)" 400

	# what the device drops is counted, once
	queues "$mode, loss" --mode drop --gen count=200000,size=1000,qps=32,seed=2 -- --rx-mode $mode --queues 4 -b 3
	lost=$(json "$tmp/report" .lost_before_us.frames)
	holds "$mode, loss: some was lost" [ "$lost" -gt 0 ]
	is "$mode, loss: delivered + lost = offered" $(($(json "$tmp/report" .frames.delivered) + lost)) 200000
	is "$mode, loss: no queue was restored" "$(gaps)" 0

	# each failed queue is restored, the others continue
	for fault in cqe=loc_prot cqe=loc_len event=qp_fatal event=cq_err; do
		queues "$mode, $fault" --gen count=30000,size=300,qps=32,seed=5 --start-delay 50 \
			--fault "$fault,frame=9000" -- --rx-mode $mode --queues 4
		is "$mode, $fault: exit status" $status 0
		gaps=1
		[[ $fault != event* ]] || gaps=4
		is "$mode, $fault: gaps" "$(gaps)" $gaps
		is "$mode, $fault: all that was delivered" "$(frames)" "$(jq .delivered "$tmp/stats")"
	done
	# An event that comes after the repair, which began with the completions of the failure
	queues "$mode, late event" --gen count=30000,size=300,qps=32 --rate 100000 --fault event=qp_late,frame=9000 -- --rx-mode $mode --queues 4
	is "$mode, late event: a queue that works is not reset" "$(gaps) $(frames)" "0 30000"
	queues "$mode, port down and up" --gen count=5000,size=300,qps=32 --fault port=down,frame=1000 \
		--fault port=up,after_ms=100 -- --rx-mode $mode --queues 4
	is "$mode, port down and up: all" "$(frames)" 5000
	queues "$mode, device removed" --gen count=30000,size=300,qps=32 --fault fatal,frame=9000 -- --rx-mode $mode --queues 4
	is "$mode, device removed: exit status" $status 4
	is "$mode, device removed: what came before" "$(frames)" 8999
done

# one queue, and why
while read -r option n want reason; do
	queues "$option, $n queues" --dev name=mlx5_0"${option:+,$option}" --gen count=1000,size=300 -- --rx-mode wqe --queues "$n"
	given "$want"
	ok "$option, $n queues: $want given" "$tmp/log"
	has "$option, $n queues: why" "$tmp/log" "$want queues? instead of $n: $reason"
	is "$option, $n queues: all" "$(frames)" 1000
done <<'LIST'
rss=no 4 1 the device has no receive side scaling
rss_sniffer=no 4 1 create_flow on mlx5_0:1: Operation not supported
mtu=1500 6 4 queues come in powers of two
LIST
for fault in verb=create_wq,errno=ENOMEM,nth=3 verb=create_table,errno=EINVAL verb=modify_wq,errno=EINVAL; do
	queues "$fault" --gen count=1000,size=300 --fault $fault -- --rx-mode wqe --queues 4
	given 1
	ok "$fault: one queue is left" "$tmp/log"
	is "$fault: all" "$(frames)" 1000
done
queues "no sniffer" --dev name=mlx5_0,sniffer=no -- --queues 4
is "no sniffer: exit status" $status 2
has "no sniffer: message" "$tmp/log" 'create_flow on mlx5_0:1: Operation not supported'

tap_done
