#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# No file is destroyed: outputs are opened with the user's rights, never over an input, and a refused
# command changes no file.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq gzip editcap
user=nobody
uid=$(id -u $user) || skip_all "no user $user"
capture() { model --gen count=2000,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait "$@" >"$tmp/log" 2>&1; }
chmod 755 "$tmp"

# unchanged NAME FILE: what `keep FILE` recorded still holds
state() { stat -c '%n %u %a %s %i' "$1" && sha256sum <"$1"; }
keep() { state "$1" >"$tmp/kept.$(basename "$1")"; }
unchanged() { is "$1" "$(state "$2")" "$(cat "$tmp/kept.$(basename "$2")")"; }

# --- a file of root's behind a link of the user's -------------------------------------------

if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$tmp/root"
	secret=$tmp/root/secret
	echo "of root alone" >"$secret"
	keep "$secret"
	theirs=$tmp/theirs other=$tmp/other
	mkdir -m 755 "$theirs" "$other" && chown "$uid" "$theirs" "$other"
	link() { ln -sf "$secret" "$1"; }
	# args -- what: each of these would write through a link
	trap_link() {
		local name=$1 status=$2
		shift 2
		capture "$@"
		is "$name: exit status" $? "$status"
		unchanged "$name: root's file is as it was" "$secret"
	}
	link "$theirs/out.pcapng"
	trap_link "-Z, the output is a link" 3 -Z $user -w "$theirs/out.pcapng"
	has "-Z, the output is a link: whose rights counted" "$tmp/log" "out.pcapng': Permission denied; .*files are opened as user '$user'; -Z root keeps root"
	SUDO_UID=$uid SUDO_GID=$(id -g $user) SUDO_USER=$user trap_link "sudo, the output is a link" 3 -w "$theirs/out.pcapng"
	link "$theirs/turn1"
	trap_link "a later file is a link" 3 -Z $user -C 1k -w "$theirs/turn"
	capture -w "$tmp/in.pcapng" && chmod 644 "$tmp/in.pcapng"
	link "$theirs/page.html"
	SUDO_UID=$uid SUDO_GID=$(id -g $user) SUDO_USER=$user "$RDMADUMP" analyze --html "$theirs/page.html" "$tmp/in.pcapng" >/dev/null 2>"$tmp/log"
	is "sudo analyze --html on a link: exit status" $? 3
	unchanged "sudo analyze --html on a link: root's file is as it was" "$secret"
	rm "$theirs/page.html"
	SUDO_UID=$uid SUDO_GID=$(id -g $user) SUDO_USER=$user "$RDMADUMP" analyze --html "$theirs/page.html" "$tmp/in.pcapng" >/dev/null 2>"$tmp/log"
	is "sudo analyze --html: the page is the caller's" "$? $(stat -c '%u %a' "$theirs/page.html")" "0 $uid 600"
	link "$theirs/fifo"
	SUDO_UID=$uid SUDO_GID=$(id -g $user) SUDO_USER=$user model --gen count=10 --at-end sigint -- \
		"$RDMADUMP" --capture --extcap-interface rdma-mlx5_0-1 --fifo "$theirs/fifo" >"$tmp/log" 2>&1
	is "sudo, extcap's FIFO is a link: exit status" $? 3
	unchanged "sudo, extcap's FIFO is a link: root's file is as it was" "$secret"
	ln -s "$tmp/root" "$theirs/dir"
	trap_link "-Z, the directory is a link" 3 -Z $user -w "$theirs/dir/new.pcapng"
	is "-Z, the directory is a link: nothing new" "$(ls "$tmp/root")" secret
	# root's own choice, without another user
	echo "theirs" >"$theirs/exists" && chown "$uid" "$theirs/exists" && chmod 644 "$theirs/exists"
	capture -w "$theirs/exists"
	has "root overwrites another user's file: who may read it" "$tmp/log" "exists, belongs to user $uid and keeps mode 0644"
else
	skip "links in another user's directory" "not root"
fi

# --- modes --------------------------------------------------------------------------------

mkdir "$tmp/rxe" && tar -xzf "$TEST_DATA/sysfs/rxe.tar.gz" -C "$tmp/rxe"
: >"$tmp/old" && chmod 644 "$tmp/old"
capture -w "$tmp/old"
is "an existing file becomes private" "$(stat -c %a "$tmp/old") $(frames_of "$tmp/old")" "600 2000"

# --- never over an input ------------------------------------------------------------------

