#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump analyze --annotate`: comments on the frames that --json names, in tshark, for every
# capture of tests/data and for other formats; all else as in the input; what is refused.
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq tshark editcap mergecap
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
roce=$TEST_DATA/roce
an() { said analyze "$@" 2>"$tmp/err"; }
named() { jq -r '[.findings[].frames[]] | unique[]' "$1"; }
commented() { tshark -r "$1" -Y frame.comment -T fields -e frame.number 2>/dev/null; }
# same_frames A B: the same bytes, lengths and times, as our reader gives them to the pcap encoder
same_frames() {
	cmp <("$RDMADUMP" -r "$1" -w - --format pcap 2>/dev/null) <("$RDMADUMP" -r "$2" -w - --format pcap 2>/dev/null)
}

# --- every capture ----------------------------------------------------------------------------

# The copies are joined (sections may follow each other), since tshark takes a second to start.
captures=("$roce"/*_*/?.pcap.zst)
[ -n "${TEST_FULL-}" ] || captures=("$roce"/{10,14,17,30,32,50}_*/?.pcap.zst)
before=0 differ=''
: >"$tmp/wanted"
for f in "${captures[@]}"; do
	an --json --annotate "$tmp/copy.pcapng" "$f" >"$tmp/copy.json"
	case $? in 0 | 2) ;; *) differ="$differ $f" ;; esac
	same_frames "$f" "$tmp/copy.pcapng" >/dev/null || differ="$differ $f"
	named "$tmp/copy.json" | while read -r n; do echo $((before + n)); done >>"$tmp/wanted"
	before=$((before + $(json "$tmp/copy.json" .totals.frames)))
	cat "$tmp/copy.pcapng" >>"$tmp/all.pcapng"
	rm "$tmp/copy.pcapng"
done
is "${#captures[@]} captures: the frames are the same" "$differ" ""
commented "$tmp/all.pcapng" >"$tmp/commented"
holds "... tshark has comments on exactly the frames that --json names" diff "$tmp/wanted" "$tmp/commented"
holds "... which are many" [ "$(wc -l <"$tmp/wanted")" -ge 30 ]

# --- what a comment says ----------------------------------------------------------------------

loss=$roce/10_rc_write_loss/b.pcap.zst
an --annotate "$tmp/loss.pcapng" "$loss" >"$tmp/loss.txt"
exits "comments of the analysis" 0 "$tmp/loss.txt" '^!! .*lost upstream'
has "how many have comments" "$tmp/err" "^rdmadump: comments of the analysis on [0-9]+ of the frames in '.*loss.pcapng'"
is "the file is private" "$(stat -c %a "$tmp/loss.pcapng")" 600
tshark -r "$tmp/loss.pcapng" -Y frame.comment -T fields -e frame.comment >"$tmp/comments" 2>/dev/null
# tshark prints a line break as \n
has "title and certainty first; in lines of their own severity and place, detail, cause, next step" "$tmp/comments" \
	'^[^\\]*lost upstream [^\\]* \[likely\]\\nrdmadump problem: [0-9.]+ QP 0x[0-9a-f]+ -> [0-9.]+ QP [^\\]*\\n[^\\]*\\nusually: [^\\]*\\nnext: '

# --- what each frame is frames_read as ------------------------------------------------------------

