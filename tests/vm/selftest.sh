#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest on a real kernel's rxe, which has no sniffer: honest results, nothing left on the device,
# not even by SIGKILL. For one machine; prints "ok NAME" and "not ok NAME" for tests/vm/suite.sh.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

judge() { # STATUS NAME FILE
	if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; fi
	[ "$1" = 0 ] || sed 's/^/# /' "$3"
}

# is NAME GOT WANTED
is() {
	printf 'got: %s\nwant: %s\n' "$2" "$3" >/tmp/is
	[ "$2" = "$3" ]
	judge $? "$1" /tmp/is
}

# The kernel's objects of processes: queue pairs, CQs, PDs, MRs of rdmadump
objects() {
	for kind in qp cq pd mr; do rdma resource show $kind; done | grep -c 'comm rdmadump'
}
# row PROBE: its outcome, in the table
row() { sed -n "s/^$1  *\([a-z]*\) .*/\1/p" /tmp/table; }

mkdir /tmp/out /tmp/killed
rdmadump selftest --dry-run "$DEV" >/tmp/plan 2>&1
judge $? "--dry-run" /tmp/plan

# value NAME: of the last result, in its JSON
value() {
	rdmadump selftest --show /tmp/out/*.zst --json |
		sed -n '/^ *"'"$1"'": {/,/}/s/^ *"value": "\{0,1\}\([^",]*\).*/\1/p'
}

# With traffic of the kernel on the port.
ping -i 0.2 -I "$NETDEV" "$PEER" >/dev/null 2>&1 &
ping_pid=$!
timeout 400 rdmadump selftest --output /tmp/out "$DEV" >/tmp/table 2>/tmp/log
status=$?
cat /tmp/log >>/tmp/table
judge $status "selftest of rxe: exit status" /tmp/table
sed 's/^/# /' /tmp/table
is "nothing but the archive" "$(ls /tmp/out)" "selftest-vm-a-$DEV.tar.zst"
is "nothing of the program is left" "$(objects)" 0
for expected in "capabilities found" "objects found" "flow skipped" "second skipped" "receive skipped" \
	"stop skipped" "residue passed"; do
	is "rxe: $expected" "$(row "${expected% *}")" "${expected#* }"
done
grep -q '^objects .*the device has no sniffer' /tmp/table
judge $? "objects says why there is no sniffer" /tmp/table
# The list must have had the other process' queue pair, else its absence would say nothing.
is "residue: the kernel listed the other process" "$(value qps_before_kill)" 1
is "residue: and lists nothing of it" "$(value qps_after_kill)" 0
is "rxe is no adapter, and no model" "$(value runs_on)" software
is "the kernel is named" "$(value kernel)" "$(uname -r)"

# A run that is stopped keeps the device's lock, and is then killed.
rdmadump selftest --output /tmp/killed "$DEV" >/tmp/table 2>&1 &
selftest_pid=$!
until [ -e "/tmp/killed/selftest-vm-a-$DEV.partial/result.json" ] || ! kill -0 "$selftest_pid"; do :; done
kill -STOP "$selftest_pid"
timeout 120 rdmadump selftest --output /tmp/killed "$DEV" >/tmp/log 2>&1
grep -q "another selftest is running on $DEV; wait" /tmp/log
judge $? "two at once: the second one is refused" /tmp/log
kill -KILL "$selftest_pid"
wait "$selftest_pid" 2>/dev/null
is "SIGKILL: what is left" "$(ls /tmp/killed)" "selftest-vm-a-$DEV.partial"
rdmadump selftest --show "/tmp/killed/selftest-vm-a-$DEV.partial" >/tmp/log 2>&1
judge $? "SIGKILL: what is left can be shown" /tmp/log

# Its second process, killed while the kernel lists its objects.
sleep 100 | rdmadump selftest --hold "$DEV:1" >/tmp/held 2>&1 &
guest text 120 /tmp/held "qp 95"
is "the second process: CQ, MR, PD, QP" "$(objects)" 4
held=$(rdma resource show qp | sed -n 's/.* pid \([0-9]*\) comm rdmadump.*/\1/p')
kill -KILL "$held"
looks=0
until [ "$(objects)" = 0 ] || [ "$looks" -ge 100 ]; do looks=$((looks + 1)); done
is "SIGKILL of the second process: nothing is left" "$(objects)" 0

