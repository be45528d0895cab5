#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The flight recorder: which frames are written, what fires, what is beside the files, limits, ends.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
tool() { python3 "${srcdir:-.}/tests/e2e/record.py" "$@"; }
d=$tmp/d
n=6000
triggers=50 lines=10
[ -n "${TEST_FULL-}" ] || n=1200 triggers=12 lines=2
wanted=$(tool make "$tmp/in.pcap" $n $triggers)

has_log() { grep -qE -- "$1" "$tmp/log"; }
send() { kill -"$1" "$(<"$tmp/pid")"; }
# record MODEL-OPTIONS... -- OPTIONS...: to its end; the report in $tmp/report
record() {
	apart "$@"
	rm -rf "$d" "$tmp/pid" "$tmp/truth" && mkdir "$d"
	model --clock realtime,truth="$tmp/truth" --pidfile "$tmp/pid" "${ahead[@]}" -- \
		"$RDMADUMP" record mlx5_0 -w "$d/r.pcapng" --memory 16Mi --json "${rest[@]}" >"$tmp/report" 2>"$tmp/log"
}
# live ...: the same in the background, until frames are recorded
live() {
	: >"$tmp/log"
	record "$@" &
	job=$!
	wait_for has_log 'memory for frames'
}
# Frames that were delivered, and at least COUNT of them; a trigger without new frames writes no file
delivered() { wc -l 2>/dev/null <"$tmp/truth" || echo 0; }
has_truth() { [ "$(delivered)" -gt "$1" ]; }
# signal_new: SIGUSR1, when there are frames that are in no file yet
signal_new() {
	wait_for has_truth $(($(delivered) + 20))
	send USR1
}
finish() {
	send INT
	wait $job
}
# balance NAME: every frame that was delivered was written, expired or dropped
balance() {
	is "$1: all frames are accounted for" \
		"$(jq '.frames | .delivered - .written - .expired - .buffer_full - .output - .filtered' "$tmp/report")" 0
}

# --- frames that fire ---------------------------------------------------------------------------

fired() { [ "$(grep -c "$1" "$tmp/log")" -ge "${2-1}" ]; }
live --pcap "$tmp/in.pcap" --rate 6000 -- --whole-frames --no-analysis -D --pre 8ms --post 4ms \
	--trigger nak=access --trigger retransmission,qp=7 --trigger fifo="$tmp/fifo"
for at in $(shuf -i "1-$((n / 2))" -n "$lines" | sort -n); do
	wait_for has_truth "$at"
	echo "line $at" >"$tmp/fifo"
done
has_fired_all() { [ "$(grep '^rdmadump: trigger' "$tmp/log" | grep -vc ': no file')" -ge $((triggers + lines)) ]; }
wait_for has_fired_all
finish
is "windows: it ends as asked" "$?" 0
files=("$d"/r_*.pcapng)
said=$(tool check 0.008 0.004 "$tmp/truth" "${files[@]}")
# A line that comes after the last frame has no file.
filed=$(jq '[.files[].triggers] | add' "$tmp/report") without=$(grep -c 'no file: no frame' "$tmp/log")
is "windows: each frame around $((triggers + lines)) triggers once, in order, and no other; the causing frames are commented" \
	"${said#* * }" "$filed $wanted"
is "windows: the report counts them" \
	"$(jq -r '"\(.frames.written) \(.dumps) \(.triggers.fired) \(.triggers.began + .triggers.extended) \(.ended_by)"' "$tmp/report")" \
	"${said%% *} ${#files[@]} $((triggers + lines)) $((triggers + lines)) signal"
is "windows: some triggers extended a file" "$(jq '.triggers.extended > 0 and .dumps > 1' "$tmp/report")" true
[ "$filed" -ge "$triggers" ] && [ $((triggers + lines - filed)) -ge "$without" ] && [ $((triggers + lines - filed > 0)) = $((without > 0)) ]
ok "windows: each trigger is in its file's number, or has no file: $filed, $without without" "$tmp/log"
balance windows

record --pcap "$tmp/in.pcap" --rate 20000 --at-end sigint -- --whole-frames --no-analysis \
	--pre 1h --post 1h --trigger nak --trigger retransmission
is "one window: every frame is in the one file" "$(tool check 3600 3600 "$tmp/truth" "$d"/r_*)" "$n 1 $triggers $wanted"
is "... and the statistics say so" "$(jq -r '"\(.frames.written) \(.frames.expired) \(.files[0].frames)"' "$tmp/report")" "$n 0 $n"

# --- everything else that fires -------------------------------------------------------------------

