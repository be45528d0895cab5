#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Root works in directories of another user, who prepares links and FIFOs: no file of root's is written,
# created elsewhere, read into a file of that user or given away, and nothing waits for that user.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd
[ "$(id -u)" = 0 ] || skip_all "not root"
user=nobody
uid=$(id -u $user) || skip_all "no user $user"
gid=$(id -g $user)
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
as_sudo() { SUDO_UID=$uid SUDO_GID=$gid SUDO_USER=$user "$@"; }
traffic=(--gen "count=100000,size=200,seed=1" --rate 2000)

chmod 711 "$tmp"
mkdir -m 700 "$tmp/root"
theirs=$tmp/theirs
mkdir -m 755 "$theirs" && chown "$uid:$gid" "$theirs"
secret=$tmp/root/secret
echo "of root alone" >"$secret" && chmod 600 "$secret"
mkfifo -m 600 "$tmp/root/fifo"
ln -s "$tmp/root" "$theirs/way"
of_root() { find "$tmp/root" -printf '%P %u %m %s\n' | sort; sha256sum <"$secret"; }
before=$(of_root)
untouched() { is "$1: root's files are as they were" "$(of_root)" "$before"; }
mkdir "$tmp/rxe" && tar -xzf "$TEST_DATA/sysfs/rxe.tar.gz" -C "$tmp/rxe"

# --- counters --output ------------------------------------------------------------------------

counters() { as_sudo "$RDMADUMP" counters --sysroot "$tmp/rxe" --prometheus --output "$1" >"$tmp/out" 2>"$tmp/log"; }
counters "$theirs/way/secret"
is "sudo counters, the directory is a link: exit status" $? 3
untouched "sudo counters, the directory is a link"
ln -s "$secret" "$theirs/linked.prom"
counters "$theirs/linked.prom"
is "sudo counters: the file is the caller's" "$? $(stat -c '%F %u %a' "$theirs/linked.prom")" "0 regular file $uid 644"
untouched "sudo counters, a link"

# --- record: FIFOs, textfile, files beside a capture ------------------------------------------

# recorded USER ARGUMENTS...: for a second; USER: "sudo" or of -Z
recorded() {
	local who=(-Z "$1") env=()
	[ "$1" != sudo ] || who=() env=(env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER="$user")
	shift
	model "${traffic[@]}" --pidfile "$tmp/pid" -- "${env[@]}" "$RDMADUMP" record mlx5_0 --pre 50ms --post 50ms \
		-a duration:1 "${who[@]}" "$@" >"$tmp/out" 2>"$tmp/log"
}
recorded sudo -w "$theirs/r.pcapng" --trigger fifo="$theirs/way/fifo"
exits "sudo record, a FIFO of root's behind a link" 3 "$tmp/log" "fifo' cannot be (created|opened): Permission denied"
recorded sudo -w "$theirs/r.pcapng" --trigger fifo="$theirs/way/new"
is "sudo record, a FIFO in root's directory: exit status" $? 3
untouched "sudo record, FIFOs"
recorded sudo -w "$theirs/r.pcapng" --trigger log="$theirs/way/secret"
exits "sudo record, a log of root's behind a link" 2 "$tmp/log" "secret' cannot be opened: Permission denied; choose a path"
mkfifo -m 666 "$theirs/other"
recorded sudo -w "$theirs/r.pcapng" --trigger fifo="$theirs/other"
has "sudo record, a FIFO that another user owns: message" "$tmp/log" "other' belongs to another user; remove it, or choose another path"
rm -f "$theirs/seen"
seen() { stat -c '%F %u %a' "$theirs/fifo" >"$theirs/seen"; }
{ wait_for seen; kill -INT "$(<"$tmp/pid")"; } &
recorded sudo -w "$theirs/r.pcapng" --trigger fifo="$theirs/fifo" -a duration:100
is "sudo record, a new FIFO: exit status" $? 0
wait
is "sudo record: the FIFO is the caller's, and removed at the end" "$(<"$theirs/seen") $(ls "$theirs/fifo" 2>/dev/null)" "fifo $uid 600 "

