#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump list` over each tree of tests/data/sysfs against the output kept with it, and its exit statuses.
# UPDATE_GOLDEN=1 rewrites the kept output. RDMADUMP: the program; TEST_DATA: tests/data. Output: TAP.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
here=$(dirname "$0")
LC_ALL=C
export LC_ALL
unset COLUMNS

list() { # the arguments -> $tmp/out, $tmp/err, $status
	"$RDMADUMP" list "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
}

expect_output() { # name, file with the output that is right
	[ -z "${UPDATE_GOLDEN-}" ] || cp "$tmp/out" "$2"
	[ "$status" -eq 0 ] && [ ! -s "$tmp/err" ] && diff -u "$2" "$tmp/out" >"$tmp/diff"
	ok "$1" "$tmp/diff"
}

expect_failure() { # name, exit status, words on standard error
	[ "$status" -eq "$2" ] && grep -qF -- "$3" "$tmp/err" && [ ! -s "$tmp/out" ]
	ok "$1" "$tmp/err"
}

for archive in "$TEST_DATA"/sysfs/*.tar.gz "$TEST_DATA"/sysfs/functions/*.tar.gz; do
	tree=$(basename "$archive" .tar.gz)
	kept=$tmp/$tree
	mkdir "$kept"
	tar -xzf "$archive" -C "$kept" || exit 1
	list --sysroot "$tmp/$tree"
	expect_output "$tree, text" "$kept/list.txt"
	list -v --sysroot "$tmp/$tree"
	expect_output "$tree, verbose" "$kept/list-v.txt"
	list --sysroot="$tmp/$tree/" --json
	fits "$tree, schema" list "$tmp/out"
	sed -i '/^  "program": /d; /^  "start_ns": /d' "$tmp/out"
	expect_output "$tree, json" "$kept/list.json"
	[ -z "${UPDATE_GOLDEN-}" ] || "$here/../pack" pack "$kept" "$archive"
done

mkdir -p "$tmp/none/sys"
list --sysroot "$tmp/none"
expect_failure "no devices, text" 2 "rdmadump: no RDMA devices"
list --sysroot "$tmp/none" --json
is "no devices, json" "$(jq -c '[keys_unsorted[], .devices]' "$tmp/out")" '["version","program","start_ns","source","devices",[]]'
list --sysroot "$tmp/absent"
expect_failure "no tree" 2 "no directory 'sys' in '$tmp/absent'"
list --no-such-option
expect_failure "unknown option" 1 "rdmadump list: unrecognized option"
list mlx5_0
expect_failure "a word too many" 1 "unexpected argument 'mlx5_0'"
"$RDMADUMP" list --sysroot "$tmp/mlx5-eth" >/dev/full 2>"$tmp/err"
status=$?
: >"$tmp/out"
expect_failure "no room for the output" 3 "No space left on device"

# A device whose ports are gone
cp -r "$tmp/mlx5-eth" "$tmp/portless"
rm -rf "$tmp"/portless/sys/class/infiniband/mlx5_0/ports/*
list --sysroot "$tmp/portless"
has "a device without a port" "$tmp/out" '^mlx5_0 +- .* no: the device shows no port$'

# On a terminal the last column is wrapped; `script` makes one.
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	COLUMNS=120 script -qec "'$RDMADUMP' list --sysroot '$tmp/irdma'" /dev/null </dev/null |
		tr -d '\r' >"$tmp/out"
	! grep -q '.\{121\}' "$tmp/out" && [ "$(wc -l <"$tmp/out")" -eq 5 ]
	ok "wide terminal, wrapped in its column"
	COLUMNS=60 script -qec "'$RDMADUMP' list --sysroot '$tmp/mlx5-ib'" /dev/null </dev/null |
		tr -d '\r' >"$tmp/out"
	holds "narrow terminal, wrapped below" grep -q '^  no: verbs' "$tmp/out"
else
	for name in "wide terminal" "narrow terminal"; do
		skip "$name" "script is not installed"
	done
fi

tap_done