cat >"$tmp/command" <<END
#!/bin/bash
echo "\$1" "\$(ls "\${1%.*}".html)" >>"$tmp/names"
wait_for test ! -e "$tmp/hold"
END
chmod +x "$tmp/command"
tool listen "$tmp/notify" >"$tmp/notes" 2>/dev/null &
listener=$!
wait_for test -S "$tmp/notify"
export NOTIFY_SOCKET=$tmp/notify WATCHDOG_USEC=1000000
live --gen count=1000000,size=200 --rate 500 --counter out_of_buffer=3 --fault counter=9,frame=400 \
	--fault port=down,frame=600 --fault port=up,after_ms=100 -- --pre 100ms --post 50ms \
	--trigger 'out_of_buffer>5' --trigger port-down --trigger fifo="$tmp/fifo" --trigger event=port_active \
	--exec "$tmp/command" --textfile "$tmp/state.prom" -D
# All files that were begun are complete
settled() { [ "$(grep 'rdmadump: trigger' "$tmp/log" | grep -vc 'within the file before\|ignored')" = "$(grep -c 'pcapng: [0-9]* frames\|: no file' "$tmp/log")" ]; }
wait_for fired 'trigger port-down'
wait_for fired 'trigger event=port_active'
wait_for settled
echo "NCCL watchdog: rank 3" >"$tmp/fifo"
wait_for fired 'trigger fifo'
wait_for settled
: >"$tmp/hold"
for i in 1 2 3; do
	signal_new
	wait_for fired 'trigger SIGUSR1' $i
	wait_for settled
done
send INT
alive_at_end() { sed '1,/^STOPPING/d' "$tmp/notes" | grep -q WATCHDOG; }
wait_for alive_at_end
rm "$tmp/hold"
wait $job
is "other triggers: exit status" "$?" 0
unset NOTIFY_SOCKET WATCHDOG_USEC
tool notify "$tmp/notify" END
wait $listener
is "the service manager is notified: ready, alive, stopping, alive while a command of the last files runs" \
	"$(grep -oE '^(READY|WATCHDOG|STOPPING)=1' "$tmp/notes" | uniq | tr '\n' ' ')" "READY=1 WATCHDOG=1 STOPPING=1 WATCHDOG=1 "
tool comments "$d"/r_*.pcapng | cut -d' ' -f2- | sed 's/; /\n/g' >"$tmp/comments"
has "a counter fires, by its growth" "$tmp/comments" '^trigger out_of_buffer>5: hw_counters/out_of_buffer of mlx5_0:1 grew by 6 to 9$'
has "an event fires" "$tmp/log" 'trigger port-down: mlx5_0: port'
has "a line of a FIFO fires, and is in the comment" "$tmp/comments" '^trigger fifo=.*: NCCL watchdog: rank 3$'
is "SIGUSR1 fires, each time" "$(grep -c '^trigger SIGUSR1$' "$tmp/comments")" 3
holds "the FIFO that was created is removed" [ ! -e "$tmp/fifo" ]
balance "other triggers"
file=$(jq -r '.files[0].file' "$tmp/report")
tool section "$file" >"$tmp/section"
has "the file's comment has the trigger" "$tmp/section" 'Recorded around a trigger (out_of_buffer|port-down).*frames written'
tool facts "$file" >"$tmp/facts"
has "counters before" "$tmp/facts" '^start counters'
has "counters after" "$tmp/facts" '^end counters'
has "the trigger is a fact" "$tmp/facts" '^- trigger trigger (out_of_buffer|port-down)'
is "each file is analysed" "$(jq '[.files[].analysed] | all' "$tmp/report")" true
is "... as JSON" "$(jq -r .version "${file%.pcapng}.json")" "$(jq -r .properties.version.const "${srcdir:-.}/docs/schema/analyze.json")"
is "... before the command is run with its name, once each" \
	"$(sort "$tmp/names")" "$(for f in "$d"/r_*.pcapng; do echo "$f ${f%.pcapng}.html"; done)"
has "state for Prometheus" "$tmp/state.prom" '^rdmadump_record_files_total [5-9]$'
has "... of each trigger" "$tmp/state.prom" '^rdmadump_record_triggers_total\{trigger="SIGUSR1"\} 3$'
is "... in its format" "$(grep -cE '^# (HELP rdmadump_record_[a-z_]+ [A-Z1][^_]*|TYPE rdmadump_record_([a-z_]+_total counter|(running|memory_bytes) gauge))$' "$tmp/state.prom")" 24
has "... and that it has ended" "$tmp/state.prom" '^rdmadump_record_running 0$'
fits "the report has its schema" record "$tmp/report"

