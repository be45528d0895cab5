#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --update reaches a capture of any user, and affects no other process.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
chmod 755 "$tmp"
mkfifo -m 666 "$tmp/in"
"$SOFTHCA_FRAMES" --write "$tmp/in.pcap" count=2000,size=200,seed=8 >/dev/null
tail -c +25 "$tmp/in.pcap" >"$tmp/frames"

runs() { [ "$(readlink /proc/"$pid"/exe)" = "$(readlink -f "$1")" ]; }

# capture COMMAND...: reads from descriptor 9 what comes; all of the first 2000 frames are in the file
capture() {
	rm -rf "$tmp/d"
	mkdir -m 777 "$tmp/d"
	"$@" -q -r "$tmp/in" -w "$tmp/d/o" >"$tmp/log" 2>&1 &
	pid=$!
	exec 9>"$tmp/in"
	cat "$tmp/in.pcap" >&9
	wait_for 60 larger "$tmp/d/o" 20000
}
# updated NAME: further frames are in a second file
updated() {
	cat "$tmp/frames" >&9
	exec 9>&-
	wait $pid
	is "$1: the capture ends well" $? 0
	is "$1: a new file" "$(cd "$tmp/d" && echo *)" "o o1"
}
# asked NAME STATUS PATTERN COMMAND...
asked() {
	local name=$1 want=$2 pattern=$3
	shift 3
	"$@" >"$tmp/said" 2>&1
	is "$name: exit status" $? "$want"
	[ -z "$pattern" ] || has "$name: what is said" "$tmp/said" "$pattern"
}

capture "$RDMADUMP"
asked "a capture" 0 '' "$RDMADUMP" --update=$pid
updated "a capture"

# Another name of the same program, and another program of that name
ln -s "$RDMADUMP" "$tmp/dumper"
capture "$tmp/dumper"
asked "our executable by another name" 0 '' "$RDMADUMP" --update=$pid
updated "our executable by another name"
mkdir "$tmp/other"
cp "$RDMADUMP" "$tmp/other/rdmadump"
capture "$tmp/other/rdmadump"
rm "$tmp/other/rdmadump"
asked "a program of that name that was replaced" 0 '' "$RDMADUMP" --update=$pid
updated "a program of that name that was replaced"

# A process that is not a capture continues.
cp "$(type -P cat)" "$tmp/$(printf 'ca\033[1mx')"
for program in "$(type -P cat)" "$tmp"/ca*; do
	"$program" <>"$tmp/never" &
	pid=$!
	wait_for 60 runs "$program"
	asked "another program" 1 "process $pid is 'ca[]?[1a-z]*', not rdmadump; .*pgrep rdmadump" "$RDMADUMP" --update=$pid
	kill -0 $pid
	ok "another program: it lives"
	kill -9 $pid
	wait $pid 2>/dev/null
done
asked "no process" 2 "there is no process $pid; give the PID" "$RDMADUMP" --update=$pid

# --- other users --------------------------------------------------------------------------

uid=$(id -u nobody 2>/dev/null) gid=$(id -g nobody 2>/dev/null)
as_nobody() { setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@"; }
if [ "$(id -u)" != 0 ] || [ -z "$uid" ]; then
	skip "other users" "not root, or no user nobody"
elif ! as_nobody test -x "$RDMADUMP" 2>/dev/null; then
	skip "other users" "the build directory is not readable for others"
else
	# As sudo starts it: it becomes its caller, and its executable can be seen by root alone.
	capture env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER=nobody "$RDMADUMP"
	is "called by sudo: it is its caller's" "$(awk '/^Uid:/ {print $2}' /proc/$pid/status)" "$uid"
	! as_nobody readlink /proc/$pid/exe >/dev/null 2>&1
	ok "called by sudo: the executable is not shown"
	asked "called by sudo, asked by its caller" 0 '' as_nobody "$RDMADUMP" --update=$pid
	updated "called by sudo, asked by its caller"

	capture "$RDMADUMP"
	asked "root's, asked by a user" 2 "cannot reach process $pid: Operation not permitted; run as root" \
		as_nobody "$RDMADUMP" --update=$pid
	asked "root's, asked by root" 0 '' "$RDMADUMP" --update=$pid
	updated "root's, asked by root"

	cat <>"$tmp/never" &
	pid=$!
	wait_for 60 runs "$(type -P cat)"
	asked "root's other program, asked by a user" 1 "process $pid is 'cat', not rdmadump" \
		as_nobody "$RDMADUMP" --update=$pid
	kill -9 $pid
	wait $pid 2>/dev/null
fi

tap_done
