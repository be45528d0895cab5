#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Captures of several hosts: one answer, with what each host sent to each other one.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq editcap

analyze() { "$RDMADUMP" analyze "$@" 2>"$tmp/log"; }
coproc python3 "$srcdir/tests/e2e/hosts.py"
exec 6<&"${COPROC[0]}" 7>&"${COPROC[1]}" # these a subshell has, too
site() { echo "$tmp/$1" "${@:2}" >&7 && read -ru 6; } # NAME KEY=VALUE...
paths() { jq -r '.paths[] | "\(.from) \(.to) \(.packets) \(.lost) \(.retransmitted)"' "$1"; }

# One path of twelve loses four messages, each is retransmitted with the next one
site four hosts=4 lossy=1-3
analyze --json "$tmp/four" >"$tmp/four.json"
is "all paths, the lossy one first" "$(paths "$tmp/four.json" | head -n 1) $(jq '.paths | length' "$tmp/four.json")" "10.0.0.1 10.0.0.3 88 4 8 12"
is "... and no other one is" "$(paths "$tmp/four.json" | tail -n +2 | cut -d' ' -f4,5 | sort -u)" "0 0"
is "... packets of each, without those of other captures again" "$(paths "$tmp/four.json" | cut -d' ' -f3 | sort | uniq -c | tr -s ' ' | paste -sd,)" " 10 80, 1 84, 1 88"
is "... its latency: of the whole path" "$(jq -c '.paths[0].latency | [.n, .min_ns]' "$tmp/four.json")" "[32,41000]"
is "each address is a host" "$(jq -c '[.hosts[].addresses]' "$tmp/four.json")" '[["10.0.0.1"],["10.0.0.2"],["10.0.0.3"],["10.0.0.4"]]'
analyze "$tmp/four" >"$tmp/text"
is "text: the worst paths" "$(grep -A2 '^FROM HOST' "$tmp/text" | tr -s ' ' | paste -sd,)" \
	"FROM HOST -> TO HOST PACKETS LOST RETRANSMITTED RESPONSE p50 p99 PAUSED,10.0.0.1 -> 10.0.0.3 88 4 8 41 us 41 us 0,10.0.0.1 -> 10.0.0.2 80 0 0 41 us 41 us 0"
has "... how many are not shown" "$tmp/text" "^4 more: -v or --json shows them$"
is "... in 80 columns" "$(sed '/^====/,$d' "$tmp/text" | grep -v '^          /' | awk 'length > 80')" ""
is "-v: all" "$(analyze -v "$tmp/four" | sed '/^====/,$d' | grep -c -- '^10.* -> ')" 12
is "in any order of the files" "$(analyze --json "$tmp"/four/host{3,1,4,2}.pcapng | cksum) $(analyze "$tmp"/four/host{2,1,4,3}.pcapng | cksum)" \
	"$(cksum <"$tmp/four.json") $(cksum <"$tmp/text")"
is "a QP of one path" "$(analyze --qp 0x1103 --json "$tmp/four" | jq -c '[.hosts[].addresses[]], [.paths[] | [.from, .to, .lost, .retransmitted]]' | paste -sd' ')" \
	'["10.0.0.1","10.0.0.3"] [["10.0.0.1","10.0.0.3",4,8],["10.0.0.3","10.0.0.1",0,0]]'

is "... and with any number of threads" "$(for n in 1 3 9; do analyze -j $n --json "$tmp/four" | cksum; done | sort -u)" "$(cksum <"$tmp/four.json")"
is "no thread is none" "$(analyze -j 0 "$tmp/four" 2>&1; echo $?) $(grep -c -- "--jobs: .*0" "$tmp/log")" "1 1"
# Of a pair among several, only packets are compared that both can have: all counts are those of the two files alone
counts() { jq -c '[.packets, .outside, .elsewhere, .evicted, .left_out, (.paths | map([.from, .to, .qps]))]'; }
while read -r a b; do
	is "pair $a $b: as these two files alone" "$(jq --argjson pair "[$a, $b]" '.pairs[] | select(.captures == $pair).ends' "$tmp/four.json" | counts)" \
		"$(analyze --json "$tmp/four/host$((a + 1)).pcapng" "$tmp/four/host$((b + 1)).pcapng" | jq .ends | counts)"
done <<<$'0 1\n0 2\n2 3'

# Numbers of QPs that another process has later, with another peer, whose numbers are new then
site again hosts=3 only=1-2,2-3 again=2 facts=1
is "a number of a QP is used again: each conversation has the processes of both its QPs" "$(analyze --json "$tmp/again" | jq -c '[.captures[].conversations[] |
	([.a, .b | select(.address != "10.0.0.2").qp / 2048 | floor % 2][0]) as $later | .a, .b |
	.owner.pid == (.address[7:] | tonumber) * 1000 + 7 * $later] | [length, all]')" "[32,true]"

