#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# configure with options and installed libraries: values in the Makefile, and messages.
. "${srcdir:-.}/tests/tap.sh"
need_tool pkg-config
src=$(cd "${srcdir:-.}" && pwd)

# configured ARGUMENTS...: its status in $status, its output in $tmp/said. What the first run finds out about compiler and
# linker is not tested again: everything but environment, libraries and what depends on these.
configured() {
	rm -rf "$tmp/build" && mkdir "$tmp/build"
	[ ! -e "$tmp/cache" ] || grep -vE 'ac_cv_(env|func|member|have_decl|path_ac_pt)_|pkg_cv_|argp' "$tmp/cache" >"$tmp/build/cache"
	(cd "$tmp/build" && "$src/configure" "${quiet--q}" --no-create --cache-file=cache "$@" && ./config.status -q Makefile) >"$tmp/said" 2>&1
	status=$?
	[ -e "$tmp/cache" ] || mv "$tmp/build/cache" "$tmp/cache"
}
# value VARIABLE: as the Makefile has it
value() { sed -n "s/^$1 = *//p" "$tmp/build/Makefile"; }

configured --enable-ibdump-link --enable-sanitizers --with-extcapdir=/mine
is "--enable-ibdump-link" "$(value ibdump_link)" yes
has "--enable-sanitizers" <(value RD_SANITIZE) '^-fsanitize=address'
is "... the model, too" "$(value RD_SANITIZE_MODEL)" "$(value RD_SANITIZE)"
is "--with-extcapdir: that folder" "$(value extcapdir)" /mine
is "--enable-sanitizers: no hardening" "$(value RD_HARDEN)" ""

