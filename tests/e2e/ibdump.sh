#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program under the name of ibdump: each of its options by letter and by name, judged by the
# file that it writes.
. "${srcdir:-.}/tests/tap.sh"
need_tool capinfos tcpdump tshark python3 zstd jq

mkdir "$tmp/bin" "$tmp/run"
ln -s "$(command -v "$RDMADUMP")" "$tmp/bin/ibdump"
out=$tmp/run/out.pcap
mac=0c:42:a1:00:00:01
eth=(--dev "name=mlx5_0,netdev=enp1s0f0np0,mac=$mac")
ib=(--dev "name=mlx5_0,link=ib,ib_sniffer=1")
gen=count=2000,size=60-1400,qps=4,acks=1,seed=11
frames=(--gen "$gen" --at-end sigint)
want=$("$SOFTHCA_FRAMES" "$gen")
want_ib=$("$SOFTHCA_FRAMES" --ib "$gen")
"$SOFTHCA_FRAMES" --write "$tmp/gen.pcap" "$gen" >/dev/null

# run MODEL ARGUMENTS... -- IBDUMP ARGUMENTS...: status, standard output in $tmp/out, what it says in
# $tmp/log
run() {
	apart "$@"
	rm -rf "$tmp/run" "$tmp/stats" && mkdir "$tmp/run"
	(cd "$tmp/run" && model --stats "$tmp/stats" "${ahead[@]}" -- "$tmp/bin/ibdump" "${rest[@]}") >"$tmp/out" 2>"$tmp/log"
	status=$?
}
# on_eth, on_ib IBDUMP ARGUMENTS...
model "${eth[@]}" "${frames[@]}" --keep "$tmp/eth" -- true
on_eth() {
	rm -rf "$tmp/run" && mkdir "$tmp/run"
	(cd "$tmp/run" && on_tree "$tmp/eth" "$tmp/bin/ibdump" "$@") >"$tmp/out" 2>"$tmp/log"
	status=$?
}
on_ib() { run "${ib[@]}" "${frames[@]}" -- "$@"; }
# What capinfos prints for the file's KEY
about() { capinfos "$1" | sed -n "s/^ *$2 *[:=] *//p" | head -n 1; }
# whole NAME: all frames are in $out
whole() { is "$1" "$status $(hash_of "$out")" "0 $want"; }
refused() { # NAME PATTERN
	is "$1: exit status" "$status" 1
	has "$1: message" "$tmp/log" "$2"
}

# --- defaults -----------------------------------------------------------------------------

on_eth
is "no option: all frames in sniffer.pcap" "$status $(hash_of "$tmp/run/sniffer.pcap")" "0 $want"
is "... classic pcap" "$(about "$tmp/run/sniffer.pcap" 'File type')" "Wireshark/tcpdump/... - pcap"
is "... microseconds" "$(about "$tmp/run/sniffer.pcap" 'Time precision')" "microseconds (6)"
is "... Ethernet" "$(about "$tmp/run/sniffer.pcap" Encapsulation)" "Ethernet (1 - ether)"
has "... 2^12 buffers" "$tmp/log" ', 4096 buffers of'
is "... the line that scripts wait for, once, as ibdump has it" "$(grep -cxF 'Ready to capture (Press ^c to stop)' "$tmp/log")" 1
is "... the end line" "$(grep -E ^Captured "$tmp/log")" \
	"$(awk '{print "Captured: " $1 " packets, " $2 " bytes"}' <<<"$want")"
on_ib
is "InfiniBand: all frames" "$status $(hash_of "$tmp/run/sniffer.pcap")" "0 $want_ib"
is "... in ERF" "$(about "$tmp/run/sniffer.pcap" 'File encapsulation')" "Extensible Record Format"
is "... of the type InfiniBand" \
	"$(tshark -r "$tmp/run/sniffer.pcap" -T fields -e erf.types.type 2>/dev/null | sort -u)" 21
is "... the end line" "$(grep -E ^Captured "$tmp/log")" \
	"$(awk '{print "Captured: " $1 " packets, " $2 " bytes"}' <<<"$want_ib")"
model "${eth[@]}" "${frames[@]}" -- "$RDMADUMP" --ibdump -w "$out" 2>"$tmp/log"
status=$?
whole "--ibdump as the first word"
is "... writes what the name ibdump writes" "$(about "$out" 'Time precision')" "microseconds (6)"
run --dev name=mlx5_0,link=ib --dev name=mlx5_1,netdev=enp2s0np0 "${frames[@]}" -- -w out.pcap
whole "no device named: the first that can be captured"

