#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Counters as on real devices: cached, slow to read, reset during the capture, and
# without the frames that are lost before a receive queue.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq capinfos

# run NAME MODEL-OPTIONS -- OPTIONS: JSON in $tmp/json, messages in $tmp/err, the file in $tmp/out.pcapng
run() {
	apart "$@"
	model "${ahead[@]}" --at-end sigint --stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 --json "${rest[@]}" -w "$tmp/out.pcapng" >"$tmp/json" 2>"$tmp/err"
}
# text MODEL-OPTIONS -- OPTIONS: the report in $tmp/log
text() {
	apart "$@"
	model "${ahead[@]}" --at-end sigint --stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 "${rest[@]}" -w "$tmp/out.pcapng" 2>"$tmp/log"
}
comment() { capinfos -k "$1" | tr -s ' \n' ' '; }
lost() { json "$tmp/json" .lost_before_us.frames; }
# A port that loses most of 200 000 frames: a ring of 8 buffers
overload=(--mode drop --gen "count=200000,size=256")

# --- a cache: what was lost last is not in it yet ---------------------------------------------
run --lifespan 1500 "${overload[@]}" -- -b 3
dropped=$(json "$tmp/stats" .dropped)
holds "cache of 1.5 s: frames were lost" [ "$dropped" -gt 0 ]
is "cache of 1.5 s: all of them are counted" "$(lost)" "$dropped"
is "... and the report is final" "$(jq -c '.lost_before_us | [.known, .settled]' "$tmp/json")" "[true,true]"
has "... why it takes so long" "$tmp/err" "waiting 1\.[5-9] s for the loss counters of mlx5_0"

run --lifespan 30,300 "${overload[@]}" -- -b 3
is "cache that is refreshed in 300 ms: all are counted" "$(lost)" "$(json "$tmp/stats" .dropped)"

# A signal ends the wait: only the cached value is known.
counter=$tmp/tree/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets
rm -f "$tmp/stats" "$tmp/pid" "$tmp/log"
model --lifespan 9000 --pidfile "$tmp/pid" --keep "$tmp/tree" "${overload[@]}" --stats "$tmp/stats" -- \
	"$RDMADUMP" -d mlx5_0 -b 3 -w "$tmp/out.pcapng" 2>"$tmp/log" &
job=$!
wait_for received "$tmp/tree" 200000
kill -INT "$(<"$tmp/pid")"
wait_for grep -qE "waiting 9\.[0-9]+ s" "$tmp/log"
# One that comes together with the first counts as the same.
interrupted() { ! kill -INT "$(<"$tmp/pid")"; }
wait_for interrupted
wait $job
exits "a second signal ends the wait" 0 "$tmp/log" "the wait for the loss counters was cut short: the last drops may be missing"
comment "$tmp/out.pcapng" >"$tmp/comment"
has "... and so does the file" "$tmp/comment" "the last drops may be missing"

# --- a slow counter: no thread that empties a ring reads it -----------------------------------
# 8192 buffers, and a reading that takes until three times as many frames were written.
# The lines of SIGUSR1 that say so
shown() { grep "frames .* lost 0$" "$tmp/err"; }
asked_again() { kill -USR1 "$(<"$tmp/pid")" && [ "$(shown | grep -vc " 0 b/s")" -ge 3 ]; }
for queues in "" "--queues 2"; do
	name="slow counters${queues:+, $queues}"
	rm -rf "$tmp/pid" "$tmp/err" "$tmp/tree" "$tmp/slow.begun"
	# shellcheck disable=SC2086
	model --lifespan 10 --slow-while "$tmp/slow" --gen count=100000000,size=128 --rate 60000 --pidfile "$tmp/pid" --keep "$tmp/tree" \
		--stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 -b 13 $queues --json -w "$tmp/out.pcapng" >"$tmp/json" 2>"$tmp/err" &
	job=$!
	wait_for received "$tmp/tree" 1000
	: >"$tmp/slow"
	wait_for test -e "$tmp/slow.begun"
	ok "$name: they are read while frames come" "$tmp/err"
	# No frame is dropped: one that finds no buffer waits for it.
	wait_for received "$tmp/tree" $(($(<"$counter") + 25000))
	ok "$name: a reading that does not end delays no frame" "$tmp/err"
	wait_for asked_again
	ok "$name: SIGUSR1 shows progress meanwhile, with the average rate" "$tmp/err"
	rm "$tmp/slow"
	kill -INT "$(<"$tmp/pid")"
	wait $job
	is "$name: exit status, nothing is lost" "$? $(json "$tmp/stats" .dropped) $(lost)" "0 0 0"
