#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest finds each way in which a device makes captures difficult, by the probe that tests it, and nothing else.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 setpriv
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
cd "$tmp" || exit 1
chmod 755 "$tmp"
mkdir -m 777 "$tmp/out"

# NAME EXPECTED OPTION...: options of the model. EXPECTED: "probe:key" of all that is found, "probe!" for one that fails.
cases() {
	cat <<-LIST
		kind - --gen count=100000000,size=60-1400
		slow-create objects:slow_commands --latency create_flow=60
		slow-destroy objects:slow_commands --latency destroy_flow=60
		slow-all objects:slow_commands --latency 25
		queue-fails - --fault cqe=loc_prot,frame=300
		unpollable - --fault cqe=no_qp,frame=300
		port-down inventory:port_not_active --dev state=down
		no-sniffer objects! --dev sniffer=no
		eacces objects! --fault verb=create_flow,errno=EACCES
		no-qp objects! --fault verb=create_qp,errno=ENOMEM
		no-cq objects! --fault verb=create_cq,errno=ENOMEM
		no-mr objects! --fault verb=reg_mr,errno=EFAULT
		no-device inventory! --fault verb=open_device,errno=EACCES
		third-flow objects! --fault verb=create_flow,errno=EBUSY,nth=4
		destroy-fails objects! --fault verb=destroy_flow,errno=EBUSY,nth=3
		flow-in-two-queues paths:flow_in_several_queues --dev rss_hash=frame
		no-rss paths:no_rss --dev rss=no
		no-sniffer-behind-rss paths:no_rss --dev rss_sniffer=no
		no-clock clocks:no_hardware_clock --clock none
		clock-refused clocks:real_time_refused --clock realtime,refuse=yes
		clock-unreadable clocks:clock_unreadable --clock cycles,core=no
		real-time-unreadable clocks:clock_unreadable,clocks:real_time_unreadable --clock realtime,core=no
		narrow-clock clocks:narrow_counter --clock cycles,bits=28
		clock-unset clocks:clock_not_set --clock realtime,offset_ms=-86400000
		clock-tai clocks:clock_not_utc --clock realtime,offset_ms=37000
		implausible-clock clocks:implausible_timestamps --clock realtime,wrong_every=50
		zero-clock clocks:zero_timestamps --clock realtime,zero_every=50
		sent-late clocks:sent_and_received_disordered --clock cycles,tx_lag_us=300
		raw-twice send:raw_twice --loopback raw=twice
		raw-never send:raw_not_seen --loopback raw=never
		multicast-twice send:multicast_twice --loopback multicast=twice
		multicast-never send:multicast_not_seen --loopback multicast=never
		rc-twice send:rc_twice,loopback:rc_twice --loopback rc=twice
		rc-never send:rc_not_seen,loopback:rc_not_seen --loopback rc=never
		lossy-queues paths:frames_missing,paths:frames_missing --dev work_queues=lossy
		ud-never loopback:ud_not_seen --loopback ud=never
		lost-tx loopback:rc_retransmitted --drop-tx 3
		own-fcs contents:fcs_present --deliver fcs=yes
		vlan-stripped contents:vlan_stripped --deliver vlan=stripped
		icrc-absent contents:icrc_absent --deliver icrc=absent
		icrc-zero contents:icrc_zero --deliver icrc=zero
		icrc-wrong contents:icrc_wrong --deliver icrc=wrong
		vlan-changed contents:vlan_changed --deliver vlan=changed
		vlan-dropped contents:vlan_not_seen --deliver vlan=dropped
		disordered-late clocks:disordered_timestamps --clock realtime,wrong_every=40,wrong_ms=-20
		disordered-early clocks:disordered_timestamps --clock realtime,wrong_every=40,wrong_ms=20
		disordered-both clocks:disordered_timestamps,clocks:sent_and_received_disordered --clock cycles,tx_lag_us=5000,wrong_every=40,wrong_ms=-20
		late-copies send:raw_twice,clocks:sent_and_received_disordered --loopback raw=twice --clock realtime,tx_lag_us=2000
		path-cut contents:frames_cut,contents:icrc_absent --deliver cut=1
		path-unseen send:raw_lost,send:multicast_lost,loopback:rc_lost,loopback:ud_lost --deliver unseen=7
		tx-unseen send:raw_lost,send:multicast_lost,loopback:rc_lost,loopback:ud_lost --deliver unseen=5
		cut contents:frames_cut,contents:icrc_absent --deliver cut=4
		two-ports - --dev ports=2
		retransmissions-unseen send:retransmissions_not_seen --deliver retransmissions=no
		unsegmented contents:not_segmented --deliver segmented=no
		one-queue paths:all_in_one_queue --dev rss_hash=none
		ud-twice loopback:ud_twice --loopback ud=twice
		changing-queues paths:frames_changed,paths:frames_changed --dev work_queues=changes
		longer-queues paths:frames_differ,paths:frames_differ --dev work_queues=longer
		two-queues paths:fewer_queues --dev table=2
		longer contents:frames_longer --deliver longer=6
		changed send:raw_changed,send:multicast_changed,loopback:rc_changed,loopback:ud_changed,contents:icrc_wrong --deliver changed=3
	LIST
}