if [ "$(id -u)" = 0 ]; then
	gateway=(--time virtual --dev "link=ib,lid=1,gateway=yes" --gen "count=200,size=300" --at-end sigint)
	run "${gateway[@]}" -- -d mlx5_0 -w out.pcap
	is "InfiniBand without a sniffer of verbs: the firmware's, as ibdump has it" "$status $(hash_of "$out")" "0 $("$SOFTHCA_FRAMES" --ib count=200,size=300)"
	run "${gateway[@]}" -- -w out.pcap
	is "... not if no device is named" "$status" 1
else
	skip "InfiniBand without a sniffer of verbs" "needs root"
fi

# --- device and file ----------------------------------------------------------------------

for o in "-d mlx5_1" "-d enp2s0np0" "--ib-dev mlx5_1" "--ib-dev=mlx5_1"; do
	# shellcheck disable=SC2086 # words of a command line
	run --dev name=mlx5_0,gen=count=7 --dev "name=mlx5_1,netdev=enp2s0np0,gen=${gen//,/;}" \
		--at-end sigint -- $o -w out.pcap
	whole "$o"
done
for o in "" "-i 1" "-i 2" "--ib-port 2"; do
	# shellcheck disable=SC2086
	run --time virtual --dev name=mlx5_0,ports=2,link=eth+ib,ib_sniffer=1 "${frames[@]}" -- -d mlx5_0 $o -w out.pcap
	case $o in *2) link=$want_ib ;; *) link=$want ;; esac
	is "-d mlx5_0 $o" "$status $(hash_of "$out")" "0 $link"
done
for i in 0 -1 255 1x; do
	on_eth -i $i
	refused "-i $i" "^-E- -i: '$i' is not a whole number from 1 to 254"
done
on_eth -i 2
refused "-i 2 of one port" '^-E- .*port 2'
for o in "-w out.pcap" "--write out.pcap" "-o out.pcap" "--output=out.pcap" "-w out.pcap.gz"; do
	# shellcheck disable=SC2086
	on_eth $o
	[ "$o" != "-w out.pcap.gz" ] || mv "$out.gz" "$out"
	whole "$o"
done
on_eth -w -
is "-w -: all frames on standard output" "$status $(hash_of "$tmp/out")" "0 $want"
is "-w -: without a word" "$(<"$tmp/log")" ""
for o in -s --silent; do
	on_eth $o -w out.pcap
	whole "$o"
	is "$o: without a word" "$(<"$tmp/log")" ""
done

# --- memory -------------------------------------------------------------------------------

for o in "-b 4" "--max-burst 4"; do
	# shellcheck disable=SC2086
	on_eth $o -w out.pcap
	whole "$o"
	has "$o: 16 buffers" "$tmp/log" ', 16 buffers of'
done
for i in 0 21 x; do
	on_eth -b $i
	refused "-b $i" "^-E- -b: '$i'"
done
for o in "-M 64Mi" "--mem-mode 64000000"; do
	# shellcheck disable=SC2086
	on_eth $o -w out.pcap
	whole "$o"
done
for o in "-M 400000" "--mem-mode=400k"; do
	# shellcheck disable=SC2086
	on_eth $o -w out.pcap
	n=$(hash_of "$out" | awk '{print $1}')
	[ "$status" = 0 ] && [ "$n" -gt 100 ] && [ "$n" -lt 2000 ] && [ "$(stat -c %s "$out")" -le 420000 ]
	ok "$o: ends when so much is full" "$tmp/log"
	is "$o: holds the first $n frames" "$(hash_of "$out" --first "$n")" "$(hash_of "$tmp/gen.pcap" --first "$n")"
	has "$o: says so" "$tmp/log" '^Buffer full'
done
# In memory until the end: the file has no frames while it runs
rm -f "$tmp/pid" "$out"
model "${eth[@]}" --gen count=100000 --rate 2000 --pidfile "$tmp/pid" --keep "$tmp/tree" -- "$tmp/bin/ibdump" -s -M 64Mi -w "$out" 2>"$tmp/log" &
model=$!
received() { [ "$(cat "$tmp"/tree/sys/class/infiniband/*/ports/1/counters/port_rcv_packets | sort -n | tail -n 1)" -gt 1000 ]; }
wait_for received
holds "-M: nothing is written while it captures" [ "$(stat -c %s "$out")" -le 24 ]
kill -INT "$(<"$tmp/pid")"
wait $model
[ "$(hash_of "$out" | awk '{print $1}')" -gt 500 ]
ok "-M: all of it is written at the end" "$tmp/log"
for o in "-p 2000000" "--writer-thread 1Mi"; do
	# shellcheck disable=SC2086
	on_eth $o -w out.pcap
	whole "$o"
