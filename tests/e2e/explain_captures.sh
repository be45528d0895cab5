#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump explain --with: the queue pair of a line in captures of one and of both ends.
. "${srcdir:-.}/tests/tap.sh"

roce=$srcdir/tests/data/roce
need_tool jq zstd
explain() { said explain "$@" 2>"$tmp/err"; }
# pairs: "by, the QPs, rules' titles" of what fits
pairs() { jq -r '.captures[] | "\(.by | join("+")): \(.here.qp) \(.peer.qp) of \(.fits): \([.happened[].title] | join("; "))"'; }

refused='the receiver refused a request: NAK "remote access error"'
rkey=$roce/44_bad_rkey
is "by QP and how it ended" "$(explain --json --with "$rkey/a.pcap.zst" 'completion with error 10, QP 0x61' | pairs)" \
	"QP+how its requests ended: 97 96 of 1: $refused"
is "by the QP of the peer" "$(explain --json --with "$rkey/a.pcap.zst" 'completion with error 10, dest qpn 0x60' | pairs)" \
	"QP of the peer+how its requests ended: 97 96 of 1: $refused"
is "by the address of the peer: all that fit" "$(explain --json --with "$rkey/a.pcap.zst" 'completion from peer 10.77.0.1<1> with status=10' | jq -c '[.captures[] | [.peer.qp, .fits]]')" '[[95,3],[96,3],[97,3]]'
explain --with "$rkey/a.pcap.zst" --with "$rkey/b.pcap.zst" 'completion with error 10, QP 0x61' >"$tmp/out"
exits "both ends" 0 "$tmp/out" 'refused: READ of 3000 bytes'
explain --with "$rkey/a.pcap.zst" 'completion with error 10, QP 0x999' >"$tmp/out"
is "of a log, the line that is no consequence" "$(printf '%s\n' 'completion with error 5, QP 0x60' 'completion with error 10, QP 0x62' |
	explain --json --with "$rkey/a.pcap.zst" - | pairs | cut -d: -f1-2)" 'QP+how its requests ended: 98 97 of 1'
is "both ends: each pair once" \
	"$(explain --json --with "$rkey/a.pcap.zst" --with "$rkey/b.pcap.zst" 'completion from peer 10.77.0.1<1> with status=10' | jq -c '[.captures[] | [.peer.qp, .fits, ([.happened[].title] | length, length - (unique | length))]]')" '[[95,3,1,0],[96,3,1,0],[97,3,1,0]]'

cp "$rkey"/[ab].pcap.zst "$tmp" && zstd -dcq "$rkey/b.pcap.zst" >"$tmp/third.pcap"
is "three points: each pair once" \
	"$(explain --json --with "$tmp/a.pcap.zst" --with "$tmp/b.pcap.zst" --with "$tmp/third.pcap" 'completion from peer 10.77.0.1<1> with status=10' | jq -c '[.captures[] | [.peer.qp, .fits, ([.happened[].title] | length, length - (unique | length))]]')" '[[95,3,1,0],[96,3,1,0],[97,3,1,0]]'

# --- the time of the line ---------------------------------------------------------------------------

talks() { python3 "$srcdir/tests/e2e/made.py" talks "$@"; }
talks "$tmp/again.pcap" 0:1:7:0x62 3600:3:5:0x62
# found LINE: peers, found by what, certainties, doubt
found() { TZ=UTC0 explain --json --with "$tmp/again.pcap" "$1" | jq -r '.captures[] | "\(.peer.address) \(.by | join("+")) \([.happened[].certainty] | unique | join("+"))\(if .doubt != "" then ": " + .doubt else "" end)"'; }
error='completion with error 10, QP 0x9'
is "a QP number that is used again, a line without time: both" "$(found "$error" | sort | cut -d' ' -f1 | tr '\n' ' ')" "10.0.0.1 10.0.0.3 "
for time in '2026-11-22T10:00:03.5Z' '2026-11-22 10:00:03' '2026-11-22T11:00:03+01:00' '[2026-11-22 08:00:03-0200]' 'Nov 22 10:00:03' 'E1122 10:00:03.25' '[1795341603.100000]'; do
	is "$time: the first" "$(found "$time $error")" "10.0.0.1 QP+time+how its requests ended certain"