# Names that can be foreseen: the program's process id, numbers and times of files
cat >"$tmp/planted" <<END
#!/bin/sh
mkfifo -m 666 "$theirs/state.prom.\$\$"
ln -s "$secret" "$theirs/state.prom"
exec "\$@"
END
chmod 755 "$tmp/planted"
model "${traffic[@]}" -- "$tmp/planted" "$RDMADUMP" record mlx5_0 -Z root -a duration:1 -w "$theirs/r.pcapng" \
	--trigger nak --textfile "$theirs/state.prom" >"$tmp/out" 2>"$tmp/log"
is "record -Z root, a FIFO in place of the textfile: exit status" $? 0
is "record -Z root: the textfile is new" "$(stat -c '%F %u %a' "$theirs/state.prom")" "regular file 0 644"
untouched "record -Z root, a link in place of the textfile"

# Its caller could replace the directory's files by links while root writes there
as_sudo model "${traffic[@]}" -- "$RDMADUMP" record mlx5_0 -Z root -a duration:1 -w "$tmp/root/r.pcapng" --trigger nak \
	--textfile "$theirs/sudo.prom" >"$tmp/out" 2>"$tmp/log"
exits "sudo record -Z root, the textfile in a directory of the caller's" 3 "$tmp/log" "-Z root by sudo: the directory of '.*/theirs/sudo.prom' belongs to another user; name a directory of root's"
is "... no file" "$(ls "$theirs/sudo.prom" "$tmp/root/"*.pcapng 2>/dev/null)" ""

# The names of a file and of its analysis can be foreseen, too
for ending in json html; do
	cat >"$tmp/planted" <<-END
		#!/usr/bin/python3
		import os, sys, time
		for at in range(int(time.time()), int(time.time()) + 100):
		    name = time.strftime("$theirs/${ending}_00001_%Y%m%d%H%M%S.$ending", time.gmtime(at))
		    for path in [name] + [name + ".part"] * (not os.path.exists("$tmp/once")):
		        os.symlink("$secret", path)
		with open("$tmp/pid", "w") as file:
		    print(os.getpid(), file=file)
		os.execvp(sys.argv[1], sys.argv[1:])
	END
	# recorded_once COMMAND...: until that succeeds
	recorded_once() {
		: >"$tmp/log"
		: >"$tmp/truth"
		{
			# Without a frame there is no file.
			wait_for larger "$tmp/truth" 400
			kill -USR1 "$(<"$tmp/pid")"
			wait_for "$@"
			kill -INT "$(<"$tmp/pid")"
		} &
		TZ=UTC model --clock realtime,truth="$tmp/truth" "${traffic[@]}" -- "$tmp/planted" "$RDMADUMP" record mlx5_0 -Z root \
			--pre 50ms --post 50ms -w "$theirs/$ending.pcapng" >"$tmp/out" 2>"$tmp/log"
		wait $!
	}
	analysed() { [ -n "$(find "$theirs" -name "${ending}_*.$ending" -type f -size +1k)" ]; }
	rm -f "$tmp/once"
	recorded_once grep -q "cannot write to '.*$ending.part" "$tmp/log"
	has "record -Z root, links in place of the unfinished analysis as $ending: message" "$tmp/log" \
		"cannot write to '.*$ending.part': Too many levels of symbolic links"
	is "... no part of an analysis is left" \
		"$(find "$theirs" -name "${ending}_*" -type f ! -name '*.pcapng'; grep -c '"version"' "$tmp/out")" 0
	untouched "record -Z root, links in place of the unfinished analysis as $ending"
	find "$theirs" -name "${ending}_*" -delete
	: >"$tmp/once"
	recorded_once analysed
	is "record -Z root, links in place of the analysis as $ending: it replaces its one" \
		"$(find "$theirs" -name "${ending}_*.$ending" -type f -size +1k | wc -l)" 1
	untouched "record -Z root, links in place of the analysis as $ending"
