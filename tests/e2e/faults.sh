#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Faults of the device: correct message and exit status, readable file, nothing left.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq capinfos python3

# libmlx5 frees what belonged to a removed device only when it is notified; else it is a leak to ASan
export RDMAV_ALLOW_DISASSOC_DESTROY=1

rx=wqe # how receives are posted
# run NAME STATUS MESSAGE SOFTHCA-OPTIONS... -- RDMADUMP-OPTIONS...
run() {
	local name=$1 want=$2 message=$3
	apart "${@:4}"
	rm -f "$tmp/out" "$tmp/stats"
	model --stats "$tmp/stats" "${ahead[@]}" -- \
		"$RDMADUMP" -d mlx5_0 --rx-mode "$rx" -w "$tmp/out" "${rest[@]}" >"$tmp/stdout" 2>"$tmp/stderr"
	is "$name: exit status" $? "$want"
	[ -z "$message" ] || has "$name: message" "$tmp/stderr" "$message"
	# the kernel destroys a removed device's objects
	is "$name: nothing left on the device, and unmade in the right order" \
		"$(jq -c '[if any(.devices[]?; .fatal) then 0 else [.leaked[]?] | add // 0 end, .order_violations // 0]' "$tmp/stats")" "[0,0]"
}
# readable: to the end; comments of frames are in $tmp/comments
readable() { frames_read "$tmp/out" >/dev/null && python3 "$srcdir/tests/e2e/captures.py" frames "$tmp/out" >"$tmp/comments"; }
frames() { "$SOFTHCA_FRAMES" --hash "$tmp/out" | awk '{print $1}'; }

gen="count=3000,size=300,seed=4"

# A verb that fails before the capture: no file is made, the next step is printed
while read -r rx verb errno message; do
	run "$rx: $verb fails with $errno" 2 "$message" --gen $gen --fault "verb=$verb,errno=$errno" --
	holds "$rx: $verb fails with $errno: no file is made" [ ! -e "$tmp/out" ]
done <<'LIST'
wqe open_device EACCES cannot open mlx5_0: Permission denied; .*run as root
wqe query_device EIO query_device on mlx5_0:1: Input/output error;
wqe query_port EIO query_port on mlx5_0:1: Input/output error;
wqe alloc_pd ENOMEM alloc_pd on mlx5_0:1: Cannot allocate memory;
wqe create_comp_channel EMFILE create_comp_channel on mlx5_0:1: Too many open files; .*ulimit -n
wqe reg_mr ENOMEM reg_mr of [0-9.]+ MiB: Cannot allocate memory; use fewer buffers \(-b\)$
wqe reg_mr EPERM reg_mr of [0-9.]+ MiB: Operation not permitted; neither CAP_NET_RAW nor the limit of locked memory is the cause
wqe create_cq EPERM create_cq on mlx5_0:1: Operation not permitted; neither CAP_NET_RAW nor the limit of locked memory is the cause
wqe create_cq ENOMEM create_cq on mlx5_0:1: Cannot allocate memory; .*-b
wqe create_qp EPERM create_qp on mlx5_0:1: Operation not permitted; this process has CAP_NET_RAW: in a container, run it on the host
wqe create_qp EOPNOTSUPP create_qp on mlx5_0:1: Operation not supported; .*RAW_PACKET
wqe modify_qp EINVAL modify_qp to INIT on mlx5_0:1: Invalid argument;
wqe create_flow EPERM create_flow on mlx5_0:1: Operation not permitted; this process has CAP_NET_RAW: in a container, run it on the host
wqe create_flow EOPNOTSUPP create_flow on mlx5_0:1: Operation not supported; .*sniffer
wqe create_flow EBUSY create_flow on mlx5_0:1: Device or resource busy; another program is sniffing
auto create_flow EBUSY create_flow on mlx5_0:1: Device or resource busy; another program is sniffing
LIST

# An existing capture survives a device that refuses
echo precious >"$tmp/precious"
model --fault verb=create_flow,errno=EOPNOTSUPP -- \
	"$RDMADUMP" -d mlx5_0 -w "$tmp/precious" 2>/dev/null
is "a refused capture leaves an existing file alone" "$(<"$tmp/precious")" precious

rx=auto
# No sniffer on an InfiniBand port of mlx5
run "InfiniBand port" 2 'create_flow on mlx5_0:1: Operation not supported' \
	--dev name=mlx5_0,link=ib --gen $gen --

# A completion that the library rejects: the frames before it in the batch are delivered, none of them twice
rx=verbs
run "a completion that cannot be polled" 0 'the completion queue cannot be polled.* restored' --gen $gen \
	--fault cqe=no_qp,frame=1000 --at-end sigint -- --json -b 7 -Z root
holds "a completion that cannot be polled: file readable" readable
is "a completion that cannot be polled: every frame before it" "$("$SOFTHCA_FRAMES" --hash "$tmp/out" --first 999)" \
	"$("$SOFTHCA_FRAMES" --first 999 $gen)"
