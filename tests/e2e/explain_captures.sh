#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump explain --with: the queue pair of a line in captures of one and of both ends.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

roce=$srcdir/tests/data/roce
explain() { "$RDMADUMP" explain "$@" 2>"$tmp/err"; }
# pairs: "by, the QPs, rules' titles" of what fits
pairs() { jq -r '.captures[] | "\(.by | join("+")): \(.here.qp) \(.peer.qp) of \(.fits): \([.happened[].title] | join("; "))"'; }

refused='the receiver refused a request: NAK "remote access error"'
rkey=$roce/44_bad_rkey
is "by QP and how it ended" "$(explain --json --with "$rkey/a.pcap.zst" 'completion with error 10, QP 0x61' | pairs)" \
	"QP+how its requests ended: 97 96 of 1: $refused"
is "by the address of the peer: all that fit" "$(explain --json --with "$rkey/a.pcap.zst" 'completion from peer 10.77.0.1<1> with status=10' | jq -c '[.captures[] | [.peer.qp, .fits]]')" '[[95,3],[96,3],[97,3]]'
explain --with "$rkey/a.pcap.zst" --with "$rkey/b.pcap.zst" 'completion with error 10, QP 0x61' >"$tmp/out"
is "both ends: exit status" $? 0
has "both ends: what was refused" "$tmp/out" 'refused: READ of 3000 bytes'
has "both ends: their verdict" "$tmp/out" 'seen from these two captures'
explain --with "$rkey/a.pcap.zst" 'completion with error 10, QP 0x999' >"$tmp/out"
has "none fits" "$tmp/out" 'in the captures: no queue pair fits'
is "of a log, the line that is no consequence" "$(printf '%s\n' 'completion with error 5, QP 0x60' 'completion with error 10, QP 0x62' |
	explain --json --with "$rkey/a.pcap.zst" - | pairs | cut -d: -f1-2)" 'QP+how its requests ended: 98 97 of 1'
is "both ends: each pair once" \
	"$(explain --json --with "$rkey/a.pcap.zst" --with "$rkey/b.pcap.zst" 'completion from peer 10.77.0.1<1> with status=10' | jq -c '[.captures[] | [.peer.qp, .fits]]')" '[[95,3],[96,3],[97,3]]'
explain --with "$tmp/absent" 'completion with error 12' >"$tmp/out"
is "no such capture: exit status" $? 2
has "no such capture: the line is explained" "$tmp/out" 'IBV_WC_RETRY_EXC_ERR'
has "no such capture: why" "$tmp/err" "absent'.*No such file"
zstd -qdc "$roce/48_retry_exhausted/a.pcap.zst" >"$tmp/whole"
head -c 3000 "$tmp/whole" >"$tmp/cut"
explain --with "$tmp/cut" 'completion with error 12, dest qpn 0x67' >"$tmp/out"
is "a damaged capture: exit status" $? 4
has "a damaged capture: as far as it goes" "$tmp/out" 'QP pair   10.77.0.2 -> 10.77.0.1 QP 0x67'
tap_done
