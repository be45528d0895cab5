#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares our counters with rdma(8)'s on a real kernel, field by field, before and after traffic:
# tests/vm/run -n 1 -x BUILD/rdmadump tests/vm/counters.sh; one.sh runs it as well.
# shellcheck source=tests/vm/lib.sh
. /lib.sh
failed=0

# "name value" of both, sorted; rdma does not list the link and the port's other counters
ours() { rdmadump counters "$DEV:1" --all | sed -n '/^Transport/,/^$/{s/^   *\([a-z_]*\)  *\([0-9 ]*[0-9]\).*/\1 \2/p}' | sed 's/\([0-9]\) \([0-9]\)/\1\2/g' | sort; }
theirs() { rdma statistic show link "$DEV/1" | tr ' ' '\n' | sed -n '/^[a-z]/{N;s/\n/ /;p}' | grep ' [0-9][0-9]*$' | sort; }
compare() { # NAME
	theirs >/tmp/theirs
	ours >/tmp/ours
	diff /tmp/theirs /tmp/ours >/tmp/diff && [ -s /tmp/ours ]
	judge $? "$1: $(wc -l </tmp/ours) counters of the transport are those of 'rdma statistic'" /tmp/diff
}

compare "idle"
rdmadump counters "$DEV" --json -o /tmp/before.json
timeout 240 traffic -s a -d "$DEV" -l "$SELF" -x /tmp/c -r 10 >/tmp/a 2>&1 &
timeout 240 traffic -s b -d "$DEV_B" -l "$PEER" -x /tmp/c send:3000:10 read:3000:5 >/tmp/b 2>&1
judge $? "the traffic itself" /tmp/b
wait $!
rdmadump counters "$DEV" --json -o /tmp/after.json
compare "after traffic"
rdmadump counters --diff /tmp/before.json /tmp/after.json >/tmp/diff
grep -q '^ *rcvd_pkts  *+ *[1-9]' /tmp/diff
judge $? "--diff shows the growth" /tmp/diff
sed 's/^/# /' /tmp/diff
# The netdev driver's statistics, as ethtool(8) prints them; virtio and veth have few
rdmadump counters "$DEV" --json | grep -c '"ethtool/' | sed 's/^/# ethtool statistics: /'
rdmadump counters "$DEV" --prometheus >/tmp/prometheus
grep -q '^rdmadump_hw_rcvd_pkts_total{device="'"$DEV"'",port="1"' /tmp/prometheus
judge $? "Prometheus text" /tmp/prometheus
# A capture stores the open queue pairs: the kernel's are always open
timeout 120 rdmadump -d "$DEV" -q -a duration:1 -w /tmp/facts.pcapng 2>/tmp/reported
tr '{' '\n' </tmp/facts.pcapng | grep -a '"lqpn":1,"type":"GSI","state":"RTS"' >/tmp/reported
judge $? "a capture stores the open queue pairs" /tmp/reported
exit $failed
