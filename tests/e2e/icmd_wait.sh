#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --sniffer icmd: Ctrl-C while the command gateway is waited for. The capture ends soon; its helper finishes what
# it does, and nothing is left.
. "${srcdir:-.}/tests/tap.sh"
need_tool flock jq python3 unshare
: "${SOFTHCA_GATEWAY:?path of softhca-gateway}"
as_root
tools=$(realpath "${srcdir:-.}/tests/e2e/icmd.py")
export tools
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
clean='attached 0 semaphore 0 icmd 0 violations 0'

# Until no process has the record locked
ended() { flock -w 60 "$at/tree/run/rdmadump/port-sniffer-0000:01:00.0" true; }
# lives NAME SPEC SCRIPT: a shell in the model; files in $tmp/NAME, which is $at for the shell
lives() {
	export at=$tmp/$1 nl=$'\n'
	mkdir -p "$at"
	export -f ended
	export SOFTHCA_GATEWAY
	# shellcheck disable=SC2016 # for the inner shell
	# shellcheck disable=SC2086 # options
	model ${time-} --keep "$at/tree" --dev "link=ib,lid=1,gateway=$2" --gen size=300 --rate 1000 -- bash -c '
		states() { LD_PRELOAD="" "$SOFTHCA_GATEWAY" "$at/tree/gateway.0"; }
		state() { states | head -n 1; }
		'"$3" >"$at/out" 2>"$at/err"
}

# interrupted NAME SPEC STEP COMMAND...: Ctrl-C while the firmware takes seconds for a command. The capture ends before
# its helper, which finishes the command; meanwhile no other capture starts.
interrupted() {
	export step=$3 command="${*:4}"
	# shellcheck disable=SC2016 # for the inner shell
	lives "$1" "$2" '
		reached() { all=$(states); [[ ${all//"$nl"/ } =~ $step ]]; }
		$RDMADUMP $command --sniffer icmd -w "$at/f.pcapng" >"$at/report" 2>"$at/log" & pid=$!
		wait_for reached
		helper=$(</proc/$pid/task/$pid/children)
		kill -INT $pid; wait $pid; echo $?
		kill -0 $helper && echo "the helper works"
		$RDMADUMP -d mlx5_0 --sniffer icmd -a duration:2 -w "$at/second.pcapng" 2>&1; echo $?
		grep -c "process ${helper% }, whose capture has ended; wait until" "$at/out"
		ended; state'
}
interrupted opening slow_detach:800 'icmd 1' -d mlx5_0 -q &
interrupted attaching slow_attach:800 'icmd 1 .* commands 2' -d mlx5_0 -q &
interrupted detaching slow_detach:800 'attached 2 .* commands 4' -d mlx5_0 -q &
interrupted recording slow_detach:800 'icmd 1' record mlx5_0 --json &
interrupted recorded slow_detach:800 'attached 2 .* commands 4' record mlx5_0 --json &

# on_terminal NAME COMMAND...: while the firmware takes seconds for the first command
on_terminal() {
	export command="${*:2}"
	# shellcheck disable=SC2016 # for the inner shell
	lives "$1" slow_detach:800 '
		/usr/bin/python3 "$tools" terminal "Ctrl-C ends that" $RDMADUMP $command --sniffer icmd -w "$at/f.pcapng" >"$at/log"
		echo $?
		flock -n "$at/tree/run/rdmadump/port-sniffer-0000:01:00.0" true || echo "the helper works"
		ended; state'
}
on_terminal capture-terminal -d mlx5_0 &
on_terminal record-terminal record mlx5_0 &

# Another tool has the gateway when the capture has its frames: it tries to detach for seconds, reports, and waits
# until its helper has tried again. Ctrl-C ends that, too. In virtual time, as each of the 23,000 pauses is longer on a busy machine.
closing() {
	local accesses time='--time virtual'
	# shellcheck disable=SC2016 # for the inner shell
	lives plain yes '$RDMADUMP -d mlx5_0 --sniffer icmd -q -c 20 -w "$at/f.pcapng"; states | sed -n 2p'
	accesses=$(awk 'END { print $NF }' "$tmp/plain/out")
	# shellcheck disable=SC2016 # for the inner shell
	lives closing "taken:$((accesses * 3 / 4)).23000" '
		mkfifo "$at/lines"
		$RDMADUMP -d mlx5_0 --sniffer icmd -c 20 -w "$at/f.pcapng" 2>"$at/lines" & pid=$!
		exec 8<"$at/lines"
		while read -r line <&8; do
			echo "$line" >>"$at/log"
			[[ $line != "20 frames in"* ]] || break
		done
		cat <&8 >>"$at/log" &
		helper=$(</proc/$pid/task/$pid/children)
		kill -INT $pid; wait $pid; echo $?
		kill -0 $helper && echo "the helper works"
		ended; wait; state'
}
closing &
wait

while read -r name status; do
	is "$name: Ctrl-C while the firmware takes seconds: the capture ends, its helper finishes, nothing is left" \
		"$(sed '/^rdmadump:/d' "$tmp/$name/out")" "$status"$'\nthe helper works\n2\n1\n'"$clean"
	has "$name: why, and what next" "$tmp/$name/log" \
		'^rdmadump: interrupted while the command gateway of 0000:01:00.0 is used by rdmadump-icmd, process [0-9]+; it detaches the sniffer'
	has "$name: what the capture waited for" "$tmp/$name/log" 'warning: waiting up to 3 s for the adapter.s command gateway'
	has "$name: its helper says when that is done" "$tmp/$name/log" \
		'warning: mlx5_0 port 1: what was not waited for has ended: no sniffer is attached|the capture ended without detaching the sniffer: it is detached now'
	is "$name: no terminal, no word of Ctrl-C" "$(grep -c 'Ctrl-C ends that' "$tmp/$name/log")" 0
done <<'END'
opening 2
attaching 2
detaching 4
recording 2
recorded 4
END
holds "detaching: the file is there" [ -s "$tmp/detaching/f.pcapng" ]
is "recorded: the report says it, too" "$(jq -r '"\(.ended_by) \(.exit_status) \(.error != null)"' "$tmp/recorded/report")" 'signal 4 true'

for name in capture record; do
	name+=-terminal
	is "$name: Ctrl-C ends the wait, the helper outlives the terminal, nothing is left" "$(<"$tmp/$name/out")" $'2\nthe helper works\n'"$clean"
	has "$name: the wait is announced" "$tmp/$name/log" \
		'waiting for the adapter.s command gateway, which another program may be using; Ctrl-C ends that'
	has "$name: Ctrl-C is answered" "$tmp/$name/log" 'waiting up to 3 s for the adapter.s command gateway'
	has "$name: why, and what next" "$tmp/$name/log" \
		'interrupted while the command gateway of 0000:01:00.0 is used by rdmadump-icmd, process [0-9]+; it detaches the sniffer'
done

is "Ctrl-C while the helper detaches again: the capture ends, its helper detaches later" "$(<"$tmp/closing/out")" $'4\nthe helper works\n'"$clean"
has "... why it had not" "$tmp/closing/log" 'cannot detach the sniffer of sent frames of port 1: command gateway of 0000:01:00.0: its semaphore has been held for 2 s'
has "... what next" "$tmp/closing/log" \
	'warning: the command gateway of 0000:01:00.0 is still used by rdmadump-icmd, process [0-9]+: start no other capture on this adapter before it has ended'
has "... its helper says when that is done" "$tmp/closing/log" 'warning: mlx5_0 port 1: the capture ended without detaching the sniffer: it is detached now'

tap_done