# 40 every 100 ms: no two readings have 150 between them, a second has more
steps=()
for i in {1..50}; do steps+=(--fault "counter=$((i * 40)),after_ms=100"); done
live --gen count=1000000,size=200 --rate 500 "${steps[@]}" -- --no-analysis --pre 20ms --post 10ms --trigger 'out_of_buffer>150/s'
wait_for fired 'trigger out_of_buffer>150/s'
finish
is "a rate fires" "$(jq '[.of_triggers[] | select(.trigger == "out_of_buffer>150/s") | .fired >= 1] == [true]' "$tmp/report")" true
# More where the machine stood still between two readings
has "... by the growth of one second" "$tmp/log" 'hw_counters/out_of_buffer of mlx5_0:1 grew by (1[6-9][0-9]|[2-9][0-9]{2}|[1-9][0-9]{3}) to '

# Growth by the rule of captures. A counter falls, and then grows by 40 every 100 ms: it did not wrap if it fell from
# far below its largest value, or if another counter of its set was reset.
steps=()
for i in {1..50}; do steps+=(--fault "counter=$((9 + i * 40)),after_ms=100"); done
for reset in 3900000000,0 4290000000,5000; do
	live --gen count=1000000,size=200 --rate 500 --counter out_of_buffer="${reset%,*}" --counter rx_write_requests="${reset#*,}" \
		--fault counter=9,frame=100 "${steps[@]}" -- --no-analysis --pre 20ms --post 10ms --trigger 'out_of_buffer>5'
	wait_for fired 'trigger out_of_buffer>5'
	finish
	is "a reset from ${reset%,*} is no growth" "$(grep -cE 'grew by [0-9]{5}|wrapped' "$tmp/log")" 0
done
live --gen count=1000000,size=200 --rate 500 --counter out_of_buffer=4294967290 --fault counter=4,frame=100 -- \
	--no-analysis --pre 20ms --post 10ms --trigger 'out_of_buffer>5'
wait_for fired 'trigger out_of_buffer>5'
finish
has "what looks like a wrap fires, and is not certain" "$tmp/log" 'grew by 10 to 4, if it wrapped and was not reset'

# Another device takes the name, as after a reload of the driver: its counters are not this one's.
tree=$tmp/tree/sys/class/infiniband
live --keep "$tmp/tree" --gen count=1000000,size=200 --rate 500 -- --no-analysis --pre 20ms --post 10ms --trigger 'out_of_buffer>5'
cp -r "$(readlink -f "$tree/mlx5_0")" "$tmp/other"
counted=100000
count_one() { echo $((++counted)) >"$tmp/other/ports/1/hw_counters/out_of_buffer" && fired 'trigger out_of_buffer>5'; }
count_one
ln -s "$tmp/other" "$tree/next"
mv -T "$tree/next" "$tree/mlx5_0"
wait_for count_one
finish
is "the counters of another device are no growth" "$(grep -cE 'grew by [0-9]{5}' "$tmp/log")" 0
has "... its growth is" "$tmp/log" 'grew by [0-9]{1,4} to 100'
rm -r "$tmp/tree" "$tmp/other"

others=(lid_change sm_change pkey_change client_reregister)
faults=() also=()
for event in "${others[@]}"; do faults+=(--fault "event=$event,frame=800") also+=(--trigger "event=$event"); done
live --gen count=1000000,size=200 --rate 2000 --fault 'kmsg=health poll: device lost,frame=300' --fault ip=10.77.0.9,frame=600 \
	"${faults[@]}" --ethtool rx_discards_phy=2 --fault ethtool=rx_discards_phy:9,frame=800 -- \
	--no-analysis --pre 1h --post 1h --trigger 'kmsg=health*lost' --trigger kmsg=SUBSYSTEM --trigger gid-change \
	--trigger event=gid_added "${also[@]}" --trigger 'rx_discards_phy>6,device=mlx5_0:1' -D
wait_for fired 'trigger kmsg'
wait_for fired 'trigger event=gid_added'
for event in "${others[@]}"; do wait_for fired "trigger event=$event: mlx5_0"; done
wait_for fired 'trigger rx_discards_phy'
finish
is "other events fire, once each" \
	"$(jq -c '[.of_triggers[] | select(.trigger | test("^event=.*(change|reregister)$")) | .fired]' "$tmp/report")" "[1,1,1,1]"
has "a statistic of the netdev's driver fires" "$tmp/log" 'trigger rx_discards_phy>6,device=mlx5_0:1: .*rx_discards_phy of mlx5_0:1 grew by 7 to 9'
tool comments "$d"/r_*.pcapng | cut -d' ' -f2- | sed 's/; /\n/g' >"$tmp/comments"
is "a kernel message fires, once: neither older ones nor the lines about its device do" \
	"$(jq -c '[.of_triggers[] | select(.trigger | startswith("kmsg")) | .fired]' "$tmp/report")" "[1,0]"
