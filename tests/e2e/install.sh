#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make install` and `make uninstall` below a DESTDIR: the names ibdump (another program may have it)
# and rdmadump in Wireshark's extcap folder.
# Expects, beyond what tap.sh expects: BUILD_DIR (the build directory).
. "${srcdir:-.}/tests/tap.sh"
need_tool make
bin=/opt/rdma/bin
installed=$tmp/root$bin

# Reading what each object depends on takes longer than installing.
sed '/am--include-marker/d' "$BUILD_DIR/Makefile" >"$tmp/Makefile"
# run_make TARGET [VARIABLE...]: below $tmp/root. The program is taken as it is: no other test may
# find it incompletely linked.
run_make() {
	# shellcheck disable=SC2046 # names without blanks
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$BUILD_DIR" -f "$tmp/Makefile" MAKE="make -f $tmp/Makefile" -o src/version.h \
		$(cd "$BUILD_DIR" && printf -- '-o %s ' rdmadump rdmadump-[a-z]* lib*.a) DESTDIR="$tmp/root" prefix=/opt/rdma exec_prefix=/opt/rdma \
		bindir="$bin" libdir=/opt/rdma/lib "$@" >"$tmp/log" 2>&1
}
# What ibdump is in the installed directory: "absent", a link's target, or a file's content
what() {
	if [ -L "$installed/ibdump" ]; then
		readlink "$installed/ibdump"
	elif [ -e "$installed/ibdump" ]; then
		head -c 100 "$installed/ibdump"
	else
		echo absent
	fi
}
# clean [TARGET|-]: an empty root, and in it a foreign ibdump: a link to TARGET, or a program (-)
clean() {
	rm -rf "$tmp/root"
	mkdir -p "$installed"
	case ${1-} in
	'') ;;
	-) echo vendor >"$installed/ibdump" ;;
	*) ln -s "$1" "$installed/ibdump" ;;
	esac
}

both() { "$1" --version | head -n 1 && "$1" analyze --usage | head -n 1 && "$1" export --help | head -n 1; }
built=$(both "$RDMADUMP")
# NAME | ibdump before | ibdump_link | after install | said | after uninstall
cases='no link by default||no|absent||absent
a foreign program, no link wanted|-|no|vendor||vendor
a foreign link, no link wanted|/etc/alternatives/ibdump|no|/etc/alternatives/ibdump||/etc/alternatives/ibdump
a link is wanted||yes|rdmadump||absent
a link is wanted, a foreign program|-|yes|vendor|not ours and was not replaced; use|vendor
a link is wanted, a foreign link|/etc/alternatives/ibdump|yes|/etc/alternatives/ibdump|not ours and was not replaced; use|/etc/alternatives/ibdump
a link is wanted, a link to a directory|.|yes|.|not ours and was not replaced; use|.
a link is wanted and is there|rdmadump|yes|rdmadump||absent
a link is wanted and is there, absolute|/opt/rdma/bin/rdmadump|yes|/opt/rdma/bin/rdmadump||absent
an older installation left its link|rdmadump|no|rdmadump||absent'
while IFS='|' read -r name before wanted after said removed; do
	clean "$before"
	run_make install-exec-am ibdump_link="$wanted"
	is "$name: installing succeeds" $? 0
	is "$name: the program, and commands that are programs of their own" "$(both "$installed/rdmadump")" "$built"
	is "$name: ibdump" "$(what)" "$after"
	if [ -n "$said" ]; then
		has "$name: the message" "$tmp/log" "$said"
		has "$name: names the file" "$tmp/log" "$installed/ibdump"
	else
		is "$name: no message about ibdump" "$(grep -c ibdump-link: "$tmp/log")" 0
	fi
	run_make uninstall ibdump_link="$wanted"
	is "$name: uninstalling succeeds" $? 0
	is "$name: ibdump after uninstalling" "$(what)" "$removed"
	holds "$name: the program is gone" [ ! -e "$installed/rdmadump" ]
done <<<"$cases"
is "nothing is left of an installation" "$(find "$tmp/root" ! -type d)" ""

