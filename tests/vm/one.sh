#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tests on one machine with two rxe devices: comparison with other tools while queue pairs are open,
# counters, events, messages for what the kernel refuses, privileges, a netdev that is removed.
# Prints "ok NAME" and "not ok NAME" for tests/vm/suite.sh.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

# reports STATUS TEXT NAME COMMAND...: its exit status, and a text in its output
reports() {
	wanted=$1 text=$2 what=$3
	shift 3
	timeout "${limit-30}" "$@" >/tmp/reported 2>&1
	status=$?
	echo "exit status $status" >>/tmp/reported
	[ "$status" = "$wanted" ] && grep -q "$text" /tmp/reported
	judge $? "$what" /tmp/reported
}

# Both ends of the same traffic.
traffic_here() {
	timeout 240 traffic -s a -d "$DEV" -l "$SELF" -x "/tmp/$1" -r 10 >/tmp/here.a 2>&1 &
	timeout 240 traffic -s b -d "$DEV_B" -l "$PEER" -x "/tmp/$1" send:3000:10 read:3000:5 >/tmp/here.b 2>&1
	judge $? "$1: the traffic itself" /tmp/here.b
	wait $!
}

# reports_as_nobody STATUS TEXT NAME OPTIONS-OF-SETPRIV COMMAND...
reports_as_nobody() {
	wanted=$1 text=$2 what=$3
	shift 3
	reports "$wanted" "$text" "$what" setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

rdmadump list --json >"$SHARE/list.json"
reports 0 "netdev only: software RoCE" "list says what can be captured" rdmadump list
reports 2 "Operation not supported" "the sniffer is refused: by what name" \
	rdmadump -d "$DEV" --sniffer verbs -w /tmp/refused.pcapng
[ ! -e /tmp/refused.pcapng ]
judge $? "the sniffer is refused: no file is left" /tmp/reported
reports_as_nobody 2 "CAP_NET_RAW" "nobody may not capture, and the message says what that needs" \
	rdmadump -d "$DEV" -w /tmp/refused.pcapng
chmod 666 /dev/infiniband/uverbs*
reports_as_nobody 2 "CAP_NET_RAW" "nobody may not ask for the sniffer, and the message says what that needs" \
	rdmadump -d "$DEV" --sniffer verbs -b 4 -w /tmp/refused.pcapng
reports_as_nobody 0 "0 frames" "with CAP_NET_RAW alone he may" \
	--inh-caps +net_raw --ambient-caps +net_raw rdmadump -d "$DEV" -w /dev/null -a duration:1
reports 0 "capturing on $DEV port 1 ($NETDEV, soft RoCE" "the netdev's name finds the device" \
	rdmadump -i "$NETDEV" -w /dev/null -a duration:1

# Queue pairs that stay open: requests without a receive are retransmitted slowly, and for ever: while the machine is
# busy, ACKs are late, and six retries last ten seconds.
timeout 800 traffic -s a -d "$DEV" -l "$SELF" -x /tmp/open -q 3 -N 0 >/tmp/open.log 2>&1 &
qps_a=$!
timeout 800 traffic -s b -d "$DEV_B" -l "$PEER" -x /tmp/open -q 3 -y 7 send:100:1 >>/tmp/open.log 2>&1 &
qps_b=$!
guest wait 180 /tmp/open.a.ready /tmp/open.b.ready >>/tmp/open.log 2>&1
judge $? "queue pairs are open" /tmp/open.log
rdmadump info --json "$DEV" >/tmp/reported
[ "$(grep -A1 '"type": "RC"' /tmp/reported | grep -c '"state": "RTS"')" = 3 ]
judge $? "info knows those that are" /tmp/reported >/tmp/judged
sed '/^#/d' /tmp/judged
modprobe ib_umad
# The results of the script, without its numbers and its plan.
timeout 400 same_facts.sh "$DEV" "$DEV_B" 2>&1 | sed 's/^\(not \)\{0,1\}ok [0-9]* - /\1ok /; /^1\.\.[0-9]/d'

# The bundle, by root and by another user, with queue pairs that are open; tests/vm/suite.sh looks into both.
limit=400
reports 0 "" "bundle by root" rdmadump bundle --timeout 50 -w /tmp/root.tar.zst
mkdir -m 777 /tmp/nobody
reports_as_nobody 0 "" "bundle by nobody" rdmadump bundle --timeout 50 -w /tmp/nobody/nobody.tar.zst
unset limit
for bundle in /tmp/root.tar.zst /tmp/nobody/nobody.tar.zst; do
	by=$(basename "$bundle" .tar.zst)
	tree=$(mktemp -d)
	zstd -dc "$bundle" | tar -xf - -C "$tree"
	tree=$(echo "$tree"/*/sysroot)
	reports 0 "netdev only: software RoCE" "bundle by $by: list reads it back" rdmadump list --sysroot "$tree"
	reports 0 "$DEV_B" "bundle by $by: info reads it back" rdmadump info --sysroot "$tree" "$DEV_B"
	reports 0 "rcvd_pkts" "bundle by $by: counters reads it back" rdmadump counters --sysroot "$tree" "$DEV"
	cp "$bundle" "$SHARE/$by.tar.zst"
done
kill "$qps_a" "$qps_b"
wait "$qps_a" "$qps_b"

timeout 600 counters.sh

timeout 240 rdmadump events --json "$DEV" >/tmp/events 2>&1 &
events_pid=$!
guest text 120 /tmp/events watching
ip link set "$NETDEV" down
guest text 120 /tmp/events '"event":"port_error"'
ip link set "$NETDEV" up
guest text 120 /tmp/events '"event":"port_active"'
kill -TERM "$events_pid"
wait "$events_pid"
judge $? "events ends on a signal" /tmp/events >/tmp/judged
sed '/^#/d' /tmp/judged
for event in port_error port_active; do
	grep -q '"device":"'"$DEV"'","port":1,.*"event":"'$event'"' /tmp/events
	judge $? "events tells $event of a link that goes down and up" /tmp/events >/tmp/judged
	sed '/^#/d' /tmp/judged
done
sed 's/^/# /' /tmp/events
ip route replace 10.77.0.0/24 dev "$NETDEV" src "$SELF" table 10

begin veth accepts=a
traffic_here veth >&3
finish

# The netdev is removed, and its rxe with it: the captured frames are kept, the removal is reported.
begin removed none
traffic_here removed >&3
guest counters "$dir/after"
guest quiet 30
caught_up
ip link del "$NETDEV"
wait "$rdmadump_pid"
echo $? >"$dir/exit"
kill -TERM "$tcpdump_pid" 2>/dev/null
wait "$tcpdump_pid"
exec >&3 2>&1 3>&-
[ "$(cat "$dir/exit")" = 4 ] && grep -q "netdev '$NETDEV': it was removed" "$dir/rdmadump.log"
judge $? "a netdev that vanishes ends the capture with status 4 and says so" "$dir/rdmadump.log"
echo 0 >"$dir/failures"
for f in "$dir"/*; do mv "$f" "$SHARE/removed/a.${f##*/}"; done
rm /tmp/refused.pcapng 2>/dev/null
reports 2 "no device or netdev" "the device is gone with it" rdmadump -d "$DEV" -w /tmp/refused.pcapng
