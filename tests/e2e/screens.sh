#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The text of `rdmadump analyze` fits the terminal, 80 columns where there is none: no line is wider but one
# with a single word, or a pair of addresses, that is.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd script python3

# fits COLUMNS FILE...: no line is too wide, and tables have a line per pair where its name fits
fits() {
	local columns=$1
	shift
	! sed 's/\x1b\[[0-9;]*m//g; s/\r*$//' "$@" | LC_ALL=C.UTF-8 grep -E "^.{$((columns + 1))}" | grep -vE '^ *[^ ]+( -> [^ ]+)?$'
}

captures=("$TEST_DATA"/roce/*/*.pcap.zst "$TEST_DATA"/apps/*.pcap*)
[ -z "${TEST_FULL-}" ] && captures=("$TEST_DATA"/roce/{1,3}*/b.pcap.zst)
mkdir "$tmp/short" "$tmp/long"
for f in "${captures[@]}"; do
	name=$(basename "$(dirname "$f")")-$(basename "$f")
	an "$f" >"$tmp/short/$name" 2>&1
	an -v "$f" >"$tmp/long/$name" 2>&1
done
holds "${#captures[@]} captures" [ "${#captures[@]}" -ge 8 ]
holds "80 columns where there is no terminal" fits 80 "$tmp"/short/*
holds "... with all details and tables" fits 80 "$tmp"/long/*

# Two ends of the same traffic; the line above the report of each capture is as long as the name of its file.
pairs=("$TEST_DATA"/roce/*/)
[ -z "${TEST_FULL-}" ] && pairs=("$TEST_DATA"/roce/{10,15,57}_*/)
mkdir "$tmp/pairs"
for d in "${pairs[@]}"; do
	name=$(basename "$d")
	[ "$name" = 32_no_rdma ] && continue
	an --ends always "$d"/[ab].pcap.zst 2>&1 | grep -v '^== [AB]: ' >"$tmp/pairs/$name"
	an --ends always -v "$d"/[ab].pcap.zst 2>&1 | grep -v '^== [AB]: ' >"$tmp/pairs/$name-v"
done
is "two ends of each" "$(grep -l '^TO QP' "$tmp"/pairs/* | grep -c .)" "$(find "$tmp/pairs" -type f | grep -c .)"
holds "... 80 columns" fits 80 "$tmp"/pairs/*

# on_terminal COLUMNS CAPTURE [OPTION...]: what is shown on a terminal of that width
on_terminal() {
	local columns=$1 f=$2
	shift 2
	TERM=xterm script -qec "stty cols $columns rows 24; '$RDMADUMP' analyze $* '$f'" /dev/null </dev/null 2>&1
}
for columns in 40 80 132; do
	for f in 10_rc_write_loss/b 15_ipv6/a 17_rnr_nak/a; do
		on_terminal "$columns" "$TEST_DATA/roce/$f.pcap.zst" -v >"$tmp/at.${f%/*}"
	done
	holds "$columns columns" fits "$columns" "$tmp"/at.*
	for d in 15_ipv6 57_router_loss 58_router_reorder; do
		on_terminal "$columns" "$TEST_DATA/roce/$d/b.pcap.zst" -v --ends always "$TEST_DATA/roce/$d/a.pcap.zst" |
			grep -v '^== [AB]: ' >"$tmp/pair.$d"
	done
	holds "... of two ends" fits "$columns" "$tmp"/pair.*
	is "... words are whole" "$(tr -s ' \r\n' ' ' <"$tmp/at.10_rc_write_loss" | grep -c 'because the receiver\|look at its tx_discards, at symbol and link errors')" 1
done
has "132 columns: all of a table" "$tmp/at.10_rc_write_loss" '^10\.77\.0\.2:0x19 -> 10\.77\.0\.1:0x18 WRITE +1 333 +23\.. Mb/s +863 +10 +0 +0 +[0-9.]+ [mu]s +[0-9.]+ [mu]s'
on_terminal 80 "$TEST_DATA/roce/10_rc_write_loss/b.pcap.zst" >"$tmp/shown"
has "80 columns: a line for each pair" "$tmp/shown" '^10\.77\.0\.2:0x19 -> 10\.77\.0\.1:0x18 WRITE +1 333 +23\.. Mb/s +863 +10 +[0-9.]+ [mu]s'
has "... and it says which columns are not there" "$tmp/shown" '^columns left out, empty or 0: RNR, CNP'
has "... for either reason" "$tmp/shown" '^columns left out, no room: p99'
# What is shown until the next line takes its place
for columns in 40 80; do
	model -- script -qec "stty cols $columns; cd $tmp && '$RDMADUMP' selftest --probe objects mlx5_0 2>&1 >probes" /dev/null </dev/null |
		tr '\r' '\n' | grep '^objects' >"$tmp/at.status"
	is "$columns columns: a row of the terminal" "$(tr -d '\n' <"$tmp/at.status" | wc -c)" "$columns"
	model --gen count=1 --at-end sigint -- script -qec "stty cols $columns; '$RDMADUMP' -d mlx5_0 -w $tmp/o" /dev/null </dev/null >"$tmp/at.messages"
	holds "... messages and the report of a capture" fits "$columns" "$tmp/at.messages"
	has "... whole words" "$tmp/at.messages" '^ +(clock|software clock), 16384 buffers'
done

# addresses that leave no room for anything else
on_terminal 40 "$TEST_DATA/roce/15_ipv6/a.pcap.zst" >"$tmp/shown"
has "40 columns: values below their pair" "$tmp/shown" '^  +(READ|WRITE|SEND)\+? +[0-9]'

# more QPs than are followed: the first screen says so
an --max-qps 4 "$TEST_DATA/roce/20_mixed/a.pcap.zst" >"$tmp/shown" 2>&1
tr -s ' \n' ' ' <"$tmp/shown" >"$tmp/line"
has "QPs that are not followed: the verdict names them" "$tmp/line" 'This is of the QPs that were followed: there are more '
is "... which is not said where all are followed" "$(cat "$tmp"/short/* | grep -c 'beyond the first')" 0
as_said screens
tap_done
