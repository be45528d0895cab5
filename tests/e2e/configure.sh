#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What configure makes of its options and of what is installed, as the Makefile has it.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool make pkg-config
src=$(cd "${srcdir:-.}" && pwd)

# configured ARGUMENTS...: its status in $status, what it said in $tmp/said
configured() {
	rm -rf "$tmp/build" && mkdir "$tmp/build"
	(cd "$tmp/build" && "$src/configure" -q "$@" >"$tmp/said" 2>&1)
	status=$?
}
# value VARIABLE: as make has it
value() {
	# shellcheck disable=SC2016 # of make
	printf 'include Makefile\nshow:\n\t@echo $(%s)\n' "$1" |
		env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$tmp/build" -o Makefile -f - show 2>&1
}

configured
is "no option: exit status" "$status" 0
is "no option: no link named ibdump" "$(value ibdump_link)" no
is "no option: no sanitizer" "$(value RD_SANITIZE)" ""
configured --enable-ibdump-link
is "--enable-ibdump-link" "$(value ibdump_link)" yes

configured --enable-thread-sanitizer
is "--enable-thread-sanitizer: exit status" "$status" 0
has "... the program is built with it" <(value RD_SANITIZE) '^-fsanitize=thread '
is "... the model is not" "$(value RD_SANITIZE_MODEL)" ""
configured --enable-sanitizers
is "--enable-sanitizers: the model, too" "$(value RD_SANITIZE_MODEL)" "$(value RD_SANITIZE)"
configured --enable-sanitizers --enable-thread-sanitizer
is "both sanitizers: refused" "$status" 1
has "both sanitizers: what to do" "$tmp/said" 'exclude each other: build twice'

# A pkg-config that does not know cmocka
printf '#!/bin/sh\ncase "$*" in *cmocka*) exit 1 ;; esac\nexec pkg-config "$@"\n' >"$tmp/pkg-config"
chmod +x "$tmp/pkg-config"
configured PKG_CONFIG="$tmp/pkg-config"
is "without cmocka: exit status" "$status" 0
has "without cmocka: a warning" "$tmp/said" 'WARNING: cmocka not found: .*libcmocka-dev'
is "without cmocka: one script in place of the unit tests" "$(value unit_suite)" tests/unit/without_cmocka.sh
is "... which says so" "$(srcdir=$src bash "$src/tests/unit/without_cmocka.sh")" \
	"1..0 # SKIP cmocka is not installed, so no unit test was built: install libcmocka-dev and configure again"
tap_done
