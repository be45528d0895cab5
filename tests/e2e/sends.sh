#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Traffic that a program sends itself, and what a capture on the same device has of it: in the same
# process, and from another one. Each quirk of the model is visible in the file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark
: "${SELF_TOOL:?path of self_tool}" "${SENDER:?path of sender}"

[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"

# own NAME SOFTHCA-OPTIONS... -- SENDER-ARGUMENTS...: captured by the process that sends
own() {
	local name=$1
	apart "${@:2}"
	rm -f "$tmp/own.pcapng"
	model --stats "$tmp/stats" "${ahead[@]}" -- "$SELF_TOOL" "$tmp/own.pcapng" "${rest[@]}" >"$tmp/out" 2>"$tmp/log"
	is "$name: every message arrives" $? 0
	is "$name: nothing is left on the device" "$(jq '[.leaked[]] | add' "$tmp/stats")" 0
	tshark -r "$tmp/own.pcapng" -T fields -e frame.len -e infiniband.bth.opcode >"$tmp/frames" 2>/dev/null
	"$RDMADUMP" analyze --json "$tmp/own.pcapng" >"$tmp/report" 2>/dev/null
}
count() { wc -l <"$tmp/frames"; }
# The opcodes in order, e.g. "6 8 17"; "-": no RoCE frame
opcodes() { awk -F'\t' '{printf "%s%s", sep, $2 == "" ? "-" : $2; sep = " "}' "$tmp/frames"; }
lengths() { awk -F'\t' '{printf "%s%s", sep, $1; sep = " "}' "$tmp/frames"; }
icrcs() { json "$tmp/report" '"\(.totals.icrc_good) good, \(.totals.icrc_bad) bad"'; }

for gid in 0 1 2 3; do
	own "GID $gid" -- -g $gid -s 2500 write write_imm send send_imm read
	is "GID $gid: messages are cut at the path MTU" "$(opcodes)" '6 7 8 17 6 7 9 17 0 1 2 17 0 1 3 17 12 13 14 15'
	is "GID $gid: every ICRC is valid" "$(icrcs)" '20 good, 0 bad'
done

own 'datagrams' -- -s 500 ud multicast raw raw_vlan
is 'datagrams: seen once' "$(opcodes)" '100 100 - -'
is 'datagrams: every ICRC is valid' "$(icrcs)" '2 good, 0 bad'
is 'datagrams: to the group' "$(tshark -r "$tmp/own.pcapng" -Y 'infiniband.bth.destqp == 0xffffff' -T fields -e eth.dst -e ip.dst 2>/dev/null)" \
	$'01:00:5e:01:02:03\t224.1.2.3'
is 'raw: whole frames, one tagged' "$(tshark -r "$tmp/own.pcapng" -Y 'udp.port == 4660' -T fields -e frame.len -e vlan.id 2>/dev/null | tr '\n\t' ' ,')" '100, 100,101 '
own 'datagrams by IPv6' -- -g 1 -s 500 ud multicast
is 'datagrams by IPv6: to the group' "$(tshark -r "$tmp/own.pcapng" -Y 'infiniband.bth.destqp == 0xffffff' -T fields -e eth.dst -e ipv6.dst 2>/dev/null)" \
	$'33:33:00:00:00:77\tff0e::77'

own 'twice' --loopback twice -- -s 1400 write ud multicast raw
is 'twice: every frame' "$(opcodes)" '6 6 8 8 17 17 100 100 100 100 - -'
own 'never' --loopback never -- -s 500 write ud multicast raw
is 'never: no frame' "$(count)" 0
own 'by traffic' --loopback rc=never,ud=twice,multicast=never -- -s 500 write ud multicast raw
is 'by traffic: as asked' "$(opcodes)" '100 100 -'

# The second of each two is lost; 3: refused by the responder; the last: only the timer tells.
own 'lost in the middle' --drop-tx 2 -- -s 2500 write
is 'lost in the middle: retransmitted from there' "$(opcodes)" '6 7 8 17 7 8 17'
is 'lost in the middle: the refusal names the PSN' "$(tshark -r "$tmp/own.pcapng" -T fields -e infiniband.bth.psn -e infiniband.aeth.syndrome.opcode 2>/dev/null | awk -F'\t' '$2 == 3 {print $1}')" 16777215
own 'lost at the end' --drop-tx 3 -- -s 2500 write
is 'lost at the end: retransmitted after the timeout' "$(opcodes | sed 's/17 .*17$/17 ... 17/')" '6 7 8 6 17 ... 17'
is 'lost at the end: once' "$(jq '.devices[0].retransmits' "$tmp/stats")" 1
own 'lost and seen twice' --drop-tx 2 --loopback twice -- -s 2500 write
is 'lost and seen twice: the lost one is seen as sent alone' "$(opcodes)" '6 6 7 8 8 17 17 7 7 8 8 17 17'
own 'nobody answers' -- -s 100 -r 2 no_peer no_receive bad_rkey
is 'nobody answers: retries, then the error' "$(opcodes)" '10 10 10 4 17 4 17 4 17 10 17'

own 'FCS' --deliver fcs=yes -- -s 500 write raw
is 'FCS: four bytes more' "$(lengths)" '578 66 104'
is 'FCS: of the frame' "$(python3 - "$tmp/own.pcapng" <<'PY'
import subprocess, sys, zlib
raw = subprocess.run(["tshark", "-r", sys.argv[1], "-x"], capture_output=True, text=True).stdout
good = 0
for frame in raw.strip().split("\n\n"):
    data = bytes(int(b, 16) for line in frame.splitlines() for b in line[6:53].split())
    good += zlib.crc32(data[:-4]).to_bytes(4, "little") == data[-4:]
print(good)
PY
)" 3
own 'no VLAN' --deliver vlan=stripped -- raw_vlan raw
is 'no VLAN: the tag is gone' "$(lengths)" '96 100'
own 'no ICRC' --deliver icrc=absent -- -s 500 write
is 'no ICRC: four bytes less' "$(lengths)" '570 58'
is 'no ICRC: none is valid' "$(json "$tmp/report" .totals.icrc_good)" 0
own 'no ICRC as sent' --deliver icrc=zero --loopback twice -- -s 500 write
is 'no ICRC as sent: valid as received' "$(icrcs), $(json "$tmp/report" .totals.icrc_unchecked) unchecked" '2 good, 0 bad, 2 unchecked'

# Frames of the program itself have an older timestamp as sent than as received.
own 'late as sent' --loopback twice --clock cycles,tx_lag_us=5000 -- -s 3000 -c 20 write
[ "$(json "$tmp/report" .totals.backwards)" -gt 0 ]
ok 'late as sent: timestamps go back' "$tmp/report"

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
tshark -r "$tmp/other.pcap" -T fields -e frame.len -e infiniband.bth.opcode 2>/dev/null | tail -n +2 >"$tmp/frames"
is 'another process: every frame' "$(opcodes)" '6 8 17 0 3 17 12 13 15 100 100 - -'
"$RDMADUMP" analyze --json "$tmp/other.pcap" >"$tmp/report" 2>/dev/null
is 'another process: every ICRC is valid' "$(icrcs)" '12 good, 0 bad'

tap_done
