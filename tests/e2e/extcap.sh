#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program as Wireshark's extcap: its replies, and captures that tshark makes through it.
. "${srcdir:-.}/tests/tap.sh"
need_tool tshark dumpcap capinfos tcpdump jq
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] ||
	skip_all "tshark crawls with the sanitizer's library in front of it"

# Wireshark's personal folder: the only one that root can choose
home=$tmp/home
mkdir -p "$home/.config/wireshark/extcap"
ln -s "$(command -v "$RDMADUMP")" "$home/.config/wireshark/extcap/rdmadump"
ln -s "$(command -v "$RDMADUMP")" "$tmp/rdmadump-extcap"
# tshark itself leaks when the sanitizer's library is preloaded into it
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"

mac=0c:42:a1:00:00:01
devices=(--dev "name=mlx5_0,netdev=enp1s0f0np0,mac=$mac"
	--dev "name=mlx5_1,netdev=enp2s0np0,state=down" --dev "name=mlx5_2,link=ib")
gen=count=3000,size=60-1400,qps=4,acks=1,seed=21
"$SOFTHCA_FRAMES" --write "$tmp/gen.pcap" $gen >"$tmp/hash"
want=$(<"$tmp/hash")
port=rdma-mlx5_0-1

# extcap ARGUMENTS...: the reply in $tmp/out
model "${devices[@]}" --stats "$tmp/stats" --keep "$tmp/tree" -- true
extcap() {
	on_tree "$tmp/tree" "$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log"
	status=$?
}
# shark MODEL ARGUMENTS... -- TSHARK ARGUMENTS...
shark() {
	apart "$@"
	rm -f "$tmp/stats" "$tmp/x.pcapng"
	# The FIFO is in TMPDIR; the model's tree is better in memory.
	HOME=$home model "${devices[@]}" --stats "$tmp/stats" "${ahead[@]}" -- \
		env TMPDIR="$tmp" tshark "${rest[@]}" >"$tmp/out" 2>"$tmp/log"
	status=$?
}
running() { pgrep -f -- "--capture .*$tmp" >/dev/null; }
# clean NAME: the extcap has ended normally and left nothing on the device
clean() {
	is_over() { ! running; }
	wait_for is_over && [ "$(jq '[.leaked[]] | add' "$tmp/stats")" = 0 ]
	ok "$1: nothing is left, no process, nothing on the device" "$tmp/stats"
}

# --- the requests of the protocol -------------------------------------------------------------

interfaces='interface {value=rdma-mlx5_0-1}{display=mlx5_0 port 1 (enp1s0f0np0, RoCE)}
interface {value=rdma-mlx5_1-1}{display=mlx5_1 port 1 (enp2s0np0, RoCE, down)}
interface {value=rdma-mlx5_2-1}{display=mlx5_2 port 1 (InfiniBand): no capture, verbs offer no sniffer on InfiniBand ports from ConnectX-4 on}'
extcap --extcap-interfaces --extcap-version=4.0
is "interfaces" "$status $(grep ^interface "$tmp/out")" "0 $interfaces"
is "one line on the program" "$(grep -cE '^extcap \{version=[0-9.]+\}' "$tmp/out")" 1
model "${devices[@]}" -- "$tmp/rdmadump-extcap" --extcap-interfaces >"$tmp/named" 2>&1
holds "the same by the name rdmadump-extcap" cmp "$tmp/out" "$tmp/named"
model --no-devices -- "$RDMADUMP" --extcap-interfaces --extcap-version=4.0 >"$tmp/out" 2>"$tmp/log"
is "no devices: no interface, no error" "$? $(grep -c ^interface "$tmp/out") $(<"$tmp/log")" "0 0 "

extcap --extcap-dlts --extcap-interface $port
is "link type of RoCE" "$status $(<"$tmp/out")" "0 dlt {number=1}{name=EN10MB}{display=Ethernet}"
extcap --extcap-dlts --extcap-interface rdma-mlx5_2-1
has "link type of InfiniBand" "$tmp/out" '^dlt \{number=197\}\{name=ERF\}'

