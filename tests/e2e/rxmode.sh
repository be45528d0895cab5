#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Both ways to receive give the same: mlx5 read directly, and through libibverbs.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

count=300000
[ -z "${TEST_QUICK-}" ] || count=40000
gen=count=$count,size=60-3000,qps=8,seed=11
want=$("$SOFTHCA_FRAMES" "$gen")

for mode in auto verbs; do
	# small rings wrap often, large ones rarely; an odd buffer size must not matter
	for ring in 1 4 10 14; do
		model --dev name=mlx5_0,mtu=4200 --gen "$gen" --at-end sigint --stats "$tmp/stats" -- \
			"$RDMADUMP" -d mlx5_0 --rx-mode $mode -b $ring --max-frame 3001 --when-full wait \
			--json --debug -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
		is "$mode, ring of 2^$ring: exit status" $? 0
		is "$mode, ring of 2^$ring: byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$want"
		is "$mode, ring of 2^$ring: nothing left on the device" \
			"$(jq -r '[.leaked[]?] | add // 0' "$tmp/stats")" 0
	done
	if [ $mode = auto ]; then
		has "auto: mlx5 is received directly" "$tmp/log" 'receiving by mlx5'
	else
		has "verbs: received through libibverbs" "$tmp/log" 'receiving by libibverbs'
	fi

	# it sleeps, wakes, and loses nothing, at a pace that lets it sleep between frames
	model --gen count=400,size=200,seed=2 --rate 400 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q --json --rx-mode $mode -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
	is "$mode, slow traffic: all written" "$(json "$tmp/report" .frames.written)" 400

	# several error completions, one after the other
	model --gen count=6000,size=300,seed=4 --fault cqe=loc_prot,frame=1000 --fault cqe=flush,frame=2500 \
		--fault cqe=loc_len,frame=4000 --at-end sigint --stats "$tmp/stats" -- \
		"$RDMADUMP" -d mlx5_0 -q --json --rx-mode $mode -b 6 -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
	is "$mode, three errors: exit status" $? 0
	is "$mode, three errors: gaps" "$(json "$tmp/report" .gaps)" 3
	is "$mode, three errors: in the file" "$("$SOFTHCA_FRAMES" --hash "$tmp/out" | awk '{print $1}')" \
		"$(json "$tmp/report" .frames.delivered)"
	[ "$(json "$tmp/report" .frames.delivered)" -ge 5800 ]
	ok "$mode, three errors: the rest was captured" "$tmp/report"
done

tap_done