has "... its text is in the comment" "$tmp/comments" '^trigger kmsg=health\*lost: mlx5_core 0000:3b:00.0: health poll: device lost$'
# A changed address is read as a change, or as a removal and an addition.
has "a changed GID fires" "$tmp/comments" '^trigger gid-change: mlx5_0: .*10\.77\.0\.[29]\>'
has "... and so does the event alone" "$tmp/comments" '^trigger event=gid_added: mlx5_0: .*10\.77\.0\.9'
balance "kernel messages and GIDs"

tool stall "$tmp/stall.pcap"
live --pcap "$tmp/stall.pcap" --rate 1000 -- --no-analysis --pre 1h --post 10ms --trigger 'stall>300ms' --trigger 'stall>1h'
has "stall: a time that --pre does not cover" "$tmp/log" "'stall>1h': .* only if --pre is longer than 3600 s"
wait_for fired 'trigger stall'
wait_for fired 'pcapng: '
finish
has "a QP that waits fires, though nothing is received" "$tmp/log" \
	'trigger stall>300ms: QP 0x000009 of 10\.0\.0\.2 waits for QP 0x000007 of 10\.0\.0\.1: PSN 4 to 4, no packet for [0-9.]+ s'
is "... once, and what it sent is in the file" "$(jq -c '[.of_triggers[].fired, .frames.written]' "$tmp/report")" "[0,1,0,9]"

record --gen count=100000,size=200 --rate 20000 --fault fatal,frame=2000 -- --no-analysis --pre 1h --post 1h \
	--trigger fatal --trigger event=device_fatal
is "a fatal event: the recording ends" "$? $(jq -r .ended_by "$tmp/report")" "4 fault"
is "... and fires, once each" "$(jq -c '[.of_triggers[].fired]' "$tmp/report")" "[0,1,1]"
is "... and all frames before it are written" \
	"$(jq -c '[.frames.written, .frames.expired, .dumps]' "$tmp/report")" "[1999,0,1]"
tool facts "$d"/r_*.pcapng >"$tmp/facts"
has "... and why is in the file" "$tmp/facts" '^- trigger trigger fatal: '
if [ -n "${TEST_FULL-}" ]; then
	# The monitor cannot open the device (libmlx5 tries six times): only the recording itself sees the event
	second=()
	for _ in 1 2 3 4 5 6; do second+=(--fault 'verb=open_device,errno=EMFILE,nth=2'); done
	record --gen count=100000,size=200 --rate 20000 --fault fatal,frame=2000 "${second[@]}" -- --no-analysis --pre 1h --post 1h --trigger fatal
	has "a fatal event that only the recording sees: it is not reported otherwise" "$tmp/log" 'no asynchronous events of mlx5_0'
	is "... and fires" "$(jq -c '[.of_triggers[1].fired, .frames.written]' "$tmp/report")" "[1,1999]"
fi

# --- writers of a FIFO that do not behave ------------------------------------------------------------

live --gen count=1000000,size=200 --rate 500 -- --no-analysis --pre 100ms --post 10ms --trigger fifo="$tmp/fifo" -D
wait_for test -p "$tmp/fifo"
{
	head -c 1000000 /dev/zero | tr '\0' x
	printf '\nnul\0byte\033[31m\377\n'
} >"$tmp/fifo"
wait_for fired 'trigger fifo' 2
yes flood >"$tmp/fifo" 2>/dev/null &
flood=$!
wait_for fired 'trigger fifo.*flood' 100
timeout -k 5 "$PATIENCE" bash -c "$(declare -f send); tmp=$tmp send TERM; tail --pid=$(<"$tmp/pid") -s 0.05 -f /dev/null"
is "a writer that never stops does not keep the recorder from ending" "$?" 0
kill $flood 2>/dev/null
wait $job
is "... which ends as asked" "$? $(jq -r .ended_by "$tmp/report")" "0 signal"
holds "a line of a megabyte fires once, and is cut" grep -q "trigger fifo=[^ ]* x\{100,400\}\( \|$\)" "$tmp/log"
grep -qP '\033|\377' "$tmp/log"
exits "bytes that a terminal would obey are not printed" 1 "$tmp/log" 'trigger fifo=[^ ]* nul\\x00byte\\x1b\[31m\\xff\b'
balance "a FIFO that floods"

# --- the system clock is set -----------------------------------------------------------------------

