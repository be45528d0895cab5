#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --stripe: frames distributed over files in several directories; together they have all frames, each of them
# is a valid capture, and their numbers add up.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 mergecap reordercap capinfos zstd

# shellcheck disable=SC2317 # tap.sh calls it
cleanup() { mountpoint -q "$tmp/small" 2>/dev/null && umount "$tmp/small"; }
count=60000
[ -n "${TEST_FULL-}" ] || count=20000
gen=count=$count,size=60-1500,qps=64,seed=5
want=$("$SOFTHCA_FRAMES" "$gen")
mkdir "$tmp/d1" "$tmp/d2" "$tmp/d3" "$tmp/small"
two=$tmp/d1,$tmp/d2

# capture NAME OPTIONS... [-- MODEL OPTIONS...]: files called NAME
capture() {
	local name=$1 mine=() models=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do mine+=("$1") && shift; done
	[ $# = 0 ] || shift
	models=("$@")
	rm -f "$tmp"/d[123]/* "$tmp"/*.part
	model --clock cycles --gen "$gen" --at-end sigint --stats "$tmp/stats" "${models[@]}" -- \
		"$RDMADUMP" -d mlx5_0 -q --json -w "$name" "${mine[@]}" >"$tmp/report" 2>"$tmp/log"
	status=$?
}
in_file() { "$SOFTHCA_FRAMES" --hash "$1" | awk '{print $1}'; }
# The statistics of the interfaces, summed over files: received, accepted, dropped by us and the device
# (isb_ifrecv, ifdrop, filteraccept, osdrop, usrdeliv), one line for all
sums() { python3 "$srcdir/tests/e2e/captures.py" statistics "$@"; }
# accounts NAME FILE...: the report, the files' frames and their statistics say the same
accounts() {
	local name=$1 f all
	shift
	is "$name: delivered = written + filtered + dropped" "$(json "$tmp/report" .frames.delivered)" \
		"$(json "$tmp/report" '.frames | .written + .filtered + .dropped.buffer_full + .dropped.output')"
	all=$(for f; do in_file "$f"; done | awk '{n += $1} END {print n}')
	is "$name: in the files" "$all" "$(json "$tmp/report" .frames.written)"
	is "$name: the stripes add up" "$(json "$tmp/report" '[.stripes[].written] | add')" "$all"
	# shellcheck disable=SC2046 # five numbers
	set -- $(sums "$@")
	is "$name: statistics: received = accepted + filtered + lost before" "$1" \
		"$(($3 + $(json "$tmp/report" '.frames.filtered + .lost_before_us.frames')))"
	is "$name: statistics: accepted" "$3" "$(json "$tmp/report" '.frames.delivered - .frames.filtered')"
	is "$name: statistics: delivered" "$5" "$all"
}
# together NAME FILE...: merged by time they are all that was sent, in that order
together() {
	local name=$1
	shift
	rm -f "$tmp/all.pcapng"
	mergecap -w "$tmp/all.pcapng" "$@" 2>"$tmp/merge" &&
		{ [ "$(json "$tmp/report" .frames.out_of_order)" = 0 ] || { reordercap "$tmp/all.pcapng" "$tmp/ordered" &&
			mv "$tmp/ordered" "$tmp/all.pcapng"; } >/dev/null 2>&1; }
	is "$name: mergecap makes one of them, byte for byte, in the order sent" \
		"$("$SOFTHCA_FRAMES" --hash "$tmp/all.pcapng")" "$want"
}
each_has() { # NAME LEAST FILE...
	local name=$1 least=$2 few='' f
	shift 2
	for f; do [ "$(in_file "$f")" -ge "$least" ] || few="$few $f"; done
	is "$name" "$few" ""
}

# --- one thread, two, three directories ---------------------------------------------------

capture a.pcapng --stripe "$two" --when-full wait --buffer-size 8Mi
is "two: exit status" "$status" 0
accounts "two" "$tmp"/d[12]/a.pcapng
together "two" "$tmp"/d[12]/a.pcapng
each_has "two: both have their part" $((count / 8)) "$tmp"/d[12]/a.pcapng
is "two: files in the report" "$(json "$tmp/report" '.files, (.stripes | map(.file) | join(","))' | paste -sd' ')" \
	"2 $tmp/d1/a.pcapng,$tmp/d2/a.pcapng"
capinfos "$tmp/d2/a.pcapng" >"$tmp/info" 2>&1
has "two: the second says what it is" "$tmp/info" 'stripe 2 of 2'
is "two: the first says what it is" "$(capinfos "$tmp/d1/a.pcapng" | grep -c 'stripe 1 of 2')" 1
is "two: mode of the files" "$(stat -c %a "$tmp"/d[12]/a.pcapng | paste -sd' ')" "600 600"
for i in 1 2; do
	is "two: stripe $i is read alone" "$("$RDMADUMP" -r "$tmp/d$i/a.pcapng" -q --json -w "$tmp/copy" | jq .frames.written)" \
		"$(in_file "$tmp/d$i/a.pcapng")"
done
is "two: facts in each" "$(for i in 1 2; do LC_ALL=C grep -ao '"kind":"device","when":"start"' "$tmp/d$i/a.pcapng" | wc -l; done | paste -sd' ')" "1 1"
capture a.pcapng --stripe "$two" --stripe "$tmp/d3/" --when-full wait --buffer-size 6Mi
is "three: exit status" "$status" 0
accounts "three" "$tmp"/d[123]/a.pcapng
together "three" "$tmp"/d[123]/a.pcapng

# --- filter, limit, a report for people ---------------------------------------------------

capture a.pcapng --stripe "$two" --when-full wait --buffer-size 8Mi less 600
is "filter: exit status" "$status" 0
[ "$(json "$tmp/report" .frames.filtered)" -gt $((count / 2)) ]
ok "filter: some are left out"
accounts "filter" "$tmp"/d[12]/a.pcapng
has "filter: stands in the first stripe" <(capinfos "$tmp/d1/a.pcapng") 'filtered out [1-9]'
is "filter: and in no other" "$(sums "$tmp/d2/a.pcapng" | awk '{print $1 - $3}')" 0
capture a.pcapng --stripe "$two" --when-full wait -c 1234
is "-c: as many as were asked for" "$(json "$tmp/report" .frames.written)" 1234
accounts "-c" "$tmp"/d[12]/a.pcapng
model --gen "$gen" --at-end sigint -- "$RDMADUMP" -d mlx5_0 --when-full wait --stripe "$two" -w a.pcapng 2>"$tmp/log"
has "text: a line for each stripe" "$tmp/log" "stripe 2 of 2, $tmp/d2: [0-9 ]+ frames"

# --- queues: a thread for each, and each file in order ------------------------------------

for n in 2 4; do
	capture q.pcapng --queues $n --stripe "$two" --when-full wait --buffer-size 8Mi
	is "$n queues: exit status" "$status" 0
	accounts "$n queues" "$tmp"/d[12]/q.pcapng
	together "$n queues" "$tmp"/d[12]/q.pcapng
	each_has "$n queues: both have their part" $((count / 16)) "$tmp"/d[12]/q.pcapng
done
model --clock cycles --gen count=60,size=200,qps=16,seed=2 --rate 100 --at-end sigint -- \
	"$RDMADUMP" -d mlx5_0 -q --json --queues 4 --stripe "$two" -w slow.pcapng >"$tmp/report" 2>"$tmp/log"
accounts "slow traffic" "$tmp"/d[12]/slow.pcapng
is "slow traffic: all written" "$(json "$tmp/report" .frames.written)" 60

# Two ports have two interfaces in each file
rm -f "$tmp"/d[12]/*
model --clock cycles --dev name=mlx5_0 --dev name=mlx5_1,netdev=enp2 --gen "$gen" --at-end sigint -- "$RDMADUMP" \
	-d mlx5_0 -d mlx5_1 --queues 2 -q --json --when-full wait --stripe "$two" --buffer-size 8Mi -w p.pcapng \
	>"$tmp/report" 2>"$tmp/log"
is "two ports: exit status" $? 0
accounts "two ports" "$tmp"/d[12]/p.pcapng

# --- series, compression, formats ---------------------------------------------------------

for args in "-C 1" "--queues 2 -C 1" "-b packets:2000"; do
	# shellcheck disable=SC2086 # words of a command line
	capture r.pcapng $args --stripe "$two" --when-full wait --buffer-size 8Mi
	is "$args: exit status" "$status" 0
	accounts "$args" "$tmp"/d[12]/r*
	together "$args" "$tmp"/d[12]/r*
	[ "$(find "$tmp/d1" -type f | wc -l)" -gt 2 ] && [ "$(find "$tmp/d2" -type f | wc -l)" -gt 2 ]
	ok "$args: several files in each"
done
capture r.pcapng -C 1 -W 2 --stripe "$two" --when-full wait --buffer-size 8Mi
is "-C -W: each directory keeps its two" "$(cd "$tmp" && echo d[12]/*)" "d1/r.pcapng0 d1/r.pcapng1 d2/r.pcapng0 d2/r.pcapng1"
capture t.pcapng -G 1 --queues 2 --stripe "$two" --when-full wait -- --gen count=20000,size=200,qps=8,seed=8 --rate 8000
is "-G: exit status" "$status" 0
accounts "-G" "$tmp"/d[12]/t*
[ "$(find "$tmp"/d[12] -type f | wc -l)" -ge 4 ]
ok "-G: several files"
for ending in gz zst; do
	[ $ending = zst ] && ! "$RDMADUMP" --version | grep -q zst && continue
	capture "z.pcapng.$ending" --queues 2 --stripe "$two" --when-full wait --buffer-size 8Mi
	is "$ending: exit status" "$status" 0
	for i in 1 2; do
		case $ending in
		gz) gzip -dc <"$tmp/d$i/z.pcapng.gz" ;;
		zst) zstd -dqc "$tmp/d$i/z.pcapng.zst" ;;
		esac >"$tmp/$i.part"
	done
	accounts "$ending" "$tmp"/[12].part
	together "$ending" "$tmp"/[12].part
done
capture p.pcap --stripe "$two" --when-full wait --buffer-size 8Mi
together "pcap" "$tmp"/d[12]/p.pcap

# --- from a file --------------------------------------------------------------------------

"$SOFTHCA_FRAMES" --write "$tmp/gen.pcap" "$gen" >/dev/null
rm -f "$tmp"/d[12]/*
timeout -k 2 100 "$RDMADUMP" -r "$tmp/gen.pcap" -q --json --buffer-size 4Mi --stripe "$two" -w f.pcapng >"$tmp/report"
is "-r: exit status" $? 0
together "-r" "$tmp"/d[12]/f.pcapng
each_has "-r: both have their part" $((count / 8)) "$tmp"/d[12]/f.pcapng

# --- slow and full disks ------------------------------------------------------------------
# A reader that takes nothing until the other stripe has two thirds of all is as slow as a disk can be:
# a thread that waits for it would wait forever
for queues in 1 2; do
	rm -f "$tmp"/d[123]/*
	mkfifo "$tmp/d1/w.pcapng" && : >"$tmp/d2/w.pcapng"
	{ wait_for 80 larger "$tmp/d2/w.pcapng" $((count * 780 * 2 / 3)) && cat; } <"$tmp/d1/w.pcapng" >"$tmp/slow.part" &
	reader=$!
	model --clock cycles --gen "$gen" --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --json --queues $queues \
		--stripe "$two" --when-full wait --write-mode buffered --buffer-size 4Mi -w w.pcapng >"$tmp/report" 2>"$tmp/log"
	is "a slow disk, $queues queues: exit status" $? 0
	wait $reader
	is "a slow disk, $queues queues: the other did not wait for it" $? 0
	accounts "a slow disk, $queues queues" "$tmp/slow.part" "$tmp/d2/w.pcapng"
	is "a slow disk, $queues queues: nothing is lost" "$(json "$tmp/report" .frames.written)" $count
	together "a slow disk, $queues queues" "$tmp/slow.part" "$tmp/d2/w.pcapng"
done
rm -f "$tmp"/d[12]/*
full() { # NAME ARGS...
	local name=$1 d2 kept
	shift
	if ! mount -t tmpfs -o size=2m tmpfs "$tmp/small" 2>/dev/null; then
		skip "$name" "no right to mount a tmpfs"
		return
	fi
	capture e.pcapng --stripe "$tmp/d1,$tmp/small" --when-full wait --buffer-size 4Mi "$@"
	is "$name: exit status" "$status" 3
	has "$name: says which, how much, why" "$tmp/log" "$tmp/small/e.*after [0-9 ]+ frames.*No space left on device"
	accounts "$name" "$tmp/d1"/e* "$tmp/small"/e*
	is "$name: what could not be written is that of the full one" \
		"$(json "$tmp/report" '.stripes | map(.unwritten) | .[0]'),$(json "$tmp/report" '.stripes[1].unwritten > 0')" 0,true
	d2=$(in_file "$tmp/small/e.pcapng")
	[ "$d2" -gt 100 ] && capinfos "$tmp/small/e.pcapng" >"$tmp/info" 2>&1
	ok "$name: what the full one got stays ($d2 frames)"
	has "$name: and it says what is missing" "$tmp/info" '[1-9][0-9 ]* that could not be written'
	kept=$(in_file "$tmp/d1/e.pcapng")
	[ "$kept" -gt 100 ] && capinfos "$tmp/d1/e.pcapng" >"$tmp/info" 2>&1 && ! grep -q 'Not finished' "$tmp/info"
	ok "$name: the other is whole ($kept frames)"
	umount "$tmp/small"
}
full "disk full"
full "disk full, two queues" --queues 2

# --- what is refused, and leaves files alone ----------------------------------------------

refused() { # NAME STATUS PATTERN OPTIONS...
	local name=$1 code=$2 pattern=$3
	shift 3
	rm -rf "$tmp"/d[12]/*
	echo precious >"$tmp/d1/x"
	model --gen count=1 --at-end idle -- "$RDMADUMP" -d mlx5_0 -q "$@" >/dev/null 2>"$tmp/log"
	is "refused: $name: exit status" $? "$code"
	has "refused: $name: message" "$tmp/log" "$pattern"
	is "refused: $name: nothing was touched" "$(cat "$tmp/d1/x") $(cd "$tmp" && find d1 d2 -type f)" "precious d1/x"
}
refused "a directory that is missing" 3 "cannot write to '$tmp/none'.*No such file" --stripe "$tmp/d1,$tmp/none" -w x
refused "no directory" 3 "stats'.*Not a directory" --stripe "$tmp/d1,$tmp/stats" -w x
refused "the same directory twice" 1 'the same directory' --stripe "$tmp/d1,$tmp/d2/../d1" -w x
refused "one directory" 1 'two directories or more' --stripe "$tmp/d1" -w x
refused "an empty name" 1 'without a name' --stripe "$tmp/d1,,$tmp/d2" -w x
refused "no -w" 1 'give -w FILE' --stripe "$two"
refused "standard output" 1 'give -w FILE' --stripe "$two" -w -
refused "a directory in the name" 1 'give the name of a file only' --stripe "$two" -w "$tmp/d1/x"
refused "--per-queue-files" 1 'give one of them' --stripe "$two" --queues 2 --per-queue-files -w x
refused "-M" 1 'M writes at the end' --stripe "$two" -M 16Mi -w x
refused "-a filesize" 1 '-c or -a duration' --stripe "$two" -a filesize:1000 -w x
refused "-G -W" 1 '-c or -a duration' --stripe "$two" -G 1 -W 2 -w x
many=$(for i in $(seq 17); do echo "$tmp/m$i"; done | paste -sd,)
refused "too many" 1 'more than 16 directories' --stripe "$many" -w x
mkdir "$tmp/d3/x" 2>/dev/null || { rm -rf "$tmp"/d3/* && mkdir "$tmp/d3/x"; }
refused "a directory of that name" 3 "d3/x'.*Is a directory" --stripe "$tmp/d1,$tmp/d3" -w x
rmdir "$tmp/d3/x"

# Files belong to the user that the program becomes
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp" && chown nobody "$tmp"/d[12]
	capture u.pcapng -Z nobody --stripe "$two" --when-full wait -C 1
	is "-Z: exit status" "$status" 0
	is "-Z: whose files" "$(stat -c %U "$tmp"/d[12]/* | sort -u)" nobody
	accounts "-Z" "$tmp"/d[12]/u*
	chown root "$tmp/d2"
	capture u.pcapng -Z nobody --stripe "$two" --when-full wait -C 1
	is "-Z, a directory of somebody else and -C: exit status" "$status" 3
	has "-Z, a directory of somebody else and -C: message" "$tmp/log" "may not write to directory '$tmp/d2'"
fi

tap_done
