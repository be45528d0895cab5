#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck disable=SC2086,SC2001 # lists of words; readable sed
# Checks the model by itself: with Debian's tools, and with probe.c as a plain consumer.
# shellcheck source=tests/tap.sh
. "${srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/tests/tap.sh"
need_tool jq

# Debian's tools leak, which is not ours to report
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

bin=${SOFTHCA_BIN:?directory of the binaries of the model}
chmod 755 "$tmp"
stats=$tmp/stats.json

same() { is "$1" "$3" "$2"; } # NAME WANT GOT
# has NAME TEXT GOT
has() { [[ $3 == *"$2"* ]]; ok "$1" <(echo "$3"); }

hca() { "$bin/softhca" --stats "$stats" "$@" 2>&1; }
stat_of() { jq -r --arg path "$1" 'getpath($path / "." | map(tonumber? // .))' "$stats"; }
frames() { "$bin/softhca-frames" "$@"; }

section() { [ -z "$only" ] || [[ $only == *"$1"* ]]; }
only=$1

discovery_ibv_devinfo()
{
	out=$(hca -- ibv_devinfo -v)
	has "ibv_devinfo: firmware" "16.35.2000" "$out"
	has "ibv_devinfo: RoCE v2 GID" "::ffff:10.77.0.2, RoCE v2" "$out"
	has "no devices" "No IB devices found" "$(hca --no-devices -- ibv_devinfo)"
	out=$(hca --dev name=mlx5_0,pci=0000:3b:00.0,netdev=enp59s0f0np0,mtu=9000 \
		--dev name=ibp1,link=ib,rate=200,state=down,fw=20.39.1002,devid=101b -- ibv_devinfo)
	has "two devices: the first's MTU" "4096 (5)" "$out"
	has "two devices: the second's layer" "InfiniBand" "$out"
	has "two devices: down" "PORT_DOWN" "$out"
	out=$(hca --dev ports=2,link=eth+ib -- ibv_devinfo)
	same "two ports" 2 "$(grep -c 'link_layer' <<< "$out")"
}

if section discovery; then
	has_tool ibv_devices "ibv_devices" && has "ibv_devices" "0c42a10300000001" "$(hca -- ibv_devices)"
	has_tool ibv_devinfo "ibv_devinfo" && discovery_ibv_devinfo
	has_tool ibstat "ibstat: active" && has "ibstat: active" "State: Active" "$(hca -- ibstat)"
	has_tool ibstatus "ibstatus (a shell script) sees the tree" &&
		has "ibstatus (a shell script) sees the tree" "100 Gb/sec (4X EDR)" "$(hca -- ibstatus)"
	has "the program's status" 7 "$(hca -- sh -c 'exit 7'; echo $?)"
	same "links resolve to /sys" /sys/devices/pci0000:00/0000:01:00.0 \
		"$(hca -- realpath /sys/class/infiniband/mlx5_0/device)"
	has "an unset GID has no type" "Invalid argument" \
		"$(hca -- cat /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/7)"
	same "no thread in a bystander" 1 "$(hca -- sh -c 'ls /proc/self/task | wc -l')"
	has "device node" "character special" "$(hca -- stat -c %F /dev/infiniband/uverbs0)"
fi

if section identity; then
	spec=count=5000,size=60-9216,qps=8,seed=1 want=$(frames $spec)
	same "lossless" "$want" "$(hca --gen $spec --at-end sigint -- "$bin/probe" -H)"
	same "events, small ring" "$want" "$(hca --gen $spec --at-end sigint -- "$bin/probe" -H -e -r 16)"
	same "one receive at a time" "$(frames count=300,size=60-2000)" \
		"$(hca --gen count=300,size=60-2000 --at-end sigint -- "$bin/probe" -H -r 1)"
	same "first frames only" "$(frames --first 777 $spec)" "$(hca --gen $spec -- "$bin/probe" -H -c 777)"
	hca --gen $spec --at-end sigint -- "$bin/probe" -q -w "$tmp/b.pcap" > /dev/null
	same "captured file" "$want" "$(frames --hash "$tmp/b.pcap")"
	same "a file at its pace" "$want" "$(hca --pcap "$tmp/b.pcap" --pace --at-end sigint -- "$bin/probe" -H)"
	same "a device's own source" "$(frames count=77,size=500)" "$(hca --gen count=5,size=300 \
		--dev "gen=count=77;size=500" --at-end sigint -- "$bin/probe" -H)"
	same "several programs in a row" "$want
$want" "$(hca --gen $spec --at-end sigint -- sh -c "$bin/probe -H; $bin/probe -H")"
fi

# traffic NAME FRAMES SENDER-OPTIONS... : sent by the program itself, counted on the wire
traffic()
{
	local name=$1 want=$2
	shift 2
	out=$(hca "${wire[@]}" -- "$bin/sender" "$@")
	same "$name: all operations succeed" 0 $?
	same "$name: frames" "$want" "$(stat_of frames)"
	same "$name: nothing leaked" "0 0 0" "$(stat_of leaked.qps) $(stat_of leaked.ahs) $(stat_of leaked.mrs)"
}

