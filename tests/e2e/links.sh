#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Link types and tunnels: a capture rewritten as each of them gives the report of the original; what
# is not understood is named, with exit status 2. Frames of UDP port 4791 that are no RoCE are no QP.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq python3
roce=$TEST_DATA/roce
links() { python3 "$srcdir/tests/e2e/links.py" "$@"; }
same() { links same "$tmp/want.json" "$tmp/got.json" >"$tmp/diff"; }

# --- every kind -------------------------------------------------------------------------------

# original CAPTURE [FORMAT]: $tmp/in.pcap and its report, of IP frames only
original() {
	zstd -dcq "$roce/$1" >"$tmp/in.pcap"
	links ethernet "${2-ns}" "$tmp/in.pcap" "$tmp/plain.pcap"
	an --json "$tmp/plain.pcap" >"$tmp/want.json"
}
original 10_rc_write_loss/b.pcap.zst
links kinds | grep -v '^ipv[46] ' >"$tmp/kinds"
links "$(cut -d' ' -f1 "$tmp/kinds")" ns "$tmp/in.pcap" "$tmp/loss"
while read -r kind linktype; do
	an --json "$tmp/loss.$kind" >"$tmp/got.json" && same
	ok "$kind: the report of the original" "$tmp/diff"
	case $kind in
	*vxlan* | geneve*) network=42 ;;
	nvgre) network=10753 ;; # the whole key: its identifier 42, and FlowID 1
	*) network=null ;;
	esac
	is "$kind: the overlay network" "$(jq -c '[.conversations[].network] | unique' "$tmp/got.json")" "[$network]"
	"$RDMADUMP" -r "$tmp/loss.$kind" -w "$tmp/copy.pcap" >"$tmp/log" 2>&1
	is "$kind: a copy keeps the link type" "$(od -An -tu4 -j20 -N4 "$tmp/copy.pcap" | tr -d ' ')" "$linktype"
	"$RDMADUMP" -r "$tmp/loss.$kind" >"$tmp/lines" 2>"$tmp/log"
	! grep -E 'headers not captured|unknown headers|malformed' "$tmp/lines" >"$tmp/diff"
	ok "$kind: -r knows the headers of all frames" "$tmp/diff"
done <"$tmp/kinds"
has "each label of a frame is in its line" <("$RDMADUMP" -e -r "$tmp/loss.mpls3" 2>/dev/null | head -n 1) ' mpls 16 mpls 17 mpls 18 '

original 15_ipv6/a.pcap.zst
v6="raw ipv6 sll2 null null-bsd loop mpls pppoe vxlan gre-ip ipip"
links "$v6" ns "$tmp/in.pcap" "$tmp/v6"
for kind in $v6; do
	an --json "$tmp/v6.$kind" | jq -S .conversations >"$tmp/got"
	jq -S .conversations "$tmp/want.json" >"$tmp/want"
	is "IPv6, $kind: QPs" "$(jq '.[] | [.a, .b, .sides.a.frames, .sides.b.frames]' "$tmp/got")" \
		"$(jq '.[] | [.a, .b, .sides.a.frames, .sides.b.frames]' "$tmp/want")"
done

# --- the direction of cooked frames -----------------------------------------------------------

original 10_rc_write_loss/a.pcap.zst
links at 10.77.0.2 "$tmp/in.pcap" "$tmp/k.pcap"
sent=$("$RDMADUMP" -r "$tmp/plain.pcap" 'src host 10.77.0.2' 2>/dev/null | wc -l)
is "cooked: frames that the host sent" "$("$RDMADUMP" -r "$tmp/k.pcap" --direction out 2>/dev/null | wc -l)" "$sent"
"$RDMADUMP" -r "$tmp/k.pcap" -w "$tmp/copy.pcapng" 2>/dev/null
is "... as its copy says" "$("$RDMADUMP" -r "$tmp/copy.pcapng" --direction out 2>/dev/null | wc -l)" "$sent"
is "without directions: where to capture" "$(jq -r .verdict.capture_next "$tmp/want.json")" 10.77.0.2
is "with them: not where the capture was made" "$(an --json "$tmp/k.pcap" | jq -c '.verdict | [.places, .capture_next]')" '[["sender_nic"],null]'

# --- formats ----------------------------------------------------------------------------------

for form in ns us ns-swapped us-swapped us-modified us-modified-swapped; do
	original 17_rnr_nak/a.pcap.zst "${form%%-*}"
	links sll "$form" "$tmp/in.pcap" "$tmp/k.pcap"
	an --json "$tmp/k.pcap" >"$tmp/got.json" && same
	ok "pcap $form" "$tmp/diff"
