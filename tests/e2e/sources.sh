#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Files and netdevs as sources, compared with tcpdump and libpcap.
# Expects SOURCE_TOOL, the program of tests/unit/source_tool.c, beside what tap.sh wants.
. "${srcdir:-.}/tests/tap.sh"
need_tool tcpdump editcap mergecap zstd gzip python3 "${SOURCE_TOOL:?}"
ns=rdsrc$$

# shellcheck disable=SC2317 # tap.sh calls it
cleanup() { ip netns del "$ns" 2>/dev/null; }

# source_of ARGUMENTS...: "frames bytes hash" of what comes
source_of() { "$SOURCE_TOOL" "$@" 2>"$tmp/err"; }

# same_as_tcpdump NAME FILE [PLAIN]: what the source gives of FILE is what tcpdump reads of PLAIN
same_as_tcpdump() {
	"$SOURCE_TOOL" -w file "$2" >"$tmp/ours.pcap" 2>"$tmp/err" &&
		tcpdump -r "${3:-$2}" --nano -w "$tmp/theirs.pcap" 2>/dev/null &&
		cmp "$tmp/ours.pcap" "$tmp/theirs.pcap"
	ok "$1" "$tmp/err"
}

# --- every capture, and some in every wrapping --------------------------------------------

every_capture() {
	local f failed=0 n=0 want
	for f in "$TEST_DATA"/roce/*/*.pcap.zst; do
		zstd -dqfc "$f" >"$tmp/x.pcap"
		"$SOURCE_TOOL" -w file "$f" >"$tmp/ours.pcap" 2>/dev/null
		tcpdump -r "$tmp/x.pcap" --nano -w "$tmp/theirs.pcap" 2>/dev/null
		cmp "$tmp/ours.pcap" "$tmp/theirs.pcap" && n=$((n + 1)) || failed=$f
		[[ $f = */?0_*/* ]] || continue
		gzip -c "$tmp/x.pcap" >"$tmp/x.gz"
		want=$(source_of file "$tmp/x.pcap")
		if [ "$(source_of file "$f")" != "$want" ] ||
			[ "$(source_of file "$tmp/x.gz")" != "$want" ] ||
			[ "$(source_of file - <"$tmp/x.gz")" != "$want" ] ||
			[ "$(gzip -dc "$tmp/x.gz" | source_of file -)" != "$want" ] ||
			[ "$(zstd -dqfc "$f" | zstd -qc | source_of file /dev/stdin)" != "$want" ]; then
			failed=$f
		fi
	done
	is "$n captures: plain, gzip, zstd and by pipe give what tcpdump reads" "$failed" 0
}
every_capture

x=$tmp/x.pcap
zstd -dqfc "$TEST_DATA/roce/20_mixed/a.pcap.zst" >"$x"
whole=$(source_of file "$x")
frames=${whole%% *}

# A pipe of one page takes the next piece only when the one before has been read.
python3 -c 'import fcntl, os, sys
fcntl.fcntl(1, 1031, 4096) # F_SETPIPE_SZ
data = open(sys.argv[1], "rb").read()
for at in range(0, len(data), 3001): os.write(1, data[at:at + 3001])' "$x" | source_of file - >"$tmp/slow"
is "a pipe that stalls within frames" "$(<"$tmp/slow")" "$whole"

# As ibdump does (docs/infiniband.md): another program opens a FIFO by its name, writes, and is ended.
mkfifo "$tmp/fifo"
python3 -c 'import sys
data = open(sys.argv[1], "rb").read()
out = open(sys.argv[2], "wb", 0)
for at in range(0, len(data), 3001): out.write(data[at:at + 3001])' "$x" "$tmp/fifo" &
"$RDMADUMP" -q -r "$tmp/fifo" -w "$tmp/fifo.pcapng"
is "a FIFO that another program fills" "$? $(source_of file "$tmp/fifo.pcapng")" "0 $whole"

split -n 3 "$x" "$tmp/part."
for p in "$tmp"/part.a?; do gzip -c "$p"; done >"$tmp/members.gz"
is "gzip members, one behind the other" "$(source_of file "$tmp/members.gz")" "$whole"
head -c 5000 /dev/zero >>"$tmp/members.gz"
is "zeros behind them are no damage" "$(source_of file "$tmp/members.gz")" "$whole"
for p in "$tmp"/part.a?; do
	printf '\x5a\x2a\x4d\x18\x05\x00\x00\x00hello'
	zstd -qc "$p"
done >"$tmp/frames.zst"
is "zstd frames and skippable frames" "$(source_of file "$tmp/frames.zst")" "$whole"

# --- cut and damaged ----------------------------------------------------------------------

# cut NAME FILE PLAIN: status 4, and the frames are those that are whole in PLAIN
cut_like() {
	local got status
	got=$(source_of file "$2")
	status=$?
	is "$1: status" "$status" 4
	is "$1: every whole frame" "${got%% *}" "$(tcpdump -r "$3" --count 2>/dev/null | awk '{print $1}')"
	has "$1: says so" "$tmp/err" "cut short"
}
size=$(stat -c %s "$x")
head -c $((size - 7)) "$x" >"$tmp/cut.pcap"
cut_like "cut pcap" "$tmp/cut.pcap" "$tmp/cut.pcap"
gzip -c "$x" >"$tmp/x.gz"
head -c $(($(stat -c %s "$tmp/x.gz") / 2)) "$tmp/x.gz" >"$tmp/cut.gz"
gzip -dc "$tmp/cut.gz" >"$tmp/cut.gz.pcap" 2>/dev/null
cut_like "cut gzip" "$tmp/cut.gz" "$tmp/cut.gz.pcap"
head -c $(($(stat -c %s "$tmp/frames.zst") * 2 / 3)) "$tmp/frames.zst" >"$tmp/cut.zst"
zstd -dqfc "$tmp/cut.zst" >"$tmp/cut.zst.pcap" 2>/dev/null
cut_like "cut zstd" "$tmp/cut.zst" "$tmp/cut.zst.pcap"
(cat "$tmp/x.gz"; echo junk) >"$tmp/junk.gz"
is "junk behind a gzip file: all frames" "$(source_of file "$tmp/junk.gz")" "$whole"
has "junk behind a gzip file: says so" "$tmp/err" "gzip data are damaged before byte [0-9]+"

# refused NAME FILE PATTERN
refused() {
	source_of file "$2" >/dev/null
	exits "$1" 2 "$tmp/err" "$3"
}
refused "no such file" "$tmp/none" "cannot open '.*/none': No such file"
: >"$tmp/empty"
refused "an empty file" "$tmp/empty" "'.*/empty' is empty"
refused "a directory" / "Is a directory"
refused "a text" "$0" "is not a capture file"

# --- other formats ------------------------------------------------------------------------

for format in pcap nsecpcap pcapng; do
	editcap -F "$format" "$x" "$tmp/conv" && same_as_tcpdump "as $format" "$tmp/conv"
done

captures() { python3 "$srcdir/tests/e2e/captures.py" "$@"; }
for kind in pcap pcapng; do
	captures big "$x" "$tmp/big.$kind" "$kind"
	is "big-endian $kind" "$(source_of file "$tmp/big.$kind")" "$whole"
done
captures erf "$x" "$tmp/x.erf"
got=$(source_of file "$tmp/x.erf")
is "as erf" "${got% *}" "${whole% *}"

# --- other data of a file -----------------------------------------------------------------

editcap -F pcapng -a "2:the switch rebooted" "$x" "$tmp/noted.pcapng"
source_of -i file "$tmp/noted.pcapng" >"$tmp/out"
has "comments of frames" "$tmp/out" "^note 2: 0 the switch rebooted"
mergecap -I none -F pcapng -w "$tmp/merged.pcapng" "$x" "$tmp/big.pcapng"
source_of -i file "$tmp/merged.pcapng" >"$tmp/out"
has "several interfaces" "$tmp/out" "^iface 1: link 1"
is "frames of both" "$(awk '/^[0-9]+ [0-9]+ [0-9a-f]+$/ {print $1}' "$tmp/out")" $((2 * frames))
cat "$tmp/merged.pcapng" "$tmp/noted.pcapng" >"$tmp/sections.pcapng"
got=$(source_of file "$tmp/sections.pcapng")
is "sections, one behind the other" "${got%% *}" $((3 * frames))
editcap -F pcapng -T rawip4 "$x" "$tmp/raw.pcapng"
cat "$tmp/noted.pcapng" "$tmp/raw.pcapng" >"$tmp/mixed.pcapng"
source_of -i file "$tmp/mixed.pcapng" >"$tmp/out"
has "another link type is left out" "$tmp/out" " left_out $frames"
has "and that is said" "$tmp/err" "[0-9]+ frames? left out"
editcap -F pcapng -T linux-sll "$x" "$tmp/sll.pcapng"
same_as_tcpdump "a link type that is not looked into" "$tmp/sll.pcapng"

# --- netdevs ------------------------------------------------------------------------------

source_of netdev no-such-dev
exits "no such netdev" 2 "$tmp/err" "there is no netdev 'no-such-dev'; see"

if ! ip netns add "$ns" 2>/dev/null || ! ip -n "$ns" link add va type veth peer name vb 2>/dev/null; then
	skip "netdevs" "$(lack ip "no right to make a network namespace with a veth pair")"
	tap_done
fi
mac=$(ip -n "$ns" -br link show vb | awk '{print $3}')
ip -n "$ns" link set va up
ip -n "$ns" link set vb up

# send NETDEV COUNT SIZE [SOURCE-MAC [vlan]]: numbered frames of ethertype 0x88b5, to $to
to=01:00:5e:00:00:02 # a group: received, unless it was sent from here
send() {
	ip netns exec "$ns" python3 "$srcdir/tests/e2e/send_frames.py" "$to" "$@"
}
ours='ether proto 0x88b5 or (vlan and ether proto 0x88b5)'

# capture ARGUMENTS...: in the background, pid in $pid, what it shows in out and err
capture() {
	rm -f "$tmp/err" # the one before was ready, too
	ip netns exec "$ns" "$SOURCE_TOOL" "$@" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	wait_for grep -q '^ready' "$tmp/err"
}
# It sleeps, so it has taken every frame out of the ring.
is_idle() { [ "$(awk '/^State:/ {print $2}' "/proc/$pid/status")" = S ]; }
# It has read what netlink reported, and sleeps again.
has_noticed() {
	! awk 'NR > 1 && $5 > 0' "/proc/$pid/net/netlink" | grep -q . && ! cat /proc/"$pid"/task/*/status | grep '^State:' | grep -qv 'S (sleeping)'
}
# captured: ends it; frames in $got, their bytes in $bytes
captured() {
	kill -TERM "$pid"
	wait "$pid"
	got=$(awk '/^[0-9]+ [0-9]+ [0-9a-f]+$/ {print $1}' "$tmp/out")
	bytes=$(awk '/^[0-9]+ [0-9]+ [0-9a-f]+$/ {print $2}' "$tmp/out")
}
number() { grep -oE "$1 [0-9]+" "$tmp/out" | awk '{print $NF}'; }

capture -i -f "$ours" netdev vb
send va 20000 200
captured
is "a netdev: every frame, also those of the last moment" "$got" 20000
has "none lost" "$tmp/out" "^lost 0 known 1 .* ps_drop 0"

ip netns exec "$ns" tcpdump -i vb --nano -U -B 16384 -w "$tmp/tcpdump.pcap" "$ours" 2>"$tmp/tcpdump.err" &
beside=$!
wait_for grep -q 'listening on' "$tmp/tcpdump.err"
capture -w -f "$ours" netdev vb
send va 5000 60
send va 300 1514
send va 100 300 02:00:00:00:00:01 vlan
send vb 100 100 "$mac"
all() { [ "$(tcpdump -r "$tmp/tcpdump.pcap" --count 2>/dev/null | awk '{print $1}')" = 5500 ]; }
wait_for all
captured
kill -INT "$beside"
wait "$beside"
cmp "$tmp/out" "$tmp/tcpdump.pcap"
ok "byte for byte what tcpdump captures beside it: stamps, lengths, VLAN tags" "$tmp/err"
has "direction by the netdev's address" "$tmp/err" "^directions 0 5400 100$"
is "frames of the comparison" "$(tcpdump -r "$tmp/out" --count 2>/dev/null | awk '{print $1}')" 5500

capture -s 64 -i -f "$ours" netdev vb
send va 100 500
captured
is "snapshot length" "$bytes" 6400

capture -i -b 1048576 -f "$ours" netdev vb
send va 100 200
wait_for is_idle
kill -STOP "$pid"
send va 20000 500
kill -CONT "$pid"
wait_for is_idle
send va 300 200
captured
lost=$(number ps_drop)
[ "$lost" -gt 0 ]
ok "a ring that overflows drops frames" "$tmp/out"
is "delivered and dropped are all that was sent" $((got + lost)) 20400
has "the loss is reported with the frame after it" "$tmp/out" "^note $((got - 299)): $lost "

ip netns exec "$ns" "$RDMADUMP" -i vb -B 1024 -w "$tmp/ring.pcapng" 2>"$tmp/log" &
pid=$!
wait_for grep -q "capturing on" "$tmp/log"
kill -STOP "$pid"
send va 20000 500
kill -CONT "$pid"
wait_for larger "$tmp/ring.pcapng" 100000
kill -INT "$pid"
wait "$pid"
has "the report says what to raise" "$tmp/log" "^  the kernel's ring was full: raise -B"

capture -i -f "$ours" netdev vb
send va 10 200
ip -n "$ns" link set vb down
wait_for has_noticed
ip -n "$ns" link set vb up
wait_for has_noticed
send va 10 200
captured
is "a netdev that goes down and up" "$got" 20
has "both are reported" "$tmp/out" "^said .*netdev down.*netdev up"
has "and that frames may be missing" "$tmp/out" "^lost 0 known 0 "

# The report says it, too, with the time.
rm "$tmp/log"
ip netns exec "$ns" "$RDMADUMP" -i vb -w "$tmp/flap.pcapng" 2>"$tmp/log" &
pid=$!
wait_for grep -q "capturing on" "$tmp/log"
ip -n "$ns" link set vb down
wait_for has_noticed
ip -n "$ns" link set vb up
wait_for has_noticed
kill -INT "$pid"
wait "$pid"
has "the report says when frames may be missing" "$tmp/log" \
	'unknown \(netdev down [0-9:]{8}-[0-9:]{8}, frames may be missing\)'

# Frames of the old and of the new address are its own, those of others are not.
capture -i -f "$ours" netdev vb
mac=$(ip -n "$ns" -br link show vb | awk '{print $3}')
send vb 10 100 "$mac"
ip -n "$ns" link set vb address 02:00:00:00:00:77
send vb 10 100 02:00:00:00:00:77
send va 10 100
wait_for has_noticed
captured
has "an address that changes: own frames stay own frames" "$tmp/out" "^directions 0 10 20$"
has "and the change is reported" "$tmp/out" "^said .*MAC address changed from $mac to 02:00:00:00:00:77"

# Between two other stations, to this one, and from it
capture -i -f "$ours" netdev vb
to=02:00:00:00:00:02 send va 10 100
to=02:00:00:00:00:77 send va 20 100
to=02:00:00:00:00:02 send vb 30 100 02:00:00:00:00:77
wait_for has_noticed
captured
has "the direction between others is unknown" "$tmp/out" "^directions 10 20 30$"

ip netns exec "$ns" "$RDMADUMP" -q -i vb -U -w "$tmp/former.pcapng" "$ours" 2>"$tmp/log" &
pid=$!
wait_for larger "$tmp/former.pcapng" 100
ip -n "$ns" link set vb address 02:00:00:00:00:78
direction_of() { captures directions "$tmp/former.pcapng" | awk -v mac="$1" '$2 == mac { d = $1 } END { print d }'; }
is_foreign() { send va 1 100 02:00:00:00:00:77 && [ "$(direction_of 02:00:00:00:00:77)" = 1 ]; }
wait_for is_foreign
ok "the former address is another's after a while"
send vb 1 100 02:00:00:00:00:78
kill -INT "$pid"
wait "$pid"
is "... and the new one is its own" "$(direction_of 02:00:00:00:00:78)" 2

capture -i -f "$ours" netdev vb
send va 10 200
ip -n "$ns" link set vb down
ip -n "$ns" link set vb name vb9
ip -n "$ns" link set vb9 up
wait_for has_noticed
send va 30 200
wait_for has_noticed
send vb9 5 200 02:00:00:00:00:78
kill -0 "$pid"
ok "a netdev that is renamed: the capture goes on" "$tmp/err"
captured
is "all of its frames are captured" "$got" 45
has "and the new name is reported" "$tmp/out" "^said .*netdev renamed from vb to vb9"
ip -n "$ns" link set vb9 down
ip netns exec "$ns" "$RDMADUMP" -i vb9 -w "$tmp/down.pcapng" -a duration:1 2>"$tmp/err"
exits "a netdev that is down" 2 "$tmp/err" "netdev 'vb9'.*not up; set it up \('ip link set dev vb9 up'\)"
ip -n "$ns" link set vb9 name vb
ip -n "$ns" link set va down
ip -n "$ns" link set vb up
ip netns exec "$ns" "$RDMADUMP" -i vb -w "$tmp/down.pcapng" -a duration:1 2>"$tmp/err"
has "a netdev without carrier: said at the start" "$tmp/err" "netdev vb has no carrier: no frames arrive until"
ip -n "$ns" link set va up
wait_for has_noticed

capture -i -f 'ether proto 0x88b5' netdev any
send va 50 200
captured
has "all netdevs: directions from the cooked header" "$tmp/out" "^directions 0 50 50$"

# What the adapter dropped: libpcap reads it in sysfs, by the netdev's name; here in $tmp/net
missed() { echo "$1" >"$tmp/net/vb/statistics/rx_missed_errors"; }
capture_missed() {
	missed 1000
	rm -f "$tmp/err"
	# shellcheck disable=SC2016 # expanded by that shell
	ip netns exec "$ns" sh -c 'mount --bind "$0" /sys/class/net && exec "$@"' "$tmp/net" "$SOURCE_TOOL" -i "$@" netdev vb \
		>"$tmp/out" 2>"$tmp/err" &
	pid=$!
	wait_for grep -q '^ready' "$tmp/err"
}
mkdir -p "$tmp/net/vb/statistics"
# shellcheck disable=SC2016
if ip netns exec "$ns" sh -c 'mount --bind "$0" /sys/class/net' "$tmp/net" 2>/dev/null; then
	capture_missed -p
	missed 1007
	captured
	has "what the adapter dropped" "$tmp/out" "^lost 7 known 1 .* ps_ifdrop 7$"
	capture_missed
	missed 1007
	captured
	has "not promiscuous: libpcap does not read it" "$tmp/out" "^lost 0 known 1 .* ps_drop 0$"
	capture_missed -p
	missed 3
	captured
	has "it is reset: the loss is unknown, not 4 billion" "$tmp/out" "^lost 0 known 0 .* ps_ifdrop 0$"
	capture_missed -p
	ip -n "$ns" link set vb down
	ip -n "$ns" link set vb name vb9
	missed 5000
	captured
	has "renamed: the former name's counter is another's" "$tmp/out" "^lost 0 known 0 .* ps_ifdrop 0$"
	ip -n "$ns" link set vb9 name vb
	ip -n "$ns" link set vb up
else
	skip "what the adapter dropped" "no right to mount over /sys/class/net"
fi

capture -i -f "$ours" netdev vb
send va 10 200
ip -n "$ns" link del va
wait "$pid"
exits "a netdev that is removed" 4 "$tmp/out" "^10 2000 "
has "and why it ended" "$tmp/err" "no more frames from netdev 'vb'"

if command -v setpriv >/dev/null; then
	setpriv --reuid 65534 --clear-groups --inh-caps=-all "$SOURCE_TOOL" netdev lo >/dev/null 2>"$tmp/err"
	exits "without privilege" 2 "$tmp/err" "CAP_NET_RAW"
else
	skip "without privilege" "setpriv is not installed"
fi
ip netns exec "$ns" "$SOURCE_TOOL" -f 'bogus (' netdev lo 2>"$tmp/err"
has "a netdev that is down, a filter that is none" "$tmp/err" "set it up \\(.ip link set dev lo up.\\)|filter 'bogus \('"

tap_done
