#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The scenarios of two machines: runs in both; arguments name those wanted, default all.
# `record` before them: all that the kernel counts is kept too.
# Each is a function; what the ends do in it is known, what they must see is in tests/vm/suite.sh.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

all="rc_send perftest uc ud multicast srq rping cm_reject ipv6 vlan mtu many_qps bad_rkey not_allowed
	too_long rnr_exhausted retry_exhausted peer_killed peer_stopped gid_gone imm_inv write_loss read_loss atomic_loss uc_loss delay
	duplicate corrupt read_reorder write_reorder nvme link_flap overrun"

exact="arrives=ab accepts=ab"
ends_early="arrives=ab" # a program may be gone before the last acknowledge comes to it

pingpong() { pair 18515 "$1 -d $DEV -g 1 $2" "$1 -d $DEV -g 1 $2 $PEER"; }
perf() { pair 18515 "$1 -d $DEV -x 1 -F $2" "$1 -d $DEV -x 1 -F $2 $PEER"; }
# netem END ...: what that end does to the frames it sends
netem() {
	end=$1
	shift
	on "$end" tc qdisc add dev "$NETDEV" root netem "$@"
}
no_netem() { on "$1" tc qdisc del dev "$NETDEV" root; }

rc_send() {
	begin rc_send "$ends_early"
	pingpong ibv_rc_pingpong "-s 64 -n 60"
	pingpong ibv_rc_pingpong "-s 4096 -n 20"
	both -r 12 -- send:10000:8 send_imm:0:4
	finish
}

perftest() {
	begin perftest "$exact"
	perf ib_send_bw "-s 2000 -n 40 -t 16 -r 64"
	perf ib_write_bw "-s 8192 -n 30 -t 16"
	perf ib_read_bw "-s 8192 -n 20 -t 16"
	perf ib_atomic_bw "-A FETCH_AND_ADD -n 40 -t 16"
	finish
}

uc() {
	begin uc "$ends_early"
	pingpong ibv_uc_pingpong "-s 3000 -n 20"
	both -T uc -r 12 -- -T uc send:5000:8 send_imm:100:2 write:3000:6 write_imm:2500:2
	finish
}

ud() {
	begin ud "$ends_early"
	pingpong ibv_ud_pingpong "-s 1000 -n 30"
	both -T ud -q 3 -r 10 -- -T ud -q 3 send:700:6 send_imm:1024:4
	finish
}

multicast() {
	begin multicast "$exact"
	on b ip route replace 239.0.0.0/8 dev "$NETDEV"
	both -T ud -r 20 -M 239.7.7.7 -- -T ud -M 239.7.7.7 send:500:12 send_imm:1000:3
	finish
}

srq() {
	begin srq "$ends_early"
	pingpong ibv_srq_pingpong "-q 4 -s 1500 -n 40"
	both -S -q 4 -r 40 -- -q 4 send:2500:8 write_imm:1500:2
	finish
}

rping_cm() {
	begin rping "$ends_early"
	pair cm "rping -s -a $([ "$SIDE" = a ] && echo "$SELF" || echo "$PEER") -C 10 -S 1000 -p 7174" \
		"rping -c -a $PEER -C 10 -S 1000 -p 7174"
	finish
}

# Nobody listens there: the CM rejects.
cm_reject() {
	begin cm_reject "$exact"
	[ "$SIDE" = a ] || rping -c -a "$PEER" -C 1 -p 9999 && :
	finish
}

ipv6() {
	begin ipv6 "$exact"
	both -l "$SELF6" -r 10 -- -l "$SELF6" send:4000:10 write:2000:10 read:3000:5 fadd:8:5
	both -l "$SELF6" -T ud -r 5 -- -l "$SELF6" -T ud send:800:5
	finish
}

