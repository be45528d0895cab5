#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Text that would control a terminal, in every place of a capture, a sysfs tree and a command line
# that may contain text: it is printed escaped, without effect; JSON and HTML stay valid. Numbers that no capture has.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

hostile=$srcdir/tests/e2e/hostile.py
# A window title, colours, C1 in UTF-8, an override of direction, a bell, CR, LF, DEL, no UTF-8, markup
evil=$'\e]0;x\a\e[31m\xc2\x9b2J\xe2\x80\xae\r\n\x7f\xff\xc3</script><!--{}"\\'
file=$tmp/${evil//\//_}.pcapng
holds "a capture with hostile text is made" python3 "$hostile" capture "$file" "$evil"
python3 "$hostile" tree "$TEST_DATA/sysfs" "$tmp/tree" "$evil"

# clean NAME COMMAND...: stdout and stderr have no control sequence of a terminal
clean() {
	local name=$1
	shift
	timeout -k 5 "$PATIENCE" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	[ "$status" -lt 124 ] && python3 "$hostile" judge "$tmp/out" "$tmp/err" >"$tmp/found"
	ok "$name" "$tmp/found"
}

# says NAME PATTERN: the last command printed the text, so that the test is valid
says() {
	cat "$tmp/out" "$tmp/err" | grep -qF -- "$2"
	ok "... $1" "$tmp/err"
}

clean "frames of a capture" "$RDMADUMP" -r "$file" -v
says "and the file's name is printed" ']0;x'
clean "a capture written again" "$RDMADUMP" -r "$file" -w "$tmp/$evil.copy.pcapng" --format pcapng
clean "its report as JSON" "$RDMADUMP" -r "$file" --json -w "$tmp/again-${evil//\//_}.pcapng" --format pcapng
holds "... is valid, and has the file's name" jq -e '.file | contains("�")' "$tmp/out"
clean "a capture analysed" "$RDMADUMP" analyze "$file"
clean "... with everything" "$RDMADUMP" analyze -v "$file"
says "... and the device's name" 'mlx\x1b'
clean "... as JSON" "$RDMADUMP" analyze --json "$file"
holds "... has all texts" jq -e '.capture | .application, .hardware, .os, .files[0].name | contains("�")' "$tmp/out"
clean "... as a page" "$RDMADUMP" analyze --html - "$file"
holds "... with nothing from the capture between its tags" python3 "$hostile" page "$tmp/out"
clean "... while it is captured" "$RDMADUMP" -r "$file" --analyze
clean "two ends" "$RDMADUMP" analyze --ends always "$file" "$file"
clean "two ends that have nothing in common" "$RDMADUMP" analyze --ends always "$file" "$TEST_DATA/roce/10_rc_write_loss/b.pcap.zst"
says "and the file's name is printed" ']0;x'
clean "two files behind each other" "$RDMADUMP" analyze --ends never -v "$file" "$file"
head -c 900 "$file" >"$tmp/cut.pcapng"
clean "a capture that is cut" "$RDMADUMP" analyze -v "$tmp/cut.pcapng"

for command in list "list -v" "info -v" "info --json" "list --json" "counters --all" "counters --json" "counters --prometheus"; do
	# shellcheck disable=SC2086 # words
	clean "$command of a tree" "$RDMADUMP" $command --sysroot "$tmp/tree"
	case $command in *json) jq -e . "$tmp/out" >"$tmp/log" 2>&1; ok "... is valid JSON" "$tmp/log" ;; esac
done
python3 "$hostile" counters "$tmp/before.json" "$evil"
python3 "$hostile" counters "$tmp/after.json" "$evil"
clean "saved counters" "$RDMADUMP" counters --all --diff "$tmp/before.json" "$tmp/after.json"
says "and the device's name is printed" ']0;x'

# One line is one command line; @ is replaced by the text
while read -r -a words; do
	clean "rdmadump ${words[*]}" "$SOFTHCA" --dev name=mlx5_0,netdev=enp1s0 -- "$RDMADUMP" "${words[@]//@/$evil}"
	says "the text is shown" ']0;x'
done <<'LIST'
--@
-r @
@
-r @ @
-w /nonexistent/@ -r @
-d @
-i @
-c @
-b @
--format @ -w @ -r @
--decap @
-F @
-j @
--when-full @
list @
list --@
info @
info a @
events @
counters @
counters --interval @
counters --diff @ @
analyze @
analyze --@
analyze --qp @
analyze --ends @
analyze --html /nonexistent/@ @
--ibdump -d @
--ibdump --@
--ibdump @
--ibdump -m @ -d @
--extcap-@
--extcap-interfaces --@
--extcap-interface @ --extcap-dlts
--extcap-interface @ --capture --fifo @
LIST
# shellcheck disable=SC2016 # for the inner shell
clean "a program that is called so" bash -c 'exec -a "$1" "$2" --no-such-option' sh "$evil" "$RDMADUMP"

"$RDMADUMP" -r "$file" -w "$tmp/plain.pcapng" 2>/dev/null
holds "on a terminal" python3 "$hostile" terminal "$RDMADUMP" analyze "$file"
printf 'gr\xc3\xbc\xc3\x9fe \xe2\x82\xac' >"$tmp/name"
"$RDMADUMP" analyze "$(<"$tmp/name")" 2>"$tmp/err"
grep -qF "$(<"$tmp/name")" "$tmp/err"
ok "printable UTF-8 stays" "$tmp/err"

# --- nothing waits or reads without end ------------------------------------------------------------

# ends NAME STATUS PATTERN COMMAND...
ends() {
	local name=$1 status=$2 pattern=$3
	shift 3
	timeout -k 5 "$PATIENCE" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	exits "$name" "$status" "$tmp/err" "$pattern"
}
head -c 67108865 /dev/zero | tr '\0' ' ' >"$tmp/long.json"
ends "counters without end" 2 "long.json' is larger than 64 MiB" "$RDMADUMP" counters --diff "$tmp/long.json" "$tmp/long.json"

# --- numbers that no capture has -------------------------------------------------------------------

# Two interfaces, one frame each; statistics and frames with the largest numbers of lost frames
python3 "$srcdir/tests/e2e/captures.py" most "$tmp/lost.pcapng"
is "all numbers of lost frames at most: JSON" "$("$RDMADUMP" analyze --json "$tmp/lost.pcapng" | jq -c '[.capture.files[0].dropped, .findings[0].count] | map(. > 1.8e19)')" \
	"[true,true]"
"$RDMADUMP" analyze "$tmp/lost.pcapng" >"$tmp/out" 2>"$tmp/err"
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/line"
has "... text" "$tmp/line" "dropped when captured 18 446 744 073 709 551 615 \\(100"
has "... of all frames" "$tmp/line" " 18446744073709551615 frames, 100 %; gaps around them"
"$RDMADUMP" -r "$tmp/lost.pcapng" -w "$tmp/lost.again.pcapng" --format pcapng 2>"$tmp/err"
has "... written again" "$tmp/err" "18 446 744 073 709 551 615 \(100"

tap_done