done
ln -sf "$secret" "$theirs/turn1"
model --gen count=2000,size=200,seed=1 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -Z root -C 1k \
	-w "$theirs/turn" >"$tmp/out" 2>"$tmp/log"
exits "-Z root, a later file is a link" 3 "$tmp/log" "turn1': .*(link|loop)"
untouched "-Z root, a later file is a link"

# --- a directory like /tmp: what others made there, also where fs.protected_* are 0 ---------------

all=$tmp/all
mkdir "$all" && chmod 1777 "$all"
capture=$tmp/in.pcap
zstd -dq "$TEST_DATA/roce/07_rping/a.pcap.zst" -o "$capture"
planted() { chown -h "$uid:$gid" "$all/$1"; }
# refused NAME ARGUMENTS...
refused() {
	local name=$1
	shift
	"$RDMADUMP" "$@" >"$tmp/out" 2>"$tmp/log" </dev/null
	exits "$name" 3 "$tmp/log" "cannot write to '.*': another user made .*; remove it, or "
	untouched "$name"
}
ln -s "$secret" "$all/link" && planted link
ln -s "$tmp/root/new" "$all/dangling" && planted dangling
: >"$all/file" && chmod 666 "$all/file" && planted file
mkfifo -m 666 "$all/fifo" && planted fifo
for name in link dangling file fifo; do
	refused "-w: $name of another user" -q -r "$capture" -w "$all/$name"
	refused "--html: $name of another user" analyze --html "$all/$name" "$capture"
	refused "--annotate: $name of another user" analyze --annotate "$all/$name" "$capture"
done
is "the other user's file is as it was" "$(stat -c '%u %a %s' "$all/file")" "$uid 666 0"
# The link may be of the directory's owner: what it leads to has another name elsewhere
if ln "$secret" "$all/hard" 2>/dev/null; then
	"$RDMADUMP" -q -r "$capture" -w "$all/hard" >"$tmp/out" 2>"$tmp/log"
	is "-w: a file with another name: exit status" $? 3
	untouched "-w: a file with another name"
	rm "$all/hard"
else
	skip "-w: a file with another name" "the file system has no hard links"
fi
: >"$all/turn1" && chmod 666 "$all/turn1" && planted turn1
"$RDMADUMP" -q -r "$capture" --format pcap -C 50k -w "$all/turn" >"$tmp/out" 2>"$tmp/log"
is "a later file of another user: exit status" $? 3
is "a later file of another user: nothing is in it" "$(stat -c '%u %a %s' "$all/turn1")" "$uid 666 0"
refused "bundle -w: fifo of another user" bundle --timeout 1 -w "$all/fifo"
for name in link file; do
	"$RDMADUMP" bundle --timeout 1 -w "$all/$name" >"$tmp/out" 2>"$tmp/log"
	is "bundle -w: $name of another user is replaced" "$? $(stat -c '%F %u %a' "$all/$name")" "0 regular file 0 600"
	untouched "bundle -w: $name of another user"
done
ln -s "$tmp/target" "$all/own" && : >"$all/root"
for name in own root; do
	"$RDMADUMP" -q -r "$capture" -w "$all/$name" >"$tmp/out" 2>"$tmp/log"
	is "-w: own $name: exit status" "$? $(stat -Lc '%u %a' "$all/$name")" "0 0 600"
done

# --- selftest: the archive ----------------------------------------------------------------------

planted=$theirs/selftest-$(uname -n)-mlx5_0.tar.zst.new
: >"$planted" && chown "$uid" "$planted" && chmod 666 "$planted"
(cd "$theirs" && "$SOFTHCA" "${traffic[@]}" -- "$RDMADUMP" selftest --probe inventory mlx5_0) >"$tmp/out" 2>"$tmp/log"
is "selftest in a directory of another user: root alone may read the result" \
	"$(find "$theirs" -name 'selftest-*.tar.zst' -printf '%u %m\n')" "root 600"
