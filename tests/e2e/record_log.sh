#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The flight recorder follows logs of applications by name: which lines fire, whatever happens to the file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
tool() { python3 "${srcdir:-.}/tests/e2e/record.py" "$@"; }

# live OPTIONS...: a recorder in the background, until it records
live() {
	rm -rf "$tmp/d" "$tmp/pid" && mkdir "$tmp/d"
	: >"$tmp/log"
	model --clock realtime --pidfile "$tmp/pid" --gen count=1000000,size=200 --rate 500 -- \
		"$RDMADUMP" record mlx5_0 -w "$tmp/d/r.pcapng" --memory 16Mi --json --no-analysis --pre 20ms --post 10ms -D "$@" \
		>"$tmp/report" 2>"$tmp/log" &
	job=$!
	wait_for grep -q 'memory for frames' "$tmp/log"
	pid=$(<"$tmp/pid")
}
# fired FILE N: so many lines of it; a window in which a busy machine received nothing is mentioned again
fired() { [ "$(grep -E "trigger log=$tmp/$1[,:]" "$tmp/log" | grep -vc ': no file: ')" -ge "$2" ]; }
# has_read FILE: its end is where the recorder's descriptor of it is
has_read() {
	local fd
	for fd in /proc/"$pid"/fd/*; do
		[ "$(readlink "$fd")" != "$tmp/$1" ] || grep -qx "pos:[[:space:]]*$(stat -c %s "$tmp/$1")" "/proc/$pid/fdinfo/${fd##*/}" && return
	done
	return 1
}
fires() { wait_for fired "$1" "$2"; }
finish() {
	kill -INT "$pid"
	wait $job
}

printf 'boom of yesterday\nCompletion with error of yesterday\n' | tee "$tmp/app" >"$tmp/lines"
: >"$tmp/rank0" && ln -s rank0 "$tmp/current"
live --trigger log="$tmp/app,match=boom*," --trigger log="$tmp/late,match=boom" --trigger log="$tmp/lines" \
	--trigger log="$tmp/current,match=boom"
has "a log that is not there yet" "$tmp/log" "log '$tmp/late' is not there yet"
echo 'boom 1, as usual' >>"$tmp/app"
fires app 1
mv "$tmp/app" "$tmp/app.1"
echo 'boom 2, in the renamed file' >>"$tmp/app.1"
fires app 2
printf 'boom 3, its last line' >>"$tmp/app.1"
echo 'boom 4, in the new file' >"$tmp/app"
fires app 4
echo 'boom, in the file that was left' >>"$tmp/app.1"
echo 'boom 5, truncated' >"$tmp/app"
fires app 5
wait_for has_read app
printf 'bo' >>"$tmp/app"
wait_for has_read app
printf 'om 6, in pieces\n' >>"$tmp/app"
fires app 6
printf 'boom 7, without an end' >>"$tmp/app"
fires app 7
{
	printf ', which comes later\nnothing\n'
	head -c 1000000 /dev/zero | tr '\0' x
	printf 'boom, too far behind\nboom 8, '
	head -c 1000000 /dev/zero | tr '\0' y
	printf '\n'
	head -c 300000 "$RDMADUMP"
	printf '\nnul\0boom 9, \033[31m\377\n'
	yes 'not what is waited for' | head -n 300000
	for i in {1..500}; do echo "boom $i, of many"; done
} >>"$tmp/app"
fires app 509
rm "$tmp/app"
echo 'boom 510, removed before' >"$tmp/app"
fires app 510
echo 'boom' >"$tmp/late"
fires late 1
ln -s late "$tmp/next" && mv -T "$tmp/next" "$tmp/current"
fires current 1
grep -v '^#' "$srcdir/tests/data/explain/lines" | cut -f2 >>"$tmp/lines"
echo 'Completion with error: the end' >>"$tmp/lines"
held=$(readlink "/proc/$pid/fd/"* | grep -cE "^$tmp/(app|late|lines|rank0)")
# The lines that match the patterns of the manual page, and how many of them have no completion status
read -r statuses others < <(tool patterns "$srcdir")
fires lines $((statuses + 1))
finish
is "it ends as asked" "$?" 0
is "a file of each of the four names is open, and none that was replaced" "$held" 4
is "each new line that matches fires once: as usual, and in logs that are renamed, replaced, truncated, removed, or a link; and late ones" \
	"$(jq -c '[.of_triggers[] | .fired]' "$tmp/report")" "[0,510,1,$((statuses + 1)),1]"
