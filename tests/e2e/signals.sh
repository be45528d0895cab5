#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Signals at every stage of a capture: the report is printed, and the exit status is correct.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3
model_options=() # of live()
count=20000 # more than a pipe takes
gen=count=$count,size=200,seed=8
"$SOFTHCA_FRAMES" --write "$tmp/in.pcap" $gen >/dev/null
mkfifo "$tmp/in" "$tmp/go" "$tmp/out"
out=$tmp/o.pcapng

pid_of() { cat "$tmp/pid"; }
send() { kill -"$1" "$(pid_of)"; }
gone() { ! kill -0 "$(pid_of)" 2>/dev/null; }
said() { grep -qE -- "$1" "$tmp/log"; }
has_frames() { [ "$(stat -c %s "$out")" -gt 20000 ]; }
# The signalfd: open while the capture runs
has_signalfd() { find "/proc/$(pid_of)/fd" -lname '*signalfd*' | grep -q .; }
# The output that descriptor 8 would read has frames.
output_waits() {
	[ "$(python3 -c 'import fcntl, struct, termios; print(*struct.unpack("i", fcntl.ioctl(8, termios.FIONREAD, bytes(4))))')" -gt 20000 ]
}
# Frames come after the signalfd was opened: it was closed again.
engine_ended() { output_waits && ! has_signalfd && ! gone; }

# live / offline ARGUMENTS...: started in the background, its id in $tmp/pid
live() {
	rm -f "$tmp/pid" "$out" "$tmp/log"
	model --gen $gen --pidfile "$tmp/pid" ${delay:+--start-delay "$delay"} "${model_options[@]}" -- \
		"$RDMADUMP" -d mlx5_0 --json --when-full wait "$@" >"$tmp/report" 2>>"$tmp/log" &
	job=$!
	wait_for test -s "$tmp/pid"
}
default_signals=INT,TERM,HUP
offline() {
	rm -f "$out"
	# Background processes of a shell ignore SIGINT, and those of nohup SIGHUP.
	env --default-signal="$default_signals" "$RDMADUMP" --json "$@" >"$tmp/report" 2>"$tmp/log" </dev/null &
	job=$!
	echo $job >"$tmp/pid"
}
# finish NAME STATUS FRAMES|some ENDED_BY
finish() {
	wait $job
	is "$1: exit status" $? "$2"
	# All frames of the file, if their number is not known
	[ "$3" != some ] || set -- "$1" "$2" "$(frames_of "$out")" "$4"
	is "$1: the report" "$(jq -r '"\(.frames.written) \(.ended_by)"' "$tmp/report" 2>&1)" "$3 $4"
}

# --- before anything is open --------------------------------------------------------------

for signal in USR1 USR2; do
	mkfifo "$tmp/filter"
	offline -r "$tmp/in.pcap" -F "$tmp/filter" -w "$out"
	exec 9>"$tmp/filter" # until it reads the filter
	send $signal
	echo udp >&9
	exec 9>&-
	finish "SIG$signal while the options are read" 0 $count source
	rm "$tmp/filter"

	offline -r "$tmp/in" -w "$out"
	exec 9>"$tmp/in" # until it has opened the FIFO
	send $signal
	cat "$tmp/in.pcap" >&9
	exec 9>&-
	finish "SIG$signal while a FIFO is opened" 0 $count source
done
for signal in INT TERM HUP; do
	offline -r "$tmp/in" -w "$out"
	exec 9>"$tmp/in"
	send $signal
	wait $job
	is "SIG$signal ends the wait for a FIFO" "$(kill -l $?)" $signal
	exec 9>&-
	holds "SIG$signal while a FIFO is opened: no file" [ ! -e "$out" ]
done

# Signals are blocked right behind that.
has_input() { find "/proc/$(pid_of)/fd" -lname '*/in.pcap' | grep -q .; }
for signal in INT TERM HUP; do
	offline -r "$tmp/in.pcap" -w "$tmp/out"
	wait_for has_input
	send USR1
	send $signal
	wait_for gone
	ok "SIG$signal ends the wait for a reader of the output"
	gone || send KILL
	wait $job
	is "SIG$signal ends the wait for a reader of the output: exit status" "$(kill -l $?)" $signal
done

# --- before the first frame, and while frames come ----------------------------------------

for signal in INT TERM HUP; do
	delay=1000000 live -w "$out"
	wait_for has_signalfd
	send USR1
	wait_for said ' 0 frames'
	ok "SIGUSR1 before the first frame" "$tmp/log"
	send USR2
	send $signal
	finish "SIG$signal before the first frame" 0 0 signal

	live -w "$out"
	wait_for has_frames
	send $signal
	finish "SIG$signal while frames come" 0 some signal

	offline -r "$tmp/in" -w "$out"
	exec 9>"$tmp/in"
	cat "$tmp/in.pcap" >&9
	wait_for has_frames
	send USR1
	wait_for said ' frames '
	send $signal
	finish "SIG$signal while a FIFO has no more" 0 $count signal
	exec 9>&-
done

