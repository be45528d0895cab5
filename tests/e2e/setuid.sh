#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installed with the privileges of its file: setuid is refused, with capabilities no environment is trusted.
. "${srcdir:-.}/tests/tap.sh"
need_tool setpriv
[ "$(id -u)" = 0 ] || skip_all "not root"
uid=$(id -u nobody 2>/dev/null) gid=$(id -g nobody 2>/dev/null)
[ -n "$uid" ] || skip_all "no user nobody"
as_nobody() { setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@"; }
chmod 755 "$tmp"
mkdir -m 755 "$tmp/bin"
mkdir -m 777 "$tmp/d"
"$SOFTHCA_FRAMES" --write "$tmp/in.pcap" count=100 >/dev/null
chmod 644 "$tmp/in.pcap"

# --- setuid and setgid --------------------------------------------------------------------

for mode in 4755 2755; do
	what=$([ $mode = 4755 ] && echo setuid || echo setgid)
	cp "$(type -P id)" "$tmp/bin/id" && chmod $mode "$tmp/bin/id"
	cp "$RDMADUMP" "$tmp/bin/rdmadump" && chmod $mode "$tmp/bin/rdmadump"
	if ! as_nobody "$tmp/bin/id" | grep -q 'e[ug]id=0'; then
		skip "$what" "the file system of $tmp does not honour it (nosuid), or no process here may gain privileges"
		continue
	fi
	if [ $mode = 2755 ] && [ -n "${SOFTHCA_PRELOAD_FIRST-}" ]; then
		skip "$what" "the sanitizer's leak checker may not look into such a process, and sets the exit status"
		continue
	fi
	for args in '-d mlx5_0' "-r $tmp/in.pcap -w $tmp/d/o" --version list --ibdump; do
		# shellcheck disable=SC2086
		as_nobody env SUDO_UID=1 SUDO_GID=1 "$tmp/bin/rdmadump" $args >"$tmp/log" 2>&1
		exits "$what, ${args%% *}" 2 "$tmp/log" '^rdmadump: .*setuid or setgid.*setcap cap_net_raw,cap_ipc_lock\+ep'
	done
	holds "$what: no file" [ ! -e "$tmp/d/o" ]
done

# --- file capabilities --------------------------------------------------------------------

cp "$RDMADUMP" "$tmp/bin/rdmadump" && chmod 755 "$tmp/bin/rdmadump"
printf '#!/bin/sh\nenv >"%s/d/env"\n' "$tmp" >"$tmp/bin/command" && chmod 755 "$tmp/bin/command"
# environment NAME: what a command gets
environment() {
	rm -f "$tmp/d/"*
	as_nobody env RDMAV_DRIVERS=evil IBV_DRIVERS=evil SUDO_UID=1 RDMADUMP_X=1 TZ=UTC LC_TIME=C COLUMNS=77 \
		"$tmp/bin/rdmadump" -q -r "$tmp/in.pcap" -z "$tmp/bin/command" -w "$tmp/d/o" >"$tmp/log" 2>&1
	is "$1: exit status" $? 0
}
environment "no privileges"
is "no privileges: the environment is the caller's" \
	"$(grep -cE '^(RDMAV_DRIVERS|IBV_DRIVERS|SUDO_UID|RDMADUMP_X|TZ|LC_TIME|COLUMNS)=' "$tmp/d/env")" 7
if ! setcap cap_net_raw+ep "$tmp/bin/rdmadump" 2>/dev/null; then
	skip "file capabilities" "setcap is not allowed here"
else
	environment "file capabilities"
	is "file capabilities: no other variable counts" \
		"$(grep -vE '^(COLUMNS|HOME|LANG|LC_[A-Z]*|LINES|LOGNAME|NO_COLOR|PATH|TERM|TZ|USER|PWD|OLDPWD|SHLVL|_)=' "$tmp/d/env")" ""
	is "file capabilities: these do" "$(grep -cE '^(TZ=UTC|LC_TIME=C|COLUMNS=77)$' "$tmp/d/env")" 3
fi

tap_done
