#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What analyze reports about captures of simulated jobs on 32 hosts: the culprit first, nothing false as certain.
. "${srcdir:-.}/tests/tap.sh"
need_tool python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
hosts() { python3 "$srcdir/tests/world/hosts" "$@"; }

count=11 # one of each kind of culprit
[ -z "${TEST_FULL-}" ] || count=55
hosts --seed 22 --count $count --least 95 >"$tmp/log" 2>&1
ok "$count jobs on 32 hosts: 95 % of the culprits are named first, nothing false is certain" "$tmp/log"
sed -n '/^culprit/,$s/^/# /p' "$tmp/log"
# A judge that cannot fail: a report that calls each host captured, and each loss something else.
mkdir "$tmp/bin"
cat >"$tmp/bin/other" <<END
#!/bin/sh
"$RDMADUMP" "\$@" | sed 's/"captured": *"[a-z]*"/"captured":"yes"/g; s/"rule": *"lost-[a-z-]*"/"rule":"rnr"/g'
END
chmod +x "$tmp/bin/other"
RDMADUMP=$tmp/bin/other hosts --seed 11 >"$tmp/log" 2>&1
[ $? = 1 ] && grep -q 'FALSE (captured: yes) \[certain\]' "$tmp/log" && grep -q 'is not named first' "$tmp/log"
ok "a false report is found to be false" "$tmp/log"
tap_done
