#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Native InfiniBand: ERF files unchanged by reading and writing, fields against tshark, and what
# `rdmadump analyze` reports about management datagrams, LIDs, groups and IP over InfiniBand.
# PACKET_TOOL: tests/unit/packet_tool.
. "${srcdir:-.}/tests/tap.sh"
: "${PACKET_TOOL:?path of packet_tool}"
need_tool jq python3

# --- files ------------------------------------------------------------------------------------

captures() { python3 "$srcdir/tests/e2e/captures.py" "$@"; }
python3 "$srcdir/tests/e2e/made.py" subnet "$tmp/subnet.pcap"
python3 "$srcdir/tests/e2e/made.py" infiniband "$tmp/infiniband.pcap"
captures ports "$tmp/infiniband.pcap" "$tmp/ports.pcap"
for kind in subnet infiniband ports; do
	"$RDMADUMP" -r "$tmp/$kind.pcap" -q -w "$tmp/one.erf" 2>"$tmp/err"
	ok "$kind: written as ERF" "$tmp/err"
	captures records "$tmp/$kind.pcap" "$tmp/zero.erf"
	holds "$kind: ERF in pcap to ERF is byte-identical" cmp "$tmp/zero.erf" "$tmp/one.erf"
	"$RDMADUMP" -r "$tmp/one.erf" -q -w "$tmp/two.erf" 2>"$tmp/err"
	holds "$kind: ERF to ERF is byte-identical" cmp "$tmp/one.erf" "$tmp/two.erf"
	"$RDMADUMP" -r "$tmp/one.erf" -q -w "$tmp/one.pcapng" && "$RDMADUMP" -r "$tmp/one.pcapng" -q -w "$tmp/three.erf"
	holds "$kind: ERF to pcapng to ERF is byte-identical" cmp "$tmp/one.erf" "$tmp/three.erf"
	"$RDMADUMP" -r "$tmp/$kind.pcap" -tttt >"$tmp/before" 2>/dev/null
	"$RDMADUMP" -r "$tmp/three.erf" -tttt >"$tmp/after" 2>/dev/null
	[ -s "$tmp/before" ] && cmp "$tmp/before" "$tmp/after" >"$tmp/err" 2>&1
	ok "$kind: the same frames" "$tmp/err"
done
f=$tmp/subnet.pcap

# Records without data, which cards write and Wireshark refuses: one of no length, one of 300 bytes, each
# between two packets.
captures empty "$f" "$tmp/empty.erf"
"$RDMADUMP" -r "$tmp/empty.erf" -q -w "$tmp/mended.erf" 2>"$tmp/err" && "$RDMADUMP" -r "$tmp/mended.erf" -q -w "$tmp/again.erf" 2>>"$tmp/err"
holds "records without data: ERF to ERF is byte-identical once they are mended" cmp "$tmp/mended.erf" "$tmp/again.erf"
if has_tool tshark "records without data"; then
	is "records without data: tshark reads to the end" "$(tshark -r "$tmp/mended.erf" -T fields -e frame.cap_len 2>"$tmp/err" | xargs)" \
		"$(tshark -r "$f" -c 1 -T fields -e frame.cap_len 2>/dev/null | sed 's/.*/& 0 & 0 &/')"
fi

if command -v tshark >/dev/null; then
	fields=
	for field in frame.number infiniband.lrh.vl infiniband.lrh.sl infiniband.lrh.slid infiniband.lrh.dlid \
		infiniband.mad.mgmtclass infiniband.mad.method infiniband.mad.status infiniband.mad.attributeid; do
		fields="$fields -e $field"
	done
	# shellcheck disable=SC2086 # a list
	tshark -n -r "$f" -T fields -E separator='|' -E occurrence=f $fields >"$tmp/tshark" 2>"$tmp/err"
	"$PACKET_TOOL" -l "$f" >"$tmp/ours"
	[ "$(wc -l <"$tmp/ours")" = 57 ] && diff "$tmp/tshark" "$tmp/ours" >"$tmp/diff"
	ok "LRH and MADs as tshark reads them" "$tmp/diff"
else
	skip "LRH and MADs as tshark reads them" "tshark is not installed"
fi

# Every attribute and method of SMPs, SA, PMA and CM by the name that tshark has
if command -v tshark >/dev/null; then
	python3 "$srcdir/tests/e2e/mads.py" make "$tmp/mads.pcap"
	tshark -n -r "$tmp/mads.pcap" -T fields -e infiniband.mad.mgmtclass -e infiniband.mad.attributeid -e _ws.col.Info >"$tmp/theirs" 2>"$tmp/err"
	"$RDMADUMP" -r "$tmp/mads.pcap" >"$tmp/ours" 2>"$tmp/err"
	python3 "$srcdir/tests/e2e/mads.py" compare "$tmp/theirs" "$tmp/ours" >"$tmp/differ"
	is "the names of management datagrams, as tshark has them" "$(head -n 20 "$tmp/differ")" ""
