#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Facts in pcapng files: their place, other programs ignore them, and no frame is lost for them.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 tshark tcpdump capinfos prlimit

blocks() { python3 "$srcdir/tests/e2e/captures.py" blocks "$1"; }
facts() { blocks "$1" | grep '^{'; }
shape() { blocks "$1" | jq -rR 'if startswith("{") then fromjson | .when + ":" + .kind else . end' | uniq; }
frames() { "$SOFTHCA_FRAMES" --hash "$1"; }

gen=count=3000,size=60-1500,seed=7
model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -w "$tmp/with.pcapng" 2>"$tmp/log"
is "capture" $? 0
is "facts stand behind the header and in front of the statistics" "$(shape "$tmp/with.pcapng" | tr '\n' ' ')" \
	"SHB IDB start:device start:counters EPB end:device end:counters ISB "
facts "$tmp/with.pcapng" | jq -e 'select(.interface != 0 or .device != "mlx5_0" or .port != 1 or .time_ns < 1e18)' >"$tmp/out"
is "each says what it is about" "$(<"$tmp/out")" ""
is "the machine, at start and end" "$(facts "$tmp/with.pcapng" | jq -r 'select(.kind == "device").boot_id' | sort | uniq -c | tr -s ' ')" \
	" 2 $(</proc/sys/kernel/random/boot_id)"
is "the device" "$(facts "$tmp/with.pcapng" | jq -r 'select(.kind == "device" and .when == "start") | [.firmware, .driver, .netdevs[0].mac, .gids[3].gid] | join(" ")')" \
	"16.35.2000 mlx5_core 0c:42:a1:00:00:01 ::ffff:10.77.0.2"
facts "$tmp/with.pcapng" | jq -r 'select(.kind == "counters") | .counters["counters/port_rcv_packets"]' >"$tmp/out"
is "counters grow by the frames received" "$(($(tail -n 1 "$tmp/out") - $(head -n 1 "$tmp/out")))" \
	3000

# Frames flow all the time: what is captured lies between both readings
model --gen count=3000,size=60-1500,seed=7 --flowing --rate 20000 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q -c 1000 -w "$tmp/flowing.pcapng" 2>"$tmp/log"
facts "$tmp/flowing.pcapng" | jq -r 'select(.kind == "counters") | "\(.when) \(.counters["counters/port_rcv_packets"])"' >"$tmp/counts"
captured=$(frames "$tmp/flowing.pcapng" | cut -d ' ' -f 1)
[ "$captured" -gt 0 ] && [ "$(($(sed -n 's/^end //p' "$tmp/counts") - $(sed -n 's/^start //p' "$tmp/counts")))" -ge "$captured" ]
ok "the counters are read before the first frame and after the last one" "$tmp/counts"
first=$(python3 "$srcdir/tests/e2e/captures.py" frames "$tmp/flowing.pcapng" | awk 'NR == 1 {print $2}')
[ "$(facts "$tmp/flowing.pcapng" | grep '"start"' | grep '"counters"' | sed 's/.*"time_ns":\([0-9]*\).*/\1/')" -le "$first" ]
ok "by their times, too" "$tmp/counts"

model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --no-facts -w "$tmp/without.pcapng" 2>"$tmp/log"
is "--no-facts" "$(facts "$tmp/without.pcapng")" ""

# Other programs see the same in both files
for tool in "tshark -r" "tcpdump -nqtr" "capinfos -Mc" "capinfos -Mt"; do
	for file in with without; do
		# shellcheck disable=SC2086 # a command and its options
		$tool "$tmp/$file.pcapng" 2>"$tmp/err.$file" | sed 's/^ *[0-9]* *[0-9.]* //; s/[^ ]*\.pcapng//' >"$tmp/$file.out"
	done
	[ -s "$tmp/with.out" ] && diff "$tmp/with.out" "$tmp/without.out" >"$tmp/diff" && ! grep -qi 'damaged\|cut short\|unknown' "$tmp/err.with"
	ok "$tool reads it unchanged" "$tmp/diff"
done
is "libpcap reads it unchanged" "$(frames "$tmp/with.pcapng")" "$(frames "$tmp/without.pcapng")"
is "Wireshark's capture reads it from a pipe" "$(tshark -i - -c 3000 <"$tmp/with.pcapng" 2>/dev/null | wc -l)" 3000

# Passed on
"$RDMADUMP" -q -r "$tmp/with.pcapng" -w "$tmp/again.pcapng" 2>"$tmp/log"
is "-r and -w pass them on" "$(facts "$tmp/again.pcapng")" "$(facts "$tmp/with.pcapng")"
is "in their places" "$(shape "$tmp/again.pcapng")" "$(shape "$tmp/with.pcapng")"
"$RDMADUMP" -q -r "$tmp/with.pcapng" --no-facts -w "$tmp/again.pcapng" 2>"$tmp/log"
is "unless --no-facts" "$(facts "$tmp/again.pcapng")" ""
for ending in .gz .zst; do
	"$RDMADUMP" -q -r "$tmp/with.pcapng" -w "$tmp/packed.pcapng$ending" 2>"$tmp/log"
	"$RDMADUMP" -q -r "$tmp/packed.pcapng$ending" -w "$tmp/unpacked.pcapng" 2>"$tmp/log"
	is "compressed ($ending)" "$(facts "$tmp/unpacked.pcapng")" "$(facts "$tmp/with.pcapng")"
	is "compressed ($ending): Wireshark's library" "$(frames_read "$tmp/packed.pcapng$ending")" 3000