found() {
	jq -r '[.probes[] | .name as $p | if .outcome == "failed" then $p + "!" else (.found[] | $p + ":" + .key) end] | join(",")' "$1"
}
# start NAME OPTION...: runs selftest on the model in the background; its files in $tmp/runs/NAME
start() {
	local at=$tmp/runs/$1
	shift
	# Several at once, since a selftest mostly waits
	while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
	mkdir -p "$at/out"
	chmod 777 "$at/out"
	(
		model --time virtual --rate 5000 --stats "$at/stats" "$@" >"$at/json" 2>"$at/log" </dev/null
		echo $? >"$at/status"
	) &
}
# finished NAME: its files become those that `judge` reads
finished() {
	cp "$tmp/runs/$1/"{json,log,stats} "$tmp"
	return "$(<"$tmp/runs/$1/status")"
}
judge() { # NAME EXPECTED STATUS
	[ "$2" = - ] && set -- "$1" "" "$3"
	is "$1: what is found" "$(found "$tmp/json")" "$2"
	case $2 in
	*!) is "$1: exit status" "$3" 4 ;;
	*) is "$1: exit status" "$3" 0 ;;
	esac
	# Objects whose flow cannot be destroyed are freed when the device is closed, which the model counts.
	local objects='.devices[].leaked[]'
	[ "$1" = destroy-fails ] && objects=empty
	is "$1: nothing is left on the device" "$(jq "[$objects] + [.devices[].order_violations] | add" "$tmp/stats")" 0
}

# The probes that a row runs: those that need little time, and those of the kind that it is about
probes_of() { # NAME EXPECTED
	local list="inventory objects"
	[ "$1" = kind ] && return
	case $2 in *send:* | *loopback:* | *contents:*) list+=" send loopback contents" ;; esac
	case $2 in *paths:* | *clocks:*) list+=" paths clocks" ;; esac
	case $1 in path-*) list+=" paths" ;; queue-fails | unpollable) list="objects send" ;; slow-all) list+=" send loopback" ;; esac
	case $1 in two-ports) list+=" send loopback contents" ;; esac
	# shellcheck disable=SC2086 # a list
	printf -- '--probe %s ' $list
}

n=0
at_once=4
rows=()
while read -r name expected options; do
	n=$((n + 1))
	# In the short form each fifth row, and what must be quiet
	[ -n "${TEST_FULL-}" ] || [ "$expected" = - ] || [ $((n % 5)) = 0 ] || continue
	case $options in
	*--gen*) ;;
	*) options="--gen count=100000000,size=60-1400 $options" ;;
	esac
	case $options in
	*--clock*) ;;
	*) options="--clock realtime $options" ;;
	esac
	# shellcheck disable=SC2046,SC2086 # lists of options
	start "$name" $options -- \
		"$RDMADUMP" selftest --json --output "$tmp/runs/$name/out" $(probes_of "$name" "$expected")
	rows+=("$name $expected")
