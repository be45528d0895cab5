#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Faults of the output: correct message and exit status, a readable file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark capinfos editcap zstd python3

gen=count=200000,size=500,seed=5

# Unwritable places
while read -r path message; do
	model --gen $gen -- "$RDMADUMP" -d mlx5_0 -w "$tmp/$path" >"$tmp/log" 2>&1
	exits "-w $path" 3 "$tmp/log" "$message"
done <<'LIST'
nowhere/out No such file or directory; the directory must exist
. Is a directory; give a file name
LIST
model --gen $gen -- "$RDMADUMP" -d mlx5_0 -w /dev/full >"$tmp/log" 2>&1
exits "/dev/full" 3 "$tmp/log" "No space left on device; free some space"
model --gen $gen -- "$RDMADUMP" -d mlx5_0 -q --json -w /dev/full >"$tmp/report" 2>"$tmp/log"
is "/dev/full: why it ended" "$(json "$tmp/report" .ended_by)" output

# Files cannot be read by other users
model --gen $gen -- "$RDMADUMP" -d mlx5_0 -q -c 10 -w "$tmp/mode" >"$tmp/log" 2>&1
is "the file's mode" "$(stat -c %a "$tmp/mode")" 600

# A size limit, then a full file system: whole records, the statistics still fit, exit status 3
full() {
	local name=$1 file=$2
	is "$name: exit status" "$status" 3
	has "$name: message" "$tmp/log" "writing '.*' failed after [0-9 ]+ frames: .*; the frames before are complete"
	frames_read "$file" >"$tmp/frames"
	ok "$name: the file is whole" "$tmp/frames_read"
	is "$name: frames in the file are those reported" "$(frames_of "$file")" "$(json "$tmp/report" .frames.written)"
	is "$name: accounted for" "$(json "$tmp/report" '.frames.written + .frames.dropped.output + .frames.dropped.buffer_full')" \
		"$(json "$tmp/report" .frames.delivered)"
	capinfos "$file" | grep -q 'Number of stat entries = 1'
	ok "$name: the statistics are in the file"
}
for format in pcapng pcap; do
	(ulimit -f 2000; model --gen $gen -- "$RDMADUMP" -d mlx5_0 --json --format $format -w "$tmp/limited" \
		>"$tmp/report" 2>"$tmp/log"; echo $? >"$tmp/status")
	status=$(<"$tmp/status")
	if [ $format = pcapng ]; then
		full "file size limit" "$tmp/limited"
	else
		is "file size limit, pcap: exit status" "$status" 3
		holds "file size limit, pcap: the file is whole" frames_read "$tmp/limited"
	fi
done
mkdir "$tmp/small"
if mount -t tmpfs -o size=3m tmpfs "$tmp/small" 2>/dev/null; then
	model --gen $gen -- "$RDMADUMP" -d mlx5_0 --json -w "$tmp/small/out" >"$tmp/report" 2>"$tmp/log"
	status=$?
	full "disk full" "$tmp/small/out"
	# slow traffic fills a disk in small steps
	rm "$tmp/small/out"
	model --gen $gen --rate 20000 -- "$RDMADUMP" -d mlx5_0 --json -U -w "$tmp/small/out" >"$tmp/report" 2>"$tmp/log"
	status=$?
	full "disk full, slowly" "$tmp/small/out"
	umount "$tmp/small"
else
	skip "disk full" "no right to mount a tmpfs"
	skip "disk full, slowly" "no right to mount a tmpfs"
fi

# A series in a read-only file system: -Z root, the advice where permission is missing, does not help
if mount -t tmpfs -o ro tmpfs "$tmp/small" 2>/dev/null; then
	model --gen $gen -- "$RDMADUMP" -d mlx5_0 -C 1 -w "$tmp/small/out" >"$tmp/log" 2>&1
	exits "read-only file system" 3 "$tmp/log" "cannot create files in '.*': Read-only file system; choose a file system that is not read-only\$"
	umount "$tmp/small"
else
	skip "read-only file system" "no right to mount a tmpfs"
fi

# kill -9: readable to the last flush
model --gen count=1000000,size=500,seed=5 --rate 20000 --pidfile "$tmp/pid" -- \
	"$RDMADUMP" -d mlx5_0 -q -w "$tmp/killed" >"$tmp/log" 2>&1 &