tool make "$tmp/long.pcap" 100000 1 >/dev/null # frames for minutes: there are some about each trigger on a busy machine, too
# set_clock KEY WAY: timestamps of frames do not follow it, and neither may the times of triggers
set_clock() {
	local key=$1 way=$2 i
	rm -f "$tmp/set"
	live --clock "realtime,truth=$tmp/truth,$key=$tmp/set" --pcap "$tmp/long.pcap" --rate 500 -- --whole-frames \
		--no-analysis --pre 400ms --post 20ms --trigger 'stall>1h' -D
	for i in 1 2 3; do
		# More than --pre since the file before
		wait_for has_truth $((i * 300))
		send USR1
		wait_for fired 'pcapng: [0-9]' $i
		: >"$tmp/set"
	done
	wait_for has_log 'the system clock was set'
	finish
	is "the system clock is set $way: it ends as asked" "$?" 0
	is "... no trigger is held off, and each file has the frames around it" \
		"$(jq -c '[.triggers.began, [.files[] | .frames > 0]]' "$tmp/report")" '[3,[true,true,true]]'
	said=$(tool check 0.4 0.02 "$tmp/truth" "$d"/r_*.pcapng)
	is "... each once, at its time" "$(echo "$said" | cut -d' ' -f2,3)" "3 3"
	has "... and that is said, once" <(grep -c "warning: the system clock was set $way by 86[34][0-9][0-9]\." "$tmp/log") '^1$'
	balance "the system clock is set $way"
}
set_clock back back
set_clock ahead forward

# --- systemd's journal -----------------------------------------------------------------------------

# A name with a line end needs the other form of a field
mkdir -p "$tmp/two
lines"
: >"$tmp/log"
# shellcheck disable=SC2016 # the inner shell's
if unshare -m bash -c 'mount -t tmpfs none /run && mkdir -p /run/systemd/journal || exit 125
	/usr/bin/python3 "$1" journal /run/systemd/journal/socket 2 >"$2/journal" &
	wait_for test -S /run/systemd/journal/socket
	shift
	JOURNAL_STREAM=$(stat -c %d:%i "$1/log") "$SOFTHCA" --pcap "$1/in.pcap" --rate 3000 --clock realtime -- \
		"$RDMADUMP" record mlx5_0 -w "$1/two
lines/r.pcapng" --memory 16Mi --no-analysis --pre 1ms --post 1ms --trigger nak --max-dumps 1 2>"$1/log"
	wait' - "${srcdir:-.}/tests/e2e/record.py" "$tmp" 2>"$tmp/err" && [ -s "$tmp/journal" ]; then
	catalog=${srcdir:-.}/systemd/rdmadump.catalog
	is "the journal gets a trigger and a file, each with an ID of the catalog" \
		"$(jq -r '"-- " + .MESSAGE_ID' "$tmp/journal" | tr '\n' ' ')" "$(grep -e '^-- ' "$catalog" | head -n 2 | tr '\n' ' ')"
	is "... with fields" "$(jq -r '[.RDMADUMP_DEVICE, .RDMADUMP_PORT, .PRIORITY, .RDMADUMP_TRIGGER] | join(" ")' "$tmp/journal" | cut -c1-24 | tr '\n' ,)" \
		"mlx5_0 1 5 nak,mlx5_0 1 5 trigger nak: ,"
	is "... and the file's name in full" "$(jq -rs '.[1].RDMADUMP_FILE' "$tmp/journal")" "$(echo "$tmp/two
lines"/r_*)"
	is "... and they are not printed as well" "$(grep -c 'trigger nak\|[0-9] frames$' "$tmp/log")" 0
else
	skip "the journal" "no right to a mount namespace"
fi

# --- limits and ends ---------------------------------------------------------------------------------

record --pcap "$tmp/in.pcap" --rate 3000 -- --no-analysis --pre 1ms --post 1ms --trigger nak --max-dumps 3
is "--max-dumps ends it" "$? $(jq -r '"\(.dumps) \(.ended_by)"' "$tmp/report")" "0 3 dumps"
record --gen count=100000,size=1500 --rate 20000 -- --no-analysis --whole-frames --pre 1h --post 1h \
	--trigger 'port_rcv_packets>10' --max-disk 2Mi