done

# --- a reset ----------------------------------------------------------------------------------
# The output takes nothing until all have come, so that frames are lost; then, after a pause in which the counter is
# read, it is reset to 0.
blocked() { # MODEL-OPTIONS -- : JSON
	model "$@" --mode drop --gen count=40000,size=1024 --burst 30000,2500000 --at-end sigint --stats "$tmp/stats" -- bash -c \
		"'$RDMADUMP' -d mlx5_0 -b 6 -q --json --buffer-size 1Mi --when-full wait -w - 2>'$tmp/json' | {
			wait_for received '' 40000; cat >'$tmp/out'; }"
}
blocked --fault counter=0,frame=30001
dropped=$(json "$tmp/stats" .dropped)
is "reset: the loss is unknown" "$(jq -c '.lost_before_us | [.known, .frames, .reason]' "$tmp/json")" \
	'[false,null,"out_of_buffer was reset during the capture"]'
least=$(json "$tmp/json" .lost_before_us.at_least)
[ "$least" -le "$dropped" ] && [ "$least" -gt $((dropped * 9 / 10)) ]
ok "reset: at least what both parts had, $least of $dropped"
comment "$tmp/out" >"$tmp/comment"
has "reset: the file says so" "$tmp/comment" "What was lost is in the interface statistics"

# From a value that a driver reached in years: neither four thousand million nor a wrap
text --counter out_of_buffer=3100000000 --gen count=20000,size=128 --rate 20000 --fault counter=0,frame=10000 --
has "reset of a large value: text" "$tmp/log" "dropped by the device unknown \(out_of_buffer was reset during the capture\), at least 0$"

# --- lost before any receive queue ------------------------------------------------------------
moved=(--ethtool rx_discards_phy=1000 --ethtool rx_prio3_discards=5 --ethtool tx_prio3_pause=7 --ethtool rx_packets_phy=1
	--ethtool outbound_pci_stalled_wr=0 --ethtool tx_discards_phy=3
	--fault "ethtool=rx_discards_phy:1200,frame=500" --fault "ethtool=tx_prio3_pause:49,frame=500"
	--fault "ethtool=rx_packets_phy:5000,frame=500" --fault "ethtool=outbound_pci_stalled_wr:35,frame=500"
	--fault "ethtool=tx_discards_phy:4,frame=500")
run "${moved[@]}" --gen count=2000,size=256 --
is "before the queue: JSON" "$(jq -c '[.sources[0].lost.beside[] | [.name, .growth, .value, .known]] | sort' "$tmp/json")" \
	'[["ethtool/outbound_pci_stalled_wr",null,35,true],["ethtool/rx_discards_phy",200,1200,true],["ethtool/tx_prio3_pause",42,49,true]]'
text "${moved[@]}" --gen count=2000,size=256 --
has "before the queue: text" "$tmp/log" "^  also counted: rx_discards_phy \+200 \(packets discarded at the port because there were no buffers\)$"
has "... a level, not a growth" "$tmp/log" "^  also counted: outbound_pci_stalled_wr 35 \("
is "... and nothing else" "$(grep -c "also counted" "$tmp/log")" 3
has "... what out_of_buffer counts" "$tmp/log" "^  out_of_buffer counts frames without a receive buffer on any queue pair of this function: neither an upper nor a lower bound"
comment "$tmp/out.pcapng" >"$tmp/comment"
has "... in the file" "$tmp/comment" "Also counted: (.*, )?rx_discards_phy \+200[,.]"
has "... and what out_of_buffer counts" "$tmp/comment" "neither an upper nor a lower bound"

