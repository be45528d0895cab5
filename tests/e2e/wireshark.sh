#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Our files read by Wireshark's tools and tcpdump: texts, clock, direction, link types.
. "${srcdir:-.}/tests/tap.sh"
need_tool tshark capinfos tcpdump mergecap editcap zstd

model --dev name=mlx5_0,netdev=enp1s0f0np0,fw=16.35.2000,mac=0c:42:a1:00:00:02 \
	--gen count=500,size=60-1500,seed=9 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q -w "$tmp/out.pcapng" >"$tmp/log" 2>&1
ok "a capture" "$tmp/log"
capinfos "$tmp/out.pcapng" >"$tmp/info" 2>&1
ok "capinfos reads it" "$tmp/info"
has "interface name" "$tmp/info" 'Name = mlx5_0:1'
has "interface description names netdev and clock" "$tmp/info" 'Description = enp1s0f0np0, RoCE, .*time ?stamps: system clock'
has "hardware with firmware and driver" "$tmp/info" 'Hardware = mlx5_0 MT[0-9]+.*firmware 16.35.2000, driver mlx5_core'
has "operating system" "$tmp/info" 'oper-sys: +Linux '
has "application" "$tmp/info" 'application: +rdmadump [0-9]'
has "drop statistics in words" "$tmp/info" 'dropped by rdmadump 0, dropped by the device 0 \(out_of_buffer\)'
has "one statistics entry" "$tmp/info" 'Number of stat entries = 1'
has "nanoseconds" "$tmp/info" 'Time precision = nanoseconds'
has "Ethernet" "$tmp/info" 'Encapsulation = Ethernet'

tshark -r "$tmp/out.pcapng" -T fields -e frame.number -e infiniband.bth.opcode -e udp.dstport -e frame.packet_flags_direction \
	>"$tmp/fields" 2>/dev/null
# Frames too short for a BTH with payload are plain UDP.
is "tshark sees an opcode in each RoCE frame" "$(awk -F'\t' '$2 != ""' "$tmp/fields" | wc -l)" \
	"$(awk -F'\t' '$3 == 4791' "$tmp/fields" | wc -l)"
is "each frame has its direction" "$(grep -cE '0x0*[12]$' "$tmp/fields")" 500
has "direction in" "$tmp/fields" '0x0*1$'
has "direction out" "$tmp/fields" '0x0*2$'
tshark -r "$tmp/out.pcapng" --disable-protocol rpcordma -q -z expert,error 2>/dev/null >"$tmp/expert" &&
	! grep -q 'Malformed' "$tmp/expert"
ok "no malformed frames" "$tmp/expert"

for format in pcap pcap-us pcapng; do
	model --gen count=500,size=60-1500,seed=9 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q --format $format -w "$tmp/out" >"$tmp/log" 2>&1
	is "tcpdump reads $format" "$(tcpdump -nr "$tmp/out" --count 2>/dev/null)" "500 packets"
done
mergecap -w "$tmp/merged" "$tmp/out" "$tmp/out.pcapng" && editcap -F pcap "$tmp/merged" "$tmp/edited"
ok "mergecap and editcap read it"
is "merged" "$(capinfos -c -M "$tmp/edited" | awk '/packets/ {print $NF}')" 1000

# The format follows the name
for name in a.pcapng:pcapng a.pcap:nanosecond a.cap:nanosecond a.erf:erf a:pcapng; do
	file=${name%%:*}
	model --gen count=5,size=100,seed=9 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q -w "$tmp/$file" >"$tmp/log" 2>&1
	capinfos -t "$tmp/$file" >"$tmp/type" 2>/dev/null
	grep -qi "${name##*:}" "$tmp/type"
	ok "the format of $file is ${name##*:}" "$tmp/type"
	is "Wireshark's library reads $file" "$(frames_read "$tmp/$file")" 5
done

for format in pcapng pcap erf; do
	model --dev name=mlx5_0,link=ib,ib_sniffer=1 --gen count=200,size=60-2000,seed=9 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q --format $format -w "$tmp/ib" >"$tmp/log" 2>&1
	is "InfiniBand in $format: tshark sees LRH and BTH, nothing malformed" "$(tshark -r "$tmp/ib" --disable-protocol rpcordma \
		-Y 'infiniband.lrh && infiniband.bth && !_ws.malformed' 2>/dev/null | wc -l)" 200
done

# The interface has the filter, as given
zstd -dqfc "$TEST_DATA/roce/20_mixed/a.pcap.zst" >"$tmp/mixed.pcap"
"$RDMADUMP" -r "$tmp/mixed.pcap" -q --qp 0x11 -w "$tmp/filtered.pcapng" 'udp port 4791'
is "the filter in the file" "$(capinfos "$tmp/filtered.pcapng" | sed -n 's/.*Filter string = //p')" "udp port 4791 --qp 0x11"

tap_done
