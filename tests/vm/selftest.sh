#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest on a real kernel's rxe, which has no sniffer: honest results, nothing left on the device,
# not even by SIGKILL. For one machine; prints "ok NAME" and "not ok NAME" for tests/vm/suite.sh.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

# The kernel's objects of processes: queue pairs, CQs, PDs, MRs of rdmadump
objects() {
	for kind in qp cq pd mr; do rdma resource show $kind; done | grep -c 'comm rdmadump'
}
# row PROBE: its outcome, in the table
row() { sed -n "s/^$1  *\([a-z]*\) .*/\1/p" /tmp/table; }

mkdir /tmp/out /tmp/killed
rdmadump selftest --dry-run "$DEV" >/tmp/plan 2>&1
judge $? "--dry-run" /tmp/plan

# value NAME: of the inventory
value() { sed -n '/^ *"'"$1"'": {/,/}/s/^ *"value": "\{0,1\}\([^",]*\).*/\1/p' /tmp/json; }
rdmadump selftest --json --probe inventory --output /tmp "$DEV" >/tmp/json 2>/tmp/log
judge $? "the inventory as JSON" /tmp/log

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
is "rxe: objects" "$(row objects)" found
for probe in send loopback contents paths clocks oversize overload; do
	is "rxe: $probe" "$(row $probe)" skipped
done
grep -q '^objects .*the device has no sniffer' /tmp/table
judge $? "objects says why there is no sniffer" /tmp/table
is "rxe is no adapter, and no model" "$(value runs_on)" software
is "the kernel is named" "$(value kernel)" "$(uname -r)"

# A run that is stopped keeps the device's lock, and is then killed.
rdmadump selftest --output /tmp/killed "$DEV" >/tmp/table 2>&1 &
selftest_pid=$!
until [ -e "/tmp/killed/selftest-vm-a-$DEV.partial.json" ] || ! kill -0 "$selftest_pid"; do :; done
kill -STOP "$selftest_pid"
timeout 120 rdmadump selftest --output /tmp/killed "$DEV" >/tmp/log 2>&1
grep -q "another selftest is running on $DEV; wait" /tmp/log
judge $? "two at once: the second one is refused" /tmp/log
kill -KILL "$selftest_pid"
wait "$selftest_pid" 2>/dev/null
is "SIGKILL: what is left" "$(ls /tmp/killed)" "selftest-vm-a-$DEV.partial.json"

# As nobody: each refusal by its name, and the table is complete.
mkdir -m 777 /tmp/nobody
chmod 666 /dev/infiniband/uverbs*
setpriv --reuid 65534 --regid 65534 --clear-groups rdmadump selftest --output /tmp/nobody "$DEV" >/tmp/table 2>&1
grep -q '^objects .*qp: EPERM' /tmp/table
judge $? "nobody: the refusal" /tmp/table
grep -q 'CAP_NET_RAW' /tmp/table
judge $? "nobody: what that needs" /tmp/table

kill "$ping_pid" 2>/dev/null || :
