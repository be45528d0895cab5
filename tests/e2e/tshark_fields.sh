#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rd_packet_parse() against tshark, frame by frame, over every capture of tests/data/roce, and over frames of kinds that
# those lack. PACKET_TOOL: tests/unit/packet_tool.
. "${srcdir:-.}/tests/tap.sh"
need_tool mergecap python3 tshark zstd
export LC_ALL=C

fields='frame.number
infiniband.bth.opcode infiniband.bth.se infiniband.bth.m infiniband.bth.padcnt infiniband.bth.tver infiniband.bth.p_key
infiniband.bth.destqp infiniband.bth.a infiniband.bth.psn
infiniband.aeth.syndrome infiniband.aeth.msn
infiniband.reth.va infiniband.reth.r_key infiniband.reth.dmalen infiniband.atomiceth.swapdt infiniband.atomiceth.cmpdt
infiniband.deth.q_key infiniband.deth.srcqp
infiniband.atomicacketh.origremdt infiniband.immdt infiniband.ieth
infiniband.mad.mgmtclass infiniband.mad.method infiniband.mad.attributeid infiniband.mad.transactionid
infiniband.cm.req.localqpn infiniband.cm.req.startpsn infiniband.cm.rep.localqpn infiniband.cm.rep.startpsn
infiniband.cm.req infiniband.cm.req.serviceid infiniband.cm.req.responderres infiniband.cm.req.initdepth
infiniband.cm.req.retrcount infiniband.cm.req.rnrretrcount infiniband.cm.req.pppmtu
infiniband.cm.req.remoteresptout infiniband.cm.req.prim_localacktout infiniband.cm.req.transpsvctype
infiniband.cm.req.ip_cm.sport
infiniband.cm.rep infiniband.cm.rep.remotecommid infiniband.cm.rep.respres infiniband.cm.rep.initdepth
infiniband.cm.rep.rnrretrcount
infiniband.cm.rtu.localcommid infiniband.cm.rtu.remotecommid
infiniband.cm.rej.localcommid infiniband.cm.rej.remotecommid infiniband.cm.rej.msgrej infiniband.cm.rej.reason
infiniband.cm.dreq.localcommid infiniband.cm.dreq.remotecommid infiniband.cm.req.remoteqpneecn
infiniband.cm.drsp.localcommid infiniband.cm.drsp.remotecommid
infiniband.smpdirected.hoppointer infiniband.smpdirected.hopcount
infiniband.rmpp.rmpptype infiniband.rmpp.segmentnumber
infiniband.invariant.crc _ws.malformed'
columns=
for f in $fields; do
	columns="$columns -e $f"
done

# Known errors of tshark 4.0, in which its fields are compared as far as possible:
# - a dissector guessed for the payload that finds it malformed takes the fields behind it away;
# - opcodes that it does not know (XRC, FLUSH, ATOMIC WRITE, reserved ones) get no fields behind the BTH;
# - a PMA's counters (class 4) take the ICRC behind them away;
# - it looks for RDETH 8 bytes too far, and takes all that goes to QP 0 or 1 for a MAD, whatever the opcode;
# - a BTH without room for an ICRC behind it is one for tshark, not for us.
# shellcheck disable=SC2016 # awk's fields, not the shell's
compare='
BEGIN { FS = "|" }
function same_bth(theirs, ours,   t, o, i) {
	split(theirs, t)
	split(ours, o)
	for (i = 1; i <= 10; i++)
		if (t[i] != o[i])
			return 0
	return 1
}
function excused(theirs, ours, malformed,   o, op) {
	split(ours, o)
	op = o[2]
	if (op == "")
		return malformed
	if ((malformed || op >= 128 || op == 28 || op == 29 || (op >= 44 && op < 64) || ours ~ /[|]0x04[|]0x81[|]/) && index(ours, theirs) == 1)
		return 1
	if (op >= 64 && op < 96 || op != 100 && (o[8] == "0x000000" || o[8] == "0x000001"))
		return same_bth(theirs, ours)
	return 0
}
NR == FNR {
	malformed[FNR] = $NF != ""
	sub(/[|][^|]*$/, "")
	sub(/[|]+$/, "")
	theirs[FNR] = $0
	next
}
{
	sub(/[|]+$/, "")
	if (theirs[FNR] == $0)
		next
	if (excused(theirs[FNR], $0, malformed[FNR]))
		excuses++
	else if (differences++ < 4)
		print "# tshark: " theirs[FNR] "\n# ours:   " $0
}
END {
	print FNR + 0, differences + 0, excuses + 0 >result
}'

compare_capture() { # FILE NAME
	# No reassembly, since rd_packet_parse() takes each frame alone.
	# shellcheck disable=SC2086 # a list
	tshark -n -r "$1" --disable-protocol rpcordma -o ip.defragment:FALSE -o ipv6.defragment:FALSE \
		-T fields -E separator='|' -E occurrence=f $columns >"$tmp/tshark" 2>"$tmp/err"
	"$PACKET_TOOL" "$1" >"$tmp/ours"
	awk -v result="$tmp/result" "$compare" "$tmp/tshark" "$tmp/ours"
	read -r frames differences excuses <"$tmp/result"
	[ "$frames" -gt 0 ] && [ "$frames" -eq "$(wc -l <"$tmp/tshark")" ] && [ "$differences" -eq 0 ]
	ok "$2: $frames frames, $excuses of them as far as tshark reads them"
}

# All captures in one file, since tshark takes long to start.
mkdir "$tmp/captures"
for capture in "$TEST_DATA"/roce/*/*.pcap*; do
	name=$(basename "$(dirname "$capture")").$(basename "$capture" .zst)
	case $capture in
	*.zst) zstd -dqcf "$capture" >"$tmp/captures/$name" ;;
	*) cp "$capture" "$tmp/captures/$name" ;;
	esac
done
mergecap -a -F nsecpcap -w "$tmp/in" "$tmp"/captures/* || exit 1
compare_capture "$tmp/in" "the captures of real traffic"
for link in ethernet infiniband; do
	python3 "${srcdir:-.}/tests/e2e/made.py" "$link" "$tmp/in"
	compare_capture "$tmp/in" "$link, made here"
done
# Pause frames of both sorts.
python3 "${srcdir:-.}/tests/e2e/made.py" pause "$tmp/in"
columns=
for i in 0 1 2 3 4 5 6 7; do columns="$columns -e macc.cbfc.pause_time.c$i"; done
# shellcheck disable=SC2086 # a list
tshark -n -r "$tmp/in" -T fields -E separator='|' -e frame.number -e macc.opcode -e macc.pause_time -e macc.cbfc.enbv $columns \
	>"$tmp/tshark" 2>"$tmp/err"
"$PACKET_TOOL" -p "$tmp/in" >"$tmp/ours"
diff "$tmp/tshark" "$tmp/ours" >"$tmp/diff" && grep -q '0x0101' "$tmp/ours"
ok "pause frames, made here" "$tmp/diff"
tap_done