# Two addresses of each device, by the facts of the files; the second host has no capture
site rails hosts=4 lossy=1-3 addresses=2 missing=2 facts=1
analyze --json "$tmp/rails" >"$tmp/rails.json"
is "hosts by the facts of the files" "$(jq -c '[.hosts[].addresses]' "$tmp/rails.json")" '[["10.0.0.1","10.1.0.1"],["10.0.0.2"],["10.0.0.3","10.1.0.3"],["10.0.0.4","10.1.0.4"],["10.1.0.2"]]'
is "... the paths of both addresses are one" "$(paths "$tmp/rails.json" | head -n 1)" "10.0.0.1 10.0.0.3 176 8 16"
is "... loss is unknown where one end was not captured" "$(paths "$tmp/rails.json" | awk '/10.[01].0.2/ {print $4}' | sort | uniq -c | tr -s ' ')" " 12 null"
is "... the ports whose facts there are" "$(jq -c '[.captures[].capture.ports[] | [.device, .port, .netdev, .node_guid, .addresses[]]]' "$tmp/rails.json")" \
	'[["mlx5_0",1,"eth0","0c42a10300000001","10.0.0.1","10.1.0.1"],["mlx5_0",1,"eth0","0c42a10300000003","10.0.0.3","10.1.0.3"],["mlx5_0",1,"eth0","0c42a10300000004","10.0.0.4","10.1.0.4"]]'
has "... in the text" <(analyze "$tmp/rails") "^10\.0\.0\.1 \(\+1\) -> 10\.0\.0\.3 \(\+1\) +176 +8 +16 "

# Programs and ranks, by the facts of each host's own file
site ranks hosts=4 lossy=1-3 facts=1 ranks=2 missing=4
analyze --json "$tmp/ranks" >"$tmp/ranks.json"
is "whose the QPs of each host are" "$(jq -c '[.hosts[] | [.programs[] | [.comm, .slurm_job, .processes, .ranks]]]' "$tmp/ranks.json")" \
	'[[["python3","77",2,[0,1]]],[["python3","77",2,[2,3]]],[["python3","77",2,[4,5]]],[]]'
is "... those that are behind the worst verdict" "$(jq -c '.verdicts[0].verdict | [.sender_owner, .receiver_owner | .pid, .rank]' "$tmp/ranks.json")" "[1001,1,3001,5]"
is "... of a capture that is in no pair" "$(site aside hosts=4 only=1-2,3-4 missing=4 lossy=3-4 facts=1 ranks=1 && analyze --json "$tmp/aside" | jq '.verdicts[0].verdict.sender_owner.pid')" 3000
is "... also those of QPs of captured peers" "$(jq -c '[.captures[].conversations[] | .a, .b | select(.owner == null).address] | unique' "$tmp/ranks.json")" '["10.0.0.4"]'
analyze "$tmp/ranks" >"$tmp/ranks.text"
is "... in the text" "$(grep -A3 '^HOST *PROGRAM' "$tmp/ranks.text" | tr -s ' ' | paste -sd,)" \
	"HOST PROGRAM PROCESSES RANKS SLURM JOB,10.0.0.1 python3 2 0-1 77,10.0.0.2 python3 2 2-3 77,10.0.0.3 python3 2 4-5 77"
has "... below the verdict" "$tmp/ranks.text" "^ {10}sent by python3 \(pid 1001, rank 1, SLURM job 77\) and received by$"
is "... in 80 columns" "$(sed '/^====/,$d' "$tmp/ranks.text" | grep -v '^          /' | awk 'length > 80')" ""
is "without facts of owners: none" "$(jq -c '[.hosts[].programs[]]' "$tmp/rails.json") $(grep -c '^HOST *PROGRAM' "$tmp/text")" "[] 0"

# Two devices of each machine, each with a capture of its own
site machines hosts=4 lossy=1-3,2-4 facts=1 machines=m1,m1,m2,m2
analyze --json "$tmp/machines" >"$tmp/machines.json"
is "ports of one machine are one host" "$(jq -c '[.hosts[].addresses]' "$tmp/machines.json")" '[["10.0.0.1","10.0.0.2"],["10.0.0.3","10.0.0.4"]]'
is "... the paths between them are one" "$(paths "$tmp/machines.json" | head -n 1)" "10.0.0.1 10.0.0.3 336 8 16"
is "... by the facts that their files have" "$(jq -c '[.captures[].capture.ports[].boot_id]' "$tmp/machines.json")" '["m1","m1","m2","m2"]'

# Of what a host sends to many others, each has a small part
site many hosts=12 messages=20 lossy=3-9 apart=0
analyze --json "$tmp/many" >"$tmp/many.json"
is "hosts that send to many others: each two are a pair" "$(jq '.pairs | length' "$tmp/many.json")" 66
is "... and the lossy path is first" "$(paths "$tmp/many.json" | head -n 2 | paste -sd,)" "10.0.0.3 10.0.0.9 44 2 4,10.0.0.1 10.0.0.2 40 0 0"
mkdir "$tmp/digests"
for f in "$tmp"/many/*; do "$RDMADUMP" -q -r "$f" --headers-only -w "$tmp/digests/${f##*/}" 2>>"$tmp/log"; done
is "... the same of copies with the headers only" "$(analyze --json "$tmp/digests" | jq -c '[.hosts, .paths, (.pairs | length)]')" \
	"$(jq -c '[.hosts, .paths, (.pairs | length)]' "$tmp/many.json")"