done
on_eth -M 1000000 -p 1000000
refused "-M with -p" '^-E- -M .*-p '
on_eth -p 9z
refused "-p 9z" "^-E- -p: '9z'"
for o in -T --conti; do
	on_eth $o -w out.pcap
	whole "$o"
done
on_eth -T -q 1 -w out.pcap
[ "$status" = 0 ] && [ "$(hash_of "$out" | awk '{print $1}')" = 0 ]
ok "-T leaves -q alone"
jumbo=count=500,size=12000,seed=3
for o in -j --jumbo-mtu; do
	run "${eth[@]}" --gen $jumbo --at-end sigint -- $o -w out.pcap
	is "$o: frames of 12000 bytes" "$status $(hash_of "$out")" "0 $("$SOFTHCA_FRAMES" $jumbo)"
	has "$o: 16 KiB buffers" "$tmp/log" 'buffers of 16\.[0-9] KiB'
done

# --- which frames -------------------------------------------------------------------------

for o in "-I tx|" "--direction tx|" "-I rx|not " "--direction=rx|not "; do
	tcpdump -r "$tmp/gen.pcap" -w "$tmp/want.pcap" "${o#*|}ether src $mac" 2>/dev/null
	# shellcheck disable=SC2086
	on_eth ${o%|*} -w out.pcap
	is "${o%|*}" "$status $(hash_of "$out")" "0 $(hash_of "$tmp/want.pcap")"
	is "${o%|*}: the end line" "$(grep -E ^Captured "$tmp/log")" \
		"$(hash_of "$tmp/want.pcap" | awk '{print "Captured: " $1 " packets, " $2 " bytes"}')"
