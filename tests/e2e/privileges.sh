#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Least privilege: who the program is once all is open, whose the files are; without root.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq setpriv
[ "$(id -u)" = 0 ] || skip_all "not root"
getent passwd nobody >/dev/null || skip_all "no user nobody"
uid=$(id -u nobody) gid=$(id -g nobody)
frames_of() { "$SOFTHCA_FRAMES" --hash "$1" | awk '{print $1}'; }
theirs=$tmp/theirs ours=$tmp/ours
chmod 755 "$tmp"
mkdir -m 755 "$theirs" "$ours"
chown "$uid:$gid" "$theirs"

# --- root that becomes somebody -----------------------------------------------------------

# running FILE ARGUMENTS...: a capture; once it writes, its /proc status is in $tmp/status
running() {
	local file=$1
	shift
	rm -f "$tmp/pid" "$file"*
	MODEL_SECONDS=30 model --gen count=6000,size=200,seed=1 --rate 6000 --pidfile "$tmp/pid" --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q -w "$file" "$@" >"$tmp/log" 2>&1 &
	local pid=$!
	for _ in $(seq 100); do
		# the size: frames come, so all is open
		[ -s "$tmp/pid" ] && [ "$(stat -c %s "$file" 2>/dev/null || echo 0)" -gt 20000 ] && break
		sleep 0.05
	done
	cat "/proc/$(cat "$tmp/pid")/status" >"$tmp/status" 2>/dev/null
	wait $pid
	status=$?
}
dropped() {
	is "$1: user, effective, saved and file system's" "$(awk '/^Uid:/ {print $2, $3, $4, $5}' "$tmp/status")" "$uid $uid $uid $uid"
	is "$1: group" "$(awk '/^Gid:/ {print $2, $3, $4, $5}' "$tmp/status")" "$gid $gid $gid $gid"
	is "$1: no capability" "$(awk '/^Cap(Inh|Prm|Eff|Amb):/ {print $2}' "$tmp/status" | sort -u)" 0000000000000000
	is "$1: no way to get one" "$(awk '/^NoNewPrivs:/ {print $2}' "$tmp/status")" 1
	is "$1: exit status" "$status" 0
}
for form in '-Z nobody' '--relinquish-privileges=nobody'; do
	# shellcheck disable=SC2086
	running "$theirs/z" $form
	dropped "$form"
	is "$form: the file is theirs, and nobody else's" "$(stat -c '%u:%g %a' "$theirs/z")" "$uid:$gid 600"
	is "$form: all frames" "$(frames_of "$theirs/z")" 6000
done
running "$ours/z" -Z nobody
is "-Z, one file where they may not write: it was open before" "$(frames_of "$ours/z")" 6000
export SUDO_UID=$uid SUDO_GID=$gid SUDO_USER=nobody
running "$theirs/sudo"
dropped "called by sudo"
is "called by sudo: the file" "$(stat -c '%u:%g %a' "$theirs/sudo")" "$uid:$gid 600"
running "$theirs/root" -Z root
is "-Z root beats sudo" "$(awk '/^Uid:/ {print $2}' "$tmp/status"),$(stat -c %u "$theirs/root")" 0,0
unset SUDO_UID SUDO_GID SUDO_USER
running "$theirs/root"
is "root without sudo stays root" "$(awk '/^Uid:/ {print $3}' "$tmp/status")" 0

model --gen count=10 -- "$RDMADUMP" -d mlx5_0 -q -Z no-such-user -w "$theirs/none" >"$tmp/log" 2>&1
is "-Z of nobody known: exit status" $? 1
has "-Z of nobody known: says so" "$tmp/log" 'no-such-user: no such user'

# --- rotation after that ------------------------------------------------------------------

model --gen count=5000,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -Z nobody \
	-b packets:1000 -w "$theirs/r.pcapng" >"$tmp/log" 2>&1
ok "rotation in a directory of theirs" "$tmp/log"
is "the files are theirs" "$(stat -c '%u:%g %a' "$theirs"/r_* | sort | uniq -c | awk '{print $1, $2, $3}')" "5 $uid:$gid 600"
for args in '-b packets:1000' '-C 1' '-G 5'; do
	# shellcheck disable=SC2086
	model --gen count=5000,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -Z nobody \
		$args -w "$ours/r.pcapng" >"$tmp/log" 2>&1
	is "rotation ($args) where they may not write: refused at the start" $? 3
	has "rotation ($args) where they may not write: what to do" "$tmp/log" 'may not write to directory .*choose a directory of that user'
done

