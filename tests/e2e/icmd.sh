#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --sniffer icmd: capture by the port sniffer that a firmware command attaches; refusals, faults and
# kills, after which nothing may be attached or held. KILLS=1000 kills more often.
. "${srcdir:-.}/tests/tap.sh"
need_tool tshark mergecap flock jq python3 setpriv unshare
: "${SOFTHCA_GATEWAY:?path of softhca-gateway}"
as_root
kills=${KILLS:-100} both=$((${KILLS:-100} / 10))
[ -n "${TEST_FULL-}" ] || kills=15 both=3

[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
clean='attached 0 semaphore 0 icmd 0 violations 0'
tools=$(realpath "${srcdir:-.}/tests/e2e/icmd.py")
export tools
state() { "$SOFTHCA_GATEWAY" "$tmp/tree/gateway.0" | sed -n "${1:-1}p"; }

# on SPEC MODEL-OPTIONS... -- ARGUMENTS...: a capture on a device with such a gateway
on() {
	local spec=$1
	apart "${@:2}"
	rm -rf "$tmp/tree" "$tmp/f.pcapng"
	model --keep "$tmp/tree" --dev "link=ib,lid=1,gateway=$spec" --gen count=200,size=300 "${ahead[@]}" -- \
		"$RDMADUMP" -d mlx5_0 --sniffer icmd -w "$tmp/f.pcapng" "${rest[@]}" >"$tmp/out" 2>"$tmp/log"
}

# --- kills, beside all that follows ---------------------------------------------------------

at=$tmp
# who PID: capabilities, and whether configuration space or the output is open
who() {
	echo "$(awk '/^CapEff|^CapPrm/ {print $2}' "/proc/$1/status" | sort -u)" \
		"$(find "/proc/$1/fd" -lname '*/config' 2>/dev/null | wc -l)" \
		"$(find "/proc/$1/fd" -lname '*.pcapng' 2>/dev/null | wc -l)"
}
attached() { is_gone "$1" || grep -q 'rules 3' "$at/tree/run/rdmadump"/*; }
# The record is written while the capture still has root's capabilities.
dropped() { is_gone "$1" || grep -q '^CapEff:[[:space:]]0*$' "/proc/$1/status"; }
# started PID: waits until the capture's helper has attached both rules; its process id in $helper
started() {
	local task name
	wait_for attached "$1" || return 1
	helper=
	for task in /proc/[0-9]*/comm; do
		{ read -r name <"$task"; } 2>/dev/null && [ "$name" = rdmadump-icmd ] || continue
		task=${task%/comm}
		[ "$(awk '/^PPid/ {print $2}' "$task/status")" = "$1" ] && helper=${task#/proc/}
	done
	[ -n "$helper" ]
}
# Until no process has the record locked
ended() { flock -w 60 "$at/tree/run/rdmadump/port-sniffer-0000:01:00.0" true; }
# lives SPEC SCRIPT: a shell in the model with a capture in the background, $! of it in $pid; files in $at
lives() {
	rm -rf "$at/tree"
	export -f who attached dropped started ended
	export at clean kills both SOFTHCA_GATEWAY
	# shellcheck disable=SC2016 # for the inner shell
	model --keep "$at/tree" --dev "link=ib,lid=1,gateway=$1" --gen size=300 --rate 1000 -- bash -c '
		go() { $RDMADUMP -d mlx5_0 --sniffer icmd -q -w "$at/f.pcapng" "$@" 2>>"$at/log" & pid=$!; }
		states() { LD_PRELOAD="" "$SOFTHCA_GATEWAY" "$at/tree/gateway.0"; }
		state() { states | head -n 1; }
		accesses() { local all; all=$(states); all=${all#* accesses }; echo "${all%%[^0-9]*}"; }
		# moment UNTIL COMMAND...: the gateway had so many accesses, or the capture has ended, or COMMAND succeeds
		moment() { is_gone $pid || [ "$(accesses)" -ge "$1" ] || "${@:2}"; }
		'"$2" >"$at/out" 2>"$at/err"
}

# killed NAME COUNT SPEC [tool]: captures that are killed at random accesses to the gateway, while another tool is there or
# not. The next line after the number of those that left nothing is the gateway's state.
killed() {
	export count=$2 tool=${4-}
	# shellcheck disable=SC2016 # for the inner shell
	at=$tmp/$1 lives "$3" '
		n=0 left=
		go -c 1; wait $pid
		all=$(accesses)
		if [ -n "$tool" ]; then
			/usr/bin/python3 "$tools" tool "$at/tree/sys/bus/pci/devices/0000:01:00.0/config" >"$at/tool" 2>&1 & tool=$!
			left="semaphore . icmd ."
		fi
		for i in $(seq $count); do
			# The first one is attached for certain. Then each second one ends by itself, and may be killed while it detaches.
			before=$(accesses)
			if [ $((i % 2)) = 1 ]; then go; else go -c $((1 + RANDOM % 40)); fi
			if [ $i = 1 ]; then
				started $pid
			else
				[ $((i % 2)) = 1 ] && attached="attached $pid" || attached=false
				wait_for moment $((before + RANDOM % all)) $attached
			fi
			kill -9 $pid; wait $pid 2>/dev/null; ended
			[[ $(state) =~ ^attached\ 0\ ${left:-semaphore 0 icmd 0}\ violations\ 0$ ]] && n=$((n + 1))
		done
		[ -z "$tool" ] || { kill $tool; wait $tool; }
		echo $n; state'
}
mkdir "$tmp"/{one,twins,contended,both}
half=$(((kills + 1) / 2)) quarter=$(((kills + 3) / 4))
killed one $half by_qpn+strict &
killed twins $quarter moved+relocks+strict,devid=1023 &
killed contended $quarter by_qpn+slow:3 tool &
# The helper is killed, too, or it alone: then the capture ends by itself.
# shellcheck disable=SC2016 # for the inner shell
at=$tmp/both lives by_qpn+strict '
	n=0
	go -c 1; wait $pid
	all=$(accesses)
	for i in $(seq $both); do
		before=$(accesses)
		go
		wait_for moment $((before + RANDOM % all)) attached $pid
		kids=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
		if [ $((i % 3)) = 0 ]; then
			kill -9 $kids 2>/dev/null; kill $pid
		else
			kill -9 $kids $pid 2>/dev/null
		fi
		wait $pid 2>/dev/null; ended
		$RDMADUMP -d mlx5_0 --sniffer icmd -q -c 3 -w "$at/f.pcapng" 2>>"$at/log" || continue
		[ "$(state)" = "$clean" ] && n=$((n + 1))
	done
	echo $n' &

# --- frames ---------------------------------------------------------------------------------

# The generator's frames are sent by LID 1. The first of them may come before the second rule is attached.

on yes -- -c 150
is "InfiniBand: exit status" $? 0
is "InfiniBand: nothing is left" "$(state)" "$clean"
has "InfiniBand: both rules; detached first, attached, detached" <(state 2) '^most 2 commands 6 '
is "InfiniBand: the record is empty" "$(cat "$tmp/tree/run/rdmadump"/*)" ""
has "InfiniBand: the log names the sniffer" "$tmp/log" 'mlx5_0 port 1 \(InfiniBand, 100 Gb/s\), port sniffer, '
is "InfiniBand: frames begin with LRH, and every VCRC and ICRC is valid" \
	"$("$RDMADUMP" analyze --json "$tmp/f.pcapng" 2>/dev/null | jq -r '"\(.totals.frames) \(.totals.icrc_good) \(.totals.icrc_bad)"')" '150 150 0'
is "InfiniBand: tshark decodes all of them" \
	"$(tshark -r "$tmp/f.pcapng" -Y 'infiniband.lrh.slid == 1 && infiniband.bth.opcode && !_ws.malformed' 2>/dev/null | wc -l)" 150

on yes --rate 20000 -- -Q out -c 50
is "one direction: exit status" $? 0
has "one direction: both rules, and a filter" <(state 2) '^most 2 commands 6 '
has "one direction: what was sent" "$tmp/log" 'received 0 +sent 50'
is "one direction: nothing is left" "$(state)" "$clean"
on reversed --rate 20000 -- -Q out -c 50
has "rules are the other way round: what was sent" "$tmp/log" 'received 0 +sent 50'

on yes --dev "link=ib,name=mlx5_9" --gen count=1000000,size=300 --fault cqe=no_qp,frame=50 --rate 5000 -- -Z root -c 120
is "a queue that is replaced: exit status" $? 0
has "a queue that is replaced: attached again" <(state 2) '^most 2 commands 10 '
is "a queue that is replaced: detached before it is destroyed" "$(state)" "$clean"

# ethernet ARGUMENTS...: frames are sent from the first rule on, and here delivered by the second one: some must be left by then
ethernet() {
	rm -rf "$tmp/tree"
	model --keep "$tmp/tree" --dev gateway=yes,sniffer=no --gen size=300,count=1000000 --rate 2000 -- "$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log"
}
ethernet -d mlx5_0 --sniffer icmd -c 100 -w "$tmp/no.pcapng"
exits "Ethernet" 2 "$tmp/log" \
	"on an Ethernet port the firmware may copy the traffic to another program's queue pair; .*--force"
is "... no file, no command" "$(ls "$tmp/no.pcapng" 2>/dev/null; state; state 2)" "$clean
most 0 commands 0 accesses 0"
mkdir "$tmp/ethernet.out"
ethernet selftest --sniffer icmd --json --output "$tmp/ethernet.out" mlx5_0
is "... nor by selftest" "$(jq -r '[.probes[] | select(.name != "inventory").outcome] | unique | join(" ")' "$tmp/out"; state)" "skipped
$clean"
ethernet -d mlx5_0 --sniffer icmd --force -c 100 -w "$tmp/f.pcapng"
is "Ethernet, --force, where flows are refused: exit status" $? 0
is "Ethernet: frames" "$(frames_of "$tmp/f.pcapng")" 100
is "Ethernet: nothing is left" "$(state)" "$clean"

rm -rf "$tmp/tree"
model --keep "$tmp/tree" --dev link=ib,devid=1023,gateway=moved+relocks+strict --gen size=300,count=1000000 --rate 2000 -- \
	"$RDMADUMP" -d mlx5_0 --sniffer icmd -c 100 -w - 2>"$tmp/log" | cat >"$tmp/piped.pcapng"
status=${PIPESTATUS[0]}
[ "$status" = 0 ]
ok "ConnectX-8, into a pipe: exit status $status" "$tmp/log"
is "ConnectX-8, into a pipe: frames" "$(frames_of "$tmp/piped.pcapng")" 100
is "ConnectX-8: nothing is left" "$(state)" "$clean"

rm -rf "$tmp/tree"
: >"$tmp/log"
model --keep "$tmp/tree" --pidfile "$tmp/pid" --dev link=ib,lid=1,gateway=yes --gen size=300,count=1000000 --rate 1000 \
	--clock realtime,truth="$tmp/truth" -- "$RDMADUMP" record mlx5_0 --sniffer icmd --max-dumps 1 --pre 1h --post 1ms --no-analysis -w "$tmp/recorded.pcapng" 2>"$tmp/log" &
wait_for grep -q 'memory for frames' "$tmp/log"
received() { [ "$(wc -l <"$tmp/truth")" -gt 60 ]; }
wait_for received
kill -USR1 "$(<"$tmp/pid")"
wait $!
exits "record" 0 "$tmp/log" 'recording mlx5_0 port 1 \(InfiniBand, 100 Gb/s\), port sniffer, '
tshark -r "$tmp"/recorded_*.pcapng -T fields -e infiniband.bth.psn -e _ws.malformed >"$tmp/decoded" 2>/dev/null
is "record: tshark decodes the file" "$(grep -vcE '^[0-9]+\s*$' "$tmp/decoded")" 0
holds "record: it has the frames" [ "$(wc -l <"$tmp/decoded")" -ge 50 ]
is "record: nothing is left" "$(state)" "$clean"

# --- all kinds of packets ----------------------------------------------------------------------

# Every opcode and MAD, with and without GRH; and a subnet as it comes up, of which LID 2 is the port's
for kind in infiniband subnet; do
	python3 "$srcdir/tests/e2e/made.py" $kind "$tmp/made.pcap"
	on yes+both,lid=2 --pcap "$tmp/made.pcap" --at-end sigint -- -Z root
	is "$kind: exit status" $? 0
	is "$kind: every packet, unchanged" "$("$SOFTHCA_BIN/softhca-frames" --hash "$tmp/f.pcapng")" "$("$SOFTHCA_BIN/softhca-frames" --hash "$tmp/made.pcap")"
done
has "subnet: directions" "$tmp/log" 'received 16 +sent 39 +direction unknown 2'
is "subnet: tshark decodes all of it" "$(tshark -n -r "$tmp/f.pcapng" -Y 'infiniband.lrh && !_ws.malformed' 2>/dev/null | wc -l)" 57
"$RDMADUMP" analyze --json "$tmp/f.pcapng" >"$tmp/json" 2>/dev/null
is "subnet: checksums" "$(jq -r '"\(.totals.icrc_good) \(.totals.icrc_bad) \(.totals.icrc_unchecked)"' "$tmp/json")" '57 0 0'

# --- how packets end --------------------------------------------------------------------------

# The generator's packets end with valid ICRCs and VCRCs; --deliver takes them away.
# checksums FILE: the facts about them in a pcapng file
checksums() { python3 "$srcdir/tests/e2e/captures.py" blocks "$1" | grep '^{' | jq -c 'select(.kind == "checksums").checksums'; }
states() {
	checksums "$tmp/f.pcapng" | jq -r '[(.received, .sent) | .icrc, .vcrc] | join(" ")'
}
sums() { "$RDMADUMP" analyze --json "$1" 2>/dev/null | jq -r '"\(.totals.icrc_good) \(.totals.icrc_bad) \(.totals.icrc_unchecked)"'; }
# With ICRC and VCRC a packet is two bytes longer than the LRH says.
readable() {
	tshark -r "$@" -T fields -e infiniband.lrh.pktlen -e frame.len -e infiniband.bth.psn -e _ws.malformed 2>/dev/null |
		awk '$1 * 4 + 2 == $2 && $3 != "" && NF == 3' | wc -l
}
while IFS='|' read -r how states sums level text; do
	on yes --gen count=400,size=300-600,acks=1 --deliver "$how" --rate 20000 -- -c 250
	is "$how: exit status" $? 0
	is "$how: the file's facts" "$(states)" "$states"
	has "$how: $text" "$tmp/log" "^rdmadump: ${level}mlx5_0:1: sent packets $text"
	"$RDMADUMP" analyze --json "$tmp/f.pcapng" >"$tmp/json" 2>/dev/null
	is "$how: checksums, and no damage is reported" "$(jq -r '"\(.totals | "\(.icrc_good) \(.icrc_bad) \(.icrc_unchecked)") " +
		"\([.findings[] | select(.rule | startswith("damaged"))] | length)"' "$tmp/json")" "$sums 0"
	[[ $how = *padded ]] || mv "$tmp/f.pcapng" "$tmp/ends.$how"
done <<'END'
trailer=whole|valid valid valid valid|250 0 0||end with ICRC and VCRC, valid in 64 and 64 of 64$
trailer=icrc|valid absent valid absent|250 0 0||end with the ICRC, valid in 64 of 64, without the VCRC: two zero bytes are written in its place$
trailer=payload|absent absent absent absent|0 0 250|warning: |end with their payload: six zero bytes are written in place of ICRC and VCRC
trailer=wrong_vcrc|valid invalid valid invalid|250 0 0||end with the ICRC, valid in 64 of 64; a VCRC follows in 64, valid in 0$
trailer=mixed|mixed mixed mixed mixed|125 0 125|warning: |end in different ways: of 64, 32 have an ICRC, 32 a valid one
trailer=padded|unknown unknown unknown unknown|250 0 0|warning: |have lengths that differ from those in their LRHs \(64 of 64\)
END
mergecap -w "$tmp/ends" "$tmp"/ends.*
is "tshark reads every packet to its end, however those of the five files end" "$(readable "$tmp/ends")" 1250
on yes --gen count=400,size=300-600,acks=1 --deliver sent_trailer=wrong_icrc --rate 20000 -- -c 250
is "wrong ICRCs of sent packets: the file's facts" "$(states)" 'valid valid invalid invalid'
has "wrong ICRCs of sent packets: reported" "$tmp/log" 'warning: mlx5_0:1: sent packets have four bytes in place of the ICRC that are wrong in all of 64'
is "wrong ICRCs of sent packets: no damage" \
	"$("$RDMADUMP" analyze --json "$tmp/f.pcapng" 2>/dev/null | jq -r '[.findings[].rule | select(startswith("damaged") or startswith("icrc"))] | join(" ")')" icrc-untrusted
on yes --gen count=5 --at-end sigint -- -Q out
has "few packets: nothing is claimed" "$tmp/log" 'sent packets are too few \(5\) to say whether they end with ICRC and VCRC'
is "few packets: the file's facts" "$(checksums "$tmp/f.pcapng" | jq -r '.sent | .icrc, .vcrc' | xargs)" 'unknown unknown'
rm -f "$tmp/g.erf"
on yes --deliver trailer=payload -- -c 50 --json -w "$tmp/g.erf"
is "ERF: tshark reads every packet to its end; checksums are zeros" \
	"$(readable "$tmp/g.erf" -Y 'infiniband.invariant.crc == 0 && infiniband.variant.crc == 0')" 50
is "ERF: the analysis does not take zeros for damage" "$(sums "$tmp/g.erf")" "0 0 50"
is "--json: the checksums" \
	"$(jq -r '.sources[0].checksums.sent | "\(.icrc) \(.vcrc) \(.packets > 0) \(.icrc_valid) \(.vcrc_valid) \(.end_not_found)"' "$tmp/out")" \
	'absent absent true 0 0 0'

# --- privileges -----------------------------------------------------------------------------

: >"$tmp/log"

# shellcheck disable=SC2016 # for the inner shell
lives yes 'go; started $pid; wait_for dropped $pid; who $pid; who $helper; kill -INT $pid; wait $pid; echo $?'
is "privileges: only the helper has configuration space, neither has capabilities" "$(head -n 2 "$tmp/out")" \
	$'0000000000000000 0 1\n0000000000000000 1 0'
is "privileges: Ctrl-C detaches" "$(tail -n 1 "$tmp/out") $(state)" "0 $clean"

# A capture that hostile frames took over has the helper's socket, but is another user by then.
if setpriv --reuid=65534 true 2>/dev/null; then
	# shellcheck disable=SC2016 # for the inner shell
	lives yes 'go -Z nobody -w /dev/null; started $pid; wait_for dropped $pid
		LD_PRELOAD="" /usr/bin/python3 "$tools" takeover $pid $helper 65534 2>&1
		cat "$tmp/tree/run/rdmadump"/*; kill -INT $pid; wait $pid; echo $?'
	has "a capture that is taken over: it cannot attach another queue pair" "$tmp/out" '^refused$'
	is "... the first one stays attached until the end" \
		"$(grep -c 'qpn 000bad' "$tmp/out") $(tail -n 1 "$tmp/out") $(state)" "0 0 $clean"
	export theirs
	for theirs in '' /port-sniffer-0000:01:00.0; do
		# shellcheck disable=SC2016 # for the inner shell
		lives yes 'go -c 1; wait $pid; chown 65534 "$at/tree/run/rdmadump$theirs"; go -c 1; wait $pid; echo $?; state'
		is "another user could write '/run/rdmadump$theirs': refused" "$(<"$tmp/out")" $'2\n'"$clean"
		has "... why, and what next" "$tmp/log" "'/run/rdmadump$theirs' is not root's alone; remove it"
	done
else
	skip "a capture that is taken over" "no other user"
fi

# --- another capture, and one that is killed -------------------------------------------------

# shellcheck disable=SC2016 # for the inner shell
lives yes '
	go; started $pid
	$RDMADUMP -d mlx5_0 --sniffer icmd -w "$tmp/second.pcapng" 2>&1; echo $?
	grep -c "process $pid;" "$tmp/out"
	kill -9 $pid; wait $pid; ended; state'
has "a second capture: who has the sniffer" "$tmp/out" 'sniffer of 0000:01:00.0 port 1 is attached by rdmadump, process [0-9]+; end that capture first'
is "a second capture: refused, the right process named; then the first is killed" "$(tail -n 3 "$tmp/out")" $'2\n1\n'"$clean"
cp "$(type -P cat)" "$tmp/ibdump"
# shellcheck disable=SC2016 # for the inner shell
lives yes '
	LD_PRELOAD="" "$tmp/ibdump" <>"$tmp/never" 9<>"$tmp/tree/sys/bus/pci/devices/0000:01:00.0/config" & other=$!
	wait_for grep -q ibdump /proc/$other/comm
	$RDMADUMP -d mlx5_0 --sniffer icmd -w "$tmp/second.pcapng" 2>&1; echo $?
	grep -c "process $other;" "$tmp/out"
	kill $other; state'
is "ibdump captures: refused, its process named, nothing touched" "$(tail -n 3 "$tmp/out")" $'2\n1\n'"$clean"
has "ibdump captures: who has the sniffer" "$tmp/out" 'sniffer of mlx5_0 is used by ibdump, process [0-9]+; end that capture first'
# One on another adapter, whose file has the same name there
mkdir -p "$tmp/elsewhere/0000:01:00.0"
: >"$tmp/elsewhere/0000:01:00.0/config"
# shellcheck disable=SC2016 # for the inner shell
lives yes '
	LD_PRELOAD="" "$tmp/ibdump" <>"$tmp/never" 9<>"$tmp/elsewhere/0000:01:00.0/config" & other=$!
	wait_for grep -q ibdump /proc/$other/comm
	$RDMADUMP -d mlx5_0 --sniffer icmd -q -c 1 -w "$tmp/second.pcapng" 2>&1; echo $?
	kill $other; state'
is "ibdump captures on another adapter: this one is captured" "$(<"$tmp/out")" $'0\n'"$clean"
has "killed: the helper says so" "$tmp/log" 'mlx5_0 port 1: the capture ended without detaching the sniffer: it is detached now'
# A tool holds the command interface, and has the process id that a killed helper had.
# shellcheck disable=SC2016 # for the inner shell
lives yes '
	go -c 1; wait $pid
	/usr/bin/python3 "$tools" tool "$at/tree/sys/bus/pci/devices/0000:01:00.0/config" hold >"$at/tool" 2>&1 & tool=$!
	wait_for grep -q held "$at/tool"
	printf "port-sniffer 1 capture 1 helper %d orphans %d 0 0 0 port 1 qpn 0 rules 0 ticket 0\n" $tool $tool \
		>"$at/tree/run/rdmadump/port-sniffer-0000:01:00.0"
	go -c 1; wait $pid; echo $?
	grep -c "command interface has been in use for 5 s, by process $tool;" "$at/log"
	state; kill $tool; wait $tool
	go -c 1; wait $pid; echo $?; state'
is "a tool has the process id of a killed helper: what it holds is not released" "$(<"$tmp/out")" \
	$'2\n1\nattached 0 semaphore 0 icmd 1 violations 0\n0\n'"$clean"

: >"$tmp/log"
# shellcheck disable=SC2016 # for the inner shell
lives yes '
	go; started $pid
	kill -9 $helper; kill -INT $pid; wait $pid; echo $?; state
	go -c 5; wait $pid; echo $?; state'
is "the helper is killed: reported at the end, and undone by the next capture" "$(<"$tmp/out")" \
	$'4\nattached 2 semaphore 0 icmd 0 violations 0\n0\n'"$clean"
has "the helper is killed: what to do" "$tmp/log" 'process that uses the command gateway of 0000:01:00.0 was killed; .*start a capture with --sniffer icmd again'
has "the next capture says what it did" "$tmp/log" 'a capture that was killed \(process [0-9]+\) had left its sniffer attached: it is detached now'

# shellcheck disable=SC2016 # for the inner shell
lives slow_attach:250 '
	go; started $pid
	kill -9 $helper; wait $pid; echo $?; state | grep -o "violations.*"
	go -c 5; wait $pid; echo $?; state'
is "the helper is killed while it attaches: the queue pair stays, and the next capture undoes it" "$(<"$tmp/out")" \
	$'2\nviolations 0\n0\n'"$clean"

# Firmware that lets the process detach which attached: after a kill of both, only a reset of the adapter helps
# shellcheck disable=SC2016 # for the inner shell
lives clings '
	go; started $pid
	kill -9 $helper $pid; wait $pid 2>/dev/null; ended
	: >"$at/log"
	go -c 3; wait $pid; echo $?'
is "a sniffer that a killed capture left and nobody can detach: the next capture is refused" "$(<"$tmp/out")" 2
is "... which does not say that it was detached" "$(grep -c 'is detached now' "$tmp/log") $(grep -c 'the firmware found none' "$tmp/log")" "0 1"

wait
is "killed at random, $half times: nothing is left, no violation" "$(<"$tmp/one/out")" "$half"$'\n'"$clean"
is "... on a ConnectX-8, $quarter times" "$(<"$tmp/twins/out")" "$quarter"$'\n'"$clean"
is "... beside another tool, $quarter times" "$(<"$tmp/contended/out")" "$quarter"$'\n'"$clean"
has "... which went on" "$tmp/contended/tool" '^[1-9][0-9]*$'
for kind in one twins contended; do
	has "killed at random, $kind: some were attached" "$tmp/$kind/log" 'it is detached now'
done
is "the helper is killed, together with the capture or alone, $both times: the next capture leaves nothing" "$(<"$tmp/both/out")" "$both"

# --- faults ---------------------------------------------------------------------------------

while IFS='|' read -r spec status message; do
	on "$spec" -- -c 20
	exits "$spec" "$status" "$tmp/log" "$message"
	is "$spec: nothing is left" "$(state | sed 's/semaphore 1\|icmd 1/& (of another tool)/')" "${clean/$([[ $spec = held ]] && echo semaphore 0)/$([[ $spec = held ]] && echo 'semaphore 1 (of another tool)')}"
done <<'END'
held|2|semaphore has been held for 2 s, by ticket 0x5eed0001; another tool uses it .* 'setpci -s 0000:01:00.0 cc.l=0'
brief|2|reading configuration space at 0x60: No data available; the kernel shows more than 64 bytes to root of the host only: run it there
readonly|2|Operation not permitted; kernel lockdown, as with Secure Boot, forbids it
status:3.4.4|2|cannot attach the sniffer of received frames of port 1: .*could not execute the command .*; end other programs
blink:40|2|the adapter does not respond .all bits of configuration space are 1.
END
on hurry+status:6.5.6+hangs:7 -- -c 20
exits "never detached" 4 "$tmp/log" 'the sniffer may still be attached: .*; the next capture with --sniffer icmd detaches it, or a reset of the adapter'
holds "never detached: recorded" [ -s "$(echo "$tmp/tree/run/rdmadump"/port*)" ]
on status:6.5.9 -- -c 20
exits "cannot detach" 4 "$tmp/log" '^rdmadump: cannot detach the sniffer of sent frames of port 1: firmware of 0000:01:00.0: it has no memory from the driver'
is "cannot detach: tried again until it works" "$(state)" "$clean"
# The adapter vanishes while it detaches, which is the last third of all accesses.
on yes -- -c 20
total=$(state 2 | awk '{ print $NF }')
on gone:$((total * 3 / 4)) -- -c 20
exits "the adapter vanishes" 4 "$tmp/log" \
	'^rdmadump: cannot detach the sniffer of sent frames of port 1: command gateway of 0000:01:00.0: the adapter does not respond .*; see the kernel.s log'
is "the adapter vanishes: the frames are there" "$("$RDMADUMP" analyze --json "$tmp/f.pcapng" 2>/dev/null | jq .totals.frames)" 20

# refused DEV-KEYS MESSAGE [PREFIX...]
refused() {
	local keys=$1 message=$2
	shift 2
	model --dev "link=ib,$keys" -- "$@" "$RDMADUMP" -d mlx5_0 --sniffer icmd -w "$tmp/no.pcapng" 2>"$tmp/log"
	exits "$keys $*" 2 "$tmp/log" "^rdmadump: --sniffer icmd on mlx5_0: $message"
}
refused gateway=yes 'it needs root: CAP_SYS_ADMIN is missing; use --sniffer icmd as root' setpriv --bounding-set -sys_admin
# judged DEV-KEYS PREPARATION: what a capture, `info` and `list` print for a function whose files were prepared
judged() {
	rm -rf "$tmp/tree"
	export sys=$tmp/tree/sys function=$tmp/tree/sys/bus/pci/devices/0000:01:00.0
	# shellcheck disable=SC2016 # for the inner shell
	model --keep "$tmp/tree" --dev "link=ib,lid=1$1" --gen size=300 --rate 1000 -- bash -c "$2"'
		$RDMADUMP -d mlx5_0 --sniffer icmd -q -c 3 -w "$tmp/judged.pcapng"; echo $?
		$RDMADUMP info --json mlx5_0 | jq -r "[.. | objects | select(.key? == \"icmd\")][0] | \"\(.answer): \(.why)\""
		$RDMADUMP list --json | jq -r ".devices[0].ports[0].capture.todo"' >"$tmp/out" 2>"$tmp/log"
}
while IFS='|' read -r keys prepare why todo; do
	judged "$keys" "$prepare"
	what="$keys $prepare"
	is "$what: the capture, info, list" "$(<"$tmp/out")" "2
no: $why
$todo, or mirror the port on the switch"
	is "$what: the message" "$(<"$tmp/log")" "rdmadump: --sniffer icmd on mlx5_0: $why; $todo, or mirror the port on the switch"
	is "$what: nothing is touched" "$(state) $(ls "$tmp/tree/run/rdmadump" 2>/dev/null)" "$clean "
done <<'END'
|mkdir -p $sys/kernel/security; echo "none [integrity] confidentiality" >$sys/kernel/security/lockdown|kernel lockdown, as with Secure Boot, forbids writing PCI configuration space|boot without Secure Boot to use --sniffer icmd
|mkdir -p $sys/kernel/security; echo "none integrity [confidentiality]" >$sys/kernel/security/lockdown|kernel lockdown, as with Secure Boot, forbids writing PCI configuration space|boot without Secure Boot to use --sniffer icmd
|ln -s . $function/physfn|a VF has no command gateway|use --sniffer icmd on the PF, on the host that owns it
|echo 88 >$function/sfnum|an SF has no command gateway|use --sniffer icmd on the PF, on the host that owns it
,gateway=hidden|true|PCI configuration space is not visible here|use --sniffer icmd on the host itself, outside of any container
END
# shellcheck disable=SC2016 # for the inner shell
judged '' 'mkdir -p $sys/kernel/security; echo "[none] integrity confidentiality" >$sys/kernel/security/lockdown'
is "no lockdown: the capture and info" "$(head -n 2 "$tmp/out")" $'0\nyes: no obstacle to --sniffer icmd was found'
# Verbs do not know these adapters.
refused devid=1029 'the registers of this adapter are not known to rdmadump; mirror the port on the switch'
refused devid=1027 'the command gateway of a ConnectX-10 is not documented; mirror the port on the switch'
refused devid=20d 'the adapter runs without firmware \(recovery mode\); burn its firmware'
rm -rf "$tmp/tree"
model --keep "$tmp/tree" --dev link=ib,gateway=sealed -- "$RDMADUMP" -d mlx5_0 --sniffer icmd -w "$tmp/no.pcapng" 2>"$tmp/log"
exits "the firmware refuses the command" 2 "$tmp/log" 'it protects itself from this command \(status 0x7'
holds "refused: no file" [ ! -e "$tmp/no.pcapng" ]

# --- what list says ---------------------------------------------------------------------------

advice() { model --dev "link=ib,$1" -- "$RDMADUMP" list --json | jq -r '.devices[0].ports[0].capture.todo'; }
is "list: the port sniffer" "$(advice gateway=yes)" 'use --sniffer icmd as root (see docs/infiniband.md), or mirror the port on the switch'
is "list: not in a container" "$(advice gateway=hidden)" \
	'use --sniffer icmd on the host itself, outside of any container, or mirror the port on the switch'

tap_done
