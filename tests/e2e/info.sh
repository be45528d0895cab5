#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump info` over each tree of tests/data/sysfs against the output kept with it; the conditions of a capture on
# modelled devices; the same facts as other tools give. UPDATE_GOLDEN=1 rewrites the kept output.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
need_tool jq
here=$(cd "$(dirname "$0")" && pwd)
LC_ALL=C
export LC_ALL

squeezed() { sed -E 's/  +/ /g; s/^ //; /^$/d'; }

for archive in "$TEST_DATA"/sysfs/*.tar.gz "$TEST_DATA"/sysfs/functions/*.tar.gz; do
	tree=$(basename "$archive" .tar.gz)
	kept=$tmp/$tree/info
	mkdir "$tmp/$tree"
	tar -xzf "$archive" -C "$tmp/$tree" || exit 1
	: >"$tmp/text"
	: >"$tmp/brief"
	: >"$tmp/json"
	for device in $("$RDMADUMP" list --json --sysroot "$tmp/$tree" | jq -r '.devices[].name'); do
		"$RDMADUMP" info -v --sysroot "$tmp/$tree" "$device" >>"$tmp/text" 2>&1
		"$RDMADUMP" info --sysroot "$tmp/$tree" "$device" >>"$tmp/brief" 2>&1
		"$RDMADUMP" info --json --sysroot "$tmp/$tree/" "$device" >>"$tmp/json" 2>&1
	done
	fits "$tree, schema" info - < <(jq -c . "$tmp/json")
	sed -i '/^  "program": /d; /^  "start_ns": /d' "$tmp/json"
	[ -z "${UPDATE_GOLDEN-}" ] || { cp "$tmp/text" "$kept.txt" && cp "$tmp/json" "$kept.json" && "$here/../pack" pack "$tmp/$tree" "$archive"; }
	holds "$tree, text" diff -u "$kept.txt" "$tmp/text"
	# Without -v, the netdevs whose DCB was not queried are left out, and columns are narrower.
	holds "$tree, text without -v" diff <(grep -v '^  DCB  .*: not queried: ' "$kept.txt" | squeezed) <(squeezed <"$tmp/brief")
	holds "$tree, json" diff -u "$kept.json" "$tmp/json"
done

# failure NAME STATUS WORDS ARGUMENT...
failure() {
	local name=$1 want=$2 words=$3
	shift 3
	"$RDMADUMP" info "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? = "$want" ] && grep -qF -- "$words" "$tmp/err" && [ ! -s "$tmp/out" ]
	ok "$name" "$tmp/err"
}
failure "several devices, none named" 1 "name one of them" --sysroot "$tmp/mlx5-eth"
failure "no such device" 2 "there are: mlx5_0" --sysroot "$tmp/mlx5-eth" mlx5_7
failure "a word too many" 1 "unexpected argument 'mlx5_1'" mlx5_0 mlx5_1
failure "no tree" 2 "no directory 'sys'" --sysroot "$tmp/absent"
"$RDMADUMP" info --sysroot "$tmp/mlx5-ib" >/dev/full 2>"$tmp/err"
is "no room for the output" "$?" 3
"$RDMADUMP" info --sysroot "$tmp/mlx5-eth" enp59s0f1np1 | head -n 1 >"$tmp/out"
has "named by netdev" "$tmp/out" '^mlx5_1: ConnectX-5'
"$RDMADUMP" info --sysroot "$tmp/mlx5-switchdev" 3b:00.2 | head -n 1 >"$tmp/out"
has "named by PCI address" "$tmp/out" '^mlx5_2: '

# Lists of many features are wrapped in their column.
TERM=xterm script -qec "stty cols 80 rows 24; '$SOFTHCA' -- '$RDMADUMP' info mlx5_0" /dev/null </dev/null 2>&1 | tr -d '\r' >"$tmp/out"
is "80 columns" "$(grep -c '^  device features  *BAD_PKEY_CNTR' "$tmp/out") $(grep -c '^.\{81\}' "$tmp/out") $(grep -c '^ \{47\}SYS_IMAGE_GUID, ' "$tmp/out")" "1 0 1"

COLUMNS=120 script -qec "'$SOFTHCA' -- '$RDMADUMP' info mlx5_0" /dev/null </dev/null 2>&1 | tr -d '\r' >"$tmp/out"
is "\$COLUMNS" "$(grep -q '^.\{81\}' "$tmp/out"; echo $?) $(grep -c '^.\{121\}' "$tmp/out")" "0 0"

# The device's own answers. One line: name | device | verdict | check=answer ...
while IFS='|' read -r name device verdict checks; do
	model --dev "$device" -- "$RDMADUMP" info --json mlx5_0 >"$tmp/json" 2>"$tmp/err"
	got=$(jq -r '.ports[0].capture | .verdict, (.checks[] | .key + "=" + .answer)' "$tmp/json" | tr '\n' ' ')
	wanted=$verdict
	all=1
	for check in $verdict $checks; do [[ " $got" == *" $check "* ]] || all=0; done
	is "$name" "$all" 1
	[ "$all" = 1 ] || echo "# got $got, want $wanted $checks"
done <<'END'
mlx5 Ethernet, all capabilities|link=eth|yes|sniffer=yes shared_tir=yes sniffer_rx=yes sniffer_tx=yes opened=yes
no shared receive target|caps=sniffer_rx+sniffer_tx|netdev|shared_tir=no sniffer_rx=yes sniffer_tx=yes
no table for received frames|caps=shared_tir+sniffer_tx|netdev|shared_tir=yes sniffer_rx=no sniffer_tx=yes
no table for sent frames|caps=shared_tir+sniffer_rx|netdev|shared_tir=yes sniffer_rx=yes sniffer_tx=no
no capability at all|caps=none|netdev|shared_tir=no sniffer_rx=no sniffer_tx=no
no flow tables|caps=shared_tir+sniffer_rx+sniffer_tx+no_flow_table|netdev|flow_tables=no
no DEVX|devx=no|yes|shared_tir=unknown sniffer_rx=unknown sniffer_tx=unknown
mlx5 InfiniBand|link=ib|no|sniffer=no ib_port_sniffer=no
mlx5 InfiniBand that says it could|link=ib,caps=all|no|sniffer=no ib_port_sniffer=yes
END
for check in $(jq -r '.ports[0].capture.checks[] | select(.answer == "no" and .todo == null) | .key' "$tmp/json"); do
	ok_todo=no
	echo "# '$check' is no and says not what to do"
done
holds "there is a 'no'" [ "$(jq '[.ports[0].capture.checks[] | select(.answer == "no")] | length' "$tmp/json")" -gt 0 ]
is "each 'no' says what to do" "${ok_todo-yes}" yes

model -- "$RDMADUMP" info --json >"$tmp/json"
fits "modelled device, schema" info - < <(jq -c . "$tmp/json")
is "PSID as the device itself says" "$(json "$tmp/json" .identity.device_psid)" MT_0000000010
is "firmware as verbs say, features as libmlx5 says" "$(json "$tmp/json" '.firmware.verbs + " " + .provider.flags')" "16.35.2000 CQE_V1"
is "why open QPs are not known" "$(json "$tmp/json" '.resources.unknown | length > 0')" true

# A capture's queue pair
# shellcheck disable=SC2016 # for the inner shell
model --dev name=mlx5_0,netlink=yes --gen count=100,size=200 -- bash -c '
	"$1" -d mlx5_0 -q -Z root -U -w "$2/held.pcapng" 2>"$2/held.err" &
	echo $! >"$2/pid"
	wait_for test -s "$2/held.pcapng"
	"$1" info --json >"$2/json" && "$1" info >"$2/text"
	kill -INT $!
	wait $!' - "$RDMADUMP" "$tmp" 2>"$tmp/err"
is "how many queue pairs are open" "$(jq -c .resources.counts "$tmp/json")" '{"qp":1}'
is "... and whose" "$(jq -c '[.resources.qps[] | .type, .comm, .pid]' "$tmp/json")" "[\"RAW_PACKET\",\"rdmadump\",$(<"$tmp/pid")]"
has "... as text" "$tmp/text" "^ +0x[0-9a-f]{6} +RAW_PACKET +RTR .* $(<"$tmp/pid") \(rdmadump\)$"

model --fault verb=open_device,errno=EACCES -- "$RDMADUMP" info --json >"$tmp/json"
is "a device that cannot be opened is described" "$(json "$tmp/json" .identity.board_id)" MT_0000000010
has "and it is said why and what to do" "$tmp/json" 'cannot open mlx5_0: Permission denied; .*run as root'

# Switchdev mode before Linux 5.10: refused, unless forced. Arguments: release of the kernel, switch id, command. $taint: of mlx5_ib.
model --keep "$tmp/kept" --gen count=100 --at-end sigint -- true
mkdir -p "$tmp/kept/sys/kernel" "$tmp/kept/sys/module/mlx5_ib"
switchdev() {
	echo "$1" >"$tmp/kept/sys/kernel/osrelease"
	echo "$2" >"$tmp/kept/sys/devices/pci0000:00/0000:01:00.0/net/enp1s0f0np0/phys_switch_id"
	echo "${taint-}" >"$tmp/kept/sys/module/mlx5_ib/taint"
	shift 2
	on_tree "$tmp/kept" "$@" >"$tmp/out" 2>"$tmp/err"
}
switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" list
has "switchdev mode on Linux 5.4: list says no" "$tmp/out" 'no: Linux before 5\.10 fails when a sniffer starts in switchdev mode; update the kernel'
switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" info --json
is "switchdev mode on Linux 5.4: info says no" "$(json "$tmp/out" '.ports[0].capture.checks[] | select(.key == "switchdev").answer')" no
is "its verdict" "$(json "$tmp/out" '.ports[0].capture.verdict')" no
switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" -d mlx5_0 -w "$tmp/refused.pcapng"
exits "switchdev mode on Linux 5.4: no capture" 2 "$tmp/err" 'mlx5_0 port 1 is not captured: .*; .*--force'
holds "and no file" [ ! -e "$tmp/refused.pcapng" ]
switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" -d mlx5_0 --force -q -w "$tmp/forced.pcapng"
is "forced: a capture" "$?" 0
holds "and its file" [ -s "$tmp/forced.pcapng" ]
switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" record mlx5_0 -w "$tmp/recorded.pcapng"
exits "record: refused, too" 2 "$tmp/err" "not captured: .*'rdmadump capture --netdev'.* --force"
switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" record --force mlx5_0 -w "$tmp/recorded.pcapng"
is "... forced: a recording" "$? $(grep -c 'memory for frames' "$tmp/err")" "0 1"
for case in "5.10.0|08775b0003a1420c" "6.1.0-53-amd64|08775b0003a1420c" "5.4.0|" "unreadable|08775b0003a1420c"; do
	switchdev "${case%|*}" "${case#*|}" "$RDMADUMP" list
	has "release ${case%|*}, switch id '${case#*|}': yes" "$tmp/out" "yes: this function's traffic"
done
# The driver may be newer than the kernel's number
for case in "5.4.0-42-generic|OE" "4.18.0-553.el8_10.x86_64|" "5.4.17-2136.307.3.el8uek.x86_64|" "5.3.18-150300.59.43-default|"; do
	taint=${case#*|} switchdev "${case%|*}" 08775b0003a1420c "$RDMADUMP" list
	has "release ${case%|*}, taint '${case#*|}': list is not sure" "$tmp/out" 'yes: before Linux 5\.10 a sniffer failed in switchdev mode, but this driver may have the fix'
done
for case in "5.4.0-42-generic|" "4.19.0-27-amd64|" "5.4.0-models-generic|E"; do
	taint=${case#*|} switchdev "${case%|*}" 08775b0003a1420c "$RDMADUMP" list
	has "release ${case%|*}, taint '${case#*|}': the kernel's own driver: no" "$tmp/out" 'no: Linux before 5\.10 fails'
done
taint=OE switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" info --json
is "another driver: info is not sure" "$(json "$tmp/out" '.ports[0].capture | [.verdict, (.checks[] | select(.key == "switchdev").answer)] | join(" ")')" "yes unknown"
taint=OE switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" -d mlx5_0 -w "$tmp/unsure.pcapng"
exits "another driver: a capture" 0 "$tmp/err" 'warning: mlx5_0 port 1: before Linux 5\.10 a sniffer failed in switchdev mode, but this driver may have the fix'
taint=OE switchdev 5.4.0-42-generic 08775b0003a1420c "$RDMADUMP" -d mlx5_0 --force -w "$tmp/unsure2.pcapng"
lacks "... and without one if forced" "$tmp/err" warning

if command -v setpriv >/dev/null; then
	model -- setpriv --bounding-set=-net_raw --inh-caps=-net_raw "$RDMADUMP" info >"$tmp/out" 2>&1
	has "without CAP_NET_RAW: what to do" "$tmp/out" 'privilege +no +CAP_NET_RAW is missing; run as root'
	model -- setpriv --bounding-set=-net_raw --inh-caps=-net_raw "$RDMADUMP" list -v >"$tmp/out" 2>&1
	has "without CAP_NET_RAW: the list says so" "$tmp/out" ' with CAP_NET_RAW: run as root or setcap'
else
	skip "without CAP_NET_RAW" "setpriv is not installed"
	skip "without CAP_NET_RAW: the list says so" "setpriv is not installed"
fi

# The tools around a sanitized build are loaded with its library, and leak at exit.
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
missing=
for tool in ibv_devinfo ibstat ibstatus; do command -v $tool >/dev/null || missing="$missing $tool"; done
if [ -z "$missing" ]; then
	model --dev name=mlx5_0 \
		--dev name=mlx5_1,ports=2,link=ib+eth,lid=5+0,sm_lid=1+0,rate=200+25,state=active+down,devid=1021 \
		-- sh "$here/same_facts.sh" >"$tmp/same" 2>&1
	is "the same facts as other tools" "$?/$(grep -c '^ok' "$tmp/same")" 0/8
	grep '^#\|^not' "$tmp/same"
	# The comparison must notice a wrong value.
	cat >"$tmp/lying" <<END
#!/bin/sh
"$RDMADUMP" "\$@" | sed 's/"max_qp": 131072/"max_qp": 131073/; s/"active_mtu": 1024/"active_mtu": 2048/'
END
	chmod +x "$tmp/lying"
	RDMADUMP=$tmp/lying model -- sh "$here/same_facts.sh" mlx5_0 >"$tmp/same" 2>&1
	grep -q "max_qp: we say 131073, they say 131072" "$tmp/same" &&
		grep -q "active_mtu: we say 2048, they say 1024" "$tmp/same"
	ok "the comparison notices what differs" "$tmp/same"
else
	skip "the same facts as other tools" "not installed:$missing"
	skip "the comparison notices what differs" "not installed:$missing"
fi
tap_done
