#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What counts the results: tests/run, tests/tap.sh, the end of scripts/check.
. "${srcdir:-.}/tests/tap.sh"
src=$(cd "${srcdir:-.}" && pwd)
# Each case sets CI itself, since this also runs in CI.
unset CI srcdir

mkdir -p "$tmp/tree/tests"
cp "$src/tests/run" "$tmp/tree/tests/"
# counted, a script on standard input: the last line that tests/run prints of it, with its exit status; all in $tmp/said
counted() {
	cat >"$tmp/case.sh"
	"$tmp/tree/tests/run" --logs "$tmp/logs" "$@" "$tmp/case.sh" >"$tmp/said" 2>&1
	local status=$?
	echo "$(tail -n 1 "$tmp/said" | tr -d a-z,) $status"
}
is "all passed" "$(echo 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2' | counted)" "2  0  0  0"
is "one failed" "$(echo 'echo "ok 1 - a"; echo "not ok 2 - b"; echo "# why"; echo 1..2; exit 1' | counted)" "1  1  0  1"
has "... and why is said" "$tmp/said" '^ *# why$'
is "one skipped" "$(echo 'echo "ok 1 - a"; echo "ok 2 - b # SKIP not root"; echo 1..2' | counted)" "1  0  1  0"
has "... and why is said" "$tmp/said" '^skipped in .*: b # SKIP not root$'
is "died without a plan" "$(echo 'echo "ok 1 - a"; exit 1' | counted)" "1  1  0  1"
is "no plan, status 0" "$(echo 'echo "ok 1 - a"' | counted)" "1  1  0  1"
is "killed" "$(echo 'echo "ok 1 - a"; echo 1..1; kill -9 $$' | counted)" "1  1  0  1"
for signal in INT HUP TERM; do
	is "SIG$signal, where it was ignored before" "$(trap '' $signal; echo "echo 'ok 1 - a'; echo 1..1; kill -$signal \$\$" | counted)" "1  1  0  1"
done
is "fewer than planned" "$(echo 'echo 1..3; echo "ok 1 - a"; echo "not ok 2 - b"' | counted)" "1  2  0  1"
is "all passed, but a status" "$(echo 'echo "ok 1 - a"; echo 1..1; exit 3' | counted)" "1  1  0  1"
is "nothing at all" "$(echo true | counted)" "0  1  0  1"
is "a plan of none, and no reason" "$(echo 'echo 1..0' | counted)" "0  1  1  1"
is "all skipped" "$(echo 'echo "1..0 # SKIP /etc/protocols is missing"' | counted)" "0  0  1  0"
has "... and why is said" "$tmp/said" '/etc/protocols is missing'
is "all skipped, but a status" "$(echo 'echo "1..0 # SKIP x"; exit 2' | counted)" "0  1  1  1"
lacking='echo "ok 1 - a"; echo "ok 2 - b # SKIP promtool is not installed"; echo 1..2'
is "a tool is missing" "$(echo "$lacking" | counted)" "1  0  1  0"
is "a tool is missing, in CI" "$(echo "$lacking" | CI=true counted)" "1  1  0  1"
is "another reason, in CI" "$(echo 'echo "ok 1 - b # SKIP not root"; echo 1..1' | CI=true counted)" "0  0  1  0"
is "a script without a case is no success" "$(printf '. "%s/tests/tap.sh"\ntap_done\n' "$src" | counted)" "0  1  0  1"
burns='(ulimit -t 1; while :; do :; done) 2>/dev/null; echo "ok 1 - a"; echo 1..1'
is "within its budget" "$(echo "$burns" | counted --budget 1)" "1  0  0  0"
is "over its budget" "$(echo "$burns" | counted --budget 0.0001)" "1  1  0  1"
has "... is said" "$tmp/said" 'costs [0-9.]+ CPU s of 0\.0012$'
# A clock that goes on, and ticks that do not
cp /proc/stat "$tmp/stat"
is "charged for a machine that was stopped" "$(echo "$burns" | counted --budget 0.0001 --stat "$tmp/stat")" "1  0  0  0"
has "... is said" "$tmp/said" 'the machine was stopped for [0-9]+ s$'

# Quarantine: named, with a reason and a date, three at most
row() { printf '%s %s the reason\n' "$tmp/case.sh" "$1"; }
fails='echo "not ok 1 - a"; echo 1..1; exit 1'
row 2999-01-01 >"$tmp/tree/tests/quarantine"
is "a quarantined test" "$(echo "$fails" | counted)" "0  0  1  0"
has "... is named with its reason" "$tmp/said" 'quarantined until 2999-01-01: the reason'
row 2026-01-01 >"$tmp/tree/tests/quarantine"
is "after its end it counts" "$(echo "$fails" | counted)" "0  1  0  1"
for n in a b c d; do printf '%s 2999-01-01 x\n' "$n"; done >"$tmp/tree/tests/quarantine"
echo "$fails" | counted >/dev/null
has "more than three are refused" "$tmp/said" '3 at most'
rm "$tmp/tree/tests/quarantine"

