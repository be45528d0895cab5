#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump on a real kernel: in every scenario of pair.sh, router.sh and one.sh its frames are those
# of tcpdump, byte for byte, and as many as the kernel's rxe counted; files are read by libpcap, not by
# our reader. analysis.sh checks the reports of `analyze`, also of four hosts' captures (hosts.sh).
# VM_QUICK=1: some scenarios of two machines, and these hosts. VM_SERVICE=1: only the recorder as a service of systemd (record.sh). VM_NVME=1: only many commands of NVMe over
# RDMA (nvme.sh). Expects the variables of tests/tap.sh, and VM_BIN.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
# shellcheck source=tests/vm/vm.sh
. "$here/vm.sh"
# shellcheck source=tests/vm/analysis.sh
. "$here/analysis.sh"

vm_prepare || skip_all "$vm_why"

# Frames that the kernel sends at any time, which no scenario counts.
noise='not (ether[0] & 1 = 1 and not udp port 4791) and not arp and not icmp6 and not (vlan and arp)'
roce='udp port 4791 or (vlan and udp port 4791)'
scenarios=0 compared=0

# Frames that both ends must have in a scenario: a filter of tcpdump.
declare -A must_see=(
	[rc_send]='udp[8] = 0x04' [perftest]='udp[8] = 0x14'
	[uc]='udp[8] = 0x20' [ud]='udp[8] = 0x64' [multicast]='dst host 239.7.7.7 and udp[8] = 0x65'
	[srq]='udp[8] = 0x09' [rping]='udp[8] = 0x64' [cm_reject]='udp[8] = 0x64'
	[ipv6]='ip6 and udp port 4791' [vlan]='vlan 100 and udp port 4791'
	[mtu]='udp port 4791 and greater 4096' [many_qps]='udp[8] = 0x14'
	[bad_rkey]='udp[8] = 0x11 and udp[20] = 0x62' [not_allowed]='udp[8] = 0x11 and udp[20] = 0x61'
	[too_long]='udp[8] = 0x11 and udp[20] = 0x63' [rnr_exhausted]='udp[8] = 0x11 and udp[20] = 0x2e'
	[peer_killed]='udp[8] = 0x0a' [peer_stopped]='udp[8] = 0x11 and udp[20] = 0x21'
	[gid_gone]='udp[8] = 0x0a'
	[retry_exhausted]='udp[8] = 0x0c' [imm_inv]='udp[8] = 0x03' [write_loss]='udp[8] = 0x11 and udp[20] = 0x60'
	[read_loss]='udp[8] = 0x0e' [atomic_loss]='udp[8] = 0x13' [uc_loss]='udp[8] = 0x26'
	[delay]='udp[8] = 0x0c' [duplicate]='udp[8] = 0x00' [corrupt]='udp[8] = 0x00'
	[read_reorder]='udp[8] = 0x0e' [write_reorder]='udp[8] = 0x06' [nvme]='udp[8] = 0x08'
	[nvme_load]='udp[8] = 0x17'
	[overrun]='udp[8] = 0x01' [link_flap]='udp[8] = 0x02' [veth]='udp[8] = 0x0c' [removed]='udp[8] = 0x0c'
	[routed]='udp[8] = 0x14' [router_loss]='udp[8] = 0x11 and udp[20] = 0x60'
	[router_reorder]='udp[8] = 0x0c' [router_duplicate]='udp[8] = 0x0c'
)

# hash FILE FILTER: "frames bytes hash" of the frames that pass
hash() {
	# Without it, the copy of another file would be used if this one is absent.
	rm -f "$tmp/filtered.pcap"
	tcpdump -r "$1" -w "$tmp/filtered.pcap" "$2" 2>/dev/null
	"$SOFTHCA_FRAMES" --hash "$tmp/filtered.pcap"
}

frames() { hash "$@" | cut -d' ' -f1; }

