#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest between two machines with rxe: a connects, b listens. The results are in $SHARE/a*.json and
# b*.json, for tests/vm/suite.sh.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

# What each end ran, NAME OPTION...: one result, and the log
one() {
	name=$1
	shift
	mkdir -p "/tmp/$name"
	timeout 400 rdmadump selftest --json --probe peer --output "/tmp/$name" "$@" "$DEV" >"$SHARE/$SIDE.$name.json" 2>"/tmp/$name.log"
	echo "$?" >"$SHARE/$SIDE.$name.status"
	cp "/tmp/$name.log" "$SHARE/$SIDE.$name.log"
}

# both NAME ADDRESS: of this end and of the other
both() {
	if [ "$SIDE" = b ]; then
		one "$1" --listen &
		guest text 120 "/tmp/$1.log" "waiting for the peer"
	fi
	barrier "$1"
	if [ "$SIDE" = a ]; then one "$1" --peer "$2"; else wait; fi
	barrier "$1.end"
}

both ipv4 "$PEER"
both ipv6 "${PEER6:-}"
if [ "$SIDE" = a ]; then
	one route --peer 192.0.2.1
	rdma resource show qp | grep -c 'comm rdmadump' >"$SHARE/a.left"
fi
barrier finished