capture -w "$tmp/y.pcapng" || ok "a capture to read" "$tmp/log"
ln -s y.pcapng "$tmp/y-link.pcapng"
ln "$tmp/y.pcapng" "$tmp/y-hard"
gzip -c "$tmp/y.pcapng" >"$tmp/y.pcapng.gz"
cp "$tmp/y.pcapng" "$tmp/y1"
cp "$tmp/y.pcapng" "$tmp/x2026"
for f in y.pcapng y.pcapng.gz y1; do keep "$tmp/$f"; done
# over INPUT ARGUMENTS...: must be refused, and INPUT stays
over() {
	local input=$1
	shift
	(cd "$tmp" && "$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log")
	is "$*: exit status" $? "${status:-1}"
	unchanged "$*: the input is as it was" "$tmp/$input"
	has "$*: message" "$tmp/log" "${message:-is read|file that is read}"
}
over y.pcapng -r y.pcapng -w y.pcapng
over y.pcapng -r y.pcapng -w y-link.pcapng
over y.pcapng -r y-link.pcapng -w y.pcapng
over y.pcapng -r y.pcapng -w y-hard
over y.pcapng -r y.pcapng -w ./../"$(basename "$tmp")"/y.pcapng
over y.pcapng.gz -r y.pcapng.gz -w y.pcapng.gz
status=3 over y1 -r y1 -C 100k -w y
# shellcheck disable=SC2094 # that is what is tried
(cd "$tmp" && "$RDMADUMP" -r - -w y.pcapng <y.pcapng >"$tmp/out" 2>"$tmp/log")
is "-r - from the output's file: exit status" $? 1
unchanged "-r - from the output's file: the input is as it was" "$tmp/y.pcapng"
# shellcheck disable=SC2094
(cd "$tmp" && "$RDMADUMP" -r y.pcapng -w - >>y.pcapng 2>"$tmp/log")
is "standard output is the input: exit status" $? 1
unchanged "standard output is the input: it is as it was" "$tmp/y.pcapng"
# Nor over what another capture writes
mkfifo "$tmp/fed"
"$RDMADUMP" -r "$tmp/fed" -w "$tmp/taken" 2>"$tmp/log" &
exec 9>"$tmp/fed"
cat "$tmp/y.pcapng" >&9
wait_for test -s "$tmp/taken"
"$RDMADUMP" -r "$tmp/y.pcapng" -w "$tmp/taken" 2>"$tmp/second"
exits "two captures write to one file: the second" 3 "$tmp/second" "another capture writes to '.*/taken'; give the output another name"
exec 9>&-
wait $!
is "... and the first has its frames" "$? $(frames_of "$tmp/taken")" "0 2000"
# A name that is only known with the first frame
editcap -t -1000000 "$tmp/y.pcapng" "$tmp/old.pcapng"
stamp=$("$RDMADUMP" -r "$tmp/old.pcapng" -tt -c 1 2>/dev/null | cut -d. -f1)
name=$(date -d "@$stamp" +g-%Y%m%d%H%M%S)
mv "$tmp/old.pcapng" "$tmp/$name" && keep "$tmp/$name"
status=3 over "$name" -r "$name" -G 3600 -w 'g-%Y%m%d%H%M%S'

# --- reports are not written over captures -------------------------------------------------

message='is read|is a capture' over y.pcapng analyze --html y.pcapng y.pcapng
message='is read|is a capture' over y.pcapng analyze --html y-link.pcapng y.pcapng
"$RDMADUMP" -r "$tmp/y.pcapng" -q -w "$tmp/c.pcap" && "$RDMADUMP" -r "$tmp/y.pcapng" -q --format erf -w "$tmp/c.erf"
ok "other kinds of captures"
for f in c.pcap c.erf; do
	keep "$tmp/$f"
	message="--html '$f' is a capture file" over "$f" analyze --html "$f" y.pcapng
	message='is a capture file' over "$f" counters --sysroot "$tmp/rxe" --json --output "$f"
done
message='is a capture file' over y.pcapng.gz analyze --html y.pcapng.gz y.pcapng
"$RDMADUMP" counters --sysroot "$tmp/rxe" --json >"$tmp/before.json" 2>"$tmp/log"
keep "$tmp/before.json"
over before.json counters --diff before.json before.json --output before.json
for i in 1 2; do
	"$RDMADUMP" analyze --html "$tmp/page.html" "$tmp/y.pcapng" >/dev/null 2>"$tmp/log"
	is "analyze --html, time $i: a page may be replaced" "$? $(stat -c %a "$tmp/page.html")" "0 600"
done

# --- removed while it is written ------------------------------------------------------------

# meddle NAME WORD COMMAND...: runs COMMAND once the capture writes; the capture must end and say so
meddle() {
	local name=$1 word=$2 file=$tmp/m.pcapng
	shift 2
	rm -f "$file"
	model --gen count=100000000,size=400,seed=1 --rate 20000 -- "$RDMADUMP" -d mlx5_0 --json \
		"${mode[@]}" -w "$file" >"$tmp/report" 2>"$tmp/log" &
	local pid=$!
	wait_for larger "$file" 200000
	"$@" "$file"
	wait $pid
	exits "$name" 3 "$tmp/log" "m.pcapng' was $word by another program while it was written: [0-9 ]+ frames? lost"
	is "$name: nothing counts as written" "$(json "$tmp/report" .frames.written)" 0
	is "$name: every frame is accounted for" "$(json "$tmp/report" '.frames | .written + .dropped.output + .dropped.buffer_full - .delivered')" 0
}
for m in buffered direct; do
	mode=(--write-mode "$m")
	meddle "removed, $m" removed rm
	meddle "emptied, $m" 'cut short' truncate -s 0
done

tap_done