# counted FILE DEVICE: packets that rxe sent and accepted; with "udp", packets passed to it instead.
counted() {
	awk -v d="$2" -v udp="${3-}" '
		$1 == "hw" && $2 == d && $3 == "sent_pkts" {n += $4}
		$1 == "hw" && $2 == d && $3 == "rcvd_pkts" && !udp {n += $4}
		$1 == "udp" && udp {n += $3}
		END {print n + 0}' "$1"
}

grown() { echo $(($(counted "$1.after" "$2" "${3-}") - $(counted "$1.before" "$2" "${3-}"))); }

# holds KIND WHAT SIDE
holds() { [[ " $1 " =~ " $2="[ab]*$3 || " $1 " =~ " $2="$3 ]]; }

# The program's report of its frames, and the expected one.
account() {
	jq -r '"\(.sources[0].kind) delivered \(.frames.delivered) written \(.frames.written) dropped " +
		"\(.frames.dropped.buffer_full + .frames.dropped.output) lost \(.lost_before_us.frames) " +
		"known \(.lost_before_us.known) by \(.ended_by)"' "$1"
}

# check_drops DIRECTORY SIDE NAME: its frames and its reported loss together are tcpdump's frames.
check_drops() {
	local at=$1/$2 n lost
	n=$(frames "$at.rdmadump.pcapng" "$roce")
	lost=$(jq .lost_before_us.frames "$at.report.json")
	[ "$lost" -gt 0 ]
	ok "$3, $2: frames were lost ($lost)"
	is "$3, $2: as many as tcpdump has more" "$lost" $(($(frames "$at.tcpdump.pcap" "$roce") - n))
	is "$3, $2: the file has what the report says" "$(jq .frames.written "$at.report.json")" \
		"$("$SOFTHCA_FRAMES" --hash "$at.rdmadump.pcapng" | cut -d' ' -f1)"
	is "$3, $2: the programs did what they should" "$(cat "$at.failures")" 0
	compared=$((compared + n))
}

# differences PREFIX: which frames are not the same in both files, as comments
differences() {
	diff <(tcpdump -ttnxxr "$1.rdmadump.pcapng" "$noise" 2>/dev/null) \
		<(tcpdump -ttnxxr "$1.tcpdump.pcap" "$noise" 2>/dev/null) | head -n 60 | sed 's/^/# /'
}

# check_end DIRECTORY NAME SIDE KIND
check_end() {
	local at=$1/$3 name="$2, $3" device all ours n end=signal losses="0 known true"
	[ "$2" != removed ] || end=fault
	# No counter counts the frames that are lost when a link goes down; those of a removed netdev cannot be read.
	case $2$3 in link_flapa | removeda) losses="null known false" ;; esac
	device=$(jq -r '.sources[0].device' "$at.report.json" 2>/dev/null)
	ours=$(hash "$at.rdmadump.pcapng" "$noise")
	is "$name: the frames of tcpdump" "${ours:-no capture}" "$(hash "$at.tcpdump.pcap" "$noise")"
	[ "$ours" = "$(hash "$at.tcpdump.pcap" "$noise")" ] || differences "$at"
	compared=$((compared + $(cut -d' ' -f1 <<<"${ours:-0}")))
	n=$(frames "$at.rdmadump.pcapng" "$roce")
	if holds "$4" arrives "$3"; then
		is "$name: as many RoCE frames as rxe sent and was given" "$n" "$(grown "$at" "$device" udp)"
	fi
	if holds "$4" accepts "$3"; then
		is "$name: as many RoCE frames as sent_pkts and rcvd_pkts" "$n" "$(grown "$at" "$device")"
	fi
	[ "$(frames "$at.rdmadump.pcapng" "${must_see[$2]}")" -gt 0 ]
	ok "$name: what it is about is among them (${must_see[$2]})"
	all=$("$SOFTHCA_FRAMES" --hash "$at.rdmadump.pcapng" | cut -d' ' -f1)
	is "$name: its own account" "$(account "$at.report.json")" \
		"netdev delivered $all written $all dropped 0 lost $losses by $end"
	is "$name: the programs did what they should" "$(cat "$at.failures")" 0
	[ "$(cat "$at.failures")" = 0 ] || sed 's/^/# /' "$at.log"
}