is "--max-disk ends it" "$? $(jq -r .ended_by "$tmp/report")" "0 disk"
size=$(stat -c %s "$d"/r_*.pcapng)
[ "$size" -le 2300000 ] && [ "$size" -ge 2080000 ]
ok "... and its frames use it, and keep to it: $size bytes"
record --ethtool tx_global_pause=7 --gen count=100000000,size=256 --rate 10000 --fault ethtool=tx_global_pause:49,frame=500 -- --no-analysis --stop-on-pause
is "--stop-on-pause ends it, with pause for all priorities, too" "$? $(jq -r .ended_by "$tmp/report")" "0 pause"
has "... and says so" "$tmp/log" 'ethtool/tx_global_pause grew by 42 during the capture \(.*--stop-on-pause'
# None of them is a file, and the limit of files is not reached
live --gen count=0 -- --no-analysis --pre 1h --post 1ms --max-dumps 1
for i in 1 2 3; do
	send USR1
	wait_for fired 'trigger SIGUSR1: no file: no frame was received' $i
done
finish
is "triggers on an idle port write no files" "$? $(jq -c '[.ended_by, .triggers.fired, .dumps]' "$tmp/report") $(ls "$d")" '0 ["signal",3,0] '
record --pcap "$tmp/in.pcap" --rate 20000 --at-end sigint -- --no-analysis --pre 1ms --post 1ms --trigger nak --holdoff 1h
is "--holdoff: later triggers are counted, and write nothing" \
	"$(jq -r '.triggers | "\(.began) \(.extended + .held_off)"' "$tmp/report")" "1 $((triggers / 2 - 1))"

# Started again, the limits count what is there, and nothing else
rm -rf "$tmp/again" && mkdir "$tmp/again"
for i in 1 2 3; do
	live --gen count=1000000,size=200 --rate 2000 -- --no-analysis --pre 1h --post 1ms --max-dumps 2 -w "$tmp/again/r.pcapng"
	[ "$i" = 3 ] || signal_new
	[ "$i" = 1 ] && wait_for fired 'pcapng: ' && send INT
	wait $job
	echo "$? $(jq -r '"\(.dumps_found) \(.dumps) \(.ended_by)"' "$tmp/report")"
	: >"$tmp/again/r_00007_20260101000000.pcapng.zst"
	: >"$tmp/again/s_00008_20260101000000.pcapng"
done >"$tmp/out"
is "--max-dumps over several runs: the third one ends at once" "$(tr '\n' ,  <"$tmp/out")" "0 0 1 signal,0 1 1 dumps,0 2 0 dumps,"
is "... numbers go on" "$(cd "$tmp/again" && echo r_0000[12]_*.pcapng | wc -w)" 2
if [ -n "${TEST_FULL-}" ]; then
	record --gen count=1000 -- --no-analysis -w "$tmp/again/r.pcapng" --max-disk 1Mi -a duration:1
	is "--max-disk: there is room" "$(jq -r '"\(.dumps_found) \(.ended_by)"' "$tmp/report")" "2 duration"
fi
truncate -s 2M "$tmp/again"/r_00002_*
record --gen count=1000 -- --no-analysis -w "$tmp/again/r.pcapng" --max-disk 1Mi
is "... there is none" "$? $(jq -r '"\(.dumps) \(.ended_by)"' "$tmp/report")" "0 0 disk"

live --gen count=1000000,size=200 --rate 2000 -- --no-analysis --pre 1h --post 1h
printf -v now '%(%s)T'
for ((s = now; s <= now + PATIENCE; s++)); do printf -v name '%(%Y%m%d%H%M%S)T' $s && echo theirs >"$d/r_00001_$name.pcapng"; done
signal_new
big() { [ "$(stat -c %s "$d"/r_00002_*.pcapng)" -gt 50000 ]; }
wait_for big
send KILL
wait $job
is "another recorder of this name: its files stay" "$(sort -u "$d"/r_00001_*)" theirs
is "killed within a file: what was written can be read" \
	"$("$RDMADUMP" -r "$d"/r_00002_*.pcapng --count 2>/dev/null | awk '{print ($1 > 100)}')" 1
tool section "$d"/r_00002_*.pcapng >"$tmp/section"
has "... and it says so, and why it was begun" "$tmp/section" 'Recorded around a trigger SIGUSR1.*Not finished'

# Killed while it analyses: a FIFO in place of the second file keeps the analysis waiting
: >"$tmp/hold"
rm -f "$tmp/names"
live --gen count=1000000,size=200 --rate 2000 -- --pre 1h --post 1ms --exec "$tmp/command" -D
for i in 1 2; do
	signal_new
	wait_for fired 'pcapng: ' $i
