#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Least privilege: the user of the program once devices and files are open, the owner of files; without root.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq setpriv
[ "$(id -u)" = 0 ] || skip_all "not root"
getent passwd nobody >/dev/null || skip_all "no user nobody"
uid=$(id -u nobody) gid=$(id -g nobody)
theirs=$tmp/theirs ours=$tmp/ours
chmod 755 "$tmp"
mkdir -m 755 "$theirs" "$ours"
chown "$uid:$gid" "$theirs"

# --- root that becomes another user -------------------------------------------------------

# A command for -z that stores its /proc status next to the file
cat >"$tmp/tell" <<'END'
#!/bin/sh
cat /proc/self/status >"$1.child"
END
chmod 755 "$tmp/tell"

# running FILE ARGUMENTS...: a capture of 6000 frames; while it runs, the status of its threads is in $tmp/status,
# each after a line "thread NAME", and that of --analyze in $tmp/analysis
running() {
	local file=$1 task
	shift
	rm -f "$tmp/pid" "$tmp/status" "$file"*
	model --gen count=6000,size=200,seed=1 --pidfile "$tmp/pid" -- \
		"$RDMADUMP" -d mlx5_0 -q -w "$file" "$@" >"$tmp/log" 2>&1 &
	local pid=$!
	# They are written, so all is open.
	written() { [ "$(find "${file%/*}" -name "$(basename "$file" | sed 's/-q0$//')*" -printf '%s\n' | awk '{n += $1} END {print n + 0}')" -gt 1380000 ]; }
	wait_for written
	for task in "/proc/$(<"$tmp/pid")/task"/*; do
		# the model's own, which no device has
		[ "$(<"$task/comm")" = softhca ] && continue
		echo "thread $(<"$task/comm")"
		cat "$task/status"
	done >"$tmp/status" 2>/dev/null
	for task in $(pgrep -P "$(<"$tmp/pid")" rdmadump); do cat "/proc/$task/status"; done >"$tmp/analysis"
	kill -INT "$(<"$tmp/pid")"
	wait $pid
	status=$?
}
of_all() { awk -v key="^($1):" '$0 ~ key {$1 = ""; print}' "${2:-$tmp/status}" | sort -u | sed 's/^ //'; }
# no_privilege NAME [FILE]: of every thread, or of the process in FILE
no_privilege() {
	is "$1: no capability" "$(of_all 'Cap(Inh|Prm|Eff|Amb)' "${2-}")" 0000000000000000
	is "$1: no way to get one" "$(of_all NoNewPrivs "${2-}")" 1
	is "$1: the filter of system calls" "$(of_all Seccomp "${2-}")" "$filter"
}
# 2: a filter. Of this script: what it inherited
filter=2
"$RDMADUMP" --version | grep -q '^  libseccomp' || filter=$(of_all Seccomp /proc/self/status)
dropped() {
	is "$1: user, effective, saved and file system's" "$(of_all Uid)" "$uid $uid $uid $uid"
	is "$1: group" "$(of_all Gid)" "$gid $gid $gid $gid"
	is "$1: the groups are the user's" "$(of_all Groups)" "$(id -G nobody)"
	grep -q '^thread writer' "$tmp/status" && grep -q '^thread counters' "$tmp/status"
	ok "$1: the threads that write and that read counters were looked at"
	no_privilege "$1"
	is "$1: exit status" "$status" 0
}
for form in '-Z nobody' '--relinquish-privileges=nobody'; do
	# shellcheck disable=SC2086
	running "$theirs/z" $form
	dropped "$form"
	is "$form: the file is theirs, and nobody else's" "$(stat -c '%u:%g %a' "$theirs/z")" "$uid:$gid 600"
	is "$form: all frames" "$(frames_of "$theirs/z")" 6000
done
rm -f "$ours/z"
model --gen count=10 -- "$RDMADUMP" -d mlx5_0 -q -Z nobody -w "$ours/z" >"$tmp/log" 2>&1
exits "-Z, a file where they may not write" 3 "$tmp/log" "z': Permission denied; .*opened as user 'nobody'; -Z root keeps root"
is "-Z, a file where they may not write: nothing is left" "$(ls "$ours")" ""
for extra in '--queues 4' '-C 1'; do
	file=$theirs/t
	# shellcheck disable=SC2086
	running "$file" -Z nobody $extra -w "$theirs/t"
	dropped "-Z nobody $extra"
	rm -f "$theirs"/t*
done
running "$theirs/k" -Z nobody -z "$tmp/tell"
no_privilege "-Z nobody, the command of -z" "$theirs/k.child"
is "-Z nobody, the command of -z: its user" "$(of_all Uid "$theirs/k.child")" "$uid $uid $uid $uid"
running "$theirs/k" -Z nobody --analyze
no_privilege "-Z nobody, the analysis" "$tmp/analysis"
is "-Z nobody, the analysis: its user" "$(of_all Uid "$tmp/analysis")" "$uid $uid $uid $uid"
export SUDO_UID=$uid SUDO_GID=$gid SUDO_USER=nobody
running "$theirs/sudo"
dropped "called by sudo"
is "called by sudo: the file" "$(stat -c '%u:%g %a' "$theirs/sudo")" "$uid:$gid 600"
mkdir "$tmp/roots"
running "$tmp/roots/root" -Z root -z "$tmp/tell"
is "-Z root beats sudo in a directory of root" "$(of_all Uid),$(stat -c %u "$tmp/roots/root")" "0 0 0 0,0"
all_caps=$(awk '/^CapEff:/ {print $2}' /proc/self/status)
is "-Z root keeps its capabilities" "$(of_all CapEff)" "$all_caps"
is "-Z root: the command of -z has them, too" "$(of_all CapEff "$tmp/roots/root.child")" "$all_caps"
is "-Z root: the filter of system calls, and setuid programs work" \
	"$(of_all Seccomp "$tmp/roots/root.child") $(of_all NoNewPrivs "$tmp/roots/root.child")" "$filter 0"
unset SUDO_UID SUDO_GID SUDO_USER
running "$ours/root" -z "$tmp/tell"
is "root without sudo stays root" "$(of_all Uid)" "0 0 0 0"
no_privilege "root without sudo"
no_privilege "root without sudo, the command of -z" "$ours/root.child"
running "$ours/root" --no-seccomp
is "--no-seccomp: no filter" "$(of_all Seccomp)" "$(of_all Seccomp /proc/self/status)"
running "$ours/root" --queues 4
no_privilege "root without sudo, four queues"
is "root without sudo, four queues: threads" "$(grep -c '^thread queue' "$tmp/status")" 4
rm -f "$ours"/root*
mkdir -m 755 "$tmp/home" && chown "$uid" "$tmp/home"
running "$tmp/home/one"
is "root without sudo, one file in a user's directory" "$(frames_of "$tmp/home/one")" 6000
model --gen count=10 -- "$RDMADUMP" -d mlx5_0 -q -C 1 -w "$tmp/home/many" >"$tmp/log" 2>&1
exits "root without sudo, a series in a user's directory" 3 "$tmp/log" 'may not write to directory .* without capabilities.*-Z root'
is "root without sudo, a series in a user's directory: nothing is left" "$(ls "$tmp/home")" one
model --gen count=3000,size=500 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -a filesize:1000 -w "$tmp/home/single" >"$tmp/log" 2>&1
is "root without sudo, a file of limited size there: exit status" $? 0
is "root without sudo, a file of limited size there" "$(ls "$tmp/home")" "$(printf 'one\nsingle')"
rm -f "$tmp/home/single"
model --gen count=3000,size=500 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -Z root --when-full wait -C 1 -w "$tmp/home/many" >"$tmp/log" 2>&1
is "-Z root, the same: exit status" $? 0
is "-Z root, the same: files" "$(ls "$tmp/home")" "$(printf 'many\nmany1\none')"

model --gen count=10 -- "$RDMADUMP" -d mlx5_0 -q -Z no-such-user -w "$theirs/none" >"$tmp/log" 2>&1
exits "-Z of nobody known" 1 "$tmp/log" 'no-such-user: no such user'

# --- rotation after that ------------------------------------------------------------------

model --gen count=5000,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -Z nobody \
	-b packets:1000 -w "$theirs/r.pcapng" >"$tmp/log" 2>&1
ok "rotation in a directory of theirs" "$tmp/log"
is "the files are theirs" "$(stat -c '%u:%g %a' "$theirs"/r_* | sort | uniq -c | awk '{print $1, $2, $3}')" "5 $uid:$gid 600"
for args in '-b packets:1000' '-C 1' '-G 5'; do
	# shellcheck disable=SC2086
	model --gen count=5000,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -Z nobody \
		$args -w "$ours/r.pcapng" >"$tmp/log" 2>&1
	exits "rotation ($args) where they may not write" 3 "$tmp/log" 'may not write to directory .*choose a directory of that user'
	is "rotation ($args) where they may not write: nothing is left" "$(ls "$ours")" ""
done

# --- a user other than root ---------------------------------------------------------------

as_nobody() { setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@"; }
if ! as_nobody test -x "$RDMADUMP" -a -r "$SOFTHCA.so" 2>/dev/null; then
	skip "with an ambient capability" "the build directory is not readable for others"
elif ! setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps +net_raw --ambient-caps +net_raw true 2>/dev/null; then
	skip "with an ambient capability" "setpriv cannot raise it"
else
	# 8 MiB may be locked on most machines: 64 buffers fit
	setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps +net_raw --ambient-caps +net_raw \
		"$SOFTHCA" --gen count=2000,size=200,seed=1 --at-end sigint \
		--pidfile "$theirs/pid" -- "$RDMADUMP" -d mlx5_0 -q -b 6 --when-full wait -b packets:500 \
		-w "$theirs/amb.pcapng" >"$tmp/log" 2>&1
	is "CAP_NET_RAW alone: exit status" $? 0
	is "CAP_NET_RAW alone: files of the user" "$(stat -c '%u %a' "$theirs"/amb_* 2>/dev/null | sort | uniq -c | awk '{print $1, $2, $3}')" "4 $uid 600"
	is "CAP_NET_RAW alone: all frames" "$(for f in "$theirs"/amb_*; do frames_of "$f"; done | awk '{n += $1} END {print n}')" 2000

	# limited BYTES MODEL-OPTIONS -- COMMAND: with CAP_NET_RAW, and so much memory that may be locked
	limited() {
		local memlock=$1
		apart "${@:2}"
		prlimit --memlock="$memlock:$memlock" setpriv --reuid "$uid" --regid "$gid" --clear-groups \
			--inh-caps=-all,+net_raw --bounding-set=-ipc_lock --ambient-caps +net_raw \
			"$SOFTHCA" "${ahead[@]}" -- "${rest[@]}"
	}
	for mode in wqe verbs; do
		limited 8388608 --gen count=2000,size=200,seed=1 --at-end sigint -- \
			"$RDMADUMP" -d mlx5_0 --rx-mode $mode --when-full wait -w "$theirs/small.pcapng" >"$tmp/log" 2>&1
		exits "8 MiB of locked memory ($mode)" 0 "$tmp/log" \
			'warning: mlx5_0:1: only 8\.0 MiB of memory may be locked \(ulimit -l\): 4096 receive buffers instead of 16384; raise it \(ulimit -l unlimited\) or setcap cap_net_raw,cap_ipc_lock\+ep on rdmadump, or ask for fewer \(-b 12\)$'
		is "8 MiB of locked memory ($mode): all frames" "$(frames_of "$theirs/small.pcapng" | awk '{print $1}')" 2000
	done
	limited 8388608 --gen count=2000,size=200,seed=1 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 -q -b 12 --when-full wait -w "$theirs/small.pcapng" >"$tmp/log" 2>&1
	is "8 MiB of locked memory, as many buffers as fit: nothing to say" "$? $(<"$tmp/log")" "0 "
	limited 65536 --gen count=2000,size=200,seed=1 --at-end sigint -- \
		"$RDMADUMP" -d mlx5_0 --when-full wait -w "$theirs/small.pcapng" >"$tmp/log" 2>&1
	has "64 KiB of locked memory: 32 buffers" "$tmp/log" ': 32 receive buffers instead of 16384; .*-b 5\)$'
	limited 16384 -- "$RDMADUMP" -d mlx5_0 -w "$theirs/none.pcapng" >"$tmp/log" 2>&1
	exits "16 KiB of locked memory" 2 "$tmp/log" 'reg_mr of 24\.0 MiB: Cannot allocate memory; the limit of locked memory \(ulimit -l\) may be too small: raise it'
	limited 0 -- "$RDMADUMP" -d mlx5_0 -w "$theirs/none.pcapng" >"$tmp/log" 2>&1
	exits "no locked memory" 2 "$tmp/log" 'Operation not permitted; no memory may be locked \(ulimit -l is 0\): raise it \(ulimit -l unlimited\) or setcap'
	limited 8388608 -- "$RDMADUMP" list >"$tmp/log" 2>&1
	has "list: the limit of locked memory" "$tmp/log" 'yes: the limit of locked memory .* would be smaller; raise it \(ulimit -l unlimited\) or setcap cap_net_raw,cap_ipc_lock'
	limited 8388608 -- "$RDMADUMP" info mlx5_0 >"$tmp/log" 2>&1
	has "info: the limit of locked memory" "$tmp/log" 'locked memory +no +8\.0 MiB may be locked \(ulimit -l\), the receive ring takes 2[0-9]\.[0-9] MiB; raise it'
	limited 67108864 -- "$RDMADUMP" list >"$tmp/log" 2>&1
	is "list: a limit that is large enough" "$(grep -c 'locked memory' "$tmp/log")" 0

	as_nobody "$SOFTHCA" -- "$RDMADUMP" -d mlx5_0 -b 4 -w "$theirs/no" >"$tmp/log" 2>&1
	exits "without it" 2 "$tmp/log" 'needs CAP_NET_RAW: run as root or setcap'
	both='needs CAP_NET_RAW and a larger limit of locked memory \(ulimit -l\): run as root or setcap cap_net_raw,cap_ipc_lock\+ep on rdmadump$'
	while read -r memlock error; do
		prlimit --memlock="$memlock:$memlock" setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps=-all \
			--ambient-caps=-all --bounding-set=-all "$SOFTHCA" -- \
			"$RDMADUMP" -d mlx5_0 -w "$theirs/no" >"$tmp/log" 2>&1
		exits "without it, $memlock bytes of locked memory" 2 "$tmp/log" "reg_mr of 24\.0 MiB: $error; $both"
		is "without it, $memlock bytes of locked memory: one message" "$(grep -c '^rdmadump:' "$tmp/log")" 1
	done <<-LIST
		8388608 Cannot allocate memory
		16384 Cannot allocate memory
		0 Operation not permitted
	LIST
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
	rm -f "$tmp/status"
	: >"$tmp/log"
	ip netns exec "$ns" setpriv --reuid "$uid" --regid "$gid" --clear-groups \
		"$bin/rdmadump" -i lo -U -c 5 -w "$theirs/lo.pcapng" udp port 9 >"$tmp/log" 2>&1 &
	pid=$!
	wait_for grep -q 'capturing on' "$tmp/log"
	cat /proc/$pid/task/*/status >"$tmp/status"
	ip netns exec "$ns" bash -c 'for i in 1 2 3 4 5; do echo hello >/dev/udp/127.0.0.1/9; done'
	wait $pid
	is "a file capability: exit status" $? 0
	is "a file capability: frames" "$(frames_of "$theirs/lo.pcapng")" 5
	is "a file capability: the file is the user's" "$(stat -c '%u %a' "$theirs/lo.pcapng")" "$uid 600"
	is "a file capability: threads" "$(grep -c '^Name:' "$tmp/status")" 2
	no_privilege "a file capability"
	cp "$RDMADUMP" "$bin/bare" && chmod 755 "$bin/bare"
	ip netns exec "$ns" setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps=-all \
		"$bin/bare" -q -i lo -c 1 -w "$theirs/bare" >"$tmp/log" 2>&1
	exits "without it on a netdev" 2 "$tmp/log" 'CAP_NET_RAW'
fi

tap_done
