#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The scenarios of two machines with a router between them that drops, delays, duplicates or damages
# frames, so that the two ends capture different frames. Each end is compared with its own counters.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

all="routed router_loss router_reorder router_duplicate"

# towards END ...: what the router does to what it sends there
towards() {
	if [ "$1" = a ]; then out=eth0; else out=eth1; fi
	shift
	on r tc qdisc replace dev $out root netem "$@"
}
# A ping long before and after: packets at the start or end of a capture are not called lost.
edge() {
	[ "$SIDE" != b ] || ping -c 1 -W 5 "$PEER"
	sleep 0.5 # pause: no packet in that time
	barrier "$name.edge.$1"
}
kindly() {
	barrier "$name.ran"
	[ "$SIDE" != r ] || tc -s -j qdisc show >"$SHARE/$name/qdiscs"
	on r tc qdisc del dev eth0 root
	on r tc qdisc del dev eth1 root
}

routed() {
	begin routed "arrives=ab accepts=ab ends=same"
	both -r 12 -- send:4000:12 write:3000:6 read:5000:6 fadd:8:6
	finish
}

router_loss() {
	begin router_loss "arrives=ab accepts=ab ends=apart"
	edge 1
	towards a loss 6%
	towards b loss 6%
	barrier router_loss.set
	both -r 30 -t 16 -- -t 16 -p 8 send:4000:30 write:6000:20 read:6000:15 fadd:8:20
	kindly
	edge 2
	finish
}

router_reorder() {
	begin router_reorder "arrives=ab accepts=ab ends=same"
	towards a delay 3ms reorder 70% 30%
	towards b delay 3ms reorder 70% 30%
	barrier router_reorder.set
	both -r 20 -t 17 -- -t 17 -p 4 send:4000:12 write:6000:8 read:6000:8
	kindly
	finish
}

router_duplicate() {
	begin router_duplicate "arrives=ab accepts=ab ends=apart"
	towards a duplicate 15%
	towards b duplicate 15% loss 3%
	barrier router_duplicate.set
	both -r 30 -t 16 -- -t 16 -p 8 send:4000:30 write:6000:20 read:6000:15
	kindly
	finish
}

# Recorded for explain_stories.sh by name, not in the list.
# A link of the path has a smaller MTU: packets of the path MTU are too long for it. Adapters take no notice of ICMP.
path_mtu() {
	begin path_mtu "arrives=b"
	on r ip link set eth0 mtu 1000
	on b sysctl -w net.ipv4.ip_no_pmtu_disc=2
	barrier path_mtu.set
	both -r 4 -- -t 15 -y 3 -e 12 write:300:20 write:3000:2
	barrier path_mtu.ran
	on b sysctl -w net.ipv4.ip_no_pmtu_disc=0
	on r ip link set eth0 mtu 1500
	finish
}
# So much is lost on the way that the retries do not suffice.
path_loss() {
	begin path_loss "arrives=b"
	towards a loss 50%
	barrier path_loss.set
	both -r 4 -- -t 15 -y 2 -e 12 -p 4 write:2500:2000
	barrier path_loss.ran
	on r tc qdisc del dev eth0 root
	finish
}
# The queue of one priority is short and slow, and nothing pauses its senders; the other one is not.
priority_loss() {
	begin priority_loss "arrives=b"
	on r modprobe sch_prio
	on r tc qdisc add dev eth0 root handle 1: prio
	on r tc qdisc add dev eth0 parent 1:3 netem rate 200kbit limit 2
	barrier priority_loss.set
	both -r 4 -- write:2500:20
	both -q 4 -c 0x68 -r 4 -- -q 4 -c 0x68 -t 15 -y 2 -e 12 -p 4 write:2500:12
	barrier priority_loss.ran
	[ "$SIDE" != r ] || tc -s qdisc show dev eth0
	on r tc qdisc del dev eth0 root
	finish
}

# No ARP request in between: the router must drop packets of the scenario only.
known() { ip neigh replace "$1" lladdr "52:54:00:77:0$2" nud permanent dev "$3"; }
if [ "$SIDE" = r ]; then
	known 10.77.1.1 1:01 eth0
	known 10.77.2.2 2:02 eth1
else
	known "${SELF%.*}.9" "$(echo "$SELF" | cut -d. -f3):09" "$NETDEV"
	ping -c 1 -W 5 "$PEER" >/dev/null
fi
barrier ping
[ "${1-}" != record ] || { VM_RECORD=1 && shift; }
# shellcheck disable=SC2086 # a list of names
[ $# -gt 0 ] || set -- $all
for scenario in "$@"; do
	$scenario
done