# --- somebody who is not root -------------------------------------------------------------

as_nobody() { setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@"; }
if ! as_nobody test -x "$RDMADUMP" -a -r "$SOFTHCA_SO" 2>/dev/null; then
	skip "with an ambient capability" "the build directory is not readable for others"
elif ! setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps +net_raw --ambient-caps +net_raw true 2>/dev/null; then
	skip "with an ambient capability" "setpriv cannot raise it"
else
	# 8 MiB may be locked on most machines: 64 buffers fit
	setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps +net_raw --ambient-caps +net_raw \
		env TMPDIR="$theirs" timeout -k 5 60 "$SOFTHCA" --gen count=2000,size=200,seed=1 --at-end sigint \
		--pidfile "$theirs/pid" -- "$RDMADUMP" -d mlx5_0 -q -b 6 --when-full wait -b packets:500 \
		-w "$theirs/amb.pcapng" >"$tmp/log" 2>&1
	is "CAP_NET_RAW alone: exit status" $? 0
	is "CAP_NET_RAW alone: files of the user" "$(stat -c '%u %a' "$theirs"/amb_* 2>/dev/null | sort | uniq -c | awk '{print $1, $2, $3}')" "4 $uid 600"
	is "CAP_NET_RAW alone: all frames" "$(for f in "$theirs"/amb_*; do frames_of "$f"; done | awk '{n += $1} END {print n}')" 2000
	as_nobody env TMPDIR="$theirs" timeout -k 5 60 "$SOFTHCA" -- "$RDMADUMP" -d mlx5_0 -b 4 -w "$theirs/no" >"$tmp/log" 2>&1
	is "without it: exit status" $? 2
	has "without it: what to do" "$tmp/log" 'needs CAP_NET_RAW: run as root or setcap'
fi

# A real file capability, on a netdev: the loader ignores LD_PRELOAD then, so no model
ns=rdpriv$$
# shellcheck disable=SC2317 # tap.sh calls it
cleanup() { ip netns del "$ns" 2>/dev/null; }
bin=$tmp/bin
mkdir -m 755 "$bin"
cp "$RDMADUMP" "$bin/rdmadump" && chmod 755 "$bin/rdmadump"
if ! setcap cap_net_raw+ep "$bin/rdmadump" 2>/dev/null; then
	skip "a file capability" "setcap is not allowed here"
elif ! ip netns add "$ns" 2>/dev/null || ! ip -n "$ns" link set lo up; then
	skip "a file capability" "no right to make a network namespace"
elif ! ip netns exec "$ns" setpriv --reuid "$uid" --regid "$gid" --clear-groups "$bin/rdmadump" --version >/dev/null 2>&1; then
	skip "a file capability" "the file system does not honour it"
else
	ip netns exec "$ns" setpriv --reuid "$uid" --regid "$gid" --clear-groups \
		timeout -k 2 30 "$bin/rdmadump" -q -i lo -U -c 5 -w "$theirs/lo.pcapng" udp port 9 >"$tmp/log" 2>&1 &
	pid=$!
	caps=
	for _ in $(seq 100); do
		kill -0 $pid 2>/dev/null || break
		[ -s "$theirs/lo.pcapng" ] && ip netns exec "$ns" bash -c 'echo hello >/dev/udp/127.0.0.1/9' 2>/dev/null
		child=$(pgrep -P $pid rdmadump | head -n 1)
		[ -n "$child" ] && [ "$(stat -c %s "$theirs/lo.pcapng" 2>/dev/null || echo 0)" -gt 3000 ] &&
			caps=$(awk '/^CapEff:/ {print $2}' "/proc/$child/status" 2>/dev/null || echo "$caps")
		sleep 0.05
	done
	wait $pid
	is "a file capability: exit status" $? 0
	is "a file capability: frames" "$(frames_of "$theirs/lo.pcapng")" 5
	is "a file capability: the file is the user's" "$(stat -c '%u %a' "$theirs/lo.pcapng")" "$uid 600"
	[ -z "$caps" ] || [ "$caps" = 0000000000000000 ]
	ok "a file capability: given up once all is open ($caps)"
	cp "$RDMADUMP" "$bin/bare" && chmod 755 "$bin/bare"
	ip netns exec "$ns" setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps=-all \
		timeout -k 2 30 "$bin/bare" -q -i lo -c 1 -w "$theirs/bare" >"$tmp/log" 2>&1
	is "without it on a netdev: exit status" $? 2
	has "without it on a netdev: what is missing" "$tmp/log" 'CAP_NET_RAW'
fi

tap_done