done
is "the second" "$(found "2026-11-22T11:00:03.5Z $error")" "10.0.0.3 QP+time+how its requests ended certain"
is "a time since the kernel's start says nothing" "$(found "[ 3603.5] $error" | wc -l)" 2
is "between the two: the first, soon after its end" "$(found "2026-11-22T10:00:31Z $error")" "10.0.0.1 QP+how its requests ended certain"
is "... and long after it" "$(found "2026-11-22T10:30:03Z $error")" \
	"10.0.0.1 QP+how its requests ended likely: the packets of this queue pair end 1800 s before the line: another one may have had its number"
is "the capture begins later" "$(found "2026-11-22T09:59:00Z $error")" \
	"10.0.0.1 QP+how its requests ended likely: the capture begins 60 s after the line: it may lack the cause"
is "the capture ends before, and the line has no zone" "$(found "2026-11-22 12:00:03 $error")" \
	"10.0.0.3 QP+how its requests ended likely: the capture ends 3600 s before the line: it may lack the cause (the line has no time zone: that of this machine is taken)"
explain --with "$tmp/again.pcap" "2026-11-22T12:00:03Z $error" >"$tmp/out"
is "... the doubt once" "$(tr -s ' \n' ' ' <"$tmp/out" | grep -o 'the capture ends 3600 s before the line' | wc -l)" 1
is "... and no verdict, which would be of another time" "$(grep -c '^  verdict' "$tmp/out")" 0
talks "$tmp/again.pcap" 0:1:7:0x1f 3600:1:7:0x62
is "the same pair again: it happened after the line" "$(found "2026-11-22T10:00:03Z $error")" "10.0.0.1 QP+time+how its requests ended likely+possible"
is "... and not after this one" "$(found "2026-11-22T11:00:03Z $error")" "10.0.0.1 QP+time+how its requests ended certain+possible"
talks "$tmp/again.pcap" 0:1:7:0x62
talks "$tmp/other.pcap" 0:1:7:0x62 3600:1:7:0x61:4
is "both ends, of which one has another host that uses the same QPs later" \
	"$(TZ=UTC0 explain --json --with "$tmp/again.pcap" --with "$tmp/other.pcap" "2026-11-22T10:00:03Z $error" | pairs)" \
	"QP+time+how its requests ended: 9 7 of 1: $refused"
fits "the schema" explain <(explain --json --with "$tmp/again.pcap" "2026-11-22T12:00:03Z $error")

# --- directories, as a bundle has one ------------------------------------------------------------------

mkdir -p "$tmp/b/captures"
cp "$rkey/a.pcap.zst" "$tmp/b/captures/"
is "a directory" "$(explain --json --with "$tmp/b/captures" 'completion with error 10, QP 0x61' | pairs)" \
	"QP+how its requests ended: 97 96 of 1: $refused"
cp "$rkey/b.pcap.zst" "$tmp/b.pcap.zst"
is "... and the other end: the queue pair once" "$(explain --json --with "$tmp/b/captures" --with "$tmp/b.pcap.zst" 'completion with error 10, QP 0x61' | pairs)" \
	"QP+how its requests ended: 97 96 of 1: $refused"

# --- what cannot be read ----------------------------------------------------------------------------

explain --with "$tmp/absent" 'completion with error 12' >"$tmp/out"
exits "no such capture" 2 "$tmp/out" 'IBV_WC_RETRY_EXC_ERR'
has "no such capture: why" "$tmp/err" "absent'.*No such file"
zstd -qdc "$roce/48_retry_exhausted/a.pcap.zst" >"$tmp/whole"
head -c 3000 "$tmp/whole" >"$tmp/cut"
explain --with "$tmp/cut" 'completion with error 12, dest qpn 0x67' >"$tmp/out"
exits "a damaged capture" 4 "$tmp/out" 'QP pair   10.77.0.2 -> 10.77.0.1 QP 0x67; found by '
as_said explain_captures
tap_done
