#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --sniffer icmd: every fault of the model's command gateway at every step of a capture. Each case is one run
# of the program, which must end with the right message and exit status, and leave nothing behind.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool flock unshare
: "${SOFTHCA_GATEWAY:?path of softhca-gateway}"
as_root
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
workers=4

# run_cases DIRECTORY: in a tree of its own, a capture for each line `SPEC|...` of DIRECTORY/cases. Results, one
# line for each: exit status|record|state of the gateway. The file is DIRECTORY/N.pcapng, what the capture
# prints is in DIRECTORY/log.N, from 1.
run_cases() {
	export at=$1 SOFTHCA_GATEWAY
	# The program's waits of up to 30 s take no time: hurry.
	# shellcheck disable=SC2016 # for the inner shell
	model --keep "$at/tree" --dev link=ib,lid=1,gateway=SPEC --gen count=400,size=300 -- bash -c '
		preload=$LD_PRELOAD n=0
		config=$(<"$at/tree/config")
		while IFS="|" read -r spec _; do
			n=$((n + 1)) record=
			echo "${config/gateway=SPEC/gateway=hurry+$spec}" >"$at/tree/config"
			: >"$at/tree/gateway.0"
			for r in "$at/tree/run/rdmadump"/port*; do [ ! -e "$r" ] || : >"$r"; done
			LD_PRELOAD=$preload "$RDMADUMP" -d mlx5_0 --sniffer icmd -q -b 6 -c 20 -a duration:3 -w "$at/$n.pcapng" >"$at/log.$n" 2>&1
			status=$?
			export LD_PRELOAD=
			for r in "$at/tree/run/rdmadump"/port*; do [ ! -s "$r" ] || record=written; done
			read -r state < <("$SOFTHCA_GATEWAY" "$at/tree/gateway.0")
			echo "$status|$record|$state"
		done <"$at/cases" >"$at/results"' 2>"$at/err"
}

# --- the steps ------------------------------------------------------------------------------------

# Six commands: two detach when the device is opened, two attach, two detach at the end. The undisturbed run
# shows at which access to configuration space, word and selection of a space each of them ends.
mkdir "$tmp/plain"
echo 'yes|' >"$tmp/plain/cases"
run_cases "$tmp/plain"
is "undisturbed: exit status, record, state" "$(cat "$tmp/plain/results")" '0||attached 0 semaphore 0 icmd 0 violations 0'
"$SOFTHCA_GATEWAY" "$tmp/plain/tree/gateway.0" | awk '/^end/ { print $4, $6, $8 }' >"$tmp/ends"
is "undisturbed: six commands" "$(wc -l <"$tmp/ends")" 6
least=$(($(stat -c %s "$tmp/plain/1.pcapng") * 3 / 4))

# --- the cases ------------------------------------------------------------------------------------

# A case: fault, exit statuses that are right, what may be left (see left() below), message
none='' \
	io='Input/output error; see the kernel.s log' \
	gone='the adapter does not respond .all bits of configuration space are 1.; see the kernel.s log' \
	lockdown='Operation not permitted; kernel lockdown, as with Secure Boot, forbids it' \
	held='its semaphore has been held for 2 s, by ticket 0x5eed0001; another tool uses it .*setpci -s 0000:01:00.0 cc.l=0' \
	used='the command interface has been in use for 5 s, by process 4242; end that program' \
	still='no access to address 0x[0-9a-f]+ within 0.1 s; see the kernel.s log' \
	space='the firmware does not grant space 0x[0-9a-f]+ \(.*\); update the firmware' \
	syndrome='address 0x[0-9a-f]+ is refused, syndrome 0x5; report this' \
	hang='the command did not end within 30 s; the firmware may hang'
