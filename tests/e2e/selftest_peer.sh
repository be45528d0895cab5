#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest --peer and --listen: two processes on two devices with a cable between them; peers that are none, or die.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 tar zstd capinfos
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "${srcdir:-.}/tests/e2e" && pwd)
cd "$tmp" || exit 1
"$RDMADUMP" --version | grep -q '^  libarchive' || skip_all "this build has no libarchive"
host=$(uname -n)
# Below the ports that the kernel gives to clients
next=$((12000 + $$ % 18000))
a_end="--dev name=mlx5_0,pci=0000:3b:00.0" b_end="--dev name=mlx5_1,pci=0000:5e:00.0,netdev=enp2s0,ip=10.77.0.9,mac=02:00:00:00:00:77"

# --- both ends -------------------------------------------------------------------------------

# NAME EXPECTED OPTION...: options of the model; EXPECTED: the keys that both ends find
cases() {
	cat <<-LIST
		kind - --cable yes
		received-never rc_received_not_seen,multicast_received_not_seen --cable unseen=1
		received-twice vlan_received_twice,raw_received_twice,rc_received_retransmitted,multicast_received_twice --cable twice=5
		tags-dropped vlan_sent_not_seen --cable yes --deliver vlan=dropped
		network-loses - --cable lost=23
		tags-stripped vlan_stripped_received,vlan_stripped_sent --cable yes --deliver vlan=stripped
		fcs fcs_present --cable yes --deliver fcs=yes
		sent-unseen vlan_sent_lost,raw_sent_lost,rc_sent_lost,multicast_sent_lost --cable yes --deliver unseen=5
		received-unseen rc_received_lost,multicast_received_lost --cable unseen=5
		icrc-added-later icrc_absent_sent --cable yes --deliver icrc=absent
		icrc-zero icrc_wrong_sent --cable yes --deliver icrc=zero
		sent-twice vlan_sent_twice,raw_sent_twice,multicast_sent_twice --cable yes --deliver twice=5
		rc-sent-twice vlan_sent_twice,raw_sent_twice,rc_sent_twice,multicast_sent_twice --cable yes --deliver twice=1
		sent-changed vlan_sent_changed,raw_sent_changed,rc_sent_changed,multicast_sent_changed,icrc_wrong_sent --cable yes --deliver changed=5
		received-changed vlan_received_changed,raw_received_changed,rc_received_changed,multicast_received_changed,icrc_wrong_received --cable changed=5
		tags-added headers_changed_received,headers_changed_sent --cable yes --deliver vlan=added
		cut icrc_absent_received,icrc_absent_sent,frames_cut --cable yes --deliver cut=4
	LIST
}
# start NAME OPTION...: both ends in the background; the files in $tmp/NAME
start() {
	local at=$tmp/$1 port=$((next++))
	shift
	mkdir "$at" "$at/a" "$at/b"
	cat >"$at/both" <<-END
		"$RDMADUMP" selftest --json --listen --control-port $port --output "$at/b" mlx5_1 >"$at/b.json" 2>"$at/b.log" &
		"$RDMADUMP" selftest --json --peer ${to:-127.0.0.1} --control-port $port --probe peer --output "$at/a" mlx5_0 >"$at/a.json" 2>"$at/a.log"
		echo \$? >"$at/a.status"
		wait \$!
		echo \$? >"$at/b.status"
	END
	# shellcheck disable=SC2086 # lists of options
	model --time virtual $a_end $b_end "$@" -- bash "$at/both" >"$at/log" 2>&1 </dev/null &
}
peer() { jq -r '.probes[] | select(.name == "peer") | '"$2" "$1"; } # FILE EXPRESSION

n=0
while read -r name expected options; do
	n=$((n + 1))
	[ -n "${TEST_FULL-}" ] || [ $((n % 4)) = 1 ] || continue
	# shellcheck disable=SC2086 # a list of options
	start "$name" $options