# --- pause frames that the copies may cause ---------------------------------------------------
paused=(--ethtool tx_prio3_pause=7 --ethtool rx_prio3_pause=1 --ethtool outbound_pci_stalled_wr=0 --gen "count=100000000,size=256" --rate 10000
	--fault "ethtool=rx_prio3_pause:8,frame=500" --fault "ethtool=tx_prio3_pause:49,frame=500")
run "${paused[@]}" -- --stop-on-pause
is "--stop-on-pause: exit status, and why it ended" "$? $(jq -r .ended_by "$tmp/json")" "0 pause"
has "... which is said" "$tmp/err" 'warning: mlx5_0 port 1: ethtool/tx_prio3_pause grew by 42 during the capture \(PFC pause frames sent on this priority\): .*--stop-on-pause'
is "... not what was received" "$(grep -c 'during the capture (' "$tmp/err")" 1
is "... and its total" "$(jq -c '.sources[0].lost.beside[] | select(.name == "ethtool/tx_prio3_pause").growth' "$tmp/json")" 42
: >"$tmp/log"
text "${paused[@]}" --pidfile "$tmp/pid" --fault "ethtool=outbound_pci_stalled_wr:35,frame=15000" -- &
wait_for grep -q 'outbound_pci_stalled_wr grew by 35' "$tmp/log"
kill -INT "$(<"$tmp/pid")"
wait $!
is "without it: the capture goes on, and each is said once" \
	"$(grep -o 'ethtool/[a-z0-9_]* grew by [0-9]* during' "$tmp/log" | sort | tr '\n' ' ')" "ethtool/outbound_pci_stalled_wr grew by 35 during ethtool/tx_prio3_pause grew by 42 during "

# A reset by the driver
text --ethtool rx_discards_phy=1000 --fault ethtool=rx_discards_phy:10,frame=500 --gen count=2000,size=256 --
has "reset of a statistic: text" "$tmp/log" "^  also counted: rx_discards_phy was reset"

# --- whose traffic ----------------------------------------------------------------------------
text --gen count=1000,size=256 --
has "whose traffic: text" "$tmp/log" "traffic of this function only \\(PF 0000:01:00.0\\): not of VFs"
comment "$tmp/out.pcapng" >"$tmp/comment"
has "... in the file" "$tmp/comment" "Traffic of this function only \\(PF 0000:01:00.0\\): not of VFs, SFs, representors or a bond's second port\."
is "... JSON" "$(run --gen count=100,size=256 --; jq -r .sources[0].function "$tmp/json")" "PF"
is "no VF: no warning" "$(grep -c "not captured" "$tmp/log")" 0
# shellcheck disable=SC2016
model --keep "$tmp/kept" --gen count=100,size=256 --at-end sigint -- bash -c '
	echo 4 >"$1/sys/devices/pci0000:00/0000:01:00.0/sriov_numvfs"
	exec "$2" -d mlx5_0 -w "$3"' - "$tmp/kept" "$RDMADUMP" "$tmp/out.pcapng" 2>"$tmp/log"
has "four VFs: a warning" "$tmp/log" "warning: mlx5_0: the traffic of its 4 VFs is not captured; capture on their own devices, or inside the guests"

# A bond is one device
model --dev name=mlx5_bond_0,netdev=bond0,bond=enp1s0f0+enp1s0f1 --gen count=100,size=256 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_bond_0 -w "$tmp/out.pcapng" 2>"$tmp/log"
has "a bond: a warning" "$tmp/log" "warning: mlx5_bond_0 is a bond \(bond0: enp1s0f0 enp1s0f1\): the capture may lack its second port's plain Ethernet frames; capture those on its netdev"
model --dev name=mlx5_bond_0,netdev=bond0,bond=enp1s0f0+enp1s0f1 -- "$RDMADUMP" list >"$tmp/log"
has "a bond: list says so" "$tmp/log" "! mlx5_bond_0 is a bond \(bond0: enp1s0f0 enp1s0f1\): a capture may lack"
is "a bond: JSON" "$(model --dev name=mlx5_bond_0,netdev=bond0,bond=enp1s0f0+enp1s0f1 -- "$RDMADUMP" list --json | jq -r '.devices[0].ports[0].netdevs[0].slaves')" "enp1s0f0 enp1s0f1"

tap_done