# A log whose last line has no end, and values of several lines, hide no result. To wait in vain is a failure.
{
	printf '. "%s/tests/tap.sh"\n' "$src"
	cat <<-'END'
		printf 'first\nlast' >"$tmp/log"
		false; ok "a case that shows its log" "$tmp/log"
		is "a case of two lines" $'ok 9 - one\nnot ok 8' $'1..7\ntwo'
		true; ok "the one after it"
		appears() { [ "$((tries += 1))" -ge 3 ]; }
		wait_for appears; is "wait_for: tried until it succeeds" "$? $tries" "0 3"
		(PATIENCE=0 wait_for false); is "wait_for: status" $? 1
		wait_for true; is "wait_for: what is so already" $? 0
		PATIENCE=0 wait_for false; true; ok "never reached"
		tap_done
	END
} >"$tmp/failing"
is "tap.sh: every result is counted" "$(counted <"$tmp/failing")" "4  3  0  1"

# ok "$(...)" has the status of the substitution, not that of the case: it can never fail.
grep -nE '^[^#]*\bok "[^"]*(\$\([^(]|`)' "$src"/tests/*/*.sh "$src"/tests/tap.sh >"$tmp/found"
is "no case takes its status from its own name" "$(<"$tmp/found")" ""

# What scripts/check runs: each script, unit program and file of cases of this tree
(cd "$src" && printf '%s\n' tests/e2e/*.sh tests/cases/*.txt tests/softhca/selftest.sh tests/unit/test_*.c) |
	sed 's/\.c$//' | grep -v '/same_facts\.sh$' | sort >"$tmp/there"
# shellcheck disable=SC2016 # of make
lists=$(sed -n 's/.*budget="--budget 1" suite gcc tests\/gates.sh $(of \(.*\))$/$(\1)/p' "$src/scripts/check" | sed 's/ /) $(/g')
printf 'include Makefile\nshow:\n\t@printf "%%s\\\\n" %s\n' "$lists" | make -s --no-print-directory -C "$BUILD_DIR" -f - show 2>/dev/null | sort >"$tmp/runs"
is "scripts/check runs every test of the tree" "$(diff "$tmp/there" "$tmp/runs")" ""

# scripts/test: every script that tests/touches names exists, and every source file touches one
sed -n 's/^[^#[:space:]][^[:space:]]*[[:space:]]*//p' "$src/tests/touches" | tr ' ' '\n' | sort -u | while read -r name; do
	[ -e "$src/tests/e2e/$name.sh" ] || echo "$name"
done >"$tmp/found"
is "tests/touches names scripts" "$(<"$tmp/found")" ""
find "$src"/src -name '*.c' | while read -r file; do
	grep -qE '^src/' "$src/tests/touches" && while read -r pattern _; do
		# shellcheck disable=SC2254 # a pattern
		case ${file#"$src"/} in $pattern) continue 2 ;; esac
	done <"$src/tests/touches"
	echo "${file#"$src"/}"
done | grep -vE '^src/(report|util)/' >"$tmp/found"
is "... for every source file that no unit program suffices for" "$(<"$tmp/found")" ""

# The end of scripts/check, in a tree without anything else
ended() { # SCRIPT: as scripts/deps, where the check begins
	mkdir -p "$tmp/tree/scripts" && cp "$src"/scripts/check* "$tmp/tree/scripts/"
	printf '#!/bin/sh\n%s\n' "$1" >"$tmp/tree/scripts/deps"
	chmod +x "$tmp/tree/scripts/deps"
	bash "$tmp/tree/scripts/check" >"$tmp/log" 2>&1
	echo "$? $(tail -n 1 "$tmp/log")"
}
is "no packages" "$(ended 'exit 1')" "1 0 passed, 1 failed, 0 skipped"
# shellcheck disable=SC2016 # of that script
is "it is terminated" "$(ended 'kill $PPID')" "1 0 passed, 1 failed, 0 skipped"
has "... and says so" "$tmp/log" '^failed: check scripts/check ended before its end: 1$'

# scripts/quickstart says at once that it needs root, not after the build
mkdir "$tmp/bin" && printf '#!/bin/sh\necho 1000\n' >"$tmp/bin/id" && chmod +x "$tmp/bin/id"
cp "$src/scripts/quickstart" "$tmp/tree/scripts/"
PATH=$tmp/bin:$PATH sh "$tmp/tree/scripts/quickstart" >"$tmp/log" 2>&1
exits "quickstart without root" 2 "$tmp/log" 'run it as root'
holds "quickstart without root: nothing is built" [ ! -e "$tmp/tree/build/quickstart" ]
tap_done