extcap --extcap-config --extcap-interface $port
is "options" "$status $(sed -n 's/^arg .*{call=--\([a-z-]*\)}.*{type=\([a-z]*\)}.*/\1:\2/p' "$tmp/out" | paste -sd' ')" \
	"0 snaplen:integer headers-only:boolflag zero-payload:boolflag direction:selector buffers:integer buffer-size:integer roce:boolflag qp:string opcode:string host:string time-stamp-type:selector stop-on-pause:boolflag"
is "arguments are numbered in their order" "$(sed -n 's/^arg {number=\([0-9]*\)}.*/\1/p' "$tmp/out" | paste -sd' ')" "0 1 2 3 4 5 6 7 8 9 10 11"
is "the values of clocks" "$(grep -c '^value {arg=10}' "$tmp/out")" 3
is "one direction is the default" "$(grep -c '^value {arg=3}.*{default=true}' "$tmp/out")" 1
holds "no request opens a device" [ ! -e "$tmp/stats" ]

for f in 'udp port 4791' 'ether host 0c:42:a1:00:00:01' ''; do
	extcap --extcap-interface $port --extcap-capture-filter "$f"
	is "filter '$f' is right" "$status $(cat "$tmp/out" "$tmp/log")" "0 "
done
extcap --extcap-interface $port --extcap-capture-filter 'udp prot 4791'
is "a wrong filter: one line" "$status $(wc -l <"$tmp/out")" "0 1"
has "a wrong filter: what is wrong" "$tmp/out" "'udp prot 4791': .*syntax error"
extcap --extcap-interface rdma-mlx5_2-1 --extcap-capture-filter 'udp'
has "a filter for InfiniBand" "$tmp/out" 'no filters for InfiniBand'

mkfifo "$tmp/open"
exec 9<>"$tmp/open" # it has a reader
while IFS='|' read -r line pattern; do
	# shellcheck disable=SC2086 # words of a command line
	extcap ${line/TMP/$tmp}
	is "$line: exit status" "$status" 1
	has "$line: message" "$tmp/log" "$pattern"
	is "$line: one line" "$(wc -l <"$tmp/log")" 1
done <<'LIST'
--extcap-config|--extcap-interface is missing
--extcap-config --extcap-interface rdma-mlx5_9-1|no interface rdma-mlx5_9-1
--extcap-interface rdma-mlx5_0-1|extcap-interfaces or --capture is missing
--capture --extcap-interface rdma-mlx5_0-1|--fifo is missing
--capture --extcap-interface rdma-mlx5_0-1 --fifo TMP/open --buffers 21|--buffers: '21'
--capture --extcap-interface rdma-mlx5_0-1 --fifo TMP/open --direction up|--direction: 'up'
--capture --extcap-interface rdma-mlx5_0-1 --fifo TMP/open --opcode nack|'nack'
--capture --extcap-interface rdma-mlx5_0-1 --fifo TMP/open --snaplen -1|--snaplen: '-1'
--capture --extcap-interface rdma-mlx5_0-1 --fifo TMP/open --headers-only --zero-payload|exclude each other
--extcap-nonsense|unrecognized option
LIST
exec 9>&-

model "${devices[@]}" -- "$RDMADUMP" --capture --extcap-interface $port --fifo "$tmp/log" >"$tmp/out" 2>&1
is "a file instead of a FIFO: refused" "$? $(grep -c "'.*/log' is not a FIFO; -w writes a file" "$tmp/out")" "3 1"

# --- the capture without tshark -----------------------------------------------------------

