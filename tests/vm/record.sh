#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The flight recorder as a service of a real systemd, on a real kernel's rxe: readiness, status, journal, triggers,
# watchdog, restart, limits, and what the service may not do. For one machine; tests/vm/suite.sh runs it with VM_SERVICE=1.
# Prints "ok NAME" and "not ok NAME". systemd is the first process then, and runs this script again, as a service: in a
# PID namespace of its own the kernel's reports of queue pairs would not be used.
unit=rdmadump-record@rxe_a.service
state=/var/lib/rdmadump

# --- outside: makes a system of systemd's files in /x and starts it -----------------------------

[ -n "${SHARE-}" ] || { echo "record.sh: only in a machine, which it changes: tests/vm/suite.sh" >&2; exit 2; }
if [ "${1-}" != inside ]; then
	mkdir -p /lib/systemd/system /etc/default /var/log/journal /usr/local/bin "/run/systemd/system/$unit.d"
	for f in systemd systemd-journald; do ln -s /x/$f /lib/systemd/$f; done
	cp /x/*.service /x/*.socket /x/*.target /lib/systemd/system/
	ln -s /x/rdmadump /usr/local/bin/rdmadump
	echo 0123456789abcdef0123456789abcdef >/etc/machine-id
	cat >/lib/systemd/system/test.service <<-'UNIT'
		[Unit]
		DefaultDependencies=no
		Requires=systemd-journald.socket
		After=systemd-journald.socket
		[Service]
		Environment=N=1 SIDE=a SHARE=/share PATH=/x:/usr/sbin:/usr/bin:/sbin:/bin
		ExecStart=/bin/sh /script inside
		StandardOutput=file:/run/out
		StandardError=inherit
		ExecStopPost=/bin/sh -c 'cat /run/out >/dev/ttyS1; echo 0 >/share/status.a; sync; poweroff -f'
	UNIT
	mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
	cat >/run/first <<-'FIRST'
		#!/bin/sh
		exec /x/systemd --system --unit=test.service --log-target=console --show-status=no >/run/systemd.log 2>&1
	FIRST
	chmod 755 /run/first
	exit
fi

# --- inside -----------------------------------------------------------------------------------

# shellcheck source=tests/vm/lib.sh
. /lib.sh

# properties NAME...: of the service, their values in one line
properties() {
	show=
	for p in "$@"; do show="$show -p $p"; done
	# shellcheck disable=SC2086 # options
	systemctl show $show "$unit" >/tmp/properties
	for p in "$@"; do sed -n "s/^$p=//p" /tmp/properties; done | tr '\n' ' '
}

# until_is VALUES NAME...: or in vain
until_is() {
	wanted=$1 looks=0
	shift
	until [ "$(properties "$@")" = "$wanted" ] || [ $looks -ge 400 ]; do looks=$((looks + 1)); done
}

options() { echo "RECORD_OPTIONS=--memory 4Mi --pre 20s --post 200ms $*" >/etc/default/rdmadump-record; }

# What a command of the service may do: each of these must be refused.
cat >/tmp/may <<'MAY'
#!/bin/sh
{
	(: >/etc/forbidden) 2>/dev/null && echo "write to /etc"
	(: >/share/forbidden) 2>/dev/null && echo "write anywhere"
	(echo x >/dev/kmsg) 2>/dev/null && echo "write kernel messages"
	(echo 1 >/proc/sys/kernel/printk) 2>/dev/null && echo "change the kernel"
	[ -e /tmp/may ] && echo "see the files of others in /tmp"
	head -c 1 /dev/vda /dev/mem /dev/ttyS0 >/dev/null 2>&1 && echo "read devices"
	unshare -m true 2>/dev/null && echo "make a namespace"
	mount -t tmpfs none /mnt 2>/dev/null && echo "mount"
	tcpdump -i va -c 0 -w /dev/null 2>/dev/null && echo "capture"
	rdmadump -r "$1" --count 2>/dev/null
} >"${1%.pcapng}.may"
MAY
chmod 755 /tmp/may && cp /tmp/may /usr/local/bin/may

# the NUMBER ENDING: the name of a file
the() { echo "$state/rxe_a_0000$1"_*".$2"; }
# written NUMBER ENDING
written() {
	guest until 60 sh -c "[ -s '$state/rxe_a_0000$1_'*'.$2' ]"
}

# For the kernel's reports of queue pairs: docs/security.md
case "$(uname -r)" in
[1-5].* | 6.[01].*) sysctl -qw kernel.perf_event_paranoid=2 ;;
esac
options --trigger fifo=/run/rdmadump-record/fifo --exec /usr/local/bin/may
systemctl start "$unit" >/tmp/log 2>&1
started=$?
journalctl -o cat -u "$unit" >>/tmp/log 2>/dev/null
judge $started "start returns once the recorder is ready" /tmp/log
[ $started = 0 ] || exit # everything else would wait for it in vain
properties ActiveState StatusText >/tmp/log
grep -q '^active recording: 0 frames received, 0 triggers, 0 files, 0 failed\|^active recording $' /tmp/log
judge $? "the state has a status line" /tmp/log
pid=$(properties MainPID)
pid=${pid% }
sed -nE 's/^(VmLck|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):[[:space:]]*//p' "/proc/$pid/status" | tr '\n' ' ' >/tmp/log
none=0000000000000000
is "memory is locked, no capability is left, calls are filtered" "$(cat /tmp/log)" "4096 kB $none $none $none $none 1 2 "

