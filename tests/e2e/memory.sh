#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory of the receive ring and of the chunks: on the device's NUMA node, in transparent huge pages.
. "${srcdir:-.}/tests/tap.sh"
need_tool strace
# The leak checker cannot run in a traced program.
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
strace -o /dev/null -e trace=mbind true 2>/dev/null || skip_all "strace may not trace here"

# calls NAME ARGUMENT...: the system calls of a capture in $tmp/calls
calls() {
	local name=$1
	shift
	rm -f "$tmp/out"
	model --gen count=1000,size=300 --at-end sigint -- strace -f -s 200 -o "$tmp/calls" -e trace=mbind,mmap,madvise,sched_setaffinity \
		"$RDMADUMP" -d mlx5_0 "$@" -w "$tmp/out" >/dev/null 2>"$tmp/log"
	is "$name: exit status" $? 0
	is "$name: all frames" "$("$SOFTHCA_FRAMES" --hash "$tmp/out" | cut -d' ' -f1,2)" "1000 300000"
}
bound() { grep -cE "mbind\(0x[0-9a-f]+, $1, MPOL_PREFERRED, \[0x0+1" "$tmp/calls"; }

for mode in wqe verbs; do
	calls "$mode" --rx-mode $mode -b 10 --buffer-size 8Mi
	[ "$(bound '[0-9]+')" -ge 2 ]
	ok "$mode: ring and chunks prefer the device's node" "$tmp/calls"
	is "$mode: the chunks, all of them" "$(bound 8388608)" 1
	! grep -q MAP_HUGETLB "$tmp/calls"
	ok "$mode: no reserved huge pages" "$tmp/calls"
	has "$mode: transparent ones" "$tmp/calls" 'MADV_HUGEPAGE'
	has "$mode: the thread that receives stays near the device" "$tmp/calls" 'sched_setaffinity\(0, '
done
calls "four queues" --queues 4 -b 8 --buffer-size 8Mi
[ "$(bound '[0-9]+')" -ge 8 ]
ok "four queues: each has its ring and its chunks there" "$tmp/calls"

tap_done
