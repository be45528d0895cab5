#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the text of the tree must satisfy: format, shellcheck, man pages, words; with TEST_FULL, cppcheck.
. "${srcdir:-.}/tests/tap.sh"
cd "${srcdir:-.}" || exit 1

# Tracked files; in a tarball, all files
own_files() { git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -print; }

has_tool clang-format "clang-format" && {
	own_files | grep '\.[ch]$' | xargs clang-format --dry-run -Werror >"$tmp/log" 2>&1
	ok "clang-format" "$tmp/log"
}
has_tool shellcheck "shellcheck" && {
	# It follows each call of a function, which takes half of its time where these are of tap.sh: it finds their names only,
	# and what they set. tap.sh itself is one of the files.
	mkdir -p "$tmp/names/tests"
	awk '/^[a-z_0-9]+\(\) \{/ {sub(/\{.*/, "{ :; }"); print; next}
		/^\t*(# shellcheck shell|(export )?[a-zA-Z_]+=)/' tests/tap.sh >"$tmp/names/tests/tap.sh"
	{ own_files | xargs grep -lE '^#!/bin/(ba)?sh'; printf '%s\n' completions/rdmadump tests/tap.sh; } | sed "s,^,$PWD/," |
		(cd "$tmp/names" && xargs -P 2 -n 38 shellcheck -x -P "$OLDPWD") >"$tmp/log"
	ok "shellcheck" "$tmp/log"
}
has_tool mandoc "man pages" && {
	# Which manuals are installed, and what mandoc.db knows (stderr), is a matter of this machine.
	mandoc -Tlint man/*.[0-9] 2>/dev/null | grep -v 'referenced manual not found' >"$tmp/log"
	[ ! -s "$tmp/log" ]
	ok "man pages" "$tmp/log"
}
has_tool apparmor_parser "AppArmor's profile" && {
	apparmor_parser -QK packaging/apparmor/usr.bin.rdmadump >"$tmp/log" 2>&1
	ok "AppArmor's profile" "$tmp/log"
}
tests/words >"$tmp/log" 2>&1
ok "words and licence" "$tmp/log"
tests/house . "$BUILD_DIR" >"$tmp/log"
ok "structure" "$tmp/log"
tests/mutate -n --count 1 >"$tmp/log" 2>&1 && tests/mutate -n --rows >"$tmp/log" 2>&1
ok "the mutator reads all functions, and its rows fit" "$tmp/log"
version=$(sed -n 's/^AC_INIT(\[rdmadump\], \[\(.*\)\])/\1/p' configure.ac)
is "the spec has the version of configure" "$(sed -n 's/^Version: *//p' packaging/rdmadump.spec)" "$version"
[ ! -e debian ] || is "debian/changelog, too" "$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)" "$version"
# A pause is a guess at how long something takes. Tests wait for what is to happen: wait_for, a pipe, a process. A pause that
# nothing depends on, or that takes no time, says so: "# pause: REASON".
own_files | grep -E '^(\./)?tests/(e2e|vm|world)/' |
	xargs grep -nE '(^|[^-_a-z])(sleep [0-9."$]|time\.sleep\()' | grep -v '# pause: .' >"$tmp/log"
[ ! -s "$tmp/log" ]
ok "no test sleeps" "$tmp/log"
own_files | grep '\.sh$' | xargs awk -v most=5 '
	inside && /^END/ {if (FNR - inside > most + 1) print FILENAME ":" inside; inside = 0}
	/(python3|\.py").*<<.?END/ {inside = FNR}' >"$tmp/log"
[ ! -s "$tmp/log" ]
ok "no more than five lines of Python in a script" "$tmp/log"
own_files | xargs grep -nE '^(<<<<<<<|>>>>>>>) ' >"$tmp/log"
[ ! -s "$tmp/log" ]
ok "no half-merged file" "$tmp/log"
[ -z "${TEST_FULL-}" ] || {
	# It does not know that a compound in parentheses has a value (RD_JSON_LIST), nor the macros of the system's headers.
	queue=$(gcc -M -x c - <<<'#include <sys/queue.h>' | grep -o '[^ ]*queue\.h')
	cppcheck -q --error-exitcode=1 --std=c11 --inline-suppr --enable=warning,portability \
		--suppress=missingIncludeSystem --suppress=constStatement -D__linux__ -D_GNU_SOURCE -Iinclude -Isrc -I"$BUILD_DIR/src" \
		--include="$queue" -j2 src tests/unit >"$tmp/log" 2>&1
	ok "cppcheck" "$tmp/log"
}
tap_done
