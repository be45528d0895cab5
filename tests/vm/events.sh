#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Changes of devices, netdevs and addresses on a real kernel: `rdmadump events` reports each once and
# by name, a capture continues, and neither keeps the driver's module in use. For one machine; prints
# "ok NAME" and "not ok NAME" for tests/vm/suite.sh.
# shellcheck source=tests/vm/lib.sh
. /lib.sh

settle=2 # seconds: the ports are read for the last time 1.55 s after the last message

# has NAME FILE TEXT
has() {
	grep -q -- "$3" "$2"
	judge $? "$1" "$2"
}

# Its output is in /tmp/events.
start_events() {
	: >/tmp/events
	timeout 800 rdmadump events --json >/tmp/events 2>/tmp/watching &
	events_pid=$!
	guest text 120 /tmp/watching watching
	seen=0
}

# "rxe_a device_added device added": device, event and text of each line after the first $seen
new_events() {
	tail -n +$((seen + 1)) /tmp/events |
		sed 's/.*"device":"\([^"]*\)".*"event":"\([^"]*\)","text":"\([^"]*\)".*/\1 \2: \3/'
}

# expect NAME <<END: exactly these new events, in this order
expect() {
	cat >/tmp/expected
	guest still "$settle" /tmp/events
	new_events >/tmp/new
	diff /tmp/expected /tmp/new >/tmp/diff
	judge $? "events: $1" /tmp/diff
	seen=$(wc -l </tmp/events)
}

# --- events ------------------------------------------------------------------------------------

watch_devices() {
	rdma link del rxe_a
	rdma link del rxe_b
	ip link set va address 02:00:00:00:00:0a
	start_events
	has "events: without any device it says so" /tmp/watching "watching for RDMA devices; none now"

	rdma link add rxe_a type rxe netdev va
	expect "a device is added" <<-END
		rxe_a device_added: device added
		rxe_a port_active: port up
		rxe_a gid_added: GID 0 added: fe80::ff:fe00:a, RoCE v2
		rxe_a gid_added: GID 1 added: ::ffff:10.77.0.1, RoCE v2
	END
	rdma dev set rxe_a name roce_a
	expect "a device is renamed" <<-END
		roce_a device_renamed: device renamed from rxe_a
	END
	rdma link del roce_a
	expect "a device is removed" <<-END
		roce_a device_removed: device removed
	END
	ip link set va mtu 1600
	ip link set va mtu 1500
	expect "nothing of a netdev whose device is gone" </dev/null
	for _ in 1 2 3; do
		rdma link add rxe_a type rxe netdev va
		rdma link del rxe_a
	done
	guest still "$settle" /tmp/events
	new_events | grep -E 'device_(added|removed)' >/tmp/new
	printf 'rxe_a device_added: device added\nrxe_a device_removed: device removed\n%.0s' 1 2 3 >/tmp/expected
	diff /tmp/expected /tmp/new >/tmp/diff
	judge $? "events: a device that comes and goes three times" /tmp/diff
	seen=$(wc -l </tmp/events)
}

watch_netdevs() {
	rdma link add rxe_a type rxe netdev va
	guest still "$settle" /tmp/events
	seen=$(wc -l </tmp/events)
	ip addr add 10.77.5.1/24 dev va
	expect "a GID is added" <<-END
		rxe_a gid_added: GID 2 added: ::ffff:10.77.5.1, RoCE v2
	END
	ip addr del 10.77.5.1/24 dev va
	expect "a GID is removed" <<-END
		rxe_a gid_removed: GID 2 removed: ::ffff:10.77.5.1, RoCE v2
	END
	modprobe 8021q
	ip link add link va name va.7 type vlan id 7
	sysctl -qw net.ipv6.conf.va/7.disable_ipv6=1
	ip link set va.7 up
	guest still "$settle" /tmp/events
	seen=$(wc -l </tmp/events)
	ip addr add 10.99.0.1/24 dev va.7
	expect "a VLAN's address becomes a GID" <<-END
		rxe_a gid_added: GID 2 added: ::ffff:10.99.0.1, RoCE v2
	END
	ip link del va.7
	guest still "$settle" /tmp/events
	seen=$(wc -l </tmp/events)
	ip link set va mtu 4300
	expect "an MTU changes" <<-END
		rxe_a netdev_mtu_changed: MTU changed from 1500 to 4300
	END
	ip link set va address 02:00:00:00:00:1a
	expect "a MAC address changes, and the GID made of it" <<-END
		rxe_a netdev_mac_changed: MAC address changed from 02:00:00:00:00:0a to 02:00:00:00:00:1a
		rxe_a gid_removed: GID 0 removed: fe80::ff:fe00:a, RoCE v2
		rxe_a gid_added: GID 0 added: fe80::ff:fe00:1a, RoCE v2
	END
	ip link set va down
	expect "a link goes down" <<-END
		rxe_a netdev_down: netdev down
		rxe_a port_error: port down
	END
	ip link set va name vx
	expect "a netdev is renamed" <<-END
		rxe_a netdev_renamed: netdev renamed from va
	END
	ip link set vx name va
	expect "and renamed back" <<-END
		rxe_a netdev_renamed: netdev renamed from vx
	END
	ip link set va up
	expect "a link comes up" <<-END
		rxe_a netdev_up: netdev up
		rxe_a port_active: port up
	END
}

# --- the driver's module -----------------------------------------------------------------------