# Each fault at an access, a word or a selection N: right statuses before the frames, and after them. Some accesses
# are repeated, and so are the commands at the end.
places() {
	cat <<END
fault:N|accesses|0 2|0|clean|$io
late:N|accesses|0 2|0|clean|$io
blink:N|accesses|0 2|0|clean|.+; .+
gone:N|accesses|2|4|gone|$gone
reset:N|accesses|0 2|0 4|clean|.+; .+
locked:N|accesses|2|4|gone|$lockdown
taken:N|accesses|2|4|other|$held
taken:N.40|accesses|0|0|other|$none
icmd_taken:N|accesses|2|0 4|other|$used
icmd_taken:N.10|accesses|0|0|other|$none
stuck:N|words|2|4|gone|$still
syndrome:5.N|words|0 2|0|clean|$syndrome
vanishes:N|selections|2|4|gone|$space
END
}
# of COLUMN COMMAND: access, word or selection at which the command ended; command 0 ends before all
of() { if [ "$2" = 0 ]; then echo 1; else sed -n "$2p" "$tmp/ends" | cut -d ' ' -f "$1"; fi; }
# The short form has all that is so from the beginning on, each fault at one place before the frames and at one after
# them, and a seventh of the answers: each status, once and from then on, with the sniffer attached and not.
commands=(1 2 3 4 5 6) parts=(1 3 5)
[ -n "${TEST_FULL-}" ] || commands=(3 6) parts=(3)
at_places() {
	local word column before after left message kind n from to allowed
	while IFS='|' read -r word column before after left message; do
		case $column in accesses) kind=1 ;; words) kind=2 ;; *) kind=3 ;; esac
		for command in "${commands[@]}"; do
			from=$(of $kind $((command - 1))) to=$(of $kind "$command")
			for part in "${parts[@]}"; do
				n=$((from + (to - from) * part / 6)) allowed=$before
				[ "$command" -le 4 ] || allowed=$after
				# It is free, and taken, when this command has ended.
				case $word$command in icmd_taken:N4) allowed='2 4' ;; esac
				echo "${word/N/$n}|$allowed|$left|$message"
			done
		done
	done < <(places)
}
# What the firmware returns, and the message about it
answers() {
	cat <<'END'
1|it does not know the command \(status 0x1, .*; update the firmware
2|it does not accept the command \(status 0x2, .*; update the firmware
3|it could not execute the command \(status 0x3, .*; end other programs
4|it refuses port or queue pair \(status 0x4, .*; report this
5|it is busy \(status 0x5, .*; try again
6|it has no memory from the driver \(status 0x6, .*; load the driver again
7|it protects itself from this command \(status 0x7, .*; it may be locked
99|it refuses the command \(status 0x63, .*; report this
END
}
doing=('' 'detach the sniffer of sent' 'detach the sniffer of received' 'attach the sniffer of sent' 'attach the sniffer of received'
	'detach the sniffer of sent' 'detach the sniffer of received')
at_commands() {
	local status text command error once left
	for command in 1 2 3 4 5 6; do
		while IFS='|' read -r status text; do
			error="cannot ${doing[command]} frames of port 1: firmware of 0000:01:00.0: $text"
			# Detaching what is not attached may be an error of the firmware. At the end it is tried again.
			once=2
			case $command$status in [12][34] | [56]*) once=0 ;; esac
			echo "status:$status.$command|$once|clean|$error"
			case $command$status in
			[12][34]) error="cannot attach the sniffer of sent frames of port 1: firmware of 0000:01:00.0: $text" ;;
			esac
			# At the third command nothing is attached, but not every status says so.
			left=attached
			case $command$status in [12]* | 3[12347]) left=clean ;; esac
			echo "status:$status.$command.99|$([ "$command" -le 4 ] && echo 2 || echo 4)|$left|$error"
			# It has been executed all the same. Status 7 and 1, 2 say that it was not.
			case $status in
			3 | 4 | 5 | 6 | 99) echo "lies:$status.$command|$once|clean|${error/sent frames of port 1: */}" ;;
			esac
		done < <(answers)
		echo "hangs:$command|$([ "$command" -le 4 ] && echo 2 || echo 4)|$([ "$command" -le 2 ] && echo gone || echo attached)|cannot ${doing[command]} frames of port 1: .*$hang"
	done
}
# From the beginning on
at_once() {
	cat <<END
status:6.5.6+hangs:7|4|attached|cannot detach the sniffer of sent frames of port 1: .*: it has no memory from the driver
no|2|clean|PCI configuration space has no such capability; this function has no access
loops|2|clean|PCI configuration space has no such capability; this function has no access
edge|2|clean|PCI configuration space has no such capability; this function has no access
held|2|other|$held
held:100|0|clean|$none
stolen:5|0|clean|$none
stolen:100000|2|other|its semaphore has been held for 2 s
lacks:2|2|clean|does not grant space 0x2 \(registers\); update the firmware
lacks:3|2|clean|does not grant space 0x3 \(command interface\); update the firmware
lacks:0xa|2|clean|does not grant space 0xa \(semaphores\); update the firmware
twins+lacks:2+lacks:0x103|2|clean|does not grant space 0x2 \(registers\)
twins|0|clean|$none
readonly|2|clean|$lockdown
brief|2|clean|No data available; the kernel shows more than 64 bytes to root of the host only
not_ready|2|clean|it is not ready for commands; wait until the adapter has started
small|2|clean|takes no command of this length; update the firmware
sealed|2|clean|it protects itself from this command .*; it may be locked
relocks|0|clean|$none
wipes|0|clean|$none
strict|0|clean|$none
by_qpn|0|clean|$none
icmd_held:4242|2|other|$used
icmd_held:4242.20|0|clean|$none
busy|2|clean|busy with an earlier command; another tool.s command does not end
busy:10|0|clean|$none
slow:50|0|clean|$none
chip:0x20f|2|clean|has chip id 0x20f, but a ConnectX-5 has 0x20d: its registers are not known; report this
END
}
{
	at_once
	at_commands | awk -v full="${TEST_FULL-}" 'full || NR % 7 == 1'
	at_places
} >"$tmp/cases"
for ((i = 0; i < workers; i++)); do
	mkdir "$tmp/worker.$i"
	awk -v of="$workers" -v mine="$i" 'NR % of == mine' "$tmp/cases" >"$tmp/worker.$i/cases"
	run_cases "$tmp/worker.$i" &
done
wait

# --- what happened --------------------------------------------------------------------------------

# left WORD STATE RECORD STATUS LOG: whether that may be left
left() {
	local sure='violations 0$' others='semaphore [01] icmd [01] violations 0$'
	case $1 in
	clean) [ "$2|$3" = 'attached 0 semaphore 0 icmd 0 violations 0|' ] ;;
	# The firmware does not detach: the record says so, and the program, with what to do.
	attached)
		[[ $2 =~ ^attached\ [0-2]\ semaphore\ 0\ icmd\ 0\ violations\ 0$ && $3 = written ]] &&
			grep -q "the sniffer may still be attached: .*; the next capture with --sniffer icmd detaches it, or a reset of the adapter" "$5"
		;;
	# Another tool holds it. What is attached can be detached by the next capture only.
	other) [[ $2 =~ $others ]] && { [ "$4" != 0 ] || [[ "$2|$3" =~ ^attached\ 0.*\|$ ]]; } ;;
	# Nothing of the adapter can be reached any more.
	gone) [[ $2 =~ $sure ]] && { [ "$4" != 0 ] || [ "$3" = "" ]; } ;;
	esac
}
# judge CASE LOG RESULT FILE: prints what is wrong
judge() {
	local spec allowed what message status record state size=0
	IFS='|' read -r spec allowed what message <<<"$1"
	IFS='|' read -r status record state <<<"$3"
	[[ " $allowed " == *" $status "* ]] || echo "exit status $status, not $allowed"
	[ "$status" = 0 ] || grep -v '^rdmadump: warning: ' "$2" | grep -qE "^rdmadump: .*$message" ||
		echo "the message is not '$message'"
	[ ! -e "$4" ] || size=$(stat -c %s "$4")
	if [ "$status" = 2 ]; then
		[ ! -e "$4" ] || echo "a file is left, of $size bytes"
	# A reset takes the sniffer away: the capture ends after its time.
	elif [[ $spec != reset:* ]]; then
		[ "$size" -ge "$least" ] || echo "the file has $size bytes"
	fi
	left "$what" "$state" "$record" "$status" "$2" || echo "left: $state${record:+, the record is written}"
}
for ((i = 0; i < workers; i++)); do
	n=0
	exec 3<"$tmp/worker.$i/results"
	while IFS= read -r line; do
		n=$((n + 1))
		IFS= read -r result <&3
		wrong=$(judge "$line" "$tmp/worker.$i/log.$n" "$result" "$tmp/worker.$i/$n.pcapng")
		[ -z "$wrong" ]
		ok "${line%%|*}: exit status, message, nothing left"
		[ -z "$wrong" ] || { echo "$wrong"; cat "$tmp/worker.$i/log.$n"; } | tap_comment
	done <"$tmp/worker.$i/cases"
	exec 3<&-
done

tap_done
