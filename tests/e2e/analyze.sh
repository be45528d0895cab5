#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump analyze` over real captures: golden texts, JSON by its schema, streams, damaged files,
# display filters, exit statuses.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq python3 prlimit
roce=$TEST_DATA/roce

# --- text -------------------------------------------------------------------------------------

(
	cd "$roce" || exit
	an 10_rc_write_loss/b.pcap.zst
	an -v 17_rnr_nak/a.pcap.zst
	an --top 3 20_mixed/a.pcap.zst
	an --qp 0x1e 14_corrupt/a.pcap.zst
	an --time 0.1-2 30_ingress_drop/a.pcap.zst
) >"$tmp/out"
has "reports as text: as_said, below, compares them" "$tmp/out" '^NOTE|^LOSS'

# on_terminal [ENVIRONMENT...]: a capture with a problem and a warning, on a pseudo-terminal
on_terminal() {
	env "$@" script -qec "'$RDMADUMP' analyze --color \"\${colour_when-auto}\" '$roce/30_ingress_drop/a.pcap.zst'" /dev/null </dev/null 2>&1
}
no_colours() { grep -q 'lost downstream' "$tmp/shown" && ! grep -q $'\033' "$tmp/shown"; }
on_terminal -u NO_COLOR TERM=xterm >"$tmp/shown"
has "a problem is red on a terminal" "$tmp/shown" $'^\033\\[1;31m!! .*lost downstream.*\033\\[0m'
has "... a warning magenta" "$tmp/shown" $'^\033\\[1;35m ! .*\033\\[0m'
is "... and nothing else is coloured" "$(grep -c $'\033' "$tmp/shown")" "$(grep -cE $'^\033\\[1;3[15]m(!!| !|  ) ' "$tmp/shown")"
for environment in 'NO_COLOR=1 TERM=xterm' 'TERM=dumb' '-u TERM'; do
	# shellcheck disable=SC2086 # words of a command line
	on_terminal $environment >"$tmp/shown"
	holds "$environment: no colour" no_colours
done
env -u NO_COLOR TERM=xterm "$RDMADUMP" analyze "$roce/30_ingress_drop/a.pcap.zst" >"$tmp/shown"
holds "no colour in a file" no_colours
env NO_COLOR=1 "$RDMADUMP" analyze --color always "$roce/30_ingress_drop/a.pcap.zst" >"$tmp/shown"
has "--color always: in a file as well, whatever the environment says" "$tmp/shown" $'^\033\\[1;31m!! '
"$RDMADUMP" analyze --color always --json --html "$tmp/page.html" "$roce/30_ingress_drop/a.pcap.zst" >"$tmp/shown"
is "... but not in JSON, nor in a page" "$(cat "$tmp/shown" "$tmp/page.html" | grep -c $'\033')" 0
on_terminal -u NO_COLOR TERM=xterm colour_when=never >"$tmp/shown"
no_colours
ok "--color never: not on a terminal" "$tmp/shown"

# --- JSON -------------------------------------------------------------------------------------

jsons=()
for f in "$roce"/*_*/?.pcap.zst; do
	j=${f#"$roce/"} j=${j%.pcap.zst} j=$tmp/${j/\//-}.json
	an --json "$f" >"$j" 2>>"$tmp/err"
	jsons+=("$j")
done
holds "${#jsons[@]} captures" [ "${#jsons[@]}" -ge 70 ]
fits "JSON by docs/schema/analyze.json" analyze "${jsons[@]}"
# shellcheck disable=SC2016 # variables of jq
is "... which names each event" "$(jq -r --slurpfile schema "$srcdir/docs/schema/analyze.json" '[.conversations[].sides[].events | keys[]]
	- ($schema[0]."$defs".events.properties | keys) | .[]' "${jsons[@]}")" ""
is "series add up" "$(jq -r 'select(.series and (.series.frames | add) !=
	(.totals | .frames - .icrc_bad * (if .icrc_trusted then 1 else 0 end))) | .capture.files[0].name' "${jsons[@]}")" ""

is "a healthy capture has no finding but notes" \
	"$(json "$tmp/02_rc_write-a.json" '[.findings[] | select(.severity != "note")] | length')" 0
is "the loss is reported with its frames" \
	"$(json "$tmp/10_rc_write_loss-b.json" '.findings[0] | .rule + " " + .certainty + " " + (.count | tostring)')" \
	"lost-upstream likely 10"
is "drops downstream of the capture point are distinguished" \
	"$(json "$tmp/30_ingress_drop-a.json" '.findings[0].rule')" lost-downstream

# --- streams ----------------------------------------------------------------------------------

f=$roce/20_mixed/a.pcap.zst
same_totals() { [ "$(jq -c '[.totals, .conversations]' "$1")" = "$(jq -c '[.totals, .conversations]' "$tmp/20_mixed-a.json")" ]; }
zstd -dqc "$f" | an --json - >"$tmp/pipe.json"
same_totals "$tmp/pipe.json"
ok "a pipe" "$tmp/pipe.json"
(cd "$tmp" && "$RDMADUMP" -r "$f" -w "part.pcapng" -C 100k -W 9 2>/dev/null >&2
	"$RDMADUMP" -r "$f" -w whole.pcapng 2>/dev/null >&2)
an --json "$tmp"/part*.pcapng* >"$tmp/parts.json" 2>"$tmp/err"
same_totals "$tmp/parts.json"
ok "files of a series, one behind the other" "$tmp/err"
holds "there were several" [ "$(jq '.capture.files | length' "$tmp/parts.json")" -gt 1 ]
an --json "$tmp/whole.pcapng" >"$tmp/whole.json"
same_totals "$tmp/whole.json"
ok "pcapng" "$tmp/whole.json"

