#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Captures of several hosts: what is missing, what faulty and slow paths have in common, and which pairs show one fault.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq editcap

analyze() { "$RDMADUMP" analyze "$@" 2>"$tmp/log"; }
coproc python3 "$srcdir/tests/e2e/hosts.py"
exec 6<&"${COPROC[0]}" 7>&"${COPROC[1]}" # these a subshell has, too
site() { echo "$tmp/$1" "${@:2}" >&7 && read -ru 6; } # NAME KEY=VALUE...

site four hosts=4 lossy=1-3
analyze --json "$tmp/four" >"$tmp/four.json"
site rails hosts=4 lossy=1-3 addresses=2 missing=2 facts=1
analyze --json "$tmp/rails" >"$tmp/rails.json"
# What is missing, and what the faulty paths have in common
common() { jq -c '.common | if . then [.place, .is_address, .side, .faulty, .of_faulty, .others, .of_others] else . end' "$1"; }
captured() { jq -r '[.hosts[].captured] | join(" ")' "$1"; }
is "one faulty path has nothing in common" "$(common "$tmp/four.json")" null
site both hosts=4 lossy=1-3,3-1
is "... nor have both directions between two hosts: it may be either one" "$(analyze --json "$tmp/both" | common /dev/stdin)" null
site through hosts=4 lossy=1-2,2-3
is "... one to a host and one from it do" "$(analyze --json "$tmp/through" | common /dev/stdin)" '["10.0.0.2",false,"either",2,2,4,10]'
is "each capture is likely of a host" "$(captured "$tmp/four.json")" "likely likely likely likely"
is "... and the text says nothing of it" "$(analyze "$tmp/four" | sed '/^====/,$d' | grep -c '[cC]apture is\|[cC]apture was made')" 0
is "by facts: the host without a capture" "$(captured "$tmp/rails.json")" "yes no yes yes no"
has "... in the text" <(analyze "$tmp/rails") "^No capture was made at 10\.0\.0\.2, 10\.1\.0\.2$"
site beside100 hosts=3 messages=2 facts=1 behind=100
site beside300 hosts=3 messages=2 facts=1 behind=300
site devices hosts=3 messages=2 facts=1 before=20
is "... with many addresses, or more than are kept, or of devices: then of none it is certain" \
	"$(for n in beside{100,300} devices; do analyze --json "$tmp/$n" | captured /dev/stdin; done | paste -sd,)" "yes yes yes,likely likely likely,likely likely likely"
editcap -F nsecpcap "$tmp/rails/host4.pcapng" "$tmp/rails/host4.pcap" && rm "$tmp/rails/host4.pcapng"
analyze --json "$tmp/rails" >"$tmp/part.json"
is "... one file without facts: of none it is certain" "$(jq -c '[.hosts[] | [.addresses[0], .captured]]' "$tmp/part.json")" \
	'[["10.0.0.1","yes"],["10.0.0.2","unknown"],["10.0.0.3","yes"],["10.0.0.4","unknown"],["10.1.0.2","unknown"],["10.1.0.4","unknown"]]'
site marked hosts=4 missing=4 directions=2
is "directions of frames say whose capture it is" "$(analyze --json "$tmp/marked" | captured /dev/stdin)" "likely yes likely unknown"
site two_only hosts=4 only=1-2,3-4 missing=4
is "two captures of two hosts: each is of the one whose packets it has first" "$(analyze --json "$tmp/two_only" | captured /dev/stdin)" \
	"likely likely unknown unknown"
site near hosts=4 only=1-2,3-4 missing=4 near=1 lossy=1-2,2-1
is "... unknown where nothing shows which one has them first" "$(analyze --json "$tmp/near" | captured /dev/stdin)" "unknown unknown unknown unknown"
site into hosts=5 lossy=1-3,2-3,4-3,5-3 missing=2
analyze --json "$tmp/into" >"$tmp/into.json"
is "all faulty paths end at one host" "$(common "$tmp/into.json")" '["10.0.0.3",false,"to",4,4,0,16]'
is "without facts: of one host no capture is known" "$(captured "$tmp/into.json")" "likely unknown likely likely likely"
analyze "$tmp/into" >"$tmp/into.text"
has "... in the text" "$tmp/into.text" "^4 of 4 faulty paths end at 10\.0\.0\.3, 0 of the 16 others do$"
site rank hosts=3 lossy=1-3,2-3 facts=1 ranks=1
is "... and one process has all QPs there" "$(analyze --json "$tmp/rank" | jq -c '.common.owner | [.pid, .rank]')" "[3000,2]"
is "... not one of several" "$(site several hosts=3 lossy=1-3,2-3 facts=1 ranks=3 && analyze --json "$tmp/several" | jq -c '[.common.place, .common.owner]')" '["10.0.0.3",null]'
has "... both" "$tmp/into.text" "^No capture is known to be made at 10\.0\.0\.2$"
site out hosts=4 lossy=2-1,2-3/0,3-2/0 addresses=2 facts=1
is "most end or begin at a host" "$(analyze --json "$tmp/out" | common /dev/stdin)" '["10.0.0.2",false,"either",3,3,3,9]'
site rail hosts=4 lossy=1-3/1,2-3/1 addresses=2 facts=1
analyze --json "$tmp/rail" >"$tmp/rail.json"
is "... at one of its addresses" "$(common "$tmp/rail.json")" '["10.1.0.3",true,"to",2,2,1,22]'
is "all paths are faulty: nothing sets one apart" "$(site all hosts=3 lossy=1-2,1-3,2-1,2-3,3-1,3-2 && analyze --json "$tmp/all" | common /dev/stdin)" null