clean
run_make install-dist_bashcompletionDATA install-dist_fishcompletionDATA install-dist_zshcompletionDATA datadir=/opt/rdma/share \
	bashcompletiondir=/opt/rdma/share/bash-completion/completions
is "each shell's completion is where it looks" "$(cd "$tmp/root/opt/rdma/share" && find . -type f | sort | paste -sd' ')" \
	"./bash-completion/completions/rdmadump ./fish/vendor_completions.d/rdmadump.fish ./zsh/site-functions/_rdmadump"

clean
run_make install-exec-am ibdump_link=yes program_transform_name=s,^,my-,
is "a program name transformed: the link follows it" "$(what)" my-rdmadump
run_make uninstall ibdump_link=yes program_transform_name=s,^,my-,
is "... and is removed" "$(what)" absent

# --- Wireshark's extcap folder -------------------------------------------------------------

clean
run_make install-exec-am extcap_note=no extcapdir=/opt/wireshark/extcap
is "extcap: a link in Wireshark's folder" "$(readlink "$tmp/root/opt/wireshark/extcap/rdmadump")" "$bin/rdmadump"
is "... and nothing to do by hand" "$(grep -c extcap "$tmp/log")" 0
run_make install-exec-am extcap_note=yes extcapdir=/opt/wireshark/extcap
has "extcap: the folder is a guess: how to find the right one" "$tmp/log" "'tshark -G folders' prints"
has "... and the command for it" "$tmp/log" "ln -s $bin/rdmadump FOLDER/rdmadump"
run_make uninstall extcapdir=/opt/wireshark/extcap
is "extcap: nothing is left" "$(find "$tmp/root" ! -type d)" ""
clean
run_make install-exec-am extcap_note=no extcapdir=
is "--without-extcapdir: no link" "$(find "$tmp/root" -path '*extcap*')" ""
run_make uninstall extcapdir=
# The folder that pkg-config names is where this system's tshark looks.
if command -v tshark >/dev/null; then
	folder=$(tshark -G folders 2>/dev/null | sed -n 's/^Extcap path:[[:space:]]*//p')
	known=$(pkg-config --variable=extcapdir wireshark 2>/dev/null)
	is "pkg-config and tshark name the same folder" "${known:-$folder}" "$folder"
else
	skip "pkg-config and tshark name the same folder" "tshark is not installed"
fi

# --- systemd ------------------------------------------------------------------------------------

clean
run_make install-nodist_systemdsystemunitDATA install-dist_systemdcatalogDATA
has "the unit runs a program by its full path" "$tmp/root/opt/rdma/lib/systemd/system/rdmadump-record@.service" '^ExecStart=/.*/rdmadump record '
if has_tool systemd-analyze "the unit has no faults"; then
	mkdir "$tmp/units"
	# systemd looks for the program, which is not installed there
	sed "s|^ExecStart=[^ ]*|ExecStart=$RDMADUMP|" "$tmp/root/opt/rdma/lib/systemd/system/rdmadump-record@.service" \
		>"$tmp/units/rdmadump-record@.service"
	systemd-analyze verify --man=no "$tmp/units/rdmadump-record@mlx5_0.service" >"$tmp/out" 2>&1
	is "the unit has no faults" "$? $(<"$tmp/out")" "0 "
	holds "systemd judges its exposure as 3 of 10 at most" systemd-analyze security --offline=true --threshold=30 --no-pager "$tmp/units/rdmadump-record@.service"
fi
if has_tool journalctl "the catalog can be compiled"; then
	catalog=$tmp/root/opt/rdma/lib/systemd/catalog
	mkdir -p "$tmp/root/usr/lib/systemd" "$tmp/root/var/lib/systemd/catalog" && cp -r "$catalog" "$tmp/root/usr/lib/systemd/"
	journalctl --root="$tmp/root" --update-catalog >"$tmp/out" 2>&1
	journalctl --root="$tmp/root" --list-catalog >>"$tmp/out" 2>&1
	is "the catalog can be compiled" "$(grep -c 'rdmadump: The flight recorder of @RDMADUMP_DEVICE@' "$tmp/out")" 3
fi
tap_done
