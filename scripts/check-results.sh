# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Counts test results; sourced by scripts/check and by its test. Output that cannot be read as a result
# counts as a failure. CI=true: a test that is skipped because a tool is missing counts as failed, since
# scripts/deps installs every tool.

passed=0 failed=0 skipped=0
failures=()

# fail_as NAME [N]
fail_as() {
	failed=$((failed + ${2:-1}))
	failures+=("$1")
}

# add_results NAME PASSED FAILED SKIPPED SKIPS: SKIPS is the file with the lines that say why
add_results() {
	local name=$1 pass=$2 fail=$3 skip=$4 lacking=0
	cat "$5"
	if [ "${CI-}" = true ]; then
		lacking=$(grep -ciE 'not installed|not built' "$5")
		[ "$lacking" = 0 ] || echo "$name: $lacking skipped because a tool is missing, which is a failure in CI"
	fi
	echo "$name: $pass passed, $((fail + lacking)) failed, $((skip - lacking)) skipped"
	passed=$((passed + pass))
	skipped=$((skipped + skip - lacking))
	[ $((fail + lacking)) = 0 ] || fail_as "suite $name" $((fail + lacking))
}

# count_suite NAME LOG STATUS: what `make check` printed, and its exit status
count_suite() {
	local name=$1 log=$2 status=$3 pass skip fail skips
	pass=$(awk '/^# PASS:/ {print $3}' "$log")
	skip=$(awk '/^# SKIP:/ {print $3}' "$log")
	fail=$(awk '/^# (FAIL|XPASS|ERROR):/ {n += $3} END {print n + 0}' "$log")
	grep -E '^(FAIL|ERROR|XPASS):' "$log"
	# No summary, no test that passed, or a failure that no test explains
	if [ "${pass:-0}" = 0 ] || { [ "$status" != 0 ] && [ "$fail" = 0 ]; }; then
		echo "$name: make check ended with status $status and no results that explain it; its last words:"
		tail -n 30 "$log"
		fail=$((fail + 1))
	fi
	skips=$(mktemp)
	grep -E '^SKIP:' "$log" >"$skips"
	add_results "$name" "${pass:-0}" "$fail" "${skip:-0}" "$skips"
	rm -f "$skips"
}

# both_runs DIRECTORY FIRST SECOND: one log of `make check` in DIRECTORY and of `make recheck` after it. The results are
# those of the .trs files, which the second run replaced where a test had failed.
both_runs() {
	grep -hE '^SKIP:' "$2" "$3" | sort -u
	grep -E '^(FAIL|ERROR|XPASS):' "$3"
	find "$1" -name '*.trs' -exec cat {} + | awk '
		/^:test-result: / {n[$2]++}
		END {split("PASS SKIP FAIL XPASS ERROR", r); for (i in r) printf "# %s: %d\n", r[i], n[r[i]]}'
}

# count_tap NAME LOG STATUS: the TAP of one program, and its exit status
count_tap() {
	local name=$1 log=$2 status=$3 pass fail skip planned ran skips
	skips=$(mktemp)
	grep -E '^1\.\.0|^ok .*# SKIP' "$log" >"$skips"
	skip=$(grep -c . "$skips")
	pass=$(($(grep -c '^ok ' "$log") - $(grep -c '^ok .*# SKIP' "$log")))
	fail=$(grep -c '^not ok ' "$log")
	ran=$(grep -cE '^(not )?ok ' "$log")
	planned=$(sed -n 's/^1\.\.\([0-9][0-9]*\).*/\1/p' "$log" | tail -n 1)
	if [ "$ran" != "${planned:-none}" ] || { [ "$status" != 0 ] && [ "$fail" = 0 ]; } ||
		{ [ "$planned" = 0 ] && ! grep -q '^1\.\.0 # SKIP .' "$log"; }; then
		echo "$name: status $status, ${planned:-no} tests planned, $ran ran; its last words:"
		tail -n 20 "$log"
		fail=$((fail + 1))
	fi
	grep -A12 '^not ok ' "$log" | head -n 80
	if [ "${planned-}" = 0 ] && [ "$fail" = 0 ] && [ "${CI-}" = true ]; then
		echo "$name: the whole suite was skipped, which is a failure in CI"
		fail=1 skip=0
	fi
	add_results "$name" "$pass" "$fail" "$skip" "$skips"
	rm -f "$skips"
}

# The last line that is printed, and the exit status; an end without `finished` is a failure.
finished=
summary() {
	local f
	[ -n "$finished" ] || fail_as "scripts/check ended before its end"
	# Nothing ran, nothing failed: something is wrong with us.
	[ $((passed + failed)) -gt 0 ] || fail_as "no test ran"
	echo
	for f in ${failures[@]+"${failures[@]}"}; do echo "failed: $f"; done
	echo "$passed passed, $failed failed, $skipped skipped"
	trap - EXIT
	[ "$failed" = 0 ] || exit 1
	exit 0
}