done
original 10_rc_write_loss/b.pcap.zst
links mixed - "$tmp/in.pcap" "$tmp/k.pcapng"
an --json "$tmp/k.pcapng" >"$tmp/got.json" && same
ok "pcapng: each interface by its own link type" "$tmp/diff"

# --- the same decoding as tshark ---------------------------------------------------------------

if has_tool tshark "the same decoding as tshark"; then
	# All of them in one file, an interface each, since tshark takes long to start.
	each=()
	for kind in sll sll2 raw null-bsd mpls3 vxlan geneve-options gre-ip erspan2 erspan3 ipip; do
		echo "${#each[@]} $(an --json "$tmp/loss.$kind" | jq .totals.rdma_frames) $kind"
		each+=("$tmp/loss.$kind")
	done >"$tmp/ours"
	mergecap -a -I none -w "$tmp/each.pcapng" "${each[@]}"
	tshark -r "$tmp/each.pcapng" -Y infiniband.bth -T fields -e frame.interface_id 2>"$tmp/log" | sort -n | uniq -c >"$tmp/theirs"
	while read -r id frames kind; do
		is "$kind: tshark finds as many RoCE frames" "$(awk -v id="$id" '$2 == id { print $1 }' "$tmp/theirs")" "$frames"
	done <"$tmp/ours"
	tshark -r "$tmp/loss.sll2" -Y infiniband.bth -T fields -e infiniband.bth.destqp -e infiniband.bth.psn 2>/dev/null |
		awk '{ sub(/^0x0*/, "", $1); print $1, $2 }' >"$tmp/want"
	"$RDMADUMP" -r "$tmp/loss.sll2" 2>/dev/null | sed -nE 's/.* QP 0x0*([0-9a-f]+) PSN ([0-9]+) .*/\1 \2/p' >"$tmp/got"
	[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/got" >"$tmp/diff"
	ok "QPs and PSNs are those of tshark" "$tmp/diff"
fi

# --- the report of a capture --------------------------------------------------------------------

"$RDMADUMP" -r "$tmp/plain.pcap" --frames 1 -w "$tmp/copy.pcapng" 2>"$tmp/log"
has "one frame" "$tmp/log" '^1 frame in '
has "... of unknown direction" "$tmp/log" '  received 0    sent 0    direction unknown 1$'
"$RDMADUMP" -r "$tmp/plain.pcap" --opcode RC_ACKNOWLEDGE -w "$tmp/copy.pcapng" 2>"$tmp/log"
has "directions are counted before the filter" "$tmp/log" '    direction unknown [0-9 ]+    \(before the filter\)$'

# --- filters and --decap ------------------------------------------------------------------------

# As many frames of each link type as of the original
for kind in sll sll2 raw null null-bsd loop; do
	for filter in "--host 10.77.0.1" "--opcode RC_ACKNOWLEDGE" "udp dst port 4791 and src host 10.77.0.2"; do
		# shellcheck disable=SC2086 # words of a command line
		want=$("$RDMADUMP" -r "$tmp/plain.pcap" $filter 2>/dev/null | wc -l)
		# shellcheck disable=SC2086
		[ "$want" -gt 0 ] && [ "$("$RDMADUMP" -r "$tmp/loss.$kind" $filter 2>/dev/null | wc -l)" = "$want" ]
		ok "$filter on $kind: $want frames"
	done
done
"$RDMADUMP" -r "$tmp/loss.sll" --host 02:00:00:00:00:01 >"$tmp/log" 2>&1
is "MAC addresses of cooked frames are refused" "$?" 1
want=$("$RDMADUMP" -r "$tmp/plain.pcap" --opcode RC_ACKNOWLEDGE 2>/dev/null | wc -l)
for kind in vxlan geneve gre nvgre erspan1 erspan2 erspan3 raw-gre pseudowire; do
	is "$kind: -r --decap" "$("$RDMADUMP" -r "$tmp/loss.$kind" --decap --opcode RC_ACKNOWLEDGE 2>/dev/null | wc -l)" "$want"
done

# --- analyze --decap ----------------------------------------------------------------------------

an "$tmp/loss.vxlan" -v >"$tmp/shown"
has "the report says that tunnels were removed" "$tmp/shown" 'RDMA traffic is in tunnels: VXLAN  \[certain\]'
is "--decap=never leaves them closed" "$(an --json --decap never "$tmp/loss.vxlan" | jq -c '[.totals.rdma_frames, .totals.tunnels_left > 0]')" '[0,true]'
# one packet before and after the tunnel, as on a host with an overlay network: seen once
links plain-of "$tmp/loss.vxlan" "$tmp/plain.pcap" "$tmp/both.pcap"
an --json "$tmp/both.pcap" >"$tmp/got"
is "packets outside of tunnels count once" "$(jq -c '[.totals.tunnelled, .totals.rdma_frames == .totals.tunnels_left]' "$tmp/got")" '[0,true]'
is "... and with --decap always both" "$(an --json --decap always "$tmp/both.pcap" | jq -c '.totals.rdma_frames == 2 * .totals.tunnelled')" true
an --ends always "$tmp/plain.pcap" "$tmp/loss.vxlan" --json >"$tmp/got" 2>"$tmp/log"
is "one end inside of the tunnel, one outside" $? 0

# --- not understood -----------------------------------------------------------------------------

# strange NAME LINKTYPE ETHERTYPE CAPLEN TEXT
strange() {
	links strange "$2" "$3" "$4" "$tmp/k.pcap"
	an "$tmp/k.pcap" >"$tmp/shown" 2>&1
	exits "$1" 2 "$tmp/shown" "$5"
	has "... " "$tmp/shown" '12 of 12 frames'
	lacks "$1: nothing is certain" "$tmp/shown" 'no RDMA traffic.*certain'
}
strange "link type" 253 0x0800 142 'frames of link type 253 \(NETLINK\) are not understood'
strange "unknown link type" 4242 0x0800 142 'frames of link type 4242 are not understood'
strange "Ethertype" 1 0x88e5 142 'Ethertype 0x88e5 \(MACsec\) are not understood'
strange "cut in the IP header" 1 0x0800 30 'cut before the headers'
strange "cut before the BTH" 1 0x0800 44 'cut before the headers'

# --- no RoCE ------------------------------------------------------------------------------------

n=$(links foreign "$tmp/foreign.pcap")
an --json "$tmp/foreign.pcap" >"$tmp/got"
is "UDP port 4791 that is no RoCE: no QP" "$(jq '.conversations | length' "$tmp/got")" 0
is "... counted" "$(jq .totals.foreign "$tmp/got")" "$n"
is "... named, not as certain" "$(jq -r '.findings[] | select(.rule == "foreign-udp") | .certainty' "$tmp/got")" likely
links appended "$tmp/foreign.pcap" "$tmp/plain.pcap" "$tmp/both.pcap"
an --json "$tmp/both.pcap" >"$tmp/got"
is "... before RoCE: the same QPs" "$(jq -c '[.conversations[] | [.a, .b, .sides.a.frames]]' "$tmp/got")" \
	"$(jq -c '[.conversations[] | [.a, .b, .sides.a.frames]]' "$tmp/want.json")"
is "... and no damaged frames" "$(jq '.totals.icrc_bad' "$tmp/got")" "$(jq '.totals.icrc_bad' "$tmp/want.json")"
"$RDMADUMP" -r "$tmp/plain.pcap" -s 74 -w "$tmp/cut.pcap" >"$tmp/log" 2>&1
is "cut frames are RoCE by their headers" "$(an --json "$tmp/cut.pcap" | jq .totals.rdma_frames)" \
	"$(jq .totals.rdma_frames "$tmp/want.json")"

# --- InfiniBand with GRH --------------------------------------------------------------------------

links lrh "$tmp/lrh.pcap" >/dev/null
an -v "$tmp/lrh.pcap" >"$tmp/shown"
an --json "$tmp/lrh.pcap" >"$tmp/got"
is "ICRCs with a GRH: the whole LRH as ones" "$(jq -c '[.totals.icrc_good, .totals.icrc_bad]' "$tmp/got")" '[210,0]'
is "a QP that sends to itself is one side" \
	"$(jq -c '[.conversations[] | select(.a == .b) | [.a.address, .sides.a.frames, .sides.b.seen]]' "$tmp/got")" '[["LID 1",10,false]]'
is "... and one row" "$(grep -c '^LID 1:0x1 *-> LID 1:0x1' "$tmp/shown")" 1
has "packets with GRH and without it have rows of their own" "$tmp/shown" '^packets with GRH .* have separate rows'
has "an unknown path MTU" "$tmp/shown" 'path MTU unknown'
lacks "no hint at UDP" "$tmp/shown" '4791|UDP'
tap_done
