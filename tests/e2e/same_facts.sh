#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares `rdmadump info` of a device, field by field, with ibv_devinfo, ibstat, ibstatus, rdma link and
# rdma resource, as far as these are there. Needs sh, awk, sed and sort only: runs in a small machine, too.
# Usage: same_facts.sh [DEVICE]; RDMADUMP names the program. Output: TAP.
set -u
LC_ALL=C
export LC_ALL
rdmadump=${RDMADUMP:-rdmadump}
n=0
failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# Both sides become lines "key=value": numbers decimal, words in lower case, GIDs written out.
functions='
function num(text,   i, v, digit) {
	text = tolower(text)
	if (text !~ /^0x/) return text + 0
	if (length(text) > 14) return text
	v = 0
	for (i = 3; i <= length(text); i++) {
		digit = index("0123456789abcdef", substr(text, i, 1)) - 1
		v = v * 16 + digit
	}
	return sprintf("%.0f", v)
}
function gid(text,   part, k, i, left, right, out, four) {
	if (text ~ /\./) {
		k = match(text, /[0-9]+\.[0-9.]+$/)
		split(substr(text, k), four, ".")
		text = substr(text, 1, k - 1) sprintf("%x:%x", four[1] * 256 + four[2], four[3] * 256 + four[4])
	}
	i = index(text, "::")
	if (i) {
		left = substr(text, 1, i - 1); right = substr(text, i + 2)
		k = 8 - (left == "" ? 0 : split(left, part, ":")) - (right == "" ? 0 : split(right, part, ":"))
		out = left
		while (k-- > 0) out = out (out == "" ? "" : ":") "0"
		text = out (right == "" ? "" : ":" right)
	}
	k = split(text, part, ":"); out = ""
	for (i = 1; i <= k; i++) out = out (i > 1 ? ":" : "") substr("0000" tolower(part[i]), length(part[i]) + 1)
	return out
}
function say(key, value) { if (value != "" && value != "null") print prefix key "=" value }
'