is "... and what was there stays" "$(stat -c '%U %a %s' "$planted")" "$user 666 0"

# --- bundle: files that it copies -----------------------------------------------------------------

ln -s "$secret" "$theirs/capture.pcap"
as_sudo "$SOFTHCA" -- "$RDMADUMP" bundle --timeout 600 --file "$theirs/capture.pcap" -w "$theirs/b.tar.zst" >"$tmp/out" 2>"$tmp/log"
exits "sudo bundle, --file is a link to root's" 2 "$tmp/log" "capture.pcap': Permission denied"
(cd "$theirs" && as_sudo "$SOFTHCA" -- "$RDMADUMP" bundle --timeout 600 -w b.tar.zst) >"$tmp/out" 2>"$tmp/log"
is "sudo bundle: it is the caller's" "$(stat -c '%u %a' "$theirs/b.tar.zst")" "$uid 600"
mkdir "$tmp/un" && tar -xf "$theirs/b.tar.zst" -C "$tmp/un"
! grep -rq "of root alone" "$tmp/un"
ok "sudo bundle: it has no file that the caller may not read"
untouched "sudo bundle"

# A capture that becomes a link to root's once it was opened for its copy, before it is analysed
cp "$capture" "$tmp/root/swap.pcap" && cp "$capture" "$theirs/swap.pcap" && chmod 600 "$tmp/root/swap.pcap"
before=$(of_root)
mkdir "$theirs/bin" && printf '#!/bin/sh\nln -sf "%s" "%s"\n' "$tmp/root/swap.pcap" "$theirs/swap.pcap" >"$theirs/bin/devlink" && chmod 755 "$theirs/bin/devlink"
PATH=$theirs/bin:$PATH as_sudo "$SOFTHCA" -- "$RDMADUMP" bundle --timeout 600 --file "$theirs/swap.pcap" -w "$theirs/swap.tar.zst" >"$tmp/out" 2>"$tmp/log"
is "sudo bundle, --file is swapped for a link to root's: exit status, and that it was" "$? $(readlink "$theirs/swap.pcap")" "0 $tmp/root/swap.pcap"
mkdir "$tmp/swapped" && tar -xf "$theirs/swap.tar.zst" -C "$tmp/swapped"
has "... the analysis may not read it" "$tmp"/swapped/*/analysis/files.txt "swap.pcap': Permission denied"
is "... nor is there another one" "$(cat "$tmp"/swapped/*/analysis/files.json 2>/dev/null | grep -c '"conversations"')" 0
untouched "sudo bundle, --file is swapped"

# --- export, compare ----------------------------------------------------------------------------

cp "$capture" "$theirs/t.pcap" && chown "$uid" "$theirs/t.pcap"
before=$(of_root)
as_sudo "$RDMADUMP" export -o "$tmp/root/tables" "$theirs/t.pcap" >"$tmp/out" 2>"$tmp/log"
exits "sudo export, a directory of root's" 3 "$tmp/log" "no tables can be written to '.*/root/tables'; choose another directory"
untouched "sudo export"
as_sudo "$RDMADUMP" export -t captures -o "$theirs/tables" "$theirs/t.pcap" >"$tmp/out" 2>"$tmp/log"
is "sudo export: the tables are the caller's" "$(stat -c '%u %a' "$theirs/tables/captures.ndjson")" "$uid 600"
"$RDMADUMP" analyze --json "$capture" >"$tmp/root/report.json" 2>"$tmp/log"
before=$(of_root)
as_sudo "$RDMADUMP" compare "$tmp/root/report.json" "$theirs/t.pcap" >"$tmp/out" 2>"$tmp/log"
exits "sudo compare, a report of root's" 2 "$tmp/log" "cannot read .*report.json: .*: Permission denied; make it by"
untouched "sudo compare"

tap_done
