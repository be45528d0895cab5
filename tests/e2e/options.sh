#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every option of the capture command: its effect on the file or on the messages.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark tcpdump capinfos editcap python3 zstd gzip

in=$tmp/in.pcap v6=$tmp/v6.pcap
zstd -dqfc "$TEST_DATA/roce/20_mixed/a.pcap.zst" >"$in"
zstd -dqfc "$TEST_DATA/roce/15_ipv6/a.pcap.zst" >"$v6"

# offline ARGUMENTS: over $in into $tmp/out.pcapng, its output in $tmp/log and $tmp/said
offline() {
	rm -f "$tmp/out.pcapng"
	"$RDMADUMP" -r "$in" -q -w "$tmp/out.pcapng" "$@" >"$tmp/said" 2>"$tmp/log"
}
# live ARGUMENTS: 300 frames of 300 bytes
live() {
	rm -f "$tmp/out.pcapng"
	model --dev name=mlx5_0,netdev=enp1s0f0np0,mac=0c:42:a1:00:00:02 \
		--dev name=mlx5_1,netdev=enp2s0np0,pci=0000:5e:00.0 \
		--gen count=300,size=300,seed=1 --at-end sigint -- \
		"$RDMADUMP" "$@" >"$tmp/said" 2>"$tmp/log"
}
ifname() { capinfos "$tmp/out.pcapng" 2>/dev/null | awk '$1 == "Name" {print $3}' | paste -sd' '; }

# --- which frames: each form keeps what tcpdump keeps of the expression -------------------

