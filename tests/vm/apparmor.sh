#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The AppArmor profile of packaging/apparmor, enforced by a real kernel. For one machine; tests/vm/suite.sh runs it
# with VM_APPARMOR=1. Prints "ok NAME" and "not ok NAME".
# shellcheck source=tests/vm/lib.sh
. /lib.sh

# profile PID: under which it runs
profile() { cat "/proc/$1/attr/current"; }
pings() { ping -c 20 -i 0.02 -s 1000 -I "$NETDEV" "$PEER" >/dev/null 2>&1; }
rdmadump=/usr/bin/rdmadump

mount -t securityfs none /sys/kernel/security
mkdir -p /usr/bin /usr/libexec/rdmadump /cap
cp /x/rdmadump $rdmadump && cp /x/rdmadump-* /usr/libexec/rdmadump/
# The kernel takes a policy in one write only.
dd if=/x/profile of=/sys/kernel/security/apparmor/.replace bs=4M 2>/tmp/log
grep -q '^rdmadump (enforce)$' /sys/kernel/security/apparmor/profiles
judge $? "the kernel enforces the profile" /tmp/log

$rdmadump list >/tmp/log 2>&1 && grep -q rxe_a /tmp/log
judge $? "list" /tmp/log

cat >/cap/command <<'END'
#!/bin/sh
cat /proc/self/attr/current >>/cap/profiles
(echo core >/proc/sys/kernel/core_pattern) 2>/dev/null && echo "changes the kernel" >>/cap/profiles
gzip "$1"
END
chmod 755 /cap/command
$rdmadump -d "$DEV" -w /cap/r.pcapng -b packets:10 -z /cap/command --analyze >/tmp/log 2>&1 &
pid=$!
guest until 120 grep -q . "/proc/$pid/task/$pid/children"
read -r child <"/proc/$pid/task/$pid/children"
{ profile $pid && profile "$child"; } >/tmp/profile
pings
kill -INT $pid
wait $pid
judge $? "capture with rotation, commands and analysis" /tmp/log
[ "$(sort /tmp/profile | uniq -c | tr -s ' ')" = " 2 rdmadump (enforce)" ]
judge $? "... it and the analysis are in the profile" /tmp/profile
ls /cap >/tmp/files
[ "$(grep -c 'pcapng.gz$' /tmp/files)" -ge 2 ] && [ "$(sort -u /cap/profiles)" = "rdmadump (enforce)" ]
judge $? "... and its commands, which cannot change the kernel" /tmp/files

first=$(find /cap -name '*.pcapng.gz' | head -n 1)
$rdmadump analyze "$first" --html /cap/report.html >/tmp/log 2>&1 && [ -s /cap/report.html ]
judge $? "analyze" /tmp/log
$rdmadump -r "$first" -Z nobody -w - 2>/tmp/log | cat >/cap/copy
[ -s /cap/copy ]
judge $? "another user reads a file and writes to a pipe" /tmp/log

$rdmadump record -w /cap/rec.pcapng --memory 4Mi --post 200ms --max-dumps 1 "$DEV" >/tmp/log 2>&1 &
pid=$!
guest text 120 /tmp/log 'SIGUSR1'
pings
kill -USR1 $pid
wait $pid
ls /cap >/tmp/files
grep -q '^rec.*html$' /tmp/files && grep -q '^rec.*json$' /tmp/files
judge $? "record, with its analysis" /tmp/log

timeout 400 $rdmadump bundle --timeout 50 -w /cap/bundle.tar.zst >/tmp/log 2>&1
judge $? "bundle" /tmp/log
for name in /etc/x.pcapng /usr/bin/x.pcapng /dev/vda; do
	$rdmadump -d "$DEV" -w $name -a duration:1 >/tmp/log 2>&1
	[ $? = 3 ] && grep -q 'Permission denied' /tmp/log
	judge $? "not into $name" /tmp/log
done
dmesg | grep 'apparmor="DENIED"' >/tmp/denied
grep -vE 'name="/(etc|usr/bin)/x.pcapng"|name="/dev/vda"|name="/proc/sys/kernel/core_pattern"' /tmp/denied >/tmp/log
[ ! -s /tmp/log ] && [ "$(grep -c . /tmp/denied)" -ge 3 ]
judge $? "nothing else was refused, and that is in the log" /tmp/denied
