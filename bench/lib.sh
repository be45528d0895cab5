# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# What the parts of bench/run share. Expects $build, the build directory.

tmp=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/rdmadump-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2034 # used by the parts
repeats=${REPEATS:-3}
TIMEFORMAT='%3R %3U %3S'

median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
# load: the machine's load average
load() { cut -d' ' -f1 /proc/loadavg; }
# timed FILE COMMAND...: "seconds user system" into FILE, the command's output is dropped
timed() {
	local to=$1
	shift
	{ time "$@" >/dev/null 2>&1; } 2>"$to"
}
# cpu_of PID: nanoseconds that its threads were on a CPU (those that have ended do not count)
cpu_of() { cat "/proc/$1/task"/*/schedstat | awk '{n += $1} END {printf "%.0f\n", n}'; }
