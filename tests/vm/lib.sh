# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# What scripts inside a test machine share; /init has sourced it, a script does `. /lib.sh`.
# A fork takes 0.1 s under emulation: the compiled program `guest` waits and counts.
#
#   SIDE  a, b, of five also c, d; r: the router of three or five; with one machine a
#   N     number of machines
#   HOSTS of these those that are not the router
#   DEV NETDEV SELF PEER SELF6 PEER6   this end's rxe device, its netdev and addresses; of five machines
#         nobody is the peer
# With one machine both ends are in it: DEV_B, NETDEV_B are the other end's, at address PEER.

wait_seconds=${wait_seconds:-90}

number() { echo $(($(printf %d "'$1") - 96)); } # of a host: 1 for a
# address SIDE: of one of several hosts, each of which has a network of its own
address() { echo "10.77.$(number "$1").$(number "$1")"; }

set_addresses() {
	DEV=rxe0 HOSTS="a b"
	[ "$N" != 1 ] || HOSTS=a
	[ "$N" != 5 ] || HOSTS="a b c d"
	case $N$SIDE in
	1a) NETDEV=va NETDEV_B=vb DEV=rxe_a DEV_B=rxe_b SELF=10.77.0.1 PEER=10.77.0.2 ;;
	2a) NETDEV=eth0 SELF=10.77.0.1 PEER=10.77.0.2 SELF6=fd77::1 PEER6=fd77::2 ;;
	2b) NETDEV=eth0 SELF=10.77.0.2 PEER=10.77.0.1 SELF6=fd77::2 PEER6=fd77::1 ;;
	3a) NETDEV=eth0 SELF=$(address a) PEER=$(address b) ;;
	3b) NETDEV=eth0 SELF=$(address b) PEER=$(address a) ;;
	5[a-d]) NETDEV=eth0 SELF=$(address "$SIDE") ;;
	?r) NETDEV=eth0 NETDEV_B=eth1 DEV= ;;
	esac
	export DEV DEV_B NETDEV NETDEV_B SELF PEER SELF6 PEER6
}
set_addresses

# Two ends in one network: routing by outgoing interface prevents local delivery by the kernel.
set_up_one() {
	modprobe veth
	ip link add va type veth peer name vb
	for i in va vb; do
		sysctl -qw net.ipv4.conf.$i.accept_local=1 net.ipv4.conf.$i.rp_filter=0 \
			net.ipv4.conf.$i.arp_ignore=1 net.ipv6.conf.$i.disable_ipv6=1
		ip link set $i up
	done
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	ip addr add 10.77.0.1/24 dev va
	ip addr add 10.77.0.2/24 dev vb
	ip rule add pref 100 lookup local
	ip rule add pref 10 oif va lookup 10
	ip rule add pref 11 oif vb lookup 11
	ip rule del pref 0
	ip route add 10.77.0.0/24 dev va src 10.77.0.1 table 10
	ip route add 10.77.0.0/24 dev vb src 10.77.0.2 table 11
	rdma link add rxe_a type rxe netdev va
	rdma link add rxe_b type rxe netdev vb
}

set_up_network() {
	ip link set lo up
	case $N$SIDE in
	1a) set_up_one ;;
	2?)
		# Without duplicate address detection: the addresses are chosen to be unique.
		sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.eth0.accept_dad=0 \
			net.ipv6.conf.eth0.router_solicitations=0
		ip link set eth0 up
		ip addr add "$SELF/24" dev eth0
		ip addr add "$SELF6/64" dev eth0
		rdma link add rxe0 type rxe netdev eth0
		;;
	?r)
		sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0
		port=0
		for i in $HOSTS; do
			sysctl -qw net.ipv6.conf.eth$port.disable_ipv6=1
			ip addr add "10.77.$((port + 1)).9/24" dev eth$port
			ip link set eth$port up
			port=$((port + 1))
		done
		;;
	[35]?)
		sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
		ip link set eth0 up
		ip addr add "$SELF/24" dev eth0
		ip route add default via "${SELF%.*}.9"
		rdma link add rxe0 type rxe netdev eth0
		;;
	esac
}

# barrier NAME: waits until every machine has reached it; the script ends if one does not
barrier() {
	[ "$N" = 1 ] && return 0
	: >"$SHARE/barrier.$1.$SIDE"
	reached=$SHARE/barrier.$1
	set --
	for machine in $HOSTS $([ "$N" = 2 ] || echo r); do
		set -- "$@" "$reached.$machine"
	done
	guest wait "$wait_seconds" "$@" || exit 97
}

# --- scenarios ---------------------------------------------------------------------------------
# begin NAME KIND, commands, finish: both ends capture with rdmadump and with tcpdump, and all captures
# and counters are stored in $SHARE/NAME. KIND says what is checked: `arrives=SIDES`: all captured frames
# were sent by rxe or passed to it; `accepts=SIDES`: rxe also accepted them all (not those for a QP in
# error, or for one whose program has ended); `ends=same` or `ends=apart`: whether both ends capture the
# same number of frames; `drops=SIDES`: rdmadump must have lost frames, and report how many.

name=. step=0 failures=0

