#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Frames in = frames out, byte for byte and in order: every real capture in every format, and many
# generated frames of mixed sizes. The comparing program reads through libpcap, not through ours.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq python3

count=10000000 ib_count=20000
[ -n "${TEST_FULL-}" ] || count=20000 ib_count=4000

hash_of() {
	if [ "$format" = erf ]; then # which libpcap does not read
		python3 "$srcdir/tests/e2e/captures.py" unwrap "$1" "$tmp/unwrapped" && "$SOFTHCA_FRAMES" --hash "$tmp/unwrapped"
	else
		"$SOFTHCA_FRAMES" --hash "$1"
	fi
}

# Some hold TCP that the kernel had merged to 64 KiB, more than the model's port should carry
for capture in "$TEST_DATA"/roce/*/a.pcap.zst "$TEST_DATA"/roce/[0-3]*/b.pcap.zst; do
	name=$(basename "$(dirname "$capture")")/$(basename "$capture" .pcap.zst)
	zstd -q -d -f -o "$tmp/in.pcap" "$capture"
	want=$("$SOFTHCA_FRAMES" --hash "$tmp/in.pcap")
	for format in pcapng pcap pcap-us erf; do
		model --pcap "$tmp/in.pcap" --at-end sigint -- \
			"$RDMADUMP" -d mlx5_0 -q -b 10 --max-frame 64Ki --when-full wait --format "$format" -w "$tmp/out" \
			>"$tmp/log" 2>&1
		status=$?
		is "$name through $format" "$status $(hash_of "$tmp/out" 2>&1)" "0 $want"
	done
	[ -n "${TEST_FULL-}" ] || break
done

# InfiniBand, on a port that takes a sniffer as ConnectX-3 does: ERF in every container, and bare
gen=count=$ib_count,size=60-4096,qps=8,seed=3
want=$("$SOFTHCA_FRAMES" --ib "$gen")
for format in pcapng pcap pcap-us erf pcapng,dlt=247 pcap,dlt=247; do
	model --dev name=mlx5_0,link=ib,ib_sniffer=1 --gen "$gen" --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q --format "$format" --when-full wait -w "$tmp/out" >"$tmp/log" 2>&1
	is "InfiniBand through $format" "$? $(hash_of "$tmp/out" 2>&1)" "0 $want"
done

gen=count=$count,size=60-9216,qps=16,seed=7
want=$("$SOFTHCA_FRAMES" "$gen")
model --dev name=mlx5_0,mtu=9216 --gen "$gen" --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q --json --when-full wait -w - 2>"$tmp/report" |
	"$SOFTHCA_FRAMES" --hash - >"$tmp/got"
is "$count generated frames of 60 to 9216 bytes" "$(<"$tmp/got")" "$want"
is "... all delivered" "$(json "$tmp/report" .frames.delivered)" "$count"
is "... all written" "$(json "$tmp/report" .frames.written)" "$count"

tap_done
