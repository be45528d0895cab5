#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --sniffer ibdump: the vendor's ibdump as the source. A script takes its place, which writes slowly,
# dies, hangs, and writes garbage or nothing; it must never be left running.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool editcap jq setpriv tshark unshare
: "${SOFTHCA_BIN:?directory of the model}"
as_root
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"

mkdir "$tmp/bin"
cat >"$tmp/bin/ibdump" <<'END'
#!/bin/bash
# MODE says what it does. Without the model's library: its programs are ordinary ones.
unset LD_PRELOAD
echo "$*" >"$STATE/arguments"
echo $$ >"$STATE/pid"
while [ "$1" != -w ]; do shift; done
fifo=$2
echo "Initiating resources ..."
echo "-W- a warning on standard output"
echo "a line on standard error" >&2
trap 'echo INT >>"$STATE/signals"; exit 0' INT
ended() { ! read -r _ _ state _ <"/proc/$1/stat" || [ "$state" = Z ]; } 2>/dev/null
for_ever() { while :; do sleep 0.05; done; }
case $MODE in
refuses) echo "-E- Failed to open the device"; echo bye; exit 3 ;;
nothing) for_ever ;;
garbage) head -c 3000 /dev/zero >"$fifo"; for_ever ;;
short) printf 'no' >"$fifo"; for_ever ;;
deaf) trap '' INT ;;
slow-end) trap 'echo INT >>"$STATE/signals"; until [ -e "$STATE/may-end" ]; do sleep 0.05; done; exit 0' INT ;;
wrapped)
	MODE=inner env --default-signal=INT "$0" "$@" &
	trap 'exit 0' INT
	wait ;;
inner) trap 'until ended $PPID; do sleep 0.02; done; echo outlived >>"$STATE/signals"; exit 0' INT ;;
ethernet) FRAMES=$ETHERNET ;;
esac
exec 3>"$fifo"
n=$(stat -c %s "$FRAMES")
case $MODE in
writes) until ! cat "$FRAMES" >&3; do :; done 2>/dev/null; echo >"$STATE/failed" ;;
slow) for ((at = 0; at < n; at += 4001)); do tail -c +$((at + 1)) "$FRAMES" | head -c 4001 >&3; done ;;
dies) head -c $((n - 7)) "$FRAMES" >&3; exit 5 ;;
killed) cat "$FRAMES" >&3; kill -9 $$ ;;
quits) cat "$FRAMES" >&3; exit 0 ;;
*) cat "$FRAMES" >&3 ;;
esac
for_ever
END
chmod +x "$tmp/bin/ibdump"
export STATE=$tmp/state FRAMES=$tmp/frames.pcap ETHERNET=$tmp/ethernet.pcap MODE
mkdir "$STATE"
"$SOFTHCA_BIN/softhca-frames" --ib --write "$FRAMES" count=64,subnet=1 >"$tmp/hash"
"$SOFTHCA_BIN/softhca-frames" --write "$ETHERNET" count=9 >/dev/null
with=$tmp/bin:$PATH