if section sends; then
	rc="write write_imm send send_imm read"
	wire=()
	traffic "RC, one packet" 10 $rc
	traffic "RC, inline" 10 -i -s 100 $rc
	traffic "RC, empty messages" 10 -s 0 $rc
	traffic "RC, many messages" 1000 -c 100 -s 700 $rc
	traffic "RC, a large message" $((5 * 1025)) -s 1048536 $rc
	traffic "RC, small packets" 25 -m 256 -s 1000 $rc
	traffic "RC, errors" 13 -r 2 -s 100 no_receive no_peer bad_rkey write
	traffic "UD and RAW_PACKET" 12 -c 3 ud multicast raw raw_vlan
	wire=(--dev ports=2)
	traffic "second port" 2 -p 2 write
	traffic "from port to port: seen on both" 6 -P 2 write ud
	has "no attached queue pair is destroyed, no datagram exceeds the MTU" "ud 0 of 1" \
		"$(hca -- "$bin/sender" -s 2000 ud)"
fi

if section lifetime; then
	hca --gen count=10,size=100 -- "$bin/probe" -c 10 > /dev/null
	same "nothing leaked" "0 0 0 0 0" "$(stat_of leaked.flows) $(stat_of leaked.qps) \
$(stat_of leaked.cqs) $(stat_of leaked.mrs) $(stat_of leaked.pds)"
	hca --gen count=10,size=100 -- "$bin/probe" -c 10 -l -e > /dev/null
	same "leaks are seen" "1 1 1 1 1 1" "$(stat_of leaked.flows) $(stat_of leaked.qps) \
$(stat_of leaked.cqs) $(stat_of leaked.mrs) $(stat_of leaked.pds) $(stat_of leaked.channels)"
	out=$(hca --gen count=10,size=100 -- "$bin/probe" -c 10 -D)
	same "what is in use cannot be destroyed" 3 "$(grep -c 'early: Device or resource busy' <<< "$out")"
	same "order violations are counted" 3 "$(stat_of order_violations)"
	hca --keep "$tmp/tree" --pidfile "$tmp/pid" --gen count=10,size=100 -- "$bin/probe" > "$tmp/out" &
	until [ "$(cat "$tmp/tree/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets" 2>/dev/null)" = 10 ]; do kill -0 $! || break; done
	kill -INT "$(<"$tmp/pid")"
	wait $!
	has "--pidfile and SIGINT" "10 1000" "$(<"$tmp/out")"
fi

# in_time COMMAND: on a clock of its own; prints what passed on it, in ms
# shellcheck disable=SC2016 # the inner shell's
in_time() {
	hca --time virtual "${wire[@]}" -- bash -c 'a=${EPOCHREALTIME/./}; '"$1"'; echo $(((${EPOCHREALTIME/./} - a) / 1000))'
}

if section time; then
	wire=()
	same "virtual time: a wait that nothing ends" 1000000 "$(in_time 'sleep 1000')"
	same "virtual time: two processes wait at once, and one ends before the other" "first second 2000000" \
		"$(in_time '{ sleep 2000; echo second; } & sleep 1000; echo first; wait' | paste -sd" ")"
	same "virtual time: what a process computes takes none" 0 "$(in_time 'for ((i = 0; i < 30000; i++)); do :; done')"
	same "virtual time: a wait that another process ends" 7000 \
		"$(in_time '{ sleep 5; } & wait; read -r -t 900 < <(sleep 2; echo)')"
	same "virtual time: a new process waits as long as it says" 7000 "$(in_time 'bash -c "bash -c \"sleep 7\""')"
	same "virtual time: processes that end without a word do not stop it" 9000 \
		"$(in_time 'sleep 100 & disown; kill -9 $!; sleep 9')"
	same "virtual time: frames at a rate" "$(frames count=2000,size=300)" \
		"$(hca --time virtual --gen count=2000,size=300 --rate 10 --at-end sigint -- "$bin/probe" -H -e)"
	same "... whose allocator asks for the time, for the model, too" "$(frames count=2000,size=300)" \
		"$(hca --time virtual --gen count=2000,size=300 --rate 10 --at-end sigint -- "$bin/probe" -H -e -t)"
	hca --time virtual --clock "realtime,truth=$tmp/truth" --gen count=50,size=300 --rate 10 --at-end sigint -- "$bin/probe" -q -e > /dev/null
	same "virtual time: frames are exactly as far apart as the rate says" "100000000" \
		"$(awk 'NR > 1 {printf "%.0f\n", $1 - last} {last = $1}' "$tmp/truth" | cut -c1-9 | sort -u)"
fi

if section forks; then
	holds "children that are forked beside a thread which closes descriptors can close theirs" hca -- "$bin/probe" -f 2000
	holds "... in virtual time" hca --time virtual -- "$bin/probe" -f 500
fi

if section drain; then
	hca --gen count=1000000,size=256 --drain 5 --at-end sigint -- "$bin/probe" -q > /dev/null
	same "drain rounds" 5 "$(stat_of devices.0.drain.rounds | grep -o frames | wc -l)"
fi

tap_done