# check_scenarios SHARE NAME...
check_scenarios() {
	local share=$1 name side kind
	shift
	for name in "$@"; do
		kind=$(cat "$share/$name/kind" 2>/dev/null)
		if [ -z "$kind" ] || [ -z "${must_see[$name]-}" ]; then
			false
			ok "$name: it ran and is known"
			continue
		fi
		scenarios=$((scenarios + 1))
		for side in a b; do
			[ "$side" = b ] && [ ! -e "$share/$name/b.failures" ] && [ "${lone-}" = 1 ] && continue
			if holds "$kind" drops "$side"; then
				check_drops "$share/$name" "$side" "$name"
			else
				check_end "$share/$name" "$name" "$side" "$kind"
			fi
		done
		case $kind in
		*ends=apart)
			[ "$(frames "$share/$name/a.rdmadump.pcapng" "$roce")" != \
				"$(frames "$share/$name/b.rdmadump.pcapng" "$roce")" ]
			ok "$name: the ends saw different things"
			;;
		*ends=same)
			is "$name: the ends saw as many" "$(frames "$share/$name/a.rdmadump.pcapng" "$roce")" \
				"$(frames "$share/$name/b.rdmadump.pcapng" "$roce")"
			;;
		esac
		check_analysis "$share/$name" "$name" "$kind"
	done
}

# names SCRIPT: the scenarios that it says are all
names() { awk -v RS='"' 'found {print; exit} /(^|\n)all=$/ {found = 1}' "$1"; }

# machines N SECONDS SCRIPT [ARGUMENTS...]: boots machines and stores their files in $tmp/N. It ends with 99
# where one ended without output, 98 without a network, 97 after waiting for another one.
machines() {
	local n=$1 seconds=$2 script=$3
	shift 3
	"$here/run" -n "$n" -t "$seconds" -x "$RDMADUMP" -x "$here/counters.sh" \
		-x "$here/../e2e/same_facts.sh" ${also[@]+"${also[@]}"} -o "$tmp/$n" "$here/$script" "$@" >"$tmp/$n.out" 2>&1
	ok "$n machine(s) ran $script" "$tmp/$n.out"
}

# wants LEAST NAME...: an empty list of names would check nothing
wants() {
	[ $(($# - 1)) -ge "$1" ]
	ok "$(($# - 1)) scenarios, at least $1"
}

# check_bundle FILE NAME: its manifest
check_bundle() {
	local at=$tmp/bundle
	rm -rf "$at" && mkdir "$at" && tar --zstd --strip-components=1 -C "$at" -xf "$1" >"$tmp/bundle.log" 2>&1
	ok "$2: tar reads it" "$tmp/bundle.log"
	jq -r '.members[] | select(.sha256) | "\(.sha256)  \(.name)"' "$at/manifest.json" >"$tmp/sums"
	[ "$(wc -l <"$tmp/sums")" -gt 50 ] && (cd "$at" && sha256sum --quiet -c "$tmp/sums") >"$tmp/bundle.log" 2>&1
	ok "$2: SHA-256 of every member" "$tmp/bundle.log"
}

# check_bundle_qps NAME: the queue pairs that were open, of the bundle that check_bundle unpacked
check_bundle_qps() {
	is "$1: the queue pairs that were open, and their processes" \
		"$(jq -sc 'map(.identity.name as $name | .resources.qps[] | select(.type == "RC" and .state == "RTS") | [$name, .comm, .pid]) | group_by(.) | map([.[0][0, 1], .[0][2] > 0, length])' \
			"$tmp"/bundle/rdmadump/info-*.json)" '[["rxe_a","traffic",true,3],["rxe_b","traffic",true,3]]'
}

# take_verdicts NAME LEAST: the results that the script of one machine printed, LEAST at least
take_verdicts() {
	while IFS= read -r line; do
		case $line in
		"a: ok "*) true; ok "$1: ${line#a: ok }" ;;
		"a: not ok "*) false; ok "$1: ${line#a: not ok }" ;;
		"a: # "*) echo "${line#a: }" ;;
		esac
	done <"$tmp/1.out"
	[ "$(grep -cE '^a: (not )?ok ' "$tmp/1.out")" -ge "$2" ]
	ok "$1: every verdict was given" "$tmp/1.out"
}