done < <(cases)
to=::1 start ipv6 --cable yes
wait
n=0
while read -r name expected options; do
	[ -d "$tmp/$name" ] || continue
	[ "$expected" = - ] && expected=
	for end in a b; do
		is "$name, $end: exit status" "$(cat "$tmp/$name/$end.status")" 0
		is "$name, $end: what is found" "$(peer "$tmp/$name/$end.json" '[.found[].key] | join(",")')" "$expected"
	done
done < <(cases)
# NAME KEY TEXT: what a finding of that case says
meanings() {
	cat <<-LIST
		sent-twice	vlan_sent_twice	frames with a VLAN tag, sent: 12 of 64 were seen more than once, and once by the other end's capture: captures have duplicates
		rc-sent-twice	rc_sent_twice	WRITEs of a reliable connection, sent: 64 of 64 were seen more than once, and once by the other end's capture: captures have duplicates
		sent-changed	raw_sent_changed	frames of a raw-packet QP, sent: 1[23] were seen with other bytes than were sent
		received-changed	multicast_received_changed	multicast datagrams, received: 1[23] were seen with other bytes than were sent
		tags-added	headers_changed_sent	sent frames have other headers than were sent
		tags-added	headers_changed_received	received frames have other headers than were sent
	LIST
}
while IFS=$'\t' read -r name key text; do
	[ -d "$tmp/$name" ] || continue
	jq -r '.probes[].found[] | [.key, .meaning] | @tsv' "$tmp/$name"/[ab].json >"$tmp/said"
	has "$name: what $key says" "$tmp/said" "^$key"$'\t'"$text$"
