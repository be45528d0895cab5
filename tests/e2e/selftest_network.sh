#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What selftest does to the network: nothing from a bond's backup port, VLANs only on request; and what it says before it starts.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar tshark zstd
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
cd "$tmp" || exit 1

# The model has no netdev for a socket (ENODEV).
# bonded MODE ACTIVE ARGUMENTS...: selftest on a port whose netdev is in a bond; "": in none
bonded() {
	local mode=$1 active=$2
	shift 2
	rm -rf tree out && mkdir out
	# shellcheck disable=SC2016 # for the inner shell
	model --keep "$tmp/tree" -- sh -c '
		bonding=$0/sys/devices/pci0000:00/0000:01:00.0/net/enp1s0f0np0/master/bonding
		[ -z "$1" ] || { mkdir -p "$bonding" && echo "$1" >"$bonding/mode" && echo "$2" >"$bonding/active_slave"; } && shift 2 && "$@"
	' "$tmp/tree" "$mode" "$active" "$RDMADUMP" selftest --json --output "$tmp/out" "$@" mlx5_0 >json 2>log
}
probe() { jq -r --arg name "$1" ".probes[] | select(.name == \$name) | $2" json; }
kinds() { probe send '.values | [.socket, .raw, .multicast, .rc | .value.error // empty] | map(if . == "" then "-" else . end) | join(" ")'; }

all=(--probe send --probe loopback --probe contents --probe paths --probe clocks --probe oversize --probe overload)
backup='enp1s0f0np0 is in a bond (active-backup) and not its active port'
bonded "active-backup 1" enp1s0f1np1 "${all[@]}"
is "backup port: neither sockets nor raw nor multicast" "$(kinds)" "ENOTUNIQ ENOTUNIQ ENOTUNIQ -"
is "backup port: no probe sends raw frames" "$(jq -r '[.probes[].values | (.raw_error, .send_error, .sender_error).value // empty] | unique | join(" ")' json)" ENOTUNIQ
is "backup port: why, of all probes that would" \
	"$(jq -r --arg why "$backup" '[.probes[] | select(.reason // "" | startswith($why)).name] | join(" ")' json)" \
	"send contents paths clocks oversize overload"
is "backup port: connections within the adapter are tried" "$(probe loopback .outcome)" passed
while IFS='|' read -r name mode active errors; do
	bonded "$mode" "$active" --probe send
	is "$name" "$(kinds) $(probe send '.reason // ""' | cut -c1-30)" "$errors"
done <<'CASES'
no bond|||ENODEV - - - 
active port|active-backup 1|enp1s0f0np0|ENODEV - - - 
LACP|802.3ad 4||ENODEV - - - 
other bonds|balance-xor 2||ENOTUNIQ ENOTUNIQ ENOTUNIQ - enp1s0f0np0 is in a bond (bala
CASES

# under FILE ADDRESS: selftest on a port whose netdev has a master with this address and this file or directory; "": the port's own
under() {
	rm -rf tree out && mkdir out
	# shellcheck disable=SC2016 # for the inner shell
	model --keep "$tmp/tree" -- sh -c '
		net=$0/sys/devices/pci0000:00/0000:01:00.0/net/enp1s0f0np0
		mkdir -p "$net/master/$1" && cp "$net/address" "$net/master/address" && [ -z "$2" ] || echo "$2" >"$net/master/address"
		shift 2 && "$@"' "$tmp/tree" "$@" "$RDMADUMP" selftest --json --output "$tmp/out" --probe send mlx5_0 >json 2>log
}
while IFS='|' read -r name has address errors; do
	under "$has" "$address"
	is "$name" "$(kinds) $(probe send '.reason // ""' | cut -c1-64)" "$errors"
done <<'CASES'
team|.||ENOTUNIQ ENOTUNIQ ENOTUNIQ - enp1s0f0np0 shares its MAC address with its master (a team or th
port of a bridge|bridge||ENODEV - - - 
port of a VRF|.|02:00:00:00:00:01|ENODEV - - - 
CASES

# --- VLANs ----------------------------------------------------------------------------------------

# vlans ARGUMENTS...: VLAN, priority, type and source of the tagged frames that `contents` sent
vlans() {
	bonded "" "" --probe contents "$@"
	tar -xf out/*.tar.zst --wildcards --to-stdout '*/contents.pcapng' >contents.pcapng
	tshark -r contents.pcapng -Y vlan -T fields -e vlan.id -e vlan.priority -e vlan.etype -e eth.src 2>/dev/null | tr '\t' ' ' | sort -u
	probe contents .values.vlan_id.value
}
is "by default priority tags" "$(vlans | xargs)" "0 1 0x88b5 0c:42:a1:00:00:01 0"
is "a VLAN on request" "$(vlans --vlan 4093 | xargs)" "4093 1 0x88b5 0c:42:a1:00:00:01 4093"
model -- "$RDMADUMP" selftest --vlan 4095 mlx5_0 2>log
exits "4095 is none" 1 log "--vlan.* 4094"

# --- what it says ---------------------------------------------------------------------------------

model -- "$RDMADUMP" selftest --dry-run mlx5_0 >plan
model -- "$RDMADUMP" selftest --probe inventory --output "$tmp" mlx5_0 >table 2>log
sed '/^PROBE/,$d' table >before
for what in plan before; do
	is "$what: the risk, and the counters that move" \
		"$(grep -oE 'PCIe|tx_prioN_pause|out_of_buffer|local_ack_timeout_err|req_transport_retries_exceeded' "$what" | sort -u | xargs)" \
		"PCIe local_ack_timeout_err out_of_buffer req_transport_retries_exceeded tx_prioN_pause"
done
tap_done