# The line of SIGUSR1 is printed at every log level, and is not a warning
progress='^rdmadump: 00:0[0-9]:[0-9]{2} '
rm -f "$tmp/back"
model_options=(--clock "cycles,back=$tmp/back")
live -q -w "$out"
model_options=()
wait_for has_frames
send USR1
wait_for said "$progress"
ok "SIGUSR1 with -q: the line, without the word warning" "$tmp/log"
has "SIGUSR1: the rate since the start" "$tmp/log" 'frames .* [1-9][0-9.]* [kMG]?b/s'
: >"$tmp/back"
: >"$tmp/log"
send USR1
wait_for said ' frames '
has "SIGUSR1, the clock was set back: the time since the start" "$tmp/log" "$progress"
send INT
finish "the clock was set back" 0 some signal

# nohup(1): ignored at the start, ignored until the end
trap '' HUP
default_signals=INT,TERM
offline -r "$tmp/in" -w "$out"
default_signals=INT,TERM,HUP
trap - HUP
exec 9>"$tmp/in"
cat "$tmp/in.pcap" >&9
wait_for has_frames
send HUP
send USR1
wait_for said ' frames '
! gone && has_signalfd
ok "SIGHUP that was ignored at the start stays ignored"
send INT
finish "and SIGINT ends it" 0 $count signal
exec 9>&-

# --- while a command runs -----------------------------------------------------------------

printf '#!/bin/sh\n: >"%s/started"\nread -r _ <"%s/go"\n' "$tmp" "$tmp" >"$tmp/command" && chmod +x "$tmp/command"
for signals in 'USR1 USR2' INT TERM HUP; do
	for kind in live offline; do
		[ $kind = live ] || [ -n "${TEST_FULL-}" ] || continue
		rm -f "$tmp/started"
		from=(-c "$count")
		[ $kind = live ] || from=(-r "$tmp/in.pcap" -c "$count")
		$kind "${from[@]}" -z "$tmp/command" -w "$out"
		wait_for test -e "$tmp/started"
		for signal in $signals; do send "$signal"; done
		[ "$signals" = 'USR1 USR2' ] || wait_for said 'Ctrl-C again'
		ok "$signals during the command ($kind): what another one does is said" "$tmp/log"
		echo go >"$tmp/go"
		finish "$signals during the command ($kind)" 0 $count count
	done
done
# A second one: the report is printed without waiting for the command
rm -f "$tmp/started"
live -c $count -z "$tmp/command" -w "$out"
wait_for test -e "$tmp/started"
wait_for eval 'send INT; gone'
finish "a second SIGINT during the command" 0 $count count
has "a second SIGINT during the command: it is said" "$tmp/log" 'not waiting for'
is "a second SIGINT during the command: the file is whole" "$(frames_of "$out")" $count
echo go >"$tmp/go"
# One that ended the wait for the loss counters was the first one.
rm -f "$tmp/started"
model_options=(--lifespan 9000)
live -c $count -z "$tmp/command" -w "$out"
model_options=()
wait_for said 'for the loss counters'
send INT
wait_for test -e "$tmp/started"
send USR1
wait_for said ' frames ' # by the wait, which has begun
send INT
wait_for said 'Ctrl-C again|not waiting for'
echo go >"$tmp/go"
finish "a SIGINT while counters settle, and one during the command" 0 $count count
has "a SIGINT while counters settle, and one during the command: it is said" "$tmp/log" 'not waiting for'

# --- while the last flush waits for a reader ----------------------------------------------

for signals in 'USR1 USR2' INT TERM HUP; do
	for kind in live offline; do
		from=(-c "$count")
		[ $kind = live ] || from=(-r "$tmp/in.pcap" -c "$count")
		$kind "${from[@]}" -w "$tmp/out"
		exec 8<"$tmp/out"
		wait_for engine_ended
		for signal in $signals; do send "$signal"; done
		[ "$signals" = 'USR1 USR2' ] || wait_for said 'Ctrl-C again'
		ok "$signals during the last flush ($kind): what another one does is said" "$tmp/log"
		cat <&8 >"$tmp/piped"
		exec 8<&-
		finish "$signals during the last flush ($kind)" 0 $count count
		is "$signals during the last flush ($kind): all is there" "$(frames_of "$tmp/piped")" $count
	done
done
live -w "$tmp/out"
exec 8<"$tmp/out"
wait_for has_signalfd
wait_for eval 'send USR1; said "20.{1,3}000 frames"'
send INT
wait_for engine_ended
# One that comes before the wait begins counts as the first one, and is answered. A third would kill.
send INT
wait_for eval 'gone || said "Ctrl-C again"'
gone || send INT
wait $job
exits "a second SIGINT during the last flush" 3 "$tmp/log" 'abandoned: the end of the capture is not in'
is "a second SIGINT during the last flush: the report" \
	"$(jq -r '"\(.ended_by) \(.exit_status) \(.frames.delivered == .frames.written + .frames.dropped.output)"' "$tmp/report" 2>&1)" \
	"signal 3 true"
exec 8<&-

tap_done