done
on_eth -I up
refused "-I up" "^-E- -I: .*'up'"
zstd -dqf -o "$tmp/ud.pcap" "$TEST_DATA/roce/06_ud_pingpong/a.pcap.zst"
# frame number, QP of the sender
tshark -r "$tmp/ud.pcap" -Y infiniband.deth -T fields -e frame.number -e infiniband.deth.srcqp 2>/dev/null >"$tmp/senders"
mapfile -t qps < <(cut -f2 "$tmp/senders" | grep -v '^0x0*1$' | sort | uniq -c | sort -rn | awk '{print $2}' | head -n 2)
is "two QPs send datagrams" "${#qps[@]}" 2
for o in "-q ${qps[0]}" "-q ${qps[1]},${qps[0]}" "--src_qp ${qps[0]},${qps[1]}" "--src_qp=9,10,${qps[1]}"; do
	list=${o##*[ =]}
	mapfile -t numbers < <(awk -v list=",$list," 'index(list, "," $2 ",") {print $1}' "$tmp/senders")
	editcap -F nsecpcap -r "$tmp/ud.pcap" "$tmp/want.pcap" "${numbers[@]}"
	# shellcheck disable=SC2086
	run "${eth[@]}" --pcap "$tmp/ud.pcap" --at-end sigint -- $o -w out.pcap
	is "$o: all of the list" "$status $(hash_of "$out")" "0 $(hash_of "$tmp/want.pcap")"
done
on_eth -q 1,x
refused "-q 1,x" "^-E- .*'x'"

# --- mirrored InfiniBand, ERF -------------------------------------------------------------

"$SOFTHCA_FRAMES" --ib --write "$tmp/ib.pcap" count=300,size=100-900,seed=4 >"$tmp/inner"
python3 "$srcdir/tests/e2e/captures.py" mirrored "$tmp/ib.pcap" "$tmp/mirrored.pcap"
for o in -E --decap; do
	run "${ib[@]}" --pcap "$tmp/mirrored.pcap" --at-end sigint -- $o -w out.pcap
	is "$o: the inner frames" "$status $(hash_of "$out")" "0 $(<"$tmp/inner")"
done
run "${ib[@]}" --pcap "$tmp/mirrored.pcap" --at-end sigint -- -w out.pcap
is "without -E: the outer ones" "$status $(hash_of "$out")" "0 $(hash_of "$tmp/mirrored.pcap")"
on_ib -E -w out.pcap
is "-E leaves other frames alone" "$status $(hash_of "$out")" "0 $want_ib"

on_eth --erf 0 -w out.pcap
whole "--erf 0 on Ethernet"
is "... no ERF" "$(about "$out" 'File encapsulation')" Ethernet
on_eth --erf=1 -w out.pcap
is "--erf 1 on Ethernet: ERF" "$status $(about "$out" 'File encapsulation')" "0 Extensible Record Format"
is "... microseconds" "$(od -An -tx4 -N4 "$out")" " a1b2c3d4"
is "... the end line" "$(grep -E ^Captured "$tmp/log")" \
	"$(awk '{print "Captured: " $1 " packets, " $2 " bytes"}' <<<"$want")"
"$RDMADUMP" -q -r "$out" -w "$tmp/unwrapped.pcap" 2>"$tmp/log"
is "... all frames" "$(hash_of "$tmp/unwrapped.pcap")" "$want"
tshark -r "$out" -T fields -e infiniband.bth.opcode -e infiniband.bth.psn -e erf.types.type 2>/dev/null >"$tmp/erf"
is "... of the type Ethernet" "$(cut -f3 "$tmp/erf" | sort -u)" 2
tshark -r "$tmp/gen.pcap" -T fields -e infiniband.bth.opcode -e infiniband.bth.psn 2>/dev/null | cmp - <(cut -f1,2 "$tmp/erf")
ok "... tshark takes them apart as without ERF"
on_ib --erf 1 -w out.pcap
is "--erf 1 on InfiniBand" "$status $(hash_of "$out")" "0 $want_ib"
on_ib --erf 0 -w out.pcap
refused "--erf 0 on InfiniBand" '^-E- --erf 0: '
is "... no file is begun" "$(ls "$tmp/run")" ""
is "... nothing is left on the device" "$(jq '[.leaked[]] | add' "$tmp/stats")" 0
on_eth --erf 2
refused "--erf 2" "^-E- --erf: '2'"

# --- the rest -----------------------------------------------------------------------------

for o in "-m /dev/mst/mt4119" "--mst-dev /dev/mst/mt4119"; do
	# shellcheck disable=SC2086
	on_eth $o -w out.pcap
	whole "$o"
	has "$o: a word on it" "$tmp/log" '-m /dev/mst/mt4119 is ignored'
done
on_eth --a0-mode
refused "--a0-mode" '^-E- --a0-mode: .*registers'
for o in -h --help; do
	on_eth $o
	[ "$status" = 0 ] && [ ! -s "$tmp/log" ] && [ "$(grep -cE '^  (-., |    )--' "$tmp/out")" = 18 ]
	ok "$o: every option on standard output" "$tmp/out"
done
for o in -v --version; do
	on_eth $o
	[ "$status" = 0 ] && grep -qE '^rdmadump [0-9.]+ ' "$tmp/out"
	ok "$o" "$tmp/out"
done
for o in "-C 5" -L -x --nonsense word; do
	# shellcheck disable=SC2086
	on_eth $o
	refused "$o" '^Usage: ibdump'
	is "$o: captures nothing" "$(ls "$tmp/run")" ""
done
on_eth -d nobody
refused "a device that is not there" "^-E- .*'nobody'"
on_eth -w /nonexistent/x
refused "a file that cannot be" "^-E- .*/nonexistent/x"
run "${eth[@]}" --gen $gen --fault fatal,frame=1000 -- -w out.pcap
refused "a device that fails" '^-E- '
is "... the frames before are in the file" "$(hash_of "$out" --first 900)" "$(hash_of "$tmp/gen.pcap" --first 900)"
run "${eth[@]}" --gen count=50000,size=100,seed=1 --mode drop --at-end sigint -- -b 1 -w out.pcap
lost=$(sed -n 's/^-W- \([0-9]*\) packets were lost by the device/\1/p' "$tmp/log")
is "what the device lost is reported" "$(($(hash_of "$out" | awk '{print $1}') + ${lost:-0}))" 50000

# Under sudo the file is opened as the caller, and ibdump has no -Z that would change that
if [ "$(id -u)" = 0 ]; then
	chmod 711 "$tmp"
	# shellcheck disable=SC2031
	SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) SUDO_USER=nobody on_eth -w out.pcap
	refused "sudo, a directory of root" "^-E- .*Permission denied; .*files are opened as user 'nobody'$"
	is "... no advice that ibdump has no option for" "$(grep -c -- '-Z' "$tmp/log")" 0
	has "... what to do" "$tmp/log" "choose a file and directory that this user may write to"
else
	skip "sudo, a directory of root" "needs root"
fi

tap_done
