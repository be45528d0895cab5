#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The copy of sysfs in a bundle: list, info and counters print the same for the copy as for each tree.
. "${srcdir:-.}/tests/tap.sh"
need_tool tar gzip
pack=$(cd "${srcdir:-.}/tests" && pwd)/pack

timeless() { sed -E 's/"(start_ns|time_ns)": [0-9]*/"\1": 0/'; }
# said ROOT: what the commands print; the time of reading differs
said() {
	local device
	"$RDMADUMP" list -v --sysroot "$1"
	"$RDMADUMP" list --json --sysroot "$1" | timeless
	for device in $("$RDMADUMP" list --json --sysroot "$1" | sed -n 's/^      "name": "\(.*\)",$/\1/p'); do
		"$RDMADUMP" info -v --sysroot "$1" "$device"
		"$RDMADUMP" info --json --sysroot "$1" "$device" | timeless
	done
	"$RDMADUMP" counters --all --sysroot "$1"
	"$RDMADUMP" counters --all --json --sysroot "$1" | timeless
}

# same NAME: the copy of $tmp/tree
same() {
	rm -rf "$tmp/copy" && mkdir "$tmp/copy"
	"$TREE_TOOL" "$tmp/tree" 2>"$tmp/log" | tar -xf - -C "$tmp/copy" 2>>"$tmp/log"
	said "$tmp/tree" 2>&1 | sed "s|$tmp/tree|ROOT|g" >"$tmp/wanted"
	said "$tmp/copy" 2>&1 | sed "s|$tmp/copy|ROOT|g" >"$tmp/got"
	holds "$1" diff "$tmp/wanted" "$tmp/got"
}

trees=0
for archive in "$TEST_DATA"/sysfs/*.tar.gz "$TEST_DATA"/sysfs/functions/*.tar.gz "$TEST_DATA"/sysfs/counters/*.tar.gz; do
	name=${archive#"$TEST_DATA/sysfs/"}
	rm -rf "$tmp/tree"
	# Counters are laid over the tree of the same name.
	base=$TEST_DATA/sysfs/${name#counters/}
	[ "$base" = "$archive" ] || [ ! -e "$base" ] || "$pack" unpack "$base" "$tmp/tree"
	"$pack" unpack "$archive" "$tmp/tree"
	same "$name"
	trees=$((trees + 1))
done
holds "at least ten trees: $trees" [ "$trees" -ge 10 ]
rm -rf "$tmp/tree"
"$pack" unpack "$TEST_DATA/sysfs/rxe.tar.gz" "$tmp/tree"
rm "$tmp/tree"/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/*
same "a netdev that no GID names"

# A copy has only what is read: neither other netdevs nor files beside.
rm -rf "$tmp/tree" "$tmp/copy" && mkdir "$tmp/copy"
"$pack" unpack "$TEST_DATA/sysfs/mlx5-eth.tar.gz" "$tmp/tree"
mkdir -p "$tmp/tree/sys/class/net/private0" "$tmp/tree/etc"
echo 02:00:00:00:00:99 >"$tmp/tree/sys/class/net/private0/address"
echo secret | tee "$tmp/tree/etc/passwd" >"$(readlink -f "$tmp/tree/sys/class/infiniband/mlx5_0")/../../config"
"$TREE_TOOL" "$tmp/tree" | tar -xf - -C "$tmp/copy"
is "nothing else is copied" "$(cd "$tmp/copy" && find . -name 'private0*' -o -name passwd -o -name config | wc -l)" 0
ln -s ../../../../../../etc "$(readlink -f "$tmp/tree/sys/class/infiniband/mlx5_0")/../../driver2"
ln -sfn /config "$(readlink -f "$tmp/tree/sys/class/infiniband/mlx5_0")/../../driver"
"$TREE_TOOL" "$tmp/tree" | tar -tf - | grep -q 'etc/passwd\|/config$'
is "links out of the tree are not followed" $? 1
ln -sfn driver "$(readlink -f "$tmp/tree/sys/class/infiniband/mlx5_0")/../../driver"
"$TREE_TOOL" "$tmp/tree" >"$tmp/tar"
is "a link to itself ends" $? 0
chmod 755 "$tmp"
if [ "$(id -u)" = 0 ] && has_tool setpriv "what this user may not read"; then
	chmod 0 "$(readlink -f "$tmp/tree/sys/class/infiniband/mlx5_0")/fw_ver"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$TREE_TOOL" "$tmp/tree" >"$tmp/tar" 2>/dev/null
	is "what this user may not read is left out" "$? $(tar -tf "$tmp/tar" | grep -c mlx5_0/fw_ver)" "0 0"
fi

tap_done