# The JSON is printed with one member per line.
ours() {
	"$rdmadump" info --json "$1" >"$tmp/json" || return 1
	awk "$functions"'
	BEGIN { n = split("vendor_id vendor_part_id hw_ver phys_port_cnt max_qp max_qp_wr max_sge max_sge_rd max_cq max_cqe max_mr max_pd max_mw max_ah max_srq max_srq_wr max_srq_sge max_qp_rd_atom max_qp_init_rd_atom max_res_rd_atom max_mcast_grp max_mcast_qp_attach max_raw_ethy_qp max_pkeys local_ca_ack_delay max_mr_size page_size_cap max_wq_type_rq max_rwq_indirection_tables max_rwq_indirection_table_size active_mtu max_mtu cap_mask", name, " ")
		for (i = 1; i <= n; i++) number[name[i]] = 1 }
	!/^ *"/ { next }
	{
		key = $0; sub(/^ *"/, "", key); sub(/".*/, "", key)
		value = $0; sub(/^[^:]*: */, "", value); sub(/,$/, "", value)
		gsub(/^"|"$/, "", value)
	}
	key == "ports" { ports = 1 }
	key == "limits" { ports = 0; prefix = "" }
	key == "resources" { resources = 1 }
	resources && key == "lqpn" { lqpn = value }
	resources && key == "type" { type = value }
	resources && key == "state" { state = value }
	resources && key == "rqpn" { rqpn = value == "null" ? "-" : value }
	resources && key == "pid" { print "qp." lqpn "=" type " " state " " rqpn " " (value == "null" ? "-" : value) }
	resources { next }
	ports && key == "port" { prefix = "p" value "." }
	key in number { if (value != "null") say(key, num(value)) }
	!ports && (key == "node_guid" || key == "sys_image_guid") { gsub(/:/, "", value); say(key, value) }
	key == "board_id" || key == "hca_type" { say(key, value) }
	(key == "sysfs" || (key == "verbs" && !done)) && value !~ /[{]/ { say(key == "sysfs" ? "fw_sysfs" : "fw_verbs", value); done = key == "verbs" }
	key == "atomics" { say(key, value) }
	key == "device_cap_flags" { gsub(/bit [0-9]+/, "", value); gsub(/, */, " ", value); gsub(/^ +| +$/, "", value); say(key, value) }
	ports && (key == "state" || key == "phys_state") { say(key, value) }
	ports && key == "bits_per_second" { say(key, value) }
	ports && key == "link" { say(key, value == "RoCE" ? "ethernet" : value == "IB" ? "infiniband" : tolower(value)) }
	ports && (key == "lid" || key == "sm_lid" || key == "lmc") { say(key, value == "null" ? 0 : value) }
	ports && key == "index" { place = value }
	ports && key == "gid" { address = gid(value) }
	ports && key == "type" { say("gid" place, address " " value) }
	' "$tmp/json"
}

ibv_devinfo_facts() {
	ibv_devinfo -v -d "$1" | awk "$functions"'
	{ line = $0; sub(/^[ \t]+/, "", line) }
	flags && line ~ /^[A-Z0-9_]+$/ { list = list (list == "" ? "" : " ") line; next }
	flags { say("device_cap_flags", list); flags = 0 }
	line !~ /:/ { next }
	{ key = line; sub(/:.*/, "", key); value = line; sub(/^[^:]*:[ \t]*/, "", value) }
	key == "device_cap_flags" { flags = 1; list = "" }
	key == "port" { prefix = "p" value "." ; next }
	key == "fw_ver" { say("fw_verbs", value) }
	key == "node_guid" || key == "sys_image_guid" { gsub(/:/, "", value); say(key, value) }
	key == "board_id" { say(key, value) }
	key ~ /^(vendor_id|vendor_part_id|hw_ver|phys_port_cnt|max_(qp|qp_wr|sge|sge_rd|cq|cqe|mr|pd|mw|ah|srq|srq_wr|srq_sge|qp_rd_atom|qp_init_rd_atom|res_rd_atom|mcast_grp|mcast_qp_attach|raw_ethy_qp|pkeys|mr_size|wq_type_rq|rwq_indirection_tables|rwq_indirection_table_size)|local_ca_ack_delay|page_size_cap)$/ { say(key, num(value)) }
	key == "active_mtu" || key == "max_mtu" { sub(/ .*/, "", value); say(key, value) }
	key == "atomic_cap" { split("none:within the HCA:with the whole system", word, ":"); sub(/.*[(]/, "", value); say("atomics", word[value + 1]) }
	key == "state" { sub(/^PORT_/, "", value); sub(/ .*/, "", value); say(key, tolower(value)) }
	key == "phys_state" { sub(/ *[(].*/, "", value); gsub(/_/, " ", value); say(key, tolower(value)) }
	key == "port_lid" { say("lid", num(value)) }
	key == "sm_lid" { say("sm_lid", num(value)) }
	key == "port_lmc" { say("lmc", num(value)) }
	key == "link_layer" { say("link", tolower(value)) }
	key == "active_width" { width = value + 0 }
	key == "active_speed" { say("bits_per_second", sprintf("%.0f", width * value * 1000000000)) }
	key ~ /^GID\[/ {
		place = key; gsub(/[^0-9]/, "", place)
		type = value ~ /,/ ? value : "IB"; sub(/^[^,]*, */, "", type); sub(/,.*/, "", value)
		say("gid" place, gid(value) " " type)
	}'
}

ibstat_facts() {
	ibstat "$1" | awk "$functions"'
	{ line = $0; sub(/^[ \t]+/, "", line) }
	line ~ /^Port [0-9]+:$/ { prefix = "p" substr(line, 6) + 0 "."; next }
	{ key = line; sub(/:.*/, "", key); value = line; sub(/^[^:]*:[ \t]*/, "", value) }
	value == "" { next }
	key == "CA type" { say("hca_type", value) }
	key == "Number of ports" { say("phys_port_cnt", value) }
	key == "Firmware version" { say("fw_sysfs", value) }
	key == "Node GUID" { say("node_guid", substr(value, 3)) }
	key == "System image GUID" { say("sys_image_guid", substr(value, 3)) }
	key == "State" { say("state", tolower(value)) }
	key == "Physical state" { gsub(/[A-Z]/, " &", value); sub(/^ /, "", value); say("phys_state", tolower(value)) }
	key == "Base lid" { say("lid", num(value)) }
	key == "SM lid" { say("sm_lid", num(value)) }
	key == "LMC" { say("lmc", value) }
	key == "Capability mask" { say("cap_mask", num(value)) }
	key == "Link layer" { say("link", tolower(value)) }
	key == "Rate" && value !~ /^2$/ { say("bits_per_second", sprintf("%.0f", value * 1000000000)) }'
}

ibstatus_facts() {
	ibstatus "$1" | awk "$functions"'
	/^Infiniband device/ { prefix = "p" $5 "." ; next }
	{ line = $0; sub(/^[ \t]+/, "", line); key = line; sub(/:.*/, "", key)
	  value = line; sub(/^[^:]*:[ \t]*/, "", value) }
	key == "base lid" { say("lid", num(value)) }
	key == "sm lid" { say("sm_lid", num(value)) }
	key == "state" { sub(/^[0-9]+: /, "", value); say(key, tolower(value)) }
	key == "phys state" { sub(/^[0-9]+: /, "", value); gsub(/[A-Z]/, " &", value); sub(/^ /, "", value)
		if (value !~ /^[A-Z ]+$/) say("phys_state", tolower(value)) }
	key == "rate" { say("bits_per_second", sprintf("%.0f", value * 1000000000)) }
	key == "link_layer" { say("link", tolower(value)) }'
}

rdma_link_facts() {
	rdma link show 2>/dev/null | awk -v device="$1" "$functions"'
	{ split($2, name, "/"); if (name[1] != device) next; prefix = "p" name[2] "."
	  for (i = 3; i < NF; i++) {
		if ($i == "state") say("state", tolower($(i + 1)))
		if ($i == "physical_state") { v = tolower($(i + 1)); gsub(/_/, " ", v); say("phys_state", v) }
	  } }'
}

rdma_qp_facts() {
	rdma resource show qp 2>/dev/null | awk -v device="$1" '
	{ split($2, name, "/"); if (name[1] != device) next
	  lqpn = ""; type = "-"; state = "-"; rqpn = "-"; pid = "-"
	  for (i = 3; i < NF; i++) {
		if ($i == "lqpn") lqpn = $(i + 1)
		if ($i == "rqpn") rqpn = $(i + 1)
		if ($i == "type") type = $(i + 1)
		if ($i == "state") state = $(i + 1)
		if ($i == "pid") pid = $(i + 1)
	  }
	  if (lqpn != "") print "qp." lqpn "=" type " " state " " rqpn " " pid }'
}

result() { # status, name
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
	fi
}

# compare DEVICE TOOL LEAST FUNCTION: every line that both sides have must be the same, and these at least LEAST
compare() {
	if ! command -v "$2" >/dev/null; then
		n=$((n + 1))
		echo "ok $n - $1: $2 # SKIP not installed"
		return
	fi
	"$4" "$1" >"$tmp/theirs"
	awk -v least="$3" '
	NR == FNR { i = index($0, "="); ours[substr($0, 1, i - 1)] = substr($0, i + 1); next }
	{ i = index($0, "="); key = substr($0, 1, i - 1); value = substr($0, i + 1) }
	!(key in ours) { print "# only there: " $0; if (key ~ /^(qp|p[0-9]+\.gid[0-9])/) bad++; next }
	{ same += ours[key] == value }
	ours[key] != value { print "# " key ": we say " ours[key] ", they say " value; bad++ }
	END { print "# " same + 0 " fields are the same"; exit bad || same < least }' "$tmp/ours" "$tmp/theirs" >"$tmp/say"
	status=$?
	cat "$tmp/say"
	result $status "$1: same as $2 ($4)"
}

if [ $# -gt 0 ]; then
	devices=$*
else
	devices=$("$rdmadump" list --json | awk -F'"' '/^      "name"/ { print $4 }')
fi
[ -n "$devices" ] || { echo "not ok 1 - rdmadump list names a device"; echo "1..1"; exit 1; }
for device in $devices; do
	ours "$device" >"$tmp/ours"
	result $? "$device: rdmadump info"
	compare "$device" ibv_devinfo 45 ibv_devinfo_facts
	compare "$device" ibstat 9 ibstat_facts
	compare "$device" ibstatus 6 ibstatus_facts
	# The two below ask RDMA netlink, which the modelled device has not.
	if rdma link show 2>/dev/null | awk -v d="$device/" 'index($2, d) == 1 { found = 1 } END { exit !found }'; then
		compare "$device" rdma 2 rdma_link_facts
		compare "$device" rdma 1 rdma_qp_facts
	fi
done
echo "1..$n"
exit $failed
