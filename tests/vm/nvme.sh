#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# More than 10 000 commands of NVMe over RDMA between two machines: b is the host of two controllers at a, each with an
# I/O queue for writes and one for reads. Several commands at a time, data in the capsule and by RDMA, flushes.
# tests/vm/nvme.py compares what `analyze` says of them with what tshark says.
# At most 16 kB at a time for each disk: with 128 kB the cable of QEMU 7.2 stopped for ever.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

nvmet=/sys/kernel/config/nvmet
disks="1 2"
wait_seconds=600 # the load, on a busy machine

target() {
	modprobe nvmet_rdma
	modprobe brd rd_nr=2 rd_size=8192
	mount -t configfs none /sys/kernel/config
	mkdir "$nvmet/ports/1"
	echo rdma >"$nvmet/ports/1/addr_trtype"
	echo ipv4 >"$nvmet/ports/1/addr_adrfam"
	echo "$SELF" >"$nvmet/ports/1/addr_traddr"
	echo 4420 >"$nvmet/ports/1/addr_trsvcid"
	for d in $disks; do
		mkdir "$nvmet/subsystems/disk$d" "$nvmet/subsystems/disk$d/namespaces/1"
		echo 1 >"$nvmet/subsystems/disk$d/attr_allow_any_host"
		echo "/dev/ram$((d - 1))" >"$nvmet/subsystems/disk$d/namespaces/1/device_path"
		echo 1 >"$nvmet/subsystems/disk$d/namespaces/1/enable"
		ln -s "$nvmet/subsystems/disk$d" "$nvmet/ports/1/subsystems/disk$d"
	done
}

target_stop() {
	for d in $disks; do
		rm "$nvmet/ports/1/subsystems/disk$d"
		rmdir "$nvmet/subsystems/disk$d/namespaces/1" "$nvmet/subsystems/disk$d"
	done
	rmdir "$nvmet/ports/1"
}

# disk D: its block device at the host
disk() { echo "/dev/nvme$(($1 - 1))n1"; }
# split D KB: what is read or written is split into commands of so many kB, which are sent at once.
split() { echo "$2" >"/sys/block/nvme$(($1 - 1))n1/queue/max_sectors_kb"; }

write_kb() { split "$2" "$1" && dd if=/tmp/data of="$(disk "$2")" bs=16k count="$3" oflag=direct; }
read_kb() { split "$2" "$1" && dd if="$(disk "$2")" of=/dev/null bs=16k count="$3" iflag=direct; }
sectors() { dd if=/tmp/data of="$(disk "$2")" bs=512 count="$1" oflag=direct; }

# A sector's write goes in one packet, 4 kB in five: more than 4 kB by RDMA.
load() {
	write_kb 4 "$1" 250 && write_kb 8 "$1" 100 && dd if="$(disk "$1")" of="/tmp/read.$1" bs=16k count=100 iflag=direct &&
		read_kb 4 "$1" 500 && sectors 700 "$1" && guest synced "$(disk "$1")" 500
}

host() {
	modprobe nvme_rdma
	dd if=/dev/urandom of=/tmp/data bs=16k count=250
	for d in $disks; do
		echo "transport=rdma,traddr=$PEER,trsvcid=4420,nqn=disk$d,nr_io_queues=1,nr_write_queues=1,queue_size=32" >/dev/nvme-fabrics
		guest wait 180 "$(disk "$d")"
	done
	load 1 &
	first=$!
	load 2 && wait $first
	status=$?
	for d in $disks; do
		echo 1 >"/sys/class/nvme/nvme$((d - 1))/delete_controller"
		head -c 1638400 /tmp/data | cmp - "/tmp/read.$d" || status=1
	done
	return $status
}

ping -c 1 -W 5 "$PEER" >/dev/null
ip neigh replace "$PEER" lladdr "52:54:00:77:00:0${PEER##*.}" nud permanent dev "$NETDEV"
barrier ping
begin nvme_load "arrives=ab"
on a target
barrier nvme_load.target
on b host
barrier nvme_load.host
on a target_stop
finish
cut -d' ' -f1 /proc/uptime
