#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A command of -z inherits none of our descriptors and no standard input.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
# A standard input that is not /dev/null by itself
exec <"$0"
ns=rdchild$$
# shellcheck disable=SC2317 # tap.sh calls it
cleanup() { ip netns del "$ns" 2>/dev/null; }

# Its descriptors, without those that it opens itself; a shell would have more of them
cat >"$tmp/command" <<EOF_COMMAND
#!$(type -P /usr/bin/python3 python3 | head -n 1) -IS
import os
fds = sorted(map(int, os.listdir("/proc/self/fd")))
with open("$tmp/fds", "a") as out:
    for fd in fds:
        try:
            path = os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError: # of the folder
            continue
        if path not in ("$tmp/fds", "$tmp/command"):
            print(fd, path, file=out)
EOF_COMMAND
chmod +x "$tmp/command"

# only_standard NAME COMMANDS: so many commands ran, and had descriptors 0 to 2; 0 is /dev/null
only_standard() {
	is "$1: commands that ran" "$(grep -c '^0 ' "$tmp/fds")" "$2"
	is "$1: no other descriptor" "$(grep -v '^[012] ' "$tmp/fds")" ""
	is "$1: standard input is /dev/null" "$(awk '$1 == 0 {print $2}' "$tmp/fds" | sort -u)" /dev/null
	rm -f "$tmp/fds"
}

model --gen count=3000,size=200 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -b packets:1000 \
	-z "$tmp/command" -w "$tmp/v.pcapng" 2>"$tmp/log"
ok "verbs: exit status" "$tmp/log"
only_standard "verbs" 3

model --gen count=3000,size=200 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --queues 2 --when-full wait \
	-z "$tmp/command" -w "$tmp/q.pcapng" 2>"$tmp/log"
only_standard "several queues" 1

"$SOFTHCA_FRAMES" --write "$tmp/in.pcap" count=20000,size=200,seed=8 >/dev/null
"$RDMADUMP" -r "$tmp/in.pcap" -q -C 2 -z "$tmp/command" -w "$tmp/r.pcapng" 2>"$tmp/log"
only_standard "a file" 3

# If the capture is read from standard input, no command may read a part of it.
"$RDMADUMP" -r - -q -C 2 -z "$tmp/command" -w "$tmp/i.pcapng" <"$tmp/in.pcap" 2>"$tmp/log"
only_standard "-r -" 3

# A packet socket that is left open would let an unprivileged command send any frame.
if ! ip netns add "$ns" 2>/dev/null || ! ip -n "$ns" link set lo up; then
	skip "netdev" "no right to make a network namespace"
else
	: >"$tmp/log"
	ip netns exec "$ns" "$RDMADUMP" -i lo -U -c 5 -z "$tmp/command" -w "$tmp/lo.pcapng" \
		udp port 9 >"$tmp/log" 2>&1 &
	pid=$!
	wait_for grep -q 'capturing on' "$tmp/log"
	ip netns exec "$ns" bash -c 'for i in 1 2 3 4 5; do echo hello >/dev/udp/127.0.0.1/9; done'
	wait $pid
	is "netdev: exit status" $? 0
	only_standard "netdev" 1
fi

# If standard descriptors are closed, none of ours gets their numbers.
"$RDMADUMP" -r "$tmp/in.pcap" -q -z "$tmp/command" -w "$tmp/c.pcapng" <&- >&- 2>&-
is "closed standard descriptors: exit status" $? 0
is "closed standard descriptors: all frames" "$(frames_of "$tmp/c.pcapng")" 20000
is "closed standard descriptors: nothing takes their place" "$(grep -v ' /dev/null$' "$tmp/fds")" ""
{
	cat "$tmp/in.pcap"
	wait_for test -s "$tmp/d.pcap"
	readlink "/proc/$(<"$tmp/pid")/fd/2" >"$tmp/fd2"
} | sh -c 'cd "$1" && echo $$ >pid && exec "$0" -r - -w d.pcap 2>&-' "$RDMADUMP" "$tmp"
is "closed standard error: exit status" $? 0
is "closed standard error: messages are not written to a file" "$(<"$tmp/fd2")" /dev/null

tap_done