site slow hosts=4 slow=3
analyze --json "$tmp/slow" >"$tmp/slow.json"
is "nothing is lost: slow paths have a host in common" "$(common "$tmp/slow.json") $(jq .common.slow "$tmp/slow.json")" '["10.0.0.3",false,"to",3,3,0,9] true'
has "... in the text" <(analyze "$tmp/slow") "^3 of 3 slow paths end at 10\.0\.0\.3, 0 of the 9 others do$"
is "... lost packets are more than slow responses" "$(site lossy hosts=4 slow=3 lossy=1-2,4-2 && analyze --json "$tmp/lossy" | jq -c '.common | [.place, .slow]')" '["10.0.0.2",false]'

# One that the others wait for
site late hosts=4 late=3 facts=1 ranks=1
analyze --json "$tmp/late" >"$tmp/late.json"
is "the others wait for one host" "$(jq -c '.straggler | [.address, .of, .messages, .next_ns < .late_ns / 4, .owner.rank], (.late_ns / 1e6 | round)' "$tmp/late.json" | paste -sd' ')" '["10.0.0.3",4,57,true,2] 9'
is "... in the text" "$(analyze "$tmp/late" | grep -A2 '^Possibly' | tr -s ' \n' ' ')" \
	"Possibly the others wait for 10.0.0.3: it began its messages 9.11 ms in all after what it waited for had arrived, none of the other 3 more than 0 ns; its QPs are of python3 (pid 3000, rank 2, SLURM job 77) "
for case in "hosts=3 late=3" "hosts=4 late=3,4"; do
	# shellcheck disable=SC2086 # words
	is "... no one: $case" "$(site "${case//[ =,]/}" $case && analyze --json "$tmp/${case//[ =,]/}" | jq -c .straggler)" null
done
is "... nor where packets are lost" "$(jq -c .straggler "$tmp/four.json")" null

# Two lossy paths: pairs that have these packets at one end only say no more than the pairs of these paths
site two hosts=5 lossy=1-2,4-5
analyze --json "$tmp/two" >"$tmp/two.json"
is "faults of two pairs come first" "$(jq -c '[.pairs as $p | .verdicts[] | select(.verdict.rule and .better_pair == null) | $p[.pair].captures]' "$tmp/two.json")" "[[0,1],[3,4]]"
is "... the others name these" "$(jq -c '[.pairs as $p | .verdicts[] | select(.better_pair) | $p[.better_pair].captures] | unique' "$tmp/two.json")" "[[0,1],[3,4]]"
analyze "$tmp/two" >"$tmp/two.text"
has "... and are not printed" "$tmp/two.text" "^ {10}8 more pairs show such faults at one end of the path only$"
is "... without -v" "$(grep -c '^==== ' "$tmp/two.text") $(analyze -v "$tmp/two" | grep -c '^==== ')" "2 10"

# One capture shows in each of its pairs what is lost of a host without a capture
site once hosts=4 lossy=3-1 missing=3
analyze --json "$tmp/once" >"$tmp/once.json"
is "what several pairs show by the same capture is there once" "$(jq -c '[.verdicts[] | select(.verdict.rule) | .better_pair]' "$tmp/once.json")" "[null,0]"
# ... and not beside a pair that has these packets at both ends, whatever else it shows
site also hosts=4 lossy=1-2 holes=4/7
analyze --json "$tmp/also" >"$tmp/also.json"
is "the pair of a lossy path is first, beside a capture that lacks frames" "$(jq -c '[.pairs as $p | .verdicts[] | select(.verdict.severity == "problem" and .better_pair == null) | $p[.pair].captures]' "$tmp/also.json")" "[[0,1]]"
# What two captures show of the path between them is before what one of them has of another host
site refused hosts=4 lossy=1-2 refuses=3 missing=3
analyze --json "$tmp/refused" >"$tmp/refused.json"
is "a pair says what it lost, beside a refusal by a third host" "$(jq -c '[.pairs[] | [.captures, .ends.verdict.rule]]' "$tmp/refused.json")" \
	'[[[0,1],"lost-between"],[[0,2],"remote-access"],[[1,2],"remote-access"]]'
is "... which is a finding of each capture, certain, and named by the pair" "$(jq -c '[.captures[].findings[] | select(.rule == "remote-access") | .certainty], (.pairs[0].ends.verdict.also | contains("refused"))' "$tmp/refused.json" | paste -sd' ')" \
	'["certain","certain","certain"] true'

fits "as docs/schema/analyze-points.json says" analyze-points "$tmp"/{late,into,rail,two,slow}.json

tap_done