done
wait_for test -s "$tmp/names"
waiting=$(echo "$d"/r_00002_*.pcapng)
rm "$d"/*.json "$d"/*.html "$waiting"
mkfifo "$waiting"
rm "$tmp/hold"
begun() { [ "$(find "$d" -type f ! -name '*.pcapng' | wc -l)" = 2 ]; }
wait_for begun
"$SOFTHCA" --pcap "$tmp/in.pcap" -- "$RDMADUMP" record mlx5_0 -w "$tmp/one.pcapng" --no-analysis --max-dumps 1 \
	--trigger nak=access 2>"$tmp/log"
has "the report counts one file as one" "$tmp/log" '^[0-9]+ triggers, 1 file \('
again() { "$SOFTHCA" --gen count=10 -- "$RDMADUMP" record mlx5_0 -w "$d/r.pcapng" --max-dumps 1 2>"$tmp/log"; }
again
holds "another recorder of this name leaves the reports that are being written" begun
send KILL
wait $job
is "killed while it analyses: no report without an end has its name" "$(find "$d" -name '*.json' -o -name '*.html')" ""
touch "$d/r_00002_20260101000000.json.part.mine" "$d/s_00002_20260101000000.json.part"
again
is "... the next start removes what was left, and nothing else" \
	"$(cd "$d" && echo *.part*)" "r_00002_20260101000000.json.part.mine s_00002_20260101000000.json.part"
is "... and names it" "$(grep -cE "removed 'r_00002_[0-9]{14}\.(json|html)\.part', .* interrupted: 'rdmadump analyze'" "$tmp/log")" 2
# shellcheck disable=SC2016 # the inner shell's: the analysis that has outlived its recorder ends
timeout -k 5 "$PATIENCE" bash -c ': >"$1"' - "$waiting"

# --- the disk is full ----------------------------------------------------------------------------------

# no_room NAME ROOM PATTERN FILES: on a disk with so much room, of which so many files are left behind
no_room() {
	mkdir -p "$tmp/small"
	if ! mount -t tmpfs -o size=60m tmpfs "$tmp/small" 2>/dev/null; then
		skip "$1" "no right to mount a tmpfs"
		return
	fi
	head -c 70m /dev/zero >"$tmp/small/filler" 2>/dev/null
	truncate -s -"$2" "$tmp/small/filler"
	live --gen count=1000000,size=1500,seed=5 --rate 1000 -- --no-analysis --whole-frames --pre 1h --post 1h \
		-w "$tmp/small/r.pcapng" --textfile "$tmp/state.prom" -D
	for i in 1 2; do
		send USR1
		wait_for fired 'another file' $i
	done
	has "$1: it is reported" "$tmp/log" "warning: .*$3.*; recording goes on, and the next trigger tries another file"
	is "$1: ... once" "$(grep -c 'warning: .*another file' "$tmp/log")" 1
	is "$1: complete records are kept, an empty file is not" "$(find "$tmp/small" -name 'r_*' | wc -l)" "$4"
	rm "$tmp/small/filler"
	send USR1
	wait_for fired 'trigger SIGUSR1' 3
	wait_for has_frames 3
	finish
	is "$1: with room it writes again; the exit status says that a file is not whole" \
		"$? $(jq -c '[.dumps_failed, .files[-1].failed, .files[-1].frames > 0, .exit_status]' "$tmp/report")" "3 [2,false,true,3]"
	balance "$1"
	is "$1: frames of files that could not be written did not expire" "$(jq .frames.expired "$tmp/report")" 0
	for f in "$tmp"/small/r_*; do "$RDMADUMP" -r "$f" --count 2>/dev/null; done | awk '{n += $1} END {print n}' >"$tmp/n"
	is "$1: what was written can be read" "$(<"$tmp/n")" "$(jq .frames.written "$tmp/report")"
	has "$1: the state counts it" "$tmp/state.prom" '^rdmadump_record_files_failed_total 2$'
	umount "$tmp/small"
}
has_frames() { [ "$(stat -c %s "$tmp/small/r_0000$1"_*)" -gt 50000 ]; }
cleanup() { umount "$tmp/small" 2>/dev/null; }
no_room "a full disk" 200k "writing '.*' failed after [0-9 ]+ frames: No space left on device" 1
[ -z "${TEST_FULL-}" ] || no_room "no room at all" 0 "No space left on device" 0

mkdir "$tmp/gone"
: >"$tmp/log"
rm -f "$tmp/pid"
model --clock realtime,truth="$tmp/truth" --pidfile "$tmp/pid" --gen count=1000000,size=200 --rate 1000 -- \
	"$RDMADUMP" record mlx5_0 -w "$tmp/gone/r.pcapng" --no-analysis --trigger icrc-error --trigger 'stall>20s' 2>"$tmp/log" &
job=$!
wait_for has_log 'memory for frames'
has "a trigger that cannot fire: a warning at the start" "$tmp/log" "--trigger 'icrc-error' cannot fire: .*give --whole-frames"
has "one whose wait begins before the file" "$tmp/log" "--trigger 'stall>20s': .* only if --pre is longer than 20 s"
wait_for has_truth 100
rmdir "$tmp/gone"
send USR1
wait_for has_log 'another file'
finish
exits "a directory that was removed" 3 "$tmp/log" '^  [0-9 ]+ of them belong to files that could not be written'
lacks "... and recommends no faster disk" "$tmp/log" 'faster disk'

# Every event that has a name can be a trigger.
mapfile -t events < <(jq -r '.properties.event.enum[] | "--trigger", "event=\(.)"' "${srcdir:-.}/docs/schema/events.json")
"$SOFTHCA" --gen count=10 -- "$RDMADUMP" record mlx5_0 --trigger-explain "${events[@]}" >"$tmp/out" 2>"$tmp/log"
is "each event that 'events' names can fire" "$? $(grep -c '^event=' "$tmp/out")" "0 $((${#events[@]} / 2))"

# --- refused ------------------------------------------------------------------------------------------------

# refuses NAME PATTERN OPTIONS...
refuses() {
	local name=$1 pattern=$2
	shift 2
	# Without the model where no device is opened
	if [ -n "${opened-}" ]; then record --gen count=10 -- "$@"; else "$RDMADUMP" record mlx5_0 "$@" 2>"$tmp/log"; fi
	is "$name: usage" "$?" "${status-1}"
	has "... and why" "$tmp/log" "$pattern"
}
opened=yes refuses "an unknown counter" "there is no counter 'no_such'.*rdmadump counters" --trigger no_such
refuses "a name that is nearly one, without a device" "there is no trigger 'nack'; did you mean 'nak'.*rdmadump-record" --trigger nack
refuses "two cuts" "give one of them" --whole-frames --zero-payload
refuses "no frames" "no frame would be written" --pre 0 --post 0
refuses "a time" "not a time" --pre 10x
: >"$tmp/plain"
opened=yes refuses "a FIFO that is a file" "is no FIFO" --trigger fifo="$tmp/plain"
opened=yes status=3 refuses "a directory that is not there" "'$tmp/none': No such file or directory; name a directory that exists" -w "$tmp/none/r.pcapng"

printf -v long '%0240d' 0
opened=yes status=3 refuses "a name that is too long with number and time" "named after '.*': File name too long; choose a shorter name" -w "$tmp/$long"
"$SOFTHCA" --gen count=10 -- "$RDMADUMP" record mlx5_0 --trigger-explain --trigger icrc-error \
	--trigger 'cnp>5/s' --trigger out_of_buffer --trigger 'stall>2s' >"$tmp/out" 2>"$tmp/log"
exits "--trigger-explain" 0 "$tmp/out" 'here: it can fire: hw_counters/out_of_buffer of mlx5_0:1; the next frame gets the comment'
has "... what a stall is" "$tmp/out" 'a request has no response, and no packet of both QPs is seen for longer than 2 s$'
has "... for which QPs" "$tmp/out" 'here: it can fire for QPs whose responses were seen .*; the next frame gets the comment'
has "... and what cannot" "$tmp/out" 'here: it cannot fire: .*give --whole-frames'
# --- what was lost: the words of a capture and of `analyze` --------------------------------------

for lost in 0 6; do
	rm -rf "$d" "$tmp/pid" && mkdir "$d"
	model --clock realtime --pcap "$tmp/in.pcap" --rate 20000 --at-end sigint --fault "counter=$lost,frame=1" -- \
		"$RDMADUMP" record mlx5_0 -w "$d/r.pcapng" --memory 16Mi --whole-frames --no-analysis --pre 1h --post 1h --trigger nak 2>"$tmp/log"
	case $lost in
	0) said="dropped by rdmadump 0, dropped by the device 0 (out_of_buffer); no loss counter moved" ;;
	6)
		part=$(awk "BEGIN {printf \"%.2f\", 600 / ($n + 6)}")
		said="dropped by rdmadump 0, dropped by the device 6 ($part %; out_of_buffer); out_of_buffer counts"
		;;
	esac
	is "$lost frames lost: the report" "$(grep -cF "$said" "$tmp/log")" 1
	is "... and analyze, of its file" "$("$RDMADUMP" analyze "$d"/r_*.pcapng 2>&1 | tr -s ' \n' ' ' | grep -cF "$said")" 1
	is "... and its statistics" "$("$RDMADUMP" -r "$d"/r_*.pcapng -w "$tmp/copy.pcapng" --json 2>/dev/null | jq .lost_before_us.frames)" "$lost"
done

tap_done