# on MODE ARGUMENTS...
on() {
	MODE=$1
	shift
	rm -f "$STATE"/* "$tmp/f.pcapng"
	PATH=${path-$with} model --dev link=ib,lid=1,gateway=yes -- \
		"$RDMADUMP" -d mlx5_0 --sniffer ibdump -w "$tmp/f.pcapng" "$@" >"$tmp/out" 2>"$tmp/log"
}
# Whether nothing of it is left: no process, no FIFO
left() {
	local pid
	pid=$(cat "$STATE/pid" 2>/dev/null)
	[ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null || echo "process $pid"
	[ ! -s "$STATE/arguments" ] || [ ! -e "$(sed 's/.*-w //' "$STATE/arguments")" ] || echo FIFO
}
frames() { "$RDMADUMP" analyze --json "$tmp/f.pcapng" 2>/dev/null | jq .totals.frames; }

on slow -c 64
is "slowly: exit status" $? 0
is "slowly: every packet, unchanged" "$("$SOFTHCA_BIN/softhca-frames" --hash "$tmp/f.pcapng")" "$(cat "$tmp/hash")"
has "slowly: its arguments" "$STATE/arguments" '^-d mlx5_0 -i 1 -b 14 -w /.*/rdmadump-ibdump-[A-Za-z0-9]*/fifo$'
has "slowly: standard error is shown" "$tmp/log" 'warning: ibdump: a line on standard error'
has "slowly: so are warnings on standard output" "$tmp/log" 'warning: ibdump: -W- a warning'
[ "$(grep -c Initiating "$tmp/log")" = 0 ]
ok "slowly: progress is not" "$tmp/log"
has "slowly: how packets end" "$tmp/log" 'sent packets end with ICRC and VCRC, valid in 34 and 34 of 34'
has "slowly: loss is not known" "$tmp/log" 'ibdump does not count what it loses'
has "slowly: directions" "$tmp/log" 'received 26 +sent 34 +direction unknown 4'
is "slowly: it was interrupted" "$(cat "$STATE/signals")" INT
is "slowly: nothing is left" "$(left)" ''

# Without their VCRCs: two zero bytes are written in place of each
editcap -F nsecpcap -L -C -2 "$FRAMES" "$tmp/shorter.pcap"
FRAMES=$tmp/shorter.pcap on whole -c 64
lengths() { tshark -r "$1" -T fields -e frame.len -e frame.cap_len 2>/dev/null; }
is "without VCRC: packets are complete" "$(lengths "$tmp/f.pcapng")" "$(lengths "$FRAMES")"

on nothing -a duration:1
is "nothing: exit status" $? 0
is "nothing: an empty file, ended in order" "$(frames) $(cat "$STATE/signals") $(left)" '0 INT '

while IFS='|' read -r mode status frames message; do
	on "$mode"
	is "$mode: exit status" $? "$status"
	has "$mode: $message" "$tmp/log" "$message"
	is "$mode: frames, nothing is left" "$(frames) $(left)" "$frames "
done <<'END'
refuses|4|0|ibdump ended with status 3: -E- Failed to open the device; see its messages above, or use --sniffer icmd instead
dies|4|63|ibdump ended with status 5
killed|4|64|ibdump was ended by signal 9
quits|0|64|warning: mlx5_0:1: ibdump has ended
ethernet|4|0|ibdump on mlx5_0:1 writes frames of another link layer than the port's; is it the vendor's ibdump
garbage|4|0|ibdump on mlx5_0:1 does not write a capture file; is it the vendor's ibdump\?
END

# --- who ends it ------------------------------------------------------------------------------

# lives MODE SCRIPT: a shell in the model; $pid of a capture that has frames, $helper
lives() {
	rm -f "$STATE"/* "$tmp/f.pcapng"
	MODE=$1
	export tmp
	# shellcheck disable=SC2016 # for the inner shell
	PATH=$with model --dev link=ib,lid=1,gateway=yes -- bash -c '
		"$RDMADUMP" -d mlx5_0 --sniffer ibdump -U -w "$tmp/f.pcapng" 2>"$tmp/log" & pid=$!
		until [ "$(stat -c %s "$tmp/f.pcapng" 2>/dev/null || echo 0)" -gt 9000 ]; do sleep 0.02; done
		helper=$(cat /proc/$pid/task/$pid/children)
		ended() { ! read -r _ _ state _ <"/proc/$1/stat" || [ "$state" = Z ]; } 2>/dev/null
		over() { while kill -0 $1 2>/dev/null; do sleep 0.02; done; }
		'"$2" >"$tmp/out" 2>"$tmp/err"
}
# shellcheck disable=SC2016 # for the inner shell
lives whole '
	for p in $pid $helper; do awk "/^CapEff|^CapPrm/ {print \$2}" /proc/$p/status | sort -u; done
	kill -INT $pid; wait $pid; echo $?'
is "Ctrl-C: neither process has capabilities; ends in order" "$(xargs <"$tmp/out") $(cat "$STATE/signals") $(left)" \
	'0000000000000000 0000000000000000 0 INT '
# shellcheck disable=SC2016 # for the inner shell
lives whole 'kill -9 $pid; wait $pid; over $helper'
is "the capture is killed: ibdump is interrupted, nothing is left" "$(cat "$STATE/signals") $(left)" 'INT '
has "the capture is killed: the helper says so" "$tmp/log" 'the capture ended without ending ibdump: it is ended now'
# shellcheck disable=SC2016 # for the inner shell
lives whole 'kill -9 $helper; wait $pid; echo $?; over $(cat "$STATE/pid")'
is "the helper is killed: ibdump is interrupted" "$(cat "$STATE/signals")" INT
is "the helper is killed: exit status" "$(cat "$tmp/out")" 4
has "the helper is killed: the error" "$tmp/log" 'the process that runs ibdump was killed; start the capture again'
# shellcheck disable=SC2016 # for the inner shell
lives writes '
	kill -STOP $helper; kill -9 $pid; wait $pid
	until [ -e "$STATE/failed" ] || ended $(cat "$STATE/pid"); do sleep 0.02; done
	kill -CONT $helper; over $helper'
is "the capture is killed while ibdump writes: that does not kill it" "$(cat "$STATE/signals") $(left)" 'INT '
on wrapped -c 64
is "ibdump in a script that ends first: awaited, not killed" "$? $(cat "$STATE/signals")" "0 outlived"
lets_end() { wait_for 60 grep -q 'waiting for ibdump' "$tmp/log" && echo >"$STATE/may-end"; }
rm -f "$tmp/log"
lets_end &
on slow-end -c 64
is "a slow end: the capture ends, with what it has" "$? $(frames) $(left)" '0 64 '
is "a slow end: only interrupted" "$(cat "$STATE/signals")" INT
has "a slow end: what is waited for" "$tmp/log" 'waiting for ibdump \(process [0-9]+\), at most 9 s: it uses the adapter'
if [ -n "${TEST_FULL-}" ]; then
	on deaf -c 64
	is "deaf: the capture ends, with what it has" "$? $(frames)" '4 64'
	pid=$(cat "$STATE/pid")
	has "deaf: it is named" "$tmp/log" "ibdump did not end when interrupted \(SIGINT\), and was left running: process $pid; do not kill it"
	is "deaf: it is left alone" "$(left)" "process $pid"
	kill -9 "$pid"
fi

# --- when it cannot ----------------------------------------------------------------------------

refused() {
	local what=$1 status=$2 message=$3
	shift 3
	"$@" >"$tmp/out" 2>"$tmp/log"
	is "$what: exit status" $? "$status"
	has "$what: $message" "$tmp/log" "$message"
}
path=/usr/sbin:/usr/bin:/sbin:/bin
[ -n "$(PATH=$path type -P ibdump)" ] ||
	refused "no ibdump" 2 '^rdmadump: --sniffer ibdump: there is no ibdump in PATH; install it \(package mstflint' on nothing
mkdir "$tmp/own"
ln -s "$RDMADUMP" "$tmp/own/ibdump"
path=$tmp/own:$PATH
refused "this program" 2 'ibdump is this program under another name; put the directory of the vendor' on nothing
mkdir "$tmp/broken"
path=$tmp/broken:/usr/sbin:/usr/bin:/sbin:/bin
printf '#!/bin/sh\n' >"$tmp/broken/ibdump"
[ -n "$(PATH=$path type -P ibdump)" ] || refused "not executable" 2 'there is no ibdump in PATH' on nothing
chmod +x "$tmp/broken/ibdump"
printf '#!%s/none\n' "$tmp" >"$tmp/broken/ibdump"
refused "its interpreter is absent" 4 "cannot start $tmp/broken/ibdump: No such file or directory; install it again" on nothing
printf 'text' >"$tmp/broken/ibdump"
refused "no program" 4 "cannot start $tmp/broken/ibdump: Exec format error; install it again" on nothing
unset path
refused "no device" 1 '^rdmadump: --sniffer ibdump changes the adapter: name it with -d' "$RDMADUMP" --sniffer ibdump
refused "queues" 1 'has a queue of its own' on nothing --queues 2
tap_done
