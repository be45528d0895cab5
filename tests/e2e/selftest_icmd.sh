#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest --sniffer icmd: what each kind of firmware shows, by the probe that tests it, and nothing else; nothing is left.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq unshare
: "${SOFTHCA_GATEWAY:?path of softhca-gateway}"
as_root
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
cd "$tmp" || exit 1
clean='attached 0 semaphore 0 icmd 0 violations 0'
gen="--gen count=100000000,size=300,acks=1 --rate 2000"

# NAME EXPECTED LEFT GATEWAY OPTION...: of the model. EXPECTED "-": nothing; else: "probe:key" of what is found, "probe!" for one that fails; LEFT: rules that stay attached.
cases() {
	cat <<-LIST
		kind - 0 yes
		strict - 0 strict+by_qpn+relocks
		slow-attach attach:slow_commands 0 slow_attach:40
		slow-detach attach:slow_commands 0 slow_detach:40
		keeps+slow-attach attach:not_detached,attach:slow_commands 2 keeps+slow_attach:40
		third-attach attach! 0 status:5.7.7
		keeps attach:not_detached 2 keeps
		twice inside:rc_twice,inside:ud_twice 0 yes --loopback twice
		never inside:rc_not_seen,inside:ud_not_seen 0 yes --loopback never
		last-attach inside! 0 status:5.49
		slow-detach+twice attach:slow_commands,inside:rc_twice,inside:ud_twice 0 slow_detach:40 --loopback twice
		wiped - 0 wipes+strict+by_qpn+relocks
		refused attach! 0 sealed
	LIST
}
found() {
	jq -r '[.probes[] | .name as $p | if .outcome == "failed" then $p + "!" else (.found[] | $p + ":" + .key) end] | join(",")' "$1"
}
run() { # NAME EXPECTED GATEWAY OPTION...: its files in NAME.*
	local name=$1 gateway=$3
	shift 3
	mkdir "$name.out"
	# shellcheck disable=SC2086 # a list
	model --time "${time:-virtual}" --keep "$tmp/$name.tree" --stats "$tmp/$name.stats" --dev "link=ib,lid=1,gateway=$gateway" $gen "$@" -- \
		"$RDMADUMP" selftest --sniffer icmd --json --output "$tmp/$name.out" mlx5_0 >"$name.json" 2>"$name.log" </dev/null
	echo $? >"$name.status"
}

rows=()
while read -r name expected left options; do
	n=$((n + 1))
	[ -n "${TEST_FULL-}" ] || [ $((n % 3)) = 1 ] || continue
	while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
	# shellcheck disable=SC2086 # lists
	run "$name" "$expected" $options &
	rows+=("$name $expected $left")
done < <(cases)
wait
for row in "${rows[@]}"; do
	read -r name expected left <<<"$row"
	is "$name: what is found" "$(found "$name.json")" "${expected#-}"
	is "$name: exit status" "$(<"$name.status")" "$([[ $expected = attach! ]] && echo 4 || echo 0)"
	is "$name: the gateway" "$("$SOFTHCA_GATEWAY" "$name.tree/gateway.0" | head -n 1)" "${clean/attached 0/attached $left}"
	is "$name: nothing is left on the device" "$(jq '[.devices[].leaked[]] + [.devices[].order_violations] | add' "$name.stats")" 0
done

is "kind: probes" "$(jq -r '[.probes[].name] | join(" ")' kind.json)" "inventory attach inside"
is "kind: all have passed" "$(jq -r '[.probes[].outcome] | unique | join(" ")' kind.json)" passed
is "kind: ten rounds" "$(jq '.probes[] | select(.name == "attach") | .values.rounds.value' kind.json)" 10
is "kind: each packet once" "$(jq -c '.probes[] | select(.name == "inside") | .values | [.rc.value.once, .ud.value.once]' kind.json)" '[32,32]'
fits schema selftest kind.json

# --- without traffic, without rights, not asked for -------------------------------------------

gen='' run idle - yes
is "no traffic: all have passed" "$(jq -r '[.probes[].outcome] | unique | join(" ")' idle.json)" passed
# Pauses of a busy machine are no frames after the end.
time=virtual,20 run busy attach: yes
is "a busy machine: what is found" "$(found busy.json)" ""
mkdir plain
model --time virtual --dev link=ib,lid=1 -- "$RDMADUMP" selftest --json --probe attach --probe inside --output "$tmp/plain" mlx5_0 >plain.json 2>plain.log
is "without --sniffer icmd: skipped" "$(jq -r '[.probes[].reason] | unique | join(" ")' plain.json)" \
	"it uses the firmware's command gateway (--sniffer icmd allows it)"
model --time virtual --dev link=ib,lid=1,gateway=hidden -- "$RDMADUMP" selftest --sniffer icmd --json --probe attach --output "$tmp/plain" mlx5_0 >hidden.json 2>hidden.log
is "a container: why" "$(jq -r '.probes[0].reason' hidden.json)" \
	"--sniffer icmd on mlx5_0: PCI configuration space is not visible here; use --sniffer icmd on the host itself, outside of any container, or mirror the port on the switch"
model --time virtual --dev link=ib,lid=1 -- "$RDMADUMP" selftest --sniffer icmd --dry-run mlx5_0 >plan 2>&1
is "--dry-run: the probes" "$(awk '$2 ~ /^[0-9]+$/ {print $1}' plan | xargs)" "inventory attach inside"
"$RDMADUMP" selftest --sniffer flow >bad.log 2>&1
is "--sniffer flow: refused" $? 1

tap_done