# check_owners DIRECTORY NAME: the owners that owners.sh left there
check_owners() {
	local at=$1/$2 got short
	got=$(python3 "$here/owners.py" "$at.pcapng" "$at.truth" "$at.ended" "$at.alive")
	echo "# owners, $2: $got"
	read -r _ long _ all _ short _ short_all _ <<<"${got//,/ }"
	is "owners, $2: the capture's exit status" "$(cat "$at.exit")" 0
	is "owners, $2: all long-lived ones" "$long" "$all"
	[[ $got = *"wrong 0, ranks wrong 0 "* ]]
	ok "owners, $2: none is wrong, nor a rank"
	[ "$2" = samples ] || {
		[ "$((short * 100))" -ge "$((short_all * 95))" ] && [ "$short_all" -ge 24 ]
		ok "owners, $2: at least 95 % of the short-lived ones ($short of $short_all)"
		[[ $got =~ ", ended "([0-9]+)", brief 0, lost 0"$ ]] && [ "${BASH_REMATCH[1]}" -ge 8 ]
		ok "owners, $2: each for as long as it lived, no report lost ($got)"
	}
}

# check_owners_pair DIRECTORY: the owners that `analyze` names at both ends of what owners_pair.sh left there
check_owners_pair() {
	local at=$1 side long long_all short short_all wrong remote
	"$RDMADUMP" analyze --json "$at/a.pcapng" "$at/b.pcapng" >"$at/both.json"
	ok "owners of two machines: the analysis"
	for side in a b; do
		read -r side _ long _ long_all _ short _ short_all _ wrong _ remote _ < <(
			paste -d" " <(printf 'a\nb\n') <(python3 "$here/owners_pair.py" "$at/both.json" \
				"$at/a.truth" "$at/a.pcapng" "$at/b.truth" "$at/b.pcapng" | tr -d ,) | grep "^$side ")
		echo "# owners of two machines, $side: long $long of $long_all, short $short of $short_all, wrong $wrong, remote number of $remote"
		is "owners of two machines, $side: all long-lived ones, none wrong" "$long of $long_all, $wrong" "32 of 32, 0"
		[ "$((short * 100))" -ge "$((short_all * 95))" ] && [ "$short_all" -ge 64 ]
		ok "owners of two machines, $side: at least 95 % of the short-lived ones ($short of $short_all)"
		[ "$((remote * 100))" -ge "$((short_all * 95))" ]
		ok "owners of two machines, $side: ... their remote numbers ($remote)"
	done
}

export VM_BIN
also=() # more files to take along
if [ -n "${VM_SERVICE-}" ]; then
	need_tool systemctl journalctl
	units=/lib/systemd/system
	for f in /lib/systemd/systemd /lib/systemd/systemd-journald "$(command -v systemctl)" "$(command -v journalctl)" \
		$units/{systemd-journald.service,systemd-journald.socket,sysinit.target,basic.target,shutdown.target,sockets.target} \
		"$VM_BIN/../../systemd/rdmadump-record@.service" "$VM_BIN/../../rdmadump-analyze" "$VM_BIN/../unit/owned_qps_tool"; do
		also+=(-x "$f")
	done
	machines 1 "${VM_SECONDS:-900}" record.sh
	take_verdicts "a service" 17
	tap_done