vlan() {
	begin vlan "$exact"
	mine=10.78.0.${SELF##*.}
	run modprobe 8021q
	run ip link add link "$NETDEV" name "$NETDEV.100" type vlan id 100 egress-qos-map 0:3
	run ip addr add "$mine/24" dev "$NETDEV.100"
	run ip link set "$NETDEV.100" up
	both -l "$mine" -r 10 -- -l "$mine" send:4000:10 write:2000:10 read:3000:5 fadd:8:5
	run ip link del "$NETDEV.100"
	finish
}

mtu() {
	ip link set "$NETDEV" mtu 4300
	begin mtu "$exact"
	for m in 256 512 2048 4096; do
		both -m $m -r 4 -- -m $m send:10000:4 write:10000:2 read:10000:2
	done
	finish
	ip link set "$NETDEV" mtu 1500
}

many_qps() {
	begin many_qps "$exact"
	both -q 48 -r 2 -- -q 48 -p 2 send:1500:2 write:1500:1 read:500:1 fadd:8:1
	finish
}

# 10: remote access error, NAK 0x62
bad_rkey() {
	begin bad_rkey "arrives=ab accepts=b"
	for op in write:3000:2 read:3000:2 fadd:8:2; do
		both -r 0 -- -k -e 10 "$op"
	done
	finish
}

# The kernel refuses with NAK 0x61, which the requester tells as 9, remote invalid request.
not_allowed() {
	begin not_allowed "arrives=ab accepts=b"
	for op in write:3000:2 read:3000:2 fadd:8:2; do
		both -A - -- -e 9 "$op"
	done
	finish
}

# NAK 0x63; 11: remote operation error
too_long() {
	begin too_long "arrives=ab accepts=b"
	both -r 4 -R 100 -- -e 11 send:500:2
	finish
}

# 13: RNR retries exceeded
rnr_exhausted() {
	begin rnr_exhausted "arrives=ab accepts=a"
	both -N 14 -r 1 -- -n 3 -e 13 send:500:1 send:2500:1
	finish
}

# The requests arrive at a's tap but not at its rxe. 12: transport retries exceeded
retry_exhausted() {
	begin retry_exhausted "arrives=b accepts=b"
	on a tc qdisc add dev "$NETDEV" ingress
	on a tc filter add dev "$NETDEV" parent ffff: protocol ip matchall action drop
	barrier retry_exhausted.blackhole
	both -r 4 -- -t 12 -y 3 -e 12 send:2500:1
	both -r 4 -- -t 12 -y 2 -e 12 read:2500:1
	on a tc qdisc del dev "$NETDEV" ingress
	finish
}

# while_sent OPERATION COMMAND...: b sends these, of which 12 or 13 must come; a does COMMAND meanwhile ("kill": of its program)
while_sent() {
	step=$((step + 1))
	meet=$SHARE/$name/t$step
	op=$1
	shift
	if [ "$SIDE" = a ]; then
		counter=/sys/class/infiniband/$DEV/ports/1/hw_counters/rcvd_pkts
		at=$(($(cat "$counter") + 40))
		traffic -d "$DEV" -x "$meet" -r 20 &
		pid=$!
		# shellcheck disable=SC2016 # the inner shell's
		guest until 60 sh -c '[ "$(cat "$0")" -ge "$1" ]' "$counter" "$at"
		[ "$1" != kill ] || set -- "$@" "$pid"
		run "$@"
		: >"$meet.a.done"
		: >"$meet.a.counted"
		guest wait 60 "$meet.b.counted"
		kill -KILL "$pid" 2>/dev/null
		wait "$pid"
	else
		# shellcheck disable=SC2086 # words
		run timeout 240 traffic -d "$DEV" -x "$meet" -p 1 -t 15 -y 3 -n 3 $op
	fi
}
# The process is gone: its QP answers nothing any more.
peer_killed() {
	begin peer_killed "arrives=b"
	while_sent "-e 12 write:300:30000" kill -KILL
	finish
}
# It hangs, while its NIC responds: until its receives are used up.
peer_stopped() {
	begin peer_stopped "arrives=b"
	while_sent "-e 13 write:300:50 send:300:100" kill -STOP
	finish
}
# The address that the other end uses is gone.
gid_gone() {
	begin gid_gone "arrives=b"
	while_sent "-e 12 write:300:30000" ip addr del "$SELF/24" dev "$NETDEV"
	on a ip addr add "$SELF/24" dev "$NETDEV"
	finish
}
# Neither this one nor those up to wrong_vlan are in the list: they are recorded for explain_stories.sh.
# What the other end sends then is lost, and the capture cannot tell what its netdev lost.
link_down() {
	begin link_down "arrives=b"
	while_sent "-e 12 write:300:30000" ip link set "$NETDEV" down
	on a ip link set "$NETDEV" up
	finish
}
# The process lives, its QP does not.
qp_destroyed() {
	begin qp_destroyed "arrives=b"
	while_sent "-e 12 write:300:30000" kill -USR1
	finish
}
# The process and its QP live, its memory is not registered any more.
mr_gone() {
	begin mr_gone "arrives=b"
	while_sent "-e 10 write:300:30000" kill -USR2
	finish
}
# The two programs disagree on the path MTU: a's QP refuses packets that are longer than its own.
mtu_ends() {
	begin mtu_ends "arrives=ab"
	both -m 512 -r 4 -- -m 1024 -e 9 write:300:20 write:3000:2
	finish
}
# a's QP uses another GID index than that of the address that b got.
wrong_gid() {
	begin wrong_gid "arrives=b"
	on a ip addr add 10.79.0.1/24 dev "$NETDEV"
	both -l "$([ "$SIDE" = a ] && echo 10.79.0.1 || echo "$SELF")" -L "$SELF" -r 4 -- -t 15 -y 3 -e 12 write:300:20
	on a ip addr del 10.79.0.1/24 dev "$NETDEV"
	finish
}
# b's GID is that of a VLAN, a's is not.
wrong_vlan() {
	own=10.78.0.${SELF##*.} dev=$NETDEV
	on b modprobe 8021q
	on b ip link add link "$NETDEV" name "$NETDEV.100" type vlan id 100
	[ "$SIDE" = a ] || dev=$NETDEV.100
	ip addr add "$own/24" dev "$dev"
	ip link set "$dev" up
	ip neigh replace "10.78.0.${PEER##*.}" lladdr "52:54:00:77:00:0${PEER##*.}" nud permanent dev "$dev"
	begin wrong_vlan "arrives=b"
	both -l "$own" -r 4 -- -l "$own" -t 15 -y 3 -e 12 write:300:20
	finish
	on b ip link del "$NETDEV.100"
	on a ip addr del "$own/24" dev "$NETDEV"
}

imm_inv() {
	begin imm_inv "$exact"
	both -r 8 -- send_imm:2500:4 write_imm:3500:4
	finish
}

write_loss() {
	begin write_loss "arrives=a accepts=a"
	netem b loss 4%
	both -r 30 -t 16 -- -t 16 -p 8 write:8000:30 send:4000:20
	no_netem b
	finish
}

read_loss() {
	begin read_loss "arrives=b accepts=b"
	netem a loss 4%
	both -t 16 -- -t 16 -p 4 read:8000:30
	no_netem a
	finish
}

atomic_loss() {
	begin atomic_loss none
	netem a loss 4%
	netem b loss 4%
	both -t 16 -- -t 16 -p 4 cas:8:60 fadd:8:60
	no_netem a
	no_netem b
	finish
}

uc_loss() {
	begin uc_loss "arrives=a accepts=a"
	netem b loss 5%
	both -T uc -r 200 -- -T uc send:3000:60 write:3000:40
	no_netem b
	finish
}

delay() {
	begin delay "$exact"
	netem a delay 10ms
	netem b delay 10ms
	both -r 20 -- send:3000:20 write:5000:10 read:5000:10
	no_netem a
	no_netem b
	finish
}

duplicate() {
	begin duplicate "arrives=a accepts=a"
	netem b duplicate 10%
	both -r 40 -t 16 -- -t 16 send:3000:40 write:5000:20 read:3000:20
	no_netem b
	finish
}

corrupt() {
	begin corrupt none
	netem b corrupt 3%
	both -r 40 -t 16 -- -t 16 send:3000:40 write:5000:20
	no_netem b
	finish
}

read_reorder() {
	begin read_reorder "$exact"
	netem a delay 3ms reorder 60% 30%
	both -t 16 -- -t 16 -p 4 read:8000:12
	no_netem a
	finish
}

write_reorder() {
	begin write_reorder "$exact"
	netem b delay 3ms reorder 60% 30%
	both -r 30 -t 16 -- -t 16 -p 4 write:8000:10 send:4000:8
	no_netem b
	finish
}

nvme_target() {
	modprobe nvmet_rdma
	mount -t configfs none /sys/kernel/config
	truncate -s 4M /tmp/disk
	nvmet=/sys/kernel/config/nvmet
	mkdir "$nvmet/subsystems/disk" "$nvmet/subsystems/disk/namespaces/1" "$nvmet/ports/1"
	echo 1 >"$nvmet/subsystems/disk/attr_allow_any_host"
	echo 1 >"$nvmet/subsystems/disk/namespaces/1/buffered_io"
	echo /tmp/disk >"$nvmet/subsystems/disk/namespaces/1/device_path"
	echo 1 >"$nvmet/subsystems/disk/namespaces/1/enable"
	echo rdma >"$nvmet/ports/1/addr_trtype"
	echo ipv4 >"$nvmet/ports/1/addr_adrfam"
	echo "$SELF" >"$nvmet/ports/1/addr_traddr"
	echo 4420 >"$nvmet/ports/1/addr_trsvcid"
	ln -s "$nvmet/subsystems/disk" "$nvmet/ports/1/subsystems/disk"
}

nvme_host() {
	modprobe nvme_rdma
	echo "transport=rdma,traddr=$PEER,trsvcid=4420,nqn=disk,nr_io_queues=1,queue_size=16" \
		>/dev/nvme-fabrics
	guest wait 180 /dev/nvme0n1
	dd if=/dev/urandom of=/tmp/written bs=4k count=16
	dd if=/tmp/written of=/dev/nvme0n1 bs=16k oflag=direct
	dd if=/dev/nvme0n1 of=/tmp/read bs=16k count=4 iflag=direct
	# Until the queue pairs were in a sample of owners, also on a slow machine
	sleep 4 # pause: samples are taken each 0.5 s, and not seen before the capture ends
	echo 1 >/sys/class/nvme/nvme0/delete_controller
	cmp /tmp/written /tmp/read
}

nvme_stop() {
	rm "$nvmet/ports/1/subsystems/disk"
	rmdir "$nvmet/ports/1" "$nvmet/subsystems/disk/namespaces/1" "$nvmet/subsystems/disk"
}

nvme() {
	begin nvme "$ends_early"
	on a nvme_target
	barrier nvme.target
	on b nvme_host
	barrier nvme.host
	on a nvme_stop
	finish
}

# A capture outlives it.
link_flap() {
	begin link_flap "$exact"
	both -r 10 -- send:2000:10
	barrier link_flap.first
	on a ip link set "$NETDEV" down
	on a guest text 60 "/sys/class/net/$NETDEV/operstate" down
	on a ip link set "$NETDEV" up
	barrier link_flap.up
	both -r 10 -- send:3000:10
	finish
}

# A ring of 256 KiB, and a program that does not look at it: what is missing must be what it says.
overrun() {
	capture_options="-B 256"
	begin overrun drops=ab
	capture_options=
	kill -STOP "$rdmadump_pid"
	both -r 80 -- send:8000:80
	kill -CONT "$rdmadump_pid"
	finish
}

# No question for MAC addresses in between.
ping -c 1 -W 5 "$PEER" >/dev/null
ip neigh replace "$PEER" lladdr "52:54:00:77:00:0${PEER##*.}" nud permanent dev "$NETDEV"
barrier ping
[ "${1-}" != record ] || { VM_RECORD=1 && shift; }
# shellcheck disable=SC2086 # a list of names
[ $# -gt 0 ] || set -- $all
for scenario in "$@"; do
	case $scenario in
	rping) rping_cm ;;
	*) $scenario ;;
	esac
done
cut -d' ' -f1 /proc/uptime
