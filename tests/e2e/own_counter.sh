#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --own-counter: a hardware counter that is bound to the capture's queue pair counts its loss alone,
# whatever other queue pairs lose. Where none can be bound, a warning says why.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq capinfos

count=60000
# capture DEVICE-KEYS OPTIONS: JSON in $tmp/json, messages in $tmp/err; most frames find no buffer
capture() {
	local dev=name=mlx5_0,$1
	shift
	model --dev "$dev" --mode drop --gen "count=$count,size=256" --at-end sigint --stats "$tmp/stats" -- \
		"$RDMADUMP" -d mlx5_0 -b 4 --json "$@" -w "$tmp/out.pcapng" >"$tmp/json" 2>"$tmp/err"
}
lost() { jq -c '.sources[0].lost | [.known, .shared, .own_counter]' "$tmp/json"; }
sum() { jq '.frames.delivered + .lost_before_us.at_least' "$tmp/json"; }
# A flow that is created again, as where a counter cannot be bound, misses what came before.
sent() { jq '.devices[0].ports[0] | .frames - .before_flow' "$tmp/stats"; }

root=false
[ "$(id -u)" = 0 ] && root=true

if $root; then
	capture qp_counter=yes --own-counter --no-facts
	is "it asks for its own queue pair, and lists no others" "$(lost) $(jq .qp_lists "$tmp/stats")" "[true,false,true] 0"

	# --- another queue pair of the function loses frames, too -----------------------------------
	# The model sends every frame to both. Both are counted in the port's counter.
	# shellcheck disable=SC2016
	model --dev name=mlx5_0,qp_counter=yes --mode drop --gen "count=$count,size=256" --at-end sigint -- bash -c '
		"$1" -d mlx5_0 -b 3 -q -w "$2/other.pcapng" 2>"$2/other" &
		"$1" -d mlx5_0 -b 4 --own-counter --json -w "$2/out.pcapng" >"$2/json" 2>"$2/err"
		wait $!
		cat /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer >"$2/shared"' - "$RDMADUMP" "$tmp"
	is "two captures: exact, of this one alone" "$(lost)" "[true,false,true]"
	is "... what was written and what was lost is all that was sent" "$(sum)" "$count"
	mine=$(json "$tmp/json" .lost_before_us.frames)
	all=$(cat "$tmp/shared")
	[ "$mine" -gt 0 ] && [ "$all" -gt $((mine + 1000)) ]
	ok "... while the port's counter has more than ours"
	echo "# port $all, ours $mine"
	is "... no warning" "$(grep -c warning "$tmp/err")" 0

	# --- the texts, after privileges were given up ----------------------------------------------
	model --dev name=mlx5_0,qp_counter=yes --mode drop --gen "count=$count,size=256" --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -b 3 --own-counter -Z nobody -w - 2>"$tmp/log" >"$tmp/out.pcapng"
	has "text: the report" "$tmp/log" "dropped by the device [0-9 ]+ \([0-9.]+ %; out_of_buffer; exact, own counter\)$"
	has "... what it counts" "$tmp/log" "^  out_of_buffer was bound to the capture's queue pair: it counts only the frames that found no receive buffer there"
	is "... and nothing about others" "$(grep -c "any queue pair of this function" "$tmp/log")" 0
	capture qp_counter=yes --own-counter -q
	capinfos -k "$tmp/out.pcapng" | tr -s ' \n' ' ' >"$tmp/comment"
	has "... in the file" "$tmp/comment" "out_of_buffer; exact, own counter\); out_of_buffer was bound to the capture's queue pair"

	# --- the queue pair is reset: it keeps the counter ------------------------------------------
	model --dev name=mlx5_0,qp_counter=yes --mode drop --gen "count=$count,size=256" --fault cqe=loc_prot,frame=3 --at-end sigint \
		--stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 -b 4 --json --own-counter -w "$tmp/out.pcapng" >"$tmp/json" 2>"$tmp/err"
	is "reset queue pair: still exact" "$(lost)" "[true,false,true]"
	is "... as many as the model dropped" "$(json "$tmp/json" .lost_before_us.frames)" "$(json "$tmp/stats" .dropped)"

	# --- it is replaced: its counter is gone ----------------------------------------------------
	# Slow enough for a busy machine to notice the event before the traffic ends.
	model --dev name=mlx5_0,qp_counter=yes --mode drop --gen "count=$count,size=256" --rate 20000 --fault event=cq_err,frame=3 \
		--at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -b 4 --json --own-counter -Z root -w "$tmp/out.pcapng" >"$tmp/json" 2>"$tmp/err"
	is "replaced queue pair: the loss is unknown" "$(jq -c '.lost_before_us | [.known, .frames, .reason]' "$tmp/json")" \
		'[false,null,"the queue pair was replaced, which ended its own counter"]'
	has "... with a warning" "$tmp/err" "warning: mlx5_0:1: the queue pair is replaced, and its own counter ends with it"
fi

# refused NAME DEVICE-KEYS TEXT OPTIONS: the port's counter, with a warning
refused() {
	local name=$1 keys=$2 text=$3
	shift 3
	capture "$keys" --own-counter "$@"
	is "$name: the port's counter" "$(lost)" "[true,true,false]"
	is "... and the capture is complete" "$(sum)" "$(sent)"
	has "... why, and what to do" "$tmp/err" "warning: mlx5_0:1: --own-counter: the port's counter is used, which all queue pairs share: $text"
	is "... once" "$(grep -c -e "--own-counter" "$tmp/err")" 1
}
if $root; then
	refused "binding is refused" qp_counter=EPERM "binding a counter needs CAP_NET_ADMIN: .*; run as root, or setcap"
	refused "no counters of queue pairs" qp_counter=EOPNOTSUPP "the driver has no counters of queue pairs: .*; leave --own-counter out"
	refused "the driver cannot bind" qp_counter=ENOMEM "the driver or its firmware binds no counters"
	refused "the port binds automatically" qp_counter=EINVAL "the kernel is too old, or binds counters on this port automatically: .*; see 'rdma statistic qp mode'"
	refused "a number that another queue pair has" qp_counter=foreign "the kernel does not list queue pair 0x[0-9a-f]+ as one of this process; start the capture again"
	refused "counters of another name" qp_counter=vport "the counters of a queue pair have no out_of_buffer"
	refused "firmware that cannot" qp_counter=yes,caps=shared_tir+sniffer_rx+sniffer_tx+no_rq_counter \
		"the firmware cannot count for one receive queue \(modify_rq_counter_set_id\); update the firmware"
	capture link=ib,ib_sniffer=1,qp_counter=yes,caps=shared_tir+sniffer_rx+sniffer_tx+no_rq_counter --own-counter --sniffer verbs
	is "InfiniBand, where the firmware need not be able to: of this one alone" "$(lost)" "[true,false,true]"
	refused "work queues" qp_counter=yes "frames are received by work queues, .*; capture without --queues" --queues 2
fi
refused "no RDMA netlink" qp_counter=no "RDMA netlink: "

capture qp_counter=yes
is "without the option: the port's counter" "$(lost)" "[true,true,false]"
is "... and no warning" "$(grep -c "own-counter" "$tmp/err")" 0

"$RDMADUMP" -r "$tmp/out.pcapng" --own-counter >"$tmp/log" 2>&1
is "with -r: refused" "$?" 1
has "... why" "$tmp/log" "--own-counter: not with -r"

tap_done
