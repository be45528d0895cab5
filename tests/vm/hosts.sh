#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Four hosts and a router between their networks: each host sends to each other one, and captures.
# Arguments: for each scenario its name, or NAME:FROM:TO if the router drops 0.5 % of what FROM sends to
# TO. Leaves in $SHARE/NAME the captures, and what the router dropped (qdiscs).
# shellcheck source=tests/vm/lib.sh
. /lib.sh

# The router's port towards a host
port_to() { echo "eth$(($(number "$1") - 1))"; }

drop() { # FROM TO
	# Without the filter nothing is in the fourth band.
	run tc qdisc add dev "$(port_to "$2")" root handle 1: prio bands 4
	run tc qdisc add dev "$(port_to "$2")" parent 1:4 netem loss 0.5%
	run tc filter add dev "$(port_to "$2")" parent 1: protocol ip u32 match ip src "$(address "$1")" flowid 1:4
}

# This host's ends of the traffic with each other one, all at the same time; more on the lossy path
talk_to_all() { # FROM TO
	pids=
	for peer in $HOSTS; do
		n=40 end=a pair=$SIDE$peer
		[ "$peer" != "$SIDE" ] || continue
		[ "$(number "$peer")" -gt "$(number "$SIDE")" ] || end=b pair=$peer$SIDE
		case ${1-}${2-} in "$SIDE$peer" | "$peer$SIDE") n=240 ;; esac
		timeout 240 traffic -s $end -x "$SHARE/$name/$pair" -t 21 write:4000:$n read:4000:$((n / 4)) \
			>"/tmp/$name.$pair" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || failures=$((failures + 1))
	done
}

for scenario in "$@"; do
	# shellcheck disable=SC2046 # its parts
	set -- $(echo "$scenario" | tr : ' ')
	name=$1
	shift
	mkdir -p "$SHARE/$name/captures"
	if [ "$SIDE" = r ]; then
		[ $# = 0 ] || drop "$@"
	else
		rdmadump capture -d "$DEV" -w "/tmp/$name.pcapng" 2>"/tmp/$name.log" &
		capture=$!
		guest text 120 "/tmp/$name.log" "capturing on"
		# It and the router know each other's MAC address then; what is lost later is not at the start of a capture.
		ping -c 1 -W 5 "${SELF%.*}.9"
	fi
	barrier "$name.begin"
	if [ "$SIDE" = r ]; then
		barrier "$name.end"
		tc -s -j qdisc show >"$SHARE/$name/qdiscs"
		[ $# = 0 ] || run tc qdisc del dev "$(port_to "$2")" root
		continue
	fi
	talk_to_all "$@"
	guest quiet 60
	ping -c 1 -W 5 "${SELF%.*}.9" # nor at its end
	barrier "$name.end"
	kill -TERM "$capture"
	run wait "$capture"
	cat "/tmp/$name".?? "/tmp/$name.log"
	cp "/tmp/$name.pcapng" "$SHARE/$name/captures/$SIDE.pcapng"
done
exit "$failures"
