#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# 64 processes with queue pairs on a real kernel, half of which live for 100 ms and are followed by others: which of
# them a capture knows by the kernel's reports (eBPF), and which by samples alone. For one machine. Leaves in $SHARE what
# was captured and said, and what the processes had (NAME.truth; NAME.ended: at the end of the capture; NAME.alive: which
# processes had not ended then).
# shellcheck source=tests/vm/lib.sh
. /lib.sh

mount -t cgroup2 none /sys/fs/cgroup

# measure NAME LONG SHORT ENOUGH COMMAND...: the command captures, and processes begin, LONG and SHORT at a time, until
# ENOUGH short ones had a queue pair
measure() {
	name=$1 long=$2 short=$3 enough=$4
	shift 4
	: >"/tmp/$name.truth"
	rm -f /tmp/held
	mkfifo /tmp/held
	"$@" -d "$DEV" -w "/tmp/$name.pcapng" >"/tmp/$name.log" 2>&1 &
	capture=$!
	guest text 120 "/tmp/$name.log" "capturing on"
	owned_qps_tool "$DEV" "$long" "$short" </tmp/held >"/tmp/$name.truth" 2>>"/tmp/$name.log" &
	tool=$!
	exec 9>/tmp/held
	# shellcheck disable=SC2016 # the inner shell's
	guest until 240 sh -c '[ "$(grep -c ^long "$0")" = "$1" ] && [ "$(grep -c ^short "$0")" -ge "$2" ]' "/tmp/$name.truth" "$long" "$enough"
	# No queue pair in it is created after the capture.
	cp "/tmp/$name.truth" "/tmp/$name.ended"
	echo /proc/[0-9]* >"/tmp/$name.alive"
	kill -TERM "$capture"
	wait "$capture"
	echo $? >"/tmp/$name.exit"
	exec 9>&-
	wait "$tool"
	for end in truth ended alive pcapng log exit; do
		cp "/tmp/$name.$end" "$SHARE/"
	done
}

measure events 32 32 100 rdmadump -Z root
measure dropped 4 8 24 rdmadump
measure samples 32 32 64 setpriv --bounding-set=-bpf,-perfmon,-sys_admin rdmadump -Z root