# A capture that misses frames, many or a few: what it lacks is not lost
for n in 9 80; do
	site holes$n hosts=4 holes=3/$n
	analyze --json "$tmp/holes$n" >"$tmp/holes$n.json"
	is "a capture lacks every ${n}th frame: of one path it is not known what was lost" \
		"$(paths "$tmp/holes$n.json" | cut -d' ' -f4 | sort | uniq -c | tr -s ' ' | paste -sd,)" " 11 0, 1 null"
	is "... no verdict is more than a note" "$(jq -c '[.verdicts[].verdict.severity] | unique' "$tmp/holes$n.json")" '[null,"note"]'
done
mkdir "$tmp/twice" && cp "$tmp"/holes9/host[12].pcapng "$tmp/twice" && cp "$tmp/twice/host1.pcapng" "$tmp/twice/copy.pcapng"
is "a capture and its copy show no fault, and not that there is none" "$(analyze "$tmp/twice" | grep -oE '^(OK|UNCLEAR) +[0-9]+ of [0-9]+' | tr -s ' ' | paste -sd,)" "UNCLEAR 1 of 3,OK 2 of 3"
site holes hosts=4 holes=3/9 lossy=1-3
is "... packets that are lost are known as well" "$(analyze --json "$tmp/holes" | paths /dev/stdin | head -n 1)" "10.0.0.1 10.0.0.3 88 4 8"

# Clocks, by pairs that have nothing to do with the first capture, which ended before: their bound holds
for drift in 190 -190; do
	site clocks hosts=4 only=1-3,2-3,2-4 drift=$drift begin=10
	is "clocks that drift by $drift ppm: the offset is as far off as is said, or nearer" \
		"$(analyze --json "$tmp/clocks" | jq -c '[.clocks[] | [.capture, (.offset_ns - .capture * 60e9 | fabs) <= .error_ns, .error_ns < 8e6]]')" \
		'[[0,true,true],[1,true,true],[2,true,true],[3,true,true]]'
done
has "... in the text" <(analyze "$tmp/clocks") "^The clocks of 4 captures are up to 180 s apart, known within .* ms:$"
is "... not beside captures whose clocks nothing compares" "$(site apart hosts=5 only=1-2,3-4,4-5 && analyze --json "$tmp/apart" | jq -c '[.clocks[].capture]')" "[0,1]"

# A host that gets nothing any more, though its capture ran on, as its file says
lost() { analyze --json "$tmp/$1" | jq -c '[.pairs[] | select(.captures == [0, 1]).ends | .outside, ([.paths[].qps[].lost.count] | add)]'; }
site ended hosts=3 mute=2
is "what the other host sends when a capture has ended is not lost" "$(lost ended)" "[20,0]"
site ran hosts=3 mute=2 ran=60 apart=0
is "... it is while the capture ran" "$(lost ran)" "[0,20]"
mkdir "$tmp/copies" && "$RDMADUMP" digest -o "$tmp/copies" "$tmp"/ran/*.pcapng 2>"$tmp/log"
is "... of a copy, too" "$(lost copies)" "[0,20]"
site part hosts=3 mute=2 ran=60 part=2
is "... which a part of it does not show" "$(lost part)" "[20,0]"

# Each capture is read once for all of its pairs; where there is no room to keep its packets, once for each of them
site rough hosts=6 addresses=2 lossy=1-3/0,4-5/1,5-6/0 rough=1
mkdir "$tmp/rough_digests" && "$RDMADUMP" digest -o "$tmp/rough_digests" "$tmp"/rough/*.pcapng 2>"$tmp/log"
is "a rough site: a capture of each host, all pairs" "$(analyze --json "$tmp/rough" | jq -c '[(.captures, .pairs | length), ([.pairs[].ends | .packets > 100] | all), ([.pairs[].ends.elsewhere] | add > 1000)]')" "[6,15,true,true]"
for scene in rough rough_digests ${TEST_FULL:+rails again}; do
	for n in 1 4; do analyze --json -j $n "$tmp/$scene" >"$tmp/kept$n"; done
	[ ! -s "$tmp/log" ] && cmp -s "$tmp/kept1" "$tmp/kept4" && TMPDIR=$tmp/none analyze --json "$tmp/$scene" | cmp -s - "$tmp/kept1" &&
		grep -q "each capture is read again.*$tmp/none.*TMPDIR" "$tmp/log"
	ok "$scene: the same answer from packets that are kept, and from files that are read again" "$tmp/log"
done
(trap '' XFSZ; ulimit -f 64; analyze --json "$tmp/four" | cmp -s - "$tmp/four.json" && grep -qE "read again.*(No space left|File too large)" "$tmp/log")
ok "... if there is no room for more of them" "$tmp/log"

fits "as docs/schema/analyze-points.json says" analyze-points "$tmp"/{four,ranks,rails}.json

tap_done