zstd -dqc "$roce/10_rc_write_loss/b.pcap.zst" | head -c 500000 >"$tmp/cut.pcap"
an "$tmp/cut.pcap" >"$tmp/cut.txt" 2>"$tmp/err"
exits "a file that is cut" 4 "$tmp/cut.txt" 'a file is damaged or incomplete'
has "a file that is cut: what is there is analysed" "$tmp/cut.txt" 'lost upstream of this capture point'

"$RDMADUMP" -r "$roce/10_rc_write_loss/b.pcap.zst" -w "$tmp/zero.pcapng" --zero-payload 2>/dev/null >&2
an --json "$tmp/zero.pcapng" >"$tmp/zero.json"
is "zeroed payload is no damage" \
	"$(json "$tmp/zero.json" '[.findings[] | .rule] | index("damaged"), index("lost-upstream") != null, (.|index("icrc-untrusted") != null)' | tr '\n' ' ')" \
	"null true true "
"$RDMADUMP" -r "$roce/10_rc_write_loss/b.pcap.zst" -w "$tmp/short.pcapng" --headers-only 2>/dev/null >&2
an --json "$tmp/short.pcapng" >"$tmp/short.json"
is "headers only: the same rounds" \
	"$(json "$tmp/short.json" '.conversations[0].sides.a.events.rounds_nak.count')" 10
truncated='.findings[] | select(.rule == "truncated") | .title + ": " + .detail'
is "... and what that means" "$(json "$tmp/short.json" "$truncated")" \
	"the capture has only the first bytes of some frames: $(json "$tmp/short.json" .totals.truncated) of $(json "$tmp/short.json" .totals.frames) frames: what the headers show is judged as usual; whether a frame was damaged, and what its message says, cannot be seen"
"$RDMADUMP" -r "$roce/10_rc_write_loss/b.pcap.zst" -w "$tmp/shorter.pcapng" -s 60 2>/dev/null >&2
an --json "$tmp/shorter.pcapng" >"$tmp/shorter.json"
json "$tmp/shorter.json" "$truncated" >"$tmp/log"
has "without whole headers: what is unknown" "$tmp/log" \
	'^the capture has only the first bytes of some frames: .*; whether .*\. Some lack even a part of their headers: what happened to these frames is unknown$'

# --- display filters --------------------------------------------------------------------------

has_tool tshark "every filter finds frames in tshark" && {
	for name in 10_rc_write_loss/b 17_rnr_nak/a 26_imm_inv/a 11_rc_read_loss/b; do # one tshark counts for all filters of a capture
		zstd -dqfc "$roce/$name.pcap.zst" >"$tmp/w.pcap"
		jq -r '.findings[].filter | select(. != null)' "$tmp/${name/\//-}.json" | sort -u >"$tmp/filters"
		tshark -n -q -r "$tmp/w.pcap" -z "io,stat,0,$(paste -sd, "$tmp/filters")" 2>>"$tmp/tshark" |
			awk -F'|' '/<>/ {for (i = 3; $i ~ /[0-9]/; i += 2) print $i + 0}' | paste "$tmp/filters" - >>"$tmp/found"
	done
	[ "$(wc -l <"$tmp/found")" -ge 4 ] && ! grep -vP '\t[1-9]' "$tmp/found" >>"$tmp/tshark"
	ok "every filter finds frames in tshark" "$tmp/tshark"
}

# --- exit statuses and errors -----------------------------------------------------------------

# fails STATUS PATTERN ARGUMENT...
fails() { refused "analyze ${*:3}" "$1" "$2" "${@:3}"; }
fails 1 'no FILE' --json
fails 1 "'5-2'" --time 5-2 "$f"
fails 1 "'x'" --qp x "$f"
fails 2 'no-such-file' /no-such-file
fails 2 '/dev/null' /dev/null
fails 2 "'standard input'.*; it is closed; give a file" - <&-
is "--time without frames says nothing of the capture" \
	"$(an --json --time 100-200 "$f" | jq -c '[.findings[] | .rule, .certainty, (.detail | test("^[0-9]+ frames outside of --time"))]')" '["no-frames-in-time","certain",true]'
"$RDMADUMP" analyze "$f" >/dev/full 2>"$tmp/err"
is "a full disk: exit status" $? 3
# With less memory it fails earlier or later; status 0 promises a whole report
zstd -dqfc "$roce/01_rc_send/a.pcap.zst" >"$tmp/w.pcap" && an --json "$tmp/w.pcap" >"$tmp/whole.json"
# within KIB: status 0 in so much memory; a report that is not the whole one is noted
within() {
	prlimit --as=$(($1 * 1024)) "${RDMADUMP%/*}/rdmadump-analyze" --json "$tmp/w.pcap" >"$tmp/some.json" 2>"$tmp/err" || return
	cmp "$tmp/some.json" "$tmp/whole.json" >>"$tmp/short"
}
[ -n "${SOFTHCA_PRELOAD_FIRST-}" ] || { # a sanitizer needs more than all of it
	: >"$tmp/short"
	less=3000 enough=48000 n=0
	while [ $((enough - less)) -gt 16 ]; do
		half=$(((less + enough) / 2))
		if within $half; then enough=$half; else less=$half; fi
	done
	for ((kib = less; kib > less - 1536; kib -= 48)); do
		within $kib || n=$((n + $(grep -c 'Cannot allocate memory' "$tmp/err")))
	done
	is "too little memory: no report that lacks something has status 0" "$(<"$tmp/short")" ''
	holds "... it is said, at many places" [ "$n" -ge 4 ]
}

as_said analyze
tap_done
