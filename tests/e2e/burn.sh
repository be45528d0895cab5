#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Small captures, and text to redact, made to consume time or memory: ten times the input takes about ten times the
# instructions, and memory stays bounded. Frames that a limit excludes are reported.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
if nm "$RDMADUMP" 2>/dev/null | grep -q __asan_init || ldd "$RDMADUMP" 2>/dev/null | grep -q libasan; then
	skip_all "AddressSanitizer keeps what was freed, and valgrind cannot run it"
fi

make() { python3 "$srcdir/tests/e2e/burn.py" "$1" "$2" "$tmp/$1.$2"; }

# count PROGRAM ARGUMENT...: its instructions; instructions OPTION... FILE...: of analyze
count() {
	valgrind -q --tool=cachegrind --cache-sim=no --cachegrind-out-file="$tmp/counted" "$@" >"$tmp/out" 2>"$tmp/err"
	sed -n 's/^summary: //p' "$tmp/counted"
}
instructions() { count "$RDMADUMP-analyze" "$@"; }

# grows NAME FEW MANY: at most 12-fold for ten times as much, without what no frame at all takes
grows() {
	[ $((${2:-0} - none)) -gt 100000 ] && [ "${3:-0}" -gt "$2" ] && [ $(($3 - none)) -le $((($2 - none) * 12)) ]
	ok "$1: ${2:-no} instructions, then ${3:-no}"
}

# SHAPE FEW: FEW is so many that what grows with their square would be seen
if command -v valgrind >/dev/null; then
	make peers 0
	none=$(instructions "$tmp/peers.0")
	shapes="flows:2000 names:500" ends="order:1000"
	[ -z "${TEST_FULL-}" ] || shapes="peers:1000 $shapes sections:500 findings:300 gaps:1000 times:1000 connections:300" \
		ends="$ends same:1000 checksums:1000 times:1000"
	for pair in $shapes; do
		shape=${pair%:*} few=${pair#*:}
		make "$shape" "$few"
		make "$shape" "${few}0"
		grows "$shape" "$(instructions "$tmp/$shape.$few")" "$(instructions "$tmp/$shape.${few}0")"
	done
	for pair in $ends; do
		shape=${pair%:*} few=${pair#*:}
		make "$shape" "$few"
		make "$shape" "${few}0"
		grows "two ends, $shape" \
			"$(instructions --ends always "$tmp/$shape.$few" "$tmp/$shape.$few")" \
			"$(instructions --ends always "$tmp/$shape.${few}0" "$tmp/$shape.${few}0")"
	done
	mkdir "$tmp/to"
	for n in 0 800 8000; do # labels, and no blank between them
		head -c $((n * 5)) < <(yes user= | tr -d '\n') >"$tmp/$n.txt"
	done
	none=$(count "$REDACT_TOOL" "$tmp/to" "$tmp/0.txt")
	grows "redaction" "$(count "$REDACT_TOOL" "$tmp/to" "$tmp/800.txt")" "$(count "$REDACT_TOOL" "$tmp/to" "$tmp/8000.txt")"
else
	skip "instructions" "valgrind is not installed"
fi

# SHAPE N KIB: peak of its memory
while read -r shape n most; do
	make "$shape" "$n"
	kib=$(python3 "$srcdir/tests/e2e/analyze_many.py" run "$tmp/out" "$RDMADUMP" analyze "$tmp/$shape.$n" 2>"$tmp/err")
	[ "$kib" -gt 1024 ] && [ "$kib" -le "$most" ]
	ok "$n $shape: $kib KiB of memory, at most $most" "$tmp/err"
	[ "$shape" = counters ] || has "... and what is left out is reported" "$tmp/err" "$shape.$n': .*left out$"
done <<LIST
texts 500 32768
comments 500 32768
counters 4 131072
LIST

make peers 200
"$RDMADUMP" analyze -v "$tmp/peers.200" >"$tmp/out" 2>"$tmp/err"
has "peers that are left out are reported" "$tmp/out" "136 peers of queue pairs, ports, addresses or counters were left out"
tap_done