model=$!
wait_for larger "$tmp/killed" $((12000 * 532))
kill -9 "$(<"$tmp/pid")"
wait $model
# The kernel may have ended the last write in the middle: every frame before that is there
n=$(frames_read "$tmp/killed")
echo "# $n frames in the killed capture"
holds "kill -9: readable up to the last flush" [ "$n" -ge 10000 ]
capinfos "$tmp/killed" | grep -q 'Not finished'
ok "kill -9: the file says that it was not finished"

# Signals end it normally
for signal in INT TERM HUP; do
	rm -f "$tmp/pid" "$tmp/ended"
	model --gen count=1000000,size=500,seed=5 --rate 5000 --pidfile "$tmp/pid" --stats "$tmp/stats" -- \
		"$RDMADUMP" -d mlx5_0 --json -w "$tmp/ended" >"$tmp/report" 2>"$tmp/log" &
	model=$!
	wait_for larger "$tmp/ended" 20000
	kill -"$signal" "$(<"$tmp/pid")"
	wait $model
	is "SIG$signal: exit status" $? 0
	is "SIG$signal: frames in the file are those reported" "$(frames_of "$tmp/ended")" "$(json "$tmp/report" .frames.written)"
	is "SIG$signal: nothing left on the device" "$(jq -r '[.leaked[]?] | add // 0' "$tmp/stats")" 0
	capinfos "$tmp/ended" | grep -q 'frames written in'
	ok "SIG$signal: the file's comment says what was captured"
done

# A reader that closes the pipe is not an error
{ model --gen $gen -- "$RDMADUMP" -d mlx5_0 -w - 2>"$tmp/log"; echo $? >"$tmp/status"; } |
	head -c 100000 >/dev/null
is "closed pipe: exit status" "$(<"$tmp/status")" 0
lacks "closed pipe: quiet" "$tmp/log" '[Pp]ipe'

# ... also before the header. The FIFO's reader is gone when the program starts.
zstd -dq "$TEST_DATA/roce/07_rping/a.pcap.zst" -o "$tmp/read.pcap"
mkfifo "$tmp/gone"
exec 8<>"$tmp/gone"
exec 9>"$tmp/gone" 8<&-
"$RDMADUMP" -r "$tmp/read.pcap" --json -w - >&9 2>"$tmp/report"
is "pipe closed before the start: exit status" $? 0
exec 9>&-
is "pipe closed before the start: why it ended" "$(sed '/^{/,$!d' "$tmp/report" | jq -r '[.ended_by, .error] | join(",")')" "closed pipe,"
"$RDMADUMP" bundle --timeout 1 -w - 2>"$tmp/log" | :
has "bundle into a closed pipe: message" "$tmp/log" "cannot write to '-': Broken pipe; the reader has closed its end$"