done < <(cases)
wait
for row in "${rows[@]}"; do
	finished "${row% *}"
	judge "${row% *}" "${row#* }" $?
	[ "${row% *}" != lossy-queues ] || is "lossy-queues: a row of the table for each finding" \
		"$(tar -xOf "$tmp/runs/lossy-queues/out"/*.tar.zst --wildcards '*/result.txt' | grep -c 'of 128 frames$')" 2
done
holds "all cases ran" [ "$n" -ge 37 ]

# What a clock does while it is watched: the other probes would take their time before
clock() { # NAME EXPECTED SPEC
	rm -rf "$tmp/out"/*
	model --time virtual --rate 5000 --stats "$tmp/stats" --gen count=100000000,size=60-1400 --clock "$3" -- \
		"$RDMADUMP" selftest --json --probe clocks --output "$tmp/out" >"$tmp/json" 2>"$tmp/log" </dev/null
	judge "$1" "$2" $?
}
# --- under load ----------------------------------------------------------------------------

# A counter that someone sets every 100 ms, to less or to more than it was; or so often, after so many ms
faults() { for i in $(seq "${3-30}"); do printf -- '--fault counter=%d,after_ms=%d ' $(($1 + i * $2)) "${4-100}"; done; }
load_cases() {
	cat <<-LIST
		load-kind - --dev oversize=kills
		load-lives - --dev oversize=lives
		load-drop - --mode drop
		load-one-sniffer - --dev sniffers=1
		load-twice - --loopback twice
		halts oversize:halts_silently --dev oversize=halts
		not-counted overload:loss_not_counted --dev drop_counter=none
		counted-elsewhere overload:loss_not_counted --dev drop_counter=rx_out_of_buffer --ethtool rx_out_of_buffer=5
		not-counted-of-others overload:loss_not_counted --dev drop_counter=none --mode drop --loopback never
		cached overload:counters_cached --lifespan 400
		slow-counters overload:counters_cached --lifespan 150,200
		load-slow - --latency 25
		other-status oversize:other_status --dev oversize=other
		no-counter overload:no_loss_counter --dev drop_counter=absent
		counted-in-part overload:loss_counted_in_part --dev drop_every=2
	LIST
}
load_probes="oversize overload"
# load NAME PROBES OPTION...: options of the model; in the background, as `start`
load() {
	local name=$1 probes=$2
	shift 2
	# shellcheck disable=SC2046,SC2086 # lists
	start "$name" --gen count=100000000,size=60-1400 "$@" -- \
		"$RDMADUMP" selftest --json --output "$tmp/runs/$name/out" $(printf -- '--probe %s ' $probes)
}
value() { jq -r --arg p "$1" --arg v "$2" '.probes[] | select(.name == $p) | .values[$v].value' "$tmp/json"; }

at_once=3
rows=()
while read -r name expected options; do
	n=$((n + 1))
	[ -n "${TEST_FULL-}" ] || [ "$expected" = - ] || [ $((n % 5)) = 0 ] || continue
	# shellcheck disable=SC2086 # a list of options
	load "$name" "$load_probes" $options
	rows+=("$name $expected")
done < <(load_cases)
load elsewhere "oversize overload" --dev drop_counter=rx_out_of_buffer,reset=deaf --ethtool rx_out_of_buffer=5
# shellcheck disable=SC2046 # lists of options
load reset overload --counter out_of_buffer=1000000 $(faults 1000000 -20000)
# shellcheck disable=SC2046 # lists of options
load others-too overload $(faults 0 20000)
# shellcheck disable=SC2046 # lists of options
load counted-losses paths --dev work_queues=lossy $(faults 0 20000 300 200)
load ticks-refused clocks --clock cycles --fault verb=create_cq,errno=EOPNOTSUPP,nth=1
load no-reset oversize --fault verb=modify_qp,errno=EINVAL,nth=10
load overload-fails overload --loopback never --fault cqe=loc_prot,frame=100
wait
for row in "${rows[@]}"; do
	name=${row% *}
	finished "$name"
	judge "$name" "${row#* }" $?
	case $name in
	load-kind) is "$name: the queue" "$(value oversize queue)" flushed ;;
	load-lives) is "$name: the queue" "$(value oversize queue)" lives ;;
	halts) is "$name: the queue" "$(value oversize queue)" halted ;;
	esac
	[ "$name" = load-kind ] || continue
	is "$name: nothing is skipped" "$(jq -r '[.probes[] | select(.outcome != "passed") | .name] | join(" ")' "$tmp/json")" ""
	is "$name: status of a frame that is too long" "$(value oversize wc_status) $(value oversize vendor_syndrome)" "1 104"
	is "$name: each lost frame is counted" "$(value overload growth)" "$(value overload missing_least)"
done
finished elsewhere
is "elsewhere: what is found" "$(found "$tmp/json")" "oversize:deaf_after_restart,overload:loss_not_counted"
has "what counts instead is named" "$tmp/json" "by about as much grew ethtool/rx_out_of_buffer [0-9]+\""
finished reset
is "a counter that is reset" "$(found "$tmp/json")" overload:counter_reset
finished others-too
is "others lose frames during an overload" "$(found "$tmp/json")" overload:more_counted
finished counted-losses
is "frames that queues lose, and that a counter has" "$(jq -r '.probes[] | .outcome + ": " + .meaning' "$tmp/json")" \
	"passed: paths work, but the device lost frames: repeat it with less traffic"
finished ticks-refused
is "timestamps of the counter that are refused" "$(found "$tmp/json")" clocks:timestamps_refused
finished no-reset
is "a queue that cannot be reset" "$(found "$tmp/json")" "oversize!"
finished overload-fails
is "a queue that fails during the overload" "$(jq -r '.probes[] | .outcome + ": " + (.reason | sub("[(].*[)]"; "()"))' "$tmp/json")" \
	"skipped: a queue failed meanwhile (), so that frames are missing for that reason"
model --time virtual --loopback never -- "$RDMADUMP" selftest --json --output "$tmp/out" --probe oversize --probe overload >"$tmp/json" 2>"$tmp/log"
is "no frame at all: skipped" "$(jq -r '[.probes[].outcome] | unique | join(" ")' "$tmp/json")" skipped

# Without traffic frames are not judged.
rm -rf "$tmp/out"/*
model --time virtual --clock cycles -- "$RDMADUMP" selftest --json --output "$tmp/out" >"$tmp/json" 2>"$tmp/log"
is "idle: exit status" $? 0
is "idle: what the port sends to itself counts as sent" "$(jq -r '.probes[] | select(.name == "clocks").meaning' "$tmp/json")" \
	"timestamps are plausible and in order; received frames were not seen"
is "idle: skipped" "$(jq -r '[.probes[] | select(.outcome == "skipped") | .name] | join(" ")' "$tmp/json")" ""

# What is said about each finding: what was seen, and what it means for captures
jq -r '.probes[] | .name as $p | .found[] | [$p + ":" + .key, .meaning] | @tsv' "$tmp"/runs/*/json >"$tmp/said"
meanings() {
	cat <<-'LIST'
		paths:frames_changed	with two queues, [0-9]+ frames with other bytes than were sent$
		paths:frames_differ	with two queues, frames have other bytes than through libibverbs$
		paths:fewer_queues	fewer than four queues \(--queues\): .*1 queue \(create_rwq_ind_table on mlx5_0:1: Invalid argument\)$
		paths:flow_in_several_queues	[0-9]{1,4} frames on another queue than the first one of the flow: with --queues only timestamps show the order$
		clocks:timestamps_refused	the device reports timestamps of its counter, but refuses a queue with them \(cq: Operation not supported\): captures use the next best clock$
		contents:frames_longer	[0-9]+ of [0-9]+ frames are longer than they were sent: bytes behind a packet are not the sender's$
		send:raw_changed	frames of a raw-packet QP: [0-9]+ were seen with other bytes than were sent$
		loopback:rc_changed	WRITEs between two connected QPs of the port: [0-9]+ were seen with other bytes than were sent$
		oversize:other_status	a frame that is too long completes with "local protection error": captures mistake that for a failure of the device$
		overload:no_loss_counter	no counter of this device is known to count lost frames, so captures cannot say how many they miss$
		overload:loss_counted_in_part	frames missing: [0-9]+, and the counter grew by [0-9]+: captures miss more than they say
		overload:more_counted	frames missing: [0-9]+, and the counter grew by [0-9]+: it counts what others lose, too$
		oversize:deaf_after_restart	the queue restarts and receives nothing: a capture has to create its flow again$
	LIST
}
while IFS=$'\t' read -r key text; do
	grep -q "^$key" "$tmp/said" || [ -n "${TEST_FULL-}" ] || continue
	has "what $key says" "$tmp/said" "^$key"$'\t'"$text"
done < <(meanings)

rm -rf "$tmp/out"/*
model --time virtual --dev name=mlx5_0,netdev=bond0,bond=enp1s0f0+enp1s0f1 -- "$RDMADUMP" selftest --json --output "$tmp/out" --probe loopback >"$tmp/json" 2>"$tmp/log"
is "a bond: several connections, too" "$(jq -r '.probes[].value' "$tmp/json"), $(found "$tmp/json")" "3 of 3 kinds, "

# What only the machine has
if unshare -r true 2>/dev/null; then
	rm -rf "$tmp/out"/*
	model -- unshare -r "$RDMADUMP" selftest --json --output "$tmp/out" --probe inventory >"$tmp/json" 2>"$tmp/log"
	is "a user namespace: what is found" "$(found "$tmp/json" | tr , '\n' | grep -c '^inventory:user_namespace$')" 1
else
	skip "a user namespace: what is found" "$(lack unshare "no user namespaces")"
fi
rm -rf "$tmp/out"/* "$tmp/vf"
# shellcheck disable=SC2016 # for the inner shell
function=$tmp/vf/sys/bus/pci/devices/0000:01:00.0 model --keep "$tmp/vf" -- bash -c 'ln -s . "$function/physfn"
	"$RDMADUMP" selftest --json --output "$0" --probe inventory' "$tmp/out" >"$tmp/json" 2>"$tmp/log"
is "a VF: what is found" "$(found "$tmp/json" | tr , '\n' | grep -c '^inventory:no_pf$')" 1

# All probes where completions come compressed: libibverbs would read what is none, and crash
model --time virtual --rate 5000 --gen count=100000000,size=60-1400 --dev cqe_comp=forced -- \
	"$RDMADUMP" selftest --json --output "$tmp/out" >"$tmp/json" 2>"$tmp/log"
is "compressed completions: exit status" $? 0
is "... found once, and then no frame is asked for" \
	"$(found "$tmp/json") $(jq -r '[.probes[] | select(.reason // "" | test("compresses")) | .name] | join(" ")' "$tmp/json")" \
	"send:completions_compressed loopback contents paths clocks oversize overload"
rm -rf "$tmp/out"/*

# The probe of the receive paths alone: each path refuses them by itself
model --time virtual --rate 5000 --gen count=100000000,size=60-1400 --dev cqe_comp=forced -- \
	"$RDMADUMP" selftest --json --output "$tmp/out" --probe paths >"$tmp/json" 2>"$tmp/log"
is "compressed completions, only the paths: exit status, and why they fail" \
	"$? $(jq -r '.probes[] | select(.name == "paths") | .outcome + ": " + .reason' "$tmp/json" | grep -o '^failed: .*the device compresses completions')" \
	"0 failed: with four queues: mlx5_0:1: the device compresses completions"
rm -rf "$tmp/out"/*

# The device is removed: that is said once, and nothing is tried any more
for when in after_ms=500 frame=3000; do
	model --time virtual --rate 5000 --gen count=100000000,size=60-1400 --fault fatal,$when -- \
		"$RDMADUMP" selftest --json --output "$tmp/out" >"$tmp/json" 2>"$tmp/log"
	is "removed, $when: exit status" $? 4
	is "... how it ended, and what failed" "$(jq -r '[.ended, (.probes[] | select(.outcome == "failed") | .reason)] | join(" ")' "$tmp/json")" \
		"removed the device was removed, or has failed fatally: see the kernel's log (dmesg)"
	is "... with the last probe that ran" "$(jq -r '.probes[-1].outcome' "$tmp/json")" failed
	tar -xOf "$tmp/out"/*.tar.zst --wildcards '*/result.txt' >"$tmp/shown"
	has "... as text" "$tmp/shown" '^Ended early: the device was removed, or has failed fatally\.$'
	rm -rf "$tmp/out"/*
done
model --time virtual --rate 5000 --gen count=100000000,size=60-1400 --fault fatal,frame=10 -- \
	"$RDMADUMP" selftest --output "$tmp/out" >/dev/full 2>"$tmp/log"
exits "... and the table cannot be written" 3 "$tmp/log" "cannot write to standard output: No space left on device"

# Switchdev mode before Linux 5.10, where a sniffer's flow makes the kernel write outside of an array
rm -rf "$tmp/out"/* "$tmp/old"
# shellcheck disable=SC2016 # for the inner shell
model --gen count=100000000,size=60-1400 --fault verb=create_flow,errno=EIO --stats "$tmp/stats" --keep "$tmp/old" -- bash -c '
	mkdir -p "$1/sys/kernel" && echo 5.4.0-42-generic >"$1/sys/kernel/osrelease"
	echo 08775b0003a1420c >"$1/sys/class/net/enp1s0f0np0/phys_switch_id"
	"$RDMADUMP" selftest --json --output "$0" --probe paths --probe clocks mlx5_0 >"$1/part" &&
	"$RDMADUMP" selftest --json --output "$0" mlx5_0' "$tmp/out" "$tmp/old" >"$tmp/json" 2>"$tmp/log"
is "switchdev mode on Linux 5.4: exit status" $? 0
is "... what is found" "$(found "$tmp/json")" \
	"inventory:old_switchdev,objects:no_sniffer"
is "... what is not skipped" "$(jq -r '[.probes[] | select(.outcome != "skipped") | .name] | join(" ")' "$tmp/json")" \
	"inventory objects"
is "... nor where these probes alone are run" "$(jq -r '[.probes[].outcome] | join(" ")' "$tmp/old/part")" "skipped skipped"
is "... no flow is requested" "$(json "$tmp/stats" .injected.verbs)" 0
has "... what the finding says" "$tmp/json" 'Linux before 5\.10 fails when a sniffer starts in switchdev mode: update the kernel, capture on the netdev'
has "... and that of the sniffer" "$tmp/json" 'the device has no sniffer for verbs \(Linux before 5\.10 fails .*\): update the kernel'

# Without privileges
if [ "$(id -u)" = 0 ]; then
	rm -rf "$tmp/out"/*
	(ulimit -l 64; model --stats "$tmp/stats" -- setpriv --inh-caps=-all --bounding-set=-all \
		"$RDMADUMP" selftest --json --output "$tmp/out" >"$tmp/json" 2>"$tmp/log")
	is "no privileges: exit status" $? 4
	is "no privileges: what is found" "$(found "$tmp/json" | tr , '\n' | grep -E 'no_cap_net_raw|lockable|!' | paste -sd,)" \
		"inventory:no_cap_net_raw,inventory:little_lockable_memory,objects!"
else
	skip "no privileges: exit status" "not root"
	skip "no privileges: what is found" "not root"
fi

tap_done