mkfifo "$tmp/fifo"
if setpriv --bounding-set=-dac_override --inh-caps=-dac_override true 2>/dev/null || [ "$(id -u)" != 0 ]; then
	may_not=()
	[ "$(id -u)" != 0 ] || may_not=(setpriv --bounding-set=-dac_override --inh-caps=-dac_override)
	chmod 0 "$tmp/fifo"
	model "${devices[@]}" -- "${may_not[@]}" "$RDMADUMP" --capture --extcap-interface $port --fifo "$tmp/fifo" >"$tmp/out" 2>"$tmp/log"
	exits "a FIFO that it may not open" 3 "$tmp/log" "cannot open the FIFO '.*/fifo': Permission denied"
	chmod 600 "$tmp/fifo"
else
	skip "a FIFO that it may not open" "setpriv cannot drop a capability"
fi
cat "$tmp/fifo" >"$tmp/got.pcapng" &
model "${devices[@]}" --gen $gen --at-end sigint --stats "$tmp/stats" -- \
	"$RDMADUMP" --capture --extcap-interface $port --fifo "$tmp/fifo" >"$tmp/out" 2>"$tmp/log"
is "into a FIFO, without any option: quiet, exit status" "$? $(cat "$tmp/out" "$tmp/log")" "0 "
wait $!
is "... all frames" "$(hash_of "$tmp/got.pcapng")" "$want"
is "... as pcapng" "$(capinfos -t "$tmp/got.pcapng" | sed -n 's/^File type: *//p')" "Wireshark/... - pcapng"

"$RDMADUMP" -q -r "$tmp/gen.pcap" --roce --opcode ack -w "$tmp/acks.pcapng"
cat "$tmp/fifo" >"$tmp/got.pcapng" &
model "${devices[@]}" --gen $gen --at-end sigint -- "$RDMADUMP" --capture --extcap-interface $port --fifo "$tmp/fifo" \
	--roce --opcode ack --qp '' --snaplen '' --time-stamp-type host --stop-on-pause >"$tmp/out" 2>"$tmp/log"
is "options of the dialog, some emptied: exit status" $? 0
wait $!
is "the dialog's filter" "$(hash_of "$tmp/got.pcapng")" "$(hash_of "$tmp/acks.pcapng")"
holds "... with frames" [ "$(frames_of "$tmp/got.pcapng")" -gt 100 ]

# stopped NAME SIGNAL GEN...: a capture whose reader goes away, then is asked to end
stopped() {
	local name=$1 signal=$2
	shift 2
	rm -f "$tmp/pid" "$tmp/stats"
	model "${devices[@]}" --stats "$tmp/stats" --pidfile "$tmp/pid" "$@" -- \
		"$RDMADUMP" --capture --extcap-interface $port --fifo "$tmp/fifo" >"$tmp/out" 2>"$tmp/log" &
	local model=$!
	head -c 10000 "$tmp/fifo" >/dev/null
	[ -z "$signal" ] || kill -"$signal" "$(<"$tmp/pid")"
	wait $model
	is "$name: exit status, quiet" "$? $(cat "$tmp/out" "$tmp/log")" "0 "
	clean "$name"
}
stopped "the reader goes, frames come" "" --gen count=1000000 --rate 20000
stopped "the reader goes, SIGTERM, frames come" TERM --gen count=1000000 --rate 20000
stopped "the reader goes, SIGTERM, no more frames" TERM --gen count=18,size=1000
# Waiting for a reader
rm -f "$tmp/pid"
model "${devices[@]}" --pidfile "$tmp/pid" -- "$RDMADUMP" --capture --extcap-interface $port --fifo "$tmp/fifo" &
model=$!
# Signals are blocked: it is about to open the FIFO.
blocks_signals() { grep -qE '^SigBlk:.*[1-9a-f]' "/proc/$(<"$tmp/pid")/status"; }
wait_for blocks_signals
kill "$(<"$tmp/pid")"
wait $model
is "SIGTERM ends it also while there is no reader" "$?" 143
! running
ok "... and no process is left"

# --- tshark -------------------------------------------------------------------------------