for i in {1..9} 510; do grep -oE "$tmp/app,match=boom\*,: .*boom $i, [^y]*" "$tmp/log" | head -n 1 | sed 's/.*,: //; s/ (within.*//'; done >"$tmp/got"
is "... with the line as its reason" "$(<"$tmp/got")" "boom 1, as usual
boom 2, in the renamed file
boom 3, its last line
boom 4, in the new file
boom 5, truncated
boom 6, in pieces
boom 7, without an end
boom 8, 
nul\\x00boom 9, \\x1b[31m\\xff
boom 510, removed before"
[ "$statuses" -gt 25 ] && [ "$others" = 0 ]
ok "without a pattern: $statuses lines with the patterns of the manual page; none of them is without a completion status"
# Of the first line whose window had a frame: on a busy machine that is a later one.
tool comments "$tmp"/d/r_*.pcapng >"$tmp/comments"
first=$(grep -m 1 -oE "trigger log=$tmp/app,match=boom\*,: (nul.*)?boom [0-9]+, [a-z]{1,9}" "$tmp/comments")
[ -n "$first" ]
ok "the line is in the comment of a frame" "$tmp/comments"
tool facts "$tmp"/d/r_*.pcapng >"$tmp/facts"
is "... and in the facts" "$(grep -cF "$first" "$tmp/facts")" 1

# A directory that appears later is found by the readings of counters
live --trigger log="$tmp/dir/app,match=boom" --trigger 'out_of_buffer>1000000'
has "a log whose directory is not there yet" "$tmp/log" "'$tmp/dir/app' is noticed late, after up to 10 s: No such file or directory"
mkdir "$tmp/dir"
echo boom >"$tmp/dir/app"
fires dir/app 1
if [ "$(id -u)" = 0 ]; then
	install -m 600 -o nobody /dev/null "$tmp/dir/next" && mv "$tmp/dir/app" "$tmp/dir/old" && mv "$tmp/dir/next" "$tmp/dir/app"
	wait_for grep -q "warning: the log '$tmp/dir/app' cannot be opened: Permission denied; choose a path" "$tmp/log"
	echo boom >>"$tmp/dir/old"
	fires dir/app 2
	mkdir "$tmp/dir/next" && mv "$tmp/dir/app" "$tmp/dir/other" && mv "$tmp/dir/next" "$tmp/dir/app"
	echo boom >>"$tmp/dir/old"
	fires dir/app 3
	is "a log that is replaced by what may not be read, and by no file: the old one is followed" \
		"$(grep -c "warning: the log" "$tmp/log")" 1
	finish
	live --trigger log="$tmp/dir/other"
	wait_for grep -q "warning: a later file '$tmp/dir/other', as after logrotate, cannot be opened" "$tmp/log"
	ok "... at the start, that is foreseen" "$tmp/log"
else
	skip "logs of others" "not root"
fi
finish

# report REDIRECTION: of a recorder whose log has one new line
report() {
	rm -rf "$tmp/d" "$tmp/truth" && mkdir "$tmp/d"
	: >"$tmp/app"
	model --clock realtime,truth="$tmp/truth" --gen count=1000000,size=200 --rate 500 -- script -qec "'$RDMADUMP' record mlx5_0 \
		-w '$tmp/d/r.pcapng' --no-analysis --post 1ms --trigger 'log=$tmp/app' --max-dumps 1 $1" /dev/null >"$tmp/log" 2>&1 </dev/null &
	job=$!
	wait_for grep -q 'memory for frames' "$tmp/log" "$tmp/err"
	wait_for larger "$tmp/truth" 100
	echo 'Got completion with error 12' >>"$tmp/app"
	wait $job
	cat "$tmp/err" >>"$tmp/log"
}
if has_tool script "what a line means"; then
	: >"$tmp/err"
	report ''
	has "on a terminal: what says more about the line" "$tmp/log" "^rdmadump explain --with '$tmp/d/r_00001_[0-9]*.pcapng' 'LINE' says what a line means"
	report "2>'$tmp/err'"
	is "... and only there" "$(grep -c 'rdmadump explain' "$tmp/log")" 0
	has "... where the report is, too" "$tmp/log" '^1 trigger, 1 file '
fi

# refuses NAME STATUS PATTERN PATH
refuses() {
	model --gen count=10 -- "$RDMADUMP" record mlx5_0 -w "$tmp/d/r.pcapng" --trigger log="$4" 2>"$tmp/log"
	exits "$1" "$2" "$tmp/log" "$3"
}
mkfifo "$tmp/fifo"
advice="is no regular file; name the file that the application appends to; fifo=PATH is for a FIFO"
refuses "a FIFO" 1 "the log '$tmp/fifo' $advice" "$tmp/fifo"
refuses "a directory" 1 "$advice" "$tmp/d"
refuses "a device" 1 "$advice" /dev/null
refuses "a name below a file" 2 "the log '$tmp/lines/x' cannot be opened: Not a directory; choose a path" "$tmp/lines/x"
tap_done