# remember FILE: saves the counters; with VM_RECORD=1 also other state of the kernel
remember() {
	guest counters "$1"
	[ "${VM_RECORD-}" = 1 ] || return 0
	{
		echo "# rdma statistic show"
		rdma statistic show
		echo "# rdma resource show"
		rdma resource show
		echo "# ip -s link"
		ip -s link show dev "$NETDEV"
		echo "# tc -s qdisc"
		tc -s qdisc show dev "$NETDEV"
		echo "# snmp"
		grep -E '^(Ip|Udp):' /proc/net/snmp
	} >>"$1" 2>&1
}

begin() {
	name=$1
	failures=0 step=0
	dir=/tmp/$name
	log=$dir/log
	mkdir -p "$dir" "$SHARE/$name"
	: >"$log"
	echo "$2" >"$SHARE/$name/kind"
	if [ -n "$DEV" ]; then
		# Immediate mode: else tcpdump leaves frames in a block of its ring at its end.
		tcpdump -i "$NETDEV" -w "$dir/tcpdump.pcap" --time-stamp-precision=nano -B 32768 \
			-s 9216 --immediate-mode -Z root 2>"$dir/tcpdump.log" &
		tcpdump_pid=$!
		# shellcheck disable=SC2086 # options
		rdmadump -d "$DEV" ${capture_options-} -w "$dir/rdmadump.pcapng" --json >"$dir/report.json" \
			2>"$dir/rdmadump.log" &
		rdmadump_pid=$!
		guest text 120 "$dir/tcpdump.log" "listening on"
		guest text 120 "$dir/rdmadump.log" "capturing on"
		remember "$dir/before"
	fi
	barrier "$name.begin"
	exec 3>&1 >>"$log" 2>&1
}

# At its end tcpdump does not read what is left in its ring: waits until it has as many as the kernel counted
caught_up() {
	# "tcpdump: 7 packets captured, 7 packets received by filter, ..."
	# shellcheck disable=SC2016 # the inner shell's
	guest until 60 sh -c 'kill -USR1 "$0" || exit 0
		set -- $(tail -n 1 "$1")
		[ "${4-}" = captured, ] && [ "$2" = "$5" ]' "$tcpdump_pid" "$dir/tcpdump.log"
}

finish() {
	exec >&3 2>&1 3>&-
	barrier "$name.end"
	guest quiet 60
	barrier "$name.quiet"
	if [ -n "$DEV" ]; then
		remember "$dir/after"
		caught_up
		kill -TERM "$tcpdump_pid" "$rdmadump_pid"
		wait "$tcpdump_pid"
		wait "$rdmadump_pid"
		echo $? >"$dir/exit"
	fi
	echo "$failures" >"$dir/failures"
	for f in "$dir"/*; do
		set -- "$@" "$f"
	done
	# Names like a.log: one directory holds both ends.
	for f in "$@"; do
		mv "$f" "$SHARE/$name/$SIDE.${f##*/}"
	done
	echo "$name: done, $failures failures"
}

# run COMMAND...: runs it, and prints the command and its status
run() {
	echo "[$(cut -d' ' -f1 /proc/uptime)] $SIDE\$ $*"
	"$@"
	status=$?
	echo "rc=$status"
	[ "$status" = 0 ] || failures=$((failures + 1))
	return $status
}

# pair PORT SERVER CLIENT: the one at a, the other at b once a listens on the TCP port; "cm": on any
# port of the RDMA CM
pair() {
	step=$((step + 1))
	ready=$SHARE/$name/listens.$step
	if [ "$SIDE" = a ]; then
		# shellcheck disable=SC2086 # a command line
		run timeout 240 $2 &
		server_pid=$!
		if [ "$1" = cm ]; then
			looks=0
			until rdma resource show cm_id | grep -q LISTEN || [ "$looks" -ge 300 ]; do
				looks=$((looks + 1))
			done
		else
			guest listen 30 "$1"
		fi
		: >"$ready"
		wait "$server_pid" || failures=$((failures + 1))
	elif [ "$SIDE" = b ]; then
		guest wait 180 "$ready"
		# shellcheck disable=SC2086 # a command line
		run timeout 240 $3
	fi
}

# both ARGUMENTS-OF-A -- ARGUMENTS-OF-B: of `traffic`
both() {
	step=$((step + 1))
	mine=
	case $SIDE in
	a) for word in "$@"; do
		[ "$word" = -- ] && break
		mine="$mine $word"
	done ;;
	b) passed=
		for word in "$@"; do
			[ -z "$passed" ] || mine="$mine $word"
			[ "$word" = -- ] && passed=1
		done ;;
	*) return 0 ;;
	esac
	# shellcheck disable=SC2086 # a command line
	run timeout 240 traffic -d "$DEV" -x "$SHARE/$name/t$step" $mine
}

# on SIDE COMMAND...
on() {
	[ "$SIDE" = "$1" ] || return 0
	shift
	run "$@"
}

# --- verdicts, of scripts that suite.sh reads them from -------------------------------------------

# judge STATUS NAME FILE: the file says more where it failed
# shellcheck disable=SC2034 # the scripts'
judge() {
	if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; failed=1; sed 's/^/# /' "$3"; fi
}

# is NAME GOT WANTED
is() {
	printf 'got: %s\nwant: %s\n' "$2" "$3" >/tmp/is
	[ "$2" = "$3" ]
	judge $? "$1" /tmp/is
}
