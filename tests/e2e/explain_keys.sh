#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Everything that other commands name, `explain` knows: the names are taken from schemas, sources and documents.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

"$RDMADUMP" explain --list --json >"$tmp/list"
# known KIND NAME LEAST: each line of standard input is a name of this kind, and there are enough of them
known() {
	sort -u >"$tmp/names"
	jq -r --arg kind "$1" '.codes[] | select(.kind == $kind) | .name // .number' "$tmp/list" | sort -u >"$tmp/known"
	is "$2: explain knows all (docs/how-to-add.md says how)" "$(comm -23 "$tmp/names" "$tmp/known" | tr '\n' ' ')" ""
	holds "$2: enough of them" [ "$(wc -l <"$tmp/names")" -ge "$3" ]
	"$RDMADUMP" explain --json "$(head -n 1 "$tmp/names")" | jq -r '.answers[].codes[].kind' >"$tmp/kinds"
	has "$2: one of them is explained" "$tmp/kinds" "^$1\$"
}
cd "$srcdir" || exit 1
known analyze-event "what analyze counts" 40 < <(jq -r '."$defs".events.properties | keys[]' docs/schema/analyze.json)
# shellcheck disable=SC2016 # backquotes of the document
known finding "findings of captures" 60 < <(sed -nE 's/^\| `([a-z-]+)` \|.*/\1/p' docs/certainty.md)
known finding "findings of counters" 2 < <(grep -ohE '(report|rule = )\(?j?,? ?"[a-z-]+"' src/counters/judge.c src/analysis/report/*.c | grep -oE '"[a-z-]+"' | tr -d '"')
known info-finding "findings of info" 10 < <(grep -ohE 'found\(j, "[a-z-]+"' src/device/*.c | cut -d'"' -f2)
known device-event "events" 21 < <(jq -r '.properties.event.enum[]' docs/schema/events.json)
known selftest-finding "findings of selftest" 30 < <(grep -ozhE 'result_found\([^"]*"[a-z_]+"' src/selftest/*.c | tr '\0' '\n' | grep '"' | cut -d'"' -f2)
known trigger "triggers of record" 15 < <("$RDMADUMP" record --help | tr -s ' \n' ' ' | grep -oE 'repeated: .*PATTERN\]' | grep -oE '[a-z]+(-[a-z]+)*(\[|,|=|>|;)' | tr -d '[,=>;' | grep -vxE 'qp|host|device|match|s')
known exit-status "exit statuses" 5 < <(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh/s/^\.It \([0-9]\).*/\1/p' man/rdmadump-record.1)
known counter "counters" 200 < <(grep -ohE '^COUNTER\("[a-z_/A-Z0-9.-]+"' src/counters/*.def | cut -d'"' -f2 | sed 's|.*/||')
grep -ohE '^COUNTER\("[^"*]*/[^"*]*"' src/counters/*.def | cut -d'"' -f2 | sed 's/\[\(.\)[^]]*\]/\1/g' >"$tmp/groups"
while read -r name; do "$RDMADUMP" explain "$name" >/dev/null 2>&1 || echo "$name"; done <"$tmp/groups" >"$tmp/unknown"
is "counters with their groups, and the number of a priority" "$(<"$tmp/unknown")" ""
holds "... enough of them" [ "$(wc -l <"$tmp/groups")" -ge 300 ]
known json-value "values of JSON" 40 < <(jq -rn '[inputs | .. | objects | .ending?, .ended_by?, .owner_unknown?, .clock_unknown?, .spent?, .where?, .ended?, .outcome? | objects | .enum[]? | strings] | .[]' \
	docs/schema/analyze.json docs/schema/analyze-ends.json docs/schema/capture.json docs/schema/record.json docs/schema/selftest.json)
is "a name that other programs print, too: both" "$("$RDMADUMP" explain --json port-down | jq -r '.answers[].codes[].kind' | tr '\n' ' ')" "trigger port-state "
is "in a line of a log such names are words" "$(echo 'netdev_down: gaps, rnr, unseen, stall' | "$RDMADUMP" explain --json - | jq '.answers | length')" 0
tap_done