printf '# a comment\nudp port 4791\nand greater 500\n' >"$tmp/filter"
while IFS='|' read -r file expression forms; do
	[ -n "$file" ] || continue
	in=$tmp/$file.pcap
	tcpdump -r "$in" -w "$tmp/theirs" "$expression" 2>/dev/null
	want=$(hash_of "$tmp/theirs")
	IFS='|' read -ra each <<<"$forms"
	for form in "${each[@]}"; do
		# shellcheck disable=SC2086 # words of a command line
		offline ${form//TMP/$tmp}
		is "$form" "$(hash_of "$tmp/out.pcapng")" "$want"
	done
done <<'LIST'
in|udp port 4791|udp port 4791|-f udp -f port -f 4791|--filter=udp --filter=port --filter=4791|--roce
in|udp port 4791 and greater 500|-F TMP/filter|--filter-file TMP/filter
in|udp[8] = 0x11|--opcode ack --opcode=RC_ACK|--opcode 0x11|--opcode=17
in|udp[12:4] & 0xffffff = 0x28|--qp 0x28|--qp=40
in|udp[12:4] & 0xffffff = 0x28 or udp[12:4] & 0xffffff = 0x29|--qp 40,0x29
in|udp[8] = 100|--src-qp 1 --opcode ud|--src_qp 1 --opcode ud
in|ip src host 10.77.0.2 or ip dst host 10.77.0.2 or arp host 10.77.0.2|--host 10.77.0.2
in|udp port 4791 and ip host 10.77.0.2|--gid ::ffff:10.77.0.2
in|icmp|-f icmp|icmp
v6|ip6 host fd77::2 and udp port 4791|--gid fd77::2|--host fd77::2 --roce
LIST
in=$tmp/in.pcap

offline -Q in --qp 9999
is "nothing matches: it ends, with an empty file" "$?,$(frames_of "$tmp/out.pcapng")" 0,0

# direction: the model's traffic is received; a file's direction is that of its frames
for form in '-Q in|300' '-Q out|0' '-Q inout|300' '--direction in|300' '--direction=out|0' '-I rx|300' '-I tx|0'; do
	# shellcheck disable=SC2086
	live -d mlx5_0 -q -w "$tmp/out.pcapng" ${form%|*}
	is "live ${form%|*}" "$(frames_of "$tmp/out.pcapng")" "${form#*|}"
done

# --- how much of each frame ---------------------------------------------------------------

look() { python3 "$tap_top/tests/e2e/captures.py" frames "$1"; } # interface, time, captured length, length, flags, drops, comments
lengths() { look "$1" | cut -d' ' -f3,4; }
offline
lengths "$tmp/out.pcapng" >"$tmp/lengths"
for form in '-s 64' '--snapshot-length=64'; do
	# shellcheck disable=SC2086
	offline $form
	lengths "$tmp/out.pcapng" >"$tmp/cut"
	is "$form: the first 64 bytes, the length stays" "$(<"$tmp/cut")" \
		"$(awk '{print ($1 < 64 ? $1 : 64), $2}' "$tmp/lengths")"
done
offline --headers-only
lengths "$tmp/out.pcapng" >"$tmp/cut"
is "--headers-only: the length stays" "$(cut -d' ' -f2 "$tmp/cut")" "$(cut -d' ' -f2 "$tmp/lengths")"
is "--headers-only: an ACK is MAC, IP, UDP, BTH, AETH" \
	"$(tshark -r "$tmp/out.pcapng" -Y 'infiniband.bth.opcode == 17' -T fields -e frame.cap_len 2>/dev/null | sort -u)" 58
offline --zero-payload
is "--zero-payload: all lengths stay" "$(lengths "$tmp/out.pcapng")" "$(<"$tmp/lengths")"
is "--zero-payload: nothing left of the payload" \
	"$(tshark -r "$tmp/out.pcapng" --disable-protocol rpcordma -Y 'infiniband.bth.opcode == 7' -T fields \
		-e infiniband.payload -e data.data 2>/dev/null | tr -d '0\t\n')" ""

# --- mirrored traffic ---------------------------------------------------------------------

mirror() { python3 "$srcdir/tests/e2e/links.py" "$1" pcap-us "$2" "$3"; }
tcpdump -r "$in" -c 200 -w "$tmp/inner.pcap" greater 100 2>/dev/null
tcpdump -r "$tmp/inner.pcap" -w "$tmp/acks.pcap" 'udp dst port 4791' 2>/dev/null
plain=$in
for kind in erspan1 erspan2 erspan3 gre vxlan; do
	in=$tmp/$kind.pcap
	mirror $kind "$tmp/inner.pcap" "$in"
	for form in -E --decap; do
		offline $form
		is "$kind $form: the inner frames" "$(hash_of "$tmp/out.pcapng")" "$(hash_of "$tmp/inner.pcap")"
	done
	offline --decap udp dst port 4791
	is "$kind --decap: filtered by the inner" "$(hash_of "$tmp/out.pcapng")" "$(hash_of "$tmp/acks.pcap")"
done
offline -c 7
want="7 $(hash_of "$tmp/out.pcapng" | cut -d' ' -f2)"
offline --decap -c 7 --json
is "--decap -c: the bytes of the frames as they came, up to the last one" "$(jq -r '"\(.frames.written) \(.bytes)"' "$tmp/said")" "$want"
# Mellanox' InfiniBand mirror: LRH, RWH, four bytes, the packet, VCRC
model --dev name=mlx5_0,link=ib,ib_sniffer=1 --gen count=50,size=200,seed=1 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q --format pcap,dlt=247 -w "$tmp/ib.pcap" >"$tmp/log" 2>&1
python3 "$srcdir/tests/e2e/captures.py" rspan "$tmp/ib.pcap" "$tmp/rspan.pcap"
in=$tmp/rspan.pcap
offline --format pcap,dlt=247 --decap
is "InfiniBand RSPAN --decap" "$(hash_of "$tmp/out.pcapng")" "$(hash_of "$tmp/ib.pcap")"
in=$plain

# --- where to write it --------------------------------------------------------------------

for form in -w -o --write --output; do
	"$RDMADUMP" -r "$in" -q $form "$tmp/named$form" 2>"$tmp/log"
	is "$form" "$(hash_of "$tmp/named$form")" "$(hash_of "$in")"
done
for form in 'pcapng|pcapng$' 'pcap|nanosecond' 'pcap-us|pcap$' 'erf|Endace'; do
	offline --format "${form%|*}"
	capinfos -t "$tmp/out.pcapng" >"$tmp/type" 2>/dev/null
	has "--format ${form%|*}" "$tmp/type" "${form#*|}"
done
for form in 'gz|1f8b' 'zst|28b5' 'none|0a0d'; do
	offline --compress "${form%|*}"
	is "--compress ${form%|*}" "$(od -An -tx1 -N2 "$tmp/out.pcapng" | tr -d ' ')" "${form#*|}"
done
offline --compress zst --compress-level 1
fast=$(stat -c %s "$tmp/out.pcapng")
offline --compress zst --compress-level=19
holds "--compress-level: a higher one gives a smaller file" [ "$(stat -c %s "$tmp/out.pcapng")" -lt "$fast" ]
offline --compress gz --compress-level 19
has "--compress-level: beyond gzip's" "$tmp/log" 'gz takes 1 to 9'
for form in '' '--compress none'; do
	# shellcheck disable=SC2086 # words
	offline --compress-level 3 $form
	has "--compress-level $form: of what is not compressed" "$tmp/log" 'level is of a compressed file: give'
done
for form in -U --packet-buffered; do
	offline $form
	is "$form" "$(hash_of "$tmp/out.pcapng")" "$(hash_of "$in")"
done

# --- when to stop -------------------------------------------------------------------------

for form in '-c 7' '--frames=7' '-a packets:7' '--autostop packets:7'; do
	# shellcheck disable=SC2086
	offline $form
	is "$form" "$(hash_of "$tmp/out.pcapng")" "$("$SOFTHCA_FRAMES" --hash "$in" --first 7)"
done
offline --json -a filesize:100
[ "$(stat -c %s "$tmp/out.pcapng")" -ge 100000 ] && [ "$(stat -c %s "$tmp/out.pcapng")" -lt 166000 ] # and one frame of at most 64 kB
ok "-a filesize:100 ends near 100 kB"
is "-a filesize: what came after it does not count" "$(jq -r .frames.written "$tmp/said")" "$(frames_of "$tmp/out.pcapng")"
mkdir "$tmp/f"
"$RDMADUMP" -r "$in" -q -w "$tmp/f/o" -C 100000 -a files:3 2>"$tmp/log" # SIZE in millions
"$RDMADUMP" -r "$in" -q -w "$tmp/f/p" -C 100k -a files:3 2>"$tmp/log"
is "-a files:3, -C in millions and with a suffix" "$(cd "$tmp/f" && echo *)" "o p p1 p2"
"$SOFTHCA" --gen count=50,size=200 -- "$RDMADUMP" --json -a duration:1 -w "$tmp/out.pcapng" >"$tmp/said" 2>"$tmp/log"
is "-a duration:1" "$(jq -r '.ended_by, .frames.written' "$tmp/said" | paste -sd' ')" "duration 50"

# --- new files: names and numbers (rotate.sh has the rest) --------------------------------

while IFS='|' read -r args want; do
	rm -rf "$tmp/f" && mkdir "$tmp/f"
	# shellcheck disable=SC2086
	(cd "$tmp/f" && "$RDMADUMP" -r "$in" -q -w r.pcapng $args >"$tmp/said" 2>"$tmp/log")
	is "$args" "$(cd "$tmp/f" && for f in *; do echo "${f//_2[0-9]*./_T.}=$(frames_of "$f")"; done | paste -sd' ')" "$want"
done <<'LIST'
-b packets:400|r_00001_T.pcapng=400 r_00002_T.pcapng=400 r_00003_T.pcapng=246
--ring-buffer packets:400|r_00001_T.pcapng=400 r_00002_T.pcapng=400 r_00003_T.pcapng=246
-b packets:300 -b files:2|r_00003_T.pcapng=300 r_00004_T.pcapng=146
-b files:2 -a filesize:400|r_00002_T.pcapng=436 r_00003_T.pcapng=71
-b duration:1|r_00001_T.pcapng=1 r_00002_T.pcapng=197 r_00003_T.pcapng=815 r_00004_T.pcapng=33
-G 1 -W 2|r.pcapng=1 r.pcapng1=197
-G 1|r.pcapng=1 r.pcapng1=197 r.pcapng2=815 r.pcapng3=33
LIST
(cd "$tmp/f" && rm -f -- * && TZ=UTC "$RDMADUMP" -r "$in" -q -w '%H%M%S' -G 1 2>"$tmp/log")
is "-G: strftime names tell the frames' time" "$(cd "$tmp/f" && echo *)" "234739 234743 234744 234745"
(cd "$tmp/f" && rm -f -- * && "$RDMADUMP" -r "$in" -q -w i -b interval:2 2>"$tmp/log"
	for f in *; do look "$f" | awk '{print int($2 / 2e9)}' | sort -u | wc -l; done) >"$tmp/slices"
is "-b interval:2: files begin at multiples" "$(sort -u "$tmp/slices")" 1
for form in -z --postrotate-command; do
	rm -f "$tmp"/f/* "$tmp/ran"
	# shellcheck disable=SC2016 # $1 is the script's
	printf '#!/bin/sh\necho "$1" >>"%s"\n' "$tmp/ran" >"$tmp/command" && chmod +x "$tmp/command"
	"$RDMADUMP" -r "$in" -q -w "$tmp/f/z" -C 300k $form "$tmp/command" 2>"$tmp/log"
	is "$form" "$(sort "$tmp/ran")" "$(ls "$tmp"/f/z*)"
done

# turned FUNCTION CONDITION...: of a running capture, which ends once the condition is true
turned() {
	rm -f "$tmp/pid" "$tmp"/f/*
	model --gen count=100000000,size=200,seed=3 --rate 20000 --pidfile "$tmp/pid" -- \
		"$RDMADUMP" --json --when-full wait -w "$tmp/f/t" >"$tmp/said" 2>"$tmp/log" &
	local pid=$!
	wait_for larger "$tmp/f/t" 100000
	"$1"
	wait_for "${@:2}"
	kill -INT "$(<"$tmp/pid")"
	wait $pid
}
# shellcheck disable=SC2317 # called by turned
usr2() { kill -USR2 "$(<"$tmp/pid")"; }
# shellcheck disable=SC2317
usr1() { kill -USR1 "$(<"$tmp/pid")"; }
turned usr2 larger "$tmp/f/t1" 20000
is "SIGUSR2: a second file" "$(cd "$tmp/f" && echo *)" "t t1"
is "SIGUSR2: no frame is lost" $(($(frames_of "$tmp/f/t") + $(frames_of "$tmp/f/t1"))) "$(jq .frames.delivered "$tmp/said")"
turned usr1 grep -q 'frames .* lost' "$tmp/log"
has "SIGUSR1: the progress line" "$tmp/log" 'frames .* lost 0'

# --- sources ------------------------------------------------------------------------------

while IFS='|' read -r want args; do
	# shellcheck disable=SC2086
	live -q -w "$tmp/out.pcapng" $args
	is "$args: the interface" "$(ifname)" "$want"
	is "$args: its frames" "$(frames_of "$tmp/out.pcapng")" 300
done <<'LIST'
mlx5_1:1|-d mlx5_1
mlx5_1:1|--device=mlx5_1
mlx5_1:1|--ib-dev mlx5_1 --ib-port 1
mlx5_1:1|-i mlx5_1
mlx5_1:1|--interface=2
mlx5_1:1|-d mlx5_1 -i 1
LIST
# The model ends a run when the first device is done: count instead
model --dev 'name=mlx5_0,netdev=enp1s0f0np0,gen=count=500;size=200' \
	--dev 'name=mlx5_1,netdev=enp2s0np0,pci=0000:5e:00.0,gen=count=300;size=300' -- \
	"$RDMADUMP" -q -d mlx5_0 -d mlx5_1 -c 800 -w "$tmp/two.pcapng" 2>"$tmp/log"
is "two devices: an interface each with its frames" \
	"$(look "$tmp/two.pcapng" | cut -d' ' -f1,4 | sort | uniq -c | awk '{print $1, $2, $3}' | paste -sd,)" \
	"500 0 200,300 1 300"
is "two devices: statistics each" "$(capinfos "$tmp/two.pcapng" | grep -c 'Number of stat entries = 1')" 2
for form in -D --list-interfaces; do
	live $form
	has "$form" "$tmp/said" '^mlx5_1 .*enp2s0np0'
done
"$RDMADUMP" --read="$in" -q -w "$tmp/out.pcapng"
is "--read" "$(hash_of "$tmp/out.pcapng")" "$(hash_of "$in")"
"$RDMADUMP" -r - -q -w "$tmp/out.pcapng" <"$in"
is "-r -" "$(hash_of "$tmp/out.pcapng")" "$(hash_of "$in")"

# --- metadata of an input file is kept ----------------------------------------------------

editcap -F pcapng -a '5:the switch rebooted' "$tmp/two.pcapng" "$tmp/noted.pcapng"
plain=$in in=$tmp/noted.pcapng
offline
is "interfaces, comments, directions survive" "$(look "$tmp/out.pcapng")" "$(look "$in")"
is "the names of the interfaces too" "$(ifname)" "mlx5_0:1 mlx5_1:1"
in=$plain

# --- memory -------------------------------------------------------------------------------

live -d mlx5_0 -b 6 -w "$tmp/out.pcapng"
has "-b LOG2" "$tmp/log" ', 64 buffers'
live -d mlx5_0 --max-burst=7 -w "$tmp/out.pcapng"
has "--max-burst" "$tmp/log" ', 128 buffers'
live -d mlx5_0 --max-frame=8192 -w "$tmp/out.pcapng"
has "--max-frame" "$tmp/log" 'buffers of 8'
for form in '--buffer-size 1Mi' '-p 1Mi' '-p 1048576' '--writer-thread=1Mi' '--when-full wait' '--when-full=drop' '--rx-mode verbs' '--rx-mode=auto' -T; do
	# shellcheck disable=SC2086
	live -d mlx5_0 -q $form -w "$tmp/out.pcapng"
	is "$form: all frames" "$(frames_of "$tmp/out.pcapng")" 300
done
for mode in verbs auto; do
	SOFTHCA_PLAIN_CQS=1 live -d mlx5_0 --rx-mode $mode --debug -w "$tmp/out.pcapng"
	is "$mode, a provider without extended CQs: all frames" "$(frames_of "$tmp/out.pcapng")" 300
done
for form in '-M 1Mi' '--mem-mode=1Mi'; do
	# shellcheck disable=SC2086
	model --gen count=10000,size=1000 -- "$RDMADUMP" --json $form -w "$tmp/out.pcapng" >"$tmp/said" 2>"$tmp/log"
	is "$form ends when it is full" "$(jq -r .ended_by "$tmp/said")" memory
	n=$(frames_of "$tmp/out.pcapng")
	[ "$n" -gt 500 ] && [ "$n" = "$(jq -r .frames.written "$tmp/said")" ]
	ok "$form: what it held is in the file"
done

# --- messages -----------------------------------------------------------------------------

while IFS='|' read -r args pattern; do
	# shellcheck disable=SC2086
	offline -c 1 $args
	has "$args: the line" "$tmp/said" "$pattern"
done <<'LIST'
-v|^[0-9:.]{18} .*fe80::5054:ff:fe77:1 > ff02::2
--verbose|^[0-9:.]{18} .*fe80::5054:ff:fe77:1 > ff02::2
-v -t|^[^0-9]+fe80
-v -tt|^1795218459\.128880196
-v -ttt|^00:00:00\.000000000 
-v -ttttt|^00:00:00\.000000000 
--print|^[0-9:.]{18} .*fe80::5054:ff:fe77:1 > ff02::2
-V|^rdmadump [0-9]
-v -tttt|^2026-11-20 [0-9:.]{18}
-v -e|52:54:00:77:00:01 > 33:33:00:00:00:02
--json|"written": 1
--version|^rdmadump [0-9]
LIST
for form in -q --quiet --silent; do
	live -d mlx5_0 $form -w "$tmp/out.pcapng"
	is "$form" "$(cat "$tmp/log" "$tmp/said")" ""
done
live -d mlx5_0 -w "$tmp/out.pcapng" --debug
ok "--debug is taken" "$tmp/log"

# --- netdevs ------------------------------------------------------------------------------

ns=rdopt$$
# shellcheck disable=SC2317 # tap.sh calls it
cleanup() { ip netns del "$ns" 2>/dev/null; }
if ip netns add "$ns" 2>/dev/null && ip -n "$ns" link set lo up 2>/dev/null; then
	for args in '-i lo' '-i lo -B 1024' '-i lo --kernel-buffer=4Mi' '-i lo --no-promiscuous-mode' '-d lo --netdev'; do
		: >"$tmp/log"
		# shellcheck disable=SC2086
		ip netns exec "$ns" "$RDMADUMP" $args -U -c 1 -w "$tmp/out.pcapng" 'udp port 9' 2>"$tmp/log" &
		pid=$!
		wait_for grep -q 'capturing on' "$tmp/log"
		ip netns exec "$ns" bash -c 'echo hello >/dev/udp/127.0.0.1/9'
		wait $pid
		is "$args: a frame of the netdev" "$(frames_of "$tmp/out.pcapng")" 1
	done
else
	skip "netdevs" "$(lack ip "no right to make a network namespace")"
fi

# --- the manual page describes each option, and no other ----------------------------------

# Whole manual pages against the lists of the programs, hidden names included; "=" is behind what takes a value
# argp's own need a word in the first page only
names() { sort -u | if [ "$command" = capture ]; then cat; else grep -vxE -- '-\?|-h|--(help|usage)'; fi; }
"$RDMADUMP" explain --option-list | cut -f1 >"$tmp/known"
commands=$("$RDMADUMP" help | sed -n '/^Commands/,$s/^  \([a-z]*\) .*/\1/p')
holds "there are commands" [ "$(wc -w <<<"$commands")" -ge 13 ]
for command in $commands; do
	man=${srcdir:-.}/man/rdmadump-$command.1
	[ "$command" != capture ] || man=${srcdir:-.}/man/rdmadump.1
	"$RDMADUMP" "$command" --option-list | sed -E 's/^([^\t]*)\t[^-\t][^\t]*/\1=\t/' >"$tmp/list"
	awk -F'\t' '$3 == "shown" {print $1}' "$tmp/list" | names >"$tmp/shown"
	cut -f1 "$tmp/list" | tee -a "$tmp/known" | names >"$tmp/all"
	sed -n '/^\.Sh OPTIONS/,/^\.Sh [A-NP-Z]/p; /^\.Sh DESCRIPTION/,/^\.Sh [A-CE-Z]/p' "$man" | sed -n 's/^\.It Fl /Fl /p' |
		sed -E '/ (Ar|Cm) /s/Fl (Fl [a-z][a-z_-]+|[A-Za-z?])/&=/g' | grep -oE 'Fl (Fl [a-z][a-z_-]+|[A-Za-z?])=?' |
		sed 's/Fl Fl /--/; s/Fl /-/; s/^--diff=/--diff/' | names >"$tmp/man"
	is "$command: options that the manual page lacks" "$(comm -23 "$tmp/shown" "$tmp/man" | paste -sd' ')" ""
	is "$command: options that only the manual page has" "$(comm -13 "$tmp/all" "$tmp/man" | paste -sd' ')" ""
done
# In sentences, "\-\-NAME"; those of other programs are in commands of the examples.
is "options that the text of a manual page names, and no command has" \
	"$(sed '/^\.D[l1]/d; /^\.Bd/,/^\.Ed/d' "${srcdir:-.}"/man/*.1 | grep -oE '\\-\\-[a-z][a-z_\-]+[a-z]' | sed 's/\\//g' | sort -u | grep -vxFf <(tr -d = <"$tmp/known") | paste -sd' ')" ""

tap_done