# As nobody: each refusal by its name, and the table is complete.
mkdir -m 777 /tmp/nobody
chmod 666 /dev/infiniband/uverbs*
setpriv --reuid 65534 --regid 65534 --clear-groups rdmadump selftest --output /tmp/nobody "$DEV" >/tmp/table 2>&1
grep -q '^objects .*qp: EPERM' /tmp/table
judge $? "nobody: the refusal" /tmp/table
grep -q 'CAP_NET_RAW' /tmp/table
judge $? "nobody: what that needs" /tmp/table
is "nobody: residue" "$(row residue)" passed

# --- --destructive: link, MTU and MAC address ---------------------------------------------------

destructive() { timeout 240 rdmadump selftest --output /tmp/destroyed --destructive "$DEV" --probe objects "$@" "$DEV" >/tmp/table 2>&1; }
settings() { ip -o link show dev "$NETDEV" | sed 's/ qlen.*link/ link/'; ip -o addr show dev "$NETDEV"; ip route show table all dev "$NETDEV" | sort; }
# Without a fork: the kernel's flags of the netdev; the lowest bit is IFF_UP
is_up() { read -r flags <"/sys/class/net/$NETDEV/flags" && [ $((flags & 1)) = 1 ]; }
until_down() { until ! is_up || ! kill -0 "$1" 2>/dev/null; do :; done; }
until_up() { looks=0; until is_up || [ "$looks" -ge 100000 ]; do looks=$((looks + 1)); done; }

mkdir /tmp/destroyed
rdmadump selftest --probe link --output /tmp/destroyed "$DEV" >/tmp/table 2>&1
is "link: not without --destructive" "$(row link)" skipped
rdmadump selftest --destructive rxe_b "$DEV" >/tmp/log 2>&1
is "--destructive with another device's name: exit status" $? 1
grep -q "repeat the name of the device that is tested" /tmp/log
judge $? "--destructive with another device's name: the message" /tmp/log
settings >/tmp/before
destructive --probe link
grep -q "^link  *skipped .*would lose" /tmp/table
judge $? "link: not where routes would be lost" /tmp/table
settings >/tmp/after
diff /tmp/before /tmp/after >/tmp/diff
judge $? "link: nothing has changed" /tmp/diff

# The routes of lib.sh would be lost; the kernel's own come back.
ip route flush table 10
settings >/tmp/before
ip -o monitor link dev "$NETDEV" >/tmp/monitor 2>/dev/null &
monitor_pid=$!
destructive --probe link --probe netdev
judge $? "--destructive: exit status" /tmp/table
sed 's/^/# /' /tmp/table
is "link: passed" "$(row link)" passed
is "netdev: passed" "$(row netdev)" passed
guest quiet 5
kill "$monitor_pid"
settings >/tmp/after
diff /tmp/before /tmp/after >/tmp/diff
judge $? "--destructive: everything is as before" /tmp/diff
grep -q 'state DOWN' /tmp/monitor
judge $? "link: the kernel saw it go down" /tmp/monitor
grep -q 'mtu 1496' /tmp/monitor
judge $? "netdev: the kernel saw another MTU" /tmp/monitor
mac=$(cat "/sys/class/net/$NETDEV/address")
sed -n 's/.*link\/ether \([0-9a-f:]*\) .*/\1/p' /tmp/monitor | grep -v "$mac" >/tmp/macs
[ -s /tmp/macs ]
judge $? "netdev: the kernel saw another MAC address" /tmp/monitor

for signal in INT KILL; do
	rdmadump selftest --output /tmp/destroyed --destructive "$DEV" --probe link "$DEV" >/tmp/table 2>&1 &
	selftest_pid=$!
	until_down "$selftest_pid"
	is_up
	is "SIG$signal: while the link is down" $? 1
	kill -$signal "$selftest_pid"
	wait "$selftest_pid" 2>/dev/null
	until_up
	settings >/tmp/after
	diff /tmp/before /tmp/after >/tmp/diff
	judge $? "SIG$signal: everything is as before" /tmp/diff
done
kill "$ping_pid" 2>/dev/null || :
