#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/selftest-table: the table of docs/selftest.md is that of the collected results; made-up results test the script.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 tar zstd
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "$srcdir" && pwd)
cd "$tmp" || exit 1

table() { python3 "$here/scripts/selftest-table" "$@" >"$tmp/table" 2>"$tmp/log"; }

table --check
ok "docs/selftest.md has the table of docs/results" "$tmp/log"
table
is "kinds of today's results" "$(sed -n '3,$s/^| \([a-z]*\) .*/\1/p' "$tmp/table" | tr '\n' ' ')" "kernel model "

# A run on the model says that it is one.
mkdir "$tmp/out"
model --gen count=100000000,size=60-1400 --rate 5000 -- "$RDMADUMP" selftest --output "$tmp/out" >/dev/null 2>&1
archive=$(echo "$tmp"/out/*.tar.zst)
table "$archive"
has "an archive of the model" "$tmp/table" '^\| model \| '

# made NAME FILTER: a made-up result
made() { jq "$2" "$here/docs/results/model.json" >"$tmp/$1.json"; }
made adapter '(.probes[] | select(.name == "inventory").values) |= (.runs_on.value = "adapter" | .model.value = "Made Up" | .firmware.value = "1.2")
	| (.probes[] | select(.name == "paths")) |= (.outcome = "found" | .found = [{"key": "slow_commands", "meaning": "-"}])
	| (.probes[] | select(.name == "send")) |= (.outcome = "failed")'
made model .
table model.json adapter.json
is "adapters are first" "$(sed -n '3,$s/^| \([a-z]*\) | \([^|]*\) .*/\1 \2/p' "$tmp/table" | head -n 1)" "adapter Made Up 1.2"
# shellcheck disable=SC2016 # Markdown
has "what failed and what was found" "$tmp/table" '^\| adapter .* 1 found, 1 failed.* `send` failed, `slow_commands` \|'
# shellcheck disable=SC2016 # Markdown
made markup '(.probes[] | select(.name == "inventory").values.model.value) = "<b>x | `y`[z](w)\n"'
table markup.json
has "no markup of a stranger" "$tmp/table" '^\| model \| bx  yz\(w\) '

refused() { # NAME FILTER
	made "$1" "$2"
	table "$1.json"
	is "refused: $1" $? 1
}
refused unknown 'del(.probes[] | select(.name == "inventory").values.runs_on)'
refused invented '(.probes[] | select(.name == "inventory").values.runs_on.value) = "dream"'
refused partial '.ended = "interrupted"'
refused no-probes '.probes = []'
refused list '[.]'
printf x >"$tmp/none.tar.zst"
table none.tar.zst
is "refused: no archive" $? 1

cp "$here/docs/selftest.md" "$tmp/page.md"
table --check --file "$tmp/page.md" adapter.json
is "another table is noticed" $? 1
table --write --file "$tmp/page.md" adapter.json && table --check --file "$tmp/page.md" adapter.json
ok "--write" "$tmp/log"
is "and the rest of the document stays" "$(diff "$here/docs/selftest.md" "$tmp/page.md" | grep -c '^[<>]')" 3
tap_done
