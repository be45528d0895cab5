#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A missing tool skips only the cases that need it, and is named: other tests, run without a tool.
. "${srcdir:-.}/tests/tap.sh"
src=$(cd "${srcdir:-.}" && pwd)

# Links to all programs of this machine, of which some are removed
mkdir "$tmp/path"
IFS=: read -ra directories <<<"$PATH"
for ((i = ${#directories[@]} - 1; i >= 0; i--)); do
	find -H "${directories[i]}" -maxdepth 1 ! -type d -exec ln -sf -t "$tmp/path" {} + 2>/dev/null
done

# without "TOOL..." SCRIPT [ARGUMENT...]: runs it; TAP in $tmp/out
without() {
	local tools=$1 t
	shift
	for t in $tools; do rm -f "$tmp/path/$t"; done
	PATH=$tmp/path bash "$src/tests/$1" "${@:2}" >"$tmp/out" 2>&1
	status=$?
}
# ran NAME LEAST: that many cases passed, none failed
ran() {
	is "$1: exit status" "$status" 0
	[ "$(grep -c '^ok ' "$tmp/out")" -ge "$2" ] && ! grep '^not ok' "$tmp/out"
	ok "$1: the other cases run" "$tmp/out"
}

without "ibstat ibstatus" softhca/selftest.sh discovery
ran "selftest.sh without ibstat" 8
has "... says so" "$tmp/out" '^ok [0-9]+ - ibstat: active # SKIP ibstat is not installed$'

without "ibv_devinfo" softhca/selftest.sh discovery
ran "selftest.sh without ibv_devinfo" 5
has "... says so" "$tmp/out" '^ok [0-9]+ - ibv_devinfo # SKIP ibv_devinfo is not installed$'

without zstd e2e/filters.sh
is "filters.sh without zstd" "$status $(<"$tmp/out")" "0 1..0 # SKIP zstd is not installed"
without zstd e2e/tshark_fields.sh
has "tshark_fields.sh without zstd" "$tmp/out" '^1\.\.0 # SKIP zstd is not installed$'

# A harness that was not built is not a success.
mkdir "$tmp/empty"
FUZZ=$tmp/empty without "" e2e/fuzz.sh
is "fuzz.sh without its harnesses: exit status" "$status" 1
is "... nothing passed" "$(grep -c '^ok .*fuzz_' "$tmp/out")" 0

# The machines: a file that is missing for their image is named.
vm_says() { # FILES
	bash -uc '. "$1"; vm_files=$2; vm_find_files; echo "$? $vm_why"' - "$src/tests/vm/vm.sh" "$1"
}
is "tests/vm: a file that is not there" "$(VM_BIN=$tmp vm_says "/etc/passwd:base-passwd /no/such/file:netbase")" \
	"1 /no/such/file is missing: install the package netbase (scripts/deps vm)"
is "tests/vm: a pattern that matches nothing" "$(VM_BIN=$tmp vm_says "/no/such/lib*.so:ibverbs-providers")" \
	"1 /no/such/lib*.so is missing: install the package ibverbs-providers (scripts/deps vm)"
is "tests/vm: all files are there" "$(VM_BIN=$tmp vm_says "/etc/passwd:base-passwd /etc/pass*:base-passwd")" "0 "
tap_done