done
for format in pcap erf; do
	"$RDMADUMP" -q -r "$tmp/with.pcapng" -w "$tmp/out.$format" 2>"$tmp/log"
	is "$format has none and does not mind" "$? $(frames_read "$tmp/out.$format")" "0 3000"
done

# Interfaces change their numbers, or have no place
{ cat "$tmp/without.pcapng"; cat "$tmp/with.pcapng"; } >"$tmp/sections.pcapng"
"$RDMADUMP" -q -r "$tmp/sections.pcapng" -w "$tmp/out.pcapng" 2>"$tmp/log"
is "of a later section: under the equal interface" "$(facts "$tmp/out.pcapng" | jq -r .interface | tr '\n' ' ')" "0 0 0 0 "
model --dev name=ib0,link=ib,ib_sniffer=1 --gen $gen --at-end sigint -- "$RDMADUMP" -d ib0 -q -w "$tmp/ib.pcapng" 2>"$tmp/log"
is "InfiniBand, ERF: facts" "$(facts "$tmp/ib.pcapng" | jq -r '.device + " " + .kind' | tr '\n' ' ')" "ib0 device ib0 counters ib0 device ib0 counters ib0 checksums "
{ cat "$tmp/ib.pcapng"; cat "$tmp/with.pcapng"; } >"$tmp/mixed.pcapng"
"$RDMADUMP" -q -r "$tmp/mixed.pcapng" -w "$tmp/out.pcapng" 2>"$tmp/log"
is "of an interface that is left out: left out" "$(facts "$tmp/out.pcapng" | jq -r .device | sort -u)" ib0
model --dev name=a0 --dev name=b0,netdev=enp2s0,pci=0000:02:00.0 --gen $gen --at-end sigint -- \
	"$RDMADUMP" -d a0 -d b0 -q -w "$tmp/two.pcapng" 2>"$tmp/log"
is "two devices: each under its interface" "$(facts "$tmp/two.pcapng" | jq -r '.device + " " + (.interface | tostring)' | sort -u | tr '\n' ' ')" "a0 0 b0 1 "

# A series: each file can be read alone
"$RDMADUMP" -q -r "$tmp/with.pcapng" -C 500Ki -w "$tmp/series.pcapng" 2>"$tmp/log"
for file in "$tmp"/series.pcapng*; do
	shape "$file" | tr '\n' ' '
done >"$tmp/shapes"
holds "a series: several files" [ "$(find "$tmp" -name 'series.pcapng*' | wc -l)" -ge 3 ]
is "a series: the beginning in each file, the end in the last" "$(<"$tmp/shapes")" \
	"$(for _ in "$tmp"/series.pcapng*; do printf 'SHB IDB start:device start:counters EPB ISB '; done | sed 's/EPB ISB $/EPB end:device end:counters ISB /')"
"$RDMADUMP" -q -r "$tmp/with.pcapng" -b packets:1000 -b filesize:10 -w "$tmp/small.pcapng" 2>"$tmp/log"
LC_ALL=C grep -la '"when":"start"' "$tmp"/small_* >"$tmp/filled"
[ -s "$tmp/filled" ] && [ "$(find "$tmp" -name 'small_*' | wc -l)" -gt "$(wc -l <"$tmp/filled")" ]
ok "small files: not all of them filled by facts" "$tmp/filled"

# A full disk: facts are left out before anything else. (If there is room for neither, the exit
# status says that the statistics are missing.)
full=$(stat -c %s "$tmp/with.pcapng")
at_end=$(facts "$tmp/with.pcapng" | jq -c 'select(.when == "end")' | awk '{n += 20 + int((length($0) + 3) / 4) * 4} END {print n}')
# Facts that leave no room for the statistics give way to them
for ending in "" .gz .zst; do
	size=$full
	[ -z "$ending" ] || size=$(stat -c %s "$tmp/packed.pcapng$ending")
	prlimit --fsize=$((size - 1)) "$RDMADUMP" -q -r "$tmp/with.pcapng" -w "$tmp/limited.pcapng$ending" 2>"$tmp/log"
	status=$?
	capinfos -M "$tmp/limited.pcapng$ending" >"$tmp/info" 2>"$tmp/err"
	is "one byte is missing for pcapng$ending: the facts give way" \
		"$status $(sed -n 's/.*stat entries = //p; s/^Number of packets: *//p' "$tmp/info" | tr '\n' ' ')$(<"$tmp/err")" "0 3000 1 "
done
steps="-3 -2 -1 0 1"
[ -n "${TEST_FULL-}" ] || steps=-1
for kib in $steps; do
	for ending in "" .gz .zst; do
		size=$full
		[ -z "$ending" ] || size=$(stat -c %s "$tmp/packed.pcapng$ending")
		limit=$((size / 1024 + kib))
		(ulimit -f $limit; exec "$RDMADUMP" -q -r "$tmp/with.pcapng" -w "$tmp/limited.pcapng$ending") 2>"$tmp/log"
		status=$?
		capinfos -M "$tmp/limited.pcapng$ending" >"$tmp/info" 2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
			{ grep -q 'stat entries = 1' "$tmp/info" || [ "$status" = 3 ]; } &&
			{ grep -q 'Number of packets: *3000' "$tmp/info" || [ "$status" = 3 ]; } &&
			{ [ "$status" = 0 ] || [ -n "$ending" ] || [ $((limit * 1024 + at_end)) -lt "$size" ]; }
		ok "$limit KiB for $size bytes of pcapng$ending (exit status $status): whole" "$tmp/err"
	done
done

tap_done