# What is printed on standard output is a result, too: none is lost without a word; but a reader that closed the pipe, as
# head(1) does, has what it wanted
# closed_pipe COMMAND...: its exit status; its standard output is a pipe without reader
closed_pipe() {
	exec 8<>"$tmp/gone"
	exec 9>"$tmp/gone" 8<&-
	"$@" >&9 2>"$tmp/log"
	local status=$?
	exec 9>&-
	return $status
}
mkdir "$tmp/rxe" && tar -xzf "$TEST_DATA/sysfs/rxe.tar.gz" -C "$tmp/rxe"
n=0
while read -r line; do
	n=$((n + 1))
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" ${line//TMP/$tmp} >/dev/full 2>"$tmp/log"
	is "standard output is full: '$line': exit status" $? 3
	is "standard output is full: '$line': one message" \
		"$(grep -c 'to standard output: No space left on device; free some space or write elsewhere' "$tmp/log")" 1
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" ${line//TMP/$tmp} >&- 2>"$tmp/log"
	exits "standard output is closed: '$line'" 3 "$tmp/log" 'standard output: Bad file descriptor; it is closed: name a file'
	# shellcheck disable=SC2086 # words of a command line
	closed_pipe "$RDMADUMP" ${line//TMP/$tmp}
	is "the reader of '$line' is gone: exit status" $? 0
	lacks "the reader of '$line' is gone: quiet" "$tmp/log" '[Pp]ipe|[Ss]tandard output'
done <<'LIST'
-r TMP/read.pcap
-r TMP/read.pcap -q --count
-r TMP/read.pcap -q --json -w TMP/copy
-r TMP/read.pcap -q --analyze
analyze TMP/read.pcap
analyze --json TMP/read.pcap
analyze --html - TMP/read.pcap
list --sysroot TMP/rxe
info --sysroot TMP/rxe
counters --sysroot TMP/rxe
counters --sysroot TMP/rxe --json
counters --sysroot TMP/rxe --prometheus
explain --list
bundle --dry-run
--help
--help-all
--version
record --help
--ibdump --help
--ibdump --version
LIST
for line in "-r $tmp/read.pcap -q -w -" "bundle --timeout 1 -w -"; do
	# shellcheck disable=SC2086 # words of a command line
	"$RDMADUMP" $line >&- 2>"$tmp/log"
	exits "standard output is closed: '$line'" 3 "$tmp/log" '^rdmadump: cannot write to standard output: .*; it is closed: name a file'
done
holds "all these commands ran" [ "$n" -ge 20 ]
head -c 50000 "$tmp/read.pcap" >"$tmp/damaged.pcap"
"$RDMADUMP" -r "$tmp/damaged.pcap" -q -w "$tmp/undamaged.pcap" 2>"$tmp/log"
is "a damaged file: exit status" $? 4
"$RDMADUMP" -r "$tmp/damaged.pcap" --count >"$tmp/count" 2>"$tmp/log"
is "--count of a damaged file: exit status" $? 4
is "--count of a damaged file: the frames before the damage" "$(<"$tmp/count")" "$(frames_of "$tmp/undamaged.pcap") frames"
closed_pipe "$RDMADUMP" analyze "$tmp/damaged.pcap"
is "the reader of an analysis is gone, and the file is damaged: exit status" $? 4
closed_pipe "$RDMADUMP" analyze --annotate - "$tmp/read.pcap"
is "the reader of --annotate - is gone: exit status" $? 0
lacks "the reader of --annotate - is gone: quiet" "$tmp/log" '[Pp]ipe|[Cc]annot'

# A file name is shown on one line, whatever is in it
name=$'new\nrdmadump: all is well\e[31m.pcap'
mkdir "$tmp/dir"
"$RDMADUMP" -r "$tmp/read.pcap" -w "$tmp/dir/$name" 2>"$tmp/log"
is "a file name with a newline" "$? $(grep -cF 'new\x0ardmadump: all is well\x1b[31m.pcap (' "$tmp/log")" "0 1"

# Times that a format cannot store are not changed without a word; here, of the last second of 32 bits, once more
editcap -F pcapng -t $((0x1ffffffff - $(tcpdump -ttnr "$tmp/read.pcap" -c 1 2>/dev/null | cut -d. -f1))) "$tmp/read.pcap" "$tmp/late.pcapng"
for form in pcap pcap-us erf pcapng; do
	"$RDMADUMP" -q -r "$tmp/late.pcapng" --format $form -w "$tmp/late.out" 2>"$tmp/log"
	is "times after 2106 as $form" "$? $(grep -c "$form cannot store times after 2106" "$tmp/log")" "0 $([ $form = pcapng ]; echo $?)"
done

# An interface whose if_tsoffset is -100 s: 10 s and 200 s are 90 s before 1970 and 100 s after it
python3 "$srcdir/tests/e2e/captures.py" early "$tmp/early.pcapng"
for form in pcap pcap-us erf pcapng; do
	"$RDMADUMP" -q -r "$tmp/early.pcapng" --format $form -w "$tmp/early.out" 2>"$tmp/log"
	is "times before 1970 as $form" "$? $(grep -o "times .*" "$tmp/log")" "0 times before 1970 cannot be written: such frames get a wrong time"
done

# A limit of the size of files is reported, not a reason to die; a link that root names stays, /dev/stdout for example
: >"$tmp/small.html" && ln -s small.html "$tmp/link.html"
(
	ulimit -f 4
	exec "$RDMADUMP" analyze --html "$tmp/link.html" "$tmp/read.pcap" >/dev/null 2>"$tmp/log"
)
exits "--html and a limit of the size" 3 "$tmp/log" "cannot write '.*link.html': File too large"
[ -L "$tmp/link.html" ]
ok "--html on a link: the link is left" "$tmp/log"

# Live: tshark decodes from the pipe while it runs
model --gen count=100,size=300,seed=5 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q -w - 2>"$tmp/log" |
	tshark -r - -T fields -e infiniband.bth.opcode 2>/dev/null >"$tmp/opcodes"
is "piped into tshark" "$(wc -l <"$tmp/opcodes")" 100

tap_done
