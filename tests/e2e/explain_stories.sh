#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump explain --with: from an application's line and both ends' captures to the side and the cause, in real traffic of
# soft-RoCE between two machines. tests/vm/pair.sh made it; what happened is known from there, and from the completions.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

mkdir "$tmp/stories"
tar --zstd -xf "$srcdir/tests/data/explain/stories.tar.zst" -C "$tmp/stories"
explained() { said explain --json --with "$1"/a.pcap* --with "$1"/b.pcap* "$2" 2>"$tmp/err"; }

# DIRECTORY | what the application prints | QPs of both ends | findings | what the verdict says of side and cause
stories='
roce/44_bad_rkey|completion with error 10, opcode 0, QP 0x60|96 95|NAK "remote access error"|10.77.0.1 refused a request of 10.77.0.2: it may not access that memory.*no fault of the network.*where: the application
roce/44_bad_rkey|status 10 (remote access error) for QP 0x61|97 96|NAK "remote access error"|no fault of the network
roce/44_bad_rkey|IBV_WC_REM_ACCESS_ERR on qpn 0x62|98 97|NAK "remote access error"|no fault of the network
roce/45_not_allowed|completion with error 9, QP 0x63|99 98|NAK "invalid request"|10.77.0.1 refused a request of 10.77.0.2 as invalid.*no fault of the network
roce/45_not_allowed|completion with error 9, QP 0x64|100 99|NAK "invalid request"|no fault of the network
roce/45_not_allowed|completion with error 9, QP 0x65|101 100|NAK "invalid request"|no fault of the network
roce/46_too_long|status 11 (remote operation error)|102 101|NAK "remote operational error"|10.77.0.1 could not execute a request of 10.77.0.2, by its own error.*where: the NIC or the application on 10.77.0.1
roce/47_rnr_exhausted|status 13 (RNR retry counter exceeded)|103 102|was not ready|10.77.0.1 was not ready.*where: the application on 10.77.0.1
roce/48_retry_exhausted|completion with error 12, dest qpn 0x67|null 103|no response was captured|10.77.0.2 repeats its requests, and no response of 10.77.0.1
roce/48_retry_exhausted|completion with error 12, dest qpn 0x68|null 104|no response was captured|10.77.0.2 repeats its requests, and no response of 10.77.0.1
peer_killed|status 12 (transport retry counter exceeded)|17 17|responses stopped|10.77.0.1 stopped responding to 10.77.0.2.*where: the NIC or the application on 10.77.0.1
peer_stopped|status 13 (RNR retry counter exceeded)|18 18|was not ready|10.77.0.1 was not ready.*where: the application on 10.77.0.1
gid_gone|status 12 (transport retry counter exceeded)|19 19|receiver lost its GID|10.77.0.1 lost the GID at which 10.77.0.2 reaches it
link_down|status 12 (transport retry counter exceeded)|20 20|sender gave up|link of 10.77.0.1 went down
qp_destroyed|status 12 (transport retry counter exceeded)|17 17|responses stopped|10.77.0.1 stopped responding to 10.77.0.2.*where: the NIC or the application on 10.77.0.1
mr_gone|status 10 (remote access error)|18 18|NAK "remote access error"|it may not access that memory.*no fault of the network
mtu_ends|status 9 (remote invalid request error)|19 19|NAK "invalid request"|10.77.0.1 refused a request of 10.77.0.2 as invalid.*no fault of the network.*path MTU
wrong_gid|status 12 (transport retry counter exceeded)|20 20|no response was captured|no response of 10.77.0.1 is seen.*where: the NIC or the application on 10.77.0.1
wrong_vlan|status 12 (transport retry counter exceeded)|17 17|no response was captured|no response of 10.78.0.1 is seen.*where: the NIC or the application on 10.78.0.1
path_mtu|status 12 (transport retry counter exceeded)|17 17|only long packets are lost|Long packets from 10.77.2.2 to 10.77.1.1 are lost between the two capture points.*smaller MTU.*where: the fabric
priority_loss|status 12 (transport retry counter exceeded), qp 0x14|20 20|packets are lost between the two capture points|10.77.2.2 got no response of 10.77.1.1 in time, since packets are lost between the two capture points.*where: the fabric
path_loss|status 12 (transport retry counter exceeded)|18 18|packets are lost|Packets from 10.77.2.2 to 10.77.1.1 are lost between the two capture points.*where: the fabric
'
while IFS='|' read -r where line qps finding verdict; do
	[ -n "$where" ] || continue
	case $where in
	roce/*) at=$srcdir/tests/data/$where ;;
	*) at=$tmp/stories/$where ;;
	esac
	explained "$at" "$line" >"$tmp/out"
	is "$where, $line: the queue pair" "$(jq -r '.captures[] | "\(.here.qp) \(.peer.qp) of \(.fits)"' "$tmp/out")" "$qps of 1"
	jq -r '.captures[].happened[].title' "$tmp/out" >"$tmp/titles"
	has "... what happened" "$tmp/titles" "$finding"
	jq -r '.captures[0].verdict' "$tmp/out" | paste -sd' ' >"$tmp/verdict"
	has "... whose side, and why" "$tmp/verdict" "$verdict"
	is "... nothing of the cause is certain that is not" \
		"$(jq -r '.captures[].happened[] | select(.certainty == "certain") | .title' "$tmp/out" | grep -Ev 'NAK|the link of')" ""
	[ "$at" != "$tmp/stories/$where" ] || is "... the processes at both ends" \
		"$(jq -c '.captures[] | [.here.owner.comm, .peer.owner.comm]' "$tmp/out")" '["traffic","traffic"]'
done <<<"$stories"
line='status 12 (transport retry counter exceeded)'
is "the counters that grew at both ends" "$(explained "$tmp/stories/gid_gone" "$line" | jq -r '.captures[].counters[] | "\(.capture) \(.where): \(.title)"' | cut -d' ' -f1-6)" \
	"$(printf '%s\n' '0 rxe0 port 1: duplicate_request grew' '1 rxe0 port 1: retry_exceeded_err grew' '1 rxe0 port 1: completer_retry_err grew')"
said explain --with "$tmp"/stories/gid_gone/a.pcap* --with "$tmp"/stories/gid_gone/b.pcap* "$line" >"$tmp/out"
has "... as text" "$tmp/out" '^  counters  capture 1, rxe0 port 1: duplicate_request grew by at least 15 in$'
as_said explain_stories
tap_done