# library NAME VERSION [LINE...]: pkg-config finds this one only; lines are added to its description
library() {
	printf 'Name: %s\nDescription: test\nVersion: %s\nLibs:\nCflags:\n' "$1" "$2" >"$tmp/pc/$1.pc"
	[ $# -lt 3 ] || printf '%s\n' "${@:3}" >>"$tmp/pc/$1.pc"
}

# A pkg-config that does not find cmocka, and finds this wireshark
mkdir "$tmp/pc"
library wireshark 4.0.17 extcapdir=/usr/lib/there/wireshark/extcap
printf '#!/bin/sh\ncase "$*" in *cmocka*) exit 1 ;; esac\nexec pkg-config "$@"\n' >"$tmp/pkg-config"
chmod +x "$tmp/pkg-config"
configured --enable-thread-sanitizer PKG_CONFIG="$tmp/pkg-config" PKG_CONFIG_PATH="$tmp/pc"
is "without cmocka: exit status" "$status" 0
has "without cmocka: a warning" "$tmp/said" 'WARNING: cmocka not found'
has "... names the packages" "$tmp/said" 'libcmocka-dev \(Debian, Ubuntu\), libcmocka-devel \(Fedora, RHEL\)'
is "without cmocka: one script in place of the unit tests" "$(value unit_suite)" tests/unit/without_cmocka.sh
is "... which says so" "$(srcdir=$src bash "$src/tests/unit/without_cmocka.sh")" \
	"1..0 # SKIP cmocka is not installed, so no unit test was built: install libcmocka-dev and configure again"
has "--enable-thread-sanitizer: the program is built with it" <(value RD_SANITIZE) '^-fsanitize=thread '
is "... the model is not" "$(value RD_SANITIZE_MODEL)" ""
is "wireshark.pc: the folder of the system's Wireshark" "$(value extcapdir)" /usr/lib/there/wireshark/extcap
is "... and nothing to do" "$(value extcap_note)" no

# --- libraries: versions and messages ------------------------------------------------------

# The oldest versions that are accepted: rdma-core 31 (SLE 15), libpcap 1.9 and libarchive 3.3.3 (RHEL 8).
oldest() {
	rm -rf "$tmp/pc" && mkdir "$tmp/pc"
	library libibverbs 1.10.31.0
	library libmlx5 1.15.31.0
	library libpcap 1.9.0
	library jansson 2.10
	library libnl-genl-3.0 3.2
	library zlib 1.2
	library libzstd 1.4.0
	library libarchive 3.3.3
}
with_libraries() {
	configured PKG_CONFIG_LIBDIR="$tmp/pc" PKG_CONFIG_PATH= "$@"
}
oldest
quiet=--verbose with_libraries
is "the oldest libraries, no option: exit status" "$status" 0
is "... no link named ibdump" "$(value ibdump_link)" no
is "... no sanitizer" "$(value RD_SANITIZE)" ""
has "... hardened" <(value RD_HARDEN) '-fstack-protector-strong .*-D_FORTIFY_SOURCE=2'
is "... and no optional library is needed" "$(value LIBBPF_LIBS)$(value SECCOMP_LIBS)" ""
has "... what is missing without one, and its package" "$tmp/said" \
	'^  libbpf     no: without owners of short-lived QPs\. Package: libbpf-dev'
is "no wireshark.pc: a folder below our own prefix" "$(value extcapdir)" "\${libdir}/wireshark/extcap"
is "... and make install says what to do" "$(value extcap_note)" yes

# LIBRARY | too old | wanted | package: Debian | Fedora | SUSE
libraries='libibverbs|1.9.30|1.10.31|libibverbs-dev|rdma-core-devel|rdma-core-devel
libmlx5|1.14.30|1.15.31|libibverbs-dev|rdma-core-devel|rdma-core-devel
libpcap|1.8.1|1.9|libpcap-dev|libpcap-devel|libpcap-devel
jansson|2.9|2.10|libjansson-dev|jansson-devel|libjansson-devel
libnl-genl-3.0|3.1|3.2|libnl-genl-3-dev|libnl3-devel|libnl3-devel
zlib|1.1.4|1.2|zlib1g-dev|zlib-devel|zlib-devel
libzstd|1.3.8|1.4|libzstd-dev|libzstd-devel|libzstd-devel
libarchive|3.3.2|3.3.3|libarchive-dev|libarchive-devel|libarchive-devel'
# Nothing here depends on how the program was built.
if [ -z "${TEST_FULL-}" ]; then
	libraries=${libraries%%$'\n'*}
fi
while IFS='|' read -r name old wanted debian fedora suse; do
	packages="$debian \\(Debian, Ubuntu\\), $fedora \\(Fedora, RHEL\\), $suse \\(SUSE\\)"
	oldest
	library "$name" "$old"
	with_libraries
	is "$name $old: refused" "$status" 1
	has "... too old, and by how much" "$tmp/said" \
		"error: $name is too old: $wanted or later is needed, pkg-config finds $old"
	has "... which package to update" "$tmp/said" "Update the package $packages"
	rm "$tmp/pc/$name.pc"
	with_libraries
	is "no $name: refused" "$status" 1
	has "... missing" "$tmp/said" "error: $name is missing: pkg-config finds no $name.pc"
	has "... which package to install" "$tmp/said" "Install the package $packages"
done <<<"$libraries"

oldest
with_libraries --with-libbpf
is "--with-libbpf without the library: refused" "$status" 1
has "... which package to install" "$tmp/said" "Install the package libbpf-dev \\(Debian"
if [ -n "${TEST_FULL-}" ]; then
	with_libraries --enable-sanitizers --enable-thread-sanitizer
	is "both sanitizers: refused" "$status" 1
	has "... what to do" "$tmp/said" 'exclude each other: build twice'
	with_libraries ac_cv_search_argp_parse=no
	is "no argp, as with musl: refused" "$status" 1
	has "... which package to install" "$tmp/said" 'Install the package argp-standalone'
	configured PKG_CONFIG=
	is "no pkg-config: refused" "$status" 1
	has "... which package to install" "$tmp/said" 'Install the package pkg-config \(Debian'
	oldest
	with_libraries --without-extcapdir
	is "--without-extcapdir: none" "$(value extcapdir)" ""
	is "... and nothing to say" "$(value extcap_note)" no
fi
tap_done