done < <(meanings)
for end in a b; do
	result=$tmp/kind/$end.json
	is "$end: complete" "$(peer "$result" '[.outcome, .value, .values.complete.value, .values.peer_watches_by.value] | @csv')" '"passed","8 of 12 rounds",true,"sniffer"'
	for kind in vlan raw rc multicast; do
		for way in sent received; do
			# On a busy machine a WRITE may be retransmitted, which both ends see.
			is "$end: $kind, $way: sent, seen by both" \
				"$(peer "$result" ".values.${kind}_$way.value | [.sent, .here.once + (if \"$kind\" == \"rc\" then .here.more else 0 end), .here.never, .peer.never, .changed] | @csv")" "64,64,0,0,0"
		done
	done
	is "$end: what arrived" "$(peer "$result" '.values | [.rc_sent.value.arrived, .multicast_received.value.arrived, .raw_sent.value.arrived] | @csv')" "64,64,"
	is "$end: headers of raw, tagged frames, ICRC behind a WRITE" \
		"$(peer "$result" '.values | [.raw_received.value.bytes_before, .vlan_received.value.bytes_before, .rc_received.value.bytes_after, .icrc_right_received.value >= 128, .icrc_wrong_received.value] | @csv')" "14,18,4,true,0"
	is "$end: the model has no netdev that could send" "$(peer "$result" '.values.udp_sent.value.error')" ENODEV
	tar -xf "$tmp/kind/$end/selftest-$host-mlx5_"*.tar.zst -C "$tmp/kind/$end"
	is "$end: frames in the archive" "$(capinfos -rcMT "$tmp/kind/$end"/*/peer.pcapng | cut -f2)" 64
done
is "what one end sent is what the other received" "$(peer "$tmp/kind/a.json" '.values.peer_device.value')" mlx5_1
is "the listener runs what leads to it" "$(jq -r '[.probes[].name] | join(" ")' "$tmp/kind/b.json")" "inventory capabilities objects peer"
has "the listener says where" "$tmp/kind/b.log" "waiting for the peer on TCP port [0-9]+, for 300 s at most"
if [ -d "$tmp/network-loses" ]; then
	is "the network's losses are named" "$(peer "$tmp/network-loses/b.json" '.values.multicast_received.value | .lost_on_the_way > 0 and .lost_on_the_way == .here.never')" true
fi
if [ -e /proc/net/if_inet6 ] && grep -q '^0\{31\}1 ' /proc/net/if_inet6; then
	is "IPv6" "$(peer "$tmp/ipv6/a.json" .value)" "8 of 12 rounds"
else
	skip "IPv6" "this machine has no ::1"
fi
fits schema selftest "$tmp/kind/a.json" "$tmp/kind/b.json"

# --- an end that is none, or dies --------------------------------------------------------------

# against BEHAVIOUR...: the end that connects, against such listeners, one after the other
against() {
	local first=$next
	for behaviour; do mkdir "$tmp/against.$behaviour"; done
	next=$((next + $#))
	cat >"$tmp/against.$1/run" <<-END
		port=$first
		for behaviour in $*; do
			at=$tmp/against.\$behaviour
			python3 "$here/peer_end.py" listen \$port \$behaviour >\$at/did 2>\$at/python &
			until [ -s \$at/did ]; do kill -0 \$! 2>/dev/null || break; sleep 0.02; done
			"$RDMADUMP" selftest --json --peer 127.0.0.1 --control-port \$port --probe peer --output \$at mlx5_0 >\$at/json 2>\$at/log
			echo \$? >\$at/status
			wait
			port=\$((port + 1))
		done
	END
	# shellcheck disable=SC2086 # a list of options
	model $a_end -- bash "$tmp/against.$1/run" >"$tmp/against.$1/out" 2>&1 </dev/null &
}
reasons() {
	cat <<-LIST
		garbage	skipped	the peer is not rdmadump selftest: another program uses the port
		version	skipped	the peer uses version 7 of the protocol, this program version 1: use the same version of rdmadump on both machines
		long	skipped	the peer sent a message that is malformed, or not what comes next
		group	skipped	the peer sent a message that is malformed, or not what comes next
		infiniband	skipped	this port is Ethernet, the peer's is InfiniBand: name ports that are connected
		refuses	skipped	nothing got from one end to the other: see the errors in result.json, and whether both ports are on one network
		dies=0	failed	after 0 rounds with a result: the peer closed the connection: see its messages
		dies=9	failed	after 0 rounds with a result: the peer closed the connection: see its messages
		again=2	failed	after 0 rounds with a result: the peer sent a message that is malformed, or not what comes next
		number=1	failed	after 0 rounds with a result: the peer sent a message that is malformed, or not what comes next
		mtu=1	failed	after 0 rounds with a result: the peer sent a message that is malformed, or not what comes next
	LIST
	[ -z "${TEST_FULL-}" ] || echo "silent=3	failed	after 0 rounds with a result: the peer did not respond for 10 s"
}
# shellcheck disable=SC2046 # lists of words
against $(reasons | cut -f1 | grep -v silent)
[ -z "${TEST_FULL-}" ] || against silent=3

# One listener, all kinds of strangers, then its peer
port=$((next++))
strangers="garbage version long short type order group nobody text endless gid nothing"
mkdir "$tmp/strangers"
cat >"$tmp/strangers/run" <<-END
	"$RDMADUMP" selftest --json --listen --control-port $port --probe peer --output "$tmp/strangers" mlx5_1 >"$tmp/strangers/json" 2>"$tmp/strangers/log" &
	for stranger in $strangers; do
		echo "\$stranger: " \$(python3 "$here/peer_end.py" connect $port \$stranger)
	done
	python3 "$here/peer_end.py" connect $port refuses
	wait
END
# shellcheck disable=SC2086 # a list of options
model $b_end -- bash "$tmp/strangers/run" >"$tmp/strangers/did" 2>&1 </dev/null &

# A thousand strangers, of which half stay connected, do not keep the peer away; it is served alone
port=$((next++)) port2=$((next++))
mkdir "$tmp/flood" "$tmp/two"
cat >"$tmp/flood/run" <<-END
	"$RDMADUMP" selftest --json --listen --control-port $port --probe peer --output "$tmp/flood" mlx5_1 >"$tmp/flood/json" 2>"$tmp/flood/log" &
	FLOODED=\$! python3 "$here/peer_end.py" connect $port flood
	wait
	"$RDMADUMP" selftest --json --listen --control-port $port2 --probe peer --output "$tmp/two" mlx5_1 >"$tmp/two/json" 2>"$tmp/two/log" &
	python3 "$here/peer_end.py" connect $port2 two >"$tmp/two/did"
	wait
END
# shellcheck disable=SC2086 # a list of options
model $b_end -- bash "$tmp/flood/run" >"$tmp/flood/did" 2>&1 </dev/null &

# A host that is not the peer; a port that is in use; nobody; no such host
port=$((next++)) closed=$((next++))
mkdir "$tmp/other"
cat >"$tmp/other/run" <<-END
	"$RDMADUMP" selftest --json --listen=127.0.0.1 --peer 127.0.0.2 --control-port $port --probe peer --output "$tmp/other" mlx5_1 >"$tmp/other/json" 2>"$tmp/other/log" &
	pid=\$!
	echo \$(python3 "$here/peer_end.py" connect $port refuses)
	(: </dev/tcp/127.0.0.3/$port) 2>/dev/null
	echo "elsewhere \$?"
	for at in 192.0.2.77 some.host; do "$RDMADUMP" selftest --json --listen=\$at --probe peer --output "$tmp/other" mlx5_0; done >"$tmp/other/address"
	"$RDMADUMP" selftest --json --listen --control-port $port --probe peer --output "$tmp/other" mlx5_0 >"$tmp/other/used"
	"$RDMADUMP" selftest --json --peer 127.0.0.1 --control-port $closed --probe peer --output "$tmp/other" mlx5_0 >"$tmp/other/nobody"
	"$RDMADUMP" selftest --json --peer no.such.host.invalid --probe peer --output "$tmp/other" mlx5_0 >"$tmp/other/nohost"
	kill -INT \$pid
	wait \$pid
	echo \$?
END
# shellcheck disable=SC2086 # lists of options
model $a_end $b_end -- bash "$tmp/other/run" >"$tmp/other/did" 2>&1 </dev/null &

# The other end is killed, or this one interrupted, in the middle
for signal in KILL INT; do
	port=$((next++))
	at=$tmp/middle.$signal
	mkdir "$at"
	cat >"$at/run" <<-END
		"$RDMADUMP" selftest --json --listen --control-port $port --probe peer --output "$at" mlx5_1 >"$at/b.json" 2>"$at/b.log" &
		b=\$!
		"$RDMADUMP" selftest --json --peer 127.0.0.1 --control-port $port --probe peer --output "$at" mlx5_0 >"$at/a.json" 2>"$at/a.log" &
		a=\$!
		sleep 1.5
		[ $signal = KILL ] && kill -KILL \$b || kill -INT \$a
		wait \$a; echo \$? >"$at/a.status"
		wait \$b; echo \$? >"$at/b.status"
	END
	# Each round waits for what is never seen.
	# shellcheck disable=SC2086 # lists of options
	model --time virtual $a_end $b_end --cable unseen=1 -- bash "$at/run" >"$at/out" 2>&1 </dev/null &
done
wait

while IFS=$'\t' read -r behaviour outcome reason; do
	at=$tmp/against.$behaviour
	is "a peer that is '$behaviour': exit status" "$(cat "$at/status")" 0
	is "a peer that is '$behaviour': outcome and reason" "$(peer "$at/json" '[.outcome, .reason] | join(": ")')" "$outcome: $reason"
done < <(reasons)
is "the rounds come in a fixed order" "$(grep -c ready "$tmp/against.refuses/did")" 12
for stranger in $strangers; do
	has "a stranger, '$stranger', is sent away" "$tmp/strangers/did" "^$stranger:  ?(hello )?closed"
done
is "strangers: each is reported" "$(grep -c 'a connection was refused' "$tmp/strangers/log")" 12
has "a stranger of another version reads this one's" "$tmp/strangers/did" '^version:  ?hello closed'
is "after them the peer is served" "$(tail -n 1 "$tmp/strangers/did") $(peer "$tmp/strangers/json" .outcome)" "bye skipped"
has "a flood of strangers: the peer is served" "$tmp/flood/did" '^hello$'
is "... to its end" "$(tail -n 1 "$tmp/flood/did") $(peer "$tmp/flood/json" .outcome)" "bye skipped"
is "... without a message for each" "$(($(grep -c 'refused' "$tmp/flood/log") <= 20))" 1
is "... nor a descriptor" "$(($(sed -n 's/^descriptors //p' "$tmp/flood/did") <= 100))" 1
is "a second peer at the same time" "$(grep ^second "$tmp/two/did") $(tail -n 1 "$tmp/two/did")" "second closed bye"
has "--listen --peer: another host is refused" "$tmp/other/log" 'a connection was refused: it is not from the host that --peer names'
has "... and gets nothing" "$tmp/other/did" '^closed'
has "--listen=ADDRESS: no other address accepts connections" "$tmp/other/did" '^elsewhere 1$'
has "... one of another machine" "$tmp/other/address" 'cannot listen on 192.0.2.77, TCP port 24095: Cannot assign requested address: give an address of this machine'
has "... a name" "$tmp/other/address" "--listen='some.host': .*: give an IP address"
has "SIGINT ends listening" "$tmp/other/did" '^4$'
is "... in order" "$(jq -r '[.ended, .probes[0].reason] | join(": ")' "$tmp/other/json")" "interrupted: interrupted before it was complete"
has "a port in use" "$tmp/other/used" 'cannot listen on TCP port [0-9]+: Address already in use: --control-port names another one'
has "nobody listens" "$tmp/other/nobody" "cannot connect to 127.0.0.1, TCP port [0-9]+: Connection refused: start 'rdmadump selftest --listen DEV' there first"
has "no such host" "$tmp/other/nohost" "\"reason\": \"--peer 'no.such.host.invalid': "
is "the peer is killed: exit status" "$(cat "$tmp/middle.KILL/a.status")" 0
is "the peer is killed: outcome" "$(peer "$tmp/middle.KILL/a.json" .outcome)" failed
has "... and the reason" "$tmp/middle.KILL/a.json" 'after [0-9]+ rounds? with a result: the (peer closed the connection|connection to the peer broke)'
is "... and the results so far" "$(peer "$tmp/middle.KILL/a.json" '.values | has("udp_sent")')" true
is "this end is interrupted" "$(cat "$tmp/middle.INT/a.status") $(jq -r .ended "$tmp/middle.INT/a.json")" "4 interrupted"
has "... and the other one says so" "$tmp/middle.INT/b.json" 'the (peer closed the connection|connection to the peer broke)'
is "... and ends" "$(cat "$tmp/middle.INT/b.status")" 0

# --- options -----------------------------------------------------------------------------------

for options in "--control-port 0 --listen" "--control-port 65536 --listen" "--control-port x --listen" "--control-port 1"; do
	# shellcheck disable=SC2086 # a list of options
	"$RDMADUMP" selftest $options >"$tmp/log" 2>&1
	is "'$options' is refused" $? 1
	has "... and says what is wrong" "$tmp/log" '--control-port'
done
# shellcheck disable=SC2086 # a list of options
model $a_end -- "$RDMADUMP" selftest --dry-run --listen mlx5_0 >"$tmp/plan" 2>&1
is "--dry-run: what the listener runs" "$(grep -oE '^[a-z]+ +[0-9]+ s' "$tmp/plan" | tr -s ' ' | paste -sd,)" "inventory 20 s,capabilities 20 s,objects 20 s,peer 360 s"

tap_done