is "a completion that cannot be polled: gaps" "$(json "$tmp/stdout" .gaps)" 1
is "a completion that cannot be polled: noted on one frame" "$(grep -c 'cannot be polled.*frames are missing' "$tmp/comments")" 1
delivered=$(json "$tmp/stdout" .frames.delivered)
is "a completion that cannot be polled: all in the file" "$(frames)" "$delivered"
is "a completion that cannot be polled: the capture went on" $((delivered > 1000 && delivered < 3000)) 1
run "the device is removed while the queue is replaced" 4 'mlx5_0:1 failed fatally or was removed' --gen count=100000,size=300 \
	--rate 20000 --latency create_cq=100 --fault cqe=no_qp,frame=1000 --fault fatal,after_ms=20 -- --json -Z root

rx=wqe
# The flow that was possible a moment ago is refused
run "$rx: second create_flow fails" 2 'create_flow on mlx5_0:1' --gen $gen \
	--fault verb=create_flow,errno=EOPNOTSUPP,nth=2 --
is "$rx: ... and is not announced as a capture" "$(grep -c '^rdmadump: capturing on' "$tmp/stderr")" 0

# Error completions: the queue is restored, the gap is noted, the rest is captured
for kind in loc_len loc_prot flush; do
	run "$rx: error completion $kind" 0 'restored' --gen $gen --fault "cqe=$kind,frame=1000" \
		--at-end sigint -- --json
	holds "$rx: error completion $kind: file readable" readable
	is "$rx: error completion $kind: a gap of unknown length, in the file, too" "$(jq -c '[.gaps, .lost_before_us.reason]' "$tmp/stdout"
		"$RDMADUMP" analyze --json "$tmp/out" 2>/dev/null | jq .capture.files[0].dropped)" $'[1,"the receive queue failed"]\nnull'
	delivered=$(json "$tmp/stdout" .frames.delivered)
	[ "$delivered" -ge 1900 ] && [ "$delivered" -lt 3000 ]
	ok "$rx: error completion $kind: the others were captured"
	is "$rx: error completion $kind: all in the file" "$(frames)" "$delivered"
	holds "$rx: error completion $kind: the gap is noted on a frame" grep -q 'restored: frames are missing' "$tmp/comments"
done

# A frame longer than the port's MTU says: the buffers grow, where they do not hold it anyway.
# More memory is pinned then, which containers let a process with capabilities do only.
grown='buffers are now'
[ $rx = wqe ] || grown=
run "$rx: frames longer than the buffers" 0 "$grown" --dev name=mlx5_0,mtu=1500 \
	--gen count=200,size=8000,seed=1 --at-end sigint -- --json -Z root
[ $rx = wqe ] || is "$rx: frames longer than the buffers: none lost" "$(frames)" 200
readable && [ "$(frames)" -gt 0 ] && [ "$(frames)" = "$(json "$tmp/stdout" .frames.written)" ]
ok "$rx: frames longer than the buffers: captured after growing"

# Port down and up again do not end it
run "$rx: port down and up" 0 'port down' --gen $gen --rate 5000 --fault port=down,frame=1000 \
	--fault port=up,after_ms=200 --at-end sigint --
has "$rx: port down and up: reported" "$tmp/stderr" 'port up'
is "$rx: port down and up: all frames" "$(frames)" 3000
readable && grep -q 'port down' "$tmp/comments"
ok "$rx: port down and up: noted on a frame"

# The device is removed: the captured frames are complete
run "$rx: device removed" 4 'mlx5_0:1 failed fatally or was removed' --gen $gen \
	--fault fatal,frame=1000 -- --json
holds "$rx: device removed: file readable" readable
[ "$(frames)" -ge 900 ] && [ "$(frames)" = "$(json "$tmp/stdout" .frames.written)" ]
ok "$rx: device removed: frames before it are in the file"
is "$rx: device removed: the report says so" "$(json "$tmp/stdout" .exit_status)" 4
has "$rx: device removed: the file says so" <(capinfos "$tmp/out") 'Ended by a fault'

# The completion queue overruns: a new one needs the privilege that was dropped
run "$rx: completion queue overrun, privileges dropped" 4 'overran.*could not be replaced: create_qp.*-Z root keeps it' --gen $gen \
	--fault event=cq_err,frame=1000 --at-end sigint -- --json
holds "$rx: completion queue overrun, privileges dropped: file readable" readable
[ "$(frames)" -ge 900 ] && [ "$(frames)" = "$(json "$tmp/stdout" .frames.written)" ]
ok "$rx: completion queue overrun, privileges dropped: frames before it are in the file"
run "$rx: completion queue overrun" 0 'overran' --gen $gen --fault event=cq_err,frame=1000 \
	--at-end sigint -- --json -Z root
holds "$rx: completion queue overrun: file readable" readable
is "$rx: completion queue overrun: gaps" "$(json "$tmp/stdout" .gaps)" 1

tap_done
