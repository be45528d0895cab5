#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Traffic that a program sends itself, and what a capture on the same device has of it: in the same
# process, and from another one. Each quirk of the model is visible in the file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark
: "${SELF_TOOL:?path of self_tool}" "${SENDER:?path of sender}"

[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"

# own NAME SOFTHCA-OPTIONS... -- SENDER-ARGUMENTS...: captured by the process that sends; its files are in $tmp/own/NAME
names=()
mkdir "$tmp/own"
own() {
	local dir=$tmp/own/$1
	mkdir "$dir" && names+=("$1")
	apart "${@:2}"
	model --stats "$dir/stats" "${ahead[@]}" -- "$SELF_TOOL" "$dir/own.pcapng" "${rest[@]}" >"$tmp/out" 2>"$tmp/log"
	is "$1: every message arrives" $? 0
	is "$1: nothing is left on the device" "$(jq '[.leaked[]] | add' "$dir/stats")" 0
	"$RDMADUMP" analyze --json "$dir/own.pcapng" >"$dir/report" 2>/dev/null
}
# decode FILE: one line for each frame; tshark takes long to start
decode() {
	tshark -r "$1" -T fields -e frame.len -e infiniband.bth.opcode -e infiniband.bth.psn -e infiniband.aeth.syndrome.opcode \
		-e infiniband.bth.destqp -e udp.srcport -e vlan.id -e eth.dst -e ip.dst -e ipv6.dst 2>/dev/null
}
# of NAME: what the next cases are about
of() { frames=$tmp/own/$1/frames report=$tmp/own/$1/report stats=$tmp/own/$1/stats; }
# column N [SEPARATOR]: of all frames, in order; "-": it has none
column() { awk -F'\t' -v n="$1" '{printf "%s%s", sep, $n == "" ? "-" : $n; sep = " "}' "$frames"; }
# e.g. "6 8 17"; "-": no RoCE frame
opcodes() { column 2; }
lengths() { column 1; }
icrcs() { json "$report" '"\(.totals.icrc_good) good, \(.totals.icrc_bad) bad"'; }

for gid in 0 1 2 3; do own "GID $gid" -- -g $gid -s 2500 write write_imm send send_imm read; done
own 'datagrams' -- -s 500 ud multicast raw raw_vlan
own 'datagrams by IPv6' -- -g 1 -s 500 ud multicast
own 'twice' --loopback twice -- -s 1400 write ud multicast raw
own 'never' --loopback never -- -s 500 write ud multicast raw
own 'by traffic' --loopback rc=never,ud=twice,multicast=never -- -s 500 write ud multicast raw
# The second of each two is lost; 3: refused by the responder; the last: only the timer tells.
own 'lost in the middle' --drop-tx 2 -- -s 2500 write
own 'lost at the end' --drop-tx 3 -- -s 2500 write
own 'lost and seen twice' --drop-tx 2 --loopback twice -- -s 2500 write
own 'nobody answers' -- -s 100 -r 2 no_peer no_receive bad_rkey
own 'FCS' --deliver fcs=yes -- -s 500 write raw
own 'no VLAN' --deliver vlan=stripped -- raw_vlan raw
own 'no ICRC' --deliver icrc=absent -- -s 500 write
own 'no ICRC as sent' --deliver icrc=zero --loopback twice -- -s 500 write
# Frames of the program itself have an older timestamp as sent than as received.
own 'late as sent' --loopback twice --clock cycles,tx_lag_us=5000 -- -s 3000 -c 20 write

for name in "${names[@]}"; do cat "$tmp/own/$name/own.pcapng"; done >"$tmp/all.pcapng"
decode "$tmp/all.pcapng" >"$tmp/frames"
for name in "${names[@]}"; do head -n "$(frames_of "$tmp/own/$name/own.pcapng")" >"$tmp/own/$name/frames"; done <"$tmp/frames"

for gid in 0 1 2 3; do
	of "GID $gid"
	is "GID $gid: messages are cut at the path MTU" "$(opcodes)" '6 7 8 17 6 7 9 17 0 1 2 17 0 1 3 17 12 13 14 15'
	is "GID $gid: every ICRC is valid" "$(icrcs)" '20 good, 0 bad'
done
of 'datagrams'
is 'datagrams: seen once' "$(opcodes)" '100 100 - -'
is 'datagrams: every ICRC is valid' "$(icrcs)" '2 good, 0 bad'
is 'datagrams: to the group' "$(awk -F'\t' '$5 == "0xffffff" {print $8, $9}' "$frames")" '01:00:5e:01:02:03 224.1.2.3'
is 'raw: whole frames, one tagged' "$(awk -F'\t' '$6 == 4660 {print $1 "," $7}' "$frames" | xargs)" '100, 100,101'
of 'datagrams by IPv6'
is 'datagrams by IPv6: to the group' "$(awk -F'\t' '$5 == "0xffffff" {print $8, $10}' "$frames")" '33:33:00:00:00:77 ff0e::77'

of 'twice'
is 'twice: every frame' "$(opcodes)" '6 6 8 8 17 17 100 100 100 100 - -'
of 'never'
is 'never: no frame' "$(wc -l <"$frames")" 0
of 'by traffic'
is 'by traffic: as asked' "$(opcodes)" '100 100 -'

of 'lost in the middle'
is 'lost in the middle: retransmitted from there' "$(opcodes)" '6 7 8 17 7 8 17'
is 'lost in the middle: the refusal names the PSN' "$(awk -F'\t' '$4 == 3 {print $3}' "$frames")" 16777215
of 'lost at the end'
is 'lost at the end: retransmitted after the timeout' "$(opcodes | sed 's/17 .*17$/17 ... 17/')" '6 7 8 6 17 ... 17'
is 'lost at the end: once' "$(jq '.devices[0].retransmits' "$stats")" 1
of 'lost and seen twice'
is 'lost and seen twice: the lost one is seen as sent alone' "$(opcodes)" '6 6 7 8 8 17 17 7 7 8 8 17 17'
of 'nobody answers'
is 'nobody answers: retries, then the error' "$(opcodes)" '10 10 10 4 17 4 17 4 17 10 17'

of 'FCS'
is 'FCS: four bytes more' "$(lengths)" '578 66 104'
is 'FCS: of the frame' "$(PYTHONPATH=$srcdir/tests/e2e python3 -c 'import captures, sys, zlib
print(sum(zlib.crc32(data[:-4]).to_bytes(4, "little") == data[-4:] for _, data in captures.packets(sys.argv[1])))' "$tmp/own/FCS/own.pcapng")" 3
of 'no VLAN'
is 'no VLAN: the tag is gone' "$(lengths)" '96 100'
of 'no ICRC'
is 'no ICRC: four bytes less' "$(lengths)" '570 58'
is 'no ICRC: none is valid' "$(json "$report" .totals.icrc_good)" 0
of 'no ICRC as sent'
is 'no ICRC as sent: valid as received' "$(icrcs), $(json "$report" .totals.icrc_unchecked) unchecked" '2 good, 0 bad, 2 unchecked'
of 'late as sent'
[ "$(json "$report" .totals.backwards)" -gt 0 ]
ok 'late as sent: timestamps go back' "$report"

# From another process, while rdmadump captures: its first frame tells that it does.
other() {
	local frames=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	model --shared-wire --gen count=1,size=100 -- bash -c '
		frames=$1 dir=$2
		shift 2
		$RDMADUMP -d mlx5_0 -q -Z root -U -c $((frames + 1)) -w "$dir/other.pcap" 2>"$dir/log" &
		wait_for larger "$dir/other.pcap" 100 || exit 1
		$SENDER "$@" || exit
		wait $!
	' bash "$frames" "$tmp" "$@" >"$tmp/out"
}
other 13 -s 1300 write send_imm read ud multicast raw raw_vlan
is 'another process: rdmadump ends with the last frame' $? 0
mkdir "$tmp/own/other" && of other
decode "$tmp/other.pcap" | tail -n +2 >"$frames"
is 'another process: every frame' "$(opcodes)" '6 8 17 0 3 17 12 13 15 100 100 - -'
"$RDMADUMP" analyze --json "$tmp/other.pcap" >"$report" 2>/dev/null
is 'another process: every ICRC is valid' "$(icrcs)" '12 good, 0 bad'

tap_done
