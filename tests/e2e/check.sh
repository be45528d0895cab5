#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The counting of scripts/check: results, tests that die, a check that ends early.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
src=$(cd "${srcdir:-.}" && pwd)
# Each case sets CI itself, since this also runs in CI.
unset CI

# counted FUNCTION STATUS [CI], the log on standard input: "passed failed skipped"; output in $tmp/said
counted() {
	cat >"$tmp/log"
	CI=${3-} bash -uc '. "$1/scripts/check-results.sh"; "$2" suite "$3" "$4"; echo "$passed $failed $skipped" >"$5"' \
		- "$src" "$1" "$tmp/log" "$2" "$tmp/counts" >"$tmp/said" 2>&1
	cat "$tmp/counts"
}
# results PASS SKIP FAIL ERROR [LINE...]: as automake's driver prints them
results() {
	[ $# = 4 ] || printf '%s\n' "${@:5}"
	printf '# TOTAL: %d\n# PASS:  %d\n# SKIP:  %d\n# XFAIL: 0\n# FAIL:  %d\n# XPASS: 0\n# ERROR: %d\n' \
		$(($1 + $2 + $3 + $4)) "$1" "$2" "$3" "$4"
}

is "make check: all passed" "$(results 9 0 0 0 | counted count_suite 0)" "9 0 0"
is "make check: failures and errors" "$(results 9 0 2 1 | counted count_suite 2)" "9 3 0"
is "make check: skipped" "$(results 9 2 0 0 'SKIP: a.sh 3 - b # SKIP not root' | counted count_suite 0)" "9 0 2"
has "... and why is said" "$tmp/said" '^SKIP: a.sh 3 - b # SKIP not root$'
is "make check: it fails for no test's sake" "$(results 9 0 0 0 | counted count_suite 2)" "9 1 0"
is "make check: killed, no summary" "$(echo 'PASS: a.sh 1 - b' | counted count_suite 137)" "0 1 0"
is "make check: nothing ran" "$(results 0 0 0 0 | counted count_suite 0)" "0 1 0"
is "make check: no output, status 0" "$(counted count_suite 0 </dev/null)" "0 1 0"
lacking='SKIP: a.sh - promtool is not installed'
is "make check: a tool is missing" "$(results 9 1 0 0 "$lacking" | counted count_suite 0)" "9 0 1"
is "make check: a tool is missing, in CI" "$(results 9 1 0 0 "$lacking" | counted count_suite 0 true)" "9 1 0"
is "make check: another reason, in CI" "$(results 9 1 0 0 'SKIP: a.sh - not root' | counted count_suite 0 true)" "9 0 1"

# A test that failed is run once more, alone; its second results are the ones that count.
mkdir -p "$tmp/again/e2e"
trs() { printf ':test-result: %s\n' "${@:2}" >"$tmp/again/$1.trs"; }
trs unit_a PASS "PASS a case" && trs e2e/c SKIP PASS
results 3 1 1 0 'FAIL: b.sh 2 - y' 'SKIP: c.sh 1 - x # SKIP not root' >"$tmp/first"
both() { bash -uc '. "$1/scripts/check-results.sh"; both_runs "$2/again" "$2/first" "$2/second"' - "$src" "$tmp"; }
trs e2e/b PASS PASS && results 2 0 0 0 >"$tmp/second"
is "make recheck: passes the second time" "$(both | counted count_suite 0)" "5 0 1"
trs e2e/b PASS FAIL && results 1 0 1 0 'FAIL: b.sh 2 - y' >"$tmp/second"
is "make recheck: fails again" "$(both | counted count_suite 2)" "4 1 1"
has "... and is named" "$tmp/said" '^FAIL: b.sh 2 - y$'
trs e2e/b ERROR && results 0 0 0 1 'ERROR: b.sh' >"$tmp/second"
is "make recheck: dies" "$(both | counted count_suite 2)" "3 1 1"

is "TAP: all passed" "$(printf 'ok 1 - a\nok 2 - b\n1..2\n' | counted count_tap 0)" "2 0 0"
is "TAP: one failed" "$(printf 'ok 1 - a\nnot ok 2 - b\n1..2\n' | counted count_tap 1)" "1 1 0"
is "TAP: one skipped" "$(printf 'ok 1 - a\nok 2 - b # SKIP no\n1..2\n' | counted count_tap 0)" "1 0 1"
is "TAP: died without a plan" "$(printf 'ok 1 - a\n' | counted count_tap 1)" "1 1 0"
is "TAP: no plan, status 0" "$(printf 'ok 1 - a\n' | counted count_tap 0)" "1 1 0"
is "TAP: fewer than planned" "$(printf '1..3\nok 1 - a\nok 2 - b\n' | counted count_tap 0)" "2 1 0"
is "TAP: all passed, but a status" "$(printf 'ok 1 - a\n1..1\n' | counted count_tap 3)" "1 1 0"
is "TAP: nothing at all" "$(counted count_tap 0 </dev/null)" "0 1 0"
is "TAP: a plan of none, and no reason" "$(printf '1..0\n' | counted count_tap 0)" "0 1 1"
whole='1..0 # SKIP /etc/protocols is missing'
is "TAP: all skipped" "$(echo "$whole" | counted count_tap 0)" "0 0 1"
has "... and why is said" "$tmp/said" '/etc/protocols is missing'
is "TAP: all skipped, in CI" "$(echo "$whole" | counted count_tap 0 true)" "0 1 0"
is "TAP: all skipped, but a status" "$(echo "$whole" | counted count_tap 2)" "0 1 1"

# The results of automake's driver for scripts that end early, which make check counts.
driver() { # STATUS, the script on standard input: the driver's verdicts
	cat >"$tmp/early.sh"
	AM_TAP_AWK="awk" sh "$src/build-aux/tap-driver.sh" --test-name early --log-file "$tmp/early.log" \
		--trs-file "$tmp/early.trs" -- bash "$tmp/early.sh" >/dev/null 2>&1
	sed -n 's/^:global-test-result: //p' "$tmp/early.trs"
}
is "a script that dies before its plan is an error" "$(echo 'echo "ok 1 - a"; exit 1' | driver)" ERROR
is "a script without a plan is an error" "$(echo 'echo "ok 1 - a"' | driver)" ERROR
is "a script that is killed is an error" "$(echo 'echo "ok 1 - a"; echo 1..1; kill -9 $$' | driver)" ERROR
is "a script that says nothing is an error" "$(echo true | driver)" ERROR
is "a script with more cases planned than run is an error" "$(echo 'echo 1..2; echo "ok 1 - a"' | driver)" ERROR
is "tap.sh: a script without a case is no success" \
	"$(printf '. "%s/tests/tap.sh"\ntap_done\n' "$src" | driver)" ERROR

# A log whose last line has no end, and values of several lines, hide no result.
cat >"$tmp/failing" <<-'END'
	printf 'first\nlast' >"$tmp/log"
	false; ok "a case that shows its log" "$tmp/log"
	is "a case of two lines" $'ok 9 - one\nnot ok 8' $'1..7\ntwo'
	true; ok "the one after it"
	wait_for 0 false; is "wait_for: status" $? 1
	appears() { [ "$((tries += 1))" -ge 3 ]; }
	wait_for 60 appears; is "wait_for: tried until it succeeds" "$? $tries" "0 3"
	tap_done
END
{ printf '. "%s/tests/tap.sh"\n' "$src"; cat "$tmp/failing"; } | driver >/dev/null
is "tap.sh: every result is counted, in order" "$(grep -oE '^(not )?ok [0-9]+' "$tmp/early.log" | tr '\n' ,)" "not ok 1,not ok 2,ok 3,ok 4,ok 5,"
is "... by automake's driver, too" "$(sed -n 's/^:test-result: //p' "$tmp/early.trs" | tr '\n' ' ')" "FAIL FAIL PASS PASS PASS ERROR "

# ok "$(...)" has the status of the substitution, not that of the case: it can never fail.
grep -nE '^[^#]*\bok "[^"]*(\$\([^(]|`)' "$src"/tests/*/*.sh "$src"/tests/tap.sh >"$tmp/found"
is "no case takes its status from its own name" "$(cat "$tmp/found")" ""

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
is "it is terminated" "$(ended 'kill $PPID; sleep 1')" "1 0 passed, 1 failed, 0 skipped"
has "... and says so" "$tmp/log" '^failed: scripts/check ended before its end$'
is "the end with nothing run is none" \
	"$(bash -uc '. "$1"; finished=yes; summary' - "$src/scripts/check-results.sh" | tail -n 1)" \
	"0 passed, 1 failed, 0 skipped"

# scripts/quickstart says at once that it needs root, not after the build
mkdir "$tmp/bin" && printf '#!/bin/sh\necho 1000\n' >"$tmp/bin/id" && chmod +x "$tmp/bin/id"
cp "$src/scripts/quickstart" "$tmp/tree/scripts/"
PATH=$tmp/bin:$PATH sh "$tmp/tree/scripts/quickstart" >"$tmp/log" 2>&1
is "quickstart without root: exit status" $? 2
has "quickstart without root: what to do" "$tmp/log" 'run it as root'
[ ! -e "$tmp/tree/build" ]
ok "quickstart without root: nothing is built"
tap_done
