#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Few open files: the soft limit is raised, then fewer queues are used; no frame is lost.
. "${srcdir:-.}/tests/tap.sh"
need_tool prlimit jq
# The limits below count from the standard descriptors.
for fd in /proc/self/fd/*; do
	fd=${fd##*/}
	[ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
done
count=5000
gen=count=$count,size=200,qps=32
mkdir "$tmp/a" "$tmp/b"

# capture LIMITS ARGUMENTS...: the summary in $tmp/report; messages in $tmp/log
capture() {
	local limits=$1
	shift
	rm -f "$tmp"/o*
	model --gen $gen --at-end sigint -- prlimit --nofile="$limits" "$RDMADUMP" -d mlx5_0 --json --when-full wait "$@" \
		>"$tmp/report" 2>"$tmp/log"
	status=$?
}
# whole NAME QUEUES: exit status, frames, queues
whole() {
	is "$1: exit status" "$status" 0
	is "$1: every frame" "$(jq .frames.written "$tmp/report")" $count
	has "$1: queues" "$tmp/log" ", $2 queues?( |;|$|\()"
}

capture 40:40 --queues 4 -w "$tmp/o"
is "40 files: exit status" "$status" 0
is "40 files: every frame" "$(jq .frames.written "$tmp/report")" $count
has "40 files: fewer queues, why and what to do" "$tmp/log" \
	'warning: mlx5_0 port 1: (1 queue|2 queues) instead of 4: only 40 files may be open; raise the hard limit'
capture 40:200 --queues 4 -w "$tmp/o"
whole "40 files, which may be raised" 4
! grep -q warning "$tmp/log"
ok "40 files, which may be raised: no warning" "$tmp/log"
capture 10:10 -w "$tmp/o"
is "10 files: exit status" "$status" 2
has "10 files: what to do" "$tmp/log" 'Too many open files; .*ulimit -n'

# With every limit, as many queues as fit are used, and nothing fails.
limits=(34 36 44 52 60 68 76 90)
[ -z "${TEST_FULL-}" ] && limits=(34 60 76)
for limit in "${limits[@]}"; do
	capture "$limit:$limit" --queues 8 -w "$tmp/o"
	is "$limit files, 8 queues: exit status and frames" "$status $(jq .frames.written "$tmp/report")" "0 $count"
done
capture 200:200 --queues 8 -w "$tmp/o"
whole "200 files, 8 queues" 8

tap_done