fi
if [ -n "${VM_APPARMOR-}" ]; then
	need_tool apparmor_parser
	apparmor_parser -SKq "$here/../../packaging/apparmor/usr.bin.rdmadump" >"$tmp/profile" 2>"$tmp/log"
	ok "the profile is compiled" "$tmp/log"
	also=(-x "$tmp/profile" -x "$VM_BIN/../../rdmadump-analyze" -x "$VM_BIN/../../rdmadump-bundle")
	machines 1 "${VM_SECONDS:-900}" apparmor.sh
	take_verdicts "AppArmor" 13
	tap_done
fi
if [ -n "${VM_NVME-}" ]; then
	need_tool tshark editcap
	machines 2 "${VM_SECONDS:-900}" nvme.sh
	check_scenarios "$tmp/2" nvme_load
	check_nvme_load "$tmp/2/nvme_load/b.rdmadump.pcapng"
	tap_done
fi
if [ -n "${VM_QUICK-}" ]; then
	wanted="rc_send bad_rkey write_loss"
else
	wanted=$(names "$here/pair.sh")
	# shellcheck disable=SC2086 # a list of names
	wants 33 $wanted
fi
# shellcheck disable=SC2086 # a list of names
machines 2 "${VM_SECONDS:-900}" pair.sh $wanted
# shellcheck disable=SC2086 # a list of names
check_scenarios "$tmp/2" $wanted

VM_MEMORY=256 machines 5 "${VM_SECONDS:-900}" hosts.sh all_well one_path:c:b
check_hosts "$tmp/5/all_well"
check_hosts "$tmp/5/one_path" 3 2

if [ -z "${VM_QUICK-}" ]; then
	# shellcheck disable=SC2046 # a list of names
	wants 4 $(names "$here/router.sh")
	machines 3 "${VM_SECONDS:-900}" router.sh
	# shellcheck disable=SC2046 # a list of names
	check_scenarios "$tmp/3" $(names "$here/router.sh")

	also=(-x "$VM_BIN/../../rdmadump-bundle" -x "$VM_BIN/../../rdmadump-selftest")
	machines 1 "${VM_SECONDS:-900}" one.sh
	take_verdicts "one machine" 42
	check_bundle "$tmp/1/root.tar.zst" "bundle by root"
	check_bundle_qps "bundle by root"
	check_bundle "$tmp/1/nobody.tar.zst" "bundle by nobody"
	check_bundle_qps "bundle by nobody"
	is "one machine: list knows both devices" \
		"$(jq -r '.devices[] | "\(.name) \(.driver) \(.ports[0].netdevs[0].name) \(.ports[0].capture.verdict)"' \
			"$tmp/1/list.json" | tr '\n' ' ')" "rxe_a rdma_rxe va netdev rxe_b rdma_rxe vb netdev "
	lone=1 check_scenarios "$tmp/1" veth removed

	machines 1 "${VM_SECONDS:-900}" events.sh
	take_verdicts "events" 39

	machines 1 "${VM_SECONDS:-900}" selftest.sh
	take_verdicts "selftest" 20

	also=(-x "$VM_BIN/../unit/owned_qps_tool")
	machines 1 "${VM_SECONDS:-900}" owners.sh
	also=()
	for name in events dropped samples; do
		check_owners "$tmp/1" $name
	done
	is "owners: reports of the kernel need no message" "$(grep -c owners "$tmp"/1/{events,dropped}.log | cut -d: -f2 | sort -u)" 0
	has "owners: what is missing without privileges is said" "$tmp/1/samples.log" "short-lived ones may be missed: .*CAP_BPF and CAP_PERFMON"

	also=(-x "$VM_BIN/../unit/owned_qps_tool")
	machines 2 "${VM_SECONDS:-900}" owners_pair.sh
	also=()
	check_owners_pair "$tmp/2"

fi
echo "# $scenarios scenarios on a real kernel, $compared frames compared"
tap_done
