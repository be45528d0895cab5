#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory of the receive ring and of the chunks: on the device's NUMA node, in huge pages only where asked for.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool strace jq
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

calls "--huge-pages" --huge-pages -b 10
# The default size of a huge page may be 512 MiB (arm64) or 1 GiB: a multiple of 2 MiB could then not be unmapped.
has "--huge-pages: asks for reserved ones of 2 MiB" "$tmp/calls" 'mmap\(NULL, 2097152, .*MAP_HUGETLB\|21<<MAP_HUGE_SHIFT'
if grep -q 'MAP_HUGETLB.*ENOMEM' "$tmp/calls"; then
	has "--huge-pages: none are reserved, and that is said" "$tmp/log" 'no 2\.0 MiB of reserved huge pages: .*hugepages-2048kB/nr_hugepages'
fi

# The access flags that the device sees: one ring, four rings, one that was exchanged for a larger one
relaxed() {
	local want=$1
	shift
	model --stats "$tmp/stats" --dev name=mlx5_0,context=ioctl --gen "count=1000,size=${size:-300}" --at-end sigint -- \
		"$RDMADUMP" -q -d mlx5_0 -b 8 "$@" -w "$tmp/out" 2>"$tmp/log"
	is "$*: exit status" $? 0
	is "$*: regions with relaxed ordering, of all" "$(jq -c '.devices[0] | [.relaxed_mrs, .created.mrs]' "$tmp/stats")" "$want"
}
for mode in wqe verbs; do
	relaxed '[0,1]' --rx-mode $mode
	relaxed '[1,1]' --rx-mode $mode --relaxed-ordering
done
relaxed '[0,4]' --queues 4
relaxed '[4,4]' --queues 4 --relaxed-ordering
size=1400 relaxed '[2,2]' --max-frame 1024 --relaxed-ordering

tap_done
