#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Under sudo every input is opened with the rights of the user who called it, and no message has text of a file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd
[ "$(id -u)" = 0 ] || skip_all "not root"
user=nobody
uid=$(id -u $user) || skip_all "no user $user"
gid=$(id -g $user)
as_sudo() { SUDO_UID=$uid SUDO_GID=$gid SUDO_USER=$user "$@"; }

chmod 711 "$tmp"
mkdir -m 700 "$tmp/root"
theirs=$tmp/theirs
mkdir -m 755 "$theirs" && chown "$uid:$gid" "$theirs"
token=TOKEN4711
zstd -dqc "$TEST_DATA/roce/07_rping/a.pcap.zst" >"$tmp/root/a.pcap"
cp "$tmp/root/a.pcap" "$theirs/a.pcap"
printf '%s:x:%s near (' $token $token >"$theirs/text"
cp "$theirs/text" "$tmp/root/text"
chown "$uid:$gid" "$theirs"/*

# --- files of root's ------------------------------------------------------------------------------

# refused NAME ARGUMENTS...: the caller of sudo may not read it; root may
refused() {
	local name=$1
	shift
	as_sudo "$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log" </dev/null
	has "sudo, $name of root's: message" "$tmp/log" "Permission denied"
	grep -qs $token "$tmp/out" "$tmp/log"
	is "... and nothing of it" "$? $(wc -c <"$tmp/out")" "1 0"
	"$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log" </dev/null
	grep -q "Permission denied" "$tmp/log"
	is "... root reads it" $? 1
}
refused "-r, a capture" -r "$tmp/root/a.pcap"
refused "-F, a filter" -r "$theirs/a.pcap" -F "$tmp/root/text"
refused "analyze, a capture" analyze "$tmp/root/a.pcap"
refused "analyze, a directory" analyze "$tmp/root"
refused "--diff, counters" counters --diff "$tmp/root/text" "$tmp/root/text"
refused "bundle --file, a capture" bundle --dry-run --file "$tmp/root/a.pcap"

# --- files of root's, by a link ---------------------------------------------------------------------

ln -s "$tmp/root/a.pcap" "$theirs/link.pcap"
refused "-r, a link to a capture" -r "$theirs/link.pcap"
as_sudo "$RDMADUMP" analyze "$theirs" >"$tmp/out" 2>"$tmp/log"
is "sudo, analyze, a directory with such a link: it may be a capture, the text is none" \
	"$(grep -cE "skipped: .*link.pcap': Permission denied|skipped 1 of 3 files, which are no captures" "$tmp/log")" 2
as_sudo "$RDMADUMP" -r "$theirs/a.pcap" --count >"$tmp/out" 2>"$tmp/log"
is "sudo, a capture of the caller's" "$? $(<"$tmp/out")" "0 $("$RDMADUMP" -r "$theirs/a.pcap" --count 2>/dev/null)"

# A copied tree, whose files are links to those of root.
mkdir "$theirs/tree" && tar -xzf "$TEST_DATA/sysfs/mlx5-eth.tar.gz" -C "$theirs/tree"
for name in node_desc fw_ver hw_counters/out_of_buffer; do
	find "$theirs/tree/sys" -path "*/$name" -type f -exec ln -sf "$tmp/root/text" {} \;
done
for command in list "info mlx5_0" counters; do
	# shellcheck disable=SC2086 # two words
	as_sudo "$RDMADUMP" $command --json --sysroot "$theirs/tree" >"$tmp/out" 2>"$tmp/log"
	is "$command --sysroot, links to files of root's: nothing of them" "$? $(grep -c $token "$tmp/out" "$tmp/log" | tr '\n' ' ')" \
		"0 $tmp/out:0 $tmp/log:0 "
done
"$RDMADUMP" list --json --sysroot "$theirs/tree" >"$tmp/out" 2>"$tmp/log"
grep -q $token "$tmp/out"
is "... root reads them" $? 0

# --- messages about what is in a file ----------------------------------------------------------------

# silent NAME ARGUMENTS...
silent() {
	local name=$1
	shift
	"$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log" </dev/null
	local status=$?
	[ "$status" != 0 ] && [ -s "$tmp/log" ] && ! grep -q $token "$tmp/out" "$tmp/log"
	ok "$name: no text of the file in the message" "$tmp/log"
}
silent "-r" -r "$theirs/text"
silent "-F" -r "$theirs/a.pcap" -F "$theirs/text"
has "... but its name" "$tmp/log" "the expression in '.*/theirs/text'"
silent "--diff" counters --diff "$theirs/text" "$theirs/text"

# --- -Z root by sudo ---------------------------------------------------------------------------------

as_sudo "$RDMADUMP" -r "$theirs/a.pcap" -Z root -w "$theirs/out.pcap" >"$tmp/out" 2>"$tmp/log"
exits "sudo -Z root, a directory of the caller's" 3 "$tmp/log" "-Z root by sudo: the directory of '.*/theirs/out.pcap' belongs to another user; name a directory of root's"
is "... no file" "$(ls "$theirs/out.pcap" 2>/dev/null)" ""
as_sudo "$RDMADUMP" -r "$theirs/a.pcap" -Z root -w "$tmp/root/out.pcap" >"$tmp/out" 2>"$tmp/log"
is "sudo -Z root, a directory of root's" "$? $(stat -c %u "$tmp/root/out.pcap")" "0 0"
"$RDMADUMP" -r "$theirs/a.pcap" -Z root -w "$theirs/out.pcap" >"$tmp/out" 2>"$tmp/log"
is "-Z root without sudo" "$? $(stat -c %u "$theirs/out.pcap")" "0 0"

tap_done