shark -- -D
has "tshark -D lists the ports" "$tmp/out" '^[0-9]+\. rdma-mlx5_0-1 \(mlx5_0 port 1 \(enp1s0f0np0, RoCE\)\)$'
has "... with the verdict" "$tmp/out" '^[0-9]+\. rdma-mlx5_2-1 .*no capture'
shark -- -L -i $port
has "tshark -L" "$tmp/out" 'EN10MB \(Ethernet\)'

# tshark 4.0 may end before it has read everything from an extcap that ends first: its frames
# must be the first ones, complete. In other cases tshark ends the capture after all frames.
shark --gen $gen --at-end sigint -- -i $port -w "$tmp/x.pcapng"
n=$(frames_of "$tmp/x.pcapng")
is "tshark -i, until the extcap ends: frames" "$status $(hash_of "$tmp/x.pcapng")" \
	"0 $(hash_of "$tmp/gen.pcap" --first "$n")"
holds "... and not none" [ "$n" -gt 0 ]
clean "until the extcap ends"
capinfos "$tmp/x.pcapng" >"$tmp/info"
has "... the file names the port" "$tmp/info" 'Name = mlx5_0:1'
shark --gen count=50,size=300 -- -i $port -c 50 -w "$tmp/x.pcapng" -P -T fields -e infiniband.bth.opcode
is "tshark -c 50, no more frames: all are there at once" "$status $(frames_of "$tmp/x.pcapng")" "0 50"
is "... and decoded as they came" "$(wc -l <"$tmp/out")" 50
clean "tshark -c 50"

shark --gen $gen --at-end sigint -- -i $port -f "udp prot" -w "$tmp/x.pcapng"
has "tshark -f, a wrong one: why" "$tmp/log" "'udp prot': .*syntax error"

filter="udp and len > 500"
tcpdump -r "$tmp/gen.pcap" -w "$tmp/in.pcap" "not ether src $mac and $filter" 2>/dev/null
# The same by the command line, whose cuts have tests of their own
while IFS='|' read -r options ours; do
	set --
	for o in $options; do set -- "$@" -o "extcap.rdma_mlx5_0_1.$o"; done
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" -q -r "$tmp/in.pcap" $ours -w "$tmp/want.pcapng"
	n=$(($(frames_of "$tmp/want.pcapng") * 3 / 4))
	holds "-f, -o $options: of many frames" [ "$n" -gt 100 ]
	shark --gen $gen --rate 5000 -- -i $port -c $n -f "$filter" "$@" -w "$tmp/x.pcapng"
	is "... tshark -c $n while frames come" "$status $(hash_of "$tmp/x.pcapng" --first $n)" "0 $(hash_of "$tmp/want.pcapng" --first $n)"
	clean "tshark -c $n"
done <<'LIST'
direction:in headersonly:true zeropayload:false snaplen:0|--headers-only
direction:in headersonly:false zeropayload:true snaplen:100 buffers:4 buffersize:8|--zero-payload -s 100
LIST
capinfos "$tmp/x.pcapng" >"$tmp/info"
has "... the file tells the filter" "$tmp/info" "Filter string = -Q in .*$filter"
shark -- -i rdma-mlx5_2-1 -a duration:20 -w "$tmp/x.pcapng"
has "a port that cannot: tshark tells why" "$tmp/log" 'Error by extcap pipe: .*mlx5_2:1: Operation not supported'

# A tshark that is killed must not leave a sniffer behind
rm -f "$tmp/log"
HOME=$home model "${devices[@]}" --stats "$tmp/stats" --pidfile "$tmp/pid" -- \
	env TMPDIR="$tmp" tshark -q -i $port -w "$tmp/x.pcapng" >"$tmp/out" 2>"$tmp/log" &
model=$!
wait_for grep -q started "$tmp/log" && wait_for running
ok "the extcap runs"
kill -9 "$(<"$tmp/pid")"
wait $model 2>/dev/null
clean "tshark is killed"

tap_done
