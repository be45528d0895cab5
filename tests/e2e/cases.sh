#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The runner of tests/cases: what it says of a case that fails, and of what it does not understand.
. "${srcdir:-.}/tests/tap.sh"
cases=$BUILD_DIR/tests/unit/cases

# run TEXT: a file with this case of one capture
run() {
	printf '# first line\ncase one\n  %s\n' "$1" >"$tmp/file"
	"$cases" "$tmp/file" >"$tmp/out" 2>&1
	echo "$?" >"$tmp/status"
	cat "$tmp/out"
}
status() { cat "$tmp/status"; }

# says NAME TEXT: the last output has it
says() {
	grep -qF -- "$2" "$tmp/out"
	ok "$1" "$tmp/out"
}

is "what holds" "$(run '> send 0..3  < ack 3  = a.requests=4 unseen=0 !unseen findings.n=0')" $'1..1\nok 1 - one'
is "... is a success" "$(status)" 0
is "what does not hold: the line, the variables, what there was" "$(run '> send 0..3 = a.requests=5')" \
	"1..1
# $tmp/file:3: expected a.requests=5
# got 4
not ok 1 - one"
is "... is a failure" "$(status)" 1
run 'vary n : 0 1
  > send 0..n = a.requests=1' >/dev/null
says "the row of a table" "expected a.requests=1, with n=1"
run '> send 0..20 = unseen:likely' >/dev/null
says "findings that there are" "got these findings: one-sided:likely"

# Each expectation, and its opposite
while read -r good bad; do
	run "> send 0..3  < ack 3  = $good" >/dev/null
	is "$good" "$(status)" 0
	run "> send 0..3  < ack 3  = $bad" >/dev/null
	is "not $bad" "$(status)" 1
done <<'END'
a.requests>3 a.requests>4
a.requests>=4 a.requests<4
a.requests<=.totals.frames a.requests<=.a.acks
a.requests!=5 a.requests!=4
c.transport=RC c.transport=UC
c.transport^R c.transport^C
verdict.what~refused verdict.what!~refused
verdict.rule=null verdict.rule!=null
a.seen=1 a.seen=false
text~10.0.0.2 text!~10.0.0.2
conversations[id=1].a.qp=0x200 conversations[id=2].a.qp=0x200
series.frames.sum=5 series.frames.n=5
!rnr rnr:any
END

while IFS='|' read -r text message; do
	run "$text" >/dev/null
	says "$text" "Bail out! $tmp/file:3: $message"
	holds "... ends the run" [ "$(status)" != 0 ]
done <<'END'
sand 0|what is 'sand'?
> sand 0|'sand' is no number and no variable
> send 0 qpp=1 = unseen=0|'qpp=1' is no word of a frame
> send x|'x' is no number and no variable
> send 3/0|division by 0
> send 0 = sent=1|the report has no 'sent' for 'sent'
> send 0 = a.sent=1|the report has no 'sent' for 'a.sent'
> send 0 = unseen|'unseen' is no expectation
> send 0|the case expects nothing
> send 0 = unseen=0 > send 1|'>' is no expectation
if 1 > send 0|'if CONDITION' without a block
{ > send 0|'{' without '}'
vary a b : 1|a row of the table is not complete
END
printf 'case one\n  = no-rdma:any\nends two\n  set known=0\n  @0 > 1  @+1us < 1\n  = packets=2\n' >"$tmp/file"
is "one case alone" "$("$cases" -k two "$tmp/file")" $'1..1\nok 1 - two'
"$cases" -k three "$tmp/file" >/dev/null
is "no case with this name" "$?" 1
tap_done
