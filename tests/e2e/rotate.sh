#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Series of files: every frame once and in order, each file complete, names as those of other tools.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq capinfos mergecap editcap python3 zstd

d=$tmp/d

# together NAME WANT FILE...: these files, concatenated, have those frames
together() {
	local name=$1 want=$2
	shift 2
	rm -f "$tmp/all"
	mergecap -a -F nsecpcap -w "$tmp/all" "$@" 2>"$tmp/log"
	is "$name" "$("$SOFTHCA_FRAMES" --hash "$tmp/all")" "$want"
}
# alone NAME FILE...: each has an interface, one entry of statistics and a comment
alone() {
	local name=$1 f bad='' said
	shift
	[ $# -gt 0 ] || bad="no file"
	for f; do
		capinfos "$f" >"$tmp/info" 2>&1 || bad="$bad $f:unreadable"
		[ "$(grep -c 'Number of stat entries = 1' "$tmp/info")" = 1 ] || bad="$bad $f:statistics"
		[ "$(grep -c 'Name = mlx5_0:1' "$tmp/info")" = 1 ] || bad="$bad $f:interface"
		said=$(sed -nE "s/.*[.:] ([0-9 ]+) frames written(; filtered out 0, dropped by rdmadump ${dropped-0};| in .* s; filtered out 0,).*/\\1/p" "$tmp/info" | tr -d ' ')
		[ "$said" = "$(awk '/^Number of packets/ {print $NF}' "$tmp/info")" ] || bad="$bad $f:comment"
	done
	is "$name" "$bad" ""
}
# statistics of all files of the series: isb_ifrecv, isb_filteraccept summed
sums() { python3 "$srcdir/tests/e2e/captures.py" statistics "$@" | awk '{print $1, $3, $4}'; }

# --- 200 files at full speed --------------------------------------------------------------

n=200000
[ -z "${TEST_FULL-}" ] && n=100000
gen=count=$n,size=200,seed=7
want=$("$SOFTHCA_FRAMES" $gen)
mkdir "$d"
model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 --json --when-full wait -b packets:$((n / 200)) \
	-w "$d/r.pcapng" >"$tmp/report" 2>"$tmp/log"
ok "200 files at full speed: exit status" "$tmp/log"
files=("$d"/r_*)
is "200 files" "${#files[@]},$(jq .files "$tmp/report")" 200,200
together "every frame once, in order" "$want" "${files[@]}"
is "the statistics of the files add up: received, accepted, dropped in the kernel" "$(sums "${files[@]}")" "$n $n 0"
some=("${files[@]}")
[ -z "${TEST_FULL-}" ] && some=("${files[0]}" "${files[99]}" "${files[199]}")
alone "each stands alone" "${some[@]}"
is "each has its share" "$(for f in "${some[@]}"; do frames_of "$f"; done | sort -u)" $((n / 200))
rm -r "$d"

# The others: 20 000 frames, by size, in each format
gen=count=20000,size=200,seed=8
want=$("$SOFTHCA_FRAMES" $gen)
for format in pcapng pcap erf; do
	mkdir "$d" "$tmp/conv"
	model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait --format $format -C 500k \
		-w "$d/c" 2>"$tmp/log"
	mapfile -t files < <(find "$d" -name 'c*' | sort -V)
	[ ${#files[@]} -ge 9 ] && [ -e "$d/c" ] && [ -e "$d/c1" ] && [ -e "$d/c8" ]
	ok "-C in $format: c, c1, c2 ... as tcpdump's" "$tmp/log"
	# mergecap makes no Ethernet of ERF
	for f in "${files[@]}"; do "$RDMADUMP" -r "$f" -q -w "$tmp/conv/${f##*/}"; done
	mapfile -t files < <(find "$tmp/conv" -type f | sort -V)
	together "-C in $format: every frame once, in order" "$want" "${files[@]}"
	rm -r "$d" "$tmp/conv"
done

# --- rings --------------------------------------------------------------------------------

mkdir "$d"
model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 --json --when-full wait -C 100k -W 12 -w "$d/c" >"$tmp/report" 2>"$tmp/log"
is "-C -W 12: the names are c00 to c11" "$(cd "$d" && echo *)" "$(echo c{00..11})"
total=$(jq .files "$tmp/report")
holds "-C -W: the ring went round ($total files)" [ "$total" -gt 24 ]
is "-C -W: the last one stands where it must" \
	"$(cd "$d" && capinfos -TrSa -- * | sort -t $'\t' -k 2n | tail -n 1 | cut -f 1)" "$(printf 'c%02d' $(((total - 1) % 12)))"
rm -r "$d" && mkdir "$d"
model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -b packets:3000 -b files:3 -w "$d/b.x.pcapng" 2>"$tmp/log"
is "-b files:3 keeps the newest three" "$(cd "$d" && for f in *; do echo "${f%_*} $(frames_of "$f")"; done | paste -sd,)" \
	"b.x_00005 3000,b.x_00006 3000,b.x_00007 2000"
"$SOFTHCA_FRAMES" --write "$tmp/gen.pcap" $gen >/dev/null
mergecap -a -F nsecpcap -w "$tmp/all" "$d"/*
editcap -F nsecpcap -r "$tmp/gen.pcap" "$tmp/last" 12001-20000
is "-b files:3: they hold the last frames" "$("$SOFTHCA_FRAMES" --hash "$tmp/all")" "$("$SOFTHCA_FRAMES" --hash "$tmp/last")"
rm -r "$d"

# --- time slices, commands, names ---------------------------------------------------------

mkdir "$d"
# shellcheck disable=SC2016 # $1 is the script's
printf '#!/bin/sh\nunset LD_PRELOAD\ncapinfos -c -M "$1" >"$1.info" 2>&1\n' >"$tmp/command" && chmod +x "$tmp/command"
model --gen $gen --rate 8000 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -G 1 -z "$tmp/command" \
	-w "$d/s-%Y%m%d-%H%M%S" 2>"$tmp/log"
mapfile -t files < <(find "$d" -name 's-*' ! -name '*.info' | sort -V)
[ ${#files[@]} -ge 2 ] && ! find "$d" -name '*%*' | grep -q .
ok "-G 1: files by strftime (${#files[@]})"
together "-G 1: every frame once, in order" "$want" "${files[@]}"
is "-z: ran on every file once it was whole" "$(cat "$d"/*.info | awk '/Number of packets/ {n += $NF} END {print n}')" 20000
rm -r "$d" && mkdir "$d"
model --gen $gen --rate 8000 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -G 1 -w "$d/same" 2>"$tmp/log"
mapfile -t files < <(find "$d" -name 'same*' | sort -V)
together "-G 1 without %: nothing is overwritten" "$want" "${files[@]}"
rm -r "$d" && mkdir "$d"
model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait -b packets:4000 -z echo \
	-w "$d/n.pcapng" >"$tmp/names" 2>"$tmp/log"
is "-z echo names each file" "$(sort "$tmp/names")" "$(find "$d" -type f | sort)"
rm -r "$d"

# --- by signal, under load, alone and beside the other reasons ----------------------------

reasons=('' '-C 1' '-G 1' '-b filesize:1000' '-C 300k -W 100')
[ -z "${TEST_FULL-}" ] && reasons=('' '-G 1')
for args in "${reasons[@]}"; do
	mkdir "$d" && rm -f "$tmp/pid"
	# shellcheck disable=SC2086
	model --gen count=100000000,size=200,seed=8 --rate 5000 --pidfile "$tmp/pid" -- \
		"$RDMADUMP" -d mlx5_0 --json --when-full wait $args -w "$d/u" >"$tmp/report" 2>"$tmp/log" &
	pid=$!
	begun() { [ -n "$(find "$d" -type f -size +8k)" ]; }
	wait_for begun
	turned=0
	for _ in 1 2 3 4; do
		had=$(find "$d" -type f | wc -l)
		more() { [ "$(find "$d" -type f | wc -l)" -gt "$had" ]; }
		kill -USR2 "$(<"$tmp/pid")"
		wait_for more && turned=$((turned + 1))
	done
	kill -INT "$(<"$tmp/pid")"
	wait $pid
	mapfile -t files < <(find "$d" -type f | sort -V)
	[ $turned = 4 ] && [ ${#files[@]} -ge 5 ]
	ok "SIGUSR2 $args: ${#files[@]} files" "$tmp/log"
	together "SIGUSR2 $args: every frame once, in order" \
		"$("$SOFTHCA_FRAMES" count="$(jq .frames.delivered "$tmp/report")",size=200,seed=8)" "${files[@]}"
	rm -r "$d"
done
model --gen count=5000,size=200 --rate 5000 --pidfile "$tmp/pid" --at-end sigint -- \
	bash -c 'trap : USR2; exec "$@"' - "$RDMADUMP" -d mlx5_0 -q -w - 2>"$tmp/log" >"$tmp/piped" &
pid=$!
wait_for test -s "$tmp/piped"
kill -USR2 "$(<"$tmp/pid")"
wait $pid
is "SIGUSR2 with -w -: the pipe goes on" "$(frames_of "$tmp/piped")" 5000

# --- the disk is full in the middle of a series -------------------------------------------

mkdir "$tmp/small"
# full NAME MOUNT-OPTIONS: three whole files fit
full() {
	if ! mount -t tmpfs -o "$2" tmpfs "$tmp/small" 2>/dev/null; then
		skip "$1" "no right to mount a tmpfs"
		return
	fi
	model --gen count=50000,size=500,seed=5 -- "$RDMADUMP" -d mlx5_0 --json -C 1 -w "$tmp/small/e" >"$tmp/report" 2>"$tmp/log"
	exits "$1" 3 "$tmp/log" 'No space left on device.*(free space|free some space|another file system)'
	mapfile -t files < <(find "$tmp/small" -type f | sort -V)
	holds "$1: ${#files[@]} files" [ ${#files[@]} -ge 3 ]
	dropped='[0-9 ]+' alone "$1: all of them are whole" "${files[@]}"
	mergecap -a -F nsecpcap -w "$tmp/all" "${files[@]}"
	kept=$(jq .frames.written "$tmp/report")
	is "$1: they hold what was reported" "$(frames_of "$tmp/all")" "$kept"
	is "$1: and that is the beginning" "$("$SOFTHCA_FRAMES" --hash "$tmp/all")" \
		"$("$SOFTHCA_FRAMES" count="$kept",size=500,seed=5)"
	is "$1: accounted for" "$(jq '.frames | .written + .dropped.output + .dropped.buffer_full == .delivered' "$tmp/report")" true
	umount "$tmp/small"
}
full "disk full in a series" size=3m
full "no inode for the fourth file" size=30m,nr_inodes=4
full "no room for a header" size=3936k

# --- offline: the frames' own time --------------------------------------------------------

zstd -dqfc "$TEST_DATA/roce/20_mixed/a.pcap.zst" >"$tmp/in.pcap"
mkdir "$d"
(cd "$d" && TZ=UTC "$RDMADUMP" -r "$tmp/in.pcap" -q -G 2 -w 'o-%H%M%S')
is "-r -G 2: named by the frames' time" "$(cd "$d" && echo *)" "o-234739 o-234743 o-234745"
mapfile -t files < <(find "$d" -type f | sort)
together "-r -G 2: every frame once, in order" "$("$SOFTHCA_FRAMES" --hash "$tmp/in.pcap")" "${files[@]}"

# Frames after the last file are not delivered; losses of the input count once
"$SOFTHCA_FRAMES" --write "$tmp/three.pcap" count=3000,size=200,seed=1 >/dev/null
"$RDMADUMP" -r "$tmp/three.pcap" -q --json -b packets:1000 -a files:2 -w "$d/beyond.pcapng" >"$tmp/report"
is "-a files:2: frames delivered and written" "$(jq -c '.frames | [.delivered, .written]' "$tmp/report")" "[2000,2000]"
# What was counted before the writer had reached the limit is named, too.
is "-a files:2: each frame of the file is written or beyond" "$(jq '.frames | .written + .beyond' "$tmp/report")" "$(jq '.directions | add' "$tmp/report")"
python3 "$srcdir/tests/e2e/captures.py" lost "$tmp/lost.pcapng"
"$RDMADUMP" -r "$tmp/lost.pcapng" -q -b packets:10 -w "$d/lost.pcapng"
is "a loss in the input: isb_ifrecv of three files" "$(sums "$d"/lost_*.pcapng | cut -d' ' -f1)" 37

tap_done
