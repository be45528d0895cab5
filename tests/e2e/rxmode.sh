#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# All receive modes give the same frames: mlx5 read directly, one frame to an entry or many, and libibverbs.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

count=300000 rings="1 4 10 14" bursts=30000,3000
[ -n "${TEST_FULL-}" ] || count=4000 rings="1 10" bursts=3000,500
gen=count=$count,size=60-3000,qps=8,seed=11
want=$("$SOFTHCA_FRAMES" "$gen")
large=count=${bursts%,*},size=60-9216,seed=3

for mode in auto wqe verbs; do
	# small rings wrap often, large ones rarely; an odd buffer size must not matter
	for ring in $rings; do
		model --dev name=mlx5_0,mtu=4200 --gen "$gen" --at-end sigint --stats "$tmp/stats" -- \
			"$RDMADUMP" -d mlx5_0 --rx-mode $mode -b "$ring" --max-frame 3001 --when-full wait \
			--json --debug -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
		is "$mode, ring of 2^$ring: exit status" $? 0
		is "$mode, ring of 2^$ring: byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$want"
		is "$mode, ring of 2^$ring: nothing left on the device" \
			"$(jq -r '[.leaked[]?] | add // 0' "$tmp/stats")" 0
	done
	case $mode in # the last ring was a large one
	auto | wqe) by='mlx5$' ;;
	verbs) by='libibverbs' ;;
	esac
	has "$mode: the way to receive" "$tmp/log" "receiving by $by"

	# it sleeps, wakes, and loses nothing, at a pace that lets it sleep between frames
	model --gen count=40,size=200,seed=2 --rate 400 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q --json --rx-mode $mode -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
	is "$mode, slow traffic: all written" "$(json "$tmp/report" .frames.written)" 40

	# all sizes, the largest over many strides; the ring is emptied and filled again and again
	model --dev name=mlx5_0,mtu=9000 --gen "$large" --burst ${bursts#*,},2000 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q --rx-mode $mode -b 8 --max-frame 9216 --when-full wait -w "$tmp/out" 2>"$tmp/log"
	is "$mode, 60 to 9216 bytes in bursts: byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" \
		"$("$SOFTHCA_FRAMES" "$large")"

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

# auto does without what the device refuses
for refused in rss rss_sniffer; do
	model --dev name=mlx5_0,$refused=no --gen count=1000,size=300 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 --debug -w "$tmp/out" 2>"$tmp/log"
	exits "auto, $refused=no" 0 "$tmp/log" 'receiving by mlx5$'
done
"$RDMADUMP" --rx-mode fast 2>"$tmp/log"
exits "--rx-mode fast" 1 "$tmp/log" "'fast' is not one of auto, wqe, verbs"

tap_done