unload_driver() {
	rmmod rdma_rxe 2>/tmp/out
	judge $? "events and a capture of an rxe do not keep its module in use" /tmp/out
	expect "a driver is unloaded" <<-END
		rxe_a device_removed: device removed
	END
	modprobe rdma_rxe
	rdma link add rxe_a type rxe netdev va
	guest still "$settle" /tmp/events
	seen=$(wc -l </tmp/events)
	ip link add tmp0 type dummy 2>/dev/null || ip link add tmp0 type veth peer name tmp1
	ip link set tmp0 up
	rdma link add rxe_t type rxe netdev tmp0
	guest still "$settle" /tmp/events
	seen=$(wc -l </tmp/events)
	ip link del tmp0
	expect "a netdev is removed, and its device with it" <<-END
		rxe_t netdev_removed: netdev removed
		rxe_t device_removed: device removed
	END
}

# --- captures ----------------------------------------------------------------------------------

start_capture() {
	timeout 400 rdmadump -i va -w /tmp/c.pcapng --json >/tmp/c.json 2>/tmp/c.log &
	capture_pid=$!
	guest text 120 /tmp/c.log "capturing on"
}

end_capture() {
	kill -TERM "$capture_pid"
	wait "$capture_pid"
	judge $? "$1" /tmp/c.log
}

capture_through_changes() {
	start_capture
	ip link set va address 02:00:00:00:00:1b
	guest text 120 /tmp/c.log "MAC address changed from 02:00:00:00:00:1a to 02:00:00:00:00:1b"
	judge $? "capture: a new MAC address is reported" /tmp/c.log
	guest text 120 /tmp/c.log "rxe_a: GID 0 added: fe80::ff:fe00:1b, RoCE v2"
	judge $? "capture: a new GID is reported" /tmp/c.log
	ip link set va down
	ip link set va name vy
	ip link set vy up
	guest text 120 /tmp/c.log "netdev renamed from va to vy"
	judge $? "capture: a renamed netdev is followed" /tmp/c.log
	guest text 120 /tmp/c.log "netdev up"
	rdma dev set rxe_a name rxe_z
	guest text 120 /tmp/c.log "rxe_z: device renamed from rxe_a"
	judge $? "capture: a renamed device is followed" /tmp/c.log
	# ARP requests: the netdev's own frames, after these changes
	ip route add 10.77.0.0/24 dev vy src 10.77.0.1 table 10 2>/dev/null
	ping -c 2 -W 1 -I vy 10.77.0.2 >/dev/null 2>&1
	unload_driver_with_capture
	ip link set vy down
	ip link set vy name va
	ip link set va up
	end_capture "capture: it goes on through all changes"
	grep -q '"reason": *"netdev down 2 times .*frames may be missing"' /tmp/c.json
	judge $? "capture: the report says that frames may be missing, and when" /tmp/c.json
	for what in "MAC address changed" "renamed from va to vy" "device renamed from rxe_a" "GID 0 added: fe80::ff:fe00:1b"; do
		[ "$(grep -c "$what" /tmp/c.log)" = 1 ]
		judge $? "capture: '$what' is reported once" /tmp/c.log
	done
	[ "$(rdmadump -r /tmp/c.pcapng 2>/dev/null | grep -c .)" -gt 0 ]
	judge $? "capture: frames after the changes are in the file" /tmp/c.log
}

unload_driver_with_capture() {
	rmmod rdma_rxe 2>/tmp/out
	judge $? "capture: it does not keep the driver's module in use" /tmp/out
	guest text 120 /tmp/c.log "rxe_z: device removed"
	judge $? "capture: a removed device is reported" /tmp/c.log
	modprobe rdma_rxe
}

capture_when_down() {
	rdma link add rxe_a type rxe netdev va
	ip link set va down
	rdmadump -d rxe_a -w /tmp/down.pcapng -a duration:1 >/tmp/out 2>&1
	has "capture: a port that is down is reported at its start" /tmp/out "ip link set dev va up"
	ip link set va up
	ip link set vb down
	timeout 120 rdmadump -d rxe_a -w /tmp/down.pcapng -a duration:1 >/tmp/out 2>&1
	has "capture: a link without carrier is reported at its start" /tmp/out "va has no carrier"
	ip link set vb up
}

# --- namespaces --------------------------------------------------------------------------------

# in_other COMMAND...: in another network namespace, with its view of /sys
in_other() { ip netns exec other "$@" >/tmp/out 2>&1; }

namespaces_shared() {
	ip netns add other
	in_other rdmadump list
	has "namespace: list says that the netdev is in another one" /tmp/out \
		"no: its netdev is in another network namespace; run rdmadump there"
	in_other timeout 120 rdmadump -d rxe_a -w /tmp/n.pcapng -a duration:1
	has "namespace: so does a capture" /tmp/out "netdev va.*is in another network namespace; run rdmadump there"
	[ ! -e /tmp/n.pcapng ]
	judge $? "namespace: and no file is made" /tmp/out
	ip netns del other
}

namespaces_exclusive() {
	rdma system set netns exclusive || return
	ip netns add other
	in_other rdmadump list
	has "exclusive namespaces: list says whose the devices are" /tmp/out \
		"no RDMA devices.*belongs to one network namespace"
	in_other rdmadump -d rxe_a -w /tmp/n.pcapng
	has "exclusive namespaces: so does a capture" /tmp/out "no device.*belongs to one network namespace"
	in_other rdmadump counters
	has "exclusive namespaces: so does counters" /tmp/out "no RDMA ports.*belongs to one network namespace"
	ip netns del other
}

watch_devices
watch_netdevs
unload_driver
kill -TERM "$events_pid"
wait "$events_pid"
judge $? "events: ends on a signal" /tmp/events
capture_through_changes
capture_when_down
namespaces_exclusive
rdma system set netns shared
namespaces_shared