else
	skip "the names of management datagrams, as tshark has them" "tshark is not installed"
fi

# --- lines ------------------------------------------------------------------------------------

"$RDMADUMP" -r "$f" -e >"$tmp/lines" 2>"$tmp/err"
for text in 'VL 15 SL 0 .*SMP \(directed\) Get NodeInfo hop 1 of 1' 'SMP Set PortInfo' \
	'SA GetResp PathRecord status 0x0300 \(no records\)' 'SA Set MCMemberRecord' 'RMPP ack segment 1' \
	'VL 0 SL 3 .*PMA GetResp PortCounters' 'LID 2 > LID 49152 .*IPoIB ARP' 'IPoIB IPv4 10.1.0.1 > 10.1.0.2 protocol 17'; do
	has "-r: $text" "$tmp/lines" "$text"
done

# --- the report -------------------------------------------------------------------------------

"$RDMADUMP" analyze --json "$f" >"$tmp/json" 2>"$tmp/err"
is "the exit status" $? 0
q() { jq -r "$1" "$tmp/json"; }
row() { q ".mads[] | select(.class_name == \"$1\" and .method_name == \"$2\" and .attribute_name == \"$3\") | \"\(.frames) \(.status) \(.repeated) \(.answered) \(.unanswered) \(.unjudged)\""; }
is "SMPs with a directed route" "$(row 'SMP (directed)' Get NodeInfo)" "1 0 0 1 0 0"
is "SMPs with LIDs" "$(row SMP GetResp PortInfo)" "1 28 null null null null"
is "the SA: one response, one request without" "$(row SA Get PathRecord)" "3 0 1 1 1 0"
is "RMPP is one request" "$(row SA GetTable PathRecord)" "3 0 0 1 0 0"
is "performance management" "$(row PMA Get PortCounters)" "1 0 0 1 0 0"
is "all of them" "$(q '[.mads[].frames] | add') $(q .totals.mad_frames) $(q .mads_left_out)" "17 17 0"
is "findings" "$(q '[.findings[] | .rule + " " + .certainty] | sort | join(", ")')" \
	"mad-error certain, mad-error certain, mad-no-response likely"
is "all CRCs are right" "$(q '"\(.totals.icrc_good) \(.totals.icrc_bad)"')" "57 0"
is "no conversation of QP 0" "$(q '[.conversations[] | select(.a.qp == 0 or .b.qp == 0)] | length')" 0
is "two LIDs and their QPs are listed once" \
	"$(q '.conversations[] | select(.transport == "RC") | "\(.a.address) \(.a.qp) \(.b.address) \(.b.qp) \(.sides.a.lid) \(.sides.a.sl) \(.sides.b.lid) \(.sides.b.sl) \(.sides.a.pkey)"')" \
	"LID 2 512 LID 3 256 2 2 3 2 65535"
is "a group and IP over InfiniBand" \
	"$(q '[.conversations[] | select(.ipoib) | "\(.b.address) \(.multicast)"] | sort | join(", ")')" \
	"LID 3 false, LID 49152 true"
if command -v tshark >/dev/null; then
	q '.findings[] | select(.rule == "mad-error").filter' >"$tmp/filters"
	is "tshark finds both errors" "$(tshark -n -q -r "$f" -z "io,stat,0,$(paste -sd, "$tmp/filters")" 2>/dev/null | grep -cE '\| +1 \| +[0-9]+ \| +1 \|')" 1
fi
"$RDMADUMP" analyze "$f" >"$tmp/text" 2>"$tmp/err"
has "the table as text" "$tmp/text" '^SMP Set PortInfo +1 +0 +0$'
has "... of which one screen has 8 rows" "$tmp/text" '^4 more rows: -v shows them$'
"$RDMADUMP" analyze -v "$f" >"$tmp/text" 2>"$tmp/err"
has "-v: all rows" "$tmp/text" '^SA Get PathRecord +3 +1 +1$'
has "-v: LID and SL" "$tmp/text" 'from LID 2, SL 1, IP over InfiniBand'
"$RDMADUMP" analyze --html="$tmp/page.html" "$f" >"$tmp/err" 2>&1
has "the page has the table" "$tmp/page.html" 'Management datagrams'
has "... and its rows" "$tmp/page.html" '"attribute_name":"MCMemberRecord"'
fits "JSON by docs/schema/analyze.json" analyze "$tmp/json"
tap_done
