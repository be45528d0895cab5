#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# 64 processes at each of two machines, half of which live for 100 ms and are followed by others: each has a queue pair
# that is connected to one at the other machine. Both machines capture. Leaves in $SHARE what was captured and said, and
# what the processes had (SIDE.truth).
# shellcheck source=tests/vm/lib.sh
. /lib.sh

mount -t cgroup2 none /sys/fs/cgroup
long=32 short=32 enough=64
mkfifo /tmp/held
rdmadump -Z root -d "$DEV" -w "/tmp/$SIDE.pcapng" >"/tmp/$SIDE.log" 2>&1 &
capture=$!
guest text 120 "/tmp/$SIDE.log" "capturing on"
barrier capturing
[ "$SIDE" = a ] && peer=listen || peer=$PEER
owned_qps_tool "$DEV" $long $short "$peer" </tmp/held >"/tmp/$SIDE.truth" 2>"/tmp/$SIDE.tool" &
tool=$!
exec 9>/tmp/held
# shellcheck disable=SC2016 # the inner shell's
guest until 240 sh -c '[ "$(grep -c ^long "$0")" = "$1" ] && [ "$(grep -c ^short "$0")" -ge "$2" ]' "/tmp/$SIDE.truth" "$long" "$enough"
wait_seconds=240
barrier enough
exec 9>&-
wait "$tool"
barrier ended
kill -TERM "$capture"
wait "$capture"
echo $? >"/tmp/$SIDE.exit"
for end in truth pcapng log tool exit; do
	cp "/tmp/$SIDE.$end" "$SHARE/"
done