owned_qps_tool "$DEV" 1 1 </dev/null >/tmp/owned 2>&1
ping -c 4 -i 0.2 -I "$NETDEV" "$PEER" >/dev/null 2>&1
systemctl kill --kill-whom=main -s USR1 "$unit"
written 1 may
is "SIGUSR1: a file with frames; what its command may do" "$(sed 's/^[4-9] frames$/frames/' "$(the 1 may)")" frames
grep -aq '"events_lost":0' "$(the 1 pcapng)"
judge $? "the kernel reports queue pairs to it" /dev/null
lives=$(sed -n 's/^short \([0-9]*\) .*/\1/p' /tmp/owned | head -n 1)
grep -aq "\"pid\":${lives:-none}[,}]" "$(the 1 pcapng)"
judge $? "... one that lived for 100 ms has its process" /tmp/owned
[ -s "$(the 1 json)" ] && [ -s "$(the 1 html)" ]
judge $? "its analysis is beside it" /dev/null
is "it is private" "$(stat -c %a "$state" "$(the 1 pcapng)" | tr '\n' ' ')" "700 600 "

# Frames of a netdev have the kernel's times, which step; those of triggers must not differ.
date -s "@$(($(date +%s) - 3600))" >/dev/null
sleep 1 # pause: the recorder compares its clocks now and then
ping -c 4 -i 0.2 -I "$NETDEV" "$PEER" >/dev/null 2>&1
echo "job 7 hangs" >/run/rdmadump-record/fifo
written 2 may
is "the system clock is set back an hour: the next file has the frames around its trigger" \
	"$(sed 's/^[4-9] frames$/frames/' "$(the 2 may)")" frames
systemctl stop "$unit"
is "stop: it ends well" "$(properties ActiveState Result NRestarts)" "inactive success 0 "
[ -s "$(the 2 json)" ] && [ -s "$(the 2 html)" ]
judge $? "stop: the analysis of the last file is completed" /dev/null
ls -l "$state" >/tmp/log
journalctl -o export "RDMADUMP_DEVICE=rxe_a" >/tmp/journal 2>/dev/null
grep -aE '^(MESSAGE_ID|RDMADUMP_PORT|PRIORITY|_SYSTEMD_UNIT)=' /tmp/journal | sort | uniq -c | awk '{print $1, $2}' >/tmp/log
printf '%s\n' "2 MESSAGE_ID=6f1d0b5c2d7e4e0b9a4d7c55a3f0e8b1" "2 MESSAGE_ID=b8c25a0f9a3e4d6f8e21f06c7d9314e2" \
	"4 PRIORITY=5" "4 RDMADUMP_PORT=1" "4 _SYSTEMD_UNIT=$unit" | diff - /tmp/log >/tmp/diff
judge $? "the journal has both triggers and both files, by MESSAGE_ID" /tmp/diff
grep -aq '^MESSAGE=trigger fifo=/run/rdmadump-record/fifo: job 7 hangs$' /tmp/journal
judge $? "... and the application's line" /tmp/journal

# --- watchdog, restart, limits ------------------------------------------------------------------

# A short time for the first process only: the second one may be slow, too, in a machine that is emulated.
printf '[Service]\nWatchdogSec=4\nRestartSec=5\n' >"/run/systemd/system/$unit.d/test.conf"
systemctl daemon-reload
options --max-dumps 3
systemctl start "$unit"
pid=$(properties MainPID)
kill -STOP "${pid% }"
until_is "auto-restart watchdog " SubState Result
is "a recorder that hangs is ended by the watchdog" "$(properties SubState Result)" "auto-restart watchdog "
rm "/run/systemd/system/$unit.d/test.conf"
systemctl daemon-reload
until_is "running 1 " SubState NRestarts
is "... and started again" "$(properties SubState NRestarts)" "running 1 "
# A trigger without frames would write no file.
ping -c 4 -i 0.2 -I "$NETDEV" "$PEER" >/dev/null 2>&1
systemctl kill --kill-whom=main -s USR1 "$unit"
until_is "inactive success " ActiveState Result
is "--max-dumps, files from before counted: it ends and is not started again" \
	"$(properties ActiveState Result)$(find "$state" -name '*.pcapng' | wc -l)" "inactive success 3"
options --no-such-option
systemctl start "$unit" >/tmp/log 2>&1
is "a wrong option: it is not tried again and again" "$(properties ActiveState SubState ExecMainStatus)" "failed failed 1 "
