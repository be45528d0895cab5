#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The filter over every capture of tests/data/roce: expressions keep the frames that tcpdump keeps, byte for byte; RDMA terms
# keep those of tshark's display filters; for tshark, cutting changes nothing in the headers.
# FILTER_TOOL: tests/unit/filter_tool.
. "${srcdir:-.}/tests/tap.sh"
need_tool tcpdump mergecap tshark zstd
tshark -v 2>/dev/null | grep -q 'with Lua' || skip_all "tshark with Lua is not installed"
export LC_ALL=C

# One end of most: the other end differs only in lost frames.
mkdir "$tmp/in"
set -- "$TEST_DATA"/roce/*/a.pcap* "$TEST_DATA"/roce/20_mixed/b.pcap*
[ -z "${TEST_FULL-}" ] || set -- "$TEST_DATA"/roce/*/a.pcap* "$TEST_DATA"/roce/[0-3]*/b.pcap*
for capture; do
	name=$(basename "$(dirname "$capture")")_$(basename "$capture")
	case $capture in
	*.zst) zstd -dqcf "$capture" >"$tmp/in/${name%.zst}" ;;
	*) cp "$capture" "$tmp/in/$name" ;;
	esac
done

# All of them in one file, so that each program runs once per filter.
in=$tmp/all.pcap
mergecap -a -F pcap -w "$in" "$tmp"/in/* || exit 1

while read -r expression; do
	# shellcheck disable=SC2086 # tcpdump joins its words
	tcpdump -r "$in" -w "$tmp/theirs" $expression 2>"$tmp/err" &&
		"$FILTER_TOOL" "$in" "$tmp/ours" "$expression" >"$tmp/numbers" &&
		cmp "$tmp/theirs" "$tmp/ours" >&2
	ok "$expression"
done <<'END'
udp port 4791
udp dst port 4791
not udp port 4791
tcp
tcp port 5555
tcp[tcpflags] & (tcp-syn|tcp-fin) != 0
icmp
icmp6
ip
ip6
arp
not arp and not tcp
ether proto 0x8915
ether host 52:54:00:77:00:01
ether src 52:54:00:77:00:02
ether broadcast
ether multicast
host 10.77.0.1
src host 10.77.0.2
dst net 10.77.0.0/24
ip broadcast
greater 1000
less 80
len = 62
udp[8] = 0x11
udp[8] = 0x64 and udp[12:4] & 0xffffff = 1
udp[12:4] & 0xffffff = 0x11
udp[8] = 0x11 and udp[20] & 0x60 = 0x60
ip[1] & 3 = 3
ip6 and udp and ip6[48] = 0x0a
portrange 4000-5000
vlan or (ip and host 10.77.0.2 and greater 500)
(host 10.77.0.1 or host 10.77.0.9) and not port 19000
END

# TERMS|FILTER; tshark runs once for all of them.
cat >"$tmp/terms" <<'END'
qp=0x11|infiniband.bth.destqp == 0x11
qp=17,0x13,0x18|infiniband.bth.destqp in {0x11, 0x13, 0x18}
opcode=RC_ACK|infiniband.bth.opcode == 17
opcode=0x04,0x64|infiniband.bth.opcode in {4, 100}
opcode=send_only|infiniband.bth.opcode in {4, 0x24, 0x44, 0x64, 0xa4}
opcode=write|infiniband.bth.opcode in {6 .. 11, 0x26 .. 0x2b, 0x46 .. 0x4b, 0xa6 .. 0xab}
opcode=read qp=0x18|infiniband.bth.opcode in {12 .. 16} && infiniband.bth.destqp == 0x18
opcode=atomic|infiniband.bth.opcode in {18 .. 20}
opcode=ack|infiniband.bth.opcode == 17 && infiniband.aeth.syndrome.opcode == 0
opcode=nak|infiniband.bth.opcode == 17 && infiniband.aeth.syndrome.opcode == 3
opcode=rnr|infiniband.aeth.syndrome.opcode == 1
opcode=mad|infiniband.bth.opcode == 100 && infiniband.mad
opcode=cm|infiniband.bth.opcode == 100 && infiniband.mad.mgmtclass == 7
opcode=ud|infiniband.bth.opcode in {100, 101}
src_qp=1|infiniband.bth.opcode == 100 && infiniband.deth.srcqp == 1
host=10.77.0.1|ip.addr == 10.77.0.1 or arp.src.proto_ipv4 == 10.77.0.1 or arp.dst.proto_ipv4 == 10.77.0.1
host=fd77::/16|ipv6.addr == fd77::/16
host=52:54:00:77:00:02|eth.addr == 52:54:00:77:00:02
host=10.77.0.0/24 opcode=0x00|ip.addr == 10.77.0.0/24 && infiniband.bth.opcode == 0 && udp.length > 20
gid=fd77::1|ipv6.addr == fd77::1 && infiniband
gid=::ffff:10.77.0.2 opcode=rnr|ip.addr == 10.77.0.2 && infiniband.aeth.syndrome.opcode == 1
END
sed 's/^[^|]*|//' "$tmp/terms" >"$tmp/filters"
tshark -q -n -r "$in" --disable-protocol rpcordma -X "lua_script:$(dirname "$0")/filters.lua" -X "lua_script1:$tmp/filters" >"$tmp/all" 2>"$tmp/err"
line=0
while IFS='|' read -r terms _; do
	line=$((line + 1))
	awk -v line=$line '$1 == line { print $2 }' "$tmp/all" >"$tmp/theirs"
	# shellcheck disable=SC2086 # one argument for each term
	"$FILTER_TOOL" "$in" - $terms >"$tmp/ours"
	[ -s "$tmp/ours" ] && diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff"
	ok "$terms" "$tmp/diff"
done <"$tmp/terms"

fields() { # capture -> its transport headers as tshark reads them
	set -- "$1" -n --disable-protocol rpcordma -T fields -E occurrence=f -e frame.number
	for f in bth.opcode bth.se bth.padcnt bth.p_key bth.destqp bth.a bth.psn aeth.syndrome aeth.msn reth.va \
		reth.r_key reth.dmalen atomiceth.swapdt atomiceth.cmpdt atomicacketh.origremdt deth.q_key deth.srcqp \
		immdt mad.mgmtclass mad.method mad.attributeid mad.transactionid cm.req.localqpn cm.rep.localqpn; do
		set -- "$@" -e "infiniband.$f"
	done
	tshark -r "$@" 2>"$tmp/err"
}

# What looks like RoCE in 32_no_rdma is random: its lengths are those of no packet.
rm "$tmp"/in/32_no_rdma_*
mergecap -a -F pcap -w "$in" "$tmp"/in/* || exit 1
fields "$in" >"$tmp/before"
for cut in headers payload; do
	"$FILTER_TOOL" "$in" "$tmp/cut" cut=$cut >"$tmp/numbers"
	fields "$tmp/cut" >"$tmp/after"
	[ -s "$tmp/before" ] && diff "$tmp/before" "$tmp/after" >"$tmp/diff"
	ok "cut=$cut: the same headers" "$tmp/diff"
done

tap_done