for name in 10_rc_write_loss 12_reorder 58_router_reorder; do
	an --json --marks "$tmp/marks" "$roce/$name/a.pcap.zst" >"$tmp/marks.json"
	for kind in gaps retransmitted reordered responses_repeated nak_sequence; do
		is "$name: frames marked $kind" "$(jq -s "map(select(.incident == \"$kind\")) | length" "$tmp/marks")" \
			"$(jq "[.conversations[] | .. | objects | .$kind | objects | .count] | add // 0" "$tmp/marks.json")"
	done
done
is "each frame once" "$(jq -r .frame "$tmp/marks" | sort -n | uniq -d | wc -l)" 0

# --- other formats ----------------------------------------------------------------------------

zstd -dqc "$loss" >"$tmp/loss.pcap"
gzip -c "$tmp/loss.pcap" >"$tmp/loss.pcap.gz"
editcap -F pcapng -a '1:by the user' -a '3:another' "$tmp/loss.pcap" "$tmp/user.pcapng"
"$RDMADUMP" -r "$loss" -w "$tmp/loss.erf" 2>/dev/null
"$RDMADUMP" -r "$loss" -w "$tmp/erf.pcap" --format pcap,dlt=197 2>/dev/null
"$RDMADUMP" -r "$loss" -w "$tmp/own.pcapng" 2>/dev/null
cat "$tmp/own.pcapng" "$tmp/user.pcapng" >"$tmp/sections.pcapng"
formats=(loss.pcap.gz user.pcapng loss.erf erf.pcap own.pcapng sections.pcapng)
both=() # each file, and its copy
for f in "${formats[@]}"; do
	an --json --annotate "$tmp/copy.$f.pcapng" "$tmp/$f" >"$tmp/$f.json"
	is "$f: exit status" $? 0
	both+=("$tmp/$f" "$tmp/copy.$f.pcapng")
done
mergecap -a -w - "${both[@]}" |
	tshark -r - -T fields -e frame.number -e frame.time_epoch -e frame.len -e frame.cap_len -e frame.comment >"$tmp/all" 2>/dev/null
before=0
for f in "${formats[@]}"; do
	n=$(json "$tmp/$f.json" .totals.frames)
	for part in before after; do
		awk -F'\t' -v OFS='\t' -v from=$before -v n="$n" 'NR > from && NR <= from + n {$1 -= from; print}' "$tmp/all" >"$tmp/$part"
		before=$((before + n))
	done
	{ named "$tmp/$f.json"; awk -F'\t' '$5 != "" {print $1}' "$tmp/before"; } | sort -nu >"$tmp/wanted"
	awk -F'\t' '$5 != "" {print $1}' "$tmp/after" | diff "$tmp/wanted" - >"$tmp/diff"
	ok "$f: comments on the named frames, and those that it had" "$tmp/diff"
	[ -s "$tmp/wanted" ] && cmp <(cut -f 1-4 "$tmp/before") <(cut -f 1-4 "$tmp/after")
	ok "$f: times and lengths in tshark"
	[ "$f" = sections.pcapng ] && continue # one link type for our pcap encoder
	holds "$f: the frames are the same" same_frames "$tmp/$f" "$tmp/copy.$f.pcapng"
done
is "comments of the user are kept" "$(cut -f 5 "$tmp/after" | grep -c 'by the user')" 1
cmp <("$RDMADUMP" analyze --json "$tmp/own.pcapng" 2>/dev/null | jq '.capture.files[0].dropped, .counters, .capture.application') \
	<(an --annotate - "$tmp/own.pcapng" >"$tmp/piped.pcapng" && "$RDMADUMP" analyze --json "$tmp/piped.pcapng" 2>/dev/null |
		jq '.capture.files[0].dropped, .counters, .capture.application')
ok "to a pipe; statistics and names stay"

an --annotate "$tmp/parts.pcapng" --json --ends never "$tmp/loss.pcap" "$tmp/own.pcapng" >"$tmp/parts.json"
commented "$tmp/parts.pcapng" | diff <(named "$tmp/parts.json") - >"$tmp/diff"
ok "two files become one, with the numbers of the report" "$tmp/diff"

# The copy of the first file fills the pipe, so that the second one is not read again yet.
cp "$tmp/own.pcapng" "$tmp/second.pcapng"
editcap -r "$tmp/own.pcapng" "$tmp/few.pcapng" 1-10
an --annotate - --ends never "$tmp/own.pcapng" "$tmp/second.pcapng" | {
	head -c 1000 && cp "$tmp/few.pcapng" "$tmp/second.pcapng" && cat
} >/dev/null
is "a file with fewer frames than before: exit status" "${PIPESTATUS[0]}" 4
has "... message" "$tmp/err" "second.pcapng' changed while it was read; analyse it again"

head -c 300000 "$tmp/own.pcapng" >"$tmp/cut.pcapng"
an --json --annotate "$tmp/cut-copy.pcapng" "$tmp/cut.pcapng" >"$tmp/cut.json"
is "a file that is cut: exit status" $? 4
frames_read "$tmp/cut-copy.pcapng" >"$tmp/last"
ok "... and the copy is whole" "$tmp/frames_read"
is "... what is there is copied" "$(<"$tmp/last")" "$(json "$tmp/cut.json" .totals.frames)"

# --- what is refused --------------------------------------------------------------------------

sum=$(cksum <"$tmp/own.pcapng")
ln "$tmp/own.pcapng" "$tmp/link.pcapng"
refused "over the input" 1 'is a file that is read.*it was not touched' --annotate "$tmp/own.pcapng" "$tmp/own.pcapng"
refused "over the input, by another name" 1 'is a file that is read' --annotate "$tmp/link.pcapng" "$tmp/own.pcapng"
refused "over another capture" 1 'is a capture file.*it was not touched' --annotate "$tmp/own.pcapng" "$tmp/loss.pcap"
refused "from a pipe" 1 "'-' is not a regular file, and the input is read twice; save it" --annotate "$tmp/new.pcapng" - <"$tmp/own.pcapng"
refused "compressed" 1 'the copy is not compressed; name it' --annotate "$tmp/new.pcapng.gz" "$tmp/own.pcapng"
refused "two ends" 1 'are captures of two ends.*--ends never' --annotate "$tmp/new.pcapng" "$roce/10_rc_write_loss/"{a,b}.pcap.zst
refused "copy and JSON to stdout" 1 'the report goes to standard output' --json --annotate - "$tmp/own.pcapng"
refused "marks to standard output" 1 "give the list a file name" --marks - "$loss"
refused "a directory that is not there" 3 "cannot write to '.*': No such file" --annotate "$tmp/none/new.pcapng" "$tmp/own.pcapng"
script -qec "'$RDMADUMP' analyze --annotate - '$tmp/own.pcapng'" /dev/null >"$tmp/err" 2>&1 </dev/null
exits "stdout is a terminal" 1 "$tmp/err" 'standard output is a terminal; give a file'
# shellcheck disable=SC2094 # on purpose
"$RDMADUMP" analyze --annotate - "$tmp/own.pcapng" 1>>"$tmp/own.pcapng" 2>"$tmp/err"
is "stdout is the input: exit status" $? 1
is "... the input is as it was" "$(cksum <"$tmp/own.pcapng")" "$sum"
[ ! -e "$tmp/new.pcapng" ] && [ ! -e "$tmp/new.pcapng.gz" ]
ok "... and nothing was made"

# --- faults of the output ---------------------------------------------------------------------

: >"$tmp/open.pcapng" && chmod 644 "$tmp/open.pcapng"
an --annotate "$tmp/open.pcapng" "$tmp/own.pcapng" >/dev/null
is "an existing file becomes private" "$(stat -c %a "$tmp/open.pcapng")" 600
(
	ulimit -f 100
	an --annotate "$tmp/limited.pcapng" "$tmp/own.pcapng" >"$tmp/limited.txt"
)
exits "no room" 3 "$tmp/err" 'cannot write .*: File too large; free some space'
has "no room: the report is printed" "$tmp/limited.txt" 'lost upstream'
holds "no room: what was written is removed" [ ! -e "$tmp/limited.pcapng" ]
"$RDMADUMP" analyze --annotate - "$tmp/own.pcapng" 2>"$tmp/err" >/dev/full
exits "a full device" 3 "$tmp/err" 'No space left on device'
if has_tool strace "a signal during the copy" && strace -o /dev/null true 2>/dev/null; then
	strace -f -o /dev/null -P "$tmp/ended.pcapng" -e trace=write -e inject=write:signal=SIGINT:when=1 \
		"$RDMADUMP" analyze --annotate "$tmp/ended.pcapng" "$tmp/own.pcapng" >"$tmp/out" 2>"$tmp/err"
	exits "a signal during the copy" 4 "$tmp/err" "--annotate '.*': interrupted: no copy was written"
	holds "... what was written is removed" [ ! -e "$tmp/ended.pcapng" ]
fi
as_said annotate
tap_done
